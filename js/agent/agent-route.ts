// A Fetch-style handler for AG-UI clients: a request with a RunAgentInput in, an AG-UI response out.
import type { ErrorCode } from '../../types/errors';
import type { RunAgentInput } from '../../types/events';
import { MillraceError } from '../errors';
import { jsonOfRequest, refusalStatus } from '../request-body';
import type { EngineAgent } from './create-agent';

const bodyLimit = 16 * 1024 * 1024;

/** Throws for what is no Request, the pair of a Node server for instance. */
export function checkRequest(request: unknown): void {
  const { method, url, body, arrayBuffer } = (request ?? {}) as Partial<Request>;
  const isRequest = typeof method === 'string' && typeof url === 'string';
  if (isRequest && (typeof arrayBuffer === 'function' || isStream(body))) return;
  throw new MillraceError(
    'invalid_argument',
    "agent.handler takes a web Request. With (req, res) of a Node server or Express' answer by " +
      'pipeAGUI(agent.run(req.body), res).',
  );
}

function isStream(body: unknown): boolean {
  return typeof (body as ReadableStream | null | undefined)?.getReader === 'function';
}

/** Answers one request; what is wrong with it is a JSON body with its status. Never rejects. */
export async function answerRequest(agent: EngineAgent, request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost');
  const isAbout = pathname.endsWith('/capabilities');
  const allowed = isAbout ? 'GET' : 'POST';
  if (request.method !== allowed) {
    return Response.json(
      { error: { code: 'method_not_allowed', message: `Send a ${allowed} request.` } },
      { status: 405, headers: { Allow: allowed } },
    );
  }
  if (isAbout) {
    return Response.json(agent.capabilities, { headers: { 'Cache-Control': 'no-store' } });
  }
  try {
    const input = await inputOf(request);
    const format = searchParams.get('format') ?? undefined;
    // Its events are read once, as bytes.
    const run = agent.run(input, { signal: request.signal, format, keptSize: 0 });
    return run.response({ protocolVersion: input.protocolVersion });
  } catch (error) {
    return refusal(error, request.signal);
  }
}

// What nobody foresaw may hold what clients must not see. Whoever is gone reads no answer, but frameworks want one.
function refusal(error: unknown, signal: AbortSignal | undefined): Response {
  if (MillraceError.is(error)) return told(error.code, error.message, statusOf(error));
  return signal?.aborted === true
    ? told('cancelled', 'The request was aborted.', 499)
    : told('internal', 'The request failed.', 500);
}

function told(code: ErrorCode, message: string, status: number): Response {
  return Response.json({ error: { code, message } }, { status });
}

function statusOf({ code, errorType }: MillraceError): number {
  return refusalStatus[code] ?? (errorType === 'InternalServerError' ? 500 : 400);
}

async function inputOf(request: Request): Promise<RunAgentInput> {
  const value = await jsonOfRequest(request, bodyLimit);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MillraceError('invalid_body', 'The request body must be an AG-UI RunAgentInput.');
  }
  return value as RunAgentInput;
}
