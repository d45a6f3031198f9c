// `millrace serve --mcp`: servers from a configuration file as tools of the served agent.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { bareEnvironment } from '../../support/environment';
import type { Event } from '../../support/events';
import { readEvents } from '../../support/events';
import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';
import { bodyOf, type Loopback, loopback } from '../support/server';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const fixture = join(__dirname, '../fixtures/mcp-server.cjs');
const node = process.execPath;
const folder = mkdtempSync(join(tmpdir(), 'millrace-serve-mcp-'));
const children: ChildProcess[] = [];
const models: ScriptedModel[] = [];
const webs: Loopback[] = [];
let files = 0;

interface Served {
  child: ChildProcess;
  url: string;
  mcp: { name: string; state: string; tools: number; error?: { code: string; message: string } }[];
  /** What it wrote to standard error so far. */
  said: () => string;
}

function configured(mcpServers: unknown): string {
  const file = join(folder, `${files++}.json`);
  writeFileSync(file, typeof mcpServers === 'string' ? mcpServers : JSON.stringify({ mcpServers }));
  return file;
}

function start(args: string[], env: Record<string, string> = {}) {
  const child = spawn(node, [cli, 'serve', '--port', '0', '--json', ...args], {
    env: { ...bareEnvironment, HOME: folder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let received = '';
  child.stderr.on('data', (data) => (received += String(data)));
  return { child, said: () => received };
}

async function serve(
  mcpServers: unknown,
  { script = [], args = [] }: { script?: Turn[]; args?: string[] } = {},
): Promise<Served & { model: ScriptedModel }> {
  const model = await startModel(script);
  models.push(model);
  const { child, said: received } = start(
    [
      '--mcp',
      configured(mcpServers),
      '--model',
      'openai:scripted',
      '--base-url',
      model.url,
      ...args,
    ],
    { OPENAI_API_KEY: 'k', GREETING: 'hello' },
  );
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url, mcp } = JSON.parse(line) as Served;
  return { child, said: received, model, url, mcp };
}

async function exitOf(args: string[]): Promise<{ code: number; said: string }> {
  const { child, said: received } = start(args);
  const [code] = (await once(child, 'close')) as [number];
  return { code, said: received() };
}

async function post(url: string, messages: object[], more: object = {}): Promise<Event[]> {
  const response = await fetch(`${url}/agent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 't1', messages, ...more }),
  });
  expect(response.status).toBe(200);
  return readEvents(await response.text());
}

async function toolsOf(url: string): Promise<Map<string, { description: string }>> {
  const reported = (await (await fetch(`${url}/agent/capabilities`)).json()) as {
    tools: { items: { name: string; description: string }[] };
  };
  return new Map(reported.tools.items.map((item) => [item.name, item]));
}

// Programs start, which takes its time on a loaded machine.
jest.setTimeout(60_000);

const user = { id: 'u1', role: 'user', content: 'Go.' };
const call = (name: string, args: object = {}): Turn => ({ calls: [{ id: 'c1', name, args }] });
const result = (events: Event[]): unknown =>
  events.find(({ type }) => type === 'TOOL_CALL_RESULT')?.['content'];
const good = { command: node, args: [fixture] };

function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await Promise.all([...models.splice(0), ...webs.splice(0)].map((one) => one.close()));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// A server over HTTP, which may be asleep at first.
async function webServer(
  state: 'awake' | 'asleep' = 'awake',
  tools: object[] = [{ name: 'look', inputSchema: { type: 'object' } }],
) {
  const seen: unknown[] = [];
  let isAwake = state === 'awake';
  const answers: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'web', version: '1' },
    },
    'tools/list': { tools },
    'tools/call': { content: [{ type: 'text', text: 'seen' }] },
  };
  const web: Loopback = await loopback((request, response) => {
    void (async () => {
      const { id, method } = JSON.parse((await bodyOf(request)) || '{}') as {
        id?: number;
        method?: string;
      };
      if (!isAwake) return response.writeHead(503).end();
      seen.push(request.headers['x-team']);
      const answer = answers[method ?? ''];
      if (!answer) return response.writeHead(id === undefined ? 202 : 404).end();
      response.writeHead(200, { 'content-type': 'application/json' });
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer }));
    })();
  });
  webs.push(web);
  return { web, seen, wake: () => (isAwake = true) };
}

describe('millrace serve --mcp', () => {
  it('lets no server command the terminal that it is told about on', async () => {
    const words = '\u001b]0;title\u0007\u009b2J\u202e';
    const failing = {
      command: node,
      args: ['-e', `process.stderr.write(${JSON.stringify(words)} + 'gone'); process.exit(1)`],
    };
    const { said: received } = await serve({ [`bad${words}`]: good, failing });
    expect(received()).toContain('failing');
    expect(received()).toContain('gone');
    for (const bad of ['\u001b', '\u0007', '\u009b', '\u202e'])
      expect(received()).not.toContain(bad);
  });

  it('names the tools that it leaves out', async () => {
    const look = { name: 'look', inputSchema: { type: 'object' } };
    const { web } = await webServer('awake', [
      look,
      { ...look, title: 'other' },
      { title: 'none' },
    ]);
    const { said: received, mcp } = await serve({ web: { url: web.url } });
    expect(mcp).toMatchObject([{ name: 'web', state: 'ready', tools: 1 }]);
    expect(received()).toContain('MCP server web: 1 tool\n');
    expect(received()).toContain(
      "MCP server web: The tool 'look' is listed more than once; the first one counts.\n",
    );
    expect(received()).toContain('MCP server web: Tool 3 of the list has no name.\n');
  });

  it('gives the agent the tools of its servers, beside its own', async () => {
    const {
      url,
      mcp,
      said: received,
      model,
    } = await serve(
      { fix: { ...good, env: { SAID: '${GREETING}' }, cwd: '/tmp', trusted: true } },
      { script: [call('fix__echo', { text: 'hi' }), { text: 'Done.' }], args: ['--tools', 'time'] },
    );
    expect(mcp).toEqual([{ name: 'fix', state: 'ready', tools: expect.any(Number) as number }]);
    expect(received()).toMatch(/MCP server fix: \d+ tools/);
    const tools = await toolsOf(url);
    expect([...tools.keys()]).toEqual(expect.arrayContaining(['fix__echo', 'fix__fail', 'time']));
    expect(result(await post(url, [user]))).toBe('hi');
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'hi' });
  });

  it('asks before tools of a server that is not trusted, and runs them when allowed', async () => {
    const script = [call('fix__cwd'), { text: 'Done.' }];
    const { url } = await serve({ fix: { ...good, cwd: '/tmp' } }, { script });
    const requested = await post(url, [user], { runId: 'r1' });
    const { outcome } = requested.at(-1) as unknown as {
      outcome: { type: string; interrupts: { id: string }[] };
    };
    expect(outcome.type).toBe('interrupt');
    const resume = outcome.interrupts.map(({ id }) => ({
      interruptId: id,
      status: 'resolved',
      payload: { approved: true },
    }));
    expect(result(await post(url, [], { runId: 'r2', resume }))).toBe('/tmp');
  });

  it('shows only the tools that are allowed, and asks for those that changed', async () => {
    const script = [
      call('fix__change'),
      { text: 'Changed.' },
      call('fix__echo', { text: 'x' }),
      { text: 'Done.' },
    ];
    const { url } = await serve(
      { fix: { ...good, trusted: true, deny: ['fail', 'env'] } },
      { script, args: ['--approval', 'tools'] },
    );
    const before = await toolsOf(url);
    expect([...before.keys()]).not.toContain('fix__fail');
    await post(url, [user]);
    for (const end = Date.now() + 10_000; Date.now() < end;) {
      if ((await toolsOf(url)).get('fix__echo')?.description.includes('else')) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect((await toolsOf(url)).get('fix__echo')?.description).toBe('Does something else now.');
    const events = await post(url, [user], { threadId: 't2' });
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'interrupt' } });
  });

  it('names a server that fails and goes on with the others, or ends with --strict', async () => {
    const broken = {
      fix: good,
      crash: { command: node, args: [fixture, 'crash'] },
      none: { command: 'no-such-program' },
      gone: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
      variable: { command: node, args: ['${NOT_THERE}'] },
      both: { command: node, url: 'http://127.0.0.1/' },
      off: { command: 'not-started', disabled: true },
    };
    const { mcp, said: received, url } = await serve(broken);
    const states = Object.fromEntries(mcp.map(({ name, state }) => [name, state]));
    expect(states).toEqual({
      fix: 'ready',
      crash: 'failed',
      none: 'failed',
      gone: 'failed',
      variable: 'failed',
      both: 'failed',
    });
    expect(received()).toMatch(/MCP server crash: .*cannot find my configuration/s);
    expect(received()).toMatch(/MCP server none: .*no-such-program/);
    expect(received()).toMatch(/MCP server variable: .*NOT_THERE/);
    expect((await toolsOf(url)).has('fix__echo')).toBe(true);

    const strict = await exitOf([
      '--strict',
      '--mcp',
      configured({ fix: good, none: broken.none }),
    ]);
    expect(strict.code).toBe(1);
    expect(strict.said).toContain('--strict');
  });

  it('does not wait for a server that hangs', async () => {
    const hangs = { command: 'sleep', args: ['100'] };
    const { mcp, said: received, url } = await serve({ fix: good, hangs });
    expect(mcp.map(({ name, state }) => [name, state])).toEqual([
      ['fix', 'ready'],
      ['hangs', 'starting'],
    ]);
    expect(received()).toContain('MCP server hangs: starting');
    expect((await toolsOf(url)).has('fix__echo')).toBe(true);
  });

  it.each([
    ['is not there', '/no/such/file.json', /cannot be read/],
    ['is no JSON', configured('{"mcpServers":'), /is not JSON/],
    ['names no servers', configured('{"servers":{}}'), /mcpServers/],
  ])('refuses a file that %s', async (_what, file, expected) => {
    const { code, said: received } = await exitOf(['--mcp', file]);
    expect(code).toBe(2);
    expect(received).toMatch(expected);
  });

  it('reaches servers over HTTP with their headers', async () => {
    const { web, seen } = await webServer();
    const script = [call('web__look'), { text: 'Done.' }];
    const entry = { type: 'http', url: `${web.url}/mcp`, headers: { 'X-Team': '${GREETING}' } };
    const { url } = await serve({ web: entry }, { script, args: ['--approval', 'never'] });
    expect(result(await post(url, [user]))).toBe('seen');
    expect(new Set(seen)).toEqual(new Set(['hello']));
  });

  it('tries a server again that could not be reached', async () => {
    const { web, wake } = await webServer('asleep');
    const { url, mcp } = await serve({ web: { type: 'http', url: `${web.url}/mcp` } });
    expect(mcp).toMatchObject([{ name: 'web', state: 'failed' }]);
    expect((await toolsOf(url)).has('web__look')).toBe(false);
    wake();
    for (const end = Date.now() + 30_000; Date.now() < end;) {
      if ((await toolsOf(url)).has('web__look')) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect((await toolsOf(url)).has('web__look')).toBe(true);
  });

  it('heals: a server that died is started again, and the run goes on', async () => {
    const script = [
      call('fix__die'),
      { calls: [{ id: 'c2', name: 'fix__echo', args: { text: 'back' } }] },
      { text: 'Done.' },
    ];
    const { url } = await serve({ fix: good }, { script, args: ['--approval', 'never'] });
    const results = (await post(url, [user])).filter(({ type }) => type === 'TOOL_CALL_RESULT');
    expect(results.map(({ content }) => content)).toEqual([
      expect.stringMatching(/program ended/) as string,
      'back',
    ]);
  });

  it('ends its servers when it stops, and when it is killed', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const script = [call('fix__pid'), { text: 'Done.' }];
      const { url, child } = await serve({ fix: good }, { script, args: ['--approval', 'never'] });
      const pid = Number(result(await post(url, [user])));
      expect(isAlive(pid)).toBe(true);
      const ended = once(child, 'exit');
      child.kill(signal);
      const [code] = (await ended) as [number | null];
      expect(code).toBe(signal === 'SIGTERM' ? 0 : null);
      for (const end = Date.now() + 2000; isAlive(pid) && Date.now() < end;) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      expect(isAlive(pid)).toBe(false);
    }
  });
});
