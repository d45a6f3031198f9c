// What a client of 2026-07-28 asks to be told: the stream of changes and its filter, and the level of logs.
import type { ServerResponse } from 'node:http';

import { createMCPClient, type MCPClient, type MCPClientOptions } from 'millrace';

import { bodyOf, type Loopback, loopback, until } from '../support/server';

interface Requested {
  method: string;
  params: { notifications?: object; _meta?: Record<string, unknown> };
}

const requested: Requested[] = [];
const streams: ServerResponse[] = [];
let left = 0;
let server: Loopback;
let client: MCPClient | undefined;

const filters = (): unknown[] =>
  requested.flatMap(({ method, params }) =>
    method === 'subscriptions/listen' ? [params.notifications] : [],
  );

function report(method: string, params: object = {}): void {
  streams.at(-1)?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params })}\n\n`);
}

beforeEach(async () => {
  requested.length = 0;
  streams.length = 0;
  left = 0;
  server = await loopback((request, response) => {
    void (async () => {
      const { id, ...received } = JSON.parse(await bodyOf(request)) as Requested & { id: number };
      requested.push(received);
      if (received.method === 'subscriptions/listen') {
        response.on('close', () => (left += 1));
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': open\n\n');
        streams.push(response);
        return;
      }
      const capabilities = { tools: {}, resources: { subscribe: true }, logging: {} };
      const result =
        received.method === 'server/discover'
          ? { supportedVersions: ['2026-07-28'], capabilities }
          : { content: [{ type: 'text', text: 'called' }] };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    })();
  });
});

afterEach(async () => {
  await client?.close();
  await server.close();
});

async function connect(options: Partial<MCPClientOptions> = {}): Promise<MCPClient> {
  const reach = { url: `${server.url}/mcp`, protocolVersion: '2026-07-28' };
  client = await createMCPClient({ ...reach, ...options } as MCPClientOptions);
  return client;
}

describe('a client of 2026-07-28', () => {
  it('asks who is there in the place of a ping, which has gone', async () => {
    const one = await connect();
    await one.ping();
    expect(requested.map(({ method }) => method)).toEqual(['server/discover', 'server/discover']);
  });

  it('names the resources that it wants to hear of, and asks anew when they change', async () => {
    const updated: string[] = [];
    const one = await connect({ onResourceUpdated: (uri) => updated.push(uri) });
    expect(filters()).toEqual([]);
    await one.subscribeResource('test://a');
    await until(() => streams.length === 1, 'the first stream');
    report('notifications/resources/updated', { uri: 'test://a' });
    await until(() => updated.length === 1, 'the first change');
    await one.subscribeResource('test://b');
    await until(() => streams.length === 2, 'the second stream');
    await one.unsubscribeResource('test://a');
    await until(() => streams.length === 3, 'the third stream');
    report('notifications/resources/updated', { uri: 'test://b' });
    await until(() => updated.length === 2, 'the second change');
    await one.unsubscribeResource('test://b');
    await until(() => left === 3, 'the end of the last stream');
    expect(filters()).toEqual([
      { resourceSubscriptions: ['test://a'] },
      { resourceSubscriptions: ['test://a', 'test://b'] },
      { resourceSubscriptions: ['test://b'] },
    ]);
    expect(updated).toEqual(['test://a', 'test://b']);
    expect(requested.some(({ method }) => method.startsWith('resources/'))).toBe(false);
  });

  it('joins them with the changes of lists', async () => {
    const one = await connect({ onToolsChanged: () => undefined });
    // A question that is taken back at once may never be sent.
    await until(() => filters().length === 1, 'the first question');
    await one.subscribeResource('test://a');
    await until(() => filters().length === 2, 'the second question');
    expect(filters()).toEqual([
      { toolsListChanged: true },
      { toolsListChanged: true, resourceSubscriptions: ['test://a'] },
    ]);
  });

  it('says with each call which logs it wants', async () => {
    const one = await connect();
    await one.setLogLevel('debug');
    await one.callTool('t');
    const call = requested.find(({ method }) => method === 'tools/call');
    expect(call?.params._meta).toMatchObject({ 'io.modelcontextprotocol/logLevel': 'debug' });
    expect(requested.some(({ method }) => method === 'logging/setLevel')).toBe(false);
  });
});
