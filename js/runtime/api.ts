// The HTTP routes of a runtime: answered for a host's own server, or served by the engine.
import { plainAnswer } from '../agent/plain-answer';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { bytesOf, unreadable } from '../request-body';
import { engine } from '../transport/engine';
import type { ErrorCode } from '../../types/errors';
import type { OwnRequest } from './lobe-server';
import { checkValues, milliseconds } from '../value-checks';
import { engineResponse } from './run-response';
import type { RuntimeStream } from './runtime-stream';

/** How the routes of a runtime are served by the engine. */
export interface ListenOptions {
  /** 0 takes a free port; 8788 when absent. */
  port?: number | undefined;
  /** A name or an address; 127.0.0.1 when absent. Others than loopback need `api.keys`. */
  host?: string | undefined;
  /** Hosts that requests may name beside the server's own. */
  allowedHosts?: readonly string[] | undefined;
  /** Origins of pages that may use the routes of AG-UI beside the server's own. */
  allowedOrigins?: readonly string[] | undefined;
}

/** A server of a runtime's routes. */
export interface RuntimeServer {
  readonly port: number;
  /** Accepts no more and lets answers that have begun finish. Units: milliseconds. */
  close(options?: { drainMs?: number | undefined }): Promise<void>;
}

/** What a host knows of a request beside the request itself. */
export interface FetchOptions {
  /** The address of the connection: wrong keys are counted by it, and reports have it. */
  remoteAddress?: string | undefined;
}

interface Head {
  status: number;
  headers: [string, string][];
}

/** A request whose body may come, as a whole or piece by piece. */
interface Admitted {
  bodyBytes: number;
  isFed: boolean;
}

const smallBody = 64 * 1024;
const pieceBytes = 64 * 1024;

/** A request, whatever it is made of. */
export interface RouteRequest extends FetchOptions {
  method: string;
  /** The path and the query. */
  target: string;
  headers: [string, string][];
  body: Request['body'];
  bodyUsed: boolean;
  /** Aborts when the client is gone. */
  signal: AbortSignal;
}

/** Answers a web Request by the routes of the runtime that `open` gives. */
export async function fetchRoute(
  open: () => number,
  request: Request,
  { remoteAddress }: FetchOptions,
): Promise<Response> {
  checkRequest(request);
  const { pathname, search, host } = new URL(request.url);
  const { method, body, bodyUsed, signal } = request;
  const headers = [...request.headers];
  // A request that a program made has its host in the address alone.
  if (!request.headers.has('host')) headers.push(['host', host]);
  const target = pathname + search;
  const known = { method, target, headers, body, bodyUsed, signal, remoteAddress };
  const answer = await answerRoute(open, known);
  // A Request that is collected tells its signal nothing more.
  if (answer.body) requests.set(answer.body, request);
  return answer;
}

const requests = new WeakMap<ReadableStream, Request>();

/** Answers a request. What becomes of the request or the runtime is an answer; rejects for faults of the host. */
export async function answerRoute(open: () => number, request: RouteRequest): Promise<Response> {
  const { signal, target } = request;
  try {
    return await routed(open(), request);
  } catch (error) {
    if (signal?.aborted) return refusal('cancelled', 'The request was aborted.', target);
    if (!MillraceError.is(error) || !answered.has(error.code)) throw error;
    return refusal(error.code, error.message, target);
  }
}

// What is wrong with a request, or the end of the runtime.
const answered: ReadonlySet<ErrorCode> = new Set(['invalid_body', 'engine_closed']);

/** An error in the form of the route of this path. */
export function refusal(code: ErrorCode, message: string, path: string): Response {
  const { status, body } = plainAnswer(code, message);
  const isOfAgent = /^\/agent(?:[/?]|$)/.test(path);
  return Response.json(isOfAgent ? body : { error: message, code }, { status });
}

function checkRequest(request: unknown): void {
  const { url, headers } = (request ?? {}) as Partial<Request>;
  if (typeof url === 'string' && typeof headers?.get === 'function') return;
  throw new MillraceError(
    'invalid_argument',
    `runtime.fetch takes a web Request, not ${shown(request)}. With (req, res) of a Node server or Express answer ` +
      'by runtime.nodeHandler(req, res).',
  );
}

