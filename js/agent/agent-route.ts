// A Fetch-style handler for AG-UI clients: a request with a RunAgentInput in, an AG-UI response out.
import type { RunAgentInput } from '../../types/events';
import { MillraceError } from '../errors';
import type { errorTypes } from '../error-types';
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

/** Answers one request; what is wrong with it is a JSON body with its status. */
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
    const run = agent.run(input, { signal: request.signal, format });
    return run.response({ protocolVersion: input.protocolVersion });
  } catch (error) {
    return refusal(error);
  }
}

function refusal(error: unknown): Response {
  const known = MillraceError.is(error) ? error : undefined;
  if (!known) throw error;
  const { code, message } = known;
  return Response.json({ error: { code, message } }, { status: statusOf(code) });
}

function statusOf(code: keyof typeof errorTypes): number {
  return code === 'body_too_large' ? 413 : 400;
}

async function inputOf(request: Request): Promise<RunAgentInput> {
  const text = await textOf(request);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MillraceError('invalid_json', 'The request body is not valid JSON.', { cause });
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MillraceError('invalid_body', 'The request body must be an AG-UI RunAgentInput.');
  }
  return value as RunAgentInput;
}

async function textOf(request: Request): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += (chunk as Uint8Array).byteLength;
    if (size > bodyLimit) {
      throw new MillraceError('body_too_large', `The request is larger than ${bodyLimit} bytes.`);
    }
    chunks.push(chunk as Uint8Array);
  }
  return Buffer.concat(chunks).toString('utf8');
}
