// runtime.lobe(): operations as plain functions, and hooks.
import type { LobeHook, Runtime } from 'millrace';

import { cleanUp, framesIn, hosts, type Json, serve } from './kit';
import { closeModels, lobeOf, serveLobe, textOf } from './lobe-kit';

afterEach(async () => {
  await cleanUp();
  await closeModels();
});

// Hooks of all points, and what they got.
function hooksOf(): { hooks: LobeHook[]; calls: Json[] } {
  const calls: Json[] = [];
  const types = ['beforeStep', 'afterStep', 'onComplete', 'onError'] as const;
  const hooks = types.map((type) => ({
    ...{ id: `on-${type}`, type },
    handler: (event: object) => void calls.push({ type, ...event }),
  }));
  return { hooks, calls };
}

describe('runtime.lobe()', () => {
  it('creates, watches and decides, for its principal alone', async () => {
    const { runtime } = await serveLobe('fetch', { api: { keys: [{ key: 'unused' }] } });
    const lobe = runtime.lobe({ principal: 'ada' });
    const { operationId } = await lobe.createOperation({ prompt: 'send it', topicId: 't' });
    const { hooks, calls } = hooksOf();
    const watched = lobe.watch(operationId, hooks);
    expect(await lobe.executeSync(operationId)).toMatchObject({ waitingForHuman: true });
    expect(await lobe.getPendingInterventions()).toMatchObject([{ operationId }]);
    expect(await lobe.getPendingInterventions({ operationId })).toHaveLength(1);
    await lobe.processHumanIntervention({ operationId, action: 'approve' });
    expect(await lobe.executeSync(operationId)).toMatchObject({ completed: true, reason: 'done' });
    await watched;
    expect(calls.map(({ type, stepIndex, reason }) => [type, reason ?? stepIndex])).toEqual([
      ...[
        ['beforeStep', 0],
        ['afterStep', 0],
        ['beforeStep', 1],
        ['afterStep', 1],
      ],
      ['onComplete', 'waiting_for_human'],
      ...[
        ['beforeStep', 2],
        ['afterStep', 2],
        ['beforeStep', 3],
        ['afterStep', 3],
      ],
      ['onComplete', 'done'],
    ]);
    expect(calls.at(-1)).toMatchObject({
      ...{ operationId, agentId: 'agent', userId: 'ada', status: 'done', steps: 4 },
      ...{ lastAssistantContent: 'all done', llmCalls: 2, toolCalls: 1, totalTokens: 30 },
    });
    expect(calls[1]).toMatchObject({
      ...{ stepType: 'call_llm', shouldContinue: true, content: 'let me' },
      ...{ threadId: 't', topicId: 't', thinking: true, totalSteps: 1, totalToolCalls: 1 },
      ...{ elapsedMs: expect.any(Number), stepCost: 0 },
      ...{ executionTimeMs: expect.any(Number), toolsCalling: [{ apiName: 'send' }] },
    });
    const afterSteps = calls.filter(({ type }) => type === 'afterStep');
    expect(afterSteps[2]).toMatchObject({
      toolsResult: [{ apiName: 'send', isSuccess: true, output: expect.any(String) }],
    });
    expect(afterSteps[2]).toMatchObject({
      ...{ thinking: false, lastLLMContent: 'let me', lastToolsCalling: [{ apiName: 'send' }] },
      toolsResult: [{ executionTimeMs: expect.any(Number) }],
    });
    expect(afterSteps[2]).not.toHaveProperty('content');
    expect(afterSteps[3]).toMatchObject({ content: 'all done' });
    expect(afterSteps[3]).not.toHaveProperty('toolsResult');
    const frames = framesIn(await (await lobe.stream(operationId)).text());
    const behind = { lastEventId: frames[1]?.id };
    const rest = framesIn(await (await lobe.stream(operationId, behind)).text());
    expect(rest.slice(1)).toEqual(frames.slice(2));
    expect(textOf(rest)).toBe('let meall done');
    // Who watches again from a later place knows the operation, too.
    const later = hooksOf();
    await lobe.watch(operationId, later.hooks, { lastEventId: String(frames.at(-3)?.id) });
    const { agentId, userId, topicId, duration } = later.calls.at(-1) ?? {};
    expect([agentId, userId, topicId]).toEqual(['agent', 'ada', 't']);
    expect(duration).toBe(calls.at(-1)?.duration);
    const other = runtime.lobe({ principal: 'ben' });
    await expect(other.getOperationStatus(operationId)).rejects.toMatchObject({
      code: 'run_not_found',
    });
    const status = await lobe.getOperationStatus(operationId, { includeHistory: true });
    expect(status).toMatchObject({ isCompleted: true, metadata: { userId: 'ada' } });
    expect(status.executionHistory).toHaveLength(4);
  });

  it('runs steps, stops, and takes results of the client', async () => {
    const { runtime } = await serveLobe('fetch');
    const lobe = runtime.lobe();
    const tools = [{ name: 'locate', parameters: { type: 'object' } }];
    const { operationId } = await lobe.createOperation({ prompt: 'locate', tools });
    const step = await lobe.executeStep({ operationId, stepIndex: 0 });
    expect(step).toMatchObject({ reason: 'waiting_for_async_tool' });
    const toolCallId = step.pendingApproval?.[0]?.id ?? '';
    const next = await lobe.submitToolResult({ operationId, toolCallId, content: 'here' });
    expect(next.resumed).toBe(true);
    expect(await lobe.executeSync(next.operationId, { maxSteps: 9 })).toMatchObject({
      status: 'done',
    });
    expect(await lobe.startExecution(next)).toMatchObject({ scheduled: false });
    const waiting = await lobe.createOperation({ prompt: 'send it' });
    await lobe.executeSync(waiting.operationId);
    await lobe.stopPendingApproval(waiting.operationId);
    await lobe.interruptOperation(waiting.operationId);
    expect((await lobe.getOperationStatus(waiting.operationId)).currentState.status).toBe(
      'interrupted',
    );
  });

  it('reports what is wrong, and hooks that fail', async () => {
    const api = await serve('fetch', {
      agent: () => Promise.reject(new Error('no luck')),
    });
    jest.spyOn(console, 'error').mockReturnValue();
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const lobe = api.runtime.lobe();
    const { operationId } = await lobe.createOperation({ prompt: 'go' });
    const { hooks, calls } = hooksOf();
    const failing = (): never => {
      throw new Error('broken hook');
    };
    await lobe.watch(operationId, [{ id: 'bad', type: 'onError', handler: failing }, ...hooks]);
    expect(warned.mock.calls.map(([message]) => String(message))).toEqual([
      expect.stringContaining("'bad'"),
    ]);
    expect(calls.map(({ type }) => type as string)).toEqual(expect.arrayContaining(['onError']));
    expect(calls.at(-1)).toMatchObject({ type: 'onComplete', reason: 'error' });
    const errorTypes = calls.flatMap(({ errorType }) => (errorType ? [errorType as string] : []));
    expect(new Set(errorTypes)).toHaveProperty('size', 1);
    jest.restoreAllMocks();
    await expect(lobe.createOperation({})).rejects.toMatchObject({ code: 'invalid_body' });
    await expect(lobe.watch('nobody', [])).rejects.toMatchObject({ code: 'run_not_found' });
    expect(() => api.runtime.lobe({ user: 'x' } as object)).toThrow(/user/);
  });
});

