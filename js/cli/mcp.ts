// millrace mcp: tries MCP servers from the command line.
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';

import { createMCPClient, type MCPClient } from '../mcp/client';
import { type MCPClientOptions, protocolVersions } from '../mcp/reach';
import { type MCPEntryOAuth, namesCaller } from '../mcp/servers';
import type { Command } from './command';
import { integerOption, plain, readArgs, UsageError } from './command';
import {
  authorizationChoice,
  authorizationOptions,
  CommandLineAuthorization,
} from './mcp-authorization';
import { conformanceClient } from './mcp-conformance';
import { tableOf } from './table';
import { mcpResultText } from '../mcp/tools';
import type { MCPProtocolVersion, MCPToolResult } from '../../types/mcp';
import { memberOf, messageOf } from '../thrown';

const help = `Usage: millrace mcp test [options] <url>
       millrace mcp test [options] <command> [arguments]
       millrace mcp conformance-client <url>

test connects to an MCP server, prints its information, and lists its tools, resources and prompts.
conformance-client is started by the protocol's conformance runner.
Arguments after the command are passed through, except options of test; after -- all are.

Options of test:
  --call <tool>        call this tool
  --args <json>        its arguments; default {}
  --header <name: value>  send this header; may be repeated
  --env <NAME=value>   set this variable for the command; may be repeated
  --cwd <folder>       working directory of the command
  --protocol <version> use only this version of the protocol
  --sse                use the transport of 2024-11-05
  --timeout <ms>       limit of each request; default 60000
  --json               print one JSON object, including errors
  --help               print this

If a url requires authorization (OAuth), open the printed address; tokens are stored for the next time:
  --authorize <how>    print the address (default), open a browser, or never
  --tokens <folder>    folder of OAuth tokens; default ~/.local/state/millrace/mcp; off stores none
  --client-id <id>     a client that was registered by hand; its secret in MCP_CLIENT_SECRET
  --callback-port <n>  port of the redirect; default a free port
  --scope <scopes>     scopes to request when the server lists none
  --issuer <url>       authorization server of that client
  --login-host <host>  an authorization server in a private network; may be repeated
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
  ...authorizationOptions,
  'client-id': { type: 'string' },
  'callback-port': { type: 'string' },
  scope: { type: 'string' },
  issuer: { type: 'string' },
  'login-host': { type: 'string', multiple: true },
  help: { type: 'boolean', short: 'h' },
} as const;

type OwnValues = ReturnType<typeof readArgs<typeof options>>['values'];

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

/** Finds what a server announces; what was found before a failure stays. */
async function survey(client: MCPClient, found: Record<string, unknown>): Promise<void> {
  const { capabilities, serverInfo, protocolVersion, instructions } = client;
  Object.assign(found, {
    protocolVersion,
    serverInfo,
    capabilities,
    ...(instructions !== undefined && { instructions }),
  });
  const lists = {
    tools: () => client.listTools(),
    resources: () => client.listResources(),
    resourceTemplates: () => client.listResourceTemplates(),
    prompts: () => client.listPrompts(),
  };
  const failures: Record<string, Failure> = {};
  for (const [kind, list] of Object.entries(lists)) {
    found[kind] = [];
    try {
      const announced = kind === 'resourceTemplates' ? 'resources' : kind;
      if (capabilities[announced]) found[kind] = await list();
    } catch (error) {
      // Servers that have resources need not have templates of them.
      const isUnknown = memberOf(memberOf(error, 'cause'), 'code') === methodNotFound;
      if (kind !== 'resourceTemplates' || !isUnknown) failures[kind] = failureOf(error);
    }
  }
  if (Object.keys(failures).length > 0) found['failures'] = failures;
}

const methodNotFound = -32601;

interface Failure {
  code: string;
  message: string;
}

function failureOf(error: unknown): Failure {
  const code = memberOf(error, 'code');
  return { code: typeof code === 'string' ? code : 'internal', message: messageOf(error) };
}

// One line of what a server says.
function firstLine(text: unknown): string {
  return typeof text === 'string' ? (plain(text).split('\n', 1)[0] ?? '') : '';
}

function indented(text: string): string {
  return plain(text)
    .trim()
    .split('\n')
    .map((line) => `  ${line}\n`)
    .join('');
}

const kinds = [
  ['tools', 'name'],
  ['resources', 'uri'],
  ['resourceTemplates', 'uriTemplate'],
  ['prompts', 'name'],
] as const;

function print(found: Record<string, unknown>): void {
  const { name, version } = (found['serverInfo'] ?? {}) as { name?: string; version?: string };
  const capabilities = Object.keys(found['capabilities'] as object).join(', ');
  process.stdout.write(
    `${firstLine(name) || 'unnamed server'} ${firstLine(version)}, protocol ${firstLine(String(found['protocolVersion']))}\n` +
      `announces: ${firstLine(capabilities) || 'nothing'}\n`,
  );
  const instructions = found['instructions'];
  if (typeof instructions === 'string') {
    process.stdout.write(`\ninstructions:\n${indented(instructions)}`);
  }
  const failures = (found['failures'] ?? {}) as Record<string, Failure | undefined>;
  for (const [kind, id] of kinds) {
    const rows = found[kind] as Record<string, unknown>[];
    const failure = failures[kind];
    if (failure) process.stdout.write(`\n${kind}: ${plain(failure.message)} (${failure.code})\n`);
    if (rows.length === 0) continue;
    process.stdout.write(`\n${kind}:\n`);
    const cells = rows.map((row) => [
      firstLine(row[id]),
      firstLine(row['description'] ?? row['name']),
    ]);
    process.stdout.write(tableOf([id === 'name' ? id : 'address', 'description'], cells));
  }
}

const isUrl = (text: string): boolean => /^https?:\/\//.test(text);

// The words of a command line that was given as one word, as a shell takes them apart.
function wordsOf(text: string): string[] {
  const words = text.match(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/g) ?? [];
  return words.map((word) =>
    word.replace(
      /"((?:\\.|[^"\\])*)"|'([^']*)'|\\(.)/g,
      (_all, double?: string, single?: string, escaped?: string) =>
        double?.replace(/\\(["\\$`])/g, '$1') ?? single ?? escaped ?? '',
    ),
  );
}