async function routed(runtime: number, request: RouteRequest): Promise<Response> {
  const { method, target, headers, remoteAddress, signal } = request;
  const about = { method, target, headers, remoteAddress };
  const ask = async (
    bytes: Buffer | undefined,
    more: { peek?: true; oversized?: true } = {},
  ): Promise<Response | Admitted> => {
    const { head, body } = await engineResponse<Head | Admitted>(
      (deliver) =>
        engine().fetchRoute(runtime, JSON.stringify({ ...about, ...more }), bytes, deliver),
      { signal },
    );
    if ('status' in head) return responseOf(head, body, method);
    void body.cancel();
    return head;
  };
  let bytes: Buffer | undefined;
  if (request.body) {
    const headerOf = (wanted: string): string | undefined =>
      headers.find(([name]) => name === wanted)?.[1];
    let limit = smallBody;
    // What may be large, or cannot be taken, waits until its request may come.
    const isSmall = Number(headerOf('content-length') ?? NaN) <= smallBody;
    if (!isSmall || headerOf('content-encoding') !== undefined) {
      const admitted = await ask(undefined, { peek: true });
      if (admitted instanceof Response) return admitted;
      if (admitted.isFed) return feedRoute(runtime, about, request.body, signal);
      limit = admitted.bodyBytes;
    }
    try {
      bytes = await bytesOf(request, limit);
    } catch (thrown) {
      // Answered by the engine, as all errors.
      if (!MillraceError.is(thrown) || thrown.code !== 'body_too_large') throw thrown;
      return (await ask(undefined, { oversized: true })) as Response;
    }
  }
  return (await ask(bytes)) as Response;
}

/** Serves the routes by the engine, beside the main thread, until the server or the runtime is closed. */
export async function listenOn(
  stream: RuntimeStream,
  options: ListenOptions,
  isClosing: () => boolean,
): Promise<RuntimeServer> {
  checkNames('listen()', options, ['port', 'host', 'allowedHosts', 'allowedOrigins']);
  const { port } = await stream.command<{ port: number }>('listen', options);
  const release = stream.hold();
  return {
    port,
    close: async ({ drainMs = 5000 } = {}) => {
      checkValues('close()', { drainMs }, { drainMs: milliseconds });
      if (!isClosing()) await stream.command('unlisten', { port, drainMs });
      release();
    },
  };
}

// The engine takes the body as fast as it can write it away. An answer that comes first ends the reading.
async function feedRoute(
  runtime: number,
  about: { method: string },
  from: ReadableStream<Uint8Array>,
  signal: AbortSignal,
): Promise<Response> {
  const native = engine();
  const reader = from.getReader();
  let stream = 0;
  let failed: (error: unknown) => void = () => undefined;
  const failure = new Promise<never>((_, reject) => (failed = reject));
  let rest: Uint8Array = new Uint8Array();
  let feeding = Promise.resolve();
  const feed = async (): Promise<void> => {
    if (rest.length === 0) {
      const { done, value } = await reader.read().catch(unreadable);
      if (done) return native.feedRoute(stream, undefined);
      rest = value;
    }
    const piece = rest.subarray(0, pieceBytes);
    rest = rest.subarray(piece.length);
    native.feedRoute(stream, piece);
  };
  const answer = engineResponse<Head>(
    (deliver) => {
      const json = JSON.stringify({ ...about, fed: true });
      return (stream = native.fetchRoute(runtime, json, undefined, deliver));
    },
    {
      signal,
      onRoom: () =>
        void (feeding = feeding.then(feed).catch((error: unknown) => {
          native.cancel(stream);
          failed(error);
        })),
    },
  );
  try {
    const { head, body } = await Promise.race([answer, failure]);
    return responseOf(head, body, about.method);
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** Answers a request that the host itself makes for a principal; it needs no key. */
export async function askRoute(
  runtime: number,
  { method, target, json }: OwnRequest,
  principal: string,
): Promise<Response> {
  const about = JSON.stringify({ method, target, headers: [], principal });
  const bytes = json === undefined ? undefined : Buffer.from(json);
  const { head, body } = await engineResponse<Head>((deliver) =>
    engine().fetchRoute(runtime, about, bytes, deliver),
  );
  return responseOf(head, body, method);
}

function responseOf(
  { status, headers }: Head,
  body: ReadableStream<Uint8Array>,
  method: string,
): Response {
  const isEmpty = status === 204 || status === 304 || method === 'HEAD';
  if (isEmpty) void body.cancel();
  return new Response(isEmpty ? null : body, { status, headers });
}
