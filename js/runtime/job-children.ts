// Runs that work for a job: each is named in the job's ledger before it begins.
import type { ChildResult } from '../../types/runtime';

/** Who a run works for, and what is known of it before it begins. */
export interface ChildPlace {
  run: string;
  /** The job, and what its ledger calls the child. */
  parent: string;
  call: string;
  principal: string;
  context: unknown;
}

/** How a run ended: `error` where it failed or was stopped. */
export type RunEnd = ChildResult & { error?: unknown };

/** Begins a run that works for a job, or finds the one that it began. */
export type StartChild = (
  kind: 'agent' | 'job',
  name: string,
  input: unknown,
  place: ChildPlace,
) => { stop(): void; ended(): Promise<RunEnd> };

/** What a job has another run do. */
export interface ChildWork {
  kind: 'agent' | 'job';
  name: string;
  input: unknown;
}

/** Runs a child to its end, which may be an error; `stopped` stops it. */
export async function runChild(
  start: StartChild,
  { kind, name, input }: ChildWork,
  place: ChildPlace,
  stopped: AbortSignal,
): Promise<RunEnd> {
  try {
    stopped.throwIfAborted();
    const child = start(kind, name, input, place);
    const stop = (): void => child.stop();
    stopped.addEventListener('abort', stop);
    try {
      return await child.ended();
    } finally {
      stopped.removeEventListener('abort', stop);
    }
  } catch (error) {
    return { runId: place.run, text: '', error };
  }
}
