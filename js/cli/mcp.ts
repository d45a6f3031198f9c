// millrace mcp: tries MCP servers from the command line.
import { createMCPClient, type MCPClient, type MCPClientOptions } from '../mcp/client';
import type { Command } from './command';
import { integerOption, readArgs, UsageError } from './command';
import { conformanceClient } from './mcp-conformance';
import { tableOf } from './table';
import { mcpResultText } from '../mcp/tools';
import type { MCPProtocolVersion } from '../../types/mcp';

const help = `Usage: millrace mcp test [options] <url>
       millrace mcp test [options] -- <command> [arguments]
       millrace mcp conformance-client <url>

test connects to an MCP server, prints what it announces and lists its tools, resources and prompts.
conformance-client is what the protocol's conformance runner starts.

Options of test:
  --call <tool>        call this tool
  --args <json>        its arguments; default {}
  --header <name: value>  send this header; may be repeated
  --env <NAME=value>   give the command this variable; may be repeated
  --cwd <folder>       start the command there
  --protocol <version> speak only this version of the protocol
  --sse                use the transport of 2024-11-05
  --timeout <ms>       for each request; default 60000
  --json               print one JSON object
  --help               print this
`;

const options = {
  call: { type: 'string' },
  args: { type: 'string' },
  header: { type: 'string', multiple: true },
  env: { type: 'string', multiple: true },
  cwd: { type: 'string' },
  protocol: { type: 'string' },
  sse: { type: 'boolean' },
  timeout: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

function pairs(texts: readonly string[] | undefined, sign: string): Record<string, string> {
  return Object.fromEntries(
    (texts ?? []).map((text) => {
      const at = text.indexOf(sign);
      if (at < 1) throw new UsageError(`'${text}' needs a name before '${sign}'.`);
      return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
    }),
  );
}

function argumentsOf(text: string | undefined): object {
  try {
    const value = JSON.parse(text ?? '{}') as unknown;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  throw new UsageError('--args must be a JSON object.');
}

/** What a server announces. */
async function survey(client: MCPClient): Promise<Record<string, unknown>> {
  const { capabilities, serverInfo, protocolVersion, instructions } = client;
  return {
    protocolVersion,
    serverInfo,
    capabilities,
    ...(instructions !== undefined && { instructions }),
    tools: capabilities['tools'] ? await client.listTools() : [],
    resources: capabilities['resources'] ? await client.listResources() : [],
    prompts: capabilities['prompts'] ? await client.listPrompts() : [],
  };
}

function firstLine(text: unknown): string {
  return typeof text === 'string' ? (text.split('\n', 1)[0] ?? '') : '';
}

function print(found: Record<string, unknown>): void {
  const { name, version } = (found['serverInfo'] ?? {}) as { name?: string; version?: string };
  const capabilities = Object.keys(found['capabilities'] as object).join(', ');
  process.stdout.write(
    `${name ?? 'unnamed server'} ${version ?? ''}, protocol ${String(found['protocolVersion'])}\n` +
      `announces: ${capabilities || 'nothing'}\n`,
  );
  for (const kind of ['tools', 'resources', 'prompts']) {
    const rows = found[kind] as Record<string, unknown>[];
    if (rows.length === 0) continue;
    process.stdout.write(`\n${kind}:\n`);
    const cells = rows.map((row) => [String(row['name']), firstLine(row['description'])]);
    process.stdout.write(tableOf(['name', 'description'], cells));
  }
}

async function test(args: readonly string[]): Promise<number> {
  const { values, positionals } = readArgs(args, options, true);
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const [first, ...rest] = positionals;
  if (first === undefined) throw new UsageError('Name the url or the command of an MCP server.');
  const isUrl = /^https?:\/\//.test(first);
  const timeoutMs = integerOption('timeout', values.timeout, 1, 86_400_000);
  const common = {
    ...(values.protocol !== undefined && {
      protocolVersion: values.protocol as MCPProtocolVersion,
    }),
    ...(timeoutMs !== undefined && { timeoutMs, startMs: timeoutMs }),
  };
  const reach: MCPClientOptions = isUrl
    ? { url: first, headers: pairs(values.header, ':'), type: values.sse === true ? 'sse' : 'http' }
    : {
        command: first,
        args: rest,
        env: pairs(values.env, '='),
        ...(values.cwd !== undefined && { cwd: values.cwd }),
      };
  const toolArguments = argumentsOf(values.args);
  const client = await createMCPClient({ ...reach, ...common });
  try {
    const found = await survey(client);
    const result =
      values.call === undefined ? undefined : await client.callTool(values.call, toolArguments);
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify({ ...found, ...(result && { result }) }, null, 2)}\n`);
    } else {
      print(found);
      if (result) process.stdout.write(`\n${values.call}:\n${mcpResultText(result)}\n`);
    }
    return result?.isError === true ? 1 : 0;
  } finally {
    await client.close();
  }
}

/** The `mcp` command. */
export const mcp: Command = {
  summary: 'try an MCP server',
  run([name, ...args]) {
    if (name === 'test') return test(args);
    if (name === 'conformance-client') return conformanceClient(args);
    if (name === '--help' || name === '-h') {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    throw new UsageError(`'millrace mcp' knows test and conformance-client.\n\n${help}`);
  },
};
