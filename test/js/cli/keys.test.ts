// millrace keys, and servers that take the keys of its file without a restart.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { createRuntime } from 'millrace';

import { bareEnvironment } from '../../support/environment';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const children: ReturnType<typeof spawn>[] = [];
let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-keys-'));
  file = join(folder, 'keys.json');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

function millrace(...args: string[]): { code: number | null; out: string; err: string } {
  const done = spawnSync(process.execPath, [cli, 'keys', ...args], {
    ...{ encoding: 'utf8', cwd: folder, env: { ...bareEnvironment } },
  });
  return { code: done.status, out: done.stdout, err: done.stderr };
}

interface Created {
  id: string;
  key: string;
  [member: string]: unknown;
}

function create(...args: string[]): Created {
  const { code, out, err } = millrace('create', ...args, '--keys', file, '--json');
  if (code !== 0) throw new Error(out + err);
  return JSON.parse(out) as Created;
}

async function eventually(status: number, ask: () => Promise<Response>): Promise<Response> {
  for (;;) {
    const response = await ask();
    if (response.status === status) return response;
    await response.text();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('millrace keys', () => {
  it('shows a key once and keeps its hash alone', () => {
    const { code, out, err } = millrace('create', 'app', '--keys', file);
    expect(code).toBe(0);
    const key = out.trim();
    expect(key).toMatch(/^mr_[\w-]{32}$/);
    expect(err).toContain(file);
    expect(readFileSync(file, 'utf8')).not.toContain(key);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(millrace('list', '--keys', file).out).not.toContain(key);
  });

  it('lists what keys may do', () => {
    const limits = ['--per-minute', '60', '--per-day', '1000', '--expires', '2'];
    create('app', '--scope', 'read', '--scope', 'chat', '--principal', 'ada', ...limits);
    create('all');
    const { keys } = JSON.parse(millrace('list', '--keys', file, '--json').out) as {
      keys: object[];
    };
    expect(keys).toMatchObject([
      {
        ...{ name: 'app', principal: 'ada', scopes: ['read', 'chat'] },
        limits: { perMinute: 60, perDay: 1000 },
      },
      { name: 'all', principal: 'local' },
    ]);
    expect(JSON.stringify(keys)).not.toContain('sha256');
    expect(millrace('list', '--keys', file).out).toMatch(/app +ada +read,chat +60 +1000 +\d{4}-/);
  });

  it.each([
    [['create', 'a', '--scope', 'everything']],
    [['create', 'a', 'b']],
    [['create', 'a', '--per-minute', '0']],
    [['create', 'a', '--expires', 'soon']],
    [['create', 'a', '--principal', '']],
    [['revoke', 'nobody']],
    [['revoke']],
    [['list', 'all']],
    [['rotate']],
    [[]],
  ])('takes no %j', (args) => {
    expect(millrace(...args, '--keys', file).code).toBe(2);
    expect(existsSync(file)).toBe(false);
  });

  it('leaves a file alone that it did not write, and names that are taken', () => {
    writeFileSync(file, 'mine');
    expect(millrace('create', 'a', '--keys', file).code).toBe(2);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    rmSync(file);
    create('a');
    expect(millrace('create', 'a', '--keys', file).err).toMatch(/a key called 'a'/);
  });
});

describe('a runtime with a file of keys', () => {
  it('takes keys that come, and no more those that are revoked', async () => {
    const runtime = createRuntime({ storage: 'memory', api: { keysFile: file } });
    const server = await runtime.listen({ port: 0 });
    const url = `http://127.0.0.1:${server.port}/api/v1/chat/jobs/active`;
    const ask = (key?: string): Promise<Response> =>
      fetch(url, key === undefined ? {} : { headers: { 'X-Millrace-API-Key': key } });
    // No file: for this machine alone.
    expect((await ask()).status).toBe(200);
    const { key, id } = create('app');
    await eventually(401, () => ask());
    expect((await ask(key)).status).toBe(200);
    const other = create('reader', '--scope', 'chat');
    await eventually(403, () => ask(other.key));
    expect(millrace('revoke', id, '--keys', file).code).toBe(0);
    await eventually(401, () => ask(key));
    expect(millrace('revoke', 'reader', '--keys', file).code).toBe(0);
    await eventually(401, () => ask(other.key));
    // Nor does the end of the file let anybody in.
    rmSync(file);
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await ask()).status).toBe(401);
    await server.close();
    await runtime.close();
  });

  it('lets nobody in while the file cannot be read', async () => {
    writeFileSync(file, '{"keys":');
    const runtime = createRuntime({ storage: 'memory', api: { keysFile: file } });
    const server = await runtime.listen({ port: 0 });
    const url = `http://127.0.0.1:${server.port}/api/v1/chat/jobs/active`;
    expect((await fetch(url)).status).toBe(401);
    rmSync(file);
    const { key } = create('app');
    await eventually(200, () => fetch(url, { headers: { 'X-Millrace-API-Key': key } }));
    await server.close();
    await runtime.close();
  });

  it('stops a key at its limit', async () => {
    const { key } = create('app', '--per-minute', '3');
    const { key: other } = create('other', '--per-day', '1');
    const runtime = createRuntime({ storage: 'memory', api: { keysFile: file } });
    const ask = (given: string, init: RequestInit = {}): Promise<Response> =>
      runtime.fetch(
        new Request('http://localhost/api/v1/memory', {
          ...{ headers: { 'X-Millrace-API-Key': given }, ...init },
        }),
      );
    const post = { method: 'POST', body: JSON.stringify({ fact: 'x'.repeat(100_000) }) };
    // A look ahead does not count.
    expect((await ask(key, post)).status).not.toBe(429);
    expect([(await ask(key)).status, (await ask(key)).status]).toEqual([200, 200]);
    for (const init of [{}, post]) {
      const response = await ask(key, init);
      expect(response.status).toBe(429);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(20);
      expect(await response.json()).toEqual({ error: 'The limit of the key is reached' });
    }
    expect((await ask(other)).status).toBe(200);
    const response = await ask(other);
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
    await runtime.close();
  });
});

