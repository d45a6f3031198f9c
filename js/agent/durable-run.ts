// DurableRun: a run that is recorded, so that it outlives its readers and its process.
import { onAbort } from '../abort';
import type { AgentCall } from '../model/call';
import { checkValues, cursor } from '../value-checks';
import { AgentRun } from './agent-run';
import type { RunRecord } from './durable-types';
import type { RunHost } from './run-host';
import { recordsOf } from './run-records';

/**
 * A run of an agent with a runtime. Leaving a loop or response detaches: the run goes on, here or in the process that
 * opens the store next, until it ends, waits for the user, or is stopped by `stop()` or its signal.
 */
export class DurableRun extends AgentRun {
  /** @internal */
  constructor(call: AgentCall, host: RunHost<AgentRun>) {
    super(call, host);
    const signal = host.durable?.leaves;
    if (signal?.aborted) this.leave();
    else if (signal) void this.ended.finally(onAbort(signal, () => this.leave()));
  }

  /** `run_` and 32 hexadecimal digits. */
  get id(): string {
    return this.durable.id;
  }

  /** The number of the last record that was read here: `after` of a later `attach`. */
  get lastSeq(): number {
    return this.seq;
  }

  /** Resolves when the run is stored; rejects when it could not be. */
  get started(): Promise<void> {
    return this.committed;
  }

  /** The events behind a record, each with the number of its record. */
  async *records({ after = 0 }: { after?: number } = {}): AsyncGenerator<RunRecord, undefined> {
    checkValues('records()', { after }, { after: cursor });
    await this.committed;
    const left = this.readsElsewhere();
    try {
      yield* recordsOf(this.durable, after);
    } finally {
      left();
    }
    return undefined;
  }
}
