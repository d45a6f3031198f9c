// What the routes of agents take and give.
import type { RunResponse } from './durable-types';

/** What a handler knows of a request, whatever it is made of. */
export interface AgentRequest {
  method: string;
  url: string;
  signal: AbortSignal | undefined;
  body: () => Promise<unknown>;
  header: (name: string) => string | undefined;
  /** What the caller's own code gets. */
  original: unknown;
}

/** An answer that is no run. */
export interface PlainAnswer {
  status: number;
  headers?: Record<string, string>;
  body: object;
}

/** An answer that is read as it comes. */
export interface StreamAnswer {
  status: number;
  headers: Record<string, string>;
  stream: RunResponse['body'] | undefined;
}
