// What a client makes of the schemas that an MCP server lists: nothing is lost, in no era of the protocol.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { createMCPClient } from 'millrace';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');

// JSON Schema 2020-12 with what drafts before it do not have.
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: 'https://example.test/tool',
  $comment: 'kept',
  type: 'object',
  $defs: {
    address: { $anchor: 'address', type: 'object', properties: { zip: { type: 'string' } } },
  },
  properties: {
    name: { type: 'string' },
    home: { $ref: '#address' },
    kind: { anyOf: [{ const: 'a' }, { const: 'b' }] },
    list: { type: 'array', prefixItems: [{ type: 'string' }], items: false },
  },
  allOf: [{ required: ['name'] }],
  if: { properties: { kind: { const: 'a' } } },
  then: { required: ['home'] },
  else: { dependentRequired: { home: ['kind'] } },
  unevaluatedProperties: false,
  additionalProperties: true,
} as const;

const tools = [
  { name: 'json_schema_2020_12_tool', inputSchema: schema, outputSchema: schema },
  {
    name: 'json_schema_echo',
    inputSchema: {
      type: 'object',
      properties: { schema: { type: 'object' } },
      required: ['schema'],
    },
  },
];

interface Rpc {
  id?: number;
  method: string;
  params: { protocolVersion?: string; name?: string; arguments?: { schema?: unknown } };
}

const echoed: unknown[] = [];
let server: Server;
let url: string;

function resultOf({ method, params }: Rpc): object {
  const about = { capabilities: { tools: {} }, serverInfo: { name: 'peer', version: '1' } };
  if (method === 'initialize') return { protocolVersion: params.protocolVersion, ...about };
  if (method === 'server/discover') {
    const supportedVersions = ['2026-07-28'];
    return { resultType: 'complete', ttlMs: 0, cacheScope: 'private', supportedVersions, ...about };
  }
  const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  if (method === 'tools/list') return { ...complete, tools };
  if (params.name === 'json_schema_echo') echoed.push(params.arguments?.schema);
  return { ...complete, content: [{ type: 'text', text: 'ok' }], structuredContent: {} };
}

beforeAll(async () => {
  server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const rpc = text === '' ? undefined : (JSON.parse(text) as Rpc);
      if (request.method !== 'POST') return response.writeHead(405).end();
      if (rpc?.id === undefined) return response.writeHead(202).end();
      const message = { jsonrpc: '2.0', id: rpc.id, result: resultOf(rpc) };
      return response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(message));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  echoed.length = 0;
});

describe.each(['2025-11-25', '2026-07-28'] as const)('with a server of %s', (protocolVersion) => {
  it('a tool is listed, and given to agents, with its whole schema', async () => {
    const client = await createMCPClient({ url, protocolVersion });
    const [listed] = await client.listTools();
    expect(listed?.inputSchema).toEqual(schema);
    expect(listed?.outputSchema).toEqual(schema);
    const [given] = await client.tools();
    expect(given?.input).toEqual(schema);
    await client.close();
  });

  it('the client of the conformance runner gives the schema back as it was listed', async () => {
    const child = spawn(process.execPath, [cli, 'mcp', 'conformance-client', url], {
      env: { ...process.env, MCP_CONFORMANCE_PROTOCOL_VERSION: protocolVersion },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    await once(child, 'close');
    expect(echoed).toEqual([schema]);
  });
});
