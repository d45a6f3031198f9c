// How an MCP server is reached: what its options are, whether they can be used, and how the engine takes
// them.
import type {
  MCPElicitation,
  MCPElicitationResult,
  MCPImplementation,
  MCPProtocolVersion,
  MCPRoot,
} from '../../types/mcp';
import { MillraceError } from '../errors';
import { limitOf } from '../limits';
import { kindOf, shown } from '../shown';
import { type RouteOptions, proxyFromEnvironment, routeOf } from '../transport/route';
import { version } from '../version';
import type { MCPAuthorization } from './authorization';

type Awaitable<T> = T | Promise<T>;

/** A server that is started as a program and spoken to over its standard input and output. */
export interface MCPProgramOptions {
  type?: 'stdio' | undefined;
  command: string;
  args?: readonly string[] | undefined;
  /** Added to HOME, LANG, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ and USER; nothing else is inherited. */
  env?: Readonly<Record<string, string>> | undefined;
  cwd?: string | undefined;
  /** Milliseconds between the polite signal and the one that cannot be ignored; default 1 s. */
  graceMs?: number | undefined;
  /** Milliseconds that it may take to end when its input is closed; default 2 s. */
  closeMs?: number | undefined;
}

/** A server that is reached over HTTP. */
export interface MCPAddressOptions extends RouteOptions {
  type?: 'http' | 'sse' | 'streamable-http' | 'streamableHttp' | undefined;
  url: string | URL;
  headers?: Readonly<Record<string, string>> | undefined;
  /** How requests are authorized; see OAuth. */
  auth?: MCPAuthorization | undefined;
  connectMs?: number | undefined;
}

/** What every client may have. */
export interface MCPCommonOptions {
  /** The server's name in the names of its tools; default its own. */
  name?: string | undefined;
  /** Gives up opening the connection. */
  signal?: AbortSignal | undefined;
  /** Who asks; default Millrace itself. */
  clientInfo?: MCPImplementation | undefined;
  /** The only version to use; default: that of the server. */
  protocolVersion?: MCPProtocolVersion | undefined;
  /** Milliseconds until the connection is open; default 60 s. */
  startMs?: number | undefined;
  /** Milliseconds for a request without its own limit; default 60 s. */
  timeoutMs?: number | undefined;
  /** Bytes of one message; default 16 MiB. */
  maxMessageBytes?: number | undefined;
  /**
   * What the server says of its tools' effects is believed, and its tools run without approval where each tool decides that
   * itself (`approval: 'tools'`).
   */
  trusted?: boolean | undefined;
  /** Folders that the server may know of. */
  roots?: (readonly MCPRoot[] | (() => Awaitable<readonly MCPRoot[]>)) | undefined;
  /** Asks a person. */
  onElicitation?:
    | ((
        question: MCPElicitation,
        context: { signal: AbortSignal },
      ) => Awaitable<MCPElicitationResult>)
    | undefined;
  /** Asks a model for the server. */
  onSampling?:
    | ((request: Record<string, unknown>, context: { signal: AbortSignal }) => Awaitable<object>)
    | undefined;
  /** onSampling reads `tools` and `toolChoice` of a request, and may answer with calls (protocol 2025-11-25). */
  samplingTools?: boolean | undefined;
  /** A line that the server's program writes to standard error; lines are lost while this process lags behind. */
  onStderr?: ((line: string) => void) | undefined;
  onLog?: ((message: { level: string; logger?: string; data: unknown }) => void) | undefined;
  onToolsChanged?: (() => void) | undefined;
  onResourcesChanged?: (() => void) | undefined;
  onPromptsChanged?: (() => void) | undefined;
  onResourceUpdated?: ((uri: string) => void) | undefined;
  /** Every notification, by its method. */
  onNotification?: ((method: string, params: Record<string, unknown>) => void) | undefined;
}

export type MCPClientOptions = (MCPProgramOptions | MCPAddressOptions) & MCPCommonOptions;

const inherited = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'TMPDIR', 'TZ', 'USER'];

// Exported shell functions would run code.
function environmentOf(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  const safe = inherited.flatMap((name) => {
    const value = process.env[name];
    return value === undefined || value.startsWith('()') ? [] : [[name, value] as const];
  });
  return { ...Object.fromEntries(safe), ...given };
}

const transports = ['stdio', 'http', 'sse', 'streamable-http', 'streamableHttp'];

const isText = (value: unknown): boolean => value === undefined || typeof value === 'string';

function areTexts(value: unknown): boolean {
  if (value === undefined) return true;
  return typeof value === 'object' && value !== null && Object.values(value).every(isText);
}

/** A list of texts, or nothing. */
export const isList = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((text) => typeof text === 'string'));

