// A run that is read again, in this process or a later one.
import type { ResumeEntry } from '../../types/events';
import { checkSignal } from '../abort';
import { DurableRun } from '../agent/durable-run';
import type { DurablePart, DurableRuntime } from '../agent/durable-types';
import type { ResumeOptions } from '../agent/run-host';
import { plainReader } from '../agent/start-durable';
import { checkNames } from '../known-names';
import { checkValues, cursor } from '../value-checks';

/** How a run is read again. */
export interface AttachOptions {
  /** The number of the last record that the reader has; 0 when absent. */
  after?: number | undefined;
  /** Ends the reading. */
  signal?: AbortSignal | undefined;
}

/** `goOn` begins what goes on with answers to the run. */
export function attachedRun(
  runtime: DurableRuntime,
  id: string,
  options: AttachOptions,
  goOn: (durable: DurablePart, resume: ResumeEntry[], more: ResumeOptions) => DurableRun,
): DurableRun {
  checkNames('attach()', options, ['after', 'signal']);
  const { after = 0, signal } = options;
  checkSignal('attach()', signal);
  checkValues('attach()', { after }, { after: cursor });
  const run = String(id);
  const call = runtime.openRun({ plan: '', input: '', options: { run, after } });
  const durable: DurablePart = {
    ...{ id: run, name: '', principal: undefined, runtime },
    leaves: signal,
  };
  return new DurableRun(call, {
    // Both are known with the first item.
    ...plainReader,
    ...{ threadId: '', runId: run, durable },
    goOn: (resume, more) => goOn(durable, resume, more),
  });
}
