// Several MCP servers at a time, as configuration files name them.
import type { HostTool } from '../agent/tools';
import { MillraceError } from '../errors';
import {
  type MCPClient,
  type MCPClientOptions,
  type MCPCommonOptions,
  createMCPClient,
} from './client';
import type { MCPToolsOptions } from './tools';

/** One entry of `mcpServers`. */
export interface MCPServerEntry {
  type?: 'stdio' | 'http' | 'sse' | 'streamable-http' | 'streamableHttp';
  command?: string;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
  url?: string;
  headers?: Record<string, string>;
  disabled?: boolean;
  /** What the server says of its tools' effects is believed, and its tools run unasked. */
  trusted?: boolean;
  /** Only these tools, by the server's names. */
  allow?: string[];
  /** All but these. */
  deny?: string[];
}

/** The usual configuration file: `{"mcpServers": {"name": {"command": ...}}}`. */
export interface MCPServersConfig {
  mcpServers: Record<string, MCPServerEntry>;
}

/** The connected servers of a configuration. */
export interface MCPServers {
  readonly clients: Record<string, MCPClient>;
  /** Servers that cannot be reached, and why. */
  readonly failures: Record<string, MillraceError>;
  /** The tools of all servers. */
  tools(options?: MCPToolsOptions): Promise<HostTool<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

// ${NAME} and ${NAME:-default} stand for variables of the environment.
function filled(text: string, env: NodeJS.ProcessEnv): string {
  return text.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_all, name: string, other?: string) => {
    const value = env[name] ?? other;
    if (value !== undefined) return value;
    throw new MillraceError('invalid_option', `The environment has no variable ${name}.`);
  });
}

function mapped(
  texts: Record<string, string> = {},
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text, env)]));
}

/** The entries of a configuration that are not switched off; throws what is wrong with it. */
export function entriesOf(config: unknown): [name: string, entry: MCPServerEntry][] {
  const { mcpServers } = (config ?? {}) as Partial<MCPServersConfig>;
  if (typeof mcpServers !== 'object' || mcpServers === null || Array.isArray(mcpServers)) {
    throw new MillraceError('invalid_option', 'A configuration of MCP servers has `mcpServers`.');
  }
  return Object.entries(mcpServers).filter(([, entry]) => entry?.disabled !== true);
}

const transports = ['stdio', 'http', 'sse', 'streamable-http', 'streamableHttp'];

function isTexts(value: unknown): boolean {
  return (
    value === undefined ||
    (typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((text) => typeof text === 'string'))
  );
}

function checkEntry(name: string, entry: unknown): void {
  const wrong = (what: string): never => {
    throw new MillraceError('invalid_option', `The MCP server ${name} ${what}.`);
  };
  if (typeof entry !== 'object' || entry === null) return wrong('is described by no object');
  const { type, command, url, args, env, headers, allow, deny } = entry as Record<string, unknown>;
  if (command !== undefined && typeof command !== 'string') wrong('has a command that is no text');
  if (url !== undefined && typeof url !== 'string') wrong('has a url that is no text');
  if (command === undefined && url === undefined) wrong('has no command and no url');
  if (command !== undefined && url !== undefined) wrong('has both a command and a url');
  if (type !== undefined && !transports.includes(type as string)) {
    wrong(`has the type ${JSON.stringify(type)}: use ${transports.slice(0, 3).join(', ')}`);
  }
  if (type !== undefined && (type === 'stdio') !== (command !== undefined)) {
    wrong(
      `has the type ${type as string}, which ${type === 'stdio' ? 'a url' : 'a command'} is not`,
    );
  }
  const lists = Object.entries({ args, allow, deny });
  for (const [key, list] of lists) {
    if (list !== undefined && !(Array.isArray(list) && isTexts(list))) {
      wrong(`has \`${key}\` that are no list of texts`);
    }
  }
  if (!isTexts(env)) wrong('has an `env` that does not hold texts');
  if (!isTexts(headers)) wrong('has `headers` that are no texts');
}

/** How the server of an entry is reached; throws `invalid_option` for one that cannot be used. */
export function optionsOf(
  name: string,
  entry: MCPServerEntry,
  env: NodeJS.ProcessEnv,
): MCPClientOptions {
  checkEntry(name, entry);
  if (entry.command !== undefined) {
    return {
      name,
      command: filled(entry.command, env),
      args: (entry.args ?? []).map((text) => filled(text, env)),
      env: mapped(entry.env, env),
      ...(entry.cwd !== undefined && { cwd: filled(entry.cwd, env) }),
    };
  }
  const url = filled(entry.url ?? '', env);
  const type = entry.type === 'sse' ? 'sse' : 'http';
  return { name, url, type, headers: mapped(entry.headers, env) };
}

/**
 * Connects to all servers of a configuration at the same time. One that cannot be reached is a failure of
 * its own and holds up no other.
 */
export async function connectMCPServers(
  config: MCPServersConfig,
  options: MCPCommonOptions & { env?: NodeJS.ProcessEnv } = {},
): Promise<MCPServers> {
  const { env = process.env, ...common } = options;
  const clients: Record<string, MCPClient> = {};
  const failures: Record<string, MillraceError> = {};
  await Promise.all(
    entriesOf(config).map(async ([name, entry]) => {
      try {
        const trusted = entry.trusted === undefined ? {} : { trusted: entry.trusted };
        const given = { ...common, ...trusted, ...optionsOf(name, entry, env) };
        clients[name] = await createMCPClient(given);
      } catch (error) {
        failures[name] = MillraceError.is(error)
          ? error
          : new MillraceError('mcp_connection_failed', String(error), { cause: error });
      }
    }),
  );
  return {
    clients,
    failures,
    tools: async (wanted) => {
      const lists = Object.entries(clients).map(([name, client]) => {
        const { allow, deny } = config.mcpServers[name] ?? {};
        return client.tools({ ...(allow && { allow }), ...(deny && { deny }), ...wanted });
      });
      return (await Promise.all(lists)).flat();
    },
    close: async () => {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}
