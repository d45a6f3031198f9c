// The routes of an agent with a runtime: begin, read again, stop, approve.
import { MillraceError } from '../errors';
import { createHash } from '../node-crypto';
import { toJson } from '../serialize';
import { shown } from '../shown';
import { checkValues } from '../value-checks';
import type {
  Authorized,
  DurableRoutes,
  DurableRuntime,
  OnDisconnect,
  RunResponse,
} from './durable-types';
import { wrongMethod } from './plain-answer';
import type { AgentRequest, PlainAnswer, StreamAnswer } from './route-types';
import { disconnect } from './run-policies';

interface Caller {
  principal: string;
  /** What the host sets for the run of this request. */
  onDisconnect?: OnDisconnect | undefined;
  isAuthorized: boolean;
  may(scope: string): boolean;
}

interface Route {
  target: DurableRoutes;
  request: AgentRequest;
  query: URLSearchParams;
  caller: Caller;
  /** Of a run; "" in a list of runs. */
  id: string;
  approval: string;
}

type Answer = Promise<PlainAnswer | StreamAnswer>;

const place = /\/runs(?:\/([^/]+)(?:\/(?:approvals\/([^/]+)|(messages|fork)))?)?\/?$/;

/** Answers one request; throws what is wrong with it. */
export async function answerDurable(target: DurableRoutes, request: AgentRequest): Answer {
  const { pathname, searchParams: query } = new URL(request.url, 'http://localhost');
  const [isRun, id = '', approval = '', verb] = place.exec(pathname) ?? [];
  const ofRun = verb ? (verb as 'messages' | 'fork') : approval ? 'approval' : id ? 'run' : 'runs';
  const ofAgent = /\/connect\/?$/.test(pathname) ? 'connect' : 'agent';
  const kind = isRun === undefined ? ofAgent : ofRun;
  const methods = routes[kind];
  const route = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
  if (!route) return wrongMethod(Object.keys(methods));
  const caller = await callerOf(target, request);
  if (!caller.may(route.scope)) throw notAuthorized(route.scope);
  const [decodedId, decodedApproval] = [id, approval].map(decoded) as [string, string];
  return route.answer({ target, request, query, caller, id: decodedId, approval: decodedApproval });
}

const routes: Record<
  'agent' | 'connect' | 'run' | 'runs' | 'approval' | 'messages' | 'fork',
  Record<string, { scope: string; answer: (route: Route) => Answer }>
> = {
  agent: { POST: { scope: 'start', answer: begin } },
  connect: { POST: { scope: 'read', answer: connect } },
  runs: { GET: { scope: 'read', answer: list } },
  run: { GET: { scope: 'read', answer: read }, DELETE: { scope: 'stop', answer: stop } },
  approval: { POST: { scope: 'approve', answer: decide } },
  messages: { POST: { scope: 'start', answer: send } },
  // The new run answers with what the other one read.
  fork: { POST: { scope: 'start', answer: fork } },
};

// Without `authorize` the caller is unknown, and may only begin what is new.
async function callerOf({ authorize }: DurableRoutes, { original }: AgentRequest): Promise<Caller> {
  if (!authorize) {
    return { principal: '', isAuthorized: false, may: (scope) => scope === 'start' };
  }
  const given = (await authorize(original as never)) as
    Partial<Authorized> | null | undefined | false;
  if (!given) throw notAuthorized('start');
  const { principal, scopes, onDisconnect } = given;
  if (typeof principal !== 'string' || principal === '') {
    throw new MillraceError(
      'invalid_option',
      `authorize must give { principal: string, scopes? } or nothing, not ${shown(given)}.`,
    );
  }
  checkValues('authorize', { onDisconnect }, { onDisconnect: disconnect });
  const may = (scope: string): boolean => scopes === undefined || scopes.includes(scope as never);
  return { principal, onDisconnect, isAuthorized: true, may };
}

async function begin({ target, request, query, caller }: Route): Answer {
  const body = await inputOf(request);
  const isAnswer = ((body as { resume?: unknown[] }).resume ?? []).length > 0;
  if (isAnswer && !caller.may('approve')) throw notAuthorized('approve');
  const input = toJson(body, 'input');
  const response = await target.runtime.respond({
    plan: target.agent.planJson,
    input,
    options: {
      name: target.name,
      principal: caller.principal,
      onlyNew: !caller.isAuthorized,
      format: query.get('format') ?? undefined,
      busy: busyOf(query.get('busy')),
      onDisconnect: caller.onDisconnect ?? wantedIn(query, caller),
      inputHash: createHash('sha256').update(input).digest('hex'),
      accept: request.header('accept'),
    },
  });
  return streamed(response);
}

