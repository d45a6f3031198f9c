// Several MCP servers at a time, as configuration files name them.
import type { RunnableTool } from '../tool/types';
import { MillraceError } from '../errors';
import { kindOf, shown } from '../shown';
import { messageOf } from '../thrown';
import type { MCPAuthorization } from './authorization';
import { type MCPClient, createMCPClient } from './client';
import { checkReach, isList, type MCPClientOptions, type MCPCommonOptions } from './reach';
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
  /** What the server says of its tools' effects is believed, and its tools run without approval. */
  trusted?: boolean;
  /** Only these tools: patterns with `*` of the server's names, or of those that models are told. */
  allow?: string[];
  /** The same. */
  expose?: string[];
  /** All but these. */
  deny?: string[];
  /** Milliseconds until the connection is open. */
  startMs?: number;
  /** Milliseconds for a request without its own limit. */
  timeoutMs?: number;
  /** How `millrace serve` authorizes; an application gives `auth` to connectMCPServers. */
  oauth?: MCPEntryOAuth;
}

/** What an entry may say of the authorization of its server. */
export interface MCPEntryOAuth {
  /** A client that was registered by hand. */
  clientId?: string;
  clientSecret?: string;
  /** The authorization server that it was registered at, and is shown to. */
  issuer?: string;
  /** Where its redirect address listens on this machine; a free port when absent. */
  callbackPort?: number;
  scope?: string;
  /** Authorization servers in a private network. */
  hosts?: string[];
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
  tools(options?: MCPToolsOptions): Promise<RunnableTool<Record<string, unknown>>[]>;
  close(): Promise<void>;
}

// ${NAME}, ${env:NAME} and ${NAME:-default} stand for variables of the environment.
function filled(text: string, env: NodeJS.ProcessEnv): string {
  return text.replace(
    /\$\{(?:env:)?(\w+)(?::-([^}]*))?\}/g,
    (_all, name: string, other?: string) => {
      const value = env[name] ?? other;
      if (value !== undefined) return value;
      throw new MillraceError(
        'invalid_option',
        `The environment variable ${name} is not set; set it or give a default, \${${name}:-default}.`,
      );
    },
  );
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
    throw new MillraceError(
      'invalid_option',
      `A configuration of MCP servers needs an object \`mcpServers\`, not ${shown(mcpServers)}.`,
    );
  }
  return Object.entries(mcpServers).filter(([, entry]) => entry?.disabled !== true);
}

/** How the server of an entry is reached; throws `invalid_option` for one that cannot be used. */
export function optionsOf(
  name: string,
  entry: MCPServerEntry,
  env: NodeJS.ProcessEnv,
): MCPClientOptions {
  checkReach(`The MCP server ${name}`, entry);
  const { startMs, timeoutMs } = entry;
  const limits = {
    ...(startMs !== undefined && { startMs }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
  if (entry.command !== undefined) {
    return {
      ...limits,
      name,
      command: filled(entry.command, env),
      args: (entry.args ?? []).map((text) => filled(text, env)),
      env: mapped(entry.env, env),
      ...(entry.cwd !== undefined && { cwd: filled(entry.cwd, env) }),
    };
  }
  const url = filled(entry.url ?? '', env);
  const type = entry.type === 'sse' ? 'sse' : 'http';
  return { ...limits, name, url, type, headers: mapped(entry.headers, env) };
}

/** What an entry says of its authorization, with the environment's variables; throws `invalid_option`. */
export function oauthOf(
  name: string,
  { oauth = {} }: MCPServerEntry,
  env: NodeJS.ProcessEnv,
): MCPEntryOAuth {
  const wrong = (what: string): never => {
    throw new MillraceError('invalid_option', `\`oauth\` of the MCP server ${name} ${what}.`);
  };
  if (typeof oauth !== 'object' || oauth === null)
    return wrong(`must be an object, not ${kindOf(oauth)}`);
  const { callbackPort, hosts, ...texts } = oauth;
  const isPort = Number.isInteger(callbackPort) && (callbackPort ?? 0) > 0;
  if (callbackPort !== undefined && !(isPort && callbackPort < 65_536)) {
    wrong(`needs a port number as \`callbackPort\`, not ${shown(callbackPort)}`);
  }
  if (!isList(hosts)) wrong(`needs a list of strings as \`hosts\`, not ${kindOf(hosts)}`);
  const filledIn = Object.entries(texts).map(([key, text]) => {
    if (!['clientId', 'clientSecret', 'issuer', 'scope'].includes(key))
      wrong(`has an unknown member '${key}'`);
    if (typeof text !== 'string') wrong(`needs a string as \`${key}\`, not ${kindOf(text)}`);
    return [key, filled(text, env)];
  });
  return {
    ...(Object.fromEntries(filledIn) as MCPEntryOAuth),
    ...(callbackPort !== undefined && { callbackPort }),
    ...(hosts && { hosts }),
  };
}

/** Whether headers say who asks. */
export function namesCaller(headers: Readonly<Record<string, string>> = {}): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}

export interface MCPServersOptions extends MCPCommonOptions {
  /** In the place of this process's environment. */
  env?: NodeJS.ProcessEnv;
  /** For servers over HTTP whose `headers` hold no `Authorization`. */
  auth?: Extract<MCPAuthorization, { authorize: unknown }>;
}

/**
 * Connects to all servers of a configuration at the same time; resolves when each is connected or failed. One
 * that cannot be reached is a failure of its own; `startMs` says when one that hangs is.
 */
export async function connectMCPServers(
  config: MCPServersConfig,
  options: MCPServersOptions = {},
): Promise<MCPServers> {
  const { env = process.env, auth, ...common } = options;
  if (auth !== undefined && typeof auth?.authorize !== 'function') {
    throw new MillraceError(
      'invalid_option',
      '`auth` of several MCP servers must be an OAuth, or have a function `authorize`: a token is for one server.',
    );
  }
  const connected = new Map<string, MCPClient>();
  const failed = new Map<string, MillraceError>();
  await Promise.all(
    entriesOf(config).map(async ([name, entry]) => {
      try {
        checkReach(`The MCP server ${name}`, entry);
        const trusted = entry.trusted === undefined ? {} : { trusted: entry.trusted };
        const reach = optionsOf(name, entry, env);
        const requests = auth && 'url' in reach && !namesCaller(reach.headers);
        const given = { ...common, ...trusted, ...reach, ...(requests && { auth }) };
        connected.set(name, await createMCPClient(given));
      } catch (error) {
        const isOurs = MillraceError.is(error);
        failed.set(
          name,
          isOurs
            ? error
            : new MillraceError('mcp_connection_failed', messageOf(error), { cause: error }),
        );
      }
    }),
  );
  // Whatever a name is, `__proto__` too, it is an entry's.
  const clients = Object.fromEntries(connected);
  return {
    clients,
    failures: Object.fromEntries(failed),
    tools: async (wanted) => {
      const lists = Object.entries(clients).map(([name, client]) => {
        const { allow, expose, deny } = config.mcpServers[name] ?? {};
        const rules = {
          ...(allow && { allow }),
          ...(expose && { expose }),
          ...(deny && { deny }),
        };
        return client.tools({ ...rules, ...wanted });
      });
      return (await Promise.all(lists)).flat();
    },
    close: async () => {
      await Promise.all(Object.values(clients).map((client) => client.close()));
    },
  };
}
