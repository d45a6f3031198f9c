// Request ids, traces, the access log, and who is behind a proxy.
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createAgent } from 'millrace';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { until } from '../support/server';
import {
  type Api,
  type ApiSetUp,
  cleanUp,
  Gate,
  hosts,
  type Json,
  key,
  runJob,
  serve,
  withKey,
} from './kit';

const models: ScriptedModel[] = [];
let folder: string;
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'millrace-access-'))));
afterEach(async () => {
  await cleanUp();
  await Promise.all(models.splice(0).map((one) => one.close()));
  rmSync(folder, { recursive: true, force: true });
});

const trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

function linesIn(file: string): Json[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

async function linesOf(file: string, wanted: number): Promise<Json[]> {
  await until(() => linesIn(file).length >= wanted, `${wanted} lines`);
  return linesIn(file);
}

describe.each(hosts)('request ids (%s)', (host) => {
  const idOf = async (api: Api, path: string, headers = {}): Promise<string> =>
    (await api.send(path, { headers })).headers.get('x-request-id') ?? '';

  it('are taken where they are well-formed, and made where they are not', async () => {
    const api = await serve(host);
    expect(await idOf(api, '/health', { 'X-Request-ID': 'mine-1:a' })).toBe('mine-1:a');
    for (const wrong of ['two words', 'x'.repeat(129), 'a"b', '<a>']) {
      const id = await idOf(api, '/health', { 'X-Request-ID': wrong });
      expect(id).toMatch(/^[0-9a-f-]{36}$/);
    }
    const ids = await Promise.all(Array.from({ length: 20 }, () => idOf(api, '/health')));
    expect(new Set(ids).size).toBe(20);
  });

  it('are in each answer: errors, streams, refusals and unknown routes', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    const headers = { 'X-Request-ID': 'of-the-test', origin: 'http://localhost:1' };
    const calls = [
      api.send('/api/v1/chat/jobs/active', { headers }),
      api.send('/api/v1/nothing', { headers: { ...headers, ...withKey } }),
      api.send('/api/v1/chat/jobs/unknown', { headers: { ...headers, ...withKey } }),
      api.send('/api/v1/chat', { method: 'OPTIONS', headers }),
      api.send('/api/v1/chat', {
        ...{ method: 'POST', json: { message: 'x', stream: true } },
        headers: { ...headers, ...withKey },
      }),
    ];
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 404, 204, 200]);
    for (const answer of answers) {
      expect(answer.headers.get('x-request-id')).toBe('of-the-test');
      expect(answer.headers.get('access-control-expose-headers')?.split(', ')).toEqual([
        ...['Content-Disposition', 'Content-Range', 'ETag', 'Location', 'Retry-After'],
        'X-Request-ID',
      ]);
      // The contract's errors have one member.
      const text = await answer.text();
      if (answer.status === 401) expect(JSON.parse(text)).toEqual({ error: 'Unauthorized' });
    }
  });
});