// Who may stop the run may have it stopped by leaving it; who may not decides nothing about it.
function wantedIn(query: URLSearchParams, caller: Caller): OnDisconnect | undefined {
  const wanted = query.get('onDisconnect');
  if (wanted === null) return undefined;
  if (!caller.may('stop')) throw notAuthorized('stop');
  if (wanted === 'continue' || wanted === 'stop') return wanted;
  throw new MillraceError(
    'invalid_argument',
    `\`onDisconnect\` must be 'continue' or 'stop', not ${shown(wanted)}.`,
  );
}

// The messages of a thread, and the run that goes on there.
async function connect({ target, request, caller }: Route): Answer {
  const input = toJson(await inputOf(request), 'input');
  const { principal } = caller;
  const options = { principal, connects: true, accept: request.header('accept') };
  return streamed(await target.runtime.respond({ plan: '', input, options }));
}

async function inputOf(request: AgentRequest): Promise<object> {
  const body = await request.body();
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
  throw new MillraceError(
    'invalid_body',
    `The request body must be an AG-UI RunAgentInput, not ${shown(body)}.`,
  );
}

async function read({ target, request, query, caller, id }: Route): Answer {
  const threadId = query.get('threadId') ?? undefined;
  const { principal } = caller;
  const accepted = request.header('accept') ?? '';
  if (accepted.includes('application/json') && !accepted.includes('text/event-stream')) {
    return described(target.runtime, 200, 'get', { run: id, principal, threadId });
  }
  const given = request.header('last-event-id') || query.get('after');
  const response = await target.runtime.respond({
    plan: '',
    input: '',
    options: {
      ...{ id, principal, threadId, after: numberOf('after', given) ?? 0 },
      fresh: query.get('fresh') === '1',
      protocolVersion: query.get('protocolVersion') ?? undefined,
      accept: accepted,
    },
  });
  return streamed(response);
}

function stop({ target, caller, id }: Route): Answer {
  const { principal } = caller;
  return described(target.runtime, 202, 'stop', { run: id, principal, reason: 'user_aborted' });
}

function list({ target, query, caller }: Route): Answer {
  const { principal } = caller;
  const options: Record<string, unknown> = {
    principal,
    limit: numberOf('limit', query.get('limit')),
  };
  for (const name of ['state', 'threadId', 'cursor']) options[name] = query.get(name) ?? undefined;
  if (query.get('children') === '1') options['children'] = true;
  return described(target.runtime, 200, 'list', options);
}

async function send({ target, request, caller, id }: Route): Answer {
  if (!caller.isAuthorized) throw notAuthorized('start');
  const body = await request.body();
  const { text, interrupt, id: message } = (body ?? {}) as Record<string, unknown>;
  const { principal } = caller;
  const options = { run: id, principal, text, interrupt, id: message };
  return described(target.runtime, 202, 'message', options);
}

async function fork({ target, request, caller, id }: Route): Answer {
  if (!caller.isAuthorized) throw notAuthorized('start');
  if (!caller.may('read')) throw notAuthorized('read');
  const { at, results, message, threadId } = ((await request.body()) ?? {}) as Record<
    string,
    unknown
  >;
  const { principal } = caller;
  const options = { run: id, principal, at, results, message, threadId };
  return described(target.runtime, 201, 'fork', options);
}

async function decide({ target, request, caller, id, approval }: Route): Answer {
  const entry = await request.body();
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    throw new MillraceError(
      'invalid_body',
      'The body must be an object such as {"approved":true}.',
    );
  }
  const { principal } = caller;
  return described(target.runtime, 200, 'decide', { run: id, approval, principal, entry });
}

async function described(
  runtime: DurableRuntime,
  status: number,
  command: string,
  options: object,
): Promise<PlainAnswer> {
  const body = await runtime.ask<object>(command, options);
  return { status, headers: { 'Cache-Control': 'no-store' }, body };
}

const streamHeaders = {
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

function streamed({ run, status, type, body }: RunResponse): StreamAnswer {
  const id: Record<string, string> = run === '' ? {} : { 'Millrace-Run-Id': run };
  if (status === 200)
    return { status, headers: { 'Content-Type': type, ...streamHeaders, ...id }, stream: body };
  void body.cancel();
  return { status, headers: id, stream: undefined };
}

function numberOf(name: string, text: string | null): number | undefined {
  if (text === null) return undefined;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new MillraceError(
    'invalid_argument',
    `\`${name}\` must be a whole number, not ${shown(text)}.`,
  );
}

// What becomes of a run whose thread has another one at work.
function busyOf(text: string | null): 'reject' | 'queue' {
  const busy = text ?? 'reject';
  if (busy === 'reject' || busy === 'queue') return busy;
  throw new MillraceError(
    'invalid_argument',
    `\`busy\` must be reject or queue, not ${shown(text)}.`,
  );
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function notAuthorized(scope: string): MillraceError {
  return new MillraceError('not_authorized', `The caller does not have the scope '${scope}'.`);
}