/**
 * Parts the options of `mcp test` from the command that it starts: what stands behind the command's name and is
 * none of the former belongs to the latter, and so does all behind `--`.
 */
function parted(args: readonly string[]): { own: string[]; target: string[] } {
  const { tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const end = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? args.length;
  const named = tokens.find(({ kind }) => kind === 'positional')?.index ?? args.length;
  const own = new Set<number>();
  for (const token of tokens) {
    if (token.kind !== 'option' || token.index > end) continue;
    if (token.index > named && !Object.hasOwn(options, token.name)) continue;
    own.add(token.index);
    if (token.value !== undefined && !token.inlineValue) own.add(token.index + 1);
  }
  const target = args.filter((_, index) => !own.has(index) && index !== end);
  const [first = ''] = target;
  const isLine = target.length === 1 && /\s/.test(first) && !isUrl(first) && !existsSync(first);
  return {
    own: args.filter((_, index) => own.has(index)),
    target: isLine ? wordsOf(first) : target,
  };
}

function reachOf(values: OwnValues, [first, ...rest]: string[]): MCPClientOptions {
  if (first === undefined) throw new UsageError('Give the url or the command of an MCP server.');
  const timeoutMs = integerOption('timeout', values.timeout, 1, 86_400_000);
  const { protocol = '2025-11-25' } = values;
  if (!protocolVersions.includes(protocol)) {
    throw new UsageError(`--protocol must be ${protocolVersions.join(', ')}, not '${protocol}'.`);
  }
  const common = {
    ...(values.protocol !== undefined && {
      protocolVersion: values.protocol as MCPProtocolVersion,
    }),
    ...(timeoutMs !== undefined && { timeoutMs, startMs: timeoutMs }),
  };
  if (isUrl(first)) {
    if (rest.length > 0) throw new UsageError(`'${rest[0]}' is not allowed after a url.`);
    const headers = pairs(values.header, ':');
    const type = values.sse === true ? 'sse' : 'http';
    const auth = namesCaller(headers) ? undefined : authorizationOf(first, values);
    return { ...common, url: first, headers, type, ...(auth && { auth }) };
  }
  const { cwd } = values;
  const env = pairs(values.env, '=');
  return { ...common, command: first, args: rest, env, ...(cwd !== undefined && { cwd }) };
}

function authorizationOf(url: string, values: OwnValues): CommandLineAuthorization {
  const { MCP_CLIENT_SECRET: clientSecret } = process.env;
  const callbackPort = integerOption('callback-port', values['callback-port'], 1, 65_535);
  const { 'client-id': clientId, issuer, scope, 'login-host': hosts } = values;
  const settings: MCPEntryOAuth = {
    ...(clientId !== undefined && { clientId, ...(clientSecret && { clientSecret }) }),
    ...(callbackPort !== undefined && { callbackPort }),
    ...(issuer !== undefined && { issuer }),
    ...(scope !== undefined && { scope }),
    ...(hosts && { hosts }),
  };
  const choice = authorizationChoice(values);
  const input = process.stdin.isTTY ? { input: process.stdin } : {};
  return new CommandLineAuthorization(url, url, settings, { ...choice, ...input });
}

async function test(args: readonly string[]): Promise<number> {
  const { own, target } = parted(args);
  const { values } = readArgs(own, options, false);
  if (values.help === true) {
    process.stdout.write(help);
    return 0;
  }
  const isJson = values.json === true;
  const reach = reachOf(values, target);
  const toolArguments = argumentsOf(values.args);
  const found: Record<string, unknown> = {};
  const report = (): void => {
    if (isJson) process.stdout.write(`${JSON.stringify(found, null, 2)}\n`);
  };
  let client: MCPClient | undefined;
  try {
    client = await createMCPClient(reach);
    await survey(client, found);
    if (!isJson) print(found);
    if (values.call !== undefined) {
      const result = await client.callTool(values.call, toolArguments);
      found['result'] = result;
      if (!isJson) process.stdout.write(`\n${values.call}:\n${plain(mcpResultText(result))}\n`);
    }
    report();
    const hasFailed = (found['result'] as MCPToolResult | undefined)?.isError === true;
    return hasFailed || found['failures'] !== undefined ? 1 : 0;
  } catch (error) {
    found['error'] = failureOf(error);
    report();
    throw error;
  } finally {
    await client?.close();
  }
}

/** The `mcp` command. */
export const mcp: Command = {
  summary: 'try an MCP server',
  run([name, ...args]) {
    if (name === 'test') return test(args);
    const isHelp = [name, args[0]].some((word) => word === '--help' || word === '-h');
    if (name === 'conformance-client' && !isHelp) return conformanceClient(args);
    if (isHelp) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    throw new UsageError(`'millrace mcp' knows test and conformance-client.\n\n${help}`);
  },
};
