// What each route answers to what it cannot do: status and body, the same on both hosts.
// Source: contract of the Runtime API of Undefined 3.12.0.
import {
  cleanUp,
  ended,
  hosts,
  key,
  serve,
  startJob,
  withKey,
  type Api,
  type Call,
  type Json,
} from './kit';

afterEach(cleanUp);

const unknownId = '0'.repeat(32);
const json = (value: unknown, method = 'POST'): Call => ({ method, json: value });
const raw = (body: string, method = 'POST'): Call => ({ method, body });

// [path, call, status, error]
const rows: [string, Call, number, string][] = [
  ['chat', raw('{'), 400, 'Invalid JSON'],
  ['chat', json({}), 400, 'message is required'],
  ['chat', json({ message: '  ' }), 400, 'message is required'],
  ['chat', json({ message: 'x', conversation_id: 'none' }), 404, 'Conversation not found'],
  ['chat/jobs', raw('{'), 400, 'Invalid JSON'],
  ['chat/jobs', json({ message: {} }), 400, 'message is required'],
  ['chat/jobs', json({ message: 'x', conversation_id: 'none' }), 404, 'Conversation not found'],
  [
    'chat/jobs',
    json({ message: { text: 'x', attachment_ids: [unknownId] } }),
    ...([404, 'Attachment not found'] as const),
  ],
  [
    'chat/jobs',
    json({
      message: { text: 'x', attachment_ids: [unknownId] },
      reuse_previous_user_message: true,
    }),
    ...([400, 'reuse_previous_user_message only supports text-only messages'] as const),
  ],
  [
    'chat/jobs',
    json({ message: 'x', reuse_previous_user_message: true }),
    ...([400, 'reuse_previous_user_message requires a matching last user message'] as const),
  ],
  [`chat/jobs/${unknownId}`, {}, 404, 'Job not found'],
  [`chat/jobs/${unknownId}/events`, {}, 404, 'Job not found'],
  [`chat/jobs/${unknownId}/cancel`, { method: 'POST' }, 404, 'Job not found'],
  [`chat/jobs/${unknownId}/actions/a`, json({}), 404, 'Job not found'],
  ['chat/jobs/junk', {}, 404, 'Job not found'],
  ['chat/conversations/none', json({ title: 'x' }, 'PATCH'), 404, 'Conversation not found'],
  ['chat/conversations/none', raw('{', 'PATCH'), 400, 'Invalid JSON'],
  ['chat/conversations/none', { method: 'DELETE' }, 404, 'Conversation not found'],
  ['chat/history?conversation_id=none', {}, 404, 'Conversation not found'],
  // An id is an exact key, and a blank is one.
  ['chat/history?conversation_id=%20', {}, 404, 'Conversation not found'],
  ['chat/history?conversation_id=none', { method: 'DELETE' }, 404, 'Conversation not found'],
  ['chat/attachments', json({}), 400, 'multipart request required'],
  [`chat/attachments/${unknownId}`, {}, 404, 'Attachment not found'],
  [`chat/attachments/${unknownId}/preview`, {}, 404, 'Attachment not found'],
  ['tools', {}, 403, 'Tool invoke API is disabled'],
  ['tools/invoke', json({ tool_name: 'x', args: {} }), 403, 'Tool invoke API is disabled'],
  [`tools/invocations/${unknownId}`, {}, 404, 'Invocation not found'],
  ['commands/none', {}, 404, 'Command not found'],
];

