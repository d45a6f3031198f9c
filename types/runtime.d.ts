// Durable runs as a runtime describes them.
import type { AgentInterrupt } from './agent-run';

export type RunState =
  | 'queued'
  | 'running'
  /** For an answer of the user. */
  | 'waiting'
  | 'sleeping'
  /** Nothing that has the store open can go on with it. */
  | 'parked'
  | 'completed'
  | 'failed'
  | 'cancelled'
  /** Given up, since it was recovered too often. */
  | 'dead';

/** A durable run as it is stored. Times are milliseconds since 1970. */
export interface RunInfo {
  /** `run_` and 32 hexadecimal digits. */
  id: string;
  kind: string;
  /** The name that its agent is registered under. */
  name: string;
  version?: string;
  state: RunState;
  threadId?: string;
  principal?: string;
  createdAt: number;
  endedAt?: number;
  /** The number of its last record. */
  lastSeq: number;
  step: number;
  attempts: number;
  /** How often another process or environment went on with it. */
  recoveries: number;
  stopRequested?: boolean;
  parent?: string;
  root?: string;
  waitsFor?: { reason: string; since?: number; until?: number; owner?: string };
  /** Those that are open; of `get` alone. */
  approvals?: Approval[];
}

export interface RunQuery {
  state?: RunState | undefined;
  threadId?: string | undefined;
  /** Absent: of all. */
  principal?: string | undefined;
  /** 1 to 1000; 50 when absent. */
  limit?: number | undefined;
  /** `nextCursor` of the page before. */
  cursor?: string | undefined;
  children?: boolean | undefined;
}

/** The newest first. */
export interface RunPage {
  runs: RunInfo[];
  nextCursor?: string;
}

/** What a run waits for, as it is stored. */
export interface Approval {
  id: string;
  runId: string;
  toolCallId?: string;
  kind: string;
  expiresAt?: number;
  /** What the user is shown. */
  interrupt?: AgentInterrupt;
  decidedAt?: number;
  decidedBy?: string;
  expired?: boolean;
}

export interface ApprovalQuery {
  run?: string | undefined;
  /** Absent: of all. */
  principal?: string | undefined;
  /** With those that are decided or expired. */
  all?: boolean | undefined;
}
