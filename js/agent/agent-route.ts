// Handlers for AG-UI clients: a request with a RunAgentInput in, an AG-UI response out.
import type { RunAgentInput } from '../../types/events';
import { errorStatuses } from '../error-statuses';
import { errorTypes } from '../error-types';
import { MillraceError } from '../errors';
import { jsonOfRequest } from '../request-body';
import { acceptedResponse } from '../runs/ag-ui';
import { shown } from '../shown';
import type { AgentRun } from './agent-run';
import { answerDurable } from './durable-route';
import { plainAnswer, wrongMethod } from './plain-answer';
import type { AgentRequest, PlainAnswer, StreamAnswer } from './route-types';
import type { RunnableAgent } from './types';

/** Bytes of a body. */
export const bodyLimit: number = 16 * 1024 * 1024;

// Where clients of AG-UI ask for what a thread has: such a request would begin a run of its messages.
const ofRecorded = /\/(connect|runs\/[^/]+\/(messages|fork|approvals\/[^/]+))\/?$/;

/** Throws for what is no Request, the pair of a Node server for instance. */
export function checkRequest(request: unknown): void {
  const { method, url, body, arrayBuffer } = (request ?? {}) as Partial<Request>;
  const isRequest = typeof method === 'string' && typeof url === 'string';
  if (isRequest && (typeof arrayBuffer === 'function' || isStream(body))) return;
  throw new MillraceError(
    'invalid_argument',
    "agent.handler takes a web Request. With (req, res) of a Node server or Express' answer by " +
      'agent.nodeHandler(req, res).',
  );
}

function isStream(body: unknown): boolean {
  return typeof (body as ReadableStream | null | undefined)?.getReader === 'function';
}

/** Answers one request; what is wrong with it is a JSON body with its status. Never rejects. */
export async function answerRequest(agent: RunnableAgent, request: Request): Promise<Response> {
  const { method, url, signal } = request;
  const body = (): Promise<unknown> => jsonOfRequest(request, bodyLimit);
  const header = (name: string): string | undefined => request.headers.get(name) ?? undefined;
  const known = { method, url, signal, body, header, original: request };
  const answer = await answerOf(agent, known, (run) =>
    acceptedResponse(run, { threadId: run.threadId, runId: run.runId }, header('accept')),
  );
  if (answer instanceof Response) return answer;
  if ('stream' in answer) {
    return new Response(answer.stream ?? null, { status: answer.status, headers: answer.headers });
  }
  const { status, headers, body: plain } = answer;
  return Response.json(plain, { status, ...(headers && { headers }) });
}

/** What `give` makes of the run that a request starts, or the plain answer to it. Never rejects. */
export async function answerOf<Answer>(
  agent: RunnableAgent,
  request: AgentRequest,
  give: (run: AgentRun) => Answer,
): Promise<Answer | PlainAnswer | StreamAnswer> {
  const { method, url, signal, body } = request;
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const isAbout = pathname.endsWith('/capabilities');
  if (agent.durable && !isAbout) {
    return answerDurable(agent.durable, request).catch((error: unknown) => refusal(error, signal));
  }
  const allowed = isAbout ? 'GET' : 'POST';
  if (method !== allowed) return wrongMethod([allowed]);
  if (ofRecorded.test(pathname)) {
    return plainAnswer('run_not_found', 'This agent records no runs; give it a `runtime`.');
  }
  if (isAbout) {
    return { status: 200, headers: { 'Cache-Control': 'no-store' }, body: agent.capabilities };
  }
  try {
    const input = inputOf(await body());
    const format = searchParams.get('format') ?? undefined;
    const run = agent.run(input, { signal, format, replayBufferSize: 0 });
    if (run.inputRead) await run.inputRead;
    // Its events are read once, as bytes: the response asks for them in the same turn.
    run.answers();
    return give(run);
  } catch (error) {
    return refusal(error, signal);
  }
}

// An unexpected error may hold what clients must not see. A client that is gone reads no answer, but frameworks need one.
function refusal(error: unknown, signal: AbortSignal | undefined): PlainAnswer {
  if (MillraceError.is(error)) return plainAnswer(error.code, error.message, statusOf(error));
  return signal?.aborted === true
    ? plainAnswer('cancelled', 'The request was aborted.')
    : plainAnswer('internal', 'The request failed.');
}

// An error of the host that has the code of a caller's.
function statusOf({ code, errorType }: MillraceError): number {
  const isOfHost = errorType === 'InternalServerError' && errorTypes[code] !== errorType;
  return isOfHost ? 500 : errorStatuses[code];
}

function inputOf(value: unknown): RunAgentInput {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new MillraceError(
      'invalid_body',
      `The request body must be an AG-UI RunAgentInput, not ${shown(value)}.`,
    );
  }
  return value as RunAgentInput;
}
