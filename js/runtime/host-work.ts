// The line between a function that JavaScript runs and the engine that records its run.
import type { ActionOptions } from '../../types/runtime';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { toJson } from '../serialize';
import { shown } from '../shown';
import { messageOf } from '../thrown';
import { checkValues, group, milliseconds, text } from '../value-checks';
import { storedJson } from './stored-json';
import { logFailure } from '../log-failure';

/** News of a run while its function is at work; see lib/run/durable/function_session.hpp. */
export interface HostNotice {
  ack?: number;
  stop?: boolean;
  /** Nothing more is wanted of the function here: the run goes on when something happens. */
  suspended?: boolean;
  /** What was to be recorded is safe. */
  done?: number;
  /** Of which question, from 1 on. */
  action?: number;
  answer?: { status?: string; payload?: unknown };
  expired?: boolean;
  event?: { name: string; payload: unknown };
}

interface Question {
  id: string;
  resolve: (answer: unknown) => void;
  reject: (error: unknown) => void;
}

// Characters that may be on their way to the engine before a function waits.
const mostUnacknowledged = 1 << 20;
// After so many the engine is asked for an acknowledgement.
const acknowledgeEvery = 1 << 16;

/** One run of a function of this process. */
export class HostWork {
  readonly name: string;
  /** Gets what happens outside. */
  onEvent: ((name: string, payload: unknown) => void) | undefined;
  /** Called when the run goes on elsewhere, or not at all. */
  onLeft: (() => void) | undefined;
  readonly #complete: (json: string) => void;
  readonly #controller = new AbortController();
  #isOver = false;
  // By its own end, not because the run goes on elsewhere.
  #hasEnded = false;
  #hasWarned = false;
  #wasStopped = false;
  #hasResult = false;
  // Characters that were given to the engine, for which it was asked to acknowledge, that it has.
  #given = 0;
  #requested = 0;
  #acknowledged = 0;
  readonly #waiting: (() => void)[] = [];
  // Open questions and records by their numbers; those of questions are the engine's as well.
  readonly #questions = new Map<number, Question>();
  readonly #recording = new Map<number, () => void>();
  #lastQuestion = 0;
  #lastRecorded = 0;
  #seen = 0;

  constructor(name: string, complete: (json: string) => void) {
    this.name = name;
    this.#complete = complete;
  }

