// One run of a server that records its runs, read to its end over as many connections as it takes.
//
// The last frame of each record carries its number (`id:`). Frames are given on when their record is whole, so that
// what a new connection begins with (`after`) is exactly what is missing.
import type { ErrorCode } from '../../types/errors';
import { MillraceError } from '../errors';
import { pause } from '../pause';
import { addressBelow } from './address';

/** How a reader of a run comes back after its connection broke. */
export interface ReconnectOptions {
  /** Attempts in a row that bring nothing new before reading fails; default 12. */
  maxAttempts?: number;
  /** The wait before the second attempt, which doubles with each further one; default 250. */
  minDelayMs?: number;
  /** The longest wait; default 10000. */
  maxDelayMs?: number;
  /** A connection without a byte for so long counts as broken; 0 is never; default 60000. */
  idleTimeoutMs?: number;
}

/** Where a reader stands: what `attach` takes after a reload. */
export interface RunPosition {
  /** The server's own id of the run. */
  runId: string;
  /** The number of the last record that was read; absent before the first one. */
  after?: number;
}

export const reconnectDefaults: Required<ReconnectOptions> = {
  maxAttempts: 12,
  minDelayMs: 250,
  maxDelayMs: 10_000,
  idleTimeoutMs: 60_000,
};

/** What is read, and how. */
export interface ResumableRequest {
  url: string;
  /** The request that begins the run; absent for a reader that attaches. */
  init?: RequestInit | undefined;
  headers: Headers;
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** Ends the reading. */
  signal: AbortSignal;
  reconnect: Required<ReconnectOptions>;
  /** The AG-UI run and its thread, by which the run can be found before its own id is known. */
  agUiRunId: string;
  threadId: string;
  attach?: RunPosition | undefined;
  /** The request gives what goes on in a thread, which may be several AG-UI runs. */
  connects?: boolean;
  onPosition: (position: RunPosition) => void;
}

const runIdHeader = 'millrace-run-id';
const eventStream = 'text/event-stream';
// What may be gone with the next attempt.
const passing = new Set([408, 425, 429, 500, 502, 503, 504]);
const longestWaitForHead = 30_000;
const frameEnd = /\r\n\r\n|\n\n|\r\r/;
const terminalMark = /"RUN_(FINISHED|ERROR)"/;

interface Frame {
  id: number | undefined;
  isTerminal: boolean;
}

function readFrame(text: string): Frame {
  let id: number | undefined;
  const data: string[] = [];
  for (const line of text.split(/\r\n|\n|\r/)) {
    if (line.startsWith('id:')) id = Number(line.slice(3));
    else if (line.startsWith('data:')) data.push(line.slice(5));
  }
  const json = data.join('\n');
  return { id, isTerminal: terminalMark.test(json) && typeOf(json).startsWith('RUN_') };
}

function typeOf(json: string): string {
  try {
    return String((JSON.parse(json) as { type?: unknown }).type);
  } catch {
    return '';
  }
}

/** The error of an answer without a good status. */
export async function errorOfAnswer(response: Response): Promise<MillraceError> {
  const { status } = response;
  const text = await response.text().catch(() => '');
  let code: ErrorCode = 'provider_error';
  let message = `The server answered ${status}.`;
  let fix: string | undefined;
  try {
    const { error } = JSON.parse(text) as {
      error: { code: ErrorCode; message: string; fix?: string };
    };
    ({ code, message, fix } = error);
  } catch {
    // Not one of our servers.
  }
  return withFix(new MillraceError(code, message, { status }), fix);
}

// Pages do not load what is to be done about every error.
function withFix(error: MillraceError, fix: string | undefined): MillraceError {
  return fix === undefined ? error : Object.assign(error, { fix });
}

/** Reads one run; `open` gives a response whose body has no gaps and no repeats. */
export class ResumableRun {
  readonly #request: ResumableRequest;
  readonly #decoder = { current: new TextDecoder() };
  readonly #encoder = new TextEncoder();
  /** Ends the connection of the moment. */
  #connection = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #runId: string | undefined;
  #after: number | undefined;
  #text = '';
  /** Frames of a record that is not whole yet. */
  #held = '';
  #heldTerminal = false;
  /** The last frame that was given on ends an AG-UI run. */
  #isAtEnd = false;
  #hasReceived = false;
  #isBroken = false;
  #attempts = 0;

  constructor(request: ResumableRequest) {
    this.#request = request;
    this.#runId = request.attach?.runId;
    this.#after = request.attach?.after;
  }