describe.each(hosts)('the access log (%s)', (host) => {
  const logging = (more: ApiSetUp['api'] = {}) => {
    const file = join(folder, 'access.log');
    const api = serve(host, {
      api: { keys: [{ key, name: 'app', principal: 'ada' }], accessLog: file, ...more },
    });
    return api.then((served) => ({ api: served, file }));
  };

  it('has a line for each request, without what may be a secret', async () => {
    const { api, file } = await logging();
    const wrong = { 'X-Millrace-API-Key': 'a-wrong-secret' };
    await (await api.send('/health?token=hidden')).text();
    await (await api.send('/api/v1/chat/history', { headers: wrong })).text();
    const headers = { ...withKey, 'X-Request-ID': 'r-3', traceparent: trace };
    const answer = await api.send('/api/v1/chat/history?limit=2', { headers });
    const body = await answer.text();
    const post = { method: 'POST', json: { message: 'secret words' }, headers: withKey };
    await (await api.send('/api/v1/chat', post)).text();
    await (await api.send('/api/v1/nothing', { headers: withKey })).text();
    const lines = await linesOf(file, 5);
    expect(lines).toHaveLength(5);
    const by = (path: string, status: number): Json =>
      lines.find((line) => line.path === path && line.status === status);
    expect(by('/health', 200)).toMatchObject({ method: 'GET' });
    expect(by('/api/v1/chat/history', 401)).not.toHaveProperty('key');
    expect(by('/api/v1/chat/history', 200)).toMatchObject({
      ...{ id: 'r-3', method: 'GET', bytes: Buffer.byteLength(body), principal: 'ada', key: 'app' },
      trace,
    });
    expect(by('/api/v1/chat', 200)).toMatchObject({ method: 'POST', key: 'app' });
    expect(by('/api/v1/nothing', 404)).toMatchObject({ key: 'app' });
    for (const line of lines) {
      expect(line.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(line.ms).toBeGreaterThanOrEqual(0);
      expect(line).not.toHaveProperty('cut');
      if (host === 'listen') expect(line.address).toBe('127.0.0.1');
    }
    expect(readFileSync(file, 'utf8')).not.toMatch(
      /hidden|wrong-secret|the-key|secret words|limit/,
    );
  });

  it('has one line for a request with a large body', async () => {
    const { api, file } = await logging();
    const form = new FormData();
    form.append('file', new Blob(['x'.repeat(300_000)]), 'a.txt');
    const post = { method: 'POST', body: form, headers: withKey };
    expect((await api.send('/api/v1/chat/attachments', post)).status).toBe(201);
    await (await api.send('/health')).text();
    const lines = await linesOf(file, 2);
    expect(lines.map(({ path }) => path)).toEqual(['/api/v1/chat/attachments', '/health']);
  });

  it('marks an answer whose client left', async () => {
    const file = join(folder, 'access.log');
    const gate = new Gate();
    const api = await serve(host, {
      api: { keys: [{ key }], accessLog: file },
      agent: async (_turn, { signal }) => {
        await gate.wait(signal);
        return 'late';
      },
    });
    const leaving = new AbortController();
    const stream = await api.send('/api/v1/chat', {
      ...{ method: 'POST', json: { message: 'x', stream: true }, headers: withKey },
      signal: leaving.signal,
    });
    const reader = stream.body?.getReader();
    await reader?.read();
    if (host === 'listen') leaving.abort();
    else await reader?.cancel();
    expect(await linesOf(file, 1)).toMatchObject([
      { path: '/api/v1/chat', status: 200, cut: true, bytes: expect.any(Number) },
    ]);
    gate.open();
  });

  it('follows a file that is moved', async () => {
    const { api, file } = await logging();
    await (await api.send('/health')).text();
    await linesOf(file, 1);
    renameSync(file, `${file}.1`);
    await (await api.send('/livez')).text();
    expect(await linesOf(file, 1)).toMatchObject([{ path: '/livez' }]);
    expect(linesIn(`${file}.1`)).toMatchObject([{ path: '/health' }]);
  });

  it('must be a file that can be written', async () => {
    const api = { keys: [{ key }], accessLog: join(folder, 'no', 'such', 'folder') };
    const made = serve(host, { api });
    await expect(made.then((served) => served.send('/health'))).rejects.toMatchObject({
      ...{ code: 'invalid_option', message: expect.stringContaining('access log') },
    });
  });
});

describe.each(hosts)('traces (%s)', (host) => {
  it('go on in requests to the model, and in what functions get', async () => {
    const model = await startModel(() => ({ text: 'hello' }));
    models.push(model);
    const seen: unknown[] = [];
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, {
      api: { keys: [{ key }], agent: 'engine' },
      agent: (_turn, { run }) => void seen.push(run.traceparent),
      prepare: (runtime) => {
        createAgent({ model: 'openai:scripted', provider, runtime, name: 'engine' });
      },
    });
    const post = { method: 'POST', json: { message: 'x' } };
    await (
      await api.send('/api/v1/chat', { ...post, headers: { ...withKey, traceparent: trace } })
    ).text();
    await (
      await api.send('/api/v1/chat', { ...post, headers: { ...withKey, traceparent: 'x' } })
    ).text();
    expect(model.calls.map(({ headers }) => headers['traceparent'])).toEqual([trace, undefined]);
  });

  it('are known to a function', async () => {
    const seen: unknown[] = [];
    const api = await serve(host, {
      agent: (_turn, { run }) => {
        seen.push(run.traceparent);
        return 'x';
      },
    });
    const headers = { traceparent: trace };
    await (
      await api.send('/api/v1/chat', { method: 'POST', json: { message: 'x' }, headers })
    ).text();
    await runJob(api, 'y');
    expect(seen).toEqual([trace, undefined]);
  });
});

