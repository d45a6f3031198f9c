// Tools, callbacks and slash commands from outside, and the probes.
import { join } from 'node:path';

import { type CommandCall, createMCPClient, type HostTool, tool } from 'millrace';

import { bodyOf, loopback, type Loopback, until } from '../support/server';
import { cleanUp, hosts, type Api, type ApiSetUp, type Json, runJob, serve } from './kit';

const sinks: Loopback[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await cleanUp();
  await Promise.all(sinks.splice(0).map((sink) => sink.close()));
});

const cancelled: string[] = [];
const toolOf = (
  name: string,
  run: (input: Json, context: Json) => unknown = () => 'done',
): HostTool => ({ name, description: `The tool ${name}.`, run });

const tools = [
  toolOf('plain', (input) => input),
  tool({ name: 'set.one', run: () => 'done' }),
  toolOf('mcp.server.one'),
  toolOf('empty', () => undefined),
  toolOf('broken', () => {
    throw new Error('it broke');
  }),
  toolOf('context', (_input, { request }) => request as object),
  tool({
    name: 'strict',
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    run: ({ n }) => String(n),
  }),
  toolOf('slow', (_input, { signal }) => {
    (signal as AbortSignal).addEventListener('abort', () => cancelled.push('slow'));
    return new Promise(() => undefined);
  }),
];

type ToolOptions = NonNullable<NonNullable<ApiSetUp['api']>['tools']>;
const serveTools = (host: (typeof hosts)[number], options: ToolOptions = {}): Promise<Api> =>
  serve(host, {
    api: {
      tools: { enabled: true, callbackTimeoutMs: 1000, ...options },
      webhooks: { retryDelaysMs: [1] },
    },
    prepare: (runtime) => {
      runtime.tools(tools);
      runtime.agent('helper', ({ text }) => Promise.resolve(`helped: ${text}`), {
        description: 'Helps.',
      });
    },
  });

const invokePath = '/api/v1/tools/invoke';
const invoke = (api: Api, json: unknown, status = 200): Promise<Json> =>
  api.json(invokePath, status, { method: 'POST', json });

const plainNames = ['plain', 'empty', 'broken', 'context', 'strict', 'slow'];

