// What the routes have beyond those of the original: repeated requests, lists, actions, storage, facts, metrics.
import { request } from 'node:http';

import { restStorage, tool } from 'millrace';

import { startModel } from '../../support/agents';

import {
  type Api,
  cleanUp,
  ended,
  hosts,
  type Json,
  key,
  runJob,
  serve,
  startJob,
  withKey,
} from './kit';

afterEach(cleanUp);

const post = (json: unknown, headers = {}) => ({ method: 'POST', json, headers });

// What the job waits for.
async function waitingOf(api: Api, id: string): Promise<Json> {
  for (;;) {
    const { waiting_input: waiting } = await api.json(`/api/v1/chat/jobs/${id}`, 200);
    if (waiting !== null) return waiting;
  }
}

describe.each(hosts)('routes beyond the original (%s)', (host) => {
  it('give a repeated request the job that it began', async () => {
    const api = await serve(host);
    const named = { 'Idempotency-Key': 'one' };
    const first = await startJob(api, { message: 'once' }, named);
    const again = await startJob(api, { message: 'once' }, named);
    expect(again.job_id).toBe(first.job_id);
    await ended(api, first.job_id);
    expect((await startJob(api, { message: 'once' }, named)).job_id).toBe(first.job_id);
    const history: Json = await api.json('/api/v1/chat/history', 200);
    expect(history.items.map((item: Json) => item.content)).toEqual(['once', 'echo: once']);
    const other = await api.send('/api/v1/chat/jobs', post({ message: 'other' }, named));
    expect(other.status).toBe(409);
    expect(((await other.json()) as Json).error).toContain('Idempotency-Key');
  });

  it('know a request that comes again much later', async () => {
    const api = await serve(host);
    const named = { 'Idempotency-Key': 'early' };
    const first = await startJob(api, { message: 'once' }, named);
    await ended(api, first.job_id);
    for (let count = 0; count < 60; count += 1) await runJob(api, `more ${count}`);
    const again = await startJob(api, { message: 'once' }, named);
    expect(again.job_id).toBe(first.job_id);
    const other = await api.send('/api/v1/chat/jobs', post({ message: 'other' }, named));
    expect(other.status).toBe(409);
    expect(((await other.json()) as Json).error).toContain('Idempotency-Key');
  });

  it('list jobs of each status in pages', async () => {
    const agent = ({ text }: { text: string }) => {
      if (text === 'fail') throw new Error('as wanted');
      return Promise.resolve(text);
    };
    const api = await serve(host, { agent });
    const ids: string[] = [];
    for (const message of ['a', 'fail', 'b', 'c']) ids.unshift((await runJob(api, message)).job_id);
    const list = async (query: string) => {
      const page: Json = await api.json(`/api/v1/chat/jobs${query}`, 200);
      return { ids: page.jobs.map((job: Json) => job.job_id), next: page.next_cursor };
    };
    expect((await list('')).ids.sort()).toEqual([...ids].sort());
    expect((await list('?status=error')).ids).toEqual([ids[2]]);
    expect((await list('?status=running')).ids).toEqual([]);
    const first = await list('?status=done&limit=2');
    const second = await list(`?status=done&limit=2&cursor=${first.next}`);
    expect(second.next).toBeNull();
    const done = ids.filter((_, at) => at !== 2);
    expect([...first.ids, ...second.ids].sort()).toEqual([...done].sort());
    expect((await api.send('/api/v1/chat/jobs?status=other')).status).toBe(400);
  });

  it('list jobs in full pages beside calls of tools', async () => {
    const api = await serve(host, {
      api: { tools: { enabled: true } },
      prepare: (runtime) => runtime.tools([tool({ name: 't', run: () => 'x' })]),
    });
    const ids: string[] = [];
    const call = () =>
      api.json('/api/v1/tools/invoke', 202, post({ tool_name: 't', args: {}, async: true }));
    await call();
    for (const message of ['a', 'b', 'c']) {
      ids.unshift((await runJob(api, message)).job_id);
      for (let count = 0; count < 3; count += 1) await call();
    }
    for (const limit of [1, 2, 3, 4]) {
      const pages: string[][] = [];
      for (let cursor = ''; ;) {
        const page: Json = await api.json(`/api/v1/chat/jobs?limit=${limit}${cursor}`, 200);
        pages.push(page.jobs.map((job: Json) => job.job_id));
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(pages.flat().sort()).toEqual([...ids].sort());
      expect(pages).toHaveLength(Math.ceil(ids.length / limit));
    }
  });

  it('answer what a function asks for', async () => {
    const api = await serve(host, {
      agent: async (_turn, ctx) =>
        `it is ${await ctx.action<string>('colour', { prompt: 'Which?' })}`,
    });
    const { job_id: id } = await startJob(api, { message: 'ask' });
    const waiting = await waitingOf(api, id);
    const path = `/api/v1/chat/jobs/${id}/actions/${encodeURIComponent(waiting.action_id)}`;
    const answer = { status: 'resolved', payload: 'green' };
    await api.json(path, 200, post(answer));
    expect((await ended(api, id)).reply).toBe('it is green');
    expect((await api.send(path, post(answer))).status).toBe(409);
  });

  it.each([undefined, 'colour'])('describe an action in one way everywhere (%s)', async (kind) => {
    const api = await serve(host, {
      agent: async (_turn, ctx) =>
        String(await ctx.action('q', { prompt: 'Which?', ...(kind !== undefined && { kind }) })),
    });
    const { job_id: id } = await startJob(api, { message: 'ask' });
    const waiting = await waitingOf(api, id);
    const { actions } = await api.json(`/api/v1/chat/jobs/${id}/actions`, 200);
    const { events } = await api.json(`/api/v1/chat/jobs/${id}/events`, 200);
    const event = events.find((one: Json) => one.event === 'requires_action').payload;
    expect(waiting).toMatchObject({ kind: kind ?? 'prompt', name: 'q', message: 'Which?' });
    expect(waiting.expires_at).toBeGreaterThan(Date.now() / 1000);
    expect(waiting.expires_at).toBeLessThan(Date.now() / 100);
    for (const name of ['action_id', 'kind', 'name', 'message', 'expires_at']) {
      expect([actions[0][name], event[name]]).toEqual([waiting[name], waiting[name]]);
    }
  });

  it('cancel a job that waits for an answer', async () => {
    const call = { id: 'c1', name: 'pay', args: {} };
    const model = await startModel(() => ({ calls: [call] }));
    const pay = tool({ name: 'pay', approval: true, run: () => 'paid' });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:scripted', provider, tools: [pay] } });
    const { job_id: id } = await startJob(api, { message: 'pay' });
    await waitingOf(api, id);
    const job = await api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' });
    expect(job).toMatchObject({ status: 'cancelled', waiting_input: null });
    expect(job.finished_at).toBeGreaterThan(1e9);
  });

  it('show the start and the end of a call that was denied', async () => {
    const call = { id: 'c1', name: 'pay', args: { sum: 3 } };
    const model = await startModel((_body, at) => (at === 0 ? { calls: [call] } : { text: 'no' }));
    const pay = tool({ name: 'pay', approval: true, run: () => 'paid' });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:scripted', provider, tools: [pay] } });
    const { job_id: id } = await startJob(api, { message: 'pay' });
    const waiting = await waitingOf(api, id);
    const { actions } = await api.json(`/api/v1/chat/jobs/${id}/actions`, 200);
    expect(actions[0].expires_at).toBe(waiting.expires_at);
    await api.json(
      `/api/v1/chat/jobs/${id}/actions/${encodeURIComponent(waiting.action_id)}`,
      ...([200, post({ approved: false })] as const),
    );
    await ended(api, id);
    const { events } = await api.json(`/api/v1/chat/jobs/${id}/events`, 200);
    const calls = events.filter((one: Json) => one.event.startsWith('tool_'));
    expect(calls.map((one: Json) => [one.event, one.payload.tool_call_id])).toEqual([
      ['tool_start', 'c1'],
      ['tool_end', 'c1'],
    ]);
    expect(calls[0].payload.arguments_preview).toBe('{"sum":3}');
    expect(calls[1].payload).toMatchObject({ ok: false, status: 'error' });
  });

  it.each([
    [
      { status: 'shipped', n: 1 },
      { status: 'shipped', n: 1 },
    ],
    [
      { status: 'cancelled', by: 'customer' },
      { status: 'cancelled', by: 'customer' },
    ],
    [{ status: 'resolved', payload: { status: 'lost' } }, { status: 'lost' }],
    ['plain', undefined],
  ])('give a function the answer %j', async (answer, wanted) => {
    const api = await serve(host, {
      agent: async (_turn, ctx) => JSON.stringify(await ctx.action('order', { prompt: 'State?' })),
    });
    const { job_id: id } = await startJob(api, { message: 'ask' });
    const waiting = await waitingOf(api, id);
    const path = `/api/v1/chat/jobs/${id}/actions/${encodeURIComponent(waiting.action_id)}`;
    await api.json(`${path}-other`, wanted === undefined ? 400 : 404, post(answer));
    if (wanted === undefined) return void (await api.json(path, 400, post(answer)));
    await api.json(path, 200, post(answer));
    expect(JSON.parse((await ended(api, id)).reply as string)).toEqual(wanted);
  });

  it('make nothing of a turn that cannot begin', async () => {
    const api = await serve(host, { api: { agent: 'nobody', keys: [{ key }] } });
    const rejected = await api.send('/api/v1/chat', post({ message: 'hello' }, withKey));
    expect(rejected.status).toBe(503);
    const list: Json = await api.json('/api/v1/chat/conversations', 200, { headers: withKey });
    expect(list.conversations).toEqual([]);
  });

  it('find facts in letters of both cases', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    await api.json('/api/v1/memory', 201, post({ fact: 'Mag Äpfel aus Россия' }, withKey));
    for (const query of ['äPFEL', 'РОССИЯ']) {
      const path = `/api/v1/memory?q=${encodeURIComponent(query)}`;
      expect(await api.json(path, 200, { headers: withKey })).toMatchObject({ total: 1 });
    }
  });

  it('remember facts of a principal', async () => {
    const api = await serve(host, { api: { memoryMax: 2, keys: [{ key }] } });
    const headers = withKey;
    const add = (fact: string) => api.json('/api/v1/memory', 201, post({ fact }, headers));
    const first: Json = await add(' Likes tea ');
    expect(await add('Likes tea')).toEqual(first);
    await add('Has a cat');
    const found: Json = await api.json('/api/v1/memory?q=CAT', 200, { headers });
    expect(found.items.map((item: Json) => item.fact)).toEqual(['Has a cat']);
    await add('Runs');
    const path = `/api/v1/memory/${found.items[0].uuid}`;
    await api.json(path, 200, { method: 'PATCH', json: { fact: 'Has two cats' }, headers });
    const all: Json = await api.json('/api/v1/memory', 200, { headers });
    expect(all.items.map((item: Json) => item.fact).sort()).toEqual(['Has two cats', 'Runs']);
    await api.json(path, 200, { method: 'DELETE', headers });
    await api.json(path, 404, { method: 'DELETE', headers });
    await api.json('/api/v1/memory?top_k=0', 400, { headers });
    const list: Json = await api.json('/api/v1/chat/conversations', 200, { headers });
    expect(list.conversations).toEqual([]);
    expect(
      (await api.runtime.storage({ principal: 'local' }).thread.listThreads()).threads,
    ).toEqual([]);
  });

  it('keep threads for restStorage', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    const send = (url: string, init?: RequestInit) =>
      api.send(url.slice(api.url.length), {
        ...(init?.method !== undefined && { method: init.method }),
        ...(typeof init?.body === 'string' && { body: init.body }),
        headers: init?.headers as Record<string, string>,
      });
    const baseUrl = `${api.url}/api/storage`;
    const { thread } = restStorage({ baseUrl, headers: withKey, fetch: send as typeof fetch });
    const made = await thread.createThread({ id: 'm', role: 'user', content: 'first words' });
    expect(made).toMatchObject({
      title: 'first words',
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    await thread.updateMessage(made.id, { id: 'm', role: 'user', content: 'edited' });
    expect(await thread.getMessages(made.id)).toEqual([
      { id: 'm', role: 'user', content: 'edited' },
    ]);
    await thread.updateThread({ ...made, title: 'Renamed' });
    expect((await thread.listThreads()).threads).toMatchObject([{ id: made.id, title: 'Renamed' }]);
    await thread.deleteThread(made.id);
    expect((await thread.listThreads()).threads).toEqual([]);
  });

  it('tell of their health', async () => {
    const api = await serve(host);
    expect(await api.json('/health', 200)).toEqual({
      ...{ ok: true, service: 'undefined-runtime-api', version: expect.any(String) },
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/),
    });
  });

  it('use no WebSockets', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    const wanted = { connection: 'Upgrade', upgrade: 'websocket', ...withKey };
    if (host === 'fetch') {
      const answer = await api.send('/api/v1/commands', { headers: wanted });
      expect([answer.status, answer.headers.get('upgrade')]).toEqual([426, 'websocket']);
      expect(await answer.json()).toEqual({ error: 'No route uses WebSockets' });
      return;
    }
    // A server may ignore the field: the client sees that the answer is not 101.
    const status = await new Promise((resolve, reject) => {
      const sent = request(`${api.url}/api/v1/commands`, { headers: wanted }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode));
      });
      sent.on('error', reject).on('upgrade', () => reject(new Error('an upgrade')));
      sent.end();
    });
    expect(status).toBe(200);
  });

  it('have numbers for Prometheus', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    const bearer = await api.send('/metrics', { headers: { authorization: `Bearer ${key}` } });
    expect(bearer.status).toBe(200);
    expect(bearer.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await bearer.text()).toMatch(/^millrace_runs_at_work 0$/m);
    expect((await api.send('/metrics')).status).toBe(401);
  });
});
