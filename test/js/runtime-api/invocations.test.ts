// Calls of tools that go on without their request: read by their id, cancelled, and reported by webhooks.
import { createHmac } from 'node:crypto';

import type { HostTool } from 'millrace';

import { bodyOf, loopback, type Loopback, until } from '../support/server';
import {
  type Api,
  type ApiSetUp,
  cleanUp,
  ended,
  framesIn,
  Gate,
  hosts,
  type Json,
  serve,
  withKey,
} from './kit';

const sinks: Loopback[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await cleanUp();
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
});

const gates = new Map<string, Gate>();
const aborted: string[] = [];
const calls = { counted: 0 };

const tool = (name: string, run: (input: Json, context: Json) => unknown): HostTool => ({
  ...{ name, description: name, run },
});
const tools = [
  tool('plain', (input) => input),
  tool('text', () => '  as it is <b>\n'),
  tool('empty', () => undefined),
  tool('counted', () => String(++calls.counted)),
  tool('broken', () => Promise.reject(new Error('it broke'))),
  tool('context', (_input, { request, run: _run, toolCallId }) => ({ request, toolCallId })),
  tool('gated', async ({ gate }, { progress, signal }) => {
    progress({ percent: 10 });
    (signal as AbortSignal).addEventListener('abort', () => aborted.push(gate as string));
    await gates.get(gate as string)?.wait(signal as AbortSignal);
    return `through ${gate}`;
  }),
];

function serveTools(host: (typeof hosts)[number], api: ApiSetUp['api'] = {}): Promise<Api> {
  return serve(host, {
    api: { webhooks: { retryDelaysMs: [1, 1] }, ...api, tools: { enabled: true, ...api.tools } },
    prepare: (runtime) => runtime.tools(tools),
  });
}

const invoke = (api: Api, json: object, headers = {}): Promise<Json> =>
  api.json('/api/v1/tools/invoke', 202, {
    ...{ method: 'POST', json: { args: {}, async: true, ...json }, headers },
  });
const read = (api: Api, id: string): Promise<Json> =>
  api.json(`/api/v1/tools/invocations/${id}`, 200);

