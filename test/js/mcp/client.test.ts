// MCP clients of programs: the real engine, small servers that behave well and badly.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import {
  createAgent,
  createAgentToolsEngine,
  createMCPClient,
  Engine,
  MillraceError,
  type MCPClient,
  type MCPClientOptions,
} from 'millrace';

import { startModel } from '../../support/scripted-model';

const server = join(__dirname, '../fixtures/mcp-server.cjs');
const open: MCPClient[] = [];

async function connect(mode = 'good', options: Partial<MCPClientOptions> = {}): Promise<MCPClient> {
  const client = await createMCPClient({
    command: process.execPath,
    args: [server, mode],
    ...options,
  } as MCPClientOptions);
  open.push(client);
  return client;
}

async function textOf(client: MCPClient, name: string, args: object = {}): Promise<string> {
  const { content } = await client.callTool(name, args);
  return (content[0] as { text: string }).text;
}

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function isGone(pid: number, limitMs = 2000): Promise<boolean> {
  const end = Date.now() + limitMs;
  while (isAlive(pid)) {
    if (Date.now() > end) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
});

describe('an MCP client of a program', () => {
  it('knows the server and what it offers', async () => {
    const client = await connect();
    expect(client.serverInfo).toEqual({ name: 'fixture', version: '1' });
    expect(client.instructions).toBe('Be brief.');
    expect(client.protocolVersion).toBe('2025-11-25');
    expect(Object.keys(client.capabilities)).toContain('tools');
    expect((await client.listTools()).length).toBeGreaterThan(10);
    expect(await client.listResources()).toEqual([{ uri: 'test://a', name: 'a' }]);
    expect(await client.readResource('test://a')).toEqual({
      contents: [{ uri: 'test://a', text: 'contents' }],
    });
    expect((await client.listPrompts())[0]?.name).toBe('p');
    const prompt = await client.getPrompt('p', { who: 'you' });
    expect(prompt.messages[0]?.content).toEqual({ type: 'text', text: 'Hello you' });
    await client.ping();
    await client.callTool({ name: 'echo', arguments: { text: 'x' } });
  });

  it('names tools that agents do not get, once', async () => {
    const program = `
      require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
        const { id, method, params } = JSON.parse(line);
        const result = method === 'initialize'
          ? { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's' } }
          : { tools: [{ name: 'a' }, { name: 'a' }, { title: 'none' }] };
        if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
      });`;
    const client = await connect('', { name: 'pair', args: ['-e', program] });
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    expect(await client.tools()).toHaveLength(1);
    await client.tools();
    const warnings = warned.mock.calls;
    warned.mockRestore();
    const code = { code: 'MILLRACE_MCP' };
    expect(warnings).toEqual([
      ["MCP server 'pair': The tool 'a' is listed more than once; the first one counts.", code],
      ["MCP server 'pair': Tool 3 of the list has no name.", code],
    ]);
  });

  it.each<[string, (client: MCPClient) => Promise<unknown>]>([
    ['a call without a name', (client) => client.callTool(undefined as never)],
    ['a number that JSON has not', (client) => client.callTool('echo', { text: 1n })],
    [
      'a value that holds itself',
      (client) => {
        const loop: Record<string, unknown> = {};
        loop['loop'] = loop;
        return client.callTool('echo', loop);
      },
    ],
    ['a request without a method', (client) => client.request(undefined as never)],
    ['parameters that are none', (client) => client.request('ping', 'x' as never)],
  ])('refuses %s', async (_what, request) => {
    const client = await connect();
    await expect(request(client)).rejects.toMatchObject({ code: 'invalid_argument' });
    await client.ping();
  });

  it('calls tools, many at a time', async () => {
    const client = await connect();
    const texts = Array.from({ length: 200 }, (_, i) => `text ${i} \u{1F600}`);
    expect(await Promise.all(texts.map((text) => textOf(client, 'echo', { text })))).toEqual(texts);
  });

  it('hands on what a program writes to standard error, line by line', async () => {
    const lines: string[] = [];
    const received = `process.stderr.write(Buffer.from([0x61, 0xff, 10])); process.stderr.write('two\\n\\nfour\u00fc');`;
    const args = ['-e', `${received} process.argv[2] = 'good'; require(${JSON.stringify(server)})`];
    const client = await connect('good', { args, onStderr: (line: string) => lines.push(line) });
    await client.ping();
    await client.close();
    expect(lines).toEqual(['a\ufffd', 'two', '', 'four\u00fc']);
  });

  it('hears a program that floods its standard error, and goes on', async () => {
    let heard = 0;
    const flood = `const line = 'x'.repeat(20000) + '\\n'; for (let i = 0; i < 2000; i++) process.stderr.write(line);`;
    const args = ['-e', `${flood} require(${JSON.stringify(server)})`];
    const client = await connect('good', { args, onStderr: ({ length }) => (heard += length) });
    expect(await textOf(client, 'echo', { text: 'x' })).toBe('x');
    expect(heard).toBeGreaterThan(0);
  });

  it('hands on the error of the server', async () => {
    const client = await connect();
    const error = await client.callTool('nothing').catch((reason: unknown) => reason);
    expect(MillraceError.is(error, 'mcp_error')).toBe(true);
    expect((error as Error).cause).toEqual({
      code: -32602,
      message: 'no tool nothing',
      data: { a: 1 },
    });
  });

  it('answers the questions of the server', async () => {
    const client = await connect('good', {
      onElicitation: ({ message }) => ({ action: 'accept', content: { said: message } }),
      roots: () => [{ uri: 'file:///a', name: 'a' }],
    });
    expect(JSON.parse(await textOf(client, 'elicit'))).toEqual({
      action: 'accept',
      content: { said: 'sure?' },
    });
    expect(JSON.parse(await textOf(client, 'roots'))).toEqual({
      roots: [{ uri: 'file:///a', name: 'a' }],
    });
    expect(JSON.parse(await textOf(client, 'sample'))).toMatchObject({ code: -32601 });
  });

  it('lets the limit of a call rest while a person answers', async () => {
    const client = await connect('good', {
      timeoutMs: 300,
      onElicitation: async () => {
        await new Promise((resolve) => setTimeout(resolve, 900));
        return { action: 'decline' };
      },
    });
    expect(JSON.parse(await textOf(client, 'elicit'))).toEqual({ action: 'decline' });
  });

  it('checks what it answers, after the defaults', async () => {
    const answers: object[] = [
      { action: 'accept', content: { n: 1 } },
      { action: 'accept', content: { n: 'x' } },
      { action: 'yes' },
    ];
    const client = await connect('good', {
      onElicitation: () => answers.shift() as never,
      onSampling: () => ({ content: 'no block' }),
      roots: [{ name: 'no address' } as never],
    });
    const form = { action: 'accept', content: { n: 1, kind: 'x' } };
    expect(JSON.parse(await textOf(client, 'form'))).toEqual(form);
    for (const tool of ['form', 'form', 'sample', 'roots']) {
      expect(JSON.parse(await textOf(client, tool))).toMatchObject({
        code: -32603,
        message: expect.stringContaining('The answer to the MCP server is not valid') as string,
      });
    }
  });

  it('announces what it answers, tools of a sampling where they are wanted', async () => {
    const onSampling = (): object => ({ role: 'assistant', content: { type: 'text', text: 'a' } });
    const plain = await connect('good', { onSampling });
    expect(JSON.parse(await textOf(plain, 'capabilities'))).toEqual({ sampling: {} });
    await expect(connect('good', { samplingTools: true })).rejects.toMatchObject({
      code: 'invalid_option',
    });
    const client = await connect('good', { onSampling, samplingTools: true, roots: [] });
    expect(JSON.parse(await textOf(client, 'capabilities'))).toEqual({
      sampling: { tools: {} },
      roots: { listChanged: true },
    });
  });

  const unreadable = {
    get code(): number {
      throw new Error('no code');
    },
    toJSON: () => {
      throw new Error('no text');
    },
    toString: () => {
      throw new Error('no text');
    },
  };

  it.each<[string, unknown, object]>([
    ['null', null, { code: -32603, message: 'null' }],
    ['undefined', undefined, { code: -32603, message: 'undefined' }],
    ['a text', 'not now', { code: -32603, message: 'not now' }],
    ['an object', { code: 7, message: 'not now' }, { code: 7, message: 'not now' }],
    ['what cannot be read', unreadable, { message: expect.stringMatching(/cannot be read/) }],
  ])('tells the server that a handler threw %s', async (_name, thrown, reported) => {
    const fails = async (): Promise<never> => {
      await Promise.resolve();
      throw thrown;
    };
    const client = await connect('good', {
      onElicitation: () => {
        throw thrown;
      },
      onSampling: fails,
    });
    for (const tool of ['elicit', 'sample']) {
      expect(JSON.parse(await textOf(client, tool))).toMatchObject(reported);
    }
  });

  it('gives an empty list where a result has no content', async () => {
    const client = await connect();
    expect(await client.callTool('bare')).toEqual({ content: [] });
  });

  it('reports progress, which moves the limit', async () => {
    const client = await connect();
    const seen: number[] = [];
    const result = await client.callTool(
      'progress',
      {},
      {
        timeoutMs: 250,
        onProgress: ({ progress }) => seen.push(progress),
      },
    );
    expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it('gives the program only what it is given', async () => {
    process.env['MILLRACE_TEST_SECRET'] = 'secret';
    const client = await connect('good', { env: { GIVEN: 'yes' }, cwd: '/tmp' });
    const env = JSON.parse(await textOf(client, 'env')) as Record<string, string>;
    delete process.env['MILLRACE_TEST_SECRET'];
    expect(env['GIVEN']).toBe('yes');
    expect(env['PATH']).toBe(process.env['PATH']);
    expect(Object.keys(env)).not.toContain('MILLRACE_TEST_SECRET');
    expect(await textOf(client, 'cwd')).toBe('/tmp');
  });

  it('takes arguments in every usual form', async () => {
    const client = await connect();
    const reported = async (given: Promise<{ content: unknown[] }>): Promise<unknown> =>
      JSON.parse(((await given).content[0] as { text: string }).text);
    expect(await reported(client.callTool('arguments'))).toEqual({});
    expect(await reported(client.callTool('arguments', null as never))).toEqual({});
    expect(await reported(client.callTool({ name: 'arguments', arguments: { a: 1 } }))).toEqual({
      a: 1,
    });
    for (const [name, args] of [
      ['arguments', '{}'],
      ['arguments', [1]],
      ['', {}],
      [{ arguments: {} }, undefined],
    ]) {
      await expect(client.callTool(name as never, args as never)).rejects.toMatchObject({
        code: 'invalid_argument',
      });
    }
  });

  it.each<[object | undefined]>([
    [undefined],
    [{}],
    [{ command: 'node', url: 'http://127.0.0.1:9' }],
    [{ command: ['node', 'x'] }],
    [{ command: 'node', args: 'server.js' }],
    [{ command: 'node', args: [1] }],
    [{ command: 'node', env: { A: 1 } }],
    [{ command: 'node', cwd: 7 }],
    [{ type: 'http', command: 'node' }],
    [{ type: 'ws', url: 'http://127.0.0.1:9' }],
    [{ type: 'stdio', url: 'http://127.0.0.1:9' }],
    [{ url: 'http://127.0.0.1:9', headers: { X: 1 } }],
    [{ url: {} }],
    [{ url: null }],
    [{ command: 'node', timeoutMs: -1 }],
    [{ command: 'node', startMs: NaN }],
    [{ command: 'node', argv: ['x'] }],
    [{ command: 'node', onElicitation: true }],
    [{ command: 'node', protocolVersion: '2099' }],
    [{ command: 'node', trusted: 'yes' }],
    [{ command: 'node', roots: 'file:///a' }],
    [{ command: 'node', name: '' }],
  ])('is not made of %j', async (options) => {
    await expect(createMCPClient(options as never)).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  it('takes limits as they are computed', async () => {
    const client = await connect();
    const call = (timeoutMs: number): Promise<unknown> =>
      client.callTool('hang', {}, { timeoutMs });
    await expect(call(-5)).rejects.toMatchObject({ code: 'tool_timeout' });
    await expect(call(50.5)).rejects.toMatchObject({
      code: 'tool_timeout',
      message: expect.stringContaining('51 ms') as string,
    });
    await expect(call(NaN)).rejects.toMatchObject({ code: 'invalid_option' });
    await expect(client.tools({ callTimeoutMs: -1 })).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  it('gives up opening at a signal', async () => {
    const reason = new Error('enough');
    await expect(connect('silent', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    setTimeout(() => controller.abort(reason), 100);
    await expect(connect('silent', { signal: controller.signal })).rejects.toBe(reason);
  });

  it('stops at a signal', async () => {
    const client = await connect();
    const reason = new Error('enough');
    const call = client.callTool('hang', {}, { signal: AbortSignal.abort(reason) });
    await expect(call).rejects.toBe(reason);
    const controller = new AbortController();
    const later = client.callTool('hang', {}, { signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await expect(later).rejects.toBe(reason);
    expect(await textOf(client, 'echo', { text: 'still here' })).toBe('still here');
  });

  it('ends a server that does not want to', async () => {
    const client = await connect('deaf', { graceMs: 100 });
    const pid = Number(await textOf(client, 'pid'));
    const unmatched = Number(await textOf(client, 'spawn'));
    expect(isAlive(pid) && isAlive(unmatched)).toBe(true);
    await client.close();
    expect(await isGone(pid)).toBe(true);
    expect(await isGone(unmatched)).toBe(true);
    await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'mcp_connection_failed' });
  });

  it('ends everything that a server keeps starting', async () => {
    const client = await connect('deaf', { graceMs: 100 });
    const started = Array.from({ length: 30 }, async () => Number(await textOf(client, 'spawn')));
    const unmatched = await Promise.all(started);
    expect(unmatched.every(isAlive)).toBe(true);
    await client.close();
    const gone = await Promise.all(unmatched.map((pid) => isGone(pid)));
    expect(gone).toEqual(unmatched.map(() => true));
  });

  it('leaves nothing behind when its own process is killed', async () => {
    const script = `
      const { createMCPClient } = require(${JSON.stringify(join(__dirname, '../../../dist/cjs'))});
      createMCPClient({ command: 'sh', args: ['-c', ${JSON.stringify(`sh -c '"${process.execPath}" "${server}"'`)}] })
        .then((client) => client.callTool('pid'))
        .then(({ content }) => console.log(content[0].text));`;
    const host = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface({ input: host.stdout }), 'line')) as [string];
    expect(isAlive(Number(line))).toBe(true);
    host.kill('SIGKILL');
    expect(await isGone(Number(line))).toBe(true);
  });
});

describe('a server that misbehaves', () => {
  it('is told by its last words when it does not start', async () => {
    await expect(connect('crash')).rejects.toMatchObject({
      code: 'mcp_connection_failed',
      message: expect.stringContaining('cannot find my configuration') as string,
    });
    await expect(createMCPClient({ command: 'no-such-program-here' })).rejects.toMatchObject({
      code: 'process_start_failed',
    });
    await expect(createMCPClient({ command: 'npx -y some-server' })).rejects.toMatchObject({
      code: 'process_start_failed',
      message: expect.stringContaining('belong in `args`') as string,
    });
    await expect(connect('silent', { startMs: 1500 })).rejects.toMatchObject({
      code: 'mcp_connection_failed',
      message: expect.stringMatching(/within 1500 ms\. It wrote: waiting for the data/) as string,
      detail: expect.stringContaining('waiting for the database') as string,
    });
    const program = String.raw`console.error('no \x1b[2J\x1b[31mtoken\x1b[0m ' + process.env.SERVICE_TOKEN)`;
    const env = { SERVICE_TOKEN: 'Zq9Xw8Vu7Ts6Rq5Po4' };
    await expect(
      createMCPClient({ command: process.execPath, args: ['-e', program], env }),
    ).rejects.toMatchObject({
      message: expect.stringMatching(/It wrote: no token \[redacted\]$/) as string,
    });
    const noisy = `console.error('my manual'); console.log('x'.repeat(1 << 21))`;
    const babble = {
      command: process.execPath,
      args: ['-e', `${noisy};setInterval(() => 0, 9e3)`],
    };
    await expect(createMCPClient({ ...babble, maxMessageBytes: 1 << 20 })).rejects.toMatchObject({
      code: 'line_too_long',
      message: expect.stringContaining('my manual') as string,
    });
  });

  it('is started again when it closed its output', async () => {
    const client = await connect();
    const first = await textOf(client, 'pid');
    await expect(client.callTool('mute')).rejects.toMatchObject({
      code: 'mcp_session_lost',
      message: expect.stringContaining('closed its standard output') as string,
    });
    expect(await isGone(Number(first))).toBe(true);
    expect(await textOf(client, 'echo', { text: 'again' })).toBe('again');
  });

  it('that lists what is no tool keeps its others', async () => {
    const client = await connect('odd', { name: 'fixture', trusted: true });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo']);
    expect((await client.tools()).map(({ name }) => name)).toEqual(['fixture__echo']);
  });

  it('is started again for the next call when it died', async () => {
    let changes = 0;
    const client = await connect('good', { onToolsChanged: () => (changes += 1) });
    const first = await textOf(client, 'pid');
    await expect(client.callTool('die')).rejects.toMatchObject({
      code: 'mcp_session_lost',
    });
    const second = await textOf(client, 'pid');
    expect(second).not.toBe(first);
    expect(changes).toBe(1);
  });

  it.each(['hang', 'wrong-id'])('that answers with "%s" costs a call its limit', async (name) => {
    const client = await connect();
    await expect(client.callTool(name, {}, { timeoutMs: 150 })).rejects.toMatchObject({
      code: 'tool_timeout',
    });
    expect(await textOf(client, 'echo', { text: 'next' })).toBe('next');
  });

  it.each(['garbage', 'flood', 'stderr-flood'])('with "%s" does not hurt', async (name) => {
    const client = await connect();
    expect(await textOf(client, name)).not.toBe('');
    expect(await textOf(client, 'echo', { text: 'next' })).toBe('next');
  });

  it('is given up for a line without end', async () => {
    const client = await connect('good', { maxMessageBytes: 1 << 20 });
    await expect(client.callTool('huge-line')).rejects.toMatchObject({ code: 'line_too_long' });
    expect(await textOf(client, 'echo', { text: 'next' })).toBe('next');
  });
});

describe('millrace mcp test', () => {
  const run = async (
    ...args: string[]
  ): Promise<{ code: number; output: string; stdout: string }> => {
    const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
    const child = spawn(process.execPath, [cli, 'mcp', 'test', ...args]);
    let output = '';
    let stdout = '';
    child.stdout.on('data', (data) => {
      output += String(data);
      stdout += String(data);
    });
    child.stderr.on('data', (data) => (output += String(data)));
    const [code] = (await once(child, 'close')) as [number];
    return { code, output, stdout };
  };

  it('prints what a server announces and calls a tool', async () => {
    const program = ['--', process.execPath, server];
    const shown = await run('--call', 'echo', '--args', '{"text":"hi"}', ...program);
    expect(shown.code).toBe(0);
    expect(shown.output).toContain('fixture 1, protocol 2025-11-25');
    expect(shown.output).toContain('Gives back its text.');
    expect(shown.output).toContain('\ninstructions:\n  Be brief.\n');
    expect(shown.output).toContain('test://a');
    expect(shown.output).toMatch(/echo:\nhi\n$/);
    const { code, output } = await run('--json', '--call', 'fail', ...program);
    expect(code).toBe(1);
    expect(JSON.parse(output)).toMatchObject({
      serverInfo: { name: 'fixture' },
      result: { isError: true },
    });
  });

  it.each<[string, string[]]>([
    ['after its own options', ['--json', process.execPath, server]],
    ['before them', [process.execPath, server, '--json', '--timeout', '9000']],
    ['with options of its own', ['--json', process.execPath, '--no-warnings', '-r', 'fs', server]],
    ['as one word', ['--json', `"${process.execPath}" '${server}' good`]],
    ['behind --', ['--json', '--', process.execPath, server, '--timeout', 'x']],
  ])('takes a command %s', async (_where, args) => {
    const { code, stdout } = await run(...args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ serverInfo: { name: 'fixture' } });
  });

  it('shows what is there when a list fails, and lets nothing move the cursor', async () => {
    const program = ['--', process.execPath, server, 'odd'];
    const { code, stdout } = await run(...program);
    expect(code).toBe(1);
    expect(stdout).toContain('fix[2Jture 1, protocol');
    expect(stdout).toMatch(/\ntools:\nname +description\necho/);
    expect(stdout).toMatch(/prompts: .*boom.*\(mcp_error\)/);
    expect(stdout).not.toContain('\u001b');
    const json = JSON.parse((await run('--json', ...program)).stdout) as object;
    expect(json).toMatchObject({ tools: [{}], failures: { prompts: { code: 'mcp_error' } } });
  });

  it('says why it cannot', async () => {
    const { code, output } = await run('--', process.execPath, server, 'crash');
    expect(code).toBe(1);
    expect(output).toContain('cannot find my configuration');
    const reported = await run('--json', '--call', 'none', '--', process.execPath, server);
    expect(reported.code).toBe(1);
    expect(JSON.parse(reported.stdout)).toMatchObject({
      serverInfo: { name: 'fixture' },
      error: { code: 'mcp_error', message: expect.stringContaining('no tool none') as string },
    });
    const lost = await run('--json', 'no-such-program-here');
    expect(JSON.parse(lost.stdout)).toMatchObject({ error: { code: 'process_start_failed' } });
  }, 30_000);

  it.each<[string[]]>([
    [[]],
    [['--none', process.execPath]],
    [['http://127.0.0.1:9', 'more']],
    [['--args', 'no', 'http://127.0.0.1:9']],
    [['--protocol', '1999', 'http://127.0.0.1:9']],
    [['--authorize', 'yes', 'http://127.0.0.1:9']],
  ])('is not used with %j', async (args) => {
    expect((await run(...args)).code).toBe(2);
  });
});

describe('tools of MCP servers', () => {
  it('work as tools of agents', async () => {
    const client = await connect('good', { name: 'fix', trusted: true });
    const engine = createAgentToolsEngine({
      tools: await client.tools({ allow: ['echo', 'fail'] }),
    });
    expect(Object.keys(engine.tools)).toEqual(['fix__echo', 'fix__fail']);
    expect(engine.toolManifestMap['fix__echo']).toMatchObject({
      effect: 'read',
      humanIntervention: 'never',
    });
    expect(engine.toolManifestMap['fix__fail']).toMatchObject({ effect: 'once' });
    const call = (name: string, args: object): unknown =>
      engine.tools[name]?.(args as never, {} as never);
    expect(await call('fix__echo', { text: 'hello' })).toBe('hello');
    await expect(call('fix__fail', {})).rejects.toMatchObject({
      code: 'tool_failed',
      message: 'it broke',
    });
  });

  it('run without a context, too', async () => {
    const client = await connect('good', { name: 'fix' });
    const [echo] = (await client.tools({ allow: ['echo'] })) as never as {
      run(input: object): unknown;
    }[];
    expect(await echo?.run({ text: 'x' })).toBe('x');
  });

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('disk full');
      },
    ],
    ['gives no address', () => undefined],
    ['gives the bytes', () => 'data:image/png;base64,AAEC'],
  ])('count as run when a store %s', async (_what, store) => {
    const client = await connect('good', { name: 'fix', trusted: true });
    const [image] = await client.tools({ allow: ['image'], store: store as never });
    const result = await (image as { run(input: object): unknown } | undefined)?.run({});
    expect(result).toEqual({
      success: true,
      content: expect.stringMatching(/u:1\]\n\[the image .* could not be kept/) as string,
    });
    await expect(client.tools({ store: 'x' as never })).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  it.each(['denied', 'trust', 'Deny'])('have no option %s', async (option) => {
    const client = await connect();
    await expect(client.tools({ [option]: ['fail'] })).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  it('of two clients of a server need names', async () => {
    const lists = [await connect(), await connect()].map((one) => one.tools({ allow: ['echo'] }));
    const tools = (await Promise.all(lists)).flat();
    const hint = expect.objectContaining({
      code: 'invalid_option',
      message: expect.stringMatching(/two tools called fixture__echo.*`name`/),
    });
    expect(() => createAgentToolsEngine({ tools })).toThrow(hint);
    expect(() => createAgent({ model: 'demo:demo', tools })).toThrow(hint);
    const free = tools.map((one) => ({ ...one, approval: false }));
    expect(() => new Engine({ tools: free })).toThrow(hint);
  });

  it('of two clients may have one name where each has an agent of its own', async () => {
    const [first, second] = [await connect(), await connect()];
    const listed = async (client: MCPClient) => client.tools({ allow: ['pid'], trusted: true });
    const calls = [{ id: 'c1', name: 'fixture__pid', args: {} }];
    const helper = [{ id: 'c2', name: 'helper', args: { task: 'x' } }];
    const model = await startModel([
      { calls },
      { calls: helper },
      { calls: [{ id: 'c3', name: 'fixture__pid', args: {} }] },
      { text: 'helped' },
      { text: 'done' },
    ]);
    const provider = { apiKey: 'k', baseURL: model.url };
    const child = createAgent({ model: 'openai:m', provider, tools: await listed(second) });
    const agents = [{ name: 'helper', description: 'Helps.', agent: child }];
    const parent = createAgent({ model: 'openai:m', provider, tools: await listed(first), agents });
    const received: string[] = [];
    const run = parent.run('x');
    for await (const event of run) {
      if (event.type === 'TOOL_CALL_RESULT') received.push(event.content as string);
    }
    await model.close();
    expect(await run.text()).toBe('done');
    expect(received).toHaveLength(3);
    expect(received[0]).toMatch(/^\d+$/);
    expect(received[1]).toMatch(/^\d+$/);
    expect(received[1]).not.toBe(received[0]);
  });

  it('keep files of results where a store is given', async () => {
    const client = await connect('good', { name: 'fix', trusted: true });
    const retained: { mimeType: string; bytes: Uint8Array }[] = [];
    const [reported] = await client.tools({ allow: ['image'] });
    const [stores] = await client.tools({
      allow: ['image'],
      store: (file) => `https://files.example/${retained.push(file)}`,
    });
    const run = (one: unknown): unknown => (one as { run(input: object): unknown }).run({});
    expect(await run(reported)).toBe('[image image/png]\n[resource u:1]');
    expect(await run(stores)).toMatchObject({
      content: '[image image/png]\n[resource u:1]',
      success: true,
      attachments: [
        { type: 'image', mimeType: 'image/png', url: 'https://files.example/1' },
        { type: 'file', mimeType: 'application/pdf', url: 'https://files.example/2' },
      ],
    });
    expect(retained.map(({ bytes }) => [...bytes])).toEqual([[0, 1, 2], [3]]);
  });

  it('are chosen by patterns', async () => {
    const client = await connect('good', { name: 'fix' });
    const names = async (options: object): Promise<string[]> =>
      (await client.tools(options)).map(({ name }) => name);
    expect(await names({ allow: ['ec*'] })).toEqual(['fix__echo']);
    expect(await names({ expose: ['fix__echo', 'fail'] })).toEqual(['fix__echo', 'fix__fail']);
    expect(await names({ allow: ['e*'], deny: ['fix__echo', 'el*'] })).toEqual(['fix__env']);
    expect(await names({ deny: ['*'] })).toEqual([]);
    for (const wrong of [{ allow: 'echo' }, { deny: 'echo' }, { expose: [1] }]) {
      await expect(names(wrong)).rejects.toMatchObject({ code: 'invalid_option' });
    }
  });

  it('ask a person unless they are trusted, and again when they change', async () => {
    const strange = await connect();
    expect(
      (await strange.tools()).every(({ approval, effect }) => approval && effect === 'once'),
    ).toBe(true);
    const trusted = await connect('good', { trusted: true });
    const approveOf = async (): Promise<unknown> =>
      (await trusted.tools({ allow: ['echo'] }))[0]?.approval;
    expect(await approveOf()).toBe(false);
    await trusted.callTool('change');
    expect(await approveOf()).toBe(true);
  });
});
