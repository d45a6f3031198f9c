// What a run needs of the agent that made it.
import type { RunCheckpoint } from '../../types/agent-run';
import type { ResumeEntry } from '../../types/events';
import type { HostTool } from '../tool/types';
import type { DurablePart } from './durable-types';
import type { SuspendedTools } from './suspended-tools';

/** What a run needs of the agent that made it; `Run` is the one that goes on with it. */
export interface RunHost<Run> {
  threadId: string;
  runId: string;
  protocolVersion: string | undefined;
  tools: ReadonlyMap<string, HostTool>;
  /** Sends the requests of the run, where the engine shall not. */
  send: typeof fetch | undefined;
  /** Of the calls that the thread's run before asked about. */
  suspended: SuspendedTools | undefined;
  signal: AbortSignal | undefined;
  onCheckpoint: ((saved: RunCheckpoint) => void) | undefined;
  replayBufferSize: number;
  /** The engine reads the input beside this thread, and the run begins when that is done. */
  readsLater?: boolean | undefined;
  /** Of a run that is recorded. */
  durable?: DurablePart | undefined;
  /** Starts the run that goes on with these answers. */
  goOn(entries: ResumeEntry[], options: ResumeOptions): Run;
}

/** Of a run that goes on. */
export interface ResumeOptions {
  /** Instead of the one of the run that asked; null for none. */
  signal?: AbortSignal | null | undefined;
}
