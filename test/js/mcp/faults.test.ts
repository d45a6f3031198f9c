// MCP servers that misbehave while an agent calls their tools: the run goes on with an error of the tool,
// within the tool's limit and a second, and nothing is left behind.
//
// Runs alone: it measures time.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';

import { createAgent, createMCPClient, type MCPClient, type MCPClientOptions } from 'millrace';

import type { ScriptedModel } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';
import { bodyOf, type Loopback, loopback } from '../support/server';

const fixture = join(__dirname, '../fixtures/mcp-server.cjs');
const closing: { close(): Promise<unknown> }[] = [];
const limitMs = 1000;
// The second that the limit may be late by, and what a busy machine adds.
const authorizationTimeoutMs = limitMs + 1000 + 4000;

jest.setTimeout(60_000);

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});

type Reach = { url: string } | { command: string; args: string[] };

async function connect(
  options: Partial<MCPClientOptions> = {},
  reach: Reach = { command: process.execPath, args: [fixture] },
): Promise<MCPClient> {
  const given = { name: 's', trusted: true, ...options, ...reach } as MCPClientOptions;
  const client = await createMCPClient(given);
  closing.push(client);
  return client;
}

interface Seen {
  results: unknown[];
  status: string;
  ms: number;
}

// An agent that calls the tool, then `after`, and answers.
async function play(client: MCPClient, name: string, after?: string): Promise<Seen> {
  const calls = [name, ...(after === undefined ? [] : [after])];
  const model: ScriptedModel = await startModel((_body, index) =>
    index < calls.length
      ? { calls: [{ id: `c${index}`, name: calls[index]!, args: { text: 'next' } }] }
      : { text: 'Done.' },
  );
  closing.push(model);
  const agent = createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    tools: await client.tools({ callTimeoutMs: limitMs }),
  });
  const began = Date.now();
  const run = agent.run('Go.');
  const results: unknown[] = [];
  for await (const event of run) {
    if (event.type === 'TOOL_CALL_RESULT') results.push(event.content);
  }
  const { status } = await run.result;
  return { results, status, ms: Date.now() - began };
}

describe('a program', () => {
  it.each<[string, string, RegExp, Partial<MCPClientOptions>]>([
    ['hangs', 'hang', /did not answer tools\/call within 1000 ms/, {}],
    ['reports progress for ever', 'drag', /did not answer tools\/call within 1000 ms/, {}],
    ['closes its output', 'mute', /closed its standard output/, {}],
    ['dies in the middle of a call', 'die', /program ended with exit code 9/, {}],
    ['answers another id', 'wrong-id', /did not answer/, {}],
    ['says that it failed', 'fail', /it broke/, {}],
    ['writes a line of 100 MB', 'huge-line', /longer than/, { maxMessageBytes: 1 << 20 }],
    ['answers in the wrong shape', 'no-result', /./, {}],
    ['lies about its schema', 'lie', /does not follow the schema/, {}],
  ])('that %s costs the run an error of its tool', async (_what, name, expected, options) => {
    const seen = await play(await connect(options), `s__${name}`, 's__echo');
    expect(seen.status).toBe('completed');
    expect(seen.results[0]).toMatch(expected);
    expect(seen.results[1]).toBe('next');
    expect(seen.ms).toBeLessThan(authorizationTimeoutMs);
  });

  it.each([
    ['writes garbage', 'garbage', 'after garbage'],
    ['floods notifications', 'flood', 'flooded'],
    ['floods standard error', 'stderr-flood', 'wrote'],
    ['answers twice', 'twice', 'first'],
  ])('that %s does no harm', async (_what, name, expected) => {
    const seen = await play(await connect(), `s__${name}`, 's__echo');
    expect(seen).toMatchObject({ status: 'completed', results: [expected, 'next'] });
  });

  it('that answers late is not heard any more', async () => {
    const client = await connect();
    const seen = await play(client, 's__late', 's__echo');
    expect(seen.results).toEqual([expect.stringMatching(/did not answer/) as string, 'next']);
    await new Promise((resolve) => setTimeout(resolve, limitMs));
    expect((await play(client, 's__echo')).results).toEqual(['next']);
  });

  it('that announces changes without end does no harm', async () => {
    let changes = 0;
    const client = await connect({ onToolsChanged: () => (changes += 1) });
    expect((await play(client, 's__changes', 's__echo')).results).toEqual(['announced', 'next']);
    expect(changes).toBe(1000);
  });
});

