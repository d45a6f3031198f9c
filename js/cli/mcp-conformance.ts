// What the conformance runner of the Model Context Protocol starts: a client that uses whatever the
// server at the address offers. The runner says by environment variables which scenario it plays.
// Source: @modelcontextprotocol/conformance 0.1.16 and 0.2.0-alpha.12.
import type { MCPProtocolVersion, MCPTool } from '../../types/mcp';
import { MillraceError } from '../errors';
import type { RpcError } from '../mcp/connection';
import { createMCPClient, type MCPClient } from '../mcp/client';
import type { MCPClientOptions } from '../mcp/reach';
import { OAuth } from '../mcp/oauth';
import type { OAuthClientInformation } from '../mcp/oauth-records';
import { UsageError } from './command';

interface Context {
  client_id?: string;
  client_secret?: string;
  toolCalls?: { name: string; arguments: object }[];
}

const redirectUrl = 'http://localhost:3000/callback';
const clientMetadataUrl = 'https://conformance-test.local/client-metadata.json';

// The runner's authorization server sends the browser back at once.
async function visit(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' });
  return response.headers.get('location') ?? '';
}

function authorizationOf({ client_id, client_secret }: Context): OAuth {
  const client: OAuthClientInformation | undefined = client_id
    ? { client_id, ...(client_secret !== undefined && { client_secret }) }
    : undefined;
  return new OAuth({
    redirectUrl,
    clientMetadataUrl,
    clientMetadata: { client_name: 'millrace-conformance' },
    authorize: visit,
    // The runner's servers listen on this machine.
    guard: { allow: ['localhost', '127.0.0.1'] },
    ...(client && { client }),
  });
}

type Schema = Record<string, unknown>;

// Any value that a schema takes.
function sample(schema: Schema): unknown {
  if ('default' in schema) return schema['default'];
  if ('const' in schema) return schema['const'];
  if (Array.isArray(schema['enum'])) return schema['enum'][0] as unknown;
  switch (schema['type']) {
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return sampleObject(schema);
    default:
      return 'text';
  }
}

function sampleObject(schema: Schema): object {
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>);
  return Object.fromEntries(properties.map(([name, property]) => [name, sample(property)]));
}

// Some scenarios list tools that cannot be called.
function isUnknownMethod(error: unknown): boolean {
  const methodNotFound = -32601;
  return MillraceError.is(error, 'mcp_error') && (error.cause as RpcError).code === methodNotFound;
}

// One scenario looks at what a client made of a schema: its tool is given that of the other one.
const schemaScenario = { from: 'json_schema_2020_12_tool', to: 'json_schema_echo' };

function argumentsFor({ name, inputSchema }: MCPTool, tools: readonly MCPTool[]): object {
  if (name !== schemaScenario.to) return sampleObject(inputSchema as Schema);
  return { schema: tools.find((tool) => tool.name === schemaScenario.from)?.inputSchema };
}

async function useTools(client: MCPClient, { toolCalls }: Context): Promise<void> {
  const tools = await client.listTools();
  const requested = tools.map((tool: MCPTool) => ({
    name: tool.name,
    arguments: argumentsFor(tool, tools),
  }));
  const failures: unknown[] = [];
  for (const call of toolCalls ?? requested) {
    await client.callTool(call.name, call.arguments).catch((error: unknown) => {
      if (!isUnknownMethod(error)) failures.push(error);
    });
  }
  if (failures.length > 0) throw failures[0];
}

async function useEverything(client: MCPClient, context: Context): Promise<void> {
  await useTools(client, context);
  if (client.capabilities['resources']) {
    for (const { uri } of await client.listResources()) await client.readResource(uri);
  }
  if (client.capabilities['prompts']) {
    for (const { name } of await client.listPrompts()) await client.getPrompt(name);
  }
}

/** The `mcp conformance-client` command. */
export async function conformanceClient(args: readonly string[]): Promise<number> {
  const [url] = args;
  if (url === undefined || !URL.canParse(url))
    throw new UsageError('Give the url of the MCP server.');
  const {
    MCP_CONFORMANCE_SCENARIO: scenario = '',
    MCP_CONFORMANCE_PROTOCOL_VERSION: protocol,
    MCP_CONFORMANCE_CONTEXT: contextJson = '{}',
  } = process.env;
  const context = JSON.parse(contextJson) as Context;
  const options: MCPClientOptions = {
    url,
    type: 'http',
    clientInfo: { name: 'millrace-conformance', version: '1.0.0' },
    roots: [],
    onSampling: () => ({
      role: 'assistant',
      content: { type: 'text', text: 'ok' },
      model: 'none',
    }),
    onElicitation: () => ({ action: 'accept', content: {} }),
    ...(protocol === '2026-07-28' && { protocolVersion: protocol as MCPProtocolVersion }),
    ...(scenario.startsWith('auth/') && { auth: authorizationOf(context) }),
  };
  const client = await createMCPClient(options);
  try {
    await useEverything(client, context);
  } finally {
    await client.close();
  }
  return 0;
}
