// The agent server that runs inside the engine: `millrace serve` and tests start it.
import { addon } from './addon';
import { rethrow } from './errors';

/** Options of the agent server. */
export interface ServerOptions {
  /** provider:name */
  readonly model: string;
  readonly baseURL?: string;
  readonly apiKey?: string;
  /** Settings of further providers for `POST /webapi/chat/<provider>`. */
  readonly providers?: readonly object[];
  readonly host?: string;
  /** 0 takes a free port. */
  readonly port?: number;
  readonly allowedHosts?: readonly string[];
  readonly allowedOrigins?: readonly string[];
  readonly maxOutputTokens?: number;
  /** Tools of the engine, by name. */
  readonly tools?: readonly string[];
  /** `never`, `risky` (default), `always`, or `tools`: as each tool says. */
  readonly approval?: string;
  /** What the model is told first. */
  readonly instructions?: string;
  /** Turns of the model with tools; 0 is no limit. */
  readonly maxSteps?: number;
  /** MCP servers whose tools the agent has, too. */
  readonly mcp?: readonly McpServerSettings[];
  /** Where runs are recorded: `file:` and a path. Without it they live as long as their readers. */
  readonly storage?: string;
  /** How long to wait for another process that has the store open. Units: milliseconds. */
  readonly openTimeoutMs?: number;
  /** What a recorded run does when its last reader goes away; default `continue`. */
  readonly onDisconnect?: 'continue' | 'stop';
  /** How long a run may work that its readers have left. Units: milliseconds. */
  readonly detachedTimeoutMs?: number;
  /** How many of them there may be; beyond it, the one that was left first is stopped. */
  readonly maxDetachedRuns?: number;
  /** How long stop() waits for answers on their way. Units: milliseconds. */
  readonly drainMs?: number;
}

/** How an MCP server is reached, as the engine takes it, and what its tools may do. */
export interface McpServerSettings {
  readonly name: string;
  readonly settings: object;
  /** Its refusals are answered by answerMcp. */
  readonly hostAuthorizes?: boolean;
  readonly trusted?: boolean;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

/** What became of an MCP server. */
export interface McpServerStatus {
  name: string;
  /** `unauthorized`: waits for an authorization. */
  state: 'starting' | 'unauthorized' | 'ready' | 'failed';
  tools: number;
  error?: { code: string; message: string };
  /** Waits for an answer. */
  refusal?: { number: number; status: number; challenge: string };
}

/** A server that listens. */
export interface Server {
  readonly port: number;
  /** Its MCP servers; requests to the agent wait until none is starting. */
  mcp(): McpServerStatus[];
  /** Answers the refusal of an MCP server with headers, or with why there are none. */
  answerMcp(name: string, answer: Record<string, string> | Error): void;
  /** Accepts no more, lets answers end within the drain time, then closes. */
  stop(): Promise<void>;
  /** Lets a stop that is under way wait no longer: answers end with an error that says so. */
  expedite(): void;
}

/** Roots that Node trusts besides the system's, as the environment names them. */
function trustedRoots(): { caFile?: string; extraCaFiles?: string[] } {
  const { SSL_CERT_FILE: all, NODE_EXTRA_CA_CERTS: extra } = process.env;
  return {
    ...(all === undefined || all === '' ? {} : { caFile: all }),
    ...(extra === undefined || extra === '' ? {} : { extraCaFiles: [extra] }),
  };
}

/** Starts the agent server; it runs on the engine's threads until it is stopped. */
export function startServer(options: ServerOptions): Server {
  const native = addon();
  const settings = { ...options, ...trustedRoots(), version: native.version };
  try {
    const server = new native.AgentServer(JSON.stringify(settings));
    return {
      port: server.port(),
      mcp: () => JSON.parse(server.mcpStatus()) as McpServerStatus[],
      answerMcp: (name, answer) =>
        answer instanceof Error
          ? server.answerMcp(name, '{}', answer.message || 'No authorization was given.')
          : server.answerMcp(name, JSON.stringify(answer), ''),
      expedite: () => server.expedite(),
      stop: () =>
        new Promise((resolve) => {
          server.stop(resolve);
        }),
    };
  } catch (error) {
    rethrow(error);
  }
}