  /** Aborted when the run is stopped, or its runtime is closed. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Runs the function to its end, which is the run's. */
  async start(work: () => unknown): Promise<void> {
    try {
      const result = await work();
      if (this.#isOver && this.#wasStopped && result != null) this.warn();
      this.#hasResult = result != null;
      this.#end(`{"result":${storedJson(result ?? null, `The result of ${this.name}`)}}`);
    } catch (thrown) {
      if (!this.#isOver && !this.signal.aborted) {
        logFailure(`millrace: ${this.name} failed:`, thrown);
      }
      this.#end(JSON.stringify({ error: errorOf(thrown) }));
    }
  }

  notice(notice: HostNotice): void {
    const { stop, suspended, done, action, ack, event } = notice;
    if (suspended) this.#leave();
    if (stop) {
      this.#wasStopped = true;
      this.#abort();
    }
    if (done !== undefined) this.#recorded(done);
    if (action !== undefined) this.#answer(action, notice);
    if (event || action !== undefined) this.#seen += 1;
    if (event) this.onEvent?.(event.name, event.payload);
    if (ack === undefined) return;
    this.#acknowledged = ack;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Nothing that it does counts any more. */
  withdraw(): void {
    const isLeft = this.#isOver;
    this.#leave();
    if (!isLeft) this.#abort();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** It ended after the engine had gone on without it. */
  lost(): void {
    this.#wasStopped = true;
    if (this.#hasResult) this.warn();
  }

  /** Resolves when the engine has it, which is not yet the store. */
  async show(progress: object): Promise<void> {
    if (this.#isOver) return this.warn();
    this.#give(progress, '');
    while (this.#given - this.#acknowledged > mostUnacknowledged && !this.#isOver) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async custom(name: string, value: unknown): Promise<void> {
    const json = value === undefined ? undefined : storedJson(value, `The payload of ${name}`);
    await this.show({
      ...{ event: 'custom', name },
      ...(json !== undefined && { value: JSON.parse(json) as unknown }),
    });
  }

  /** Resolves when the store has it; never where the run is over before. */
  record(progress: object): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isOver) return;
      this.#lastRecorded += 1;
      this.#recording.set(this.#lastRecorded, resolve);
      this.#give(progress, `,"op":${this.#lastRecorded}`);
    });
  }

  /** How many answers and events it had. */
  get seen(): number {
    return this.#seen;
  }

  get isRecording(): boolean {
    return this.#recording.size > 0;
  }

  /** Asks a person; see FunctionContext.action. */
  async ask(id: string, options: ActionOptions = {}): Promise<unknown> {
    if (typeof id !== 'string' || id === '') throw wrong('action', 'an id', id);
    checkNames('action()', options, ['kind', 'prompt', 'schema', 'timeoutMs']);
    checkValues('action()', options, actionChecks);
    const json = toJson(options, 'The options of action()');
    if (this.#isOver) throw this.#tooLate();
    this.signal.throwIfAborted();
    this.#lastQuestion += 1;
    const answer = new Promise((resolve, reject) =>
      this.#questions.set(this.#lastQuestion, { id, resolve, reject }),
    );
    const question = { ...(JSON.parse(json) as object), event: 'action', name: id };
    const [payload] = await Promise.all([answer, this.show(question)]);
    return payload;
  }

  /**
   * What a function does that is left behind: it rejects where the function has ended, or was stopped. Where the run goes on
   * elsewhere it never settles, so that nothing is done twice.
   */
  afterwards(): Promise<never> {
    if (this.signal.aborted) return Promise.reject(this.signal.reason as Error);
    if (this.#hasEnded) return Promise.reject(this.#tooLate());
    return new Promise<never>(() => undefined);
  }

  #tooLate(): MillraceError {
    this.warn();
    return new MillraceError('invalid_state', 'The run is over.');
  }

  warn(): void {
    if (this.#hasWarned) return;
    this.#hasWarned = true;
    process.emitWarning(
      `The run of ${this.name} is over: what its function shows or returns afterwards is lost. ${fixOf(this.#wasStopped || this.signal.aborted)}`,
      { code: 'MILLRACE_RUN_OVER' },
    );
  }

  #give(progress: object, more: string): void {
    const json = JSON.stringify(progress);
    this.#given += json.length;
    let ack = '';
    if (this.#given - this.#requested >= acknowledgeEvery) {
      this.#requested = this.#given;
      ack = `,"ack":${this.#given}`;
    }
    this.#complete(`{"progress":${json}${more}${ack}}`);
  }

  #recorded(number: number): void {
    const resolve = this.#recording.get(number);
    this.#recording.delete(number);
    resolve?.();
  }

  #answer(number: number, { answer, expired }: HostNotice): void {
    const open = this.#questions.get(number);
    this.#questions.delete(number);
    if (!open) return;
    if (expired) open.reject(unanswered('timeout', open.id, 'was not answered in time'));
    else if (answer?.status !== 'cancelled') open.resolve(answer?.payload);
    else open.reject(unanswered('cancelled', open.id, 'was declined'));
  }

  #leave(): void {
    this.#isOver = true;
    this.onLeft?.();
  }

  #abort(): void {
    this.#controller.abort(new MillraceError('cancelled', 'The run was stopped.'));
    for (const { reject } of this.#questions.values()) reject(this.signal.reason);
    this.#questions.clear();
  }

  #end(json: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hasEnded = true;
    this.#complete(json);
  }
}

const actionChecks = { kind: text, prompt: text, schema: group, timeoutMs: milliseconds };

function fixOf(wasStopped: boolean): string {
  return wasStopped
    ? 'It was stopped: end the function when its signal aborts.'
    : 'Await what it does before it ends.';
}

/** A name of ours is kept; of others readers get the message alone. */
export function errorOf(thrown: unknown): { code: string; message: string } {
  const code = MillraceError.is(thrown) ? thrown.code : 'tool_failed';
  return { code, message: messageOf(thrown) };
}

export function wrong(member: string, wanted: string, value: unknown): MillraceError {
  return new MillraceError('invalid_argument', `${member}() takes ${wanted}, not ${shown(value)}.`);
}

function unanswered(code: 'timeout' | 'cancelled', id: string, what: string): MillraceError {
  return new MillraceError(code, `The action ${shown(id)} ${what}.`);
}