/** Throws `invalid_option` when `who` is described in a way that cannot be used. */
export function checkReach(who: string, reach: unknown): void {
  const wrong = (what: string): never => {
    throw new MillraceError('invalid_option', `${who} ${what}.`);
  };
  if (typeof reach !== 'object' || reach === null)
    return wrong(`must be described by an object, not ${shown(reach)}`);
  const { type, command, url, args, env, cwd, headers, allow, expose, deny } = reach as Record<
    string,
    unknown
  >;
  if (!isText(command))
    wrong(
      `has a command that is ${kindOf(command)}, not a string; its arguments belong in \`args\``,
    );
  // An URL may be one of another realm.
  if (!isText(url) && !isText((url as Partial<URL> | null)?.href ?? 0))
    wrong(`has a url that is ${kindOf(url)}, not a string`);
  if (!command && !url) wrong('needs a command or a url');
  if (command !== undefined && url !== undefined)
    wrong('has both a command and a url; give one of them');
  if (type !== undefined && !transports.includes(type as string)) {
    wrong(`has the unknown type ${JSON.stringify(type)}; use ${transports.slice(0, 3).join(', ')}`);
  }
  if (type !== undefined && (type === 'stdio') !== (command !== undefined)) {
    const other = type === 'stdio' ? 'a url' : 'a command';
    wrong(`has the type ${type as string}, but ${other}`);
  }
  for (const [key, list] of Object.entries({ args, allow, expose, deny })) {
    if (!isList(list)) wrong(`needs a list of strings as \`${key}\`, not ${kindOf(list)}`);
  }
  if (!isText(cwd)) wrong(`has a \`cwd\` that is ${kindOf(cwd)}, not a string`);
  if (!areTexts(env)) wrong('needs an object of strings as `env`');
  if (!areTexts(headers)) wrong('needs an object of strings as `headers`');
}

/** The versions that are spoken. */
export const protocolVersions: readonly string[] = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
  '2026-07-28',
] satisfies MCPProtocolVersion[];

type Check = readonly [isOne: (value: unknown) => boolean, what: string];
const isFunction = (value: unknown): boolean => typeof value === 'function';
const any: Check = [() => true, ''];
const listener: Check = [isFunction, 'a function'];

// What each option has to be; how a server is reached is checked by checkReach, limits by limitOf.
const clientOptions: Record<
  keyof (MCPProgramOptions & MCPAddressOptions & MCPCommonOptions),
  Check
> = {
  ...{ type: any, command: any, args: any, env: any, cwd: any, graceMs: any, closeMs: any },
  ...{ url: any, headers: any, auth: any, connectMs: any },
  ...{ proxy: any, ca: any, cert: any, key: any, passphrase: any, http2: any },
  ...{ signal: any, startMs: any, timeoutMs: any, maxMessageBytes: any },
  name: [(value) => typeof value === 'string' && value !== '', 'a text'],
  clientInfo: [(value) => typeof value === 'object' && value !== null, 'an object'],
  trusted: [(value) => typeof value === 'boolean', 'true or false'],
  samplingTools: [(value) => typeof value === 'boolean', 'true or false'],
  roots: [(value) => Array.isArray(value) || isFunction(value), 'a list or a function'],
  protocolVersion: [
    (value) => protocolVersions.includes(value as string),
    `one of ${protocolVersions.join(', ')}`,
  ],
  ...{ onElicitation: listener, onSampling: listener, onLog: listener, onToolsChanged: listener },
  ...{ onResourcesChanged: listener, onPromptsChanged: listener, onResourceUpdated: listener },
  ...{ onNotification: listener, onStderr: listener },
};

/** Throws `invalid_option` for an option that a client does not have, or that is none. */
export function checkClientOptions(options: object): void {
  const checks: Readonly<Record<string, Check | undefined>> = clientOptions;
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) {
      const known = Object.keys(checks).join(', ');
      throw new MillraceError(
        'invalid_option',
        `createMCPClient() has no option '${name}'. It has ${known}.`,
      );
    }
    const [isOne, what] = check;
    if (isOne(value)) continue;
    throw new MillraceError(
      'invalid_option',
      `\`${name}\` of an MCP client must be ${what}, not ${shown(value, name)}.`,
    );
  }
  const { samplingTools, onSampling } = options as MCPCommonOptions;
  if (samplingTools && !onSampling) {
    throw new MillraceError(
      'invalid_option',
      '`samplingTools` has an effect only with `onSampling`; give both.',
    );
  }
}

/** How a server is reached, as the engine takes it. */
export function reachOf(options: MCPClientOptions): object {
  const common = {
    client: options.clientInfo ?? { name: 'millrace', version: version() },
    protocol: options.protocolVersion,
    openMs: limitOf('startMs', options.startMs),
    callMs: limitOf('timeoutMs', options.timeoutMs),
    messageBytes: limitOf('maxMessageBytes', options.maxMessageBytes),
  };
  if ('command' in options && options.command !== undefined) {
    const { command, args, env, cwd } = options;
    const graceMs = limitOf('graceMs', options.graceMs);
    const closeMs = limitOf('closeMs', options.closeMs);
    const program = { command, args, cwd, graceMs, closeMs, env: environmentOf(env) };
    return { ...common, ...program, tellsErrors: options.onStderr !== undefined };
  }
  const { url, headers, type, proxy = proxyFromEnvironment() } = options as MCPAddressOptions;
  const transport = type === 'sse' ? 'sse' : 'auto';
  const connectMs = limitOf('connectMs', (options as MCPAddressOptions).connectMs);
  const route = routeOf({ ...options, proxy });
  return { ...common, url: String(url), headers, transport, connectMs, ...route };
}