  /**
   * Sends the request. A run that may have begun is not let go of before its id is known, so that it can be stopped:
   * an end of the reading cuts the connection when the answer begins.
   */
  send(): Promise<Response> {
    const { init, attach, signal } = this.#request;
    const sent = init ? this.#post(init) : this.#get(attach?.after !== undefined);
    const cut = (): void => this.#connection.abort(signal.reason);
    const cutSoon = (): void => {
      const timer = setTimeout(cut, longestWaitForHead);
      sent.then(cut, () => undefined).finally(() => clearTimeout(timer));
    };
    if (signal.aborted) cutSoon();
    else signal.addEventListener('abort', cutSoon, { once: true });
    return sent;
  }

  /** The first answer as the caller of a fetch gets it. One that is no recorded run is given as it is. */
  async open(sent: Promise<Response>): Promise<Response> {
    const { signal } = this.#request;
    const aborted = new Promise<never>((_, reject) => {
      const fail = (): void => reject(signal.reason as Error);
      if (signal.aborted) fail();
      else signal.addEventListener('abort', fail, { once: true });
    });
    // Its reader may have gone already.
    aborted.catch(() => undefined);
    const response = await Promise.race([sent, aborted]);
    const runId = response.headers.get(runIdHeader);
    if (!response.ok || runId === null) return response;
    this.#runId = runId;
    if (response.status === 204) {
      return new Response('', { headers: { 'content-type': eventStream } });
    }
    this.#report();
    this.#take(response);
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => this.#pull(controller),
      cancel: (reason) => this.#connection.abort(reason),
    });
    return new Response(reportingOnce(body), {
      status: response.status,
      headers: response.headers,
    });
  }

  #post(init: RequestInit): Promise<Response> {
    const { fetch, url, connects } = this.#request;
    const address = addressBelow(url, connects ? '/connect' : '');
    return fetch(address, { ...init, signal: this.#connection.signal });
  }

  // A thread is not known by its run before the first record: its messages come with the request.
  #again(isFresh: boolean): Promise<Response> {
    const { connects, init } = this.#request;
    if (!connects || this.#after !== undefined) return this.#get(isFresh);
    this.#connection = new AbortController();
    return this.#post(init as RequestInit);
  }

  // The run by its own id, or by the AG-UI run while nothing of it has been read: its own id stands for more.
  #get(isFresh: boolean): Promise<Response> {
    const { fetch, url, headers, attach } = this.#request;
    const ownId = this.#after === undefined ? undefined : this.#runId;
    const id = attach?.runId ?? ownId ?? this.#request.agUiRunId;
    const query = new URLSearchParams();
    if (this.#after !== undefined) query.set('after', String(this.#after));
    if (isFresh) query.set('fresh', '1');
    if (id !== ownId && !id.startsWith('run_')) query.set('threadId', this.#request.threadId);
    const address = addressBelow(url, `/runs/${encodeURIComponent(id)}`, query);
    this.#connection = new AbortController();
    const { signal } = this.#connection;
    return fetch(address, { method: 'GET', headers, signal });
  }

  #report(): void {
    const after = this.#after;
    const runId = this.#runId as string;
    this.#request.onPosition(after === undefined ? { runId } : { runId, after });
  }

  #take(response: Response): void {
    this.#reader = response.body?.getReader();
    this.#decoder.current = new TextDecoder();
    this.#text = '';
    this.#held = '';
    this.#heldTerminal = false;
    this.#hasReceived = false;
    this.#isBroken = false;
  }

  async #pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { signal } = this.#request;
    try {
      for (;;) {
        const chunk = await this.#read();
        if (signal.aborted) throw signal.reason;
        const whole = chunk === undefined ? '' : this.#accept(chunk);
        if (whole !== '') controller.enqueue(this.#encoder.encode(whole));
        if (this.#isOver(chunk === undefined)) {
          controller.close();
          this.#connection.abort();
          return;
        }
        if (chunk === undefined && !(await this.#comeBack())) {
          controller.close();
          return;
        }
        if (whole !== '') return;
      }
    } catch (error) {
      controller.error(signal.aborted ? signal.reason : error);
      this.#connection.abort();
    }
  }

  // What comes next; nothing when the connection has ended, in whatever way.
  async #read(): Promise<Uint8Array | undefined> {
    const { idleTimeoutMs } = this.#request.reconnect;
    const connection = this.#connection;
    const cut = (): void => connection.abort(this.#request.signal.reason);
    const timer = idleTimeoutMs > 0 ? setTimeout(cut, idleTimeoutMs) : undefined;
    this.#request.signal.addEventListener('abort', cut, { once: true });
    try {
      const chunk = await this.#reader?.read();
      return chunk === undefined || chunk.done ? undefined : chunk.value;
    } catch {
      this.#isBroken = true;
      return undefined;
    } finally {
      clearTimeout(timer);
      this.#request.signal.removeEventListener('abort', cut);
    }
  }

  // The frames of the records that are whole now.
  #accept(chunk: Uint8Array): string {
    this.#text += this.#decoder.current.decode(chunk, { stream: true });
    let whole = '';
    for (;;) {
      const end = frameEnd.exec(this.#text);
      if (!end) return whole;
      const text = this.#text.slice(0, end.index + end[0].length);
      this.#text = this.#text.slice(text.length);
      // Comments keep the connection open and say nothing.
      if (text.startsWith(':')) continue;
      this.#hasReceived = true;
      const frame = readFrame(text);
      this.#held += text;
      this.#heldTerminal ||= frame.isTerminal;
      if (frame.id === undefined || !Number.isSafeInteger(frame.id)) continue;
      if (this.#after === undefined || frame.id > this.#after) {
        whole += this.#held;
        this.#after = frame.id;
        this.#isAtEnd = this.#heldTerminal;
        this.#attempts = 0;
        this.#report();
      }
      this.#held = '';
      this.#heldTerminal = false;
    }
  }

  // A request is over with its AG-UI run; one that attached or connected, with its connection.
  #isOver(hasEnded: boolean): boolean {
    if (!this.#isAtEnd || this.#held !== '') return false;
    const { attach, connects } = this.#request;
    return (attach === undefined && !connects) || (hasEnded && !this.#isBroken);
  }

  // Opens another connection; false when there is nothing more to read.
  async #comeBack(): Promise<boolean> {
    const gaveNothing = !this.#hasReceived && !this.#isBroken;
    if (this.#request.attach && gaveNothing && !(await this.#goesOn())) return false;
    let last: unknown;
    for (;;) {
      this.#attempts += 1;
      if (this.#attempts > this.#request.reconnect.maxAttempts) throw this.#lost(last);
      await this.#wait();
      // What was open for a reader that remembers nothing was not given on yet.
      const isFresh = this.#after !== undefined && this.#after === this.#request.attach?.after;
      let response: Response;
      try {
        response = await this.#again(isFresh);
      } catch (error) {
        if (this.#request.signal.aborted) throw this.#request.signal.reason;
        last = error;
        continue;
      }
      if (response.status === 204) return false;
      if (response.ok) {
        this.#take(response);
        return true;
      }
      last = await errorOfAnswer(response);
      if (!passing.has(response.status)) throw last;
    }
  }

  // Whether an attached run that gave nothing has more to give: one that waits for its user has not.
  async #goesOn(): Promise<boolean> {
    const { fetch, url, headers, threadId } = this.#request;
    const asJson = new Headers(headers);
    asJson.set('accept', 'application/json');
    const query = new URLSearchParams(this.#runId?.startsWith('run_') ? {} : { threadId });
    const address = addressBelow(url, `/runs/${encodeURIComponent(this.#runId ?? '')}`, query);
    try {
      const response = await fetch(address, { method: 'GET', headers: asJson });
      const { state } = (await response.json()) as { state?: string };
      return !['waiting', 'completed', 'failed', 'cancelled', 'dead'].includes(state ?? '');
    } catch {
      return true;
    }
  }

  // Longer with each attempt, and not all readers at the same moment.
  #wait(): Promise<void> {
    const { minDelayMs, maxDelayMs } = this.#request.reconnect;
    const { signal } = this.#request;
    if (this.#attempts === 1) return Promise.resolve();
    const most = Math.min(maxDelayMs, minDelayMs * 2 ** (this.#attempts - 2));
    const delay = most / 2 + (Math.random() * most) / 2;
    return pause(delay, signal);
  }

  #lost(cause: unknown): MillraceError {
    const { maxAttempts } = this.#request.reconnect;
    const message = `The run ${this.#runId} could not be read any further in ${maxAttempts} attempts.`;
    const details = { cause, retryable: true, errorType: 'ProviderNetworkError' };
    return withFix(
      new MillraceError('connection_lost', message, details),
      'Attach to the run again; the server goes on with it.',
    );
  }
}

// AG-UI's client cancels the reader of a stream that failed and awaits nothing of it: the failure would come once more,
// as a rejection that ends a Node process.
function reportingOnce(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const getReader = body.getReader.bind(body) as () => ReadableStreamDefaultReader<Uint8Array>;
  const quiet = (): ReadableStreamDefaultReader<Uint8Array> => {
    const reader = getReader();
    const cancel = reader.cancel.bind(reader);
    reader.cancel = (reason?: unknown) => cancel(reason).catch(() => undefined);
    return reader;
  };
  return Object.assign(body, { getReader: quiet });
}
