// Who may use the routes of a runtime: keys, scopes, pages of other origins, and what refusals say.
import { createHash } from 'node:crypto';

import { createRuntime } from 'millrace';

import { cleanUp, hosts, type Api, type ApiSetUp, type Json, key, serve, withKey } from './kit';

afterEach(cleanUp);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const methods = ['get', 'post', 'patch', 'delete'] as const;

/** Every operation of the document, with names in place of its parameters. */
async function operationsOf(api: Api): Promise<{ method: string; path: string; scope: string }[]> {
  const document: Json = await (await api.send('/openapi.json')).json();
  return Object.entries<Json>(document.paths).flatMap(([path, operations]) =>
    methods
      .filter((method) => operations[method])
      .map((method) => ({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{[^}]*\}/g, 'unknown'),
        scope: (operations[method]['x-scope'] as string | undefined) ?? '',
      })),
  );
}

/** Why a request was refused. */
async function refusalIn(path: string, response: Response): Promise<unknown> {
  const body: Json = await response.json();
  if (path.startsWith('/agent')) return { error: body.error.message.replace(/\.$/, '') };
  if (!path.startsWith('/trpc/')) return body;
  const { message, data } = body.error.json;
  expect(data.httpStatus).toBe(response.status);
  return { error: message.replace(/\.$/, '') };
}

