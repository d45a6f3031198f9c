// One AG-UI run as bytes: from events, or from a Response whose bytes the engine turns around
// without making objects of them.
import { randomUUID } from 'node:crypto';

import type { StreamProtocolAdapter } from '../../types/channels';
import type { AGUIEvent } from '../../types/events';
import { traitsOf } from '../adapters/adapters';
import { EventStream } from '../adapters/event-stream';
import type { NativeRun } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { messageOf } from '../transport/said';
import type { Source } from '../transport/source';
import { openSource } from '../transport/source';

export interface RunOptions {
  /** Of the client's input; default new ones. */
  threadId?: string | undefined;
  runId?: string | undefined;
  parentRunId?: string | undefined;
  /** `protocolVersion` of the client's input; absent means a client from before AG-UI 1.0. */
  protocolVersion?: string | undefined;
  /** Reads the source when it is a Response. */
  adapter?: StreamProtocolAdapter | undefined;
  /** Ends the run with RUN_ERROR `cancelled`, and cancels the source. */
  signal?: AbortSignal | undefined;
  /** Milliseconds of silence after which a comment is sent; default 15,000, 0 for none. */
  keepAliveMs?: number | undefined;
}

type Events = AsyncIterable<AGUIEvent> | Iterable<AGUIEvent>;

/** Events, or a Response together with the option `adapter`; either may still be on its way. */
export type RunSource = Events | Response | PromiseLike<Events | Response>;

const keepAlive = ': keep-alive\n\n';
const keepAliveMs = 15_000;

/**
 * Gives RUN_STARTED first, then what the source gives, in order, and one terminal event last.
 * Never rejects: what the source throws becomes RUN_ERROR.
 */
export class RunBytes {
  readonly #run: NativeRun;
  readonly #ids: { threadId: string; runId: string };
  readonly #source: RunSource;
  readonly #options: RunOptions;
  readonly #silence: Silence;
  #started = false;
  #opened: Opened | undefined;
  #over = false;
  // The reader is gone: nobody wants to know how the run ended.
  #left = false;
  #stopReason: { error: unknown } | undefined;
  #interrupt: ((error: unknown) => void) | undefined;
  // A step that was not ready when a comment was due.
  #pending: Promise<Buffer | undefined> | undefined;

  constructor(source: RunSource, options: RunOptions) {
    checkOptions(source, options);
    this.#source = source;
    this.#options = options;
    this.#silence = new Silence(options.keepAliveMs ?? keepAliveMs);
    this.#ids = {
      threadId: options.threadId ?? randomUUID(),
      runId: options.runId ?? randomUUID(),
    };
    try {
      this.#run = new (addon().AgUiRun)(JSON.stringify(this.#runOptions()));
    } catch (error) {
      rethrow(error);
    }
    // A source that fails before it is asked must not end the process.
    if (isPromise(source)) source.then(undefined, () => undefined);
    if (options.signal?.aborted) this.#abort();
    else options.signal?.addEventListener('abort', this.#abort, { once: true });
  }

  /** The next bytes; undefined at the end. One call at a time. */
  async read(): Promise<Uint8Array | undefined> {
    if (!this.#started) {
      this.#started = true;
      return this.#run.take();
    }
    this.#pending ??= this.#step();
    const bytes = await this.#silence.or(this.#pending);
    // Fresh bytes each time, since a reader may take the memory over.
    if (bytes === 'silence') return new TextEncoder().encode(keepAlive);
    this.#pending = undefined;
    if (bytes === undefined) this.#silence.end();
    return bytes;
  }

  /** The reader is gone: stops the source. */
  cancel(reason?: unknown): void {
    if (this.#left) return;
    this.#left = true;
    this.#silence.end();
    this.#stop(reason);
  }

  readonly #abort = (): void => {
    this.#stop(new MillraceError('cancelled', 'The run was cancelled.'));
  };

  #stop(error: unknown): void {
    if (this.#over || this.#stopReason) return;
    this.#stopReason = { error };
    this.#opened?.cancel();
    this.#interrupt?.(error);
  }

  async #step(): Promise<Buffer | undefined> {
    if (this.#over) return undefined;
    try {
      this.#opened ??= await this.#unlessStopped(this.#open());
      for (;;) {
        const bytes = await this.#unlessStopped(this.#opened.read());
        if (bytes === undefined) break;
        if (bytes.length > 0) return bytes;
      }
      this.#end();
      return this.#opened.ended ? undefined : this.#run.finish();
    } catch (error) {
      this.#end();
      this.#opened?.cancel();
      return this.#left ? undefined : this.#run.fail(codeOf(error), textOf(error));
    }
  }

