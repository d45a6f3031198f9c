// Webhooks outlive the process that owes them.
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { bodyOf, loopback, type Loopback, until } from '../support/server';
import { type Child, cleanUp, makeStore, startChild } from '../support/durable-child';
import type { Json } from './kit';

const sinks: Loopback[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
});

async function startServer(options: object): Promise<{ child: Child; url: string }> {
  const child = startChild(options, 'api-child');
  const { port } = await child.until((line) => 'port' in line);
  return { child, url: `http://127.0.0.1:${port}/api/v1/tools` };
}

interface Seen {
  headers: Json;
  body: Json;
}

async function sinkOf(answer: (count: number) => number): Promise<{ url: string; seen: Seen[] }> {
  const seen: Seen[] = [];
  const sink = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      seen.push({ headers: request.headers, body: JSON.parse(body) });
      response.writeHead(answer(seen.length)).end();
    });
  });
  sinks.push(sink);
  return { url: sink.url, seen };
}

async function call(url: string, to: string, headers?: Json): Promise<Json> {
  const callback = { enabled: true, url: to, headers };
  const json = { tool_name: 'work', args: {}, async: true, callback };
  const answer = await fetch(`${url}/invoke`, { method: 'POST', body: JSON.stringify(json) });
  expect(answer.status).toBe(202);
  return answer.json();
}

describe('a server that was killed', () => {
  it('sends what had not arrived, with the same id', async () => {
    let isUp = false;
    const { url: to, seen } = await sinkOf(() => (isUp ? 200 : 503));
    const { store } = makeStore();
    const first = await startServer({ store });
    const { request_id: id } = await call(first.url, to);
    await until(() => seen.length > 0, 'the first try');
    await first.child.kill();
    isUp = true;
    const before = seen.length;
    await startServer({ store });
    await until(() => seen.length > before, 'a try of the next process');
    expect(new Set(seen.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(seen.at(-1)?.body).toMatchObject({ request_id: id, ok: true, result: 'worked' });
  });

  it('keeps the headers of a callback encrypted until then, and still sends them', async () => {
    let isUp = false;
    const { url: to, seen } = await sinkOf(() => (isUp ? 200 : 503));
    const { store } = makeStore();
    const first = await startServer({ store });
    await call(first.url, to, { Authorization: 'Bearer planted-secret' });
    await until(() => seen.length > 0, 'the first try');
    await first.child.kill();
    const folder = dirname(store);
    const names = readdirSync(folder).filter((name) => statSync(join(folder, name)).isFile());
    expect(names).toContain('runs.db.callback-key');
    expect(statSync(`${store}.callback-key`).mode & 0o777).toBe(0o600);
    for (const name of names) {
      const bytes = readFileSync(join(folder, name), 'latin1');
      expect({ name, isPlain: bytes.includes('planted-secret') }).toEqual({ name, isPlain: false });
    }
    isUp = true;
    const before = seen.length;
    await startServer({ store });
    await until(() => seen.length > before, 'a try of the next process');
    const sent = seen.map(({ headers }) => headers['authorization'] as string);
    expect(new Set(sent)).toEqual(new Set(['Bearer planted-secret']));
  });

  it('gives a callback up whose key was lost, and names the reason', async () => {
    const { url: to, seen } = await sinkOf(() => 503);
    const { store } = makeStore();
    const first = await startServer({ store });
    await call(first.url, to, { Authorization: 'Bearer planted-secret' });
    await until(() => seen.length > 0, 'the first try');
    await first.child.kill();
    rmSync(`${store}.callback-key`);
    const before = seen.length;
    const child = startChild({ store }, 'api-child');
    let errors = '';
    child.process.stderr?.on('data', (text: string) => (errors += text));
    await child.until((line) => 'port' in line);
    await until(() => errors.includes('cannot be decrypted'), 'a warning');
    expect(seen.length).toBe(before);
  });

  it('reports a call that was cut as interrupted', async () => {
    const { url: to, seen } = await sinkOf(() => 200);
    const { store } = makeStore();
    const first = await startServer({ store, hangs: true });
    const { request_id: id } = await call(first.url, to);
    await first.child.kill();
    expect(seen).toEqual([]);
    const second = await startServer({ store });
    await until(() => seen.length > 0, 'the report');
    expect(seen[0]?.body).toMatchObject({
      ...{ request_id: id, tool_name: 'work', ok: false, result: null, error: 'interrupted' },
    });
    const read = await fetch(`${second.url}/invocations/${id}`);
    expect(await read.json()).toMatchObject({ status: 'error', error: 'interrupted' });
  });
});
