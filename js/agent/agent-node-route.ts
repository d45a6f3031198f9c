// The handler of an agent for Node servers and Express.
import { MillraceError } from '../errors';
import { gathered, jsonOf, rejectCoding, unreadable } from '../request-body';
import { type NodeResponse, pipeAccepted } from '../runs/ag-ui';
import { endOf, usualStallMs, writeTo } from '../runs/response-room';
import { answerOf, bodyLimit } from './agent-route';
import type { StreamAnswer } from './route-types';
import type { RunnableAgent } from './types';

/** What the handler needs of a request of `node:http` or a framework on top of it. */
export interface NodeRequest extends AsyncIterable<unknown> {
  method?: string | undefined;
  url?: string | undefined;
  /** Of Express: `url` with the path of the handler. */
  readonly originalUrl?: string | undefined;
  readonly headers?: { 'content-encoding'?: string | undefined };
  readonly socket?: { readonly remoteAddress?: string | undefined };
  readonly readableDidRead?: boolean;
  /** What a middleware has read of it. */
  body?: unknown;
}

/** Throws for what is no pair of a Node server, a web Request for instance. */
export function checkNodePair(
  owner: 'agent' | 'runtime',
  request: unknown,
  response: unknown,
): void {
  const { url } = (request ?? {}) as Partial<NodeRequest>;
  const { writeHead } = (response ?? {}) as Partial<NodeResponse>;
  if (typeof url === 'string' && typeof writeHead === 'function') return;
  throw new MillraceError(
    'invalid_argument',
    `${owner}.nodeHandler takes (req, res) of a Node server or Express; a web Request is for ` +
      `${owner}.${owner === 'agent' ? 'handler' : 'fetch'}.`,
  );
}

/** Answers one request; what is wrong with it is a JSON body with its status. Never rejects. */
export async function answerNode(
  agent: RunnableAgent,
  request: NodeRequest,
  response: NodeResponse,
): Promise<void> {
  const { method = '', url = '' } = request;
  const body = (): Promise<unknown> => bodyOf(request);
  let piped: Promise<void> | undefined;
  const header = (name: string): string | undefined => {
    const value = (request.headers as Record<string, unknown> | undefined)?.[name];
    return typeof value === 'string' ? value : undefined;
  };
  const known = { method, url, signal: undefined, body, header, original: request };
  const answer = await answerOf(agent, known, (run) => {
    piped = pipeAccepted(run, response, {}, header('accept'));
  });
  if (answer === undefined) return piped;
  if ('stream' in answer) return pipeAnswer(answer, response);
  const { status, headers, body: plain } = answer;
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify(plain));
}

/**
 * Writes an answer as it comes. A client that leaves ends the reading, not the run, and one that takes nothing for
 * `stallMs` loses its connection.
 */
export async function pipeAnswer(
  {
    status,
    headers,
    stream,
  }: Omit<StreamAnswer, 'headers'> & { headers: Record<string, string | string[]> },
  response: NodeResponse,
  stallMs: number = usualStallMs,
): Promise<void> {
  response.writeHead(status, headers);
  response.flushHeaders?.();
  const reader = stream?.getReader();
  const leave = (): void => void reader?.cancel().catch(() => undefined);
  response.on('close', leave).on('error', leave);
  // The rest of the answer is missing: the connection shows it, also while the client has no room.
  void reader?.closed.catch(() => response.destroy());
  try {
    for (let read = await reader?.read(); read?.value; read = await reader?.read()) {
      await writeTo(response, read.value, stallMs);
    }
  } catch {
    response.destroy();
    return;
  }
  response.off('close', leave);
  endOf(response, stallMs);
}

// A middleware leaves undefined, or an empty object, where it did not read the body: the type was not its own.
async function bodyOf(request: NodeRequest): Promise<unknown> {
  const { body, readableDidRead } = request;
  const isEmpty = typeof body === 'object' && body !== null && Object.keys(body).length === 0;
  if (readableDidRead === false && (body === undefined || isEmpty))
    return jsonOf(await read(request));
  if (body === undefined) {
    throw new MillraceError(
      'invalid_argument',
      'The body of the request was already read before agent.nodeHandler. Let the parser set `req.body` (of Fastify: ' +
        '`request.raw.body = request.body`), or leave the body unread.',
      { errorType: 'InternalServerError' },
    );
  }
  return typeof body === 'string' || Buffer.isBuffer(body) ? jsonOf(Buffer.from(body)) : body;
}

async function read(request: NodeRequest): Promise<Buffer> {
  rejectCoding(request.headers?.['content-encoding']);
  try {
    return await gathered(request as AsyncIterable<Uint8Array>, bodyLimit);
  } catch (cause) {
    if (MillraceError.is(cause)) throw cause;
    return unreadable(cause);
  }
}
