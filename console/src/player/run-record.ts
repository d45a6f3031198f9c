// What an exported run consists of, as the page has it inside (js/runs/export-page.ts).

export interface RunRecord {
  seq: number;
  at: number;
  branch?: number;
  fact?: Fields;
  event?: Fields;
}

export type Fields = { type: string } & Record<string, unknown>;

/** A message that the run was started with. */
export interface GivenMessage {
  id?: string;
  role?: string;
  content?: unknown;
  createdAt?: number;
}

export interface RunHead {
  version: number;
  exportedAt: number;
  run: { id: string; name: string; kind: string; state: string; threadId?: string };
  messages: GivenMessage[];
}
