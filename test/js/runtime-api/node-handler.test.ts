// A runtime inside a Node server of a host: what strangers send and readers that leave.
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';

import { type Api, cleanUp, key, serve, withKey } from './kit';

const servers: Server[] = [];

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  for (let left = 100; !(await isTrue()); left -= 1) {
    if (left === 0) throw new Error('It did not happen.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

afterEach(async () => {
  await cleanUp();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function host(): Promise<{ api: Api; url: string; port: number; failures: unknown[] }> {
  const api = await serve('fetch', {
    api: { keys: [{ key }], attachmentBytes: 100_000 },
    agent: async ({ text }, context) => {
      for (let at = 0; text.includes('long') && at < 200 && !context.signal.aborted; at += 1) {
        await context.send(`piece ${at}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return text;
    },
  });
  const failures: unknown[] = [];
  const server = createServer((request, response) => {
    api.runtime.nodeHandler(request, response).catch((error: unknown) => failures.push(error));
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  return { api, port, url: `http://127.0.0.1:${port}`, failures };
}

/** The answer to bytes as they are; what is sent is cut where `cutAfterMs` says so. */
function raw(port: number, bytes: string, cutAfterMs?: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    socket.on('error', () => undefined).on('close', () => resolve(text));
    socket.write(bytes);
    if (cutAfterMs !== undefined) setTimeout(() => socket.destroy(), cutAfterMs);
  });
}

const chat = (message: string): RequestInit => ({
  method: 'POST',
  headers: { ...withKey, 'content-type': 'application/json' },
  body: JSON.stringify({ message, stream: true }),
});

it.each([
  ['JSON', '/api/v1/chat', ''],
  ['an upload', '/api/v1/chat/attachments', 'Content-Type: multipart/form-data; boundary=a\r\n'],
  [
    'an upload with a key',
    '/api/v1/chat/attachments',
    `Content-Type: multipart/form-data; boundary=a\r\nX-Millrace-API-Key: ${key}\r\n`,
  ],
])('goes on after a body that is cut: %s', async (_, path, headers) => {
  const { port, url, failures } = await host();
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}`;
  await raw(port, `${head}Content-Length: 1000\r\n\r\n--a\r\n`, 100);
  await raw(port, `${head}Content-Length: 90000\r\n\r\n--a\r\n${'b'.repeat(70_000)}`, 100);
  await raw(port, `${head}Transfer-Encoding: chunked\r\n\r\n5\r\n--a\r\n\r\n`, 100);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect(failures).toEqual([]);
});

it.each([
  ['Host: bad host', 'GET /health HTTP/1.1\r\nHost: bad host\r\nConnection: close\r\n\r\n', 400],
  ['no path', 'OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 400],
  ['TRACE', 'TRACE / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 405],
  ['HTTP/1.0', 'GET /health HTTP/1.0\r\n\r\n', 200],
])('answers %s', async (_, bytes, status) => {
  const { port, failures } = await host();
  expect(await raw(port, bytes)).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
  expect(failures).toEqual([]);
});

it('answers an upload that is too large, and ends its connection', async () => {
  const { port } = await host();
  const head =
    'POST /api/v1/chat/attachments HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n' +
    `Content-Type: multipart/form-data; boundary=a\r\nX-Millrace-API-Key: ${key}\r\n\r\n`;
  // 4 MiB are for what a form has besides its file.
  const answer = await raw(port, `${head}500000\r\n${'b'.repeat((4 << 20) + 101_000)}`);
  expect(answer).toMatch(/^HTTP\/1\.1 413 .*connection: close/is);
});

it('takes a body that a middleware has read', async () => {
  const { api } = await host();
  const server = createServer((request, response) => {
    void (async () => {
      let text = '';
      for await (const piece of request) text += String(piece);
      await api.runtime.nodeHandler(Object.assign(request, { body: JSON.parse(text) }), response);
    })();
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  const call = { ...chat('Hello'), body: '{"message":"Hello"}' };
  const answer = await fetch(`http://127.0.0.1:${port}/api/v1/chat`, call);
  expect(await answer.json()).toMatchObject({ reply: 'Hello' });
});

it('sees that readers left', async () => {
  const { url, failures } = await host();
  const readers = async (): Promise<string | undefined> => {
    const text = await (await fetch(`${url}/metrics`, { headers: withKey })).text();
    return /^millrace_readers (\d+)$/m.exec(text)?.[1];
  };
  const leaving = new AbortController();
  const { signal } = leaving;
  for (const at of [1, 2, 3]) {
    const { body } = await fetch(`${url}/api/v1/chat`, { ...chat(`long ${at}`), signal });
    expect((await body?.getReader().read())?.done).toBe(false);
  }
  expect(Number(await readers())).toBeGreaterThan(0);
  leaving.abort();
  await until(async () => (await readers()) === '0');
  expect(failures).toEqual([]);
});

it('stops the run whose reader left', async () => {
  const { url } = await host();
  const leaving = new AbortController();
  const messages = [{ id: '1', role: 'user', content: 'long' }];
  const answer = await fetch(`${url}/agent?onDisconnect=stop`, {
    ...chat(''),
    ...{ body: JSON.stringify({ threadId: 't', runId: 'r', messages }), signal: leaving.signal },
  });
  expect(answer.status).toBe(200);
  leaving.abort();
  const headers = { ...withKey, accept: 'application/json' };
  await until(async () => {
    const run = await fetch(`${url}/agent/runs/r?threadId=t`, { headers });
    return ((await run.json()) as { state: string }).state === 'cancelled';
  });
});

it('cuts open streams and answers 503 once the runtime is closed', async () => {
  const { api, url, failures } = await host();
  const { body } = await fetch(`${url}/api/v1/chat`, chat('long'));
  const reader = body?.getReader();
  await reader?.read();
  await api.runtime.close({ drainMs: 10 });
  const rest = (async () => {
    while ((await reader?.read())?.done === false);
  })();
  await rest.catch(() => undefined);
  const late = await fetch(`${url}/api/v1/chat`, chat('late'));
  expect([late.status, await late.json()]).toEqual([
    503,
    { error: 'The runtime is closed.', code: 'engine_closed' },
  ]);
  expect(await (await fetch(`${url}/agent/runs`, { headers: withKey })).json()).toMatchObject({
    error: { code: 'engine_closed' },
  });
  expect(failures).toEqual([]);
});

it('says what it takes', async () => {
  const { api } = await host();
  const { runtime } = api;
  const request = new Request('http://localhost/');
  expect(() => void runtime.nodeHandler(request as never, {} as never)).toThrow('runtime.fetch');
  await expect(runtime.fetch({ url: '/' } as never)).rejects.toThrow('runtime.nodeHandler');
});

describe('runtime.fetch', () => {
  const cut = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(Buffer.from('{"me'));
        controller.error(new Error('the client left'));
      },
    });

  it('answers a body that is cut with 400', async () => {
    const { api } = await host();
    const init = { method: 'POST', headers: withKey, duplex: 'half' as const };
    for (const path of ['/api/v1/chat', '/api/v1/chat/attachments']) {
      const more = { 'content-type': 'multipart/form-data; boundary=a' };
      const headers = { ...withKey, ...(path.endsWith('s') && more) };
      const request = new Request(`http://x${path}`, { ...init, headers, body: cut() });
      const answer = await api.runtime.fetch(request);
      expect([answer.status, await answer.json()]).toEqual([
        400,
        { error: 'The request body cannot be read: the client left', code: 'invalid_body' },
      ]);
    }
  });

  it('ends a stream whose Request aborts', async () => {
    const { api } = await host();
    const leaving = new AbortController();
    const init = { ...chat('long'), signal: leaving.signal };
    const { body } = await api.runtime.fetch(new Request('http://x/api/v1/chat', init));
    const reader = body?.getReader();
    await reader?.read();
    leaving.abort();
    await expect(
      (async () => {
        while ((await reader?.read())?.done === false);
      })(),
    ).rejects.toThrow('aborted');
  });
});

it('takes the absolute form of a target as its path, for its own host', async () => {
  const { port } = await host();
  const fields = (name: string) =>
    `Host: 127.0.0.1:${name}\r\nX-Millrace-API-Key: ${key}\r\nConnection: close\r\n\r\n`;
  const ask = (target: string, name = String(port)) =>
    raw(port, `GET ${target} HTTP/1.1\r\n${fields(name)}`);
  const own = `http://127.0.0.1:${port}`;
  expect(await ask(`${own}/api/v1/chat/history?limit=1`)).toMatch(/^HTTP\/1.1 200/);
  expect(await ask(`${own.toUpperCase()}/health`)).toMatch(/^HTTP\/1.1 200/);
  expect(await ask(`${own}?x=1`)).toMatch(/^HTTP\/1.1 [24]/);
  for (const target of [
    'http://other.example/health',
    'http:///health',
    'ftp://127.0.0.1/health',
  ]) {
    expect(await ask(target)).toMatch(/^HTTP\/1.1 400/);
  }
});