describe.each(hosts)('keys of the routes (%s)', (host) => {
  const serveHere = (setUp: ApiSetUp = {}) =>
    serve(host, { ...setUp, api: { keys: [{ key }], ...setUp.api } });

  it('are wanted by every route but the open ones', async () => {
    const session = '/api/v1/session';
    const sessionStatus: Record<string, number> = { GET: 200, POST: 400, DELETE: 403 };
    const api = await serveHere();
    const operations = await operationsOf(api);
    expect(operations.length).toBeGreaterThan(40);
    for (const { method, path, scope } of operations) {
      const response = await api.send(path, { method });
      if (scope === '') {
        // Logging in needs a body, logging out a page.
        const status = path === session ? sessionStatus[method] : 200;
        expect(`${method} ${path} ${response.status}`).toBe(`${method} ${path} ${status}`);
        continue;
      }
      expect(`${path} ${response.status}`).toBe(`${path} 401`);
      const isApi = !/^\/(trpc|agent)/.test(path);
      const error = isApi ? 'Unauthorized' : 'The request has no valid key';
      expect(await refusalIn(path, response)).toEqual({ error });
    }
    const open = operations.filter(({ scope }) => scope === '').map(({ path }) => path);
    const others = ['/health', '/livez', '/openapi.json', '/readyz'];
    expect(open.sort()).toEqual([session, session, session, ...others]);
  });

  it('have the scopes that each route wants', async () => {
    const scopes = ['read', 'chat', 'tools', 'approve'];
    const keys = scopes.map((scope) => ({ key: `key-${scope}`, scopes: [scope] }));
    const api = await serveHere({ api: { keys, tools: { enabled: true } } });
    const operations = (await operationsOf(api)).filter(({ scope }) => scope !== '');
    expect(new Set(operations.map(({ scope }) => scope))).toEqual(new Set(scopes));
    for (const { method, path, scope } of operations) {
      for (const held of scopes) {
        const headers = { 'X-Millrace-API-Key': `key-${held}` };
        const response = await api.send(path, { method, headers });
        const name = `${method} ${path} with ${held}`;
        if (held === scope) {
          expect(`${name}: ${response.status}`).not.toMatch(/: 40[135]$/);
          await response.text();
        } else {
          expect(`${name}: ${response.status}`).toBe(`${name}: 403`);
          expect(await refusalIn(path, response)).toEqual({
            error: `The key does not have the scope '${scope}'`,
          });
        }
      }
    }
  });

  it.each([
    ['X-Undefined-API-Key', key, 200],
    ['x-undefined-api-key', key, 200],
    ['X-Millrace-API-Key', key, 200],
    ['X-Millrace-API-Key', '', 401],
    ['X-Millrace-API-Key', `${key} x`, 401],
    ['X-Millrace-API-Key', key.slice(1), 401],
    ['X-Millrace-API-Key', 'K'.repeat(10_000), 401],
    ['Authorization', `Bearer ${key}`, 401],
  ])('are read from %s (%#)', async (name, value, status) => {
    const api = await serveHere();
    const response = await api.send('/api/v1/chat/jobs/active', { headers: { [name]: value } });
    expect(response.status).toBe(status);
    const inQuery = await api.send(`/api/v1/chat/jobs/active?key=${key}&auth_key=${key}`);
    expect(inQuery.status).toBe(401);
  });

  it('may be given as their hash', async () => {
    const api = await serveHere({ api: { keys: [{ sha256: sha256(key), name: 'hashed' }] } });
    await api.json('/api/v1/chat/jobs/active', 200, { headers: withKey });
    const rejected = await api.send('/api/v1/chat/jobs/active', {
      headers: { 'X-Millrace-API-Key': sha256(key) },
    });
    expect(rejected.status).toBe(401);
  });

  it('are no keys where something about them is wrong', () => {
    const wrong = [
      ...[{ key: '' }, { key, scope: ['read'] }, { key, scopes: [] }, { key, scopes: 'read' }],
      ...[{ key, scopes: ['read', 'raed'] }],
      ...[{ key, expiresAt: '2026-12-01' }, { key, principal: '' }, { sha256: 'abc' }],
    ];
    for (const one of wrong) {
      const runtime = createRuntime({ storage: 'memory', api: { keys: [one as never] } });
      expect(() => runtime.job('x', () => Promise.resolve(1))).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });

  it('come before routing, and unknown routes and methods answer in plain text', async () => {
    const api = await serveHere();
    for (const path of ['/api/v1/nothing', '/api/', '/api/v1/chat/jobs/x/events/y']) {
      expect((await api.send(path)).status).toBe(401);
      const response = await api.send(path, { headers: withKey });
      expect(response.status).toBe(404);
      expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
      expect(await response.text()).toBe('404: Not Found');
    }
    const wrong = await api.send('/api/v1/chat/history', { method: 'PATCH', headers: withKey });
    expect(wrong.status).toBe(405);
    expect(await wrong.text()).toBe('405: Method Not Allowed');
    expect(wrong.headers.get('allow')?.split(', ').sort()).toEqual(
      ['DELETE', 'GET', 'HEAD', 'OPTIONS'].sort(),
    );
  });

  it('lock an address out that guesses, where it is known', async () => {
    const api = await serveHere();
    const statuses = new Set<number>();
    for (let guess = 0; guess < 40; ++guess) {
      const headers = { 'X-Millrace-API-Key': `guess ${guess}` };
      statuses.add((await api.send('/api/v1/chat/jobs/active', { headers })).status);
    }
    if (host === 'fetch') {
      expect([...statuses]).toEqual([401]);
      await api.json('/api/v1/chat/jobs/active', 200, { headers: withKey });
      return;
    }
    expect([...statuses]).toEqual([401, 429]);
    const late = await api.send('/api/v1/chat/jobs/active', {
      headers: { 'X-Millrace-API-Key': 'another guess' },
    });
    expect(late.headers.get('retry-after')).toBe('60');
    expect((await api.send('/health')).status).toBe(200);
  });

  it('end in time, and at their limits', async () => {
    const keys = [
      { key: 'old', expiresAt: Date.now() - 1 },
      { key: 'young', expiresAt: Date.now() + 1e9 },
      { key: 'busy', limits: { perMinute: 2, perDay: 100 } },
    ];
    const api = await serveHere({ api: { keys } });
    const statusWith = async (given: string): Promise<number> => {
      const headers = { 'X-Millrace-API-Key': given };
      return (await api.send('/api/v1/chat/jobs/active', { headers })).status;
    };
    expect([await statusWith('old'), await statusWith('young')]).toEqual([401, 200]);
    expect([await statusWith('busy'), await statusWith('busy')]).toEqual([200, 200]);
    expect(await statusWith('busy')).toBe(429);
    // The limit of one key is none of another.
    expect(await statusWith('young')).toBe(200);
  });

  it.each([
    [{ key: 'x', limits: { perMinute: 0 } }],
    [{ key: 'x', limits: { perHour: 1 } }],
    [{ key: 'x', limits: 7 }],
    [{ key: 'x', expiresAt: 'soon' }],
  ])('are rejected as %j', async (wrong) => {
    const made = serveHere({ api: { keys: [wrong as { key: string }] } });
    const opened = made.then((api) => api.send('/health'));
    await expect(opened).rejects.toMatchObject({ code: 'invalid_option' });
  });

  it('keep the data of principals apart', async () => {
    const keys = ['ada', 'bob'].map((name) => ({ key: `key-${name}`, principal: name }));
    const api = await serveHere({ api: { keys } });
    const as = (name: string) => ({ headers: { 'X-Millrace-API-Key': `key-${name}` } });
    const mine: Json = await api.json('/api/v1/chat/conversations', 201, {
      ...{ ...as('ada'), method: 'POST', json: { title: 'mine' } },
    });
    const id: string = mine.conversation.id;
    const job: Json = await api.json('/api/v1/chat/jobs', 202, {
      ...{ ...as('ada'), method: 'POST', json: { message: 'hello', conversation_id: id } },
    });
    const form = new FormData();
    form.append('file', new Blob(['secret']), 'a.txt');
    const sent = await api.send('/api/v1/chat/attachments', {
      ...{ ...as('ada'), method: 'POST', body: form },
    });
    const { attachment }: Json = await sent.json();
    const hidden: [string, string, object?][] = [
      ['GET', `/api/v1/chat/jobs/${job.job_id}`],
      ['GET', `/api/v1/chat/jobs/${job.job_id}/events`],
      ['POST', `/api/v1/chat/jobs/${job.job_id}/cancel`],
      ['GET', `/api/v1/chat/history?conversation_id=${id}`],
      ['DELETE', `/api/v1/chat/history?conversation_id=${id}`],
      ['PATCH', `/api/v1/chat/conversations/${id}`, { title: 'theirs' }],
      ['DELETE', `/api/v1/chat/conversations/${id}`],
      ['GET', `/api/v1/chat/attachments/${attachment.id}`],
      ['POST', '/api/v1/chat/jobs', { message: 'x', conversation_id: id }],
      ['POST', '/api/v1/chat/jobs', { message: { text: 'x', attachment_ids: [attachment.id] } }],
    ];
    for (const [method, path, json] of hidden) {
      const response = await api.send(path, { ...as('bob'), method, ...(json && { json }) });
      expect(`${method} ${path} ${response.status}`).toBe(`${method} ${path} 404`);
    }
    const theirs: Json = await api.json('/api/v1/chat/conversations', 200, as('bob'));
    expect(theirs.conversations).toEqual([]);
    const active: Json = await api.json('/api/v1/chat/jobs/active', 200, as('bob'));
    expect(active).toEqual({ job: null, jobs: [] });
  });
});

it('is always needed where a host passes requests on', async () => {
  const { runtime } = await serve('listen');
  const response = await runtime.fetch(new Request('http://localhost/api/v1/chat/history'));
  expect(response.status).toBe(401);
  expect(await response.json()).toMatchObject({ error: expect.stringContaining('api.keys') });
  expect((await runtime.fetch(new Request('http://localhost/health'))).status).toBe(200);
});

const allowed = ['http://localhost', 'https://localhost:9', 'http://127.8.9.1:3000'];
const trusted = [...allowed, 'http://[::1]:1', 'tauri://localhost', 'https://app.example'];
const foreign = [
  ...['https://evil.example', 'http://localhost.evil.example', 'http://127.0.0.1.evil.example'],
  ...['http://evil.example:80', 'null', 'https://app.example.evil', 'file://', 'http://[::1].evil'],
];

describe.each(hosts)('pages of other origins (%s)', (host) => {
  const api = { origins: ['https://app.example'] };

  it.each([[{}], [withKey]])('read what they are allowed to (%o)', async (headers) => {
    const keys = 'X-Millrace-API-Key' in headers ? { keys: [{ key }] } : {};
    const served = await serve(host, { api: { ...api, ...keys } });
    for (const origin of trusted) {
      const response = await served.send('/api/v1/chat/conversations', {
        headers: { ...headers, origin },
      });
      expect(`${origin} ${response.status}`).toBe(`${origin} 200`);
      expect(response.headers.get('access-control-allow-origin')).toBe(origin);
      expect(response.headers.get('access-control-allow-credentials')).toBe('true');
    }
    for (const origin of foreign) {
      const response = await served.send('/api/v1/chat/conversations', {
        headers: { ...headers, origin },
      });
      // A key is proof enough; without one, only this machine may ask.
      const status = 'keys' in keys || host === 'fetch' ? 200 : 403;
      expect(`${origin} ${response.status}`).toBe(`${origin} ${status}`);
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
    }
  });

  it('must not use what needs no key', async () => {
    const served = await serve('listen');
    const post = { method: 'POST', json: { message: 'x' } };
    const site = { 'sec-fetch-site': 'cross-site' };
    expect((await served.send('/api/v1/chat/jobs', { ...post, headers: site })).status).toBe(403);
    expect((await served.send('/health', { headers: site })).status).toBe(200);
    const same = { 'sec-fetch-site': 'same-origin' };
    expect((await served.send('/api/v1/chat/jobs', { ...post, headers: same })).status).toBe(202);
  });

  it('find the fields on every answer: preflights, errors and streams', async () => {
    const served = await serve(host, { api: { keys: [{ key }] } });
    const origin = 'http://localhost:5173';
    const fields = {
      'access-control-allow-origin': origin,
      'access-control-allow-credentials': 'true',
      'access-control-allow-methods': 'GET,POST,PATCH,DELETE,OPTIONS',
      'access-control-max-age': '86400',
      vary: 'Origin',
    };
    const answers = await Promise.all([
      served.send('/api/v1/chat/jobs', { method: 'OPTIONS', headers: { origin } }),
      served.send('/api/v1/chat/jobs/active', { headers: { origin } }),
      served.send('/api/v1/nothing', { headers: { origin, ...withKey } }),
      served.send('/health', { headers: { origin } }),
      served.send('/api/v1/chat', {
        ...{ method: 'POST', json: { message: 'x', stream: true } },
        headers: { origin, ...withKey },
      }),
      ...[{}, withKey].map((known) =>
        served.send('/api/v1/chat', {
          ...{ method: 'POST', body: '{}' },
          headers: { origin, ...known, 'content-encoding': 'gzip' },
        }),
      ),
      served.send('/api/v1/chat', {
        ...{ method: 'POST', body: 'a'.repeat(9 << 20), headers: { origin, ...withKey } },
      }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([
      ...[204, 401, 404, 200, 200],
      ...[401, 415, 413],
    ]);
    for (const answer of answers) {
      expect(answer.headers.get('x-request-id')).toMatch(/./);
      expect(Object.fromEntries(answer.headers)).toMatchObject(fields);
      expect(answer.headers.get('access-control-allow-headers')?.split(', ')).toEqual(
        expect.arrayContaining(['Authorization', 'Content-Type', 'X-Undefined-API-Key']),
      );
      await answer.text();
    }
  });
});
