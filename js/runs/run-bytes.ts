// One AG-UI run as bytes: from events, or from a Response whose bytes the engine turns around
// without making objects of them.
import { randomUUID } from 'node:crypto';

import type { StreamProtocolAdapter } from '../../types/channels';
import type { AGUIEvent, GivenSnapshotEvent } from '../../types/events';
import { checkSignal, noListener, onAbort } from '../abort';
import { traitsOf } from '../adapters/adapters';
import { EventStream } from '../adapters/event-stream';
import type { NativeRun } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { checkSpelling } from '../known-names';
import { messageOf } from '../transport/said';
import type { Output, Sink, Source } from '../transport/source';
import { openSource } from '../transport/source';
import { bytesOf } from './engine-bytes';

export interface RunOptions {
  /** Of the client's input; default new ones. */
  threadId?: string | undefined;
  runId?: string | undefined;
  parentRunId?: string | undefined;
  /**
   * `protocolVersion` of the client's input; an agent's run knows it of its body. Absent means a client from before
   * AG-UI 1.0.
   */
  protocolVersion?: string | undefined;
  /** Reads the source when it is a Response. */
  adapter?: StreamProtocolAdapter | undefined;
  /** Ends the run with RUN_ERROR `cancelled`, and cancels the source. */
  signal?: AbortSignal | undefined;
  /** Milliseconds of silence after which a comment is sent; default 15,000, 0 for none. */
  keepAliveMs?: number | undefined;
}

type GivenEvent = AGUIEvent | GivenSnapshotEvent;
type Events = AsyncIterable<GivenEvent> | Iterable<GivenEvent>;

/** Events, or a Response together with the option `adapter`; either may still be on its way. */
export type RunSource = Events | Response | PromiseLike<Events | Response>;

const keepAlive = ': keep-alive\n\n';
const keepAliveMs = 15_000;

/** Where the bytes of a run go. */
export interface RunOut {
  /** False: no more until resume() is called. */
  write(bytes: Uint8Array): boolean;
  /** Nothing follows; called once, unless the run was cancelled. */
  end(): void;
}

/**
 * Gives RUN_STARTED first, then what the source gives, in order, and one terminal event last. What
 * the source throws becomes RUN_ERROR. Nothing happens before the first resume().
 */
export class RunBytes implements Sink {
  readonly #out: RunOut;
  // Until it is opened, so that a Response is not kept for the bytes of its body.
  #source: RunSource | undefined;
  readonly #options: RunOptions;
  readonly #ids: { threadId: string; runId: string };
  readonly #protocolVersion: string | undefined;
  // Where the bytes of the engine hold the whole run, this is made anew for what comes besides.
  #run: NativeRun | undefined;
  #phase: 'new' | 'started' | 'opening' | 'open' | 'over' = 'new';
  // The out has room.
  #wanted = false;
  #opened: Opened | undefined;
  // Of a run of the engine that has not begun: its bytes.
  #bytes: Source | undefined;
  #pumping = false;
  // Stopped before it was started.
  #stopped: { error: unknown } | undefined;
  #silence: NodeJS.Timeout | undefined;
  // Ends listening to the signal.
  #settled = noListener;

