// The agent server that runs inside the engine: `millrace serve` and tests start it.
import { addon } from './addon';
import { rethrow } from './errors';
import { pageFolder } from './page-folder';

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
  /** Skills that the model may load. */
  readonly skills?: ServerSkills | undefined;
  /** Turns of the model with tools; 0 is no limit. */
  readonly maxSteps?: number;
  /** MCP servers whose tools the agent has, too. */
  readonly mcp?: readonly McpServerSettings[];
  /** Where runs are recorded: `file:` and a path. Without it they live as long as their readers. */
  readonly storage?: string;
  /** How long to wait for another process that has the store open. Units: milliseconds. */
  readonly openTimeoutMs?: number;
  /** What requests are sent with, in the header `X-Millrace-API-Key`; none: no key is wanted. */
  readonly apiKeys?: readonly string[];
  /** The same with names, scopes and limits. */
  readonly keys?: readonly ServerKey[];
  /** A file of further keys that `millrace keys` writes, read again when it changes. */
  readonly keysFile?: string;
  /** A file that gets a line of JSON for each request, or `-` for standard output. */
  readonly accessLog?: string;
  /** Addresses and blocks of proxies whose `X-Forwarded-For` counts. */
  readonly trustedProxies?: readonly string[];
  /** Whether the page at `/` is shown; default true. */
  readonly showsPage?: boolean;
  /** Whether `GET /openapi.json` answers; default true. */
  readonly openapi?: boolean;
  /** Whether the model makes titles of conversations, in requests of their own; default false. */
  readonly makesTitles?: boolean;
  /** Which tools of the agent can be invoked from outside; as `api.tools` of `createRuntime`. */
  readonly apiTools?: ServerTools;
  /** What callbacks are signed with; as `api.webhooks` of `createRuntime`. */
  readonly webhooks?: { readonly secret: readonly string[] };
  /** Files of settings and keys, which built-in tools leave alone. */
  readonly protectedFiles?: readonly string[];
  /** What a recorded run does when its last reader goes away; default `continue`. */
  readonly onDisconnect?: 'continue' | 'stop';
  /** How long the user has for an answer to a recorded run; default 7 days. Units: milliseconds. */
  readonly approvalTimeoutMs?: number;
  /** How long what is kept; as `retention` of `createRuntime`. */
  readonly retention?: {
    readonly compactMs?: number | false;
    readonly recordsMs?: number | false;
    readonly blobsMs?: number | false;
  };
  /** How long a run may work that its readers have left. Units: milliseconds. */
  readonly detachedTimeoutMs?: number;
  /** How many of them there may be; beyond it, the one that was left first is stopped. */
  readonly maxDetachedRuns?: number;
  /** How long stop() waits for answers on their way. Units: milliseconds. */
  readonly drainMs?: number;
}

/** Tools that can be invoked from outside. */
export interface ServerTools {
  readonly enabled?: boolean;
  readonly expose?: string | undefined;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly timeoutMs?: number;
  readonly callbackTimeoutMs?: number;
  readonly callbackAllow?: readonly string[];
}

/** A key with what it may do. */
export interface ServerKey {
  name: string;
  key?: string;
  /** In place of the key, in hexadecimal digits. */
  sha256?: string;
  principal: string;
  scopes?: readonly string[];
  limits?: { perMinute?: number; perDay?: number };
}

/** Skills as the engine takes them. */
export interface ServerSkills {
  /** Shape: lib/tool/builtin/skills.cpp. */
  readonly list: readonly object[];
  /** What the system prompt has of them. */
  readonly instructions: string;
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
  /** A sentence for each tool of its list that is left out. */
  notes?: string[];
  /** Waits for an answer. */
  refusal?: { number: number; status: number; challenge: string };
}

/** Why a run is parked, or none is taken over. */
export interface RunProblem {
  run?: string;
  /** What is lost; without it, runs cannot be gone on with. */
  what?: string;
  code?: string;
  message: string;
  /** With the paths of this machine. */
  detail?: string;
}

/** A server that listens. */
export interface Server {
  readonly port: number;
  /**
   * Takes from other options what may change while the server runs, all of it at once: models and providers, the agent,
   * keys, hosts, origins, access log, proxies, page, document and the tools that can be invoked. Errors change nothing.
   */
  change(options: ServerOptions): void;
  /** Its MCP servers; requests to the agent wait until none is starting. */
  mcp(): McpServerStatus[];
  /** What kept recorded runs from being taken over since the last call, each once. */
  problems(): RunProblem[];
  /** Answers the refusal of an MCP server with headers, or with why there are none. */
  answerMcp(name: string, answer: Record<string, string> | Error): void;
  /** Runs that begin from now on have these. */
  setSkills(skills: ServerSkills): void;
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

function optionsJson(options: ServerOptions): string {
  const fixed = { ...trustedRoots(), page: pageFolder(), version: addon().version };
  return JSON.stringify({ ...options, ...fixed });
}

/** Throws what startServer would reject of the options; opens, writes and listens to nothing. */
export function checkServer(options: ServerOptions): void {
  try {
    addon().checkServer(optionsJson(options));
  } catch (error) {
    rethrow(error);
  }
}

/** Starts the agent server; it runs on the engine's threads until it is stopped. */
export function startServer(options: ServerOptions): Server {
  const native = addon();
  try {
    const server = new native.AgentServer(optionsJson(options));
    return {
      port: server.port(),
      change: (next) => {
        try {
          server.change(optionsJson(next));
        } catch (error) {
          rethrow(error);
        }
      },
      mcp: () => JSON.parse(server.mcpStatus()) as McpServerStatus[],
      problems: () => JSON.parse(server.takeProblems()) as RunProblem[],
      answerMcp: (name, answer) =>
        answer instanceof Error
          ? server.answerMcp(name, '{}', answer.message || 'No authorization was given.')
          : server.answerMcp(name, JSON.stringify(answer), ''),
      setSkills: (skills) => server.setSkills(JSON.stringify(skills)),
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