async function settled(api: Api, id: string): Promise<Json> {
  for (;;) {
    const call: Json = await read(api, id);
    if (call.ok !== null) return call;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe.each(hosts)('calls that go on (%s)', (host) => {
  it.each([
    ['plain', { a: 1 }, { status: 'done', ok: true, result: '{"a":1}', error: null }],
    ['text', {}, { status: 'done', ok: true, result: '  as it is <b>\n', error: null }],
    ['empty', {}, { status: 'done', ok: true, result: '', error: null }],
    ['broken', {}, { status: 'error', ok: false, result: null, error: 'it broke' }],
  ])('have the outcome of %s', async (name, args, wanted) => {
    const api = await serveTools(host);
    const accepted = await invoke(api, { tool_name: name, args });
    expect(accepted).toEqual({
      ...{ ok: true, request_id: accepted.request_id, tool_name: name, status: 'accepted' },
    });
    const call = await settled(api, accepted.request_id as string);
    expect(call).toMatchObject({ request_id: accepted.request_id, tool_name: name, ...wanted });
    expect(call.duration_ms).toBeGreaterThanOrEqual(0);
    expect(call.created_at).toBeGreaterThan(1e9);
  });

  it('are named by the header Location', async () => {
    const api = await serveTools(host);
    const response = await api.send('/api/v1/tools/invoke', {
      ...{ method: 'POST', json: { tool_name: 'plain', args: {}, async: true } },
    });
    const { request_id: id } = (await response.json()) as Json;
    expect(response.headers.get('location')).toBe(`/api/v1/tools/invocations/${id}`);
  });

  it('get their caller and one id', async () => {
    const api = await serveTools(host);
    const { request_id: id } = await invoke(api, {
      ...{ tool_name: 'context', context: { user_id: '7' } },
    });
    const { result } = await settled(api, id as string);
    expect(JSON.parse(result as string)).toEqual({
      request: { request_type: 'api', group_id: null, user_id: 7, sender_id: null },
      toolCallId: `run_${id}`,
    });
  });

  it('show how they are while they work, and are cancelled', async () => {
    gates.set('a', new Gate());
    aborted.length = 0;
    const api = await serveTools(host);
    const { request_id: id } = await invoke(api, { tool_name: 'gated', args: { gate: 'a' } });
    await until(() => true, 'a turn');
    expect(await read(api, id as string)).toMatchObject({ ok: null, result: null, error: null });
    const cancelled = await api.json(`/api/v1/tools/invocations/${id}/cancel`, 200, {
      method: 'POST',
    });
    expect(cancelled).toMatchObject({ status: 'cancelled', ok: false, error: 'cancelled' });
    await until(() => aborted.includes('a'), 'the tool was stopped');
    const again = await api.json(`/api/v1/tools/invocations/${id}/cancel`, 200, { method: 'POST' });
    expect(again).toMatchObject({ status: 'cancelled' });
  });

  it('end after the time limit of tools', async () => {
    gates.set('late', new Gate());
    const api = await serveTools(host, { tools: { timeoutMs: 500 } });
    const { request_id: id } = await invoke(api, { tool_name: 'gated', args: { gate: 'late' } });
    expect(await settled(api, id as string)).toMatchObject({
      ...{ status: 'error', ok: false, error: 'Execution timed out after 0.5s' },
    });
  });

  it('are read as a stream, from any place', async () => {
    gates.set('b', new Gate());
    const api = await serveTools(host);
    const { request_id: id } = await invoke(api, { tool_name: 'gated', args: { gate: 'b' } });
    const path = `/api/v1/tools/invocations/${id}`;
    const headers = { accept: 'text/event-stream' };
    const stream = await api.send(path, { headers });
    gates.get('b')?.open();
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    const frames = framesIn(await stream.text());
    const stored = frames.filter(({ id: seq }, at) => at === 0 || seq !== frames[at - 1]?.id);
    const progress = stored.find(({ data }) => data.stage === 'tool_progress');
    expect(progress).toMatchObject({ event: 'stage', data: { detail: '{"percent":10}' } });
    expect(stored.map(({ event }) => event)).toEqual(expect.arrayContaining(['message', 'done']));
    expect(stored.at(-1)).toMatchObject({ event: 'done', data: { reply: 'through b' } });
    const rest = await api.send(`${path}?after=${stored.at(-2)?.id}`, { headers });
    expect(framesIn(await rest.text())).toEqual([stored.at(-1)]);
    const last = { ...headers, 'Last-Event-ID': stored.at(-2)?.id ?? '' };
    expect(framesIn(await (await api.send(path, { headers: last })).text())).toEqual([
      stored.at(-1),
    ]);
  });

  it('are no operations of LobeHub, nor jobs', async () => {
    const api = await serveTools(host);
    const { request_id: id } = await invoke(api, { tool_name: 'plain', args: { n: 1 } });
    expect((await api.send(`/api/v1/tools/invocations/${id}`)).status).toBe(200);
    for (const path of [
      `/api/agent/operations/run_${id}`,
      `/api/agent/operations/${id}`,
      `/api/v1/chat/jobs/${id}`,
    ]) {
      expect(`${path}: ${(await api.send(path)).status}`).toBe(`${path}: 404`);
    }
  });

  it('are the same call for the same idempotency key', async () => {
    const api = await serveTools(host);
    const key = { 'Idempotency-Key': 'once' };
    const first = await invoke(api, { tool_name: 'plain', args: { n: 1 } }, key);
    const second = await invoke(api, { tool_name: 'plain', args: { n: 1 } }, key);
    expect(second.request_id).toBe(first.request_id);
    const other = await api.send('/api/v1/tools/invoke', {
      ...{
        method: 'POST',
        json: { tool_name: 'plain', args: { n: 2 }, async: true },
        headers: key,
      },
    });
    expect(other.status).toBe(409);
  });

  it('are the same call for the same key also where their request waits', async () => {
    gates.set('twice', new Gate());
    const api = await serveTools(host);
    const call = (json: object, key: string, status = 200): Promise<Json> =>
      api.json('/api/v1/tools/invoke', status, {
        ...{ method: 'POST', json: { args: {}, ...json }, headers: { 'Idempotency-Key': key } },
      });
    const before = calls.counted;
    const first = await call({ tool_name: 'counted' }, 'one');
    expect(first).toMatchObject({ ok: true, tool_name: 'counted', result: `${before + 1}` });
    expect(await call({ tool_name: 'counted' }, 'one')).toEqual(first);
    expect(calls.counted).toBe(before + 1);
    expect(await call({ tool_name: 'counted', args: { n: 2 } }, 'one', 409)).toHaveProperty(
      'error',
    );
    const broken = await call({ tool_name: 'broken' }, 'two');
    expect(broken).toMatchObject({ ok: false, tool_name: 'broken', error: 'it broke' });
    expect(broken).not.toHaveProperty('result');
    const slow = { tool_name: 'gated', args: { gate: 'twice' } };
    const both = [call(slow, 'three'), call(slow, 'three')];
    gates.get('twice')?.open();
    const [one, other] = await Promise.all(both);
    expect(one).toMatchObject({ ok: true, result: 'through twice' });
    expect(other.request_id).toBe(one.request_id);
  });

  it('are no jobs of conversations', async () => {
    gates.set('c', new Gate());
    const api = await serveTools(host);
    const { request_id: id } = await invoke(api, { tool_name: 'gated', args: { gate: 'c' } });
    expect(await api.json('/api/v1/chat/jobs/active', 200)).toEqual({ job: null, jobs: [] });
    expect((await api.json('/api/v1/chat/jobs', 200)).jobs).toEqual([]);
    expect((await api.json('/api/v1/chat/conversations', 200)).conversations).toEqual([]);
    gates.get('c')?.open();
    await settled(api, id as string);
  });

  it('are those of their principal alone, and of tools', async () => {
    const keys = ['ada', 'bob'].map((name) => ({ key: `key-${name}`, principal: name }));
    const api = await serveTools(host, { keys });
    const as = (name: string) => ({ 'X-Millrace-API-Key': `key-${name}` });
    const { request_id: id } = await invoke(api, { tool_name: 'plain' }, as('ada'));
    const job = await api.json('/api/v1/chat/jobs', 202, {
      ...{ method: 'POST', json: { message: 'x' }, headers: as('ada') },
    });
    await ended(api, job.job_id as string, as('ada'));
    for (const [name, wanted] of [
      ['bob', id],
      ['ada', job.job_id],
      ['ada', 'x'],
      ['ada', '..%2f'],
    ]) {
      for (const [method, end] of [
        ['GET', ''],
        ['POST', '/cancel'],
      ] as const) {
        const answer = await api.json(`/api/v1/tools/invocations/${wanted}${end}`, 404, {
          ...{ method, headers: as(name as string) },
        });
        expect(answer).toEqual({ error: 'Invocation not found' });
      }
    }
  });
});

const secret = `whsec_${Buffer.from('0123456789abcdefghijklmn').toString('base64')}`;

interface Sink {
  url: string;
  seen: { headers: Json; body: string }[];
}

async function sinkOf(statuses: number[], headers: Record<string, string> = {}): Promise<Sink> {
  const seen: Sink['seen'] = [];
  const sink = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push({ headers: request.headers, body });
      response.writeHead(statuses[seen.length - 1] ?? statuses.at(-1) ?? 200, headers).end();
    });
  });
  sinks.push(sink);
  return { seen, url: sink.url };
}

