// Calls of tools by LobeHub's names: each type of payload reaches its kind of tool, and whatever happens is a
// record.
import { join } from 'node:path';

import {
  builtinTools,
  createMCPClient,
  type HostTool,
  invokeBuiltinTool,
  invokeTool,
  type MCPClient,
  tool,
  type ToolPayload,
} from 'millrace';

import { bodyOf, type Loopback, loopback } from '../support/server';

let web: Loopback;
let mcp: MCPClient;
beforeAll(async () => {
  web = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      if (request.url !== '/wait') response.end(`plugin got ${body}`);
    });
  });
  mcp = await createMCPClient({
    command: process.execPath,
    args: [join(__dirname, '../fixtures/mcp-server.cjs')],
  });
});
afterAll(async () => {
  await mcp.close();
  await web.close();
});

const payload = (more: Partial<ToolPayload>): ToolPayload => ({
  id: 'c1',
  identifier: 'one',
  apiName: 'f',
  arguments: '{"text":"hi"}',
  ...more,
});

const own = (run: HostTool['run'], more: object = {}): HostTool[] => [
  tool<never>({ name: 'f', run, ...more }),
];

describe('invokeTool', () => {
  const sources = () => ({
    builtin: [...own(() => 'from the host'), ...builtinTools({ calculator: true })],
    mcp: { one: mcp },
    plugins: {
      one: {
        manifest: {
          identifier: 'one',
          api: ['f', 'wait'].map((name) => ({ name, url: `${web.url}/${name}` })),
        },
        guard: { allow: [web.url.slice('http://'.length)] },
      },
    },
  });

  it.each<[string, Partial<ToolPayload>, string]>([
    ['a function', { type: 'builtin' }, 'from the host'],
    [
      'a tool of the engine',
      { type: 'builtin', apiName: 'calculator', arguments: '{"expression":"2^10"}' },
      '1024',
    ],
    ['an MCP server', { type: 'mcp', apiName: 'echo' }, 'hi'],
    [
      'an MCP server with an object',
      { type: 'mcp', apiName: 'arguments', arguments: { a: 1 } as never },
      '{"a":1}',
    ],
    [
      'an MCP server with nothing',
      { type: 'mcp', apiName: 'arguments', arguments: undefined as never },
      '{}',
    ],
    ['a plugin', { type: 'default' }, 'plugin got {"text":"hi"}'],
    ['a plugin with a page', { type: 'standalone' }, 'plugin got {"text":"hi"}'],
    ['a plugin of Markdown', { type: 'markdown' }, 'plugin got {"text":"hi"}'],
    ['a payload without a type', {}, 'plugin got {"text":"hi"}'],
  ])('calls %s', async (_kind, more, content) => {
    const result = await invokeTool(payload(more), sources());
    expect(result).toMatchObject({
      content,
      success: true,
      executionTime: expect.any(Number) as number,
    });
  });

  it.each<[string, Partial<ToolPayload>, string]>([
    ['no builtin tool', { type: 'builtin', apiName: 'none' }, 'tool_not_found'],
    ['no MCP server', { type: 'mcp', identifier: 'none' }, 'VALIDATION_ERROR'],
    ['no MCP server of that name', { type: 'mcp', identifier: 'toString' }, 'VALIDATION_ERROR'],
    ['no tool of an MCP server', { type: 'mcp', apiName: 'none' }, 'UNKNOWN_ERROR'],
    ['no plugin', { identifier: 'none' }, 'tool_not_found'],
    ['no plugin of that name', { identifier: 'constructor' }, 'tool_not_found'],
    ['no kind of that name', { type: 'toString', identifier: 'none' }, 'tool_not_found'],
    ['no function of a plugin', { apiName: 'none' }, 'PluginApiNotFound'],
    ['no JSON', { type: 'builtin', arguments: '{"text":' }, 'invalid_json'],
    ['no object', { type: 'builtin', arguments: '[1]' }, 'invalid_argument'],
    [
      'no JSON, of an MCP server',
      { type: 'mcp', apiName: 'echo', arguments: '{' },
      'VALIDATION_ERROR',
    ],
    ['no JSON, of a plugin', { arguments: '{' }, 'PluginApiParamsError'],
  ])('gives a record where there is %s', async (_what, more, type) => {
    const result = await invokeTool(payload(more), sources());
    expect(result).toMatchObject({ success: false, error: { type } });
    expect(result.content).not.toBe('');
  });

  it('never rejects', async () => {
    for (const type of ['builtin', 'mcp', 'default'] as const) {
      expect(await invokeTool(payload({ type }), undefined as never)).toMatchObject({
        success: false,
        error: { type: type === 'mcp' ? 'VALIDATION_ERROR' : 'tool_not_found' },
      });
    }
    expect(await invokeTool(undefined as never, {})).toMatchObject({ success: false });
  });

  const types = ['builtin', 'mcp', 'default'] as const;
  const waiting = (type: string): ToolPayload =>
    payload({ type, apiName: type === 'mcp' ? 'hang' : 'wait', arguments: '{}' });
  const slow = () => {
    const all = sources();
    all.builtin.push({ name: 'wait', run: () => new Promise(() => undefined) });
    return all;
  };

  it.each(types)('takes arguments as an object, and none (%s)', async (type) => {
    const given = payload({ type, apiName: type === 'mcp' ? 'arguments' : 'f' });
    const builtin = own((input) => JSON.stringify(input));
    for (const [args, text] of [
      [{ text: 'x' }, '{"text":"x"}'],
      [undefined, '{}'],
      [null, '{}'],
      [' ', '{}'],
      ['null', '{}'],
    ] as const) {
      const result = await invokeTool(
        { ...given, arguments: args as never },
        { ...sources(), builtin },
      );
      expect(result).toMatchObject({ success: true });
      expect(result.content).toContain(text);
    }
  });

  it.each(types)('ends with the signal (%s)', async (type) => {
    for (const reason of [undefined, new Error('enough')]) {
      const abort = new AbortController();
      setTimeout(() => abort.abort(reason), 30);
      expect(await invokeTool(waiting(type), slow(), { signal: abort.signal })).toMatchObject({
        success: false,
        error: { type: 'cancelled' },
      });
    }
    const late = await invokeTool(waiting(type), slow(), { signal: AbortSignal.abort() });
    expect(late).toMatchObject({ success: false, error: { type: 'cancelled' } });
  });

  it.each(types)('ends with its time (%s)', async (type) => {
    const result = await invokeTool(waiting(type), slow(), { timeoutMs: 50 });
    expect(result).toMatchObject({
      success: false,
      error: { type: type === 'default' ? 'total_timeout' : 'tool_timeout' },
    });
  });

  it('makes the errors of MCP servers safe to read', async () => {
    const result = await invokeTool(payload({ type: 'mcp', apiName: '</tool>\u001b[31m' }), {
      mcp: { one: mcp },
    });
    expect(result.content).toContain('no tool < /tool>');
    expect(result.content).not.toContain('\u001b');
  });
});

