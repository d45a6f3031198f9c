// Sessions of pages, on both hosts: a cookie in place of a key, and nothing for other pages.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createRuntime, type Runtime } from 'millrace';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
let folder: string;
let keysFile: string;
const open: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-sessions-'));
  keysFile = join(folder, 'chat.keys');
});
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

function keys(args: string[], input = ''): { key: string } {
  const all = ['keys', ...args, '--keys', keysFile, '--json'];
  const done = spawnSync(process.execPath, [cli, ...all], { encoding: 'utf8', input, cwd: folder });
  if (done.status !== 0) throw new Error(done.stdout + done.stderr);
  return JSON.parse(done.stdout) as { key: string };
}

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

function runtimeOf(storage: 'memory' | `file:${string}` = 'memory'): Runtime {
  const runtime = createRuntime({ storage, api: { keysFile } });
  runtime.agent('agent', async ({ text }) => Promise.resolve(text));
  open.push(() => runtime.close());
  return runtime;
}

const hosts: Record<string, (runtime: Runtime) => Promise<{ ask: Ask; origin: string }>> = {
  listen: async (runtime) => {
    const server = await runtime.listen({ port: 0 });
    open.push(() => server.close());
    const origin = `http://127.0.0.1:${server.port}`;
    return { origin, ask: (path, init) => fetch(origin + path, init) };
  },
  fetch: (runtime) => {
    const origin = 'http://chat.example';
    const ask: Ask = (path, init) =>
      runtime.fetch(new Request(origin + path, init), { remoteAddress: '203.0.113.5' });
    return Promise.resolve({ origin, ask });
  },
};