describe.each(hosts)('tools from outside (%s)', (host) => {
  it('of an MCP client are of all alone', async () => {
    const args = [join(__dirname, '../fixtures/mcp-server.cjs')];
    const client = await createMCPClient({ name: 'local', command: process.execPath, args });
    try {
      const remote = await client.tools({ trusted: true });
      const listed = async (expose: NonNullable<ToolOptions['expose']>): Promise<string[]> => {
        const api = await serve(host, {
          api: { tools: { enabled: true, expose } },
          prepare: (runtime) => runtime.tools([...remote, toolOf('plain')]),
        });
        const { tools: exposed } = await api.json('/api/v1/tools', 200);
        return exposed.map((one: Json) => one.function.name);
      };
      expect(await listed('tools+toolsets')).toEqual(['plain']);
      expect(await listed('all')).toContain('local__echo');
    } finally {
      await client.close();
    }
  });

  it('are off unless they are switched on', async () => {
    const api = await serve(host, { prepare: (runtime) => runtime.tools(tools) });
    const off = { error: 'Tool invoke API is disabled' };
    expect(await api.json('/api/v1/tools', 403)).toEqual(off);
    expect(await invoke(api, { tool_name: 'plain', args: {} }, 403)).toEqual(off);
  });

  it.each<[ToolOptions, string[]]>([
    [{}, [...plainNames, 'set.one']],
    [{ expose: 'tools' }, plainNames],
    [{ expose: 'toolsets' }, ['set.one']],
    [{ expose: 'agents' }, ['helper']],
    [{ expose: 'all' }, [...plainNames, 'set.one', 'mcp.server.one', 'helper']],
    [{ expose: 'nothing known' }, []],
    [{ expose: 'tools', allow: ['helper', 'mcp.server.one'] }, ['mcp.server.one', 'helper']],
    [{ allow: ['plain', 'empty'], deny: ['plain'] }, ['empty']],
  ])('are exposed by %j', async (options, names) => {
    const api = await serveTools(host, options);
    const listed = await api.json('/api/v1/tools', 200);
    expect(listed.count).toBe(names.length);
    expect(listed.tools.map((one: Json) => one.function.name).sort()).toEqual([...names].sort());
    for (const one of listed.tools) {
      expect(one).toMatchObject({ type: 'function', function: { parameters: { type: 'object' } } });
    }
    for (const name of ['plain', 'set.one', 'mcp.server.one', 'helper']) {
      const status = names.includes(name) ? 200 : 404;
      const answer = await invoke(api, { tool_name: name, args: { prompt: 'x' } }, status);
      if (status === 404) expect(answer).toEqual({ error: `Tool '${name}' is not available` });
    }
  });

  it('answer with their result or why there is none', async () => {
    const api = await serveTools(host, { expose: 'all' });
    const cases: [string, object, object][] = [
      ['plain', { a: 1 }, { ok: true, result: '{"a":1}' }],
      ['  plain ', {}, { ok: true, tool_name: 'plain' }],
      ['empty', {}, { ok: true, result: '' }],
      ['broken', {}, { ok: false, error: expect.stringContaining('it broke') }],
      ['strict', { n: 2 }, { ok: true, result: '2' }],
      ['strict', { n: 'x' }, { ok: false, error: expect.stringMatching(/n/) }],
      ['helper', { prompt: 'me' }, { ok: true, result: 'helped: me' }],
    ];
    for (const [name, args, wanted] of cases) {
      const answer = await invoke(api, { tool_name: name, args });
      expect(answer).toMatchObject({ tool_name: name.trim(), ...wanted });
      expect(answer.request_id).toMatch(/^[0-9a-f]{32}$/);
      expect(answer.duration_ms).toBeGreaterThanOrEqual(0);
    }
  });

  it('get their caller as it is named', async () => {
    const api = await serveTools(host);
    const callerOf = async (context: unknown): Promise<Json> => {
      const { ok, result, error } = await invoke(api, { tool_name: 'context', args: {}, context });
      return ok === true ? JSON.parse(result as string) : error;
    };
    const unknown = { group_id: null, user_id: null, sender_id: null };
    expect(await callerOf(undefined)).toEqual({ request_type: 'api', ...unknown });
    expect(await callerOf({ request_type: 'group', group_id: '7', user_id: 8 })).toEqual({
      ...{ request_type: 'group', group_id: 7, user_id: 8, sender_id: null },
    });
    expect(await callerOf({ user_id: ' -7 ', sender_id: '+9007199254740991' })).toMatchObject({
      ...{ user_id: -7, sender_id: 9007199254740991 },
    });
    // What a number cannot hold would be another person's.
    for (const id of [
      ...['x', '', '0x10', '1e3', '1.0', 1.5, true, [5]],
      ...['1234567890123456789', 1234567890123456789n],
    ]) {
      const json = typeof id === 'bigint' ? String(id) : JSON.stringify(id);
      const body = `{"tool_name":"context","args":{},"context":{"sender_id":${json}}}`;
      const answer = await api.json(invokePath, 200, { method: 'POST', body });
      expect(answer).toMatchObject({ ok: false, error: expect.stringMatching(/sender_id/) });
    }
  });

  it.each([
    [1000, '1s'],
    [250, '0.25s'],
  ])('are stopped when they take too long (%d ms)', async (timeoutMs, time) => {
    cancelled.length = 0;
    const api = await serveTools(host, { timeoutMs });
    expect(await invoke(api, { tool_name: 'slow', args: {} })).toMatchObject({
      ...{ ok: false, error: `Execution timed out after ${time}` },
    });
    await until(() => cancelled.length > 0, 'the tool was stopped');
  });

  it('name a time limit that is no whole second', async () => {
    const api = await serveTools(host, { timeoutMs: 250 });
    expect(await invoke(api, { tool_name: 'slow', args: {} })).toMatchObject({
      ...{ ok: false, error: 'Execution timed out after 0.25s' },
    });
  });

  it.each([
    ['{', 400, 'Invalid JSON'],
    ['[]', 400, 'Request body must be a JSON object'],
    ['{"args":{}}', 400, 'tool_name is required'],
    ['{"tool_name":" ","args":{}}', 400, 'tool_name is required'],
    ['{"tool_name":"plain"}', 400, 'args must be a JSON object'],
    ['{"tool_name":"plain","args":[]}', 400, 'args must be a JSON object'],
    ['{"tool_name":"gone","args":{}}', 404, "Tool 'gone' is not available"],
  ])('refuse %s', async (body, status, error) => {
    const api = await serveTools(host);
    expect(await api.json(invokePath, status, { method: 'POST', body })).toEqual({ error });
  });
});