describe('an address', () => {
  type Misbehave = (response: ServerResponse, id: number) => void;
  const text = (received: string): object => ({ content: [{ type: 'text', text: received }] });
  const json = (response: ServerResponse, body: object): void => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', ...body }));
  };
  let other: Loopback;
  let visited = 0;
  beforeAll(async () => {
    other = await loopback((_request, response) => {
      visited += 1;
      response.end();
    });
  });
  afterAll(() => other.close());

  async function served(misbehave: Misbehave): Promise<MCPClient> {
    const server = await loopback((request, response) => {
      void (async () => {
        const { id, method, params } = JSON.parse((await bodyOf(request)) || '{}') as {
          id: number;
          method?: string;
          params: { name: string };
        };
        if (method === 'initialize') {
          const serverInfo = { name: 's', version: '1' };
          const capabilities = { tools: {} };
          const result = { protocolVersion: '2025-11-25', capabilities, serverInfo };
          return json(response, { id, result });
        }
        if (method === 'tools/list') {
          const tools = ['bad', 'echo'].map((name) => ({ name, inputSchema: { type: 'object' } }));
          return json(response, { id, result: { tools } });
        }
        if (method !== 'tools/call') return response.writeHead(method ? 202 : 405).end();
        if (params.name === 'echo') return json(response, { id, result: text('next') });
        return misbehave(response, id);
      })();
    });
    closing.push(server);
    return connect({}, { url: `${server.url}/mcp` });
  }

  const event = (data: object): string =>
    `data: ${JSON.stringify({ jsonrpc: '2.0', ...data })}\n\n`;
  const stream = (response: ServerResponse): ServerResponse =>
    response.writeHead(200, { 'content-type': 'text/event-stream' });

  it.each<[string, Misbehave, RegExp]>([
    ['never answers', () => undefined, /did not answer/],
    ['breaks off', (response) => void response.destroy(), /./],
    ['redirects elsewhere', (r) => void r.writeHead(307, { location: other.url }).end(), /./],
    ['gives an error status', (response) => void response.writeHead(500).end('no'), /500/],
    [
      'answers another id',
      (r, id) => json(r, { id: id + 999, result: text('x') }),
      /belongs to no request/,
    ],
    ['answers with a page', (r) => void r.setHeader('content-type', 'text/html').end('<p>'), /./],
    [
      'answers with garbage',
      (r) => void r.setHeader('content-type', 'application/json').end('{'),
      /./,
    ],
    ['ends a stream without an answer', (response) => void stream(response).end(': hi\n\n'), /./],
    ['gives no result', (response, id) => json(response, { id }), /./],
  ])('that %s costs the run an error of its tool', async (_what, misbehave, expected) => {
    const seen = await play(await served(misbehave), 's__bad', 's__echo');
    expect(seen.status).toBe('completed');
    expect(seen.results[0]).toMatch(expected);
    expect(seen.results[1]).toBe('next');
    expect(seen.ms).toBeLessThan(authorizationTimeoutMs);
    expect(visited).toBe(0);
  });

  it('that answers twice is heard once', async () => {
    const client = await served((response, id) => {
      stream(response).write(event({ id, result: text('first') }));
      response.end(event({ id, result: text('second') }));
    });
    const seen = await play(client, 's__bad', 's__echo');
    expect(seen.results).toEqual(['first', 'next']);
  });
});

// A server of a few lines that starts fast; it ends with the call of `die`.
const small = `
while read -r line; do
  id=\${line#*'"id":'}; id=\${id%%[,\\}]*}
  case $line in
    *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}';;
    *'"name":"die"'*) exit 7;;
    *'"tools/call"'*) r='{"content":[{"type":"text","text":"up"}]}';;
    *) continue;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\\n' "$id" "$r"
done`;

// Descriptors by what they are; those of files that the test runner reads come and go.
function descriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${fd}`);
      return /^(pipe|socket|anon_inode)/.test(target) ? [target.replace(/\d+/, '')] : [];
    } catch {
      return [];
    }
  });
}

function children(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(parent) === process.pid ? [`${pid} ${state ?? ''}`] : [];
    } catch {
      return [];
    }
  });
}

describe('a program that dies again and again', () => {
  const restarts = Number(process.env['MILLRACE_MCP_RESTARTS'] ?? 200);

  it('leaves no process and no descriptor behind', async () => {
    const client = await connect({}, { command: 'sh', args: ['-c', small] });
    const before = { descriptors: descriptors(), children: children().length };
    for (let i = 0; i < restarts; i++) {
      await expect(client.callTool('die')).rejects.toMatchObject({ code: 'mcp_session_lost' });
      const { content } = await client.callTool('up');
      expect(content).toEqual([{ type: 'text', text: 'up' }]);
    }
    // The last one's watcher may still be at its end.
    for (const end = Date.now() + 5000; children().length > before.children;) {
      if (Date.now() > end) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(children().length).toBe(before.children);
    expect(children().filter((child) => child.endsWith('Z'))).toEqual([]);
    expect(descriptors().sort()).toEqual(before.descriptors.sort());
  }, 240_000);
});