async function logIn(
  ask: Ask,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> {
  return ask('/api/v1/session', {
    ...{ method: 'POST', body: JSON.stringify(body) },
    headers: { 'content-type': 'application/json', ...headers },
  });
}

function cookieOf(response: Response): string {
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

async function statusOf(sent: Promise<Response>): Promise<number> {
  const response = await sent;
  await response.text();
  return response.status;
}

const history = '/api/v1/chat/history';
const conversations = '/api/v1/chat/conversations';

describe.each(Object.entries(hosts))('a session (%s)', (_name, host) => {
  it('begins with a key, has its rights and ends with a logout', async () => {
    const { key } = keys(['create', 'app', '--principal', 'ada', '--scope', 'read']);
    const { ask, origin } = await host(runtimeOf());
    expect(await statusOf(ask(history))).toBe(401);
    const begun = await logIn(ask, { key }, { origin });
    expect(begun.status).toBe(200);
    expect(await begun.json()).toMatchObject({ principal: 'ada', scopes: ['read'], key: 'app' });
    const set = begun.headers.get('set-cookie') ?? '';
    expect(set).toMatch(/^millrace_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
    expect(set).not.toContain(key);
    const cookie = cookieOf(begun);
    expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(200);
    expect(await statusOf(ask('/api/v1/tools', { headers: { cookie } }))).toBe(403);
    const shown = await ask('/api/v1/session', { headers: { cookie } });
    expect(await shown.json()).toMatchObject({
      ...{ required: true, active: true, principal: 'ada', scopes: ['read'] },
    });
    const ended = await ask('/api/v1/session', { method: 'DELETE', headers: { cookie, origin } });
    expect(ended.headers.get('set-cookie')).toContain('Max-Age=0');
    expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(401);
  });

  it('counts on a page of this server alone', async () => {
    const { key } = keys(['create', 'app']);
    const { ask, origin } = await host(runtimeOf());
    const cookie = cookieOf(await logIn(ask, { key }, { origin }));
    const change = (headers: Record<string, string>): Promise<number> =>
      statusOf(
        ask(conversations, {
          ...{ method: 'POST', body: '{}' },
          headers: { cookie, 'content-type': 'application/json', ...headers },
        }),
      );
    expect(await change({ origin })).toBe(201);
    expect(await change({ 'sec-fetch-site': 'same-origin' })).toBe(201);
    for (const foreign of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:1' },
      { origin, 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'none' },
    ]) {
      expect({ foreign, status: await change(foreign) }).toEqual({ foreign, status: 403 });
    }
    // Pages of other ports are of the same site: the browser sends them the cookie, too.
    const read = (headers: Record<string, string>): Promise<number> =>
      statusOf(ask(history, { headers: { cookie, ...headers } }));
    expect(await read({ origin: 'http://localhost:1' })).toBe(403);
    expect(await read({ 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await read({})).toBe(200);
    const headers = { origin: 'https://evil.example' };
    expect((await logIn(ask, { key }, headers)).status).toBe(403);
  });

  it('dies with its key', async () => {
    const { key } = keys(['create', 'app']);
    keys(['create', 'other']);
    const { ask, origin } = await host(runtimeOf());
    const cookie = cookieOf(await logIn(ask, { key }, { origin }));
    expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(200);
    keys(['revoke', 'app']);
    while ((await statusOf(ask(history, { headers: { cookie } }))) !== 401) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });

  it('that began with a password ends with it', async () => {
    const { key } = keys(['create', 'ada']);
    keys(['password', 'ada'], 'a good password\n');
    const { ask, origin } = await host(runtimeOf());
    const old = cookieOf(await logIn(ask, { user: 'ada', password: 'a good password' }));
    const shown = cookieOf(await logIn(ask, { user: 'ada', password: 'a good password' }));
    const byKey = cookieOf(await logIn(ask, { key }, { origin }));
    const statusWith = (cookie: string): Promise<number> =>
      statusOf(ask(history, { headers: { cookie } }));
    expect([await statusWith(old), await statusWith(byKey)]).toEqual([200, 200]);
    keys(['password', 'ada'], 'another password\n');
    while ((await statusWith(old)) !== 401) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const session = await ask('/api/v1/session', { headers: { cookie: shown } });
    expect(await session.json()).toEqual({ required: true, active: false });
    expect(await statusWith(shown)).toBe(401);
    expect(await statusWith(byKey)).toBe(200);
    const fresh = await logIn(ask, { user: 'ada', password: 'another password' });
    expect(await statusWith(cookieOf(fresh))).toBe(200);
  });

  it('begins with the name and the password of a key', async () => {
    keys(['create', 'ada']);
    keys(['create', 'bare']);
    keys(['password', 'ada'], 'a good password\n');
    expect(readFileSync(keysFile, 'utf8')).not.toContain('a good password');
    const { ask, origin } = await host(runtimeOf());
    const begun = await logIn(ask, { user: 'ada', password: 'a good password' }, { origin });
    expect(begun.status).toBe(200);
    expect(await statusOf(ask(history, { headers: { cookie: cookieOf(begun) } }))).toBe(200);
    for (const wrong of [
      { user: 'ada', password: 'another password' },
      { user: 'bare', password: '' },
      { user: 'nobody', password: 'a good password' },
      { key: 'a good password' },
    ]) {
      expect((await logIn(ask, wrong)).status).toBe(401);
    }
    for (const none of [
      {},
      { user: 'ada' },
      { key: 1 },
      { key: 'a', user: 'ada', password: 'b' },
    ]) {
      expect((await logIn(ask, none)).status).toBe(400);
    }
  });

  it('limits attempts of an address as wrong keys, and right ones count for nothing', async () => {
    const { key } = keys(['create', 'app']);
    const { ask } = await host(runtimeOf());
    for (let count = 0; count < 40; count += 1)
      expect((await logIn(ask, { key })).status).toBe(200);
    const statuses: number[] = [];
    for (let count = 0; count < 31; count += 1) {
      statuses.push((await logIn(ask, { key: 'wrong' })).status);
    }
    expect(statuses.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 401));
    expect(statuses[30]).toBe(429);
    expect((await logIn(ask, { key })).status).toBe(429);
    expect(await statusOf(ask(history, { headers: { 'x-millrace-api-key': key } }))).toBe(429);
  });

  it('has a secure cookie on pages with TLS', async () => {
    const { key } = keys(['create', 'app']);
    const { ask } = await host(runtimeOf());
    const headers = { 'sec-fetch-site': 'same-origin', origin: 'https://chat.example' };
    const begun = await logIn(ask, { key }, headers);
    expect(begun.headers.get('set-cookie')).toMatch(/; Secure$/);
  });

  it('takes no token that it did not give', async () => {
    keys(['create', 'app']);
    const { ask } = await host(runtimeOf());
    for (const cookie of [
      'millrace_session=',
      'millrace_session=x',
      'a=b; millrace_session=""',
      ';;',
    ]) {
      expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(401);
    }
  });
});

describe('logins without an address', () => {
  const askOf = (runtime: Runtime): Ask => {
    return (path, init) => runtime.fetch(new Request(`http://chat.example${path}`, init));
  };

  it('are counted for their user', async () => {
    const { key } = keys(['create', 'ada']);
    keys(['create', 'bob']);
    keys(['password', 'ada'], 'a good password\n');
    keys(['password', 'bob'], 'another password\n');
    const ask = askOf(runtimeOf());
    const logInAs = async (user: string, password: string): Promise<number> =>
      (await logIn(ask, { user, password })).status;
    expect(await logInAs('ada', 'a good password')).toBe(200);
    const statuses: number[] = [];
    for (let count = 0; count < 31; count += 1) statuses.push(await logInAs('ada', 'wrong'));
    expect(statuses).toEqual([...Array.from({ length: 30 }, () => 401), 429]);
    expect(await logInAs('ada', 'a good password')).toBe(429);
    expect(await logInAs('bob', 'another password')).toBe(200);
    expect((await logIn(ask, { key })).status).toBe(200);
  }, 60_000);

  it('check two passwords at a time', async () => {
    keys(['create', 'ada']);
    const ask = askOf(runtimeOf());
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        const response = await logIn(ask, { user: `user ${at}`, password: 'wrong' });
        return [response.status, await response.json()] as const;
      }),
    );
    const tooMany = answers.filter(([status]) => status === 429);
    expect(answers.filter(([status]) => status === 401).length).toBe(20 - tooMany.length);
    expect(tooMany[0]).toEqual([429, { error: 'Too many logins at once' }]);
    expect((await logIn(ask, { user: 'later', password: 'wrong' })).status).toBe(401);
  }, 60_000);
});

