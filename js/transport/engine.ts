// The engine's own transport: requests whose sockets, decompression and decoding run off the main
// thread, answered with a standard Response.
import type { UnderlyingByteSource } from 'node:stream/web';
import { isMainThread } from 'node:worker_threads';

import { checkSignal, noListener, onAbort, reasonOf } from '../abort';
import type { Addon } from '../addon';
import { addon } from '../addon';
import { MillraceError, errorFromNative, rethrow } from '../errors';
import { defer } from '../real-timers';
import type { EngineBody, PipeSpec } from './engine-body';
import type { RouteOptions } from './route';
import { rememberEngineBody } from './engine-body';
import type { Output, Sink, Source } from './source';

/** How long each phase may take, in milliseconds; 0 is no limit. There are no other limits in time. */
export interface Timeouts {
  /** Name lookup, TCP and TLS; default 10 s. */
  connect?: number | undefined;
  /** From the connection to the first byte of the answer; default none. */
  firstByte?: number | undefined;
  /** Between two arrivals of bytes; stands still while the reader is slow; default none. */
  idle?: number | undefined;
  /** From start to end; default none. */
  total?: number | undefined;
}

export interface EngineRequest extends RouteOptions {
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
  timeouts?: Timeouts | undefined;
  /** Keeps the request and its redirects away from everything but the public internet. */
  guard?: AddressGuard | undefined;
  /** Redirects to another origin are not followed: they are the answer. */
  sameOrigin?: boolean | undefined;
  limits?: { decodedBytes?: number } | undefined;
}

/** What a guarded request may reach besides the public internet. */
export interface AddressGuard {
  /** Hosts, `*.domain`, addresses or blocks (`10.1.0.0/16`), each with or without `:port`. */
  allow?: string[];
  /** Ports of hosts that `allow` does not name; 80 and 443 when absent. */
  ports?: number[];
  /** Refuses `http:` except for hosts that `allow` names. */
  httpsOnly?: boolean;
  /** Only what `allow` names may be reached. */
  allowedOnly?: boolean;
  /** A proxy is trusted to refuse private addresses by itself; without this a guarded request takes none. */
  trustsProxy?: boolean;
}

interface Head {
  status: number;
  statusText: string;
  headers: [string, string][];
  url: string;
  redirected: boolean;
}

// Node 20 has none: pieces are copied there.
type TransferableBuffer = ArrayBuffer & { transfer(): ArrayBuffer };
const canRenew = 'transfer' in ArrayBuffer.prototype;

let running: Addon | undefined;

/** The addon, with the engine of this environment running. */
export function engine(): Addon {
  if (running) return running;
  const native = addon();
  const { SSL_CERT_FILE, NODE_EXTRA_CA_CERTS } = process.env;
  native.startEngine(
    JSON.stringify({
      userAgent: `millrace/${native.version}`,
      caFile: SSL_CERT_FILE ?? '',
      extraCaFiles: NODE_EXTRA_CA_CERTS ? [NODE_EXTRA_CA_CERTS] : [],
    }),
    defer,
    isMainThread && canRenew ? renewed : undefined,
  );
  running = native;
  return native;
}

// Node does not transfer the memory of an addon to another thread, but what `transfer` makes of it. It ends with this
// environment, which no other thread outlives.
function renewed(given: Buffer): Buffer {
  return Buffer.from((given.buffer as TransferableBuffer).transfer());
}

/**
 * Sends a request. Resolves with the head of the answer, whatever its status; rejects with a
 * MillraceError, or with the signal's reason when it aborts.
 */
export async function engineFetch(request: EngineRequest): Promise<Response> {
  checkSignal('The request', request.signal);
  if (request.signal?.aborted) throw reasonOf(request.signal);
  const stream = new EngineStream(request);
  const head = await stream.head();
  return responseOf(stream, head);
}

type Waiting = { resolve: (output: Output | undefined) => void; reject: (error: unknown) => void };