  constructor(source: RunSource, options: RunOptions, out: RunOut) {
    checkOptions(source, options);
    this.#out = out;
    this.#source = source;
    this.#options = options;
    this.#ids = {
      threadId: options.threadId ?? textOfSource(source, 'threadId') ?? randomUUID(),
      runId: options.runId ?? textOfSource(source, 'runId') ?? randomUUID(),
    };
    this.#protocolVersion = options.protocolVersion ?? textOfSource(source, 'protocolVersion');
    this.#run = this.#makeRun();
    this.#bytes = bytesOf(source, this.#runOptions());
    // A source that fails before it is asked must not end the process.
    if (isPromise(source)) source.then(undefined, () => undefined);
    if (options.signal?.aborted) this.#abort();
    else this.#settled = onAbort(options.signal, this.#abort);
  }

  /** There is room for more. */
  resume(): void {
    this.#wanted = true;
    if (this.#phase === 'new') {
      this.#phase = 'started';
      this.#write(this.#run?.take());
      if (!this.#wanted) return;
    }
    this.#waitForMore();
    if (this.#phase === 'open') this.#goOn();
    else if (this.#phase === 'started') this.#open();
  }

  /** The reader is gone: stops the source, and writes nothing more. */
  cancel(reason?: unknown): void {
    if (this.#phase === 'over') return;
    this.#stopped ??= { error: reason };
    this.#leave();
  }

  /** Of the engine's body: its next bytes. */
  data(output: Output): boolean {
    if (this.#phase === 'over') return false;
    this.#write(output as Buffer);
    return this.#wanted;
  }

  /** Of the engine's body: its end. */
  end(error: { value: unknown } | undefined): void {
    if (error) this.#fail(error.value);
    else this.#finish();
  }

  readonly #abort = (): void => {
    const error = new MillraceError('cancelled', 'The run was cancelled.');
    this.#stopped ??= { error };
    if (this.#phase !== 'new') this.#fail(error);
  };

  #write(bytes: Uint8Array | undefined): void {
    if (bytes === undefined || bytes.length === 0) return;
    this.#silence?.refresh();
    this.#wanted = this.#out.write(bytes);
  }

  // One comment for each such time of silence; a reader that is slow gets none.
  #waitForMore(): void {
    if (this.#silence) {
      this.#silence.refresh();
      return;
    }
    const wait = this.#options.keepAliveMs ?? keepAliveMs;
    if (wait === 0) return;
    this.#silence = setTimeout(() => {
      // Fresh bytes each time, since a reader may take the memory over.
      if (this.#wanted) this.#write(new TextEncoder().encode(keepAlive));
      this.#silence?.refresh();
    }, wait).unref();
  }

  #open(): void {
    if (this.#stopped) return this.#fail(this.#stopped.error);
    this.#phase = 'opening';
    this.#openSource().then(
      (opened) => {
        if (this.#phase === 'over') return void opened.source.cancel();
        this.#phase = 'open';
        this.#opened = opened;
        this.#source = undefined;
        if (opened.ended) this.#run = undefined;
        if (this.#wanted) this.#goOn();
      },
      (error: unknown) => this.#fail(error),
    );
  }

  async #openSource(): Promise<Opened> {
    if (this.#bytes) return { source: this.#bytes, ended: true };
    const source = await (this.#source as RunSource);
    if (this.#phase === 'over') {
      // It came when nobody wants it any more.
      discard(source, this.#stopped?.error);
      throw new MillraceError('cancelled', 'The run was cancelled.');
    }
    if (!isResponse(source)) return openEvents(this.#nativeRun(), source);
    const { adapter } = this.#options;
    if (!source.ok) throw await refusal(source);
    if (!adapter) {
      throw new MillraceError('invalid_option', 'A Response needs the option adapter.');
    }
    const traits = traitsOf(adapter);
    if (!traits) return openEvents(this.#nativeRun(), adapter.parse(source));
    if (traits.parseForRun) return openEvents(this.#nativeRun(), traits.parseForRun(source));
    const { wire, limits, thinkTags } = traits;
    const options = { ...this.#runOptions(), wire, limits, thinkTags, runStarted: true };
    return { source: openSource(source, { kind: 'ag_ui', options }), ended: true };
  }

  #goOn(): void {
    if (this.#opened?.source.flow) this.#opened.source.flow(this);
    else void this.#pump();
  }

  async #pump(): Promise<void> {
    if (this.#pumping || !this.#opened) return;
    this.#pumping = true;
    try {
      while (this.#wanted && this.#phase === 'open') {
        const bytes = await this.#opened.source.read();
        if (this.#phase !== 'open') break;
        if (bytes === undefined) this.#finish();
        else this.#write(bytes as Buffer);
      }
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#pumping = false;
    }
  }

  #finish(): void {
    if (this.#phase === 'over') return;
    if (!this.#opened?.ended) this.#write(this.#nativeRun().finish());
    this.#leave();
    this.#out.end();
  }

  #fail(error: unknown): void {
    if (this.#phase === 'over') return;
    this.#write(this.#nativeRun().fail(codeOf(error), textOf(error)));
    this.#leave();
    this.#out.end();
  }

  #leave(): void {
    // Nobody else is going to close what was never opened.
    const unopened = this.#phase === 'new' || this.#phase === 'started';
    if (unopened && this.#bytes) void this.#bytes.cancel();
    else if (unopened && this.#source) discard(this.#source, this.#stopped?.error);
    this.#phase = 'over';
    this.#wanted = false;
    clearTimeout(this.#silence);
    this.#silence = undefined;
    this.#settled();
    void this.#opened?.source.cancel();
  }

  // The run as it stands; its start is written.
  #nativeRun(): NativeRun {
    if (this.#run) return this.#run;
    this.#run = this.#makeRun();
    this.#run.take();
    return this.#run;
  }

  #makeRun(): NativeRun {
    try {
      return new (addon().AgUiRun)(JSON.stringify(this.#runOptions()));
    } catch (error) {
      rethrow(error);
    }
  }

  #runOptions(): Record<string, unknown> {
    const { parentRunId } = this.#options;
    return { ...this.#ids, parentRunId, protocolVersion: this.#protocolVersion };
  }
}

// Closes a source that was not opened.
function discard(source: RunSource, reason: unknown): void {
  void (async () => {
    const found = await source;
    if (isResponse(found)) await found.body?.cancel(reason);
    else await iteratorOf(found).return?.();
  })().catch(() => undefined);
}

// What the run follows. `ended` is true when the bytes hold the terminal event already.
interface Opened {
  source: Source;
  ended: boolean;
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
  const source: Source = {
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
    cancel: async () => {
      await Promise.resolve(iterator.return?.()).catch(() => undefined);
    },
  };
  return { source, ended: false };
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

// A run of an agent or a model knows its own ids, and what its client reads.
function textOfSource(
  source: RunSource,
  name: 'threadId' | 'runId' | 'protocolVersion',
): string | undefined {
  const text = (source as Partial<Record<typeof name, unknown>>)[name];
  return typeof text === 'string' ? text : undefined;
}

const names: readonly (keyof RunOptions)[] = [
  ...(['threadId', 'runId', 'parentRunId', 'protocolVersion', 'adapter', 'signal'] as const),
  'keepAliveMs',
];

function checkOptions(source: unknown, options: RunOptions): void {
  const fail = (sentence: string): never => {
    throw new MillraceError('invalid_argument', sentence);
  };
  checkSpelling('The options of a run', options, names);
  if (!isPromise(source) && !isResponse(source) && !isEvents(source)) {
    fail('The source of a run must be an iterable of events, or a Response, or a promise of one.');
  }
  if (isResponse(source) && options.adapter === undefined) {
    fail(
      'A run whose source is a Response needs the option adapter, for instance openAIAdapter().',
    );
  }
  if (isResponse(source) && typeof options.adapter === 'function') {
    fail('The option adapter must be an adapter: call the function, for instance openAIAdapter().');
  }
  for (const name of ['threadId', 'runId', 'parentRunId', 'protocolVersion'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'string') fail(`${name} must be a string.`);
  }
  checkSignal('The run', options.signal);
  const wait = options.keepAliveMs;
  if (wait !== undefined && !(Number.isSafeInteger(wait) && wait >= 0 && wait < 2 ** 31)) {
    fail('keepAliveMs must be a number of milliseconds, 0 or more.');
  }
}