// A proxy that adds the address of its client, as nginx does.
async function startProxy(port: number): Promise<{ url: string; close(): void }> {
  const proxy = createServer((incoming, outgoing) => {
    const forwarded = [incoming.headers['x-forwarded-for'], incoming.headers['x-test-client']];
    const headers = {
      ...incoming.headers,
      'x-forwarded-for': forwarded.filter(Boolean).join(', '),
    };
    const sent = httpRequest(
      { port, host: '127.0.0.1', path: incoming.url, method: incoming.method, headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    incoming.pipe(sent);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { url, close: () => proxy.close() };
}

describe('behind a proxy', () => {
  const guess = (url: string, client: string, forwarded?: string): Promise<Response> =>
    fetch(`${url}/api/v1/chat/jobs/active`, {
      headers: {
        ...{ 'X-Millrace-API-Key': 'wrong', 'x-test-client': client },
        ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }),
      },
    });

  it('wrong keys count against their client, and not against the proxy', async () => {
    const file = join(folder, 'access.log');
    const api = await serve('listen', {
      api: { keys: [{ key }], trustedProxies: ['127.0.0.0/8'], accessLog: file },
      listen: { allowedHosts: ['*'] },
    });
    const proxy = await startProxy(Number(new URL(api.url).port));
    for (let at = 0; at < 30; ++at) await guess(proxy.url, '9.9.9.9', `1.1.1.${at}`);
    expect((await guess(proxy.url, '9.9.9.9', '1.1.1.99')).status).toBe(429);
    expect((await guess(proxy.url, '8.8.8.8')).status).toBe(401);
    const lines = await linesOf(file, 32);
    expect(lines.at(-2)?.address).toBe('9.9.9.9');
    expect(lines.at(-1)?.address).toBe('8.8.8.8');
    proxy.close();
  });

  it('that is not trusted, the header counts for nothing', async () => {
    const api = await serve('listen', { api: { keys: [{ key }], trustedProxies: ['10.0.0.1'] } });
    for (let at = 0; at < 30; ++at) await guess(api.url, '', `1.1.1.${at}`);
    expect((await guess(api.url, '', '2.2.2.2')).status).toBe(429);
  });

  it.each([['proxy'], ['10.0.0.0/33'], ['']])('%p is no address', async (address) => {
    const made = serve('listen', { api: { keys: [{ key }], trustedProxies: [address] } });
    await expect(made).rejects.toMatchObject({ code: 'invalid_option' });
  });

  it('a host may say where its requests come from', async () => {
    const { runtime } = await serve('fetch', { api: { keys: [{ key }] } });
    const ask = async (remoteAddress: string): Promise<number> => {
      const headers = { 'X-Millrace-API-Key': 'wrong' };
      const request = new Request('http://localhost/api/v1/tools', { headers });
      return (await runtime.fetch(request, { remoteAddress })).status;
    };
    for (let at = 0; at < 30; ++at) await ask('9.9.9.9');
    expect([await ask('9.9.9.9'), await ask('8.8.8.8')]).toEqual([429, 401]);
  });
});

describe('bodies for a host (fetch)', () => {
  it.each([
    ['without a key', {}, '/api/v1/chat/attachments', 401],
    ['without the scope', { 'X-Millrace-API-Key': 'reader' }, '/api/v1/chat/attachments', 403],
    ['of an unknown route', withKey, '/api/v1/nothing', 404],
    [
      'that are announced too large',
      { ...withKey, 'content-length': '9000000000' },
      '/api/v1/chat/attachments',
      413,
    ],
  ])('%s are not read', async (_what, headers, path, status) => {
    const { runtime } = await serve('fetch', {
      api: { keys: [{ key }, { key: 'reader', scopes: ['read'] }] },
    });
    let pulled = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          pulled += 1;
          controller.enqueue(new Uint8Array(65_536));
          if (pulled > 1000) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const request = new Request(`http://localhost${path}`, {
      ...{ method: 'POST', headers, body, duplex: 'half' },
    });
    expect((await runtime.fetch(request)).status).toBe(status);
    expect(pulled).toBe(0);
  });
});