const toSink = ({ url }: Sink, more: object = {}): object => ({
  ...{ tool_name: 'plain', callback: { enabled: true, url: `${url}/hook?token=hidden`, ...more } },
});

describe.each(hosts)('webhooks (%s)', (host) => {
  const options = {
    tools: { callbackAllow: ['127.0.0.1'], callbackTimeoutMs: 300 },
    webhooks: { secret, retryDelaysMs: [1, 1] },
  };

  it('are signed as Standard Webhooks, with one id for all tries', async () => {
    const sink = await sinkOf([500, 404, 200]);
    const api = await serveTools(host, options);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const forged = { 'webhook-id': 'forged', 'Webhook-Signature': 'v1,x', authorization: 'mine' };
    const call = await invoke(api, toSink(sink, { headers: forged }), { traceparent });
    await until(() => sink.seen.length === 3, 'three tries');
    expect(new Set(sink.seen.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    for (const { headers, body } of sink.seen) {
      const { 'webhook-id': id, 'webhook-timestamp': time } = headers;
      const content = `${id}.${time}.${body}`;
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const signature = createHmac('sha256', key).update(content).digest('base64');
      expect(headers).toMatchObject({
        ...{ 'webhook-signature': `v1,${signature}`, authorization: 'mine', traceparent },
      });
      expect(Math.abs(Number(time) - Date.now() / 1000)).toBeLessThan(60);
      expect(JSON.parse(body)).toMatchObject({ request_id: call.request_id, ok: true });
    }
    // What has arrived is sent no more.
    await invoke(api, toSink(await sinkOf([200])));
    expect(sink.seen).toHaveLength(3);
  });

  it.each([
    ['after its last try', [503], 3, /after 3 tries: It answered with 503/],
    ['when its receiver is gone', [410], 1, /after 1 try: It answered with 410/],
    ['which is redirected', [302], 3, /after 3 tries: It answered with 302/],
  ])('are given up %s, which is reported', async (_what, statuses, tries, text) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation();
    const away = await sinkOf([200]);
    const sink = await sinkOf(statuses, { location: away.url });
    const api = await serveTools(host, options);
    await invoke(api, toSink(sink));
    await until(() => warn.mock.calls.length > 0, 'a report');
    expect(sink.seen).toHaveLength(tries);
    expect(String(warn.mock.calls[0]?.[0])).toMatch(text);
    expect(String(warn.mock.calls[0]?.[0])).not.toMatch(/hidden|hook/);
    expect(away.seen).toEqual([]);
  });

  it('report calls that were cancelled', async () => {
    gates.set('d', new Gate());
    const sink = await sinkOf([200]);
    const api = await serveTools(host, options);
    const { request_id: id } = await invoke(api, {
      ...{ ...toSink(sink), tool_name: 'gated', args: { gate: 'd' } },
    });
    expect(sink.seen).toEqual([]);
    await api.send(`/api/v1/tools/invocations/${id}/cancel`, { method: 'POST' });
    await until(() => sink.seen.length > 0, 'the report');
    expect(JSON.parse(sink.seen[0]?.body ?? '')).toMatchObject({
      ...{ request_id: id, ok: false, result: null, error: 'cancelled' },
    });
  });

  it.each(['whsec_', 'secret', `whsec_${'A'.repeat(8)}`, 7])(
    'are not made with the secret %p',
    async (wrong) => {
      const webhooks = { secret: wrong as string };
      const made = serve(host, { api: { webhooks, keys: [{ key: 'x' }] } });
      await expect(
        made.then((api) => api.send('/api/v1/tools', { headers: withKey })),
      ).rejects.toMatchObject({
        code: 'invalid_option',
      });
    },
  );
});
