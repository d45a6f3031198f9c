// The procedures of tRPC that LobeHub's own clients call, as their links put them on the wire: with superjson, alone
// and in batches.
import { cleanUp, hosts, key, type Json } from './kit';
import { closeModels, type LobeApi, serveLobe } from './lobe-kit';

afterEach(async () => {
  await cleanUp();
  await closeModels();
});

type Answer = [status: number, body: Json];

const encoded = (value: unknown): string => encodeURIComponent(JSON.stringify(value));

/** Calls of a client whose link has one request for each. */
function callsOf(api: LobeApi, headers: Record<string, string> = {}) {
  const send = async (path: string, call: object = {}): Promise<Answer> => {
    const response = await api.send(`/trpc/lambda/${path}`, { headers, ...call });
    return [response.status, await response.json()];
  };
  const query = (name: string, input: unknown): Promise<Answer> =>
    send(`${name}?input=${encoded({ json: input })}`);
  const mutate = (name: string, input: unknown): Promise<Answer> =>
    send(name, { method: 'POST', json: { json: input } });
  return { send, query, mutate };
}

const dataOf = ([status, { result }]: Answer): Json => [status, result.data.json];
const errorOf = ([status, { error }]: Answer): Json => [status, error.json];

describe.each(hosts)("procedures of LobeHub's clients (%s)", (host) => {
  it('begin, watch, decide and end operations', async () => {
    const api = await serveLobe(host);
    const { query, mutate } = callsOf(api);
    // What superjson makes of members that are undefined.
    const input = { agentId: 'agent', prompt: 'send it', appContext: { topicId: 't-1' } };
    const [, made] = dataOf(await mutate('aiAgent.execAgent', { ...input, autoStart: null }));
    expect(made).toMatchObject({
      ...{ success: true, topicId: 't-1', autoStart: true, firstStep: { scheduled: true } },
    });
    const { operationId } = made;
    await api.events(operationId);
    const status = await query('aiAgent.getOperationStatus', {
      ...{ operationId, includeHistory: true, historyLimit: 2 },
    });
    expect(dataOf(status)).toMatchObject([200, { needsHumanInput: true, operationId }]);
    expect(dataOf(status)[1].recentEvents).toHaveLength(2);
    const [, waiting] = dataOf(await query('aiAgent.getPendingInterventions', { operationId }));
    expect(waiting).toMatchObject({ totalCount: 1, pendingInterventions: [{ operationId }] });
    const [approvedToolCall] = waiting.pendingInterventions[0].pendingToolsCalling;
    const decision = { operationId, action: 'approve', stepIndex: 0, data: { approvedToolCall } };
    expect(dataOf(await mutate('aiAgent.processHumanIntervention', decision))).toMatchObject([
      ...[200, { success: true, action: 'approve' }],
    ]);
    const events = await api.events(operationId);
    expect(events.at(-1)?.data.data.reason).toBe('done');
    expect(dataOf(await mutate('aiAgent.interruptTask', { operationId }))).toMatchObject([
      ...[200, { success: true, operationId }],
    ]);
  });

  it('create operations that begin later, and stop those that wait', async () => {
    const api = await serveLobe(host);
    const { mutate } = callsOf(api);
    const messages = [{ role: 'user', content: 'send it' }];
    const modelRuntimeConfig = { model: 'm', provider: 'p' };
    const input = { messages, modelRuntimeConfig, autoStart: false, topicId: 't', threadId: null };
    const [, made] = dataOf(await mutate('aiAgent.createOperation', input));
    expect(made).toMatchObject({ autoStart: false, status: 'idle', topicId: 't' });
    expect(made.firstStep).toBeUndefined();
    const { operationId } = made;
    const start = await mutate('aiAgent.startExecution', { operationId, delay: 1000 });
    expect(dataOf(start)).toMatchObject([200, { scheduled: true }]);
    await api.events(operationId);
    const stop = { operationId, batchId: 'b', toolMessageIds: ['result-x'], topicId: 't' };
    expect(dataOf(await mutate('aiAgent.stopPendingApproval', stop))).toMatchObject([
      ...[200, { success: true, settledToolMessageIds: ['result-x'] }],
    ]);
    const events = await api.events(operationId);
    expect(events.at(-1)?.data.data.reason).toBe('interrupted');
    const newUserMessage = { content: 'hi' };
    const message = { newTopic: { title: 'T' }, newUserMessage, newAssistantMessage: {} };
    expect(dataOf(await mutate('aiChat.sendMessageInServer', message))).toMatchObject([
      ...[200, { isCreateNewTopic: true }],
    ]);
  });

  it('are called in batches, and without superjson', async () => {
    const api = await serveLobe(host);
    const { send } = callsOf(api);
    const names = 'aiAgent.execAgent,aiAgent.interruptTask';
    const json = { 0: { json: { prompt: 'find it' } }, 1: { json: { operationId: 'nobody' } } };
    const [status, both] = await send(`${names}?batch=1`, { method: 'POST', json });
    expect(status).toBe(207);
    const [{ result }, { error }] = both;
    expect(result.data.json).toMatchObject({ success: true });
    expect(error.json.data).toMatchObject({ code: 'NOT_FOUND', path: 'aiAgent.interruptTask' });
    const { operationId } = result.data.json;
    await api.events(operationId);
    const input = encoded({ 0: { json: { operationId } }, 1: { operationId } });
    const name = 'aiAgent.getOperationStatus';
    const [, list] = await send(`${name},${name}?batch=1&input=${input}`);
    expect(list[0].result.data.json).toMatchObject({ isCompleted: true });
    expect(list[1].result.data).toMatchObject({ isCompleted: true });
  });

  it('say what is wrong with a call', async () => {
    const api = await serveLobe(host);
    const { send, query, mutate } = callsOf(api);
    const error = (code: string, httpStatus: number, name: string, number: number) => [
      httpStatus,
      { code: number, data: { code, httpStatus, path: `aiAgent.${name}` } },
    ];
    expect(errorOf(await mutate('aiAgent.execGroupAgent', {}))).toMatchObject(
      error('NOT_FOUND', 404, 'execGroupAgent', -32004),
    );
    expect(errorOf(await mutate('aiAgent.getOperationStatus', {}))).toMatchObject(
      error('METHOD_NOT_SUPPORTED', 405, 'getOperationStatus', -32005),
    );
    expect(errorOf(await query('aiAgent.execAgent', {}))).toMatchObject(
      error('METHOD_NOT_SUPPORTED', 405, 'execAgent', -32005),
    );
    expect(errorOf(await mutate('aiAgent.interruptTask', { threadId: 't' }))).toMatchObject(
      error('BAD_REQUEST', 400, 'interruptTask', -32600),
    );
    const resumed = { prompt: '', resumeApproval: { decision: 'approved' }, fileIds: [] };
    expect(errorOf(await mutate('aiAgent.execAgent', resumed))).toMatchObject([
      400,
      { message: '`resumeApproval` is not supported' },
    ]);
    for (const body of ['{', '[]', '"text"', '{"json":3}']) {
      const call = { method: 'POST', body, headers: { 'content-type': 'application/json' } };
      const [status, { error: wrong }] = await send('aiAgent.interruptTask', call);
      expect([status, wrong.json.data.code]).toEqual([400, 'BAD_REQUEST']);
    }
    const many = Array.from({ length: 33 }, () => 'aiAgent.getOperationStatus').join();
    expect(await send(`${many}?batch=1&input=%7B%7D`)).toMatchObject([
      400,
      { error: { json: { message: 'The batch has too many calls' } } },
    ]);
  });

  it('need a key with the scope of what they do', async () => {
    const keys = [
      { key },
      { key: 'reader', scopes: ['read'] },
      { key: 'chatter', scopes: ['chat'] },
    ];
    const api = await serveLobe(host, { api: { keys } });
    const as = (token: string) => callsOf(api, { 'X-API-Key': token });
    const code = async (answer: Promise<Answer>): Promise<unknown> => {
      const [status, { error }] = await answer;
      return [status, error?.json.data.code];
    };
    const exec = (token: string) => code(as(token).mutate('aiAgent.execAgent', { prompt: 'hi' }));
    expect(await exec('wrong')).toEqual([401, 'UNAUTHORIZED']);
    expect(await exec('reader')).toEqual([403, 'FORBIDDEN']);
    expect(await exec('chatter')).toEqual([200, undefined]);
    const decision = { operationId: 'nobody', action: 'approve' };
    const decide = (token: string) =>
      code(as(token).mutate('aiAgent.processHumanIntervention', decision));
    expect(await decide('chatter')).toEqual([403, 'FORBIDDEN']);
    expect(await decide(key)).toEqual([404, 'NOT_FOUND']);
    const list = as('reader').query('aiAgent.getPendingInterventions', { userId: 'local' });
    expect(await code(list)).toEqual([200, undefined]);
    const headers = { 'X-API-Key': 'reader' };
    const stream = await api.send('/api/agent/stream?operationId=nobody', { headers });
    expect(stream.status).toBe(404);
    // Other routes have their own fields.
    expect((await api.send('/api/v1/tools', { headers })).status).toBe(401);
  });
});