/**
 * One stream of the engine. What the addon holds on to is only the delivery function: it must not
 * lead to the Response, or an unread one would never be collected.
 */
class EngineStream {
  readonly #native: Addon;
  readonly #id: number;
  readonly #signal: AbortSignal | undefined;
  // Ends listening to the signal.
  #settled = noListener;
  // Until it has arrived; an open stream has no use for it any more.
  #headArrived: Promise<Head> | undefined;
  #resolveHead: ((head: Head) => void) | undefined;
  #rejectHead: ((error: unknown) => void) | undefined;
  #waiting: Waiting | undefined;
  // Set only while it needs more, so that a reader who stopped reading can be collected.
  #sink: Sink | undefined;
  #early: Output | undefined;
  #ended = false;
  #error: { value: unknown } | undefined;

  constructor({ body, signal, ...options }: EngineRequest) {
    this.#headArrived = new Promise((resolve, reject) => {
      this.#resolveHead = resolve;
      this.#rejectHead = reject;
    });
    this.#native = engine();
    this.#signal = signal;
    try {
      this.#id = this.#native.request(JSON.stringify(options), body, this.#deliver);
    } catch (error) {
      rethrow(error);
    }
    this.#settled = onAbort(signal, this.#abort);
  }

  /** The head of the answer; called once. */
  async head(): Promise<Head> {
    try {
      return await (this.#headArrived as Promise<Head>);
    } finally {
      this.#headArrived = this.#resolveHead = this.#rejectHead = undefined;
    }
  }

  readAs(spec: PipeSpec): void {
    if (this.#ended) return;
    try {
      this.#native.readAs(this.#id, spec.kind, JSON.stringify(spec.options));
    } catch (error) {
      rethrow(error);
    }
  }

  /** The next output; undefined at the end. One call at a time. */
  read(): Promise<Output | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      if (this.#early !== undefined || this.#ended) this.#settle();
      else this.#native.take(this.#id);
    });
  }

  /** Gives outputs to the sink until that has enough; instead of read(). */
  flow(sink: Sink): void {
    if (this.#sink) return;
    this.#sink = sink;
    if (this.#ended) this.#settle();
    else this.#native.take(this.#id);
  }

  cancel(): void {
    if (this.#ended) return;
    this.#native.cancel(this.#id);
    this.#end(undefined);
  }

  /** Lets a body that must be empty end by itself, so that the connection can be used again. */
  discard(): void {
    this.readAs({ kind: 'bytes', options: {} });
    this.read().then(
      () => this.cancel(),
      () => undefined,
    );
  }

  readonly #deliver = (head?: string, data?: Output, end?: string): boolean => {
    if (head !== undefined) this.#resolveHead?.(JSON.parse(head) as Head);
    const sink = this.#sink;
    if (data !== undefined) {
      if (!sink) this.#early = data;
      else if (!sink.data(data)) this.#sink = undefined;
    }
    if (end !== undefined) this.#end(end === '' ? undefined : { value: errorFromNative(end) });
    else if (!sink && data !== undefined) this.#settle();
    return this.#sink !== undefined && !this.#ended;
  };

  readonly #abort = (): void => {
    if (this.#ended) return;
    this.#native.cancel(this.#id);
    this.#early = undefined;
    if (this.#signal) this.#end({ value: reasonOf(this.#signal) });
  };

  #end(error: { value: unknown } | undefined): void {
    this.#ended = true;
    this.#error = error;
    this.#settled();
    if (error) this.#rejectHead?.(error.value);
    this.#settle();
  }

  #settle(): void {
    const sink = this.#sink;
    if (sink && this.#ended) {
      this.#sink = undefined;
      sink.end(this.#error);
      return;
    }
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = undefined;
    const output = this.#early;
    this.#early = undefined;
    if (output === undefined && this.#error) waiting.reject(this.#error.value);
    else waiting.resolve(output);
  }
}

// An unread body keeps its connection and up to 64 KiB; without a reader, it ends.
const unread = new FinalizationRegistry<EngineStream>((stream) => stream.cancel());

/**
 * The body of an engine's response: bytes for its reader, or taken over by parse(). It is then
 * the source of what comes out, too.
 */
class EngineBodySource implements UnderlyingByteSource, EngineBody, Source {
  readonly type = 'bytes';
  readonly #stream: EngineStream;
  #mode: 'unread' | 'bytes' | 'taken' | 'closed' = 'unread';
  #controller: ReadableByteStreamController | undefined;
  // Keeps a body that was taken over locked, and from being collected as an unread one.
  #lock: ReadableStreamDefaultReader<Uint8Array> | undefined;

  constructor(stream: EngineStream) {
    this.#stream = stream;
  }

  // Of the underlying source of a ReadableStream, as are pull and cancel.
  start(controller: ReadableByteStreamController): void {
    this.#controller = controller;
  }

  async pull(controller: ReadableByteStreamController): Promise<void> {
    if (this.#mode === 'unread') {
      this.#mode = 'bytes';
      this.#stream.readAs({ kind: 'bytes', options: {} });
    }
    const bytes = (await this.#stream.read()) as Buffer | undefined;
    if (bytes === undefined) this.#close();
    else controller.enqueue(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  }

  async cancel(): Promise<void> {
    // The readable side of a body that is taken over ends when it is.
    if (this.#mode === 'taken' && !this.#lock) return;
    this.#mode = 'closed';
    this.#stream.cancel();
  }

  #close(): void {
    if (this.#mode === 'closed') return;
    this.#mode = 'closed';
    this.#controller?.close();
    // A reader that brought its own buffer gets it back empty.
    this.#controller?.byobRequest?.respond(0);
  }

  open(stream: ReadableStream<Uint8Array>, spec: PipeSpec): Source | undefined {
    if (this.#mode !== 'unread') return undefined;
    this.#stream.readAs(spec);
    this.#mode = 'taken';
    const reader = stream.getReader();
    // Marks the body as used, and gives up all that a read would wait for.
    reader.cancel().catch(() => undefined);
    this.#controller = undefined;
    this.#lock = reader;
    return this;
  }

  // Of the source.
  read(): Promise<Output | undefined> {
    return this.#stream.read();
  }

  flow(sink: Sink): void {
    this.#stream.flow(sink);
  }
}

// Statuses whose responses must not have a body.
const bodiless = new Set([204, 205, 304]);

function responseOf(stream: EngineStream, head: Head): Response {
  if (head.status < 200 || head.status > 599) {
    stream.cancel();
    throw new MillraceError(
      'protocol_error',
      `The server answered with the status ${head.status}, which no Response can have.`,
      { status: head.status },
    );
  }
  const init = {
    status: head.status,
    statusText: latin1(head.statusText),
    headers: headersOf(head),
  };
  let response: Response;
  if (bodiless.has(head.status)) {
    stream.discard();
    response = new Response(null, init);
  } else {
    const body = new EngineBodySource(stream);
    const readable = new ReadableStream(body, { highWaterMark: 0 });
    rememberEngineBody(readable, body);
    unread.register(readable, stream);
    response = new Response(readable, init);
  }
  Object.defineProperty(response, 'url', { value: head.url, configurable: true });
  Object.defineProperty(response, 'redirected', { value: head.redirected, configurable: true });
  return response;
}

// The constructor of Response refuses what is no Latin-1.
function latin1(text: string): string {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text) ? text : '';
}

// The body is decoded already, so that the headers that describe its coding are not true any more.
const codingHeaders = new Set(['content-encoding', 'content-length']);

function headersOf(head: Head): Headers {
  const decoded = head.headers.some(([name]) => name.toLowerCase() === 'content-encoding');
  const headers = new Headers();
  for (const [name, value] of head.headers) {
    if (decoded && codingHeaders.has(name.toLowerCase())) continue;
    try {
      headers.append(name, value);
    } catch {
      // A header that the standard refuses cannot be shown.
    }
  }
  return headers;
}
