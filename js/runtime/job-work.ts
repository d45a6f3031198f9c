// A job at work: its steps answer from the ledger when its function is entered again.
import type {
  ActionOptions,
  ChildResult,
  FunctionRun,
  JobFunction,
  StepContext,
  StepOptions,
} from '../../types/runtime';
import { jobInternals, type OwnJobContext } from '../agent/durable-jobs';
import type { UnknownPolicy } from '../agent/durable-types';
import { MillraceError, rethrow } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { checkValues, milliseconds } from '../value-checks';
import { errorOf, type HostWork, wrong } from './host-work';
import { newRunId } from '../agent/start-durable';
import { attempts, checkStepOptions, type Effect, stricter } from './job-attempts';
import { runChild, type StartChild } from './job-children';
import { JobPauses } from './job-pauses';
import { storedJson } from './stored-json';

/** What an earlier process recorded of a step, a sleep, a wait or a child. */
export interface LedgerRow {
  call: string;
  kind: 'step' | 'sleep' | 'child';
  state: 'started' | 'ok' | 'error' | 'unknown';
  effect: Effect;
  /** JSON; the error of a step that failed. */
  result?: unknown;
  /** Milliseconds since 1970. */
  until?: number;
  /** Of a child. */
  run?: string;
}

/** What the engine asks for; see lib/run/durable/function_session.hpp. */
export interface JobRequest {
  turn: { input: unknown };
  run: FunctionRun;
  ledger?: LedgerRow[];
}

export interface JobServices {
  unknown: UnknownPolicy;
  startChild: StartChild;
}

/** What a step, sleep, wait or child is known by. */
interface Place {
  call: string;
  name: string;
  n: number;
  /** Of a child. */
  run?: string;
}

const eventPrefix = 'event:';
const waitPrefix = 'wait:';
const childPrefix = 'run:';

/** Enters the function of a job. */
export function runJob(
  work: HostWork,
  run: JobFunction,
  request: JobRequest,
  services: JobServices,
): Promise<void> {
  return new JobWork(work, request, services).start(run);
}

class JobWork {
  readonly #work: HostWork;
  readonly #request: JobRequest;
  readonly #services: JobServices;
  readonly #ledger = new Map<string, LedgerRow>();
  // How often each name was used, and which rows of the ledger were wanted.
  readonly #uses = new Map<string, number>();
  readonly #wanted = new Set<string>();
  // Events that no wait has taken, and waits for them, by name.
  readonly #events = new Map<string, unknown[]>();
  readonly #waits = new Map<string, ((payload: unknown) => void)[]>();
  readonly #pauses: JobPauses;
  #expectsUnused = false;

  constructor(work: HostWork, request: JobRequest, services: JobServices) {
    this.#work = work;
    this.#request = request;
    this.#services = services;
    this.#pauses = new JobPauses(work, request.run.attempt > 1);
    for (const row of request.ledger ?? []) this.#takeRow(row);
    this.#dropTaken();
    work.onEvent = (name, payload) => {
      this.#takeEvent(name, payload);
      this.#pauses.look();
    };
  }