const loopbackRefusal = 'callback.url must not point to a private/loopback address';

describe.each(hosts)('callbacks (%s)', (host) => {
  async function sinkOf(statuses: number[] = [200]) {
    const seen: { headers: Json; body: Json }[] = [];
    const sink = await loopback((request, response) => {
      void bodyOf(request).then((body) => {
        seen.push({ headers: request.headers, body: JSON.parse(body) });
        response.writeHead(statuses[seen.length - 1] ?? 200).end();
      });
    });
    sinks.push(sink);
    return { seen, url: sink.url.replace('127.0.0.1', 'localhost') };
  }

  it('get the outcome, with the headers that were given', async () => {
    const { seen, url } = await sinkOf([503, 200]);
    const api = await serveTools(host, { callbackAllow: ['localhost'] });
    const callback = { enabled: 'yes', url: `${url}/done?x=1`, headers: { 'X-Mine': 'a' } };
    const accepted = await invoke(api, { tool_name: 'plain', args: { a: 1 }, callback });
    expect(accepted).toEqual({
      ...{ ok: true, request_id: accepted.request_id, tool_name: 'plain', status: 'accepted' },
    });
    await until(() => seen.length === 2, 'the second try');
    const [first, second] = seen.map(({ headers }) => headers['webhook-id'] as string);
    expect(first).toMatch(/^msg_[0-9a-f]{32}$/);
    expect(second).toBe(first);
    for (const { headers, body } of seen) {
      expect(headers).toMatchObject({ 'x-mine': 'a', 'content-type': 'application/json' });
      expect(body).toEqual({
        ...{ request_id: accepted.request_id, tool_name: 'plain', ok: true, result: '{"a":1}' },
        ...{ duration_ms: expect.any(Number), error: null },
      });
    }
  });

  it('get what went wrong, and no headers that somebody smuggled in', async () => {
    const { seen, url } = await sinkOf();
    const api = await serveTools(host, { callbackAllow: ['localhost'] });
    const callback = { enabled: true, url, headers: { 'X-A': 'b\r\nX-Evil: c', 'X-B': 'd' } };
    expect(await invoke(api, { tool_name: 'broken', args: {}, callback }, 400)).toEqual({
      error: 'callback.headers must be header fields',
    });
    for (const own of [{ 'Transfer-Encoding': 'chunked' }, { 'X-Big': 'x'.repeat(17_000) }]) {
      const body = { tool_name: 'plain', args: {}, callback: { enabled: true, url, headers: own } };
      const { error } = await invoke(api, body, 400);
      expect(error).toMatch(/^callback\.headers must (not )?have/);
    }
    const good = { enabled: true, url, headers: {} };
    await invoke(api, { tool_name: 'broken', args: {}, callback: good });
    await until(() => seen.some(({ body }) => body.ok === false), 'the report');
    for (const { headers, body } of seen) {
      expect(headers).not.toHaveProperty('x-evil');
      expect(body).toMatchObject({ ok: false, result: null });
      expect(body.error).toMatch(/it broke/);
    }
  });

  it.each<[string | undefined, string]>([
    [undefined, 'callback.url is required when callback is enabled'],
    ['', 'callback.url is required when callback is enabled'],
    ['ftp://example.com/', 'callback.url must use http or https'],
    ['file:///etc/passwd', 'callback.url must use http or https'],
    ['http://', 'callback.url must include a hostname'],
    ['http:///x', 'callback.url must include a hostname'],
    ['http://user:x@10.1.1.1/', 'callback.url must include a hostname'],
    ['HTTP://', 'callback.url must include a hostname'],
    ...[
      ...['HTTP://127.0.0.1/', 'Https://127.0.0.1/'],
      ...['http://127.0.0.1/', 'http://127.1/', 'http://2130706433/', 'http://0x7f000001/'],
      ...['http://0177.0.0.1/', 'http://[::1]/', 'http://[::ffff:127.0.0.1]/', 'http://0.0.0.0/'],
      ...['http://10.0.0.1/', 'http://172.16.0.1/', 'http://192.168.1.1:8080/'],
      ...['http://169.254.169.254/latest', 'http://[fe80::1]/', 'http://[fc00::1]/'],
      ...['http://[64:ff9b::7f00:1]/', 'http://224.0.0.1/'],
    ].map((url): [string, string] => [url, loopbackRefusal]),
  ])('are refused for %s', async (url, error) => {
    const api = await serveTools(host);
    const callback = { enabled: true, url };
    expect(await invoke(api, { tool_name: 'plain', args: {}, callback }, 400)).toEqual({ error });
  });

  it('do not reach this machine by a name, nor follow redirects to it', async () => {
    const { seen, url } = await sinkOf();
    const moved = await loopback((_request, response) => {
      response.writeHead(307, { location: url }).end();
    });
    sinks.push(moved);
    const api = await serveTools(host, { callbackAllow: [] });
    const callback = { enabled: true, url };
    const answer = await api.send(invokePath, {
      ...{ method: 'POST', json: { tool_name: 'plain', args: {}, callback } },
    });
    expect([200, 400]).toContain(answer.status);
    const other = await serveTools(host, { callbackAllow: [new URL(moved.url).host] });
    const to = { enabled: true, url: moved.url };
    await invoke(other, { tool_name: 'plain', args: {}, callback: to });
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(seen).toEqual([]);
  });

  it('that are not enabled do not count', async () => {
    const api = await serveTools(host);
    for (const callback of [{ enabled: false, url: 'x' }, { url: 'x' }, 'x', null]) {
      const answer = await invoke(api, { tool_name: 'plain', args: {}, callback });
      expect(answer).toMatchObject({ ok: true, result: '{}' });
    }
  });
});

