// Jobs of a runtime: functions in steps, which are entered again after a crash.
import type { JobFunction, JobOptions, JobStartOptions, RunInfo } from '../../types/runtime';
import type { AgentResult } from '../agent/agent-result';
import { DurableRun } from '../agent/durable-run';
import type {
  DurablePart,
  DurableRuntime,
  InnerRun,
  RegisteredAgent,
} from '../agent/durable-types';
import { approvalTimeout } from '../agent/run-policies';
import { checkTurn, innerOptions, newRunId, plainReader } from '../agent/start-durable';
import type { AgentInput, DurableRunOptions } from '../agent/types';
import { MillraceError, rethrow } from '../errors';
import { checkNames } from '../known-names';
import { createHash } from '../node-crypto';
import { toJson } from '../serialize';
import { shown } from '../shown';
import { checkValues, text } from '../value-checks';
import type { RunEnd, StartChild } from './job-children';

/** A runtime as jobs use it. */
export interface JobRuntime extends DurableRuntime {
  /** Begins a run that works for another one, so that it waits for no limit. */
  runInner(
    name: string,
    input: AgentInput,
    options: DurableRunOptions,
    inner: InnerRun,
  ): DurableRun;
  attach(id: string): DurableRun;
}

export function registeredJob(
  name: string,
  run: JobFunction,
  options: JobOptions,
): RegisteredAgent {
  if (typeof name !== 'string' || name === '') {
    throw new MillraceError('invalid_option', `runtime.job() needs a name, not ${shown(name)}.`);
  }
  if (typeof run !== 'function') {
    throw new MillraceError('invalid_option', `runtime.job() needs a function, not ${shown(run)}.`);
  }
  checkNames('runtime.job()', options, ['version', 'unknown', 'approvalTimeoutMs']);
  const { version, unknown, approvalTimeoutMs } = options;
  checkValues('runtime.job()', options, { version: text, approvalTimeoutMs: approvalTimeout });
  if (unknown !== undefined && unknown !== 'report' && unknown !== 'retry') {
    throw new MillraceError(
      'invalid_option',
      `runtime.job(): unknown must be 'report' or 'retry', not ${shown(unknown)}.`,
    );
  }
  return {
    ...{ planJson: '', work: { job: run }, tools: new Map(), version, unknown },
    approvalTimeoutMs,
  };
}

const startNames: readonly (keyof JobStartOptions)[] = [
  'threadId',
  'idempotencyKey',
  'context',
  'principal',
  'busy',
  'priority',
];

/** Begins a run of a job, or finds the one of its key. `known` is what of the input has to be the same then. */
export function jobRun(
  runtime: DurableRuntime,
  name: string,
  input: unknown,
  options: JobStartOptions,
  {
    isUnread = false,
    inner,
    known = input,
  }: { isUnread?: boolean; inner?: InnerRun; known?: unknown } = {},
): DurableRun {
  checkNames('A job', options, startNames);
  const { threadId = '', idempotencyKey, principal, context, busy, priority } = options;
  checkTurn(options);
  checkValues(
    'A job',
    { threadId, idempotencyKey, principal },
    { threadId: text, idempotencyKey: text, principal: text },
  );
  const id = inner?.id ?? newRunId();
  const json = toJson(input ?? null, 'The input of the job');
  const texts = {
    plan: '',
    input: json,
    options: {
      ...{ name, job: true, unread: isUnread, run: id, threadId, idempotencyKey, principal, busy },
      ...innerOptions(inner, priority),
      context:
        context === undefined ? undefined : (JSON.parse(toJson(context, 'context')) as unknown),
      inputHash: createHash('sha256')
        .update(JSON.stringify([name, toJson(known ?? null, 'The input of the job')]))
        .digest('hex'),
    },
  };
  const durable: DurablePart = { id, name, runtime, principal };
  return new DurableRun(runtime.openRun(texts), {
    ...plainReader,
    ...{ threadId, runId: id, durable },
    goOn: () => {
      throw new MillraceError(
        'invalid_state',
        'A job is answered with runtime.approvals.decide().',
      );
    },
  });
}

/** A job of a runtime. */
export class DurableJob<Input = unknown, Result = unknown> {
  readonly name: string;
  readonly #runtime: JobRuntime;

  /** @internal */
  constructor(runtime: JobRuntime, name: string) {
    this.name = name;
    this.#runtime = runtime;
  }

  /** Begins a run and resolves when it is stored. */
  async start(input: Input, options: JobStartOptions = {}): Promise<RunInfo> {
    const run = jobRun(this.#runtime, this.name, input, options, { isUnread: true });
    await run.started;
    run.leave();
    return this.#runtime.ask<RunInfo>('get', { run: run.id });
  }

  /** Begins a run and waits for its result. Rejects with its error where it failed or was stopped. */
  async run(input: Input, options: JobStartOptions = {}): Promise<Result> {
    const run = jobRun(this.#runtime, this.name, input, options);
    const { error, value } = await endOf(this.#runtime, run);
    if (error !== undefined) rethrow(error);
    return value as Result;
  }
}

// How long between two looks at a run that waits for the user.
const lookEveryMs = 500;

/** How a run ended, also one that waits for the user on the way. */
export async function endOf(runtime: JobRuntime, run: DurableRun): Promise<RunEnd> {
  await run.started;
  const { id } = run;
  let result: AgentResult = await run.result;
  while (result.status === 'interrupted') {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const { state } = await runtime.ask<RunInfo>('get', { run: id });
    if (state !== 'waiting') result = await runtime.attach(id).result;
  }
  const { text: last, value, usage, cost, notes, status } = result;
  const error =
    status === 'cancelled'
      ? new MillraceError('cancelled', `The run ${id} was stopped.`)
      : result.error;
  return {
    ...{ runId: id, text: last },
    ...(value !== undefined && { value }),
    ...(usage && { usage }),
    ...(cost && { cost }),
    ...(notes && { notes }),
    ...(error && { error }),
  };
}

/** Begins the runs that work for a job: each by a key, so that a job that is entered again finds it. */
export function childrenOf(runtime: JobRuntime): StartChild {
  return (kind, name, input, { run: id, parent, call, principal, context }) => {
    const idempotencyKey = `${parent}/${call}`;
    const options = { idempotencyKey, principal, context };
    const inner = { id, parent, call };
    const run =
      kind === 'job'
        ? jobRun(runtime, name, input, options, { inner })
        : runtime.runInner(name, input as string, { ...options, threadId: idempotencyKey }, inner);
    return { stop: () => run.stop(), ended: () => endOf(runtime, run) };
  };
}
