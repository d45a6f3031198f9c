// Operations of LobeHub's server that wait for their start, report what they do to webhooks, and run the host's
// pipelines.
import { createHmac } from 'node:crypto';

import type { Runtime } from 'millrace';

import { bodyOf, loopback, type Loopback, until } from '../support/server';
import { cleanUp, hosts, type Json } from './kit';
import { closeModels, serveLobe, textOf, typesOf } from './lobe-kit';

const sinks: Loopback[] = [];
afterEach(async () => {
  await cleanUp();
  await closeModels();
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
});

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const options = {
  tools: { callbackAllow: ['127.0.0.1'], callbackTimeoutMs: 500 },
  webhooks: { secret, retryDelaysMs: [1, 1] },
};

interface Sink {
  url: string;
  seen: { headers: Json; body: string; json: Json }[];
}

async function sinkOf(statuses: number[] = [200]): Promise<Sink> {
  const seen: Sink['seen'] = [];
  const sink = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push({ headers: request.headers, body, json: JSON.parse(body) });
      response.writeHead(statuses[seen.length - 1] ?? statuses.at(-1) ?? 200).end();
    });
  });
  sinks.push(sink);
  return { seen, url: sink.url };
}

describe.each(hosts)('operations that wait for their start (%s)', (host) => {
  it('begin when somebody starts them', async () => {
    const api = await serveLobe(host);
    const created = await api.post('operations', { prompt: 'find it', autoStart: false });
    expect(created).toMatchObject({ autoStarted: false, status: 'idle' });
    const { operationId } = created;
    expect(await api.get(`operations/${operationId}`)).toMatchObject({
      ...{ isActive: true, currentState: { status: 'idle', stepCount: 0 } },
    });
    // Another operation does its work meanwhile.
    const other = await api.post('operations', { prompt: 'find it' });
    await api.post(`operations/${other.operationId}/sync`, {});
    expect(api.requests).toHaveLength(2);
    expect(await api.post('start', { operationId })).toMatchObject({ scheduled: true });
    expect(textOf(await api.events(operationId))).toBe('let meall done');
    expect(await api.post('start', { operationId })).toMatchObject({ scheduled: false });
    expect(api.requests).toHaveLength(4);
  });

  it('begin with the first step that is executed, and end without one', async () => {
    const api = await serveLobe(host);
    const held = async (): Promise<string> =>
      (await api.post('operations', { prompt: 'find it', autoStart: false })).operationId;
    const stepped = await held();
    expect(await api.post('run', { operationId: stepped, stepIndex: 0 })).toMatchObject({
      ...{ stepIndex: 0, nextStepIndex: 1 },
    });
    const whole = await held();
    expect(await api.post(`operations/${whole}/sync`, {})).toMatchObject({ completed: true });
    const ended = await held();
    await api.post(`operations/${ended}/interrupt`, {});
    expect(await api.post('run', { operationId: ended, stepIndex: 0 })).toMatchObject({
      ...{ status: 'interrupted', reason: 'interrupted' },
    });
    expect(typesOf(await api.events(ended)).at(-1)).toBe('agent_runtime_end');
  });
});