describe.each(hosts)('the errors of the Runtime API (%s)', (host) => {
  const keyed = (): Promise<Api> => serve(host, { api: { keys: [{ key }] } });
  const send = (api: Api, path: string, call: Call): Promise<Response> =>
    api.send(`/api/v1/${path}`, { ...call, headers: { ...withKey, ...call.headers } });

  it('are {"error"} with the status of the contract', async () => {
    const api = await keyed();
    const seen: unknown[] = [];
    for (const [path, call] of rows) {
      const response = await send(api, path, call);
      const type = response.headers.get('content-type') ?? '';
      const body = type.startsWith('application/json') ? await response.json() : type;
      seen.push([call.method ?? 'GET', path, response.status, body]);
    }
    expect(seen).toEqual(
      rows.map(([path, call, status, error]) => [call.method ?? 'GET', path, status, { error }]),
    );
  });

  it('have a code where a request would change what is sent to a provider', async () => {
    const api = await keyed();
    for (const path of ['chat', 'chat/jobs']) {
      const response = await send(api, path, json({ message: 'x', body: { store: true } }));
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: expect.stringContaining('`body`') as string, code: 'invalid_body' },
      ]);
    }
  });

  it('precede routing where the key is missing, and are plain text where the route is', async () => {
    const api = await keyed();
    for (const path of ['/api/v1/chat/history', '/api/v1/nothing', '/api/']) {
      const response = await api.send(path);
      expect([response.status, await response.json()]).toEqual([401, { error: 'Unauthorized' }]);
    }
    const unknown = await send(api, 'nothing', {});
    expect([unknown.status, await unknown.text()]).toEqual([404, '404: Not Found']);
    const verb = await send(api, 'chat/history', { method: 'PATCH' });
    expect([verb.status, await verb.text()]).toEqual([405, '405: Method Not Allowed']);
    const options = await api.send('/api/v1/chat', { method: 'OPTIONS' });
    expect([options.status, await options.text()]).toEqual([204, '']);
  });

  it('name a body that is no UTF-8, which is not changed', async () => {
    const api = await keyed();
    const body = Buffer.from('{"message":"caf\xe9","title":"caf\xe9"}', 'latin1');
    const made = [
      ['POST', 'chat'],
      ['POST', 'chat/jobs'],
      ['POST', 'chat/conversations'],
      ['POST', 'memory'],
    ] as const;
    for (const [method, path] of made) {
      const response = await send(api, path, { method, body: new Uint8Array(body) });
      expect([path, response.status, await response.json()]).toEqual([
        ...[path, 400],
        { error: 'Invalid JSON: the body is not valid UTF-8.', code: 'invalid_json' },
      ]);
    }
    const agent = await api.send('/agent', {
      ...{ method: 'POST', headers: withKey, body: new Uint8Array(body) },
    });
    const rejected = (await agent.json()) as { error: { code: string } };
    expect([agent.status, rejected.error.code]).toEqual([400, 'invalid_json']);
  });

  it('are for a target beyond its limit, too', async () => {
    const api = await serve(host, {});
    const get = (bytes: number) => api.send(`/health?${'x'.repeat(bytes - '/health?'.length)}`);
    expect((await get(8192)).status).toBe(200);
    const answer = await get(8193);
    const { error } = (await answer.json()) as Json;
    expect([answer.status, error.code, error.message]).toEqual([
      ...[414, 'target_too_long', 'The request target is longer than 8192 bytes.'],
    ]);
  });

  it('have no reason of a failure', async () => {
    jest.spyOn(console, 'error').mockReturnValue();
    const api = await serve(host, { agent: () => Promise.reject(new Error('planted secret')) });
    const answer = await api.send('/api/v1/chat', { method: 'POST', json: { message: 'x' } });
    expect([answer.status, await answer.text()]).toEqual([502, '{"error":"Chat failed"}']);
    jest.restoreAllMocks();
  });

  it('leave a job that is over as it is', async () => {
    jest.spyOn(console, 'error').mockReturnValue();
    const api = await serve(host, {
      agent: ({ text }) =>
        text === 'fail' ? Promise.reject(new Error('no')) : Promise.resolve('yes'),
    });
    for (const [message, status] of [
      ['go', 'done'],
      ['fail', 'error'],
    ]) {
      const { job_id: id } = await startJob(api, { message });
      const job = await ended(api, id);
      expect(job.status).toBe(status);
      const path = `/api/v1/chat/jobs/${id}/cancel`;
      expect(await api.json(path, 200, { method: 'POST' })).toEqual(job);
    }
    jest.restoreAllMocks();
  });
});