describe('millrace serve', () => {
  async function serve(args: string[]): Promise<string> {
    const child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json', ...args], {
      ...{ cwd: folder, env: { ...bareEnvironment } },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    return (JSON.parse(line) as { url: string }).url;
  }

  it('takes the keys beside its store, and writes an access log', async () => {
    const storage = `file:${join(folder, 'store.db')}`;
    const log = join(folder, 'access.log');
    const url = await serve(['--storage', storage, '--access-log', log]);
    expect((await fetch(`${url}/api/v1/chat/jobs/active`)).status).toBe(200);
    const { out } = millrace('create', 'app', '--storage', storage, '--json');
    const { key } = JSON.parse(out) as Created;
    const response = await eventually(401, () => fetch(`${url}/api/v1/chat/jobs/active`));
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
    const headers = { 'X-Millrace-API-Key': key, 'X-Request-ID': 'last-one' };
    expect((await fetch(`${url}/api/v1/chat/jobs/active`, { headers })).status).toBe(200);
    const agent = await fetch(`${url}/agent/runs`, { headers: { authorization: `Bearer ${key}` } });
    expect(agent.status).toBe(200);
    const lines = (): { id: string; key?: string }[] =>
      readFileSync(log, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((text) => JSON.parse(text) as never);
    while (!lines().some(({ id }) => id === 'last-one')) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(lines().find(({ id }) => id === 'last-one')).toMatchObject({ key: 'app', status: 200 });
    expect(readFileSync(log, 'utf8')).not.toContain(key);
  });

  it('keeps the key that it made valid beside those that follow, until its file is removed', async () => {
    const storage = `file:${join(folder, 'store.db')}`;
    const args = ['--storage', storage, '--host', '0.0.0.0'];
    const first = await serve(args);
    const made = readFileSync(join(folder, 'store.db.key'), 'utf8').trim();
    const { out, err } = millrace('create', 'app', '--storage', storage);
    expect(err).toContain(`remove ${join(folder, 'store.db.key')} to revoke it`);
    const ask = (url: string, key: string): Promise<Response> =>
      fetch(`${url}/agent/runs`, { headers: { authorization: `Bearer ${key}` } });
    await eventually(200, () => ask(first, out.trim()));
    // Longer than a server takes to read a change.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect((await ask(first, made)).status).toBe(200);
    const [child] = children.splice(0);
    child?.kill();
    await once(child as NonNullable<typeof child>, 'exit');
    const second = await serve(args);
    expect((await ask(second, made)).status).toBe(200);
    expect((await ask(second, out.trim())).status).toBe(200);
    rmSync(join(folder, 'store.db.key'));
    await eventually(401, () => ask(second, made));
    expect((await ask(second, out.trim())).status).toBe(200);
  });

  it('says what to do where the file of the key that it made is empty', () => {
    const made = join(folder, 'store.db.key');
    writeFileSync(made, '\n');
    const args = ['--storage', `file:${join(folder, 'store.db')}`, '--host', '0.0.0.0'];
    const done = spawnSync(process.execPath, [cli, 'config', 'check', ...args], {
      ...{ encoding: 'utf8', cwd: folder, env: { ...bareEnvironment } },
    });
    expect(done.status).toBe(2);
    expect(done.stderr).toContain(
      `The file of the key that the server made: ${made} has no key. Remove it to have another key made.`,
    );
  });

  it('has its own routes follow the scopes of keys', async () => {
    const storage = `file:${join(folder, 'store.db')}`;
    const scopes = ['read', 'chat', 'tools', 'approve'];
    const keys = new Map(scopes.map((scope) => [scope, create(scope, '--scope', scope).key]));
    const url = await serve(['--storage', storage, '--keys', file]);
    const routes: [string, string, string, object?][] = [
      ['POST', '/webapi/chat/demo', 'chat', { messages: [] }],
      ['POST', '/agent', 'chat', { messages: [] }],
      ['GET', '/agent/capabilities', 'read'],
      ['GET', '/agent/runs', 'read'],
      ['GET', '/agent/runs/x', 'read'],
      ['DELETE', '/agent/runs/x', 'chat'],
      ['POST', '/agent/runs/x/messages', 'chat', { text: 'more' }],
      ['POST', '/agent/runs/x/approvals/y', 'approve', { approved: true }],
    ];
    for (const [method, path, wanted, json] of routes) {
      const ask = (headers: Record<string, string>): Promise<Response> =>
        fetch(url + path, { method, headers, ...(json && { body: JSON.stringify(json) }) });
      expect(`${method} ${path} ${(await ask({})).status}`).toBe(`${method} ${path} 401`);
      for (const [scope, key] of keys) {
        const name = `${method} ${path} with ${scope}`;
        const response = await ask({ authorization: `Bearer ${key}` });
        const text = await response.text();
        if (scope === wanted) expect(`${name}: ${response.status}`).not.toMatch(/: 40[135]$/);
        else {
          expect(`${name}: ${response.status}`).toBe(`${name}: 403`);
          expect(text).toContain(`'${wanted}'`);
        }
      }
    }
    // An answer to an approval is one wherever it is given.
    const resume = [{ interruptId: 'x', status: 'resolved', payload: { approved: true } }];
    const approving = await fetch(`${url}/agent`, {
      ...{ method: 'POST', body: JSON.stringify({ threadId: 't', messages: [], resume }) },
      headers: { authorization: `Bearer ${keys.get('chat')}` },
    });
    expect(approving.status).toBe(403);
    expect(await approving.json()).toMatchObject({ error: { code: 'not_authorized' } });
  });

  it('gives errors of the agent the id of the request', async () => {
    const url = await serve([]);
    const answer = await fetch(`${url}/agent`, {
      ...{ method: 'POST', body: '{', headers: { 'X-Request-ID': 'mine' } },
    });
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ error: { requestId: 'mine' } });
  });
});