describe.each(hosts)('webhooks of operations (%s)', (host) => {
  it('get each point once, signed, with the reason of the end', async () => {
    const sink = await sinkOf([500, 200]);
    const api = await serveLobe(host, { api: options });
    const webhook = { url: `${sink.url}/hook`, body: { tag: 'mine' } };
    const { operationId } = await api.post('operations', {
      ...{ prompt: 'send it', topicId: 'topic-7' },
      hooks: [
        { id: 'first', type: 'beforeStep', webhook },
        { id: 'local', type: 'afterStep' },
      ],
      stepWebhook: { url: sink.url },
      completionWebhook: { url: sink.url, body: { tag: 'end' } },
    });
    await api.events(operationId);
    const of = (member: string, value: string): Json[] => {
      const byId = new Map(sink.seen.map(({ headers, json }) => [headers['webhook-id'], json]));
      return [...byId.values()]
        .filter((json) => json[member] === value)
        .sort((a, b) => a.stepIndex - b.stepIndex);
    };
    await until(() => of('type', 'completion').length === 1, 'the wait for the user');
    expect(of('type', 'completion')).toMatchObject([
      { operationId, reason: 'waiting_for_human', status: 'waiting_for_human', tag: 'end' },
    ]);
    await api.post('human-intervention', { operationId, action: 'approve' });
    await until(() => of('type', 'completion').length === 2, 'the end');
    await until(() => of('type', 'step').length === 4, 'each step');
    expect(of('type', 'completion').at(-1)).toMatchObject({
      ...{ agentId: 'agent', threadId: 'topic-7', reason: 'done', status: 'done', steps: 4 },
      ...{ lastAssistantContent: 'all done', llmCalls: 2, toolCalls: 1, totalTokens: 30 },
    });
    expect(of('type', 'step').map(({ stepType }) => stepType as string)).toEqual([
      ...['call_llm', 'request_human', 'call_tool', 'call_llm'],
    ]);
    const [waiting, , sent, answered] = of('type', 'step');
    expect(waiting).toMatchObject({
      ...{ content: 'let me', toolsCalling: [{ apiName: 'send' }], thinking: true },
      ...{ topicId: 'topic-7', elapsedMs: expect.any(Number), totalToolCalls: 1, totalSteps: 1 },
    });
    expect(sent).toMatchObject({
      ...{ lastLLMContent: 'let me', lastToolsCalling: [{ apiName: 'send' }], thinking: false },
      toolsResult: [{ apiName: 'send', isSuccess: true, output: 'sent' }],
    });
    expect(sent).not.toHaveProperty('content');
    expect(answered).toMatchObject({ content: 'all done', executionTimeMs: expect.any(Number) });
    expect(answered).not.toHaveProperty('toolsResult');
    const begun = of('hookId', 'first');
    expect(begun.map(({ stepIndex }) => stepIndex as number)).toEqual([0, 1, 2, 3]);
    expect(begun[0]).toMatchObject({ hookType: 'beforeStep', tag: 'mine' });
    for (const { headers, body } of sink.seen) {
      const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const signature = createHmac('sha256', key).update(content).digest('base64');
      expect(headers['webhook-signature']).toBe(`v1,${signature}`);
    }
    // The first try of one failed: it came again with its id.
    expect(sink.seen).toHaveLength(11);
    expect(JSON.stringify(await api.get(`operations/${operationId}`))).not.toContain(sink.url);
  });

  it('go on behind the results of tools that the client runs', async () => {
    const sink = await sinkOf();
    const api = await serveLobe(host, { api: options });
    const tools = [
      { type: 'function', function: { name: 'locate', parameters: { type: 'object' } } },
    ];
    const { operationId } = await api.post('operations', {
      ...{ prompt: 'locate', operationId: 'client-1', topicId: 't', tools },
      ...{ stepWebhook: { url: sink.url }, completionWebhook: { url: sink.url } },
    });
    const of = (type: string, id: string): Json[] => {
      const byId = new Map(sink.seen.map(({ headers, json }) => [headers['webhook-id'], json]));
      return [...byId.values()].filter((one) => one.type === type && one.operationId === id);
    };
    await until(() => of('completion', operationId).length === 1, 'the end of the first part');
    expect(of('completion', operationId)).toMatchObject([{ reason: 'waiting_for_async_tool' }]);
    const state = (await api.get(`operations/${operationId}`)).currentState;
    const [call] = state.pendingToolsCalling;
    const result = { operationId, toolCallId: call.id, content: 'here' };
    const next = await api.post('tool-result', result);
    expect(next).toMatchObject({ resumed: true });
    await until(() => of('completion', next.operationId).length === 1, 'the end of the second');
    expect(of('completion', next.operationId)).toMatchObject([
      { reason: 'done', status: 'done', threadId: 't', lastAssistantContent: 'all done' },
    ]);
    await until(() => of('step', next.operationId).length > 0, 'its step');
    // A result that comes again begins nothing, and reports nothing.
    await api.post('tool-result', result);
    const count = sink.seen.length;
    await api.events(next.operationId);
    expect(sink.seen).toHaveLength(count);
    expect(of('completion', operationId)).toHaveLength(1);
  });

  it('are for addresses of the internet alone', async () => {
    const api = await serveLobe(host);
    const wrong: [object, RegExp][] = [
      [{ completionWebhook: { url: 'http://127.0.0.1/x' } }, /completionWebhook.url.*private/],
      [{ stepWebhook: { url: 'ftp://example.com' } }, /stepWebhook.url.*http or https/],
      [{ hooks: [{ type: 'onComplete', webhook: {} }] }, /hooks\[0\].webhook.url.*required/],
      [{ hooks: [{ type: 'later', webhook: { url: 'http://x' } }] }, /hooks\[0\].type/],
      [{ hooks: 'x' }, /hooks/],
      [{ completionWebhook: 'http://example.com' }, /completionWebhook/],
      [{ stepWebhook: { url: 'http://example.com', body: [] } }, /stepWebhook.body/],
      [{ autoStart: 'no' }, /autoStart/],
    ];
    for (const [more, text] of wrong) {
      const answer = await api.post('operations', { prompt: 'x', ...more }, 400);
      expect(answer).toMatchObject({ code: 'invalid_body' });
      expect(answer.error).toMatch(text);
    }
    expect(api.requests).toEqual([]);
  });
});