const commandsPath = '/api/v1/commands';
const withCommands = (host: (typeof hosts)[number]) =>
  serve(host, {
    prepare: (runtime) => {
      runtime.command({
        ...{ name: 'Echo', description: 'Repeats.', aliases: ['say'], allow_in_private: true },
        subcommands: { loud: { description: 'Shouts.' } },
        rate_limit: { user: 0, admin: 0, superadmin: 0 },
        run: ({ subcommand, args }: CommandCall) =>
          `${subcommand && `${subcommand}: `}${args.join(' ')}`,
      });
      runtime.command({
        ...{ name: 'fails', allow_in_private: true },
        run: () => Promise.reject(new Error('secret reason')),
      });
      runtime.command({ name: 'public-only', run: () => 'x' });
      runtime.command({
        ...{ name: 'hidden', allow_in_private: true, show_in_help: false, run: () => 'x' },
      });
    },
  });

describe.each(hosts)('slash commands (%s)', (host) => {
  it('run in place of the agent, and are chat elsewhere', async () => {
    const api = await withCommands(host);
    const job = await runJob(api, '/echo "a b" c');
    expect(job).toMatchObject({ mode: 'command', status: 'done', reply: 'a b c' });
    expect((await runJob(api, '/SAY loud x')).reply).toBe('loud: loud x');
    expect(await runJob(api, 'is /echo a command')).toMatchObject({
      ...{ mode: 'chat', reply: 'echo: is /echo a command' },
    });
    const unknown = await runJob(api, '/nothing');
    expect(unknown).toMatchObject({ mode: 'command', status: 'done' });
    expect(unknown.reply).toMatch(/nothing/);
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items[1].content).toBe('a b c');
  });

  it('tell their user a code when they fail, and nothing else', async () => {
    const report = jest.spyOn(console, 'error').mockImplementation();
    const api = await withCommands(host);
    const job = await runJob(api, '/fails');
    expect(job.status).toBe('done');
    const code = /[0-9a-f]{8}/.exec(job.reply as string)?.[0] ?? 'none';
    expect(JSON.stringify(job)).not.toMatch(/secret reason/);
    expect(String(report.mock.calls[0]?.[0])).toContain(code);
  });

  it('are explained by a help that needs no declaration', async () => {
    const api = await withCommands(host);
    const reply = async (text: string): Promise<string> => (await runJob(api, text)).reply;
    expect(await reply('/say --help')).toMatch(/\/help echo/);
    const help = await reply('/help echo');
    expect(help).toMatch(/^\/echo - Repeats\.\n[^]*\/say[^]*loud - Shouts\./);
    for (const name of ['SAY', '/say']) expect(await reply(`/help ${name}`)).toBe(help);
    const list = await reply('/help');
    expect(list).toContain('/echo');
    expect(list).not.toMatch(/hidden|public-only/);
    expect(await reply('/help nothing')).toMatch(/nothing/);
    const own = await serve(host, {
      prepare: (runtime) =>
        runtime.command({ name: 'help', allow_in_private: true, run: () => 'mine' }),
    });
    expect((await runJob(own, '/help echo')).reply).toBe('mine');
  });

  it('are counted by the probe', async () => {
    const api = await withCommands(host);
    const { skills } = await api.json('/api/v1/probes/internal', 200);
    const all = '?include_hidden=1&include_unavailable=1';
    const { count } = await api.json(`${commandsPath}${all}`, 200);
    expect(skills.commands).toMatchObject({ count, loaded: count, aliases: 1, subcommands: 1 });
    expect(skills.commands.items).toHaveLength(count);
    expect(skills.commands.items).toContainEqual({
      ...{ name: 'echo', loaded: true, handler_loaded: true, aliases: ['say'], subcommands: 1 },
      ...{ permission: expect.any(String), allow_in_private: true, show_in_help: true },
    });
  });

  it('are listed by scope, with their aliases and subcommands', async () => {
    const api = await withCommands(host);
    const names = async (query: string): Promise<string[]> => {
      const body = await api.json(`${commandsPath}${query}`, 200);
      expect(body.count).toBe(body.commands.length);
      return body.commands.map(({ name }: Json) => name).sort();
    };
    expect(await names('')).toEqual(expect.arrayContaining(['echo', 'fails']));
    expect(await names('')).not.toContain('hidden');
    expect(await names('')).not.toContain('public-only');
    expect(await names('?include_hidden=1')).toContain('hidden');
    expect(await names('?include_unavailable=yes')).toContain('public-only');
    expect(await names('?scope=group')).toContain('public-only');
    expect(await names('?q=shouts')).toEqual(['echo']);
    const one = await api.json(`${commandsPath}/say`, 200);
    expect(one).toMatchObject({ requested_name: 'say', command: { name: 'echo' }, count: 1 });
    const large = await api.json(`${commandsPath}/SAY`, 200);
    expect(large).toMatchObject({ requested_name: 'say', command: { name: 'echo' } });
    expect(one.command.subcommands).toMatchObject([{ name: 'loud', description: 'Shouts.' }]);
    api.runtime.command({
      ...{ name: 'sorted', allow_in_private: true, run: () => '' },
      subcommands: { ls: {}, view: {}, del: {} },
    });
    const { command } = await api.json(`${commandsPath}/sorted`, 200);
    expect(command.subcommands.map(({ name }: Json) => name)).toEqual(['del', 'ls', 'view']);
    for (const name of ['gone', 'hidden', 'public-only', '..%2f', 'x'.repeat(5000)]) {
      expect(await api.json(`${commandsPath}/${name}`, 404)).toEqual({
        error: 'Command not found',
      });
    }
  });
});

