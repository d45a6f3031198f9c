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

import { bodyOf, type Loopback, loopback } from './support/server';

let web: Loopback;
let mcp: MCPClient;
beforeAll(async () => {
  web = await loopback((request, response) => {
    void bodyOf(request).then((body) => response.end(`plugin got ${body}`));
  });
  mcp = await createMCPClient({
    command: process.execPath,
    args: [join(__dirname, 'fixtures/mcp-server.cjs')],
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
        manifest: { identifier: 'one', api: [{ name: 'f', url: `${web.url}/f` }] },
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

  it.each<[string, Partial<ToolPayload>]>([
    ['no builtin tool', { type: 'builtin', apiName: 'none' }],
    ['no MCP server', { type: 'mcp', identifier: 'none' }],
    ['no tool of an MCP server', { type: 'mcp', apiName: 'none' }],
    ['no plugin', { identifier: 'none' }],
    ['no function of a plugin', { apiName: 'none' }],
    ['no JSON', { type: 'builtin', arguments: '{"text":' }],
    ['no JSON, of an MCP server', { type: 'mcp', apiName: 'echo', arguments: '{' }],
    ['no JSON, of a plugin', { arguments: '{' }],
  ])('gives a record where there is %s', async (_what, more) => {
    const result = await invokeTool(payload(more), sources());
    expect(result.success).toBe(false);
    expect(result.error?.type).not.toBe('');
    expect(result.content).not.toBe('');
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
