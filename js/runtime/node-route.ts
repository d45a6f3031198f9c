// The routes of a runtime for Node servers and Express.
import { checkNodePair, type NodeRequest, pipeAnswer } from '../agent/agent-node-route';
import type { NodeResponse } from '../runs/ag-ui';
import { messageOf } from '../thrown';
import { answerRoute, refusal, type RouteRequest } from './api';

type Fields = Record<string, string | string[] | undefined>;

/**
 * Answers one request by the routes of the runtime that `open` gives. A client that takes nothing for `stallMs` loses
 * its connection.
 * Errors: throws for what is no pair of a Node server; never rejects.
 */
export function answerNodeRoute(
  open: () => number,
  request: NodeRequest,
  response: NodeResponse,
  stallMs: number | undefined,
): Promise<void> {
  checkNodePair('runtime', request, response);
  return answered(open, request, response, stallMs);
}

async function answered(
  open: () => number,
  request: NodeRequest,
  response: NodeResponse,
  stallMs: number | undefined,
): Promise<void> {
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  response.on('close', leave).on('error', leave);
  const body = bodyOf(request);
  const given = request.originalUrl ?? request.url ?? '';
  const host = hostOf(request);
  const target = originForm(given, host);
  let answer: Response;
  try {
    const known = requestOf(request, { host, target }, body.stream, gone.signal);
    answer = known ? await answerRoute(open, known) : invalid(target);
  } catch (error) {
    process.emitWarning(`runtime.nodeHandler: ${messageOf(error)}`, { code: 'MILLRACE_RUNTIME' });
    answer = refusal('internal', 'The request failed.', target);
  }
  const headers: Record<string, string | string[]> = Object.fromEntries(answer.headers);
  const cookies = answer.headers.getSetCookie();
  if (cookies.length > 0) headers['set-cookie'] = cookies;
  // The rest of the body is not read, so that the connection cannot take another request.
  if (body.isBegun() && !body.isOver()) headers['connection'] = 'close';
  const stream = answer.body ?? undefined;
  if (gone.signal.aborted) return void stream?.cancel().catch(() => undefined);
  return pipeAnswer({ status: answer.status, headers, stream }, response, stallMs);
}

function invalid(target: string): Response {
  return refusal('invalid_url', 'The request has no path, or an invalid Host.', target);
}

function fieldsOf(request: NodeRequest): Fields {
  return request.headers ?? {};
}

function hostOf(request: NodeRequest): string {
  const fields = fieldsOf(request);
  return String(fields['host'] ?? fields[':authority'] ?? 'localhost');
}

// Clients of a proxy send the whole address (RFC 9112, 3.2.2). One of another host stays as it is, as the engine's own
// server rejects it.
function originForm(target: string, host: string): string {
  const [, authority, rest = ''] = /^https?:\/\/([^/?]*)(.*)$/i.exec(target) ?? [];
  if (authority?.toLowerCase() !== host.toLowerCase()) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

// undefined for a target or a host that no URL can have.
function requestOf(
  request: NodeRequest,
  { host, target }: { host: string; target: string },
  body: RouteRequest['body'],
  signal: AbortSignal,
): RouteRequest | undefined {
  const { method = '', socket } = request;
  const fields = fieldsOf(request);
  if (!target.startsWith('/') || !URL.canParse(`http://${host}`)) return undefined;
  const headers: [string, string][] = [];
  for (const [name, value] of Object.entries({ ...fields, host })) {
    const isLeftOut = name.startsWith(':') || value === undefined;
    if (!isLeftOut) for (const one of [value].flat()) headers.push([name, one]);
  }
  const remoteAddress = socket?.remoteAddress;
  return { method, target, headers, body, bodyUsed: false, signal, remoteAddress };
}

interface NodeBody {
  /** null where the method has none. */
  stream: RouteRequest['body'];
  isBegun(): boolean;
  isOver(): boolean;
}

// Ends without the connection, where the answer is still to come: Readable.toWeb() would close that.
function bodyOf(request: NodeRequest): NodeBody {
  let [isBegun, isOver] = [false, false];
  const state = { isBegun: () => isBegun, isOver: () => isOver };
  const isEmpty = request.method === 'GET' || request.method === 'HEAD';
  if (isEmpty) return { stream: null, ...state };
  let pieces: AsyncIterator<unknown, undefined> | undefined;
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        isBegun = true;
        pieces ??= piecesOf(request)[Symbol.asyncIterator]();
        const { done, value } = await pieces.next();
        if (!done) return controller.enqueue(value as Uint8Array);
        isOver = true;
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, ...state };
}

// A body that a middleware has read is what it made of it.
function piecesOf(request: NodeRequest): AsyncIterable<unknown> {
  const { body, readableDidRead } = request;
  if (readableDidRead !== true || body === undefined) return request;
  const isBytes = typeof body === 'string' || body instanceof Uint8Array;
  return one(Buffer.from(isBytes ? (body as string) : JSON.stringify(body)));
}

async function* one(piece: Buffer): AsyncGenerator<Buffer> {
  yield piece;
}
