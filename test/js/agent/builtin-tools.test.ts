// The engine's own tools from JavaScript, on loopback servers and throw-away folders.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  AgentRuntime,
  GeneralChatAgent,
  builtinTools,
  createAgentToolsEngine,
  type BuiltinToolResult,
  type BuiltinToolsOptions,
} from 'millrace';

async function run(
  options: BuiltinToolsOptions,
  name: string,
  input: object,
  signal?: AbortSignal,
): Promise<BuiltinToolResult> {
  const tool = builtinTools(options).find((one) => one.name === name);
  if (!tool) throw new Error(`there is no ${name}`);
  return await tool.run(input as never, { signal } as never);
}

describe('builtin tools', () => {
  let server: Server;
  let host: string;
  let requested: { method?: string; url?: string; key?: string; body: string }[];

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        const { method, url } = request;
        const key = String(
          request.headers.authorization ?? request.headers['x-subscription-token'] ?? '',
        );
        requested.push({ method, url, key, body } as never);
        const path = new URL(url ?? '', 'http://x').pathname;
        if (path === '/page') {
          response.setHeader('Content-Type', 'text/html; charset=utf-8');
          response.end('<title>A page</title><script>no()</script><h1>Hi</h1><p>Text &amp; more');
        } else if (path === '/latin') {
          response.setHeader('Content-Type', 'text/plain; charset=ISO-8859-1');
          response.end(Buffer.from([0x47, 0x72, 0xfc, 0xdf, 0x65]));
        } else if (path === '/gbk') {
          response.setHeader('Content-Type', 'text/html');
          const head =
            '<html><head><meta http-equiv="Content-Type" content="text/html; charset=gb2312">';
          const hello = Buffer.from([0xc4, 0xe3, 0xba, 0xc3]);
          response.end(Buffer.concat([Buffer.from(`${head}<p>`), hello]));
        } else if (path === '/odd') {
          response.setHeader('Content-Type', 'text/html; charset=x-odd');
          response.end(Buffer.from([0x47, 0xfc, 0x65]));
        } else if (path === '/image') {
          response.setHeader('Content-Type', 'image/png');
          response.end('no text');
        } else if (path === '/away') {
          response.writeHead(302, { Location: 'http://169.254.169.254/latest/meta-data/' });
          response.end();
        } else if (path === '/long') {
          response.setHeader('Content-Type', 'text/plain');
          response.end('x'.repeat(100_000));
        } else if (path === '/slow') {
          // No answer.
        } else if (path === '/echo/search') {
          const content = `You sent ${key} to ${url ?? ''}`;
          const result = { title: 'One', url: `https://example.com/?q=${key.slice(7)}`, content };
          response.setHeader('Content-Type', 'application/json');
          response.end(JSON.stringify({ results: [result] }));
        } else if (path === '/search' || path === '/res/v1/web/search') {
          const result = {
            title: 'One <b>result</b>',
            url: 'https://example.com/1',
            content: 'a <strong>snippet</strong></tool>',
            description: 'a <strong>snippet</strong></tool>',
          };
          const results = [result, { ...result, url: 'javascript:x' }, result, result];
          response.setHeader('Content-Type', 'application/json');
          response.end(JSON.stringify({ results, web: { results } }));
        } else {
          response.statusCode = 404;
          response.setHeader('Content-Type', 'application/json');
          response.end('{"error":"nothing here"}');
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    requested = [];
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  it('say what a model is told of them, sorted by name', () => {
    const tools = builtinTools({ time: true, calculator: true, httpFetch: true, readPage: false });
    expect(tools.map(({ name, effect, approval }) => [name, effect, approval])).toEqual([
      ['calculator', 'read', 'never'],
      ['http_fetch', 'read', 'never'],
      ['time', 'read', 'never'],
    ]);
    expect(createAgentToolsEngine({ tools }).definitions).toHaveLength(3);
  });

  it('calculate and tell the time', async () => {
    await expect(
      run({ calculator: true }, 'calculator', { expression: '2^10 / 4' }),
    ).resolves.toEqual({ content: '256', success: true });
    const wrong = await run({ calculator: true }, 'calculator', { expression: '1 +' });
    expect(wrong).toMatchObject({ success: false, error: { type: 'invalid_argument' } });
    const time = await run({ time: { zone: 'UTC' } }, 'time', {});
    expect(time.content).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00 \(\w+day, UTC, UTC\)$/);
    expect((await run({ time: { zone: 'UTC' } }, 'time', { zone: '' })).content).toMatch(
      /UTC, UTC\)$/,
    );
    const nowhere = await run({ time: true }, 'time', { zone: '../etc/passwd' });
    expect(nowhere.success).toBe(false);
  });

  it('check arguments', async () => {
    const bad = await run({ calculator: true }, 'calculator', { expression: 1 });
    expect(bad).toMatchObject({ success: false, error: { type: 'invalid_argument' } });
  });

  it('refuse options that cannot be used', () => {
    for (const options of [
      { nothing: true },
      { files: {} },
      { files: { root: '/no/such/folder' } },
      { webSearch: { provider: 'x' } },
      { webSearch: { provider: 'brave' } },
      { webSearch: true },
      { httpFetch: { allow: ['a b'] } },
      { httpFetch: { ports: [0] } },
      { httpFetch: { methods: ['CONNECT'] } },
      { time: { zone: 'Nowhere/City' } },
      { time: 'UTC' },
      { calculator: { aprove: true } },
      { httpFetch: { method: ['POST'] } },
      { httpFetch: { methods: 'POST' } },
      { files: { root: '/tmp', writable: true } },
      { runProcess: { programs: 'ls' } },
      { runProcess: { programs: [1] } },
      { calculator: true, expose: 'calculator' },
      { calculator: true, allow: 'calculator' },
      { calculator: { approval: 1 } },
      { calculator: { approval: 'sometimes' } },
      { calculator: { approval: {} } },
      { calculator: { approval: { policy: 'required' } } },
      { calculator: { approval: [{ match: {} }] } },
      { calculator: { approval: { dynamic: {} } } },
      { files: { root: '/tmp', write: 'no' } },
      { files: { root: '/tmp', maxBytes: '10' } },
      { files: { root: '/tmp', approval: {} } },
      { httpFetch: { trustsProxy: 'no' } },
      { httpFetch: { ports: '80' } },
      { httpFetch: { timeoutMs: '5' } },
      { httpFetch: { userAgent: 1 } },
      { runProcess: { timeoutMs: -1 } },
      { runProcess: { timeoutMs: Number.NaN } },
      { runProcess: { environment: 'A=1' } },
      { runProcess: { directory: 1 } },
      { webSearch: { url: 'http://localhost:1', maxResults: '3' } },
      { time: { zone: 1 } },
      { time: () => true },
      undefined,
      null,
      'calculator',
      ['calculator'],
    ]) {
      expect(() => builtinTools(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });

  it('are asked for as `approval` says, which only false and never switch off', () => {
    const dynamic = { type: 'x', policy: 'always', default: 'always' } as const;
    const rules = [{ policy: 'required' as const }];
    for (const [approval, reported] of [
      [undefined, 'required'],
      [true, 'required'],
      ['always', 'always'],
      [rules, rules],
      [{ dynamic }, { dynamic }],
      [{ dynamic: { type: 'x' } }, { dynamic: { type: 'x', default: 'required' } }],
      [false, 'never'],
      ['never', 'never'],
    ] as const) {
      const options = { runProcess: { approval } } as BuiltinToolsOptions;
      expect(builtinTools(options)[0]).toMatchObject({ approval: reported });
    }
    expect(builtinTools({ runProcess: { timeoutMs: Infinity, maxBytes: 1e9 } })).toHaveLength(1);
  });

  it('fetch through the guard', async () => {
    const blocked = await run({ httpFetch: true }, 'http_fetch', { url: `http://${host}/page` });
    expect(blocked).toMatchObject({ success: false, error: { type: 'address_blocked' } });
    expect(requested).toEqual([]);

    const options = { httpFetch: { allow: [host] } };
    const page = await run(options, 'http_fetch', { url: `http://${host}/page` });
    expect(page.success).toBe(true);
    expect(page.content).toContain('<script>no()</script>');
    expect(page.citations).toEqual([{ title: `http://${host}/page`, url: `http://${host}/page` }]);

    const away = await run(options, 'http_fetch', { url: `http://${host}/away` });
    expect(away).toMatchObject({ success: false, error: { type: 'address_blocked' } });
    const image = await run(options, 'http_fetch', { url: `http://${host}/image` });
    expect(image).toMatchObject({ success: false, error: { type: 'unsupported_media_type' } });
    const missing = await run(options, 'http_fetch', { url: `http://${host}/missing` });
    expect(missing).toMatchObject({ success: false, error: { type: 'http_status' } });
    expect(missing.content).toContain('nothing here');
    const latin = await run(options, 'http_fetch', { url: `http://${host}/latin` });
    expect(latin.content).toContain('Gr\u00fc\u00dfe');
    const long = await run({ httpFetch: { allow: [host], maxBytes: 1000 } }, 'http_fetch', {
      url: `http://${host}/long`,
    });
    expect(long.content.length).toBeLessThan(1200);
    expect(long.content).toContain('[cut here');
  });

  it('end a fetch with its signal or its time', async () => {
    const abort = new AbortController();
    const waiting = run(
      { httpFetch: { allow: [host] } },
      'http_fetch',
      { url: `http://${host}/slow` },
      abort.signal,
    );
    setTimeout(() => abort.abort(new Error('enough')), 30);
    await expect(waiting).rejects.toThrow('enough');
    const late = await run({ httpFetch: { allow: [host], timeoutMs: 50 } }, 'http_fetch', {
      url: `http://${host}/slow`,
    });
    expect(late).toMatchObject({ success: false, error: { type: 'total_timeout' } });
  });

  it('send bodies only where that is allowed', async () => {
    const reads = builtinTools({ httpFetch: true })[0];
    expect(JSON.stringify(reads?.input)).not.toContain('body');
    const options = { httpFetch: { allow: [host], methods: ['POST' as const] } };
    expect(builtinTools(options)[0]).toMatchObject({ effect: 'once', approval: 'required' });
    await run(options, 'http_fetch', { url: `http://${host}/x`, body: '{"a":1}' });
    expect(requested[0]).toMatchObject({ method: 'POST', body: '{"a":1}' });
  });

  it('read pages in the charset that they declare, or say which one they cannot read', async () => {
    const read = (path: string): Promise<{ content: string }> =>
      run({ readPage: { allow: [host] } }, 'read_page', { url: `http://${host}${path}` });
    expect((await read('/gbk')).content).toBe(`200 http://${host}/gbk\n\n\u4f60\u597d`);
    expect(await read('/odd')).toMatchObject({
      success: false,
      error: { type: 'unsupported_media_type' },
      content: expect.stringContaining("the charset 'x-odd', which is not supported") as string,
    });
  });

  it('read pages as text', async () => {
    const page = await run({ readPage: { allow: [host] } }, 'read_page', {
      url: `http://${host}/page`,
    });
    expect(page.content).toBe(`200 http://${host}/page\nA page\n\n# Hi\n\nText & more`);
    expect(page.citations).toEqual([{ title: 'A page', url: `http://${host}/page` }]);
  });

  it.each([
    ['searxng', '/', '/search?format=json&q=what%20is%20%26', ''],
    ['searxng', '/search', '/search?format=json&q=what%20is%20%26', ''],
    ['searxng', '/?language=de', '/search?language=de&format=json&q=what%20is%20%26', ''],
    ['searxng', '/search?q=<query>&safe=1', '/search?safe=1&format=json&q=what%20is%20%26', ''],
    ['tavily', '', '/search', 'Bearer secret'],
    ['tavily', '/search/', '/search', 'Bearer secret'],
    ['brave', '/', '/res/v1/web/search?count=2&q=what%20is%20%26', 'secret'],
    ['brave', '/res/v1/web/search', '/res/v1/web/search?count=2&q=what%20is%20%26', 'secret'],
  ] as const)('search with %s at %s', async (provider, place, url, key) => {
    const webSearch = {
      provider,
      url: `http://${host}${place}`,
      maxResults: 2,
      ...(key && { apiKey: 'secret' }),
    };
    const found = await run({ webSearch }, 'web_search', { query: 'what is &' });
    expect(requested[0]).toMatchObject({ url, key });
    expect(found.content).toBe(
      '1. One result\n   https://example.com/1\n   a snippet\n' +
        '2. One result\n   https://example.com/1\n   a snippet\n',
    );
    expect(found.citations).toHaveLength(2);
    expect(found.citations?.[0]).toEqual({
      title: 'One result',
      url: 'https://example.com/1',
      snippet: 'a snippet',
    });
  });

  it('search without keys that the service repeats', async () => {
    const [apiKey, token] = ['a-key-of-the-operator', 'another-one-4711'];
    const webSearch = { url: `http://${host}/echo?token=${token}`, apiKey };
    const found = await run({ webSearch }, 'web_search', { query: 'mills' });
    const text = JSON.stringify(found);
    expect(text).toContain('You sent Bearer [redacted]');
    expect(text).not.toContain(apiKey);
    expect(text).not.toContain(token);
    expect(requested[0]?.url).toContain(token);
  });

  it('keep files below their root', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-files-'));
    try {
      const root = join(folder, 'root');
      mkdirSync(join(root, 'sub'), { recursive: true });
      writeFileSync(join(folder, 'secret.txt'), 'secret');
      writeFileSync(join(root, 'a.txt'), 'hello\u001b[31m world');
      symlinkSync(join(folder, 'secret.txt'), join(root, 'link.txt'));
      symlinkSync(folder, join(root, 'out'));
      const files = { root, write: true };
      expect((await run({ files }, 'read_file', { path: 'a.txt' })).content).toBe('hello world');
      expect((await run({ files }, 'list_files', {})).content).toBe('a.txt (16 bytes)\nsub/\n');
      for (const path of [
        'link.txt',
        'out/secret.txt',
        '../secret.txt',
        'sub/../../secret.txt',
        'sub',
        'none',
      ]) {
        expect((await run({ files }, 'read_file', { path })).success).toBe(false);
      }
      expect((await run({ files }, 'list_files', { path: 'out' })).success).toBe(false);
      for (const path of ['link.txt', 'out/new.txt', '../new.txt', 'sub', '']) {
        expect((await run({ files }, 'write_file', { path, content: 'x' })).success).toBe(false);
      }
      expect(readFileSync(join(folder, 'secret.txt'), 'utf8')).toBe('secret');
      await run({ files }, 'write_file', { path: '/new/deep/b.txt', content: 'one' });
      await run({ files }, 'write_file', { path: 'new/deep/b.txt', content: ' two', append: true });
      expect(readFileSync(join(root, 'new/deep/b.txt'), 'utf8')).toBe('one two');
      const part = await run({ files: { root, maxBytes: 3 } }, 'read_file', {
        path: 'new/deep/b.txt',
        offset: 4,
      });
      expect(part.content).toBe('two');
      expect(builtinTools({ files: { root } }).map(({ name }) => name)).toEqual([
        'list_files',
        'read_file',
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('run programs without a shell', async () => {
    const runProcess = { environment: { GREETING: 'hi' }, maxBytes: 50 };
    const options = { runProcess };
    expect(builtinTools(options)[0]).toMatchObject({ effect: 'once', approval: 'required' });
    const received = await run(options, 'run_process', {
      argv: [
        process.execPath,
        '-e',
        'console.log(process.argv[1], process.env.GREETING, process.env.HOME)',
        '$(id)',
      ],
    });
    expect(received).toMatchObject({
      success: true,
      content: 'Exit code 0.\n$(id) hi undefined\n',
    });
    const failed = await run(options, 'run_process', {
      argv: [process.execPath, '-e', 'console.error("no"); process.exit(3)'],
    });
    expect(failed).toMatchObject({ success: false, error: { type: 'exit_status' } });
    expect(failed.content).toBe('Exit code 3.\n\n[standard error]\nno\n');
    const long = await run(options, 'run_process', {
      argv: [process.execPath, '-e', 'console.log("x".repeat(1000))'],
    });
    expect(long.content).toContain('[cut here');
    const late = await run({ runProcess: { timeoutMs: 300 } }, 'run_process', {
      argv: [process.execPath, '-e', 'setInterval(() => {}, 1000)'],
    });
    expect(late).toMatchObject({ success: false, error: { type: 'tool_timeout' } });
    const other = await run({ runProcess: { programs: ['git'] } }, 'run_process', { argv: ['sh'] });
    expect(other).toMatchObject({ success: false, error: { type: 'program_not_allowed' } });
    const nothing = await run({ runProcess: { programs: [] } }, 'run_process', { argv: ['id'] });
    expect(nothing).toMatchObject({ success: false, error: { type: 'program_not_allowed' } });
    const nul = await run(options, 'run_process', { argv: ['echo', 'a\0b', 'c'] });
    expect(nul).toMatchObject({ success: false, error: { type: 'invalid_argument' } });
    const none = await run(options, 'run_process', { argv: ['/no/such/program'] });
    expect(none.success).toBe(false);
  });

  it('end a program that writes more than is kept of it', async () => {
    const endless = `process.stdout.write('begin '); setInterval(() => process.stdout.write('x'.repeat(1000)), 1)`;
    const began = Date.now();
    const cut = await run({ runProcess: { maxBytes: 50, timeoutMs: 60_000 } }, 'run_process', {
      argv: [process.execPath, '-e', endless],
    });
    // Far from the end of its time, which is when it ended otherwise.
    expect(Date.now() - began).toBeLessThan(30_000);
    expect(cut).toMatchObject({ success: false, error: { type: 'exit_status' } });
    expect(cut.content).toMatch(
      /^The program was ended before its end: it wrote more than the 50 bytes .*\nbegin x{44}\n\[cut here/,
    );
  });

  it('are exposed by policy', () => {
    const names = (options: BuiltinToolsOptions) => builtinTools(options).map(({ name }) => name);
    const all = { time: true, calculator: true, httpFetch: true };
    expect(names({ ...all, expose: ['time', 'calc*'] })).toEqual(['calculator', 'time']);
    expect(names({ ...all, deny: ['*_fetch'] })).toEqual(['calculator', 'time']);
    expect(names({ ...all, expose: ['*'], deny: ['*'] })).toEqual([]);
    // A list of what is allowed counts alone, when it names anything.
    expect(names({ ...all, allow: ['time'], expose: ['calculator'] })).toEqual(['time']);
    expect(names({ ...all, allow: ['*'], deny: ['time', '*_fetch'] })).toEqual(['calculator']);
    expect(names({ ...all, allow: [], expose: ['time'] })).toEqual(['time']);
  });

  it('work for an agent', async () => {
    const { tools, definitions, toolManifestMap } = createAgentToolsEngine({
      tools: builtinTools({ calculator: true }),
    });
    const answers = [
      {
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            function: { name: 'calculator', arguments: '{"expression":"6*7"}' },
          },
        ],
      },
      { content: 'It is 42.' },
    ];
    const agent = Object.assign(new GeneralChatAgent(), {
      tools,
      modelRuntime: async function* () {
        yield answers.shift();
      },
    });
    const runtime = new AgentRuntime(agent as never, { history: 'engine' });
    const { newState } = await runtime.run(
      AgentRuntime.createInitialState({
        operationId: 'op',
        messages: [{ role: 'user', content: 'What is 6*7?' }],
        tools: definitions,
        toolManifestMap,
      }),
    );
    expect(newState.messages.find(({ role }) => role === 'tool')?.content).toBe('42');
    expect(newState.messages.at(-1)?.content).toBe('It is 42.');
  });
});
