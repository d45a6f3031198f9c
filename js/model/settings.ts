// The settings of providers: what the user gives, what the environment knows, as the engine reads it.
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { checkNames, checkSpelling } from '../known-names';
import { addressOf, firstOf, keyOf } from './environment';
import type { Timeouts } from '../transport/engine';
import type { RouteOptions } from '../transport/route';
import { proxyFromEnvironment } from '../transport/route';
import { checkHeaders, givenHeaders } from '../value-checks';

/** Limits of an answer, in bytes; what exceeds one ends it with an error. */
export interface AnswerLimits {
  /** At most 98,304; default 65,536. */
  headerBytes?: number | undefined;
  decodedBytes?: number | undefined;
  lineBytes?: number | undefined;
  eventBytes?: number | undefined;
  toolArgumentsBytes?: number | undefined;
  /** Texts, reasoning, calls, citations and states of one answer; default 8,192. */
  parts?: number | undefined;
}

/** How one provider is reached. Which members a provider needs stands in docs/providers.md. */
export interface ProviderSettings extends RouteOptions {
  /** One key, several separated by commas, or a list; default: the provider's environment variable. */
  apiKey?: string | readonly string[] | undefined;
  /**
   * Default: where no key is given either, `<PROVIDER>_BASE_URL` of the environment (Ollama:
   * OLLAMA_HOST); else the provider's own.
   */
  baseURL?: string | undefined;
  /** Sent with every request. */
  headers?: Record<string, string> | undefined;
  /** Defaults: connect 10 s, firstByte and idle 300 s, total none. */
  timeouts?: Timeouts | undefined;
  /** In bytes: of an answer's head, body, line, event, and of the arguments of a tool call. */
  limits?: AnswerLimits | undefined;
  /** Further requests after a failure that may pass; default 2. */
  maxRetries?: number | undefined;
  /**
   * When a provider that keeps failing is left alone: after `failures` (default 10) within `windowMs`
   * (30,000) it is not asked for `pauseMs` (30,000). `false`: never.
   */
  circuit?: false | { failures?: number; windowMs?: number; pauseMs?: number } | undefined;
  region?: string | undefined;
  project?: string | undefined;
  location?: string | undefined;
  accountId?: string | undefined;
  apiVersion?: string | undefined;
  deployment?: string | undefined;
  deployments?: Record<string, string> | undefined;
  /** A Google service account, as an object or JSON text. */
  credentials?: string | object | undefined;
  accessKeyId?: string | undefined;
  secretAccessKey?: string | undefined;
  sessionToken?: string | undefined;
  apiMode?: string | undefined;
  /** Switches deviations of the provider from its dialect on and off, by name. */
  quirks?: Record<string, boolean> | undefined;
  /**
   * Changes the body of every chat request before it is signed, as a JSON merge patch (RFC 7396): members that no option
   * covers, or that must not be sent (`null`). `stream` and `stream_options.include_usage` cannot be changed.
   */
  body?: Record<string, unknown> | undefined;
  /**
   * `'lobe'`: temperatures are on LobeHub's scale of 0 to 2, and halved for providers whose own ends at 1.
   * Default: a temperature is sent as given.
   */
  temperatureScale?: 'lobe' | undefined;
  /** The caller's own names of classes of errors, by their usual name: `{ ProviderBizError: 'Mine' }`. */
  errorNames?: Record<string, string> | undefined;
  /** Describes a provider that is not in the table. */
  custom?: Record<string, unknown> | undefined;
}

/** A row of the table of providers. */
export interface ProviderRow {
  id: string;
  name: string;
  baseURL: string;
  keyNames: string[];
  models: string[];
  /** What else it is called. */
  aliases: string[];
  [member: string]: unknown;
}

let rows: ProviderRow[] | undefined;

/** The table of providers. */
export function providerRows(): readonly ProviderRow[] {
  rows ??= JSON.parse(addon().providers()) as ProviderRow[];
  return rows;
}

/** What a provider is called in errors and hooks, for any of its names. */
export function canonicalName(name: string): string {
  return providerRow(name)?.id ?? name;
}

/** The row of a provider, by its id or another name of it in any case. */
export function providerRow(name: string): ProviderRow | undefined {
  const wanted = name.toLowerCase();
  return providerRows().find(({ id, aliases }) => id === wanted || aliases.includes(wanted));
}

/** True when the environment holds a key of the provider. */
export function hasKey(row: ProviderRow): boolean {
  return keyOf(row, process.env) !== undefined;
}

interface LobeSettings {
  accessKeySecret?: string | undefined;
  baseURLOrAccountID?: string | undefined;
  googleAuthOptions?: { credentials?: string | object | undefined } | undefined;
  vertexAIRegion?: string | undefined;
}

