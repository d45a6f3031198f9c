// MCP clients over HTTP: a small server that plays sessions, streams and faults.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';

import {
  CloudConnector,
  connectMCPServers,
  createMCPClient,
  invokeMCPTypePlugin,
  type MCPClient,
  type MCPClientOptions,
} from 'millrace';

interface Rpc {
  id?: number;
  method?: string;
  params: { name?: string; arguments?: Record<string, unknown>; protocolVersion?: string };
}

interface Seen {
  method: string;
  rpc: string;
  headers: IncomingMessage['headers'];
}

type Play = (rpc: Rpc, request: IncomingMessage, response: ServerResponse) => boolean | void;

class Peer {
  readonly seen: Seen[] = [];
  readonly #server: Server;
  session = 'session-1';
  /** Answers instead of the usual; true when it did. */
  play: Play = () => false;

  constructor() {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (data) => (body += String(data)));
      request.on('end', () => this.#handle(request, response, body));
    });
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  calls(): number {
    return this.seen.filter(({ rpc }) => rpc === 'tools/call').length;
  }

  #handle(request: IncomingMessage, response: ServerResponse, body: string): void {
    const rpc = (body ? JSON.parse(body) : { params: {} }) as Rpc;
    const { method = '', headers } = request;
    this.seen.push({ method, rpc: rpc.method ?? '', headers });
    if (this.play(rpc, request, response) === true) return;
    if (method !== 'POST') {
      response.writeHead(method === 'DELETE' ? 200 : 405).end();
      return;
    }
    if (rpc.method !== 'initialize' && headers['mcp-session-id'] !== this.session) {
      response.writeHead(404).end();
      return;
    }
    if (rpc.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    json(response, { id: rpc.id, result: resultOf(rpc) }, { 'mcp-session-id': this.session });
  }
}

function json(response: ServerResponse, message: object, headers = {}): void {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ jsonrpc: '2.0', ...message }));
}

