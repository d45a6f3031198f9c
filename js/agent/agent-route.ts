// A Fetch-style handler for AG-UI clients: a request with a RunAgentInput in, an AG-UI response out.
import type { RunAgentInput } from '../../types/events';
import { MillraceError } from '../errors';
import type { errorTypes } from '../error-types';
import type { EngineAgent } from './create-agent';

const bodyLimit = 16 * 1024 * 1024;

/** Answers one request; what is wrong with it is a JSON body with its status. */
export async function answerRequest(agent: EngineAgent, request: Request): Promise<Response> {
  if (request.method !== 'POST') {
    return Response.json(
      { error: { code: 'method_not_allowed', message: 'Send a POST request.' } },
      { status: 405, headers: { Allow: 'POST' } },
    );
  }
  try {
    const input = await inputOf(request);
    const run = agent.run(input, { signal: request.signal });
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