// What LobeHub's runtimes of Bedrock, Cloudflare and Vertex AI call their settings.
// Source: lobehub/lobehub, packages/model-runtime and src/server/modules/ModelRuntime (2026-11).
function withLobeNames(given: ProviderSettings & LobeSettings): ProviderSettings {
  const { accessKeySecret, baseURLOrAccountID, googleAuthOptions, vertexAIRegion, ...own } = given;
  const account = String(baseURLOrAccountID).includes('://') ? 'baseURL' : 'accountId';
  const meant = {
    secretAccessKey: accessKeySecret,
    [account]: baseURLOrAccountID,
    credentials: googleAuthOptions?.credentials,
    location: vertexAIRegion,
  };
  const missing = Object.entries(meant).filter(
    ([name, value]) => value !== undefined && own[name as keyof ProviderSettings] === undefined,
  );
  return { ...own, ...Object.fromEntries(missing) };
}

/** The settings as the engine reads them, with what the environment adds. */
export function engineSettings(provider: string, given: ProviderSettings): object {
  const settings = withLobeNames(given);
  const { credentials, proxy = proxyFromEnvironment() } = settings;
  return {
    ...settings,
    ...environmentOf(provider, settings),
    provider,
    ...(proxy === undefined ? {} : { proxy }),
    ...(typeof credentials === 'object' ? { credentials: JSON.stringify(credentials) } : {}),
  };
}

const limitNames = [
  ...['headerBytes', 'decodedBytes', 'lineBytes', 'eventBytes', 'toolArgumentsBytes', 'parts'],
];
const circuitNames = ['failures', 'windowMs', 'pauseMs'];

// Other names are let through: settings may come from a store that keeps more of a provider.
const optionNames = [
  ...['apiKey', 'baseURL', 'headers', 'timeouts', 'limits', 'maxRetries', 'circuit', 'region'],
  ...['project', 'location', 'accountId', 'apiVersion', 'deployment', 'deployments', 'query'],
  ...['errorNames', 'body', 'temperatureScale'],
  ...[
    'credentials',
    'accessKeyId',
    'secretAccessKey',
    'sessionToken',
    'apiMode',
    'quirks',
    'custom',
  ],
  ...['proxy', 'passphrase', 'http2', 'transport', 'origin', 'fallback', 'provider', 'providers'],
  ...['handlePayload', 'handleError', 'handleStream', 'handleRetry'],
];

/** Throws for a name that is one of a runtime's options but for its spelling, or none of a group's. */
export function checkOptionNames(owner: string, options: ProviderSettings): void {
  checkSpelling(owner, options, optionNames);
  checkNames(`${owner}: limits`, options.limits, limitNames);
  const { circuit, proxy } = options;
  if (circuit !== false) checkNames(`${owner}: circuit`, circuit, circuitNames);
  if (typeof proxy !== 'string') checkNames(`${owner}: proxy`, proxy, ['http', 'https', 'noProxy']);
}

// LobeHub has a class of its own for what Ollama is asked with.
const settingsErrorTypes: Record<string, string> = { ollama: 'InvalidOllamaArgs' };

/** Throws when the engine would not take the settings; gives the provider's id in the table. */
export function checkSettings(provider: string, settings: ProviderSettings): string {
  checkHeaders(provider, givenHeaders(settings.headers));
  try {
    return addon().checkProvider(JSON.stringify(engineSettings(provider, settings)));
  } catch (error) {
    const errorType = settingsErrorTypes[providerRow(provider)?.id ?? ''];
    if (errorType === undefined || typeof error !== 'string') rethrow(error);
    rethrow(JSON.stringify({ ...(JSON.parse(error) as object), errorType }));
  }
}

/** Takes "provider:model" apart. */
export function splitModel(name: string): { provider: string; model: string } {
  const colon = name.indexOf(':');
  if (colon > 0 && colon < name.length - 1) {
    return { provider: name.slice(0, colon), model: name.slice(colon + 1) };
  }
  throw new MillraceError(
    'invalid_option',
    `'${name}' is not a model. Write provider:model, for instance openai:gpt-5-mini.`,
  );
}

const awsNames = {
  accessKeyId: ['AWS_ACCESS_KEY_ID'],
  secretAccessKey: ['AWS_SECRET_ACCESS_KEY'],
  sessionToken: ['AWS_SESSION_TOKEN'],
  region: ['AWS_REGION', 'AWS_DEFAULT_REGION'],
};
type AwsMember = keyof typeof awsNames;

// An address of the environment belongs to the key of the environment: a key that is given in code
// goes to its own vendor.
function environmentOf(provider: string, settings: ProviderSettings): Record<string, string> {
  const row = providerRow(provider);
  if (row === undefined) return {};
  if (row.id === 'bedrock') return awsEnvironment(settings);
  const { apiKey, credentials, baseURL } = settings;
  if (apiKey !== undefined || credentials !== undefined) return {};
  const key = keyOf(row, process.env);
  const address = baseURL === undefined ? addressOf(row, process.env) : undefined;
  return {
    ...(key === undefined ? {} : { apiKey: key }),
    ...(address === undefined ? {} : { baseURL: address }),
  };
}

function awsEnvironment(settings: ProviderSettings): Record<string, string> {
  const found: Record<string, string> = {};
  if (settings.accessKeyId !== undefined) return found;
  for (const [member, names] of Object.entries(awsNames)) {
    const value = firstOf(process.env, names);
    if (value !== undefined && settings[member as AwsMember] === undefined) found[member] = value;
  }
  return found;
}