function event(message: object, id?: string): string {
  const text = JSON.stringify({ jsonrpc: '2.0', ...message });
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${text}\n\n`;
}

const text = (value: string): object => ({ content: [{ type: 'text', text: value }] });

function resultOf({ method, params }: Rpc): object {
  if (method === 'initialize') {
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'peer', version: '1' },
    };
  }
  if (method === 'tools/list') return { tools: [{ name: 't', inputSchema: { type: 'object' } }] };
  return text(`called ${params.name}`);
}

let peer: Peer;
let url: string;
const open: MCPClient[] = [];

async function connect(options: Partial<MCPClientOptions> = {}): Promise<MCPClient> {
  const client = await createMCPClient({ url, ...options } as MCPClientOptions);
  open.push(client);
  return client;
}

beforeEach(async () => {
  peer = new Peer();
  url = await peer.start();
});

afterEach(async () => {
  await Promise.all(open.splice(0).map((client) => client.close()));
  peer.stop();
});

describe('an MCP client over HTTP', () => {
  it('takes an URL of another realm', async () => {
    const client = await connect({ url: { href: url, toString: () => url } as URL });
    expect(await client.callTool('t')).toEqual(text('called t'));
  });

  it('has no key in its errors, whatever the server repeats', async () => {
    const key = 'Zq9Xw8Vu7Ts6Rq5Po4';
    const client = await connect({
      url: `${url}?key=query-${key}`,
      headers: { 'X-Api-Key': `own-${key}` },
      auth: { type: 'bearer', token: key },
    });
    const echoes: Play[] = [
      ({ id }, { headers, url: path }, response) => {
        const words = `${headers.authorization} ${String(headers['x-api-key'])} ${path}`;
        return json(response, { id, error: { code: -1, message: words, data: { words } } });
      },
      (_rpc, { headers }, response) => void response.writeHead(500).end(headers.authorization),
      (_rpc, { headers }, response) =>
        void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(`{ ${headers.authorization}`),
    ];
    for (const echo of echoes) {
      peer.play = (rpc, request, response) => {
        if (rpc.method !== 'tools/call') return false;
        echo(rpc, request, response);
        return true;
      };
      const error: unknown = await client.callTool('t').catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      const text = inspect(error, { depth: 9, showHidden: true });
      expect(text).toContain('[redacted]');
      expect(text).not.toContain(key);
    }
  });

  it('keeps its session and ends it', async () => {
    const client = await connect({
      headers: { 'X-Own': '1' },
      auth: { type: 'bearer', token: 't' },
    });
    expect(await client.callTool('t')).toEqual(text('called t'));
    await client.close();
    const call = peer.seen.find(({ rpc }) => rpc === 'tools/call');
    expect(call?.headers).toMatchObject({
      'mcp-session-id': 'session-1',
      'mcp-protocol-version': '2025-11-25',
      'x-own': '1',
      authorization: 'Bearer t',
    });
    expect(peer.seen.at(-1)).toMatchObject({ method: 'DELETE' });
  });

  const plain = { 'content-type': 'text/plain' };
  it.each<[string, (rpc: Rpc, response: ServerResponse) => unknown]>([
    [
      'an error of 400',
      (_rpc, response) =>
        response
          .writeHead(400, { 'content-type': 'application/json' })
          .end('{"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}'),
    ],
    ['a text of 400', (_rpc, response) => response.writeHead(400, plain).end('Unknown session')],
  ])('opens a session that was lost and told of by %s', async (_how, reject) => {
    const client = await connect();
    peer.session = 'session-2';
    peer.play = (rpc, request, response) => {
      const isStale = request.headers['mcp-session-id'] === 'session-1';
      if (request.method !== 'POST' || !isStale) return false;
      reject(rpc, response);
      return true;
    };
    expect(await client.callTool('t')).toEqual(text('called t'));
    expect(peer.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
  });

  it('sends what only reads again after an error that tells of a lost session', async () => {
    const client = await connect();
    peer.session = 'session-2';
    peer.play = ({ id }, request, response) => {
      if (request.method !== 'POST' || request.headers['mcp-session-id'] !== 'session-1') {
        return false;
      }
      json(response, { id, error: { code: -32001, message: 'Session not found' } });
      return true;
    };
    await expect(client.callTool('t')).rejects.toMatchObject({
      code: 'mcp_error',
      message: expect.stringContaining('Session not found') as string,
    });
    expect(peer.calls()).toBe(1);
    expect(await client.callTool('t')).toEqual(text('called t'));
    expect(peer.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
    peer.session = 'session-3';
    peer.play = ({ id }, request, response) => {
      if (request.method !== 'POST' || request.headers['mcp-session-id'] !== 'session-2') {
        return false;
      }
      json(response, { id, error: { code: -32001, message: 'Session not found' } });
      return true;
    };
    expect(await client.listResources()).toBeDefined();
  });

  it.each([
    [200, { code: -32001, message: 'Clicked, but the browser session expired' }],
    [400, { code: -32000, message: 'Payment session declined' }],
    [400, { code: -32602, message: 'Unknown argument sessionName' }],
  ])('hands an error of %d on that names another session', async (status, error) => {
    const client = await connect();
    peer.play = ({ id, method }, _request, response) => {
      if (method !== 'tools/call') return false;
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }));
      return true;
    };
    await expect(client.callTool('t')).rejects.toMatchObject({
      code: 'mcp_error',
      message: expect.stringContaining(error.message) as string,
    });
    expect(peer.calls()).toBe(1);
  });

  it('opens a session once for each call where a server refuses every message', async () => {
    peer.play = (rpc, request, response) => {
      if (request.method !== 'POST' || rpc.method === 'initialize') return false;
      const error = { code: -32000, message: 'Bad Request: Server not initialized' };
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
      return true;
    };
    const client = await connect();
    await expect(client.callTool('t')).rejects.toMatchObject({
      code: 'mcp_session_lost',
      message: expect.stringContaining('Server not initialized') as string,
    });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(peer.calls()).toBe(2);
    expect(peer.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
  });

  it('sends requests when the server can ask on a stream of its own', async () => {
    let stream: ServerResponse | undefined;
    let isEarly = false;
    peer.play = (rpc, request, response) => {
      if (request.method === 'GET') {
        setTimeout(() => {
          stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
          stream.flushHeaders();
        }, 100);
        return true;
      }
      if (rpc.method === 'tools/list' || rpc.method === 'tools/call') isEarly ||= !stream;
      return false;
    };
    const client = await connect();
    await client.listTools();
    expect(isEarly).toBe(false);
    expect(stream).toBeDefined();
  });

  it('leaves no connection open for what nobody answers', async () => {
    const held = new Set<ServerResponse>();
    peer.play = (rpc, _request, response) => {
      if (rpc.method !== 'tools/call' && rpc.method !== 'notifications/cancelled') return false;
      held.add(response);
      response.on('close', () => held.delete(response));
      if (rpc.id === undefined) response.writeHead(202).flushHeaders();
      return true;
    };
    const client = await connect({ timeoutMs: 50 });
    for (let call = 0; call < 5; call++) {
      await expect(client.callTool('t')).rejects.toMatchObject({ code: 'tool_timeout' });
    }
    for (const end = Date.now() + 8000; held.size > 0 && Date.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    expect(held.size).toBe(0);
  });

  it('is told in its own words when the server is gone', async () => {
    peer.play = (rpc, request) => {
      if (rpc.method !== 'tools/call') return false;
      request.socket.destroy();
      return true;
    };
    const client = await connect();
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'mcp_session_lost' });
    await expect(createMCPClient({ url: 'http://127.0.0.1:9/mcp' })).rejects.toMatchObject({
      code: 'mcp_connection_failed',
    });
  });

  it('opens a lost session once and sends only the refused call again', async () => {
    let changes = 0;
    const client = await connect({ onToolsChanged: () => (changes += 1) });
    await client.callTool('t');
    peer.session = 'session-2';
    expect(await client.callTool('t')).toEqual(text('called t'));
    expect(peer.seen.filter(({ rpc }) => rpc === 'initialize')).toHaveLength(2);
    expect(peer.calls()).toBe(3);
    expect(changes).toBe(1);
  });

  it('never repeats a call whose answer broke', async () => {
    const client = await connect();
    peer.play = ({ method }, _request, response) => {
      if (method !== 'tools/call') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': here\n\n');
      setTimeout(() => response.destroy(), 20);
      return true;
    };
    await expect(client.callTool('t')).rejects.toMatchObject({ code: 'mcp_session_lost' });
    expect(peer.calls()).toBe(1);
  });

  it('takes an answer up again by the last event', async () => {
    const client = await connect();
    let call: number | undefined;
    peer.play = ({ id, method }, request, response) => {
      if (method === 'tools/call') {
        call = id;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end('retry: 10\nid: e1\ndata:\n\n');
        return true;
      }
      if (request.method !== 'GET' || request.headers['last-event-id'] !== 'e1') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(event({ id: call, result: text('late') }, 'e2'));
      return true;
    };
    expect(await client.callTool('t')).toEqual(text('late'));
    expect(peer.calls()).toBe(1);
  });

  it('hears what the server says by itself', async () => {
    let stream: ServerResponse | undefined;
    peer.play = (_rpc, request, response) => {
      if (request.method !== 'GET') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      stream = response;
      return true;
    };
    const heard = new Promise<string>((resolve) => {
      void connect({ onNotification: (method) => resolve(method) }).then(function wait() {
        if (stream) stream.write(event({ method: 'notifications/tools/list_changed' }));
        else setTimeout(wait, 5);
      });
    });
    expect(await heard).toBe('notifications/tools/list_changed');
  });

  it.each<[string, Play, string]>([
    [
      'redirects elsewhere',
      (_rpc, _request, response) => {
        response.writeHead(307, { location: 'http://localhost:1/mcp' }).end();
        return true;
      },
      'mcp_connection_failed',
    ],
    [
      'answers another call',
      ({ id }, _request, response) => {
        json(response, { id: (id ?? 0) + 1000, result: {} });
        return true;
      },
      'mcp_protocol_error',
    ],
    [
      'answers with a page',
      (_rpc, _request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
        return true;
      },
      'mcp_protocol_error',
    ],
    [
      'is not there for a while',
      (_rpc, _request, response) => {
        response.writeHead(503).end('later');
        return true;
      },
      'mcp_connection_failed',
    ],
    ['never answers', () => true, 'tool_timeout'],
    [
      'sends more than the limit',
      (_rpc, _request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(`{"a":"${'x'.repeat(1 << 20)}"}`);
        return true;
      },
      'response_too_large',
    ],
    [
      'wants an authorization',
      (_rpc, _request, response) => {
        response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
        return true;
      },
      'mcp_unauthorized',
    ],
  ])('gives a call an error when the server %s', async (_name, play, code) => {
    const client = await connect({ maxMessageBytes: 1 << 18, timeoutMs: 2000 });
    peer.play = (rpc, ...rest) => (rpc.method === 'tools/call' ? play(rpc, ...rest) : false);
    const call = client.callTool('t', {}, { timeoutMs: 400 });
    await expect(call).rejects.toMatchObject({ code });
    expect(peer.calls()).toBe(1);
    peer.play = () => false;
    expect(await client.callTool('t')).toEqual(text('called t'));
  });

  it.each<[object, string | undefined]>([
    [{ type: 'none' }, undefined],
    [{ type: 'bearer', token: 'a' }, 'Bearer a'],
    [{ type: 'bearer', accessToken: 'b' }, 'Bearer b'],
    [{ type: 'oauth2', accessToken: 'c', token: 'd' }, 'Bearer c'],
    [{ type: 'oauth2', token: 'd' }, 'Bearer d'],
  ])('sends what %j says', async (auth, header) => {
    await connect({ auth } as never);
    expect(peer.seen[0]?.headers.authorization).toBe(header);
  });

  it.each([[{ type: 'bearer' }], [{ token: 'x' }], [{ type: 'basic', token: 'x' }], ['x']])(
    'refuses the authorization %j',
    async (auth) => {
      await expect(connect({ auth } as never)).rejects.toMatchObject({ code: 'invalid_option' });
      expect(peer.seen).toEqual([]);
    },
  );

  it('lets a person authorize for longer than the limits', async () => {
    let isFresh = false;
    peer.play = (_rpc, request, response) => {
      if (isFresh || request.headers.authorization === 'Bearer fresh') return false;
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return true;
    };
    const client = await connect({
      startMs: 300,
      auth: {
        authorize: async () => {
          await new Promise((resolve) => setTimeout(resolve, 700));
          isFresh = true;
          return { Authorization: 'Bearer fresh' };
        },
      },
    });
    expect(await client.callTool('t')).toEqual(text('called t'));
  });

  it('asks for an authorization and sends the call again with it', async () => {
    const requested: string[] = [];
    peer.play = (_rpc, request, response) => {
      if (request.headers.authorization === 'Bearer fresh') return false;
      response.writeHead(401, { 'www-authenticate': 'Bearer scope="a"' }).end();
      return true;
    };
    const client = await connect({
      auth: {
        authorize: ({ challenge }) => {
          requested.push(challenge);
          return { Authorization: 'Bearer fresh' };
        },
      },
    });
    expect(await client.callTool('t')).toEqual(text('called t'));
    expect(requested).toEqual(['Bearer scope="a"']);
  });

  it('falls back to the older pair of stream and address', async () => {
    let stream: ServerResponse | undefined;
    peer.play = (rpc, request, response) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('event: endpoint\ndata: /messages?id=1\n\n');
        stream = response;
        return true;
      }
      if (request.url === '/messages?id=1') {
        response.writeHead(202).end();
        if (rpc.id !== undefined) stream?.write(event({ id: rpc.id, result: resultOf(rpc) }));
        return true;
      }
      response.writeHead(405).end();
      return true;
    };
    const client = await connect();
    expect(await client.callTool('t')).toEqual(text('called t'));
  });

  it('asks a server of 2026-07-28 to tell of changes', async () => {
    const requested: unknown[] = [];
    peer.play = (rpc, _request, response) => {
      const capabilities = { tools: { listChanged: true } };
      const result = { supportedVersions: ['2026-07-28'], capabilities };
      if (rpc.method === 'server/discover') json(response, { id: rpc.id, result });
      if (rpc.method === 'subscriptions/listen') {
        requested.push((rpc.params as { notifications?: unknown }).notifications);
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(event({ method: 'notifications/tools/list_changed' }));
      }
      return true;
    };
    await new Promise<void>((resolve, reject) => {
      connect({ protocolVersion: '2026-07-28', onToolsChanged: resolve }).catch(reject);
    });
    expect(requested).toEqual([{ toolsListChanged: true }]);
  });

  it('closes the stream of a call that is cancelled in 2026-07-28', async () => {
    const closed = new Promise<void>((resolve) => {
      peer.play = (rpc, request, response) => {
        if (rpc.method === 'server/discover') {
          json(response, {
            id: rpc.id,
            result: { supportedVersions: ['2026-07-28'], capabilities: {} },
          });
          return true;
        }
        expect(request.headers).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 't' });
        response.on('close', resolve);
        return true;
      };
    });
    const client = await connect({ protocolVersion: '2026-07-28' });
    const controller = new AbortController();
    const call = client.callTool('t', {}, { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await expect(call).rejects.toThrow();
    await closed;
    expect(peer.seen.map(({ rpc }) => rpc)).toEqual(['server/discover', 'tools/call']);
  });
});

describe('several MCP servers', () => {
  it('are connected as a configuration names them', async () => {
    const servers = await connectMCPServers(
      {
        mcpServers: {
          one: { url: '${PEER}', headers: { 'X-Key': '${env:KEY:-none}' } },
          off: { command: 'never', disabled: true },
          gone: { command: 'no-such-program-here' },
          unset: { url: '${NOT_THERE}' },
        },
      },
      { env: { PEER: url } },
    );
    open.push(...Object.values(servers.clients));
    expect(Object.keys(servers.clients)).toEqual(['one']);
    expect(servers.failures['gone']?.code).toBe('process_start_failed');
    expect(servers.failures['unset']?.code).toBe('invalid_option');
    expect(Object.keys(servers.failures)).toHaveLength(2);
    expect((await servers.tools()).map(({ name }) => name)).toEqual(['one__t']);
    expect(peer.seen[0]?.headers['x-key']).toBe('none');
    await servers.close();
  });

  it('answer calls in the shape of LobeHub', async () => {
    const clients = { one: await connect() };
    const call = { identifier: 'one', apiName: 't', arguments: '{}' };
    expect(await invokeMCPTypePlugin(call, clients, { maxLength: 6 })).toMatchObject({
      content: 'called\n[cut here: 2 more bytes]',
      success: true,
      state: text('called t'),
    });
    expect(await invokeMCPTypePlugin({ ...call, arguments: '[' }, clients)).toMatchObject({
      success: false,
      error: { type: 'VALIDATION_ERROR' },
    });
    expect(await invokeMCPTypePlugin({ ...call, identifier: 'two' }, clients)).toMatchObject({
      success: false,
      content: 'There is no MCP server two.',
    });
  });

  it('come from a cloud service when the user has authorized them', async () => {
    let polls = 0;
    const requested: string[] = [];
    peer.play = (_rpc, request, response) => {
      if (request.url?.startsWith('/mcp-server/') !== true) return false;
      requested.push(`${request.method} ${request.url} ${request.headers.authorization}`);
      const isKnown = ['create', 'i%201'].some(
        (end) => request.url === `/mcp-server/instance/${end}`,
      );
      if (!isKnown) {
        response
          .writeHead(404, { 'content-type': 'application/json' })
          .end('{"detail":"Not Found"}');
        return true;
      }
      const made = { serverUrl: url, instanceId: 'i 1', oauthUrl: 'https://auth.example/' };
      const state = { instanceId: 'i 1', authNeeded: true, isAuthenticated: (polls += 1) > 2 };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(request.method === 'POST' ? made : state));
      return true;
    };
    const connector = new CloudConnector({
      service: 'klavis',
      apiKey: 'key',
      baseUrl: new URL(url).origin,
      pollMs: 5,
    });
    const shown: string[] = [];
    const client = await connector.connect({
      server: 'Gmail',
      user: 'me',
      authorize: (address) => void shown.push(address),
    });
    open.push(client);
    expect(await client.callTool('t')).toEqual(text('called t'));
    expect(shown).toEqual(['https://auth.example/']);
    expect(requested[0]).toBe('POST /mcp-server/instance/create Bearer key');
    expect(requested[1]).toBe('GET /mcp-server/instance/i%201 Bearer key');
    expect(peer.seen.at(-1)?.headers.authorization).toBe('Bearer key');
  });

  describe('of a cloud service', () => {
    let serverUrl: string;
    let answers: number[];
    const connector = (more: object = {}): CloudConnector => {
      peer.play = (_rpc, request, response) => {
        if (request.url?.startsWith('/mcp-server/') !== true) return false;
        const made = { serverUrl, instanceId: 'i', oauthUrl: 'https://auth.example/' };
        const isNew = request.method === 'POST';
        const status = isNew ? 200 : (answers.shift() ?? 200);
        const state = { isAuthenticated: !isNew && answers.length === 0 };
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(isNew ? made : state));
        return true;
      };
      const baseUrl = new URL(url).origin;
      return new CloudConnector({ service: 'klavis', apiKey: 'key', baseUrl, pollMs: 5, ...more });
    };
    beforeEach(() => {
      serverUrl = url;
      answers = [];
    });

    it.each([
      undefined,
      {},
      { service: 'none', apiKey: 'key' },
      { service: 'toString', apiKey: 'key' },
      { service: 'klavis' },
      { service: 'klavis', apiKey: ' ' },
    ])('are not made with %j', (options) => {
      expect(() => new CloudConnector(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    });

    it('need the name of a server and of a user', async () => {
      for (const one of [undefined, { server: 'Gmail' }, { user: 'me' }]) {
        await expect(connector().connect(one as never)).rejects.toMatchObject({
          code: 'invalid_option',
        });
      }
    });

    it('wait until a service that is down for a moment answers', async () => {
      answers = [200, 502, 429, 200];
      const client = await connector().connect({ server: 'Gmail', user: 'me' });
      open.push(client);
      expect(await client.callTool('t')).toEqual(text('called t'));
    });

    it.each([
      [[200, 404, 200], 'mcp_connection_failed'],
      [[200, 401, 200], 'mcp_unauthorized'],
    ])('do not wait after %j', async (given, code) => {
      answers = given;
      const connecting = connector().connect({ server: 'Gmail', user: 'me' });
      await expect(connecting).rejects.toMatchObject({ code });
    });

    it('stop waiting at a signal', async () => {
      answers = Array.from({ length: 99 }, () => 200);
      const began = Date.now();
      const signal = AbortSignal.timeout(100);
      const connecting = connector({ pollMs: 60_000 }).connect({ server: 'G', user: 'me', signal });
      await expect(connecting).rejects.toMatchObject({ name: 'TimeoutError' });
      expect(Date.now() - began).toBeLessThan(30_000);
    });

    it('are refused where their address or service is none', async () => {
      serverUrl = 'nonsense';
      await expect(connector().connect({ server: 'G', user: 'me' })).rejects.toMatchObject({
        code: 'mcp_connection_failed',
      });
      expect(() => connector({ service: 'toString' })).toThrow('no service');
    });
  });
});