  #end(): void {
    this.#over = true;
    this.#options.signal?.removeEventListener('abort', this.#abort);
  }

  // A race against stopping; Promise.race would keep each promise until the run ends.
  #unlessStopped<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#interrupt = reject;
      work.then(resolve, reject);
      if (this.#stopReason) this.#interrupt(this.#stopReason.error);
    });
  }

  async #open(): Promise<Opened> {
    const source = await this.#source;
    if (this.#stopReason) {
      // It came when nobody wants it any more.
      if (isResponse(source)) await source.body?.cancel();
      else await iteratorOf(source).return?.();
      throw this.#stopReason.error;
    }
    if (!isResponse(source)) return openEvents(this.#run, source);
    const { adapter } = this.#options;
    if (!source.ok) throw await refusal(source);
    if (!adapter) {
      throw new MillraceError('invalid_option', 'A Response needs the option adapter.');
    }
    const traits = traitsOf(adapter);
    if (!traits || traits.hasHooks) return openEvents(this.#run, adapter.parse(source));
    const { wire, limits } = traits;
    const options = { ...this.#runOptions(), wire, limits, runStarted: true };
    return openBytes(openSource(source, { kind: 'ag_ui', options }));
  }

  #runOptions(): Record<string, unknown> {
    const { parentRunId, protocolVersion } = this.#options;
    return { ...this.#ids, parentRunId, protocolVersion };
  }
}

/** Waits for bytes, but not longer than silence may last. */
class Silence {
  readonly #wait: number;
  #timer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(wait: number) {
    this.#wait = wait;
  }

  or<T>(work: Promise<T>): Promise<T | 'silence'> {
    if (this.#wait === 0) return work;
    this.#timer ??= setTimeout(() => this.#wake?.(), this.#wait).unref();
    this.#timer.refresh();
    return new Promise((resolve, reject) => {
      this.#wake = () => resolve('silence');
      work.then(resolve, reject);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#wake = undefined;
  }
}

// What the run follows. `ended` is true when the bytes hold the terminal event already.
interface Opened {
  read(): Promise<Buffer | undefined>;
  cancel(): void;
  ended: boolean;
}

function openBytes(source: Source): Opened {
  return {
    read: () => source.read() as Promise<Buffer | undefined>,
    cancel: () => void source.cancel(),
    ended: true,
  };
}

function openEvents(run: NativeRun, events: Events): Opened {
  const iterator = iteratorOf(events);
  const atOnce = Symbol.asyncIterator in events ? 1 : batchSize;
  const push = (list: unknown[]): Buffer => {
    try {
      return run.push(JSON.stringify(list)) ?? nothing;
    } catch (error) {
      rethrow(error);
    }
  };
  return {
    read: async () => {
      if (run.ended()) {
        await iterator.return?.();
        return undefined;
      }
      const list: unknown[] = [];
      while (list.length < atOnce) {
        const result = await iterator.next();
        if (result.done) break;
        list.push(result.value);
      }
      if (list.length === 0) return undefined;
      // What came in the same chunk goes out in one piece.
      if (iterator instanceof EventStream) list.push(...iterator.loaded());
      return push(list);
    },
    cancel: () => void Promise.resolve(iterator.return?.()).catch(() => undefined),
    ended: false,
  };
}

const nothing = Buffer.alloc(0);

// Events of a synchronous iterable that cross to the engine at once.
const batchSize = 64;

function iteratorOf(events: Events): AsyncIterator<unknown> | Iterator<unknown> {
  if (Symbol.asyncIterator in events) return events[Symbol.asyncIterator]();
  return events[Symbol.iterator]();
}

async function refusal(response: Response): Promise<MillraceError> {
  const { status, statusText } = response;
  const said = messageOf(await response.text().catch(() => ''));
  return new MillraceError(
    'provider_error',
    said ?? `Request failed: ${status} ${statusText}`.trimEnd(),
    { status },
  );
}

function codeOf(error: unknown): string {
  if (MillraceError.is(error)) return error.code;
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  if (name === 'AbortError') return 'cancelled';
  return typeof code === 'string' ? code : '';
}

function textOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  return typeof error === 'string' && error !== '' ? error : 'The source of the run failed.';
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function isResponse(value: unknown): value is Response {
  if (typeof value !== 'object' || value === null) return false;
  return 'body' in value && 'status' in value && 'headers' in value;
}

function isEvents(value: unknown): value is Events {
  if (typeof value !== 'object' || value === null) return false;
  return Symbol.asyncIterator in value || Symbol.iterator in value;
}

function checkOptions(source: unknown, options: RunOptions): void {
  const fail = (sentence: string): never => {
    throw new MillraceError('invalid_argument', sentence);
  };
  if (!isPromise(source) && !isResponse(source) && !isEvents(source)) {
    fail('The source of a run must be an iterable of events, or a Response, or a promise of one.');
  }
  if (isResponse(source) && options.adapter === undefined) {
    fail(
      'A run whose source is a Response needs the option adapter, for instance openAIAdapter().',
    );
  }
  for (const name of ['threadId', 'runId', 'parentRunId', 'protocolVersion'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'string') fail(`${name} must be a string.`);
  }
  const wait = options.keepAliveMs;
  if (wait !== undefined && !(Number.isSafeInteger(wait) && wait >= 0 && wait < 2 ** 31)) {
    fail('keepAliveMs must be a number of milliseconds, 0 or more.');
  }
}
