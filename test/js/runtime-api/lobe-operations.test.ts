// Operations of LobeHub's server: their state, what people decide about them, steps, and tools of the client.
import { cleanUp, Gate, hosts, type Json, key, serve } from './kit';
import { closeModels, lobeOf, serveLobe, textOf, typesOf, type LobeApi } from './lobe-kit';

afterEach(async () => {
  await cleanUp();
  await closeModels();
});

/** An operation that waits, and the last event of its stream. */
async function waiting(
  api: LobeApi,
  prompt = 'send it',
  more: object = {},
): Promise<[string, string]> {
  const { operationId: id } = await api.post('operations', { prompt, ...more });
  const events = await api.events(id);
  expect(events.at(-1)?.data.data).toMatchObject({ reason: 'waiting_for_human' });
  return [id, events.at(-1)?.id ?? ''];
}

describe.each(hosts)('operations (%s)', (host) => {
  it('wait for a person, and go on in the same stream', async () => {
    const api = await serveLobe(host);
    const [id, place] = await waiting(api);
    const { currentState, ...status } = await api.get(`operations/${id}`);
    expect(status).toMatchObject({ isActive: true, isCompleted: false, needsHumanInput: true });
    const pendingToolsCalling = [{ apiName: 'send', arguments: '{}', type: 'default' }];
    expect(currentState).toMatchObject({ status: 'waiting_for_human', pendingToolsCalling });
    for (const query of ['', `?operationId=${id}`, '?userId=local']) {
      expect(await api.get(`human-intervention${query}`)).toMatchObject({
        totalCount: 1,
        pendingInterventions: [{ type: 'tool_approval', operationId: id, pendingToolsCalling }],
      });
    }
    const decision = { operationId: id, action: 'approve' };
    expect(await api.get('human-intervention?userId=somebody-else')).toMatchObject({
      ...{ totalCount: 0, pendingInterventions: [] },
    });
    const done = await api.post('human-intervention', decision);
    expect(done).toMatchObject({ success: true, action: 'approve' });
    await api.post(`operations/${id}/sync`, {});
    const rest = await api.events(id, place);
    expect(typesOf(rest).slice(0, 3)).toEqual(['step_start', 'tool_start', 'tool_end']);
    expect(textOf(rest)).toBe('all done');
    // Whoever reads all of it sees one end.
    expect(
      typesOf(await api.events(id)).filter((type) => type === 'agent_runtime_end'),
    ).toHaveLength(1);
    expect(await api.get('human-intervention')).toMatchObject({ totalCount: 0 });
    expect(await api.get(`operations/${id}?includeHistory=true&historyLimit=2`)).toMatchObject({
      ...{ isCompleted: true, isActive: false, hasError: false },
      executionHistory: [{ stepType: 'call_tool' }, { stepType: 'call_llm', status: 'done' }],
      recentEvents: [{ type: 'step_complete' }, { type: 'agent_runtime_end' }],
    });
  });

  it('refuse to change what is sent to the provider', async () => {
    const api = await serveLobe(host);
    const changed = { prompt: 'find', body: { store: true } };
    const rejection = { code: 'invalid_body', error: expect.stringContaining('`body`') as string };
    expect(await api.post('operations', changed, 400)).toMatchObject(rejection);
    expect(api.requests).toEqual([]);
  });

  it('take each decision once, and the same one again', async () => {
    const api = await serveLobe(host);
    const [id] = await waiting(api);
    const approve = { operationId: id, action: 'approve' };
    const first = await api.post('human-intervention', approve);
    const again = await api.post('human-intervention', approve);
    expect([first.message, again.message]).toEqual([
      ...['The decision is recorded.', 'The decision was recorded before.'],
    ]);
    const other = { operationId: id, action: 'reject' };
    expect(await api.post('human-intervention', other, 409)).toMatchObject({
      code: 'approval_answered',
    });
    await api.post(`operations/${id}/sync`, {});
    expect(api.requests).toHaveLength(2);
  });

  it('end with a rejection, or go on with it', async () => {
    const api = await serveLobe(host);
    const [ended] = await waiting(api);
    const reason = 'not to them';
    await api.post('human-intervention', { operationId: ended, action: 'reject', reason });
    expect(await api.post(`operations/${ended}/sync`, {})).toMatchObject({
      ...{ status: 'interrupted', reason: 'interrupted' },
    });
    expect((await api.get(`operations/${ended}`)).currentState.interruption).toEqual({
      ...{ reason: 'human_rejected', canResume: false },
    });
    expect(api.requests).toHaveLength(1);
    const [id] = await waiting(api);
    await api.post('human-intervention', { operationId: id, action: 'reject_continue', reason });
    expect(await api.post(`operations/${id}/sync`, {})).toMatchObject({ completed: true });
    expect(JSON.stringify(api.requests.at(-1))).toContain(reason);
  });

  it('wait for each of several calls, with arguments that a person changed', async () => {
    const api = await serveLobe(host);
    const [id] = await waiting(api, 'send twice');
    const { pendingToolsCalling: calls } = (await api.get(`operations/${id}`)).currentState;
    expect(calls).toHaveLength(2);
    const decision = { operationId: id, action: 'approve' };
    expect(await api.post('human-intervention', decision, 409)).toMatchObject({
      code: 'approval_mismatch',
    });
    const unreadable = [
      { data: { approvedToolCall: { ...calls[0], arguments: '{"to":' } } },
      { data: { approvedToolCall: '{"arguments":"{}"}' } },
      { data: { approvedToolCall: { id: calls[0].id, args: { to: 'Bob' } } } },
      { data: { approvedToolCall: { ...calls[0], arguments: '[]' } } },
      { data: 'x' },
      { approvedToolCall: { ...calls[0], arguments: 5 } },
    ];
    for (const wrong of unreadable) {
      await api.post('human-intervention', { ...decision, ...wrong }, 400);
    }
    const run = { operationId: id, approvedToolCall: { id: calls[0].id } };
    await api.post('run', run, 400);
    const approvedToolCall = { ...calls[0], arguments: '{"to":"Ada"}' };
    await api.post('human-intervention', { ...decision, data: { approvedToolCall } });
    await api.post(`operations/${id}/sync`, {});
    const left = (await api.get(`operations/${id}`)).currentState;
    expect(left).toMatchObject({ status: 'waiting_for_human', pendingToolsCalling: [calls[1]] });
    const toolMessageId = `result-${calls[1].id}`;
    await api.post('human-intervention', { ...decision, toolMessageId });
    expect(await api.post(`operations/${id}/sync`, {})).toMatchObject({ completed: true });
    const starts = (await api.events(id)).filter(({ event }) => event === 'tool_start');
    expect(starts.map(({ data }) => data.data.toolCalling.arguments as string)).toEqual([
      ...['{"to":"Ada"}', '{}'],
    ]);
  });

  it('are stopped once, at work or while they wait', async () => {
    const api = await serveLobe(host);
    const [id] = await waiting(api);
    for (let times = 0; times < 2; times += 1) {
      expect(await api.post(`operations/${id}/stop-approval`, {})).toMatchObject({ success: true });
    }
    expect(await api.get(`operations/${id}`)).toMatchObject({
      ...{ isActive: false, currentState: { status: 'interrupted' } },
    });
    const decision = { operationId: id, action: 'approve' };
    expect((await api.post('human-intervention', decision, 409)).code).toMatch(/^approval_/);
    const gate = new Gate();
    const other = await serve(host, {
      agent: async (_turn, ctx) => {
        await gate.wait(ctx.signal);
        return 'never';
      },
    });
    const lobe = lobeOf(other);
    const { operationId } = await lobe.post('operations', { prompt: 'go' });
    expect(await lobe.post(`operations/${operationId}/stop-approval`, {}, 400)).toMatchObject({
      code: 'invalid_state',
    });
    for (let times = 0; times < 2; times += 1) {
      await lobe.post(`operations/${operationId}/interrupt`, {});
    }
    const end = (await lobe.events(operationId)).at(-1);
    expect(end?.data.data).toMatchObject({ reason: 'interrupted', reasonDetail: 'user_aborted' });
  });

  it('answer step by step, each as often as it is wanted', async () => {
    const api = await serveLobe(host);
    const { operationId } = await api.post('operations', { prompt: 'find it' });
    const step = async (stepIndex: number): Promise<Json> =>
      api.post('run', { operationId, stepIndex });
    for (let times = 0; times < 2; times += 1) {
      expect(await step(0)).toMatchObject({ ...{ stepIndex: 0, nextStepIndex: 1, totalSteps: 1 } });
      expect(await step(1)).toMatchObject({ status: 'running', nextStepScheduled: true });
      expect(await step(2)).toMatchObject({ completed: true, nextStepScheduled: false });
    }
    expect(await step(9)).toMatchObject({ completed: true, reason: 'done', totalSteps: 3 });
    const upTo = (most: number) => api.post(`operations/${operationId}/sync?maxSteps=${most}`, {});
    expect(await upTo(1)).toMatchObject({ stepIndex: 0, nextStepIndex: 1, totalSteps: 1 });
    expect(await upTo(9)).toMatchObject({ stepIndex: 2, completed: true, totalSteps: 3 });
    expect(await api.post('run', {}, 400)).toEqual({ error: 'operationId is required' });
    expect(await api.get('run')).toMatchObject({ healthy: true });
    expect(await api.post('start', { operationId })).toMatchObject({ scheduled: false });
    expect(api.requests).toHaveLength(2);
  });

  it('have one request at a time for a step', async () => {
    const gate = new Gate();
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await gate.wait(ctx.signal);
        return 'late';
      },
    });
    const lobe = lobeOf(api);
    const { operationId } = await lobe.post('operations', { prompt: 'go' });
    const call = { method: 'POST', json: { operationId, stepIndex: 0 } };
    const both = [api.send('/api/agent/run', call), api.send('/api/agent/run', call)];
    const locked = await Promise.race(both);
    expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, '1']);
    expect(await locked.json()).toMatchObject({ locked: true, operationId, stepIndex: 0 });
    expect(await lobe.post('start', { operationId })).toMatchObject({ scheduled: true });
    gate.open();
    const answers = await Promise.all(both);
    const taken = answers.find(({ status }) => status === 200);
    expect(await taken?.json()).toMatchObject({ completed: true, status: 'done' });
  });

  it('decide and do a step in one request', async () => {
    const api = await serveLobe(host);
    const [operationId] = await waiting(api);
    const state = (await api.get(`operations/${operationId}`)).currentState;
    const approvedToolCall = state.pendingToolsCalling[0];
    const done = await api.post('run', { operationId, stepIndex: 3, approvedToolCall });
    expect(done.nextStepIndex ?? done.status).toBeDefined();
    expect(await api.post('run', { operationId, stepIndex: 9 })).toMatchObject({ completed: true });
    const [rejected] = await waiting(api);
    const end = { operationId: rejected, stepIndex: 3, rejectionReason: 'no' };
    expect(await api.post('run', end)).toMatchObject({ status: 'interrupted' });
  });

  it('take the results of tools that the client runs', async () => {
    const api = await serveLobe(host);
    const tools = [
      { type: 'function', function: { name: 'locate', parameters: { type: 'object' } } },
    ];
    const { operationId } = await api.post('operations', {
      ...{ prompt: 'locate twice', operationId: 'client-1', tools },
    });
    const [end] = (await api.events(operationId)).slice(-1);
    expect(end?.data.data).toMatchObject({
      ...{ reason: 'waiting_for_async_tool', reasonDetail: 'client_tool_execution' },
    });
    const calls: string[] = end?.data.data.finalState.pendingToolsCalling.map(({ id }: Json) => id);
    expect(calls).toHaveLength(2);
    const give = (toolCallId: string, content: unknown, status = 200): Promise<Json> =>
      api.post('tool-result', { operationId, toolCallId, content }, status);
    expect(await give(calls[1] ?? '', { lat: 1 })).toMatchObject({ resumed: false, operationId });
    expect(await give('other', 'x', 409)).toMatchObject({ code: 'approval_mismatch' });
    const next = await give(calls[0] ?? '', 'here');
    expect(next).toMatchObject({ resumed: true, previousOperationId: operationId });
    // The same result again finds the operation that goes on; another one is too late.
    expect(await give(calls[0] ?? '', 'here')).toMatchObject({ operationId: next.operationId });
    expect(await give(calls[0] ?? '', 'there', 409)).toMatchObject({ code: 'approval_answered' });
    expect(textOf(await api.events(next.operationId))).toBe('all done');
    const results = api.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
    expect(results?.map(({ content }) => content).sort()).toEqual(['here', '{"lat":1}']);
    expect(api.requests).toHaveLength(2);
  });

  it('ask what the model asked beside a tool of the client, once its result is there', async () => {
    const api = await serveLobe(host);
    const tools = [
      { type: 'function', function: { name: 'locate', parameters: { type: 'object' } } },
    ];
    const first = await api.post('operations', { prompt: 'ask', tools });
    const [end] = (await api.events(first.operationId)).slice(-1);
    expect(end?.data.data.reason).toBe('waiting_for_async_tool');
    const result = { operationId: first.operationId, toolCallId: 'l', content: 'here' };
    const { operationId } = await api.post('tool-result', result);
    await api.events(operationId);
    const query = `?operationId=${operationId}`;
    expect(await api.get(`human-intervention${query}`)).toMatchObject({
      pendingInterventions: [{ type: 'human_prompt' }],
    });
    const answer = { operationId, action: 'input', data: { input: 'north' } };
    const next = await api.post('human-intervention', answer);
    expect(textOf(await api.events(next.operationId ?? operationId))).toContain('all done');
    const results = api.requests.at(-1)?.messages.filter(({ role }) => role === 'tool');
    expect(results?.map(({ content }) => content).sort()).toEqual(['here', 'north']);
    expect(api.requests).toHaveLength(2);
  });

  it('are created once for each name, with the messages of LobeHub', async () => {
    const api = await serveLobe(host);
    const messages = [
      { id: 'u1', role: 'user', content: 'look' },
      {
        ...{ id: 'a1', role: 'assistant', content: '' },
        tools: [
          { id: 'x', identifier: 'web', apiName: 'search', arguments: '{}', type: 'default' },
        ],
      },
      { id: 't1', role: 'tool', tool_call_id: 'x', content: 'nothing' },
      { id: 'u2', role: 'user', content: 'and now' },
    ];
    const json = {
      ...{ operationId: 'op-1', messages, appContext: { topicId: 'topic-9' } },
      modelRuntimeConfig: { model: 'm', provider: 'p' },
    };
    const [first, again] = [await api.post('operations', json), await api.post('operations', json)];
    expect(again.runId).toBe(first.runId);
    expect(await api.post('operations', { ...json, messages: [], prompt: 'x' }, 409)).toMatchObject(
      {
        code: 'run_conflict',
      },
    );
    await api.events('op-1');
    expect(api.requests).toHaveLength(1);
    const [body] = api.requests;
    expect(body?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(JSON.stringify(body)).toContain('web____search');
    const status = await api.get('operations/op-1');
    expect(status.metadata).toMatchObject({
      ...{ modelRuntimeConfig: json.modelRuntimeConfig, totalSteps: 1, totalCost: 0 },
    });
    // A prompt goes on with what the thread has.
    await api.post('operations', { operationId: 'op-2', prompt: 'next', topicId: 'topic-9' });
    await api.events('op-2');
    expect(api.requests.at(-1)?.messages).toHaveLength(6);
  });

  it('name their thread after its first question, and leave a title alone', async () => {
    const api = await serveLobe(host);
    const titles = async (): Promise<Json> => {
      const { conversations } = await api.json('/api/v1/chat/conversations', 200);
      return Object.fromEntries(conversations.map((one: Json) => [one.id, one.title]));
    };
    const topic = (topicId: string, json: object): object => ({ appContext: { topicId }, ...json });
    const parts = [{ type: 'text', text: 'Parts of it' }];
    const whole = { messages: [{ id: 'u1', role: 'user', content: parts }] };
    await api.post('operations', topic('t1', { operationId: 'o1', prompt: 'Where is it?' }));
    await api.post('operations', topic('t2', { operationId: 'o2', ...whole }));
    expect(await titles()).toMatchObject({ t1: 'Where is it?', t2: 'Parts of it' });
    await api.events('o1');
    await api.json('/api/v1/chat/conversations/t1', 200, {
      ...{ method: 'PATCH', json: { title: 'Mine' } },
    });
    await api.post('operations', topic('t1', { operationId: 'o3', prompt: 'And now?' }));
    expect(await titles()).toMatchObject({ t1: 'Mine' });
  });

  it('are rejected where nothing can be done with them', async () => {
    const api = await serveLobe(host);
    const names = [{ agentId: 5 }, { operationId: 5 }, { threadId: 5 }, { topicId: ['t'] }];
    for (const wrong of [
      ...[{}, { prompt: 1 }, { messages: 'x' }, { prompt: 'x', autoStart: 'no' }],
      ...names.map((name) => ({ prompt: 'x', ...name })),
    ]) {
      await api.post('operations', wrong, 400);
    }
    const named = { prompt: 'x', operationId: `run_${'a'.repeat(32)}` };
    expect(await api.post('operations', named, 400)).toMatchObject({ code: 'invalid_body' });
    api.runtime.job('nightly', () => Promise.reject(new Error('It is no agent.')));
    for (const agentId of ['nobody', 'millrace:command', 'millrace:tool', 'nightly']) {
      const { error, code } = await api.post('operations', { prompt: 'x', agentId }, 404);
      expect(code).toBe('agent_not_registered');
      expect(error).toContain(agentId);
    }
    const decide = (json: object) => api.post('human-intervention', json, 400);
    expect(await decide({})).toEqual({ error: 'operationId is required' });
    for (const action of [undefined, 'input', 'select', 'other']) {
      await decide({ operationId: 'x', action });
    }
    await api.post('tool-result', { operationId: 'x' }, 400);
    await api.post('tool-result', { operationId: 'x', toolCallId: 'c' }, 400);
    await api.get('operations/nobody', 404);
    await api.post('operations/nobody/interrupt', {}, 404);
  });

  it('need the scope of what is done with them', async () => {
    const scopes = ['chat', 'read'];
    const api = await serveLobe(host, { api: { keys: [{ key, scopes }] } });
    const headers = { 'X-Millrace-API-Key': key };
    const send = async (path: string, json: object): Promise<number> =>
      (await api.send(`/api/agent/${path}`, { method: 'POST', json, headers })).status;
    expect(await send('operations', { prompt: 'send it', operationId: 'o' })).toBe(200);
    expect(await send('human-intervention', { operationId: 'o', action: 'approve' })).toBe(403);
    const step = { operationId: 'o', approvedToolCall: { id: 'x', arguments: '{}' } };
    expect(await send('run', step)).toBe(403);
  });
});

describe.each(hosts)('questions of a function (%s)', (host) => {
  it('are answered while its stream goes on', async () => {
    const api = lobeOf(
      await serve(host, {
        agent: async (_turn, ctx) => {
          const { days } = await ctx.action<{ days: number }>('length', { prompt: 'How long?' });
          return `for ${days} days`;
        },
      }),
    );
    const { operationId } = await api.post('operations', { prompt: 'go' });
    const stream = api.events(operationId);
    let pending: Json;
    do pending = await api.get('human-intervention' + `?operationId=${operationId}`);
    while (pending.totalCount === 0);
    expect(pending.pendingInterventions).toMatchObject([
      { type: 'human_prompt', pendingHumanPrompt: { prompt: 'How long?' } },
    ]);
    const answer = { operationId, action: 'input', data: { input: { days: 3 } } };
    await api.post('human-intervention', answer);
    expect(textOf(await stream)).toBe('for 3 days');
    expect((await api.post('human-intervention', answer)).message).toMatch(/before/);
    const other = { ...answer, data: { input: { days: 4 } } };
    await api.post('human-intervention', other, 409);
  });
});