describe.each(hosts)('chats of LobeHub (%s)', (host) => {
  it('have messages, whose answers the client writes', async () => {
    const api = await serveLobe(host);
    const newUserMessage = { content: 'hello' };
    const newAssistantMessage = { model: 'm', provider: 'p' };
    const sent = await api.post('chat/send-message', {
      ...{ newTopic: { title: 'Greetings' }, newUserMessage, newAssistantMessage },
    });
    expect(sent).toMatchObject({
      ...{ isCreateNewTopic: true, topics: { total: 1, items: [{ title: 'Greetings' }] } },
      messages: [
        { id: sent.userMessageId, role: 'user', content: 'hello' },
        {
          id: sent.assistantMessageId,
          role: 'assistant',
          model: 'm',
          parentId: sent.userMessageId,
        },
      ],
    });
    const { topicId } = sent;
    const more = await api.post('chat/send-message', { topicId, newUserMessage });
    expect(more).toMatchObject({ isCreateNewTopic: false, topicId });
    expect(more.messages).toHaveLength(4);
    // No model sees an answer that is not there yet.
    const { operationId } = await api.post('operations', { prompt: 'now you', topicId });
    await api.events(operationId);
    expect(api.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'user', 'user']);
    const reject = (json: object, status: number): Promise<Json> =>
      api.post('chat/send-message', json, status);
    await reject({ newUserMessage: {} }, 400);
    await reject({ newUserMessage }, 400);
    expect(await reject({ newUserMessage, topicId: 'nobody' }, 404)).toMatchObject({
      code: 'thread_not_found',
    });
  });

  it('have the notes of pipelines for the model alone', async () => {
    const prepare = (runtime: Runtime): void =>
      runtime.pipeline('hint', ({ text }) => ({ text: `${text}, masked`, note: 'internal hint' }));
    const api = await serveLobe(host, { prepare });
    const call = { method: 'POST', json: { message: 'hello' } };
    await api.json('/api/v1/chat', 200, call);
    const topicId = 'legacy-system-42';
    const { messages } = await api.post('chat/send-message', {
      ...{ topicId, newUserMessage: { content: 'more' } },
    });
    expect(messages.map(({ content }: Json) => content)).toEqual([
      ...['hello, masked', 'you said hello,', 'more', ''],
    ]);
    expect(messages[0].createdAt).toEqual(expect.any(Number));
    expect(JSON.stringify(messages)).not.toMatch(/internal hint|"notes"|"pipelines"/);
    const { operationId } = await api.post('operations', { prompt: 'locally', topicId });
    await api.events(operationId);
    const seen = api.requests.at(-1)?.messages.map(({ content }) => content);
    expect(seen?.[0]).toBe('hello, masked\n\ninternal hint');
    expect(seen?.at(-1)).toBe('locally, masked\n\ninternal hint');
  });

  it('have objects, where the host makes them', async () => {
    const plain = lobeOf(await serve(host));
    const messages = [{ role: 'user', content: 'two' }];
    const json = { messages, model: 'm', schema: { type: 'object' } };
    await plain.post('chat/output-json', json, 503);
    const object = (request: Json): Json => ({
      text: request.messages[0].content,
      by: request.model,
    });
    const api = lobeOf(await serve(host, { api: { object } }));
    expect(await api.post('chat/output-json', json)).toEqual({ text: 'two', by: 'm' });
    await api.post('chat/output-json', { messages }, 400);
    await api.post('chat/output-json', { schema: {} }, 400);
  });
});