describe.each(hosts)('probes (%s)', (host) => {
  it('report what the runtime has, without keys and paths', async () => {
    const up = await loopback((_request, response) => response.writeHead(404).end());
    sinks.push(up);
    const model = (api_url: string) => ({ model_name: 'm', api_url, api_key: 'sk-secret' });
    const api = await serve(host, {
      api: {
        tools: { enabled: true },
        probes: {
          models: {
            chat_model: model(`${up.url}/v1/private`),
            agent_model: model('http://127.0.0.1:1/v1'),
            vision_model: model(''),
          },
          sockets: { socket: { api_url: up.url.replace('http', 'ws') } },
        },
      },
      prepare: (runtime) => runtime.tools(tools),
    });
    const internal = await api.json('/api/v1/probes/internal', 200);
    expect(internal.skills.tools.count).toBe(plainNames.length);
    // The address of its own server; that of a host is not known.
    const { hostname, port } = new URL(api.url);
    const listening =
      host === 'listen' ? { host: hostname, port: Number(port) } : { host: '', port: 0 };
    const headers = { Host: 'forged.example:1' };
    const forged = host === 'fetch' ? { headers } : {};
    const { api: reported } = await api.json('/api/v1/probes/internal', 200, forged);
    expect(reported).toEqual({ enabled: true, openapi_enabled: true, ...listening });
    const external = await api.json('/api/v1/probes/external', 200);
    expect(external.ok).toBe(false);
    const by = Object.fromEntries(external.results.map((one: Json) => [one.name, one]));
    expect(by).toMatchObject({
      chat_model: { status: 'ok', http_status: 404, url: `${up.url}/...` },
      agent_model: { status: 'error' },
      vision_model: { status: 'skipped', reason: 'empty_url' },
      socket: { status: 'ok' },
    });
    expect(JSON.stringify([internal, external])).not.toMatch(/sk-secret|private"/);
  });
});
