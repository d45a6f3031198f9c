// Jobs: their states and events, both cursors, streams, cancelling, and what they answer in place of a second job.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

import { EventSource } from 'eventsource';

import {
  cleanUp,
  ended,
  framesIn,
  Gate,
  hosts,
  type Api,
  type Json,
  runJob,
  serve,
  startJob,
} from './kit';

afterEach(async () => {
  jest.restoreAllMocks();
  await cleanUp();
});

const eventsOf = async (api: Api, id: string, query = '', headers = {}): Promise<Json> =>
  api.json(`/api/v1/chat/jobs/${id}/events${query}`, 200, { headers });

const streamOf = (api: Api, id: string, query = '', headers = {}) =>
  api.send(`/api/v1/chat/jobs/${id}/events${query}`, {
    headers: { accept: 'text/event-stream', ...headers },
  });

const numbersOf = (body: Json): number[] => body.events.map((one: Json) => one.seq);

describe.each(hosts)('jobs (%s)', (host) => {
  it('log what their function shows, each event with the next number', async () => {
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.stage('searching', 'the shelf');
        await ctx.emit('tool_start', { tool_call_id: 'c1', name: 'find', arguments: { n: 1 } });
        await ctx.emit('tool_end', { tool_call_id: 'c1', name: 'find', ok: true, result: 'it' });
        await ctx.emit('token_delta', { text: 'unknown to the vocabulary' });
        await ctx.send('  one  ');
        await ctx.send('   ');
        return 'two';
      },
    });
    const job = await runJob(api, 'go');
    expect(job).toMatchObject({
      ...{ status: 'done', mode: 'chat', error: null, messages: ['one', 'two'] },
      ...{ reply: 'one\n\ntwo', history_finalized: true, waiting_input: null },
      ...{ current_tool_calls: [], current_agent_stages: [], current_stage: 'done' },
    });
    expect(job.job_id).toMatch(/^[0-9a-f]{32}$/);
    const log = await eventsOf(api, job.job_id);
    expect(numbersOf(log)).toEqual(Array.from({ length: log.last_seq }, (_, at) => at + 1));
    expect(job.last_seq).toBe(log.last_seq);
    const named = log.events.map(({ event, payload }: Json) =>
      event === 'stage' ? `stage ${payload.stage}` : event,
    );
    expect(named).toEqual([
      ...['meta', 'stage received', 'stage processing', 'stage recording_history'],
      ...['stage asking_ai', 'stage searching', 'tool_start', 'tool_end'],
      ...['stage sending_message', 'message', 'stage sending_message', 'message'],
      ...['stage done', 'done'],
    ]);
    for (const { payload } of log.events) {
      expect(payload).toMatchObject({ job_id: job.job_id, conversation_id: 'legacy-system-42' });
    }
    expect(log.events.at(-1).payload).toMatchObject({
      ...{ mode: 'chat', status: 'done', messages: ['one', 'two'], reply: 'one\n\ntwo' },
    });
  });

  it('give the events behind either cursor; the query counts more', async () => {
    const api = await serve(host);
    const { job_id: id, last_seq: last } = await runJob(api, 'go');
    const all = numbersOf(await eventsOf(api, id));
    for (let after = 0; after <= last + 1; ++after) {
      const rest = all.filter((seq) => seq > after);
      expect(numbersOf(await eventsOf(api, id, `?after=${after}`))).toEqual(rest);
      const header = { 'last-event-id': String(after) };
      expect(numbersOf(await eventsOf(api, id, '', header))).toEqual(rest);
      const frames = framesIn(await (await streamOf(api, id, '', header)).text());
      expect(frames.map((frame) => Number(frame.id))).toEqual(rest);
    }
    const both = await eventsOf(api, id, '?after=2', { 'last-event-id': '5' });
    expect(numbersOf(both)).toEqual(all.slice(2));
    for (const junk of ['-1', 'x', '', '1e3', '99999999999999999999999', '1.x', '%00']) {
      expect(numbersOf(await eventsOf(api, id, `?after=${junk}`))).toEqual(all);
    }
  });

  it('answer as a stream only where it is wanted', async () => {
    const api = await serve(host);
    const { job_id: id } = await runJob(api, 'go');
    const stream = 'text/event-stream';
    const rows: [string, string, boolean][] = [
      [stream, '', true],
      ['TEXT/Event-Stream', '', true],
      [`${stream}, Application/JSON`, '', false],
      [`${stream}, */*`, '', true],
      [`${stream}, application/json`, '', false],
      [stream, '?format=json', false],
      ['*/*', '', false],
    ];
    for (const [accept, query, isStream] of rows) {
      const response = await api.send(`/api/v1/chat/jobs/${id}/events${query}`, {
        headers: { accept },
      });
      const type = response.headers.get('content-type') ?? '';
      expect(`${accept}${query} ${type.startsWith(stream)}`).toBe(`${accept}${query} ${isStream}`);
      await response.text();
    }
    const response = await streamOf(api, id);
    expect(response.headers.get('cache-control')).toMatch(/no-cache/);
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(await response.text()).toMatch(/^retry: \d+\nid: 1\nevent: meta\ndata: \{/);
  });

  it('write a long log in pieces, as JSON', async () => {
    const count = 2000;
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        for (let at = 0; at < count; at += 1) await ctx.stage(`step ${at}`, 'x'.repeat(200));
      },
    });
    const { job_id: id } = await runJob(api, 'go');
    const path = `/api/v1/chat/jobs/${id}/events`;
    const response = await api.send(path);
    // Its size is not known when it begins.
    expect(response.headers.get('content-length')).toBeNull();
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    const log = (await response.json()) as Json;
    const frames = framesIn(await (await streamOf(api, id)).text());
    expect(log.events.map(({ seq }: Json) => String(seq))).toEqual(frames.map((one) => one.id));
    expect(log.events.map(({ payload }: Json) => payload)).toEqual(frames.map(({ data }) => data));
    expect(log).toMatchObject({ after: 0, last_seq: log.events.length, job: { job_id: id } });
    expect(log.events.length).toBeGreaterThan(count);
    const short = await api.send(`${path}?after=${log.last_seq - 1}`);
    if (host === 'listen') expect(short.headers.get('content-length')).not.toBeNull();
    expect(((await short.json()) as Json).events).toHaveLength(1);
  });

  it('stream what comes while it is read, and end with the job', async () => {
    const gate = new Gate();
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.send('before');
        await gate.wait(ctx.signal);
        return 'after';
      },
    });
    const { job_id: id } = await startJob(api, { message: 'go' });
    const response = await streamOf(api, id);
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('"before"')) gate.open();
    }
    const frames = framesIn(text).filter(({ event }) => event !== 'stage');
    expect(frames.map(({ event }) => event)).toEqual(['meta', 'message', 'message', 'done']);
    expect((await api.json(`/api/v1/chat/jobs/${id}`, 200)).status).toBe('done');
  });

  it('stream a comment every ten seconds without a new event, also while a stage lasts', async () => {
    const gate = new Gate();
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.stage('thinking');
        await gate.wait(ctx.signal);
        return 'done';
      },
    });
    const { job_id: id } = await startJob(api, { message: 'go' });
    const response = await streamOf(api, id);
    const from = Date.now();
    let text = '';
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(piece).toString();
      if (text.includes('\n: keep-alive\n\n')) gate.open();
      if (Date.now() - from > 30_000) gate.open();
    }
    expect(text.split('\n: keep-alive\n\n').length).toBeGreaterThan(1);
    expect(text.split('"thinking"').length).toBeGreaterThan(5);
  }, 60_000);

  it('fail with what their function threw, and keep what was shown', async () => {
    jest.spyOn(console, 'error').mockImplementation();
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.emit('tool_start', { tool_call_id: 'c1', name: 'find' });
        await ctx.send('shown');
        throw new Error('broken');
      },
    });
    const job = await runJob(api, 'go');
    expect(job).toMatchObject({ status: 'error', messages: ['shown'], history_finalized: true });
    expect(job.error).toMatch(/broken/);
    const { events } = await eventsOf(api, job.job_id);
    expect(events.at(-1)).toMatchObject({ event: 'error', payload: { job_id: job.job_id } });
    const history = await api.json('/api/v1/chat/history', 200);
    expect(history.items.map((item: Json) => item.content)).toEqual(['go', 'shown']);
    const chat = await api.send('/api/v1/chat', { method: 'POST', json: { message: 'again' } });
    expect(chat.status).toBe(502);
    expect(await chat.json()).toEqual({ error: 'Chat failed' });
  });

  it('are cancelled once, from any state', async () => {
    const gate = new Gate();
    const api = await serve(host, { agent: (_turn, ctx) => gate.wait(ctx.signal) });
    const { job_id: id } = await startJob(api, { message: 'go' });
    const cancel = () => api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' });
    const [one, other] = await Promise.all([cancel(), cancel()]);
    expect([one.status, other.status]).toEqual(['cancelled', 'cancelled']);
    expect(one.error).toBeNull();
    const { events } = await eventsOf(api, id);
    const errors = events.filter((one: Json) => one.event === 'error');
    expect(errors.map((one: Json) => one.payload.error)).toEqual(['cancelled']);
    const again = await cancel();
    expect(again).toMatchObject({ status: 'cancelled', last_seq: events.length });
    await startJob(api, { message: 'the next' });
  });

  it('are cancelled at once though their function goes on, and what it gives then is dropped', async () => {
    const gate = new Gate();
    const warned = jest.spyOn(process, 'emitWarning').mockReturnValue();
    const hasWarned = () =>
      warned.mock.calls.some(([text]) => String(text).includes('when its signal aborts'));
    const over = new Gate();
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await gate.opened;
        while (!hasWarned()) {
          await ctx.send('late');
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        over.open();
        return 'too late';
      },
    });
    const { job_id: id } = await startJob(api, { message: 'go' });
    expect(await api.json(`/api/v1/chat/jobs/${id}/cancel`, 200, { method: 'POST' })).toMatchObject(
      {
        ...{ status: 'cancelled', error: null, finished_at: expect.any(Number) },
      },
    );
    gate.open();
    await over.opened;
    warned.mockRestore();
    expect(await api.json(`/api/v1/chat/jobs/${id}`, 200)).toMatchObject({ messages: [] });
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items.map((one: Json) => one.content)).toEqual(['go']);
  });

  it('let one work in a conversation at a time', async () => {
    const gate = new Gate();
    const api = await serve(host, { agent: (_turn, ctx) => gate.wait(ctx.signal) });
    const posts = Array.from({ length: 8 }, (_, at) =>
      api.send('/api/v1/chat/jobs', { method: 'POST', json: { message: `job ${at}` } }),
    );
    const answers = await Promise.all(posts);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    const others = answers.filter(({ status }) => status !== 202);
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([409]));
    for (const other of others)
      expect(await other.json()).toEqual({ error: 'Chat job is still running' });
    const active = await api.json('/api/v1/chat/jobs/active', 200);
    expect(active.jobs).toHaveLength(1);
    expect(active.job).toMatchObject({ job_id: active.jobs[0].job_id, status: 'running' });
    for (const path of ['/api/v1/chat/history', '/api/v1/chat/conversations/legacy-system-42']) {
      const rejected = await api.json(path, 409, { method: 'DELETE' });
      expect(rejected).toEqual({ error: 'Chat job is still running' });
    }
    const made = await api.json('/api/v1/chat/conversations', 201, { method: 'POST', json: {} });
    const elsewhere = made.conversation.id;
    await startJob(api, { message: 'x', conversation_id: elsewhere });
    const there = await api.json(`/api/v1/chat/jobs/active?conversation_id=${elsewhere}`, 200);
    expect(there.jobs).toHaveLength(1);
    expect(await api.json('/api/v1/chat/jobs/active?conversation_id=unknown', 200)).toEqual({
      ...{ job: null, jobs: [] },
    });
    gate.open();
    await ended(api, active.job.job_id);
    const history = await api.json('/api/v1/chat/history', 200);
    // What was rejected left nothing.
    expect(history.total).toBe(1);
  });

  it('take the next message as soon as their end is seen', async () => {
    const api = await serve(host);
    for (let turn = 0; turn < 20; ++turn) {
      const { job_id: id } = await startJob(api, { message: `turn ${turn}` });
      const frames = framesIn(await (await streamOf(api, id)).text());
      expect(frames.at(-1)?.event).toBe('done');
    }
    const history = await api.json('/api/v1/chat/history?limit=500', 200);
    expect(history.total).toBe(40);
  });

  it('are not found where they are not', async () => {
    const api = await serve(host);
    const { job_id: id } = await runJob(api, 'go');
    const paths = [
      ...['x', '0'.repeat(32), 'x'.repeat(5000), '..%2f..', '%00', `${id}0`].map((other) => other),
    ].map((other) => `/api/v1/chat/jobs/${other}`);
    for (const path of [...paths, `/api/v1/chat/jobs/${id}/events?conversation_id=other`]) {
      expect(await api.json(path, 404)).toEqual({ error: 'Job not found' });
    }
    await api.json(`/api/v1/chat/jobs/${id}/events?conversation_id=legacy-system-42`, 200);
    await api.json('/api/v1/chat/jobs/unknown/cancel', 404, { method: 'POST' });
    const long = await api.send(`/api/v1/chat/jobs/${'x'.repeat(10_000)}`);
    expect([404, 414]).toContain(long.status);
  });
});

