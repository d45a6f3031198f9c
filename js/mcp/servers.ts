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

function optionsOf(name: string, entry: MCPServerEntry, env: NodeJS.ProcessEnv): MCPClientOptions {
  if (entry.command !== undefined) {
    return {
      name,
      command: filled(entry.command, env),
      args: (entry.args ?? []).map((text) => filled(text, env)),
      env: mapped(entry.env, env),
      ...(entry.cwd !== undefined && { cwd: filled(entry.cwd, env) }),
    };
  }
  if (entry.url === undefined) {
    throw new MillraceError('invalid_option', `The MCP server ${name} has no command and no url.`);
  }
  const url = filled(entry.url, env);
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
  const entries = Object.entries(config.mcpServers).filter(([, entry]) => entry.disabled !== true);
  await Promise.all(
    entries.map(async ([name, entry]) => {
      try {
        clients[name] = await createMCPClient({ ...common, ...optionsOf(name, entry, env) });
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
    tools: async (wanted) =>
      (await Promise.all(Object.values(clients).map((client) => client.tools(wanted)))).flat(),
    close: async () => {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}
