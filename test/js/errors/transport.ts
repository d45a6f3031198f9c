// Connections that are not made, break, or take too long.
import { builtinTools, createMCPClient } from 'millrace';

import { callOf, closedPort, keep, providerOf, rawPort } from './kit';
import type { Failure, Rows } from './row';

const silent = () => undefined;
const writes = (bytes: string, then: 'end' | 'destroy' | 'wait' = 'end') =>
  rawPort((socket) => {
    socket.once('data', () => {
      socket.write(bytes, () => then !== 'wait' && socket[then]());
    });
  });
const urlOf = (port: number, scheme = 'http') => `${scheme}://127.0.0.1:${port}/v1`;

const head = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n';

async function fetched(url: string, options: object): Promise<Failure> {
  const [get] = builtinTools({ httpFetch: options });
  const { error } = (await get?.run({ url }, {})) as unknown as {
    error: { type: string; message: string };
  };
  return { code: error.type, message: error.message };
}

async function connected(url: string, headers: Record<string, string> = {}) {
  return keep(await createMCPClient({ url, headers }));
}

/** An MCP server that answers its first request as it should, and the others as the row wants. */
async function peerOf(later: { status?: number; type?: string; body: string }) {
  const { url } = await providerOf((response, { body, method }) => {
    if (method !== 'POST') return void response.writeHead(405).end();
    const { id, method: requested } = JSON.parse(body) as { id?: number; method: string };
    if (id === undefined) return void response.writeHead(202).end();
    if (requested !== 'tools/call') {
      const serverInfo = { name: 'peer', version: '1' };
      const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    }
    const { status = 200, type = 'application/json' } = later;
    response.writeHead(status, { 'content-type': type });
    response.end(later.body.replace('ID', String(id)));
  });
  return connected(url);
}

export const transportRows: Rows = {
  address_blocked: {
    provoke: () => fetched('http://127.0.0.1:443/', { ports: [443] }),
    says: 'http://127.0.0.1:443',
  },
  name_resolution_failed: {
    provoke: () => callOf('http://no-such-host.invalid/v1').text(),
    says: 'The host name *** cannot be resolved',
  },
  connect_failed: {
    provoke: async () => callOf(urlOf(await closedPort())).text(),
    says: /\*\*\*:\d+/,
  },
  proxy_failed: {
    provoke: async () =>
      callOf('http://provider.example/v1', {
        proxy: `http://127.0.0.1:${await closedPort()}`,
      }).text(),
    says: 'The proxy for http://***',
  },
  connect_timeout: {
    native: ['net/client_limits_test.cpp', 'ClientTimeouts.ConnectEndsAnUnansweredAttempt'],
  },
  first_byte_timeout: {
    provoke: async () =>
      callOf(urlOf(await rawPort(silent)), { timeouts: { firstByte: 60 } }).text(),
    says: '60 ms',
  },
  idle_timeout: {
    provoke: async () =>
      callOf(urlOf(await writes(`${head}\r\n: here\n\n`, 'wait')), {
        timeouts: { idle: 70 },
      }).text(),
    says: '70 ms',
  },
  total_timeout: {
    provoke: async () => callOf(urlOf(await rawPort(silent)), { timeouts: { total: 80 } }).text(),
    says: '80 ms',
  },
  tls_failed: {
    provoke: async () => callOf(urlOf(await writes('this is no TLS\r\n'), 'https')).text(),
    says: /https:\/\/\*\*\*:\d+/,
  },
  connection_lost: {
    provoke: async () =>
      callOf(urlOf(await writes(`${head}Content-Length: 99\r\n\r\n: here\n\n`, 'destroy'))).text(),
    says: /\*\*\*:\d+/,
  },
  protocol_error: {
    provoke: async () => callOf(urlOf(await writes('HTTP/1.1 what is this\r\n\r\n'))).text(),
    says: /\*\*\*:\d+/,
  },
  too_many_redirects: {
    provoke: async () => {
      const { url } = await providerOf(
        (response) => void response.writeHead(302, { location: '/again' }).end(),
      );
      return fetched(`${url}/`, { allow: ['127.0.0.1'], ports: [Number(new URL(url).port)] });
    },
    says: /127\.0\.0\.1:\d+ redirects again after \d+/,
  },
  engine_closed: { native: ['net/client_test.cpp', 'Client.DestroyingItEndsLiveTransfers'] },
  mcp_connection_failed: {
    provoke: async () => connected(urlOf(await closedPort())),
    says: /127\.0\.0\.1:\d+/,
  },
  mcp_session_lost: {
    provoke: async () => {
      const client = await peerOf({ type: 'text/event-stream', body: ': nothing\n\n' });
      return client.callTool('look');
    },
    says: /MCP server/,
  },
  mcp_error: {
    provoke: async () => {
      const error = { code: -32602, message: 'the net is torn' };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 'ID', error }).replace('"ID"', 'ID');
      return (await peerOf({ body })).callTool('look');
    },
    says: 'the net is torn (-32602)',
  },
  mcp_protocol_error: {
    provoke: async () => (await peerOf({ type: 'text/html', body: '<p>' })).callTool('look'),
    says: "'text/html'",
  },
  mcp_unauthorized: {
    provoke: async () => {
      const { url } = await providerOf((response) => void response.writeHead(401).end());
      return connected(url);
    },
    says: '401',
  },
  process_start_failed: {
    provoke: () => createMCPClient({ command: '/no/such/program' }),
    says: '/no/such/program',
  },
};