describe.each(hosts)('pipelines of operations (%s)', (host) => {
  const prepare = (runtime: Runtime): void => {
    runtime.pipeline('guard', ({ text }) => {
      if (text.includes('password'))
        return { reject: { code: 'permission_denied', message: 'no' } };
      return text === 'hours?' ? { reply: 'nine to five' } : undefined;
    });
    runtime.pipeline('mask', ({ text, conversationId }) => ({
      text: text.replace('secret', '***'),
      note: `in ${conversationId}`,
    }));
  };

  it('change, answer or reject what reaches the agent', async () => {
    const api = await serveLobe(host, { prepare });
    const rejected = await api.post('operations', { prompt: 'my password' }, 403);
    expect(rejected).toMatchObject({ error: 'no', code: 'permission_denied' });
    const create = async (more: object): Promise<string> => {
      const { operationId } = await api.post('operations', { topicId: 't', ...more });
      await api.events(operationId);
      return operationId as string;
    };
    const answered = await create({ prompt: 'hours?' });
    expect(textOf(await api.events(answered))).toBe('nine to five');
    expect(api.requests).toEqual([]);
    await create({ prompt: 'the secret' });
    expect(api.requests.at(-1)?.messages.at(-1)?.content).toBe('the ***\n\nin t');
    const messages = [
      ...[
        { role: 'user', content: 'one' },
        { role: 'assistant', content: 'two' },
      ],
      { role: 'user', content: 'a secret' },
    ];
    await create({ messages, topicId: 'u' });
    const seen = api.requests.at(-1)?.messages.map(({ content }) => content);
    expect(seen).toEqual(['one', 'two', 'a ***\n\nin u']);
    const { thread } = api.runtime.storage({ principal: 'local' });
    const stored = (await thread.getMessages('u')).map(({ role, content }) => [role, content]);
    expect(stored.slice(0, 3)).toEqual([
      ...[
        ['user', 'one'],
        ['assistant', 'two'],
        ['user', 'a ***'],
      ],
    ]);
  });

  it('run once for a request that comes again', async () => {
    let runs = 0;
    const counting = (runtime: Runtime): void =>
      runtime.pipeline('count', () => ({ note: `run ${(runs += 1)}` }));
    const api = await serveLobe(host, { prepare: counting });
    const named = { prompt: 'hello', operationId: 'op-1', topicId: 't' };
    const [first, again] = [
      await api.post('operations', named),
      await api.post('operations', named),
    ];
    expect(again.runId).toBe(first.runId);
    const call = {
      ...{ method: 'POST', json: { prompt: 'hi' } },
      headers: { 'Idempotency-Key': 'k' },
    };
    const one = await api.json('/api/agent/operations', 200, call);
    const two = await api.json('/api/agent/operations', 200, call);
    expect(two.runId).toBe(one.runId);
    expect(runs).toBe(2);
  });
});