  start(run: JobFunction): Promise<void> {
    return this.#work.start(async () => {
      const result = await run(this.#context(), this.#request.turn.input as never);
      await this.#warnOfUnwanted();
      return result;
    });
  }

  #takeRow(row: LedgerRow): void {
    const [name] = splitCall(row.call);
    if (name.startsWith(eventPrefix)) {
      this.#takeEvent(name.slice(eventPrefix.length), row.result);
      return;
    }
    this.#ledger.set(row.call, row);
  }

  // Waits take events in their order.
  #dropTaken(): void {
    for (const { call, state } of this.#ledger.values()) {
      const [name] = splitCall(call);
      if (state !== 'ok' || !name.startsWith(waitPrefix)) continue;
      this.#events.get(name.slice(waitPrefix.length))?.shift();
    }
  }

  #takeEvent(name: string, payload: unknown): void {
    const waiting = this.#waits.get(name)?.shift();
    if (waiting) return waiting(payload);
    const list = this.#events.get(name) ?? [];
    list.push(payload);
    this.#events.set(name, list);
  }

  // The name and number of what the function does next under a name.
  #next(name: string): Place {
    const n = (this.#uses.get(name) ?? 0) + 1;
    this.#uses.set(name, n);
    const call = `${name}#${n}`;
    this.#wanted.add(call);
    return { call, name, n };
  }

  #context(): OwnJobContext {
    const { run } = this.#request;
    const { id, principal, context, attempt } = run;
    return {
      [jobInternals]: {
        later: (name, fn, effect = 'keyed') => this.#step(name, fn, { effect }, false),
        ask: (name, options) => this.#ask(name, options),
        send: (text) => this.#work.show({ event: 'text', text }),
        emit: (name, payload) => this.#work.custom(name, payload),
        child: (place, name, input, stopped) =>
          this.#child('agent', name, input, `${childPrefix}${place}`, stopped),
        expectUnused: () => {
          this.#expectsUnused = true;
        },
      },
      ...{ runId: id, principal, context, attempt, signal: this.#work.signal },
      step: (name, fn, options) => this.#step(name, fn, options),
      sleep: (name, until) => this.#sleep(name, until),
      wait: (event, options) => this.#wait(event, options) as Promise<never>,
      approve: async (question, options) => {
        if (typeof question !== 'string') throw wrong('approve', 'a question', question);
        const form = { ...options, kind: 'approval', prompt: question };
        const answer = await this.#ask('approve', form);
        return (answer as { approved?: unknown } | undefined)?.approved === true;
      },
      agent: (name, input) => this.#child('agent', name, input),
      run: async (job, input) => {
        const name = typeof job === 'string' ? job : job.name;
        const { value } = await this.#child('job', name, input);
        return value as never;
      },
      progress: (value) => this.#work.custom('progress', value),
    };
  }

  async #ask(name: string, options: ActionOptions): Promise<unknown> {
    const answer = await this.#pauses.either(undefined, this.#work.ask(name, options));
    return answer?.value;
  }

  async #step<T>(
    name: string,
    fn: (step: StepContext) => T | Promise<T>,
    options: StepOptions = {},
    waits = true,
  ): Promise<Awaited<T>> {
    checkName('step', name);
    if (typeof fn !== 'function') throw wrong('step', 'a function', fn);
    checkStepOptions(options);
    if (this.#work.isOver) return this.#work.afterwards();
    const place = this.#next(name);
    const { effect = 'keyed', key = `${this.#request.run.id}/${place.call}` } = options;
    const row = this.#ledger.get(place.call);
    if (row && row.state !== 'started') return answerOf(row) as Awaited<T>;
    if (row && stricter(row.effect, effect) === 'once' && this.#services.unknown === 'report') {
      const error = new MillraceError(
        'interrupted',
        `The process ended while the step ${shown(name)} was at work. Whether it had an effect is unknown; it was not repeated.`,
      );
      await this.#record(place, effect, 'unknown', errorOf(error));
      throw error;
    }
    const result = await this.#pauses.atWork(async () => {
      if (effect === 'once') await this.#record(place, effect, 'started');
      const { signal } = this.#work;
      return this.#settle(place, effect, () => attempts(fn, options, key, signal), waits);
    });
    return result as Awaited<T>;
  }

  // Does what a row of the ledger stands for, and records what it came to: before anybody goes on with that, if it waits.
  async #settle(
    place: Place,
    effect: Effect,
    make: () => Promise<unknown>,
    waits = true,
  ): Promise<unknown> {
    let json: string;
    try {
      json = storedJson((await make()) ?? null, `The result of ${place.call}`);
    } catch (thrown) {
      // A step that a stop cut is not over.
      this.#work.signal.throwIfAborted();
      await this.#record(place, effect, 'error', errorOf(thrown));
      throw thrown;
    }
    const value = JSON.parse(json) as unknown;
    const stored = this.#record(place, effect, 'ok', value);
    if (waits) await stored;
    return value;
  }

  #record(
    place: Place,
    effect: Effect,
    state: LedgerRow['state'],
    result?: unknown,
  ): Promise<void> {
    const { name, n, run } = place;
    const event = run === undefined ? 'step' : 'child';
    const value = result === undefined ? {} : { result };
    return this.#work.record({ event, name, n, effect, state, run, ...value });
  }

  async #sleep(name: string, until: number | Date): Promise<void> {
    checkName('sleep', name);
    const given = until instanceof Date ? until.getTime() : Date.now() + until;
    if (!Number.isSafeInteger(given)) throw wrong('sleep', 'milliseconds or a Date', until);
    if (this.#work.isOver) return this.#work.afterwards();
    const at = await this.#deadline(this.#next(name), given);
    await this.#pauses.until(at);
  }

  // The first process that comes here decides when.
  async #deadline({ call, name, n }: Place, given: number): Promise<number> {
    const row = this.#ledger.get(call);
    if (row?.until !== undefined) return row.until;
    await this.#work.record({ event: 'sleep', name, n, until: given });
    return given;
  }

  async #wait(event: string, options: { timeoutMs?: number | undefined } = {}): Promise<unknown> {
    checkName('wait', event);
    checkNames('wait()', options, ['timeoutMs']);
    checkValues('wait()', options, { timeoutMs: milliseconds });
    if (this.#work.isOver) return this.#work.afterwards();
    const place = this.#next(`${waitPrefix}${event}`);
    const row = this.#ledger.get(place.call);
    if (row && row.state !== 'started') {
      return answerOf(row);
    }
    const { timeoutMs } = options;
    const at =
      timeoutMs === undefined ? undefined : await this.#deadline(place, Date.now() + timeoutMs);
    return this.#settle(place, 'read', async () => {
      const { payload, leave } = this.#eventOf(event);
      const taken = await this.#pauses.either(at, payload).finally(leave);
      if (taken) return taken.value;
      throw new MillraceError('timeout', `The event ${shown(event)} did not come in time.`);
    });
  }

  #eventOf(name: string): { payload: Promise<unknown>; leave: () => void } {
    const events = this.#events.get(name);
    if (events && events.length > 0) {
      return { payload: Promise.resolve(events.shift()), leave: () => undefined };
    }
    const list = this.#waits.get(name) ?? [];
    this.#waits.set(name, list);
    let take: (payload: unknown) => void = () => undefined;
    const payload = new Promise<unknown>((resolve) => (take = resolve));
    list.push(take);
    const leave = (): void => {
      const at = list.indexOf(take);
      if (at >= 0) list.splice(at, 1);
    };
    return { payload, leave };
  }

  async #child(
    kind: 'agent' | 'job',
    name: string,
    input: unknown,
    placeName = `${childPrefix}${name}`,
    stopped: AbortSignal = this.#work.signal,
  ): Promise<ChildResult> {
    checkName(kind === 'agent' ? 'agent' : 'run', name);
    if (this.#work.isOver) return this.#work.afterwards();
    const place = this.#next(placeName);
    const row = this.#ledger.get(place.call);
    if (row && row.state !== 'started') return answerOf(row) as ChildResult;
    const { id: parent, principal, context } = this.#request.run;
    const { run = newRunId() } = row ?? {};
    const given = { run, parent, call: place.call, principal, context };
    const end = await this.#pauses.atWork(async () => {
      // Stored before the run is: one after the other, in the same order.
      if (!row) void this.#record({ ...place, run }, 'keyed', 'started');
      const child = await runChild(
        this.#services.startChild,
        { kind, name, input },
        given,
        stopped,
      );
      const { error, ...result } = child;
      if (error === undefined) {
        await this.#record({ ...place, run }, 'keyed', 'ok', result);
        return child;
      }
      // What a stop cut is not over.
      this.#work.signal.throwIfAborted();
      const { usage, cost, notes } = result;
      const failed = { ...errorOf(error), usage, cost, notes };
      await this.#record({ ...place, run }, 'keyed', 'error', failed);
      return child;
    });
    const { error, ...result } = end;
    if (error !== undefined) rethrow(error);
    return result;
  }

  // A step that has another name now is another step.
  async #warnOfUnwanted(): Promise<void> {
    if (this.#expectsUnused) return;
    const unwanted = [...this.#ledger.keys()].filter((call) => !this.#wanted.has(call));
    if (unwanted.length === 0) return;
    const names = unwanted.map((call) => shown(call)).join(', ');
    await this.#work.show({
      event: 'warning',
      code: 'job_step_unused',
      message: `The job recorded steps that its function did not come to: ${names}.`,
    });
  }
}

function splitCall(call: string): [name: string, n: string] {
  const at = call.lastIndexOf('#');
  return [call.slice(0, at), call.slice(at + 1)];
}

function answerOf({ call, state, result }: LedgerRow): unknown {
  if (state === 'ok') return result ?? null;
  const { code, message } = (result ?? {}) as { code?: string; message?: string };
  throw new MillraceError((code ?? 'tool_failed') as never, message ?? `${call} failed.`);
}

const taken = [eventPrefix, waitPrefix, childPrefix];

function checkName(member: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw wrong(member, 'a name', name);
  if (taken.some((prefix) => name.startsWith(prefix))) {
    throw new MillraceError(
      'invalid_argument',
      `${member}(): a name cannot begin with ${taken.map((one) => `'${one}'`).join(', ')}.`,
    );
  }
}