describe('a session in a store', () => {
  it('outlives a restart, as a hash', async () => {
    const { key } = keys(['create', 'app']);
    const storage = `file:${join(folder, 'chat.db')}` as const;
    const first = runtimeOf(storage);
    const begun = await hosts['fetch']?.(first);
    const cookie = cookieOf(await logIn(begun?.ask as Ask, { key }));
    await first.close();
    open.pop();
    expect(readFileSync(join(folder, 'chat.db.sessions'), 'utf8')).not.toContain(
      cookie.slice('millrace_session='.length),
    );
    const { ask } = (await hosts['fetch']?.(runtimeOf(storage))) as { ask: Ask };
    expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(200);
  });

  it('ends with its password, also when the process began anew', async () => {
    keys(['create', 'ada']);
    keys(['password', 'ada'], 'a good password\n');
    const storage = `file:${join(folder, 'chat.db')}` as const;
    const first = runtimeOf(storage);
    const begun = (await hosts['fetch']?.(first)) as { ask: Ask };
    const cookie = cookieOf(await logIn(begun.ask, { user: 'ada', password: 'a good password' }));
    expect(await statusOf(begun.ask(history, { headers: { cookie } }))).toBe(200);
    await first.close();
    open.pop();
    keys(['password', 'ada'], 'another password\n');
    const { ask } = (await hosts['fetch']?.(runtimeOf(storage))) as { ask: Ask };
    expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(401);
  });

  it('is over at its time', async () => {
    const { key } = keys(['create', 'app']);
    const storage = `file:${join(folder, 'chat.db')}` as const;
    const first = runtimeOf(storage);
    const begun = (await hosts['fetch']?.(first)) as { ask: Ask };
    const cookie = cookieOf(await logIn(begun.ask, { key }));
    await first.close();
    open.pop();
    const file = join(folder, 'chat.db.sessions');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/"endsAt":\d+/, `"endsAt":${Date.now() - 1}`));
    const { ask } = (await hosts['fetch']?.(runtimeOf(storage))) as { ask: Ask };
    expect(await statusOf(ask(history, { headers: { cookie } }))).toBe(401);
  });
});

describe('without keys', () => {
  it('there is nothing to log in to', async () => {
    const runtime = createRuntime({ storage: 'memory' });
    open.push(() => runtime.close());
    const { ask, origin } = (await hosts['listen']?.(runtime)) as { ask: Ask; origin: string };
    expect(await (await ask('/api/v1/session')).json()).toEqual({ required: false, active: false });
    expect((await logIn(ask, { key: 'x' }, { origin })).status).toBe(400);
  });
});