describe('files in the results of MCP tools', () => {
  const bytes = Buffer.from('a picture').toString('base64');
  const content = [
    { type: 'text', text: 'see', data: 'kept' },
    { type: 'image', data: bytes, mimeType: 'image/png' },
    { type: 'audio', data: bytes, mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'test://a', blob: bytes, mimeType: 'a/b' } },
    null,
  ];
  const from = (more: object = {}) => ({
    mcp: { one: { callTool: async () => ({ content, ...more }) } as unknown as MCPClient },
  });

  it('are kept elsewhere, never in the record', async () => {
    const stored: string[] = [];
    const store = ({ id, bytes: retained }: { id: string; bytes: Uint8Array }) => {
      stored.push(Buffer.from(retained).toString());
      return `https://files.example/${id}`;
    };
    const structuredContent = { data: 1 };
    const call = payload({ type: 'mcp' });
    const result = await invokeTool(call, from({ structuredContent }), { store });
    expect(stored).toEqual(['a picture', 'a picture', 'a picture']);
    expect(JSON.stringify(result)).not.toContain(bytes);
    expect((result.state as { content: unknown[] }).content).toEqual([
      content[0],
      { type: 'image', mimeType: 'image/png' },
      { type: 'audio', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'test://a', mimeType: 'a/b' } },
      null,
    ]);
    expect(result).toMatchObject({
      success: true,
      content: expect.stringContaining('see') as string,
      state: { structuredContent },
      attachments: [
        { type: 'image', mimeType: 'image/png', url: expect.any(String) as string },
        { type: 'audio', mimeType: 'audio/wav' },
        { type: 'file', mimeType: 'a/b' },
      ],
    });
  });

  it('leave no bytes without a place for them', async () => {
    const result = await invokeTool(payload({ type: 'mcp' }), from());
    expect(JSON.stringify(result)).not.toContain(bytes);
    expect(result).not.toHaveProperty('attachments');
  });
});

describe('invokeBuiltinTool', () => {
  it('keeps what a record holds, and makes its text safe and short', async () => {
    const run = () => ({
      content: '</tool>'.repeat(10),
      success: true,
      state: { n: 1 },
      stop: true,
    });
    expect(await invokeBuiltinTool(payload({}), own(run), { maxLength: 8 })).toMatchObject({
      content: expect.stringMatching(/^< \/tool>\n\[cut here/) as string,
      success: true,
      state: { n: 1 },
      stop: true,
    });
  });

  it.each<[string, HostTool['run'], object, string]>([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
      {},
      'tool_failed',
    ],
    ['never returns', () => new Promise(() => undefined), { timeoutMs: 50 }, 'tool_timeout'],
    [
      'is called with wrong arguments',
      () => 'x',
      { input: { type: 'object', properties: { text: { type: 'number' } } } },
      'invalid_argument',
    ],
  ])('gives a record of a tool that %s', async (_what, run, more, type) => {
    const result = await invokeBuiltinTool(payload({}), own(run, more));
    expect(result).toMatchObject({ success: false, error: { type } });
  });
});
