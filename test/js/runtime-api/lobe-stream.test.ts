// The stream of an operation: what a client of LobeHub's reads, from any event on.
import { createAgent } from 'millrace';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { cleanUp, type Frame, framesIn, Gate, hosts, key, type Json, serve } from './kit';
import { closeModels, lobeOf, serveLobe, textOf, typesOf } from './lobe-kit';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await cleanUp();
  await closeModels();
  await Promise.all(models.splice(0).map((one) => one.close()));
});

const isCall = ({ event }: Frame): boolean => event === 'tool_start';

describe.each(hosts)('the stream of an operation (%s)', (host) => {
  it('has its steps, texts and calls', async () => {
    const api = await serveLobe(host);
    const created = await api.post('operations', { prompt: 'find it', topicId: 'topic-1' });
    expect(created).toMatchObject({ success: true, autoStarted: true, threadId: 'topic-1' });
    const id: string = created.operationId;
    const events = await api.events(id);
    expect(typesOf(events).filter((type) => type !== 'stream_chunk')).toEqual([
      ...['agent_runtime_init', 'step_start', 'stream_start', 'stream_end', 'step_complete'],
      ...['step_start', 'tool_start', 'tool_end', 'step_complete'],
      ...['step_start', 'stream_start', 'stream_end', 'visible_output_end', 'step_complete'],
      'agent_runtime_end',
    ]);
    expect(textOf(events)).toBe('let meall done');
    const data = (type: string): Json[] =>
      events.filter((frame) => frame.event === type).map((frame) => frame.data.data);
    expect(data('tool_start')).toMatchObject([
      { toolCalling: { apiName: 'find', type: 'default' } },
    ]);
    expect(data('tool_end')).toMatchObject([
      { isSuccess: true, phase: 'tool_execution', result: { content: 'found', success: true } },
    ]);
    expect(data('stream_end').at(-1)).toMatchObject({
      ...{ finalContent: 'all done', usage: { totalInputTokens: 10, totalOutputTokens: 5 } },
    });
    expect(data('step_complete').map(({ stepIndex }) => stepIndex as number)).toEqual([0, 1, 2]);
    expect(data('agent_runtime_end')).toMatchObject([
      {
        operationId: id,
        phase: 'execution_complete',
        reason: 'done',
        finalState: { status: 'done' },
      },
    ]);
    // What it answered is in the thread, under the id of the stream.
    const { thread } = api.runtime.storage({ principal: 'local' });
    const messages = await thread.getMessages('topic-1');
    const shown = data('stream_start').map(({ assistantMessage }) => assistantMessage.id as string);
    expect(messages.filter(({ role }) => role === 'assistant').map((one) => one.id)).toEqual(shown);
    for (const frame of events) {
      expect(frame.data).toMatchObject({ operationId: id, id: frame.id, type: frame.event });
      expect(frame.data).toMatchObject({
        ...{ stepIndex: expect.any(Number) as number, timestamp: expect.any(Number) as number },
      });
    }
  });

  it('goes on exactly behind each event, whoever names it', async () => {
    const api = await serveLobe(host);
    const { operationId: id } = await api.post('operations', { prompt: 'find it' });
    const all = await api.events(id);
    expect(new Set(all.map((frame) => frame.id)).size).toBe(all.length);
    for (const [at, { id: place }] of all.entries()) {
      const rest = all.slice(at + 1);
      expect(await api.events(id, place)).toEqual(rest);
      // The header of EventSource is newer than the address, which stays the same.
      expect(await api.events(id, '0', { 'last-event-id': place })).toEqual(rest);
      expect(await api.events(id, place, { 'last-event-id': '0' })).toEqual(rest);
    }
    // Clients that want the past of an operation get it once.
    const response = await api.send(`/api/agent/stream?operationId=${id}&includeHistory=true`);
    const frames = framesIn(await response.text());
    expect(frames[0]).toMatchObject({ id: '', event: 'connected', data: { operationId: id } });
    expect(frames.slice(1)).toEqual(all);
    const over = await api.send(
      `/api/agent/stream?operationId=${id}&lastEventId=${all.at(-1)?.id}`,
    );
    expect([over.status, over.headers.get('millrace-run-id')]).toEqual([204, id]);
  });

  it('goes on exactly behind the time of each event, as clients of LobeHub do', async () => {
    const api = await serveLobe(host);
    const { operationId: id } = await api.post('operations', { prompt: 'send it' });
    const follow = async (after: string): Promise<Frame[]> => {
      const headers = { 'last-event-id': after, 'cache-control': 'no-cache' };
      const query = `operationId=${id}&includeHistory=true&lastEventId=${after}`;
      const response = await api.send(`/api/agent/stream?${query}`, { headers });
      return framesIn(await response.text()).filter(({ event }) => event !== 'connected');
    };
    const waiting = await follow('0');
    await api.post('human-intervention', { operationId: id, action: 'approve' });
    const rest = await follow(String(waiting.at(-1)?.data.timestamp));
    expect(rest.at(-1)?.data.data.reason).toBe('done');
    // The end that says that it waits is for those who read it then.
    const all = [...waiting.slice(0, -1), ...rest];
    expect(await api.events(id)).toEqual(all);
    for (const [at, { id: place, data }] of all.entries()) {
      expect(await follow(String(data.timestamp))).toEqual(all.slice(at + 1));
      // The browser knows the id, and the page the time of the event before.
      const before = String(all.at(Math.max(at - 1, 0))?.data.timestamp);
      const headers = { 'last-event-id': place };
      expect(await api.events(id, before, headers)).toEqual(all.slice(at + 1));
    }
  });

  it('shows events while they come, and slows nobody who leaves', async () => {
    const gate = new Gate();
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.send('first');
        await gate.wait(ctx.signal);
        return 'second';
      },
    });
    const lobe = lobeOf(api);
    const { operationId: id } = await lobe.post('operations', { prompt: 'go' });
    const response = await api.send(`/api/agent/stream?operationId=${id}`);
    const reader = response.body?.getReader();
    let text = '';
    while (!text.includes('"content":"first"')) {
      text += Buffer.from((await reader?.read())?.value ?? []).toString();
    }
    await reader?.cancel();
    expect(text).not.toContain('agent_runtime_end');
    expect(await lobe.get(`operations/${id}`)).toMatchObject({ isActive: true });
    gate.open();
    const places = [...text.matchAll(/^id: (.*)$/gm)].map((match) => match[1]);
    const rest = await lobe.events(id, places.at(-1));
    expect(textOf(rest)).toBe('second');
    expect(textOf(await lobe.events(id))).toBe('firstsecond');
  });

  it('has the events of its agents where they are wanted', async () => {
    const answer = (text: string) => startModel(() => ({ text }));
    const inner = await answer('the inner answer');
    const outer = await startModel((_body, index) =>
      index === 0
        ? { calls: [{ id: 'c1', name: 'helper', args: { task: 'help' } }] }
        : { text: 'the outer answer' },
    );
    models.push(inner, outer);
    const modelOf = ({ url: baseURL }: ScriptedModel) => ({
      ...{ model: 'openai:scripted', provider: { baseURL, apiKey: 'k', maxRetries: 0 } },
    });
    const helper = { name: 'helper', description: 'Helps.', agent: createAgent(modelOf(inner)) };
    const lobe = lobeOf(await serve(host, { agent: { ...modelOf(outer), agents: [helper] } }));
    const { operationId: id } = await lobe.post('operations', { prompt: 'go' });
    const plain = await lobe.events(id);
    expect(textOf(plain)).toBe('the outer answer');
    const read = async (after = ''): Promise<Frame[]> => {
      const query = `operationId=${id}&subagents=true&lastEventId=${after}`;
      const response = await lobe.send(`/api/agent/stream?${query}`);
      return framesIn(await response.text()).filter(({ event }) => event !== 'connected');
    };
    const all = await read();
    const own = all.filter(({ data }) => data.parentOperationId === undefined);
    expect(own).toEqual(plain);
    const others = all.filter(({ data }) => data.parentOperationId !== undefined);
    expect(textOf(others)).toBe('the inner answer');
    expect(typesOf(others).filter((type) => type !== 'stream_chunk')).toEqual([
      ...['agent_runtime_init', 'step_start', 'stream_start', 'stream_end', 'visible_output_end'],
      ...['step_complete', 'agent_runtime_end'],
    ]);
    for (const { data } of others) {
      expect(data).toMatchObject({
        parentOperationId: id,
        toolCallId: own.find(isCall)?.data.data.toolCalling.id,
      });
      expect(data.operationId).not.toBe(id);
    }
    for (const [at, { id: place }] of all.entries()) {
      expect(await read(place)).toEqual(all.slice(at + 1));
    }
  });

  it('says what is wrong with a request', async () => {
    const api = await serveLobe(host);
    const { operationId: id } = await api.post('operations', { prompt: 'hello' });
    await api.events(id);
    const reject = async (query: string): Promise<[number, Json]> => {
      const response = await api.send(`/api/agent/stream?${query}`);
      return [response.status, await response.json()];
    };
    expect(await reject('')).toEqual([400, { error: 'operationId parameter is required' }]);
    expect(await reject(`operationId=${id}&lastEventId=x`)).toEqual([
      400,
      { error: 'lastEventId must be the id of an event' },
    ]);
    expect(await reject('operationId=nobody')).toMatchObject([404, { code: 'run_not_found' }]);
    expect(await reject(`operationId=${id}&lastEventId=1746123456789-0`)).toMatchObject([
      ...[409, { code: 'cursor_ahead' }],
    ]);
  });

  it('belongs to its principal, and to keys with its scope', async () => {
    const api = await serveLobe(host, {
      api: {
        keys: [
          { key, principal: 'ada' },
          { key: 'of-ben', principal: 'ben' },
          { key: 'reader', principal: 'ada', scopes: ['read'] },
        ],
      },
    });
    const json = { prompt: 'hello', operationId: 'mine' };
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    const create = (headers: Record<string, string>) =>
      api.send('/api/agent/operations', { method: 'POST', json, headers });
    expect((await create({})).status).toBe(401);
    expect((await create(as('reader'))).status).toBe(403);
    expect((await create(as(key))).status).toBe(200);
    const read = async (token: string): Promise<number> =>
      (await api.send('/api/agent/stream?operationId=mine', { headers: as(token) })).status;
    expect([await read(key), await read('reader'), await read('of-ben')]).toEqual([200, 200, 404]);
    // Another principal has names of its own.
    expect((await create(as('of-ben'))).status).toBe(200);
  });
});