describe.each(hosts)('POST chat (%s)', (host) => {
  const chat = '/api/v1/chat';
  const post = (json: unknown) => ({ method: 'POST', json });

  it('answers with the messages, or as a stream', async () => {
    const api = await serve(host);
    expect(await api.json(chat, 200, post({ message: 'hello' }))).toMatchObject({
      ...{ mode: 'chat', virtual_user_id: 42, permission: 'superadmin', messages: ['echo: hello'] },
      ...{ reply: 'echo: hello', conversation_id: 'legacy-system-42' },
    });
    const loose = [true, 1, 'yes', 'TRUE', 'on'];
    for (const stream of loose) {
      const response = await api.send(chat, post({ message: 'hello', stream }));
      expect(framesIn(await response.text()).at(-1)?.event).toBe('done');
    }
    for (const stream of [false, 0, 'no', null, [], {}]) {
      await api.json(chat, 200, post({ message: 'hello', stream }));
    }
  });

  it('goes on without its reader', async () => {
    const gate = new Gate();
    const api = await serve(host, {
      agent: (_turn, ctx) => gate.wait(ctx.signal).then(() => 'late'),
    });
    const cut = new AbortController();
    const response = await api.send(chat, {
      ...post({ message: 'go', stream: true }),
      signal: cut.signal,
    });
    await response.body?.getReader().read();
    cut.abort();
    gate.open();
    const { jobs } = await api.json('/api/v1/chat/jobs/active', 200);
    for (const { job_id: id } of jobs) expect((await ended(api, id)).status).toBe('done');
    const history = await api.json('/api/v1/chat/history', 200);
    expect(history.items.map((item: Json) => item.content)).toEqual(['go', 'late']);
  });

  it.each([
    [400, 'Invalid JSON', ''],
    [400, 'Invalid JSON', '{'],
    [400, 'Invalid JSON', '{"message":"x"} x'],
    [400, 'JSON body must be an object', '[]'],
    [400, 'JSON body must be an object', '"x"'],
    [400, 'message is required', '{}'],
    [400, 'message is required', '{"message":"  "}'],
    [400, 'message is required', '{"message":7}'],
    [400, 'message is required', '{"message":{}}'],
    [400, 'message is required', '{"message":{"text":"","references":[{}]}}'],
    [404, 'Conversation not found', '{"message":"x","conversation_id":"unknown"}'],
    [404, 'Conversation not found', `{"message":"x","conversation_id":"${'x'.repeat(10_000)}"}`],
    [404, 'Conversation not found', '{"message":"x","conversation_id":"../../etc/passwd"}'],
    [404, 'Attachment not found', '{"message":{"text":"x","attachment_ids":["0123456789ab"]}}'],
  ])('%i %s (%#)', async (status, error, body) => {
    const api = await serve(host);
    for (const path of [chat, `${chat}/jobs`]) {
      expect(await api.json(path, status, { method: 'POST', body })).toEqual({ error });
    }
    expect((await api.json('/api/v1/chat/history', 200)).total).toBe(0);
    expect((await api.json('/api/v1/chat/conversations', 200)).conversations).toEqual([]);
  });

  it('refuses what is too large or too deep, and stays there', async () => {
    const api = await serve(host);
    const large = JSON.stringify({ message: 'x'.repeat(20 << 20) });
    expect((await api.send(chat, { method: 'POST', body: large })).status).toBe(413);
    const deep = `{"message":${'['.repeat(100_000)}`;
    expect((await api.send(chat, { method: 'POST', body: deep })).status).toBe(400);
    const closed = `{"message":"x","more":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    expect((await api.send(chat, { method: 'POST', body: closed })).status).toBe(400);
    const bytes = new Uint8Array([
      ...Buffer.from('{"message":"'),
      0xff,
      0xfe,
      ...Buffer.from('"}'),
    ]);
    expect([200, 400]).toContain((await api.send(chat, { method: 'POST', body: bytes })).status);
    await api.json(chat, 200, post({ message: 'still there \u0000 \ud83d\ude00' }));
  });
});

describe('a client of the web', () => {
  it('reads on where its connection was cut', async () => {
    const gates = [new Gate(), new Gate()];
    const api = await serve('listen', {
      listen: { allowedHosts: ['127.0.0.1'] },
      agent: async (_turn, ctx) => {
        await ctx.send('one');
        await gates[0]?.wait(ctx.signal);
        await ctx.send('two');
        await gates[1]?.wait(ctx.signal);
        return 'three';
      },
    });
    const { job_id: id } = await startJob(api, { message: 'go' });
    const proxy = await cuttingProxy(Number(new URL(api.url).port));
    const ids: (string | null)[] = [];
    const seen: string[] = [];
    const source = new EventSource(`${proxy.url}/api/v1/chat/jobs/${id}/events`, {
      fetch: (url, init) => {
        ids.push(new Headers(init?.headers).get('last-event-id'));
        return fetch(url, init);
      },
    });
    await new Promise<void>((resolve) => {
      source.addEventListener('message', ({ data }) => {
        const { content } = JSON.parse(data as string) as { content: string };
        seen.push(content);
        if (content === 'three') return;
        // The rest comes while nobody reads.
        proxy.cut();
        gates[seen.length - 1]?.open();
      });
      source.addEventListener('done', () => resolve());
    });
    source.close();
    await proxy.close();
    expect(seen).toEqual(['one', 'two', 'three']);
    expect(ids[0]).toBeNull();
    expect(ids.length).toBeGreaterThan(1);
    expect(Number(ids[1])).toBeGreaterThan(0);
  });
});

/** Hands bytes on until it is told to cut all connections. */
async function cuttingProxy(port: number) {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy()).on('close', () => other.destroy());
      socket.pipe(other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
