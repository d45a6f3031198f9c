// One AG-UI run as bytes: from events, or from a Response whose bytes the engine turns around
// without making objects of them.
import { noListener, onAbort } from '../abort';
import { traitsOf } from '../adapters/adapters';
import type { NativeRun } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { randomUUID } from '../node-crypto';
import { messageOf } from '../transport/message-in-body';
import type { Output, Sink, Source } from '../transport/source';
import { openSource } from '../transport/source';
import { bytesOf } from './engine-bytes';
import type { Opened, RunOptions, RunSource } from './run-source';
import {
  checkOptions,
  discard,
  isPromise,
  isResponse,
  openEvents,
  textOfSource,
} from './run-source';

const keepAlive = ': keep-alive\n\n';
// The same as a frame of protobuf, which has no comments: ag_ui_proto_keep_alive() of lib/encoder/ag_ui_proto.hpp.
const keepAliveFrame = '0000001f5a1d0a02080a12136d696c6c726163652e6b6565705f616c6976651a020800';
const keepAliveMs = 15_000;
const eventStream = 'text/event-stream';

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
  /** Of the response that has the bytes. */
  readonly contentType: string;
  readonly #out: RunOut;
  // The header of the client.
  readonly #accept: string | undefined;
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

  constructor(source: RunSource, options: RunOptions, out: RunOut, accept?: string) {
    checkOptions(source, options);
    this.#out = out;
    this.#accept = accept;
    this.#source = source;
    this.#options = options;
    this.#ids = {
      threadId: options.threadId ?? textOfSource(source, 'threadId') ?? randomUUID(),
      runId: options.runId ?? textOfSource(source, 'runId') ?? randomUUID(),
    };
    this.#protocolVersion = options.protocolVersion ?? textOfSource(source, 'protocolVersion');
    this.#run = this.#makeRun();
    this.contentType = this.#run.contentType();
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

  // One comment, or one event, for each such time of silence; a reader that is slow gets none.
  #waitForMore(): void {
    if (this.#silence) {
      this.#silence.refresh();
      return;
    }
    const wait = this.#options.keepAliveMs ?? keepAliveMs;
    if (wait === 0) return;
    const isText = this.contentType === eventStream;
    this.#silence = setTimeout(() => {
      // Fresh bytes each time, since a reader may take the memory over.
      const bytes = isText
        ? new TextEncoder().encode(keepAlive)
        : Buffer.from(keepAliveFrame, 'hex');
      if (this.#wanted) this.#write(bytes);
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
      // It came when it has no reader any more.
      discard(source, this.#stopped?.error);
      throw new MillraceError('cancelled', 'The run was cancelled.');
    }
    if (!isResponse(source)) return openEvents(this.#nativeRun(), source);
    const { adapter } = this.#options;
    if (!source.ok) throw await refusal(source);
    if (!adapter) {
      throw new MillraceError(
        'invalid_option',
        'A run from a Response needs the option adapter, for instance openAIAdapter().',
      );
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
    // What was never opened is closed here.
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
    const accept = this.#accept;
    return { ...this.#ids, parentRunId, protocolVersion: this.#protocolVersion, accept };
  }
}

async function refusal(response: Response): Promise<MillraceError> {
  const { status, statusText } = response;
  const received = messageOf(await response.text().catch(() => ''));
  return new MillraceError(
    'provider_error',
    received ?? `Request failed: ${status} ${statusText}`.trimEnd(),
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
