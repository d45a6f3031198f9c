// What createRuntime() may be given.
import { policyChecks } from '../agent/run-policies';
import { MillraceError } from '../errors';
import { isFileStorage } from '../file-storage';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { checkChoice, checkValues, count, flag, group, milliseconds } from '../value-checks';

export interface RuntimeOptions {
  /** `memory` keeps runs as long as the runtime; `file:` and a path keeps them in a file, whose folder is made. */
  storage: 'memory' | `file:${string}`;
  /** A reader looks at a store that another process has open, and runs nothing; `owner` when absent. */
  role?: 'owner' | 'reader' | undefined;
  /** What a power cut may lose: nothing that was shown (`full`, the default), or the latest progress. */
  durability?: 'full' | 'balanced' | undefined;
  /**
   * What a run needs to go on: an agent or job of its name (`continue`, the default), or of the same `version`, model,
   * instructions and tools (`strict`). Else it is parked until such a one is registered.
   */
  versions?: 'continue' | 'strict' | undefined;
  /** How long opening waits for the process that has the store open, in milliseconds; 2000 when absent. */
  openTimeoutMs?: number | undefined;
  /**
   * What the leaving of a run's last reader does where neither the run nor its agent has it: the run goes on (`continue`,
   * the default), or is stopped. Jobs go on.
   */
  onDisconnect?: 'continue' | 'stop' | undefined;
  /** How long the user has for an answer, in milliseconds, 1 to ten years, where the agent has no other; 7 days when absent. */
  approvalTimeoutMs?: number | undefined;
  /** How long a run may work that its readers have left, in milliseconds; 30 minutes when absent. */
  detachedTimeoutMs?: number | undefined;
  /** How many of them there may be; beyond it, the one that was left first is stopped. 1024 when absent. */
  maxDetachedRuns?: number | undefined;
  /**
   * How many runs may be at work at once; others wait for their turn. Runs that wait for an answer or sleep do not count.
   * No limit when absent.
   */
  concurrency?: number | Concurrency | undefined;
  /** How many runs may begin in a time; others wait for their turn. No limit when absent. */
  rate?: StartRate | StartRates | undefined;
  /** How long what is kept. */
  retention?: Retention | undefined;
  /** Allows a file on a network file system, which may lose runs. */
  allowNetworkFileSystem?: boolean | undefined;
  /** The HTTP routes of the runtime (`fetch` and `listen`). */
  api?: ApiOptions | undefined;
}

/** Times in milliseconds behind the end of a run, or `false` for no end. */
export interface Retention {
  /** Until its records take less room; readers see no difference. An hour when absent. */
  compactMs?: number | false | undefined;
  /** Until its records are removed; its row and messages stay. 30 days when absent. */
  recordsMs?: number | false | undefined;
  /** Of bytes that no attachment refers to, since they were stored. A day when absent. */
  blobsMs?: number | false | undefined;
}

/** Limits of runs at work, each of which a run waits for. */
export interface Concurrency {
  /** Of all runs. */
  total?: number | undefined;
  /** Of the runs of each principal. */
  perPrincipal?: number | undefined;
  /** Of the runs of agents whose models have the same keys. */
  perProviderKey?: number | undefined;
  /** By the names of agents and jobs. */
  names?: Readonly<Record<string, number>> | undefined;
}

/** How many runs may begin in a time. */
export interface StartRate {
  starts: number;
  /** Milliseconds, up to a day; 1000 when absent. */
  perMs?: number | undefined;
}

/** Rates, each of which a run waits for. */
export interface StartRates {
  /** Of all runs. */
  total?: StartRate | undefined;
  /** Of the runs of each principal. */
  perPrincipal?: StartRate | undefined;
  /** Of the runs of agents whose models have the same keys. */
  perProviderKey?: StartRate | undefined;
  /** By the names of agents and jobs. */
  names?: Readonly<Record<string, StartRate>> | undefined;
}

/** A key that requests to the runtime's routes are sent with, in the header `X-Millrace-API-Key`. */
export interface ApiKey {
  /** How reports name the key. */
  name?: string | undefined;
  /** The key itself, of which only a hash is kept; or its SHA-256 in hexadecimal digits. */
  key?: string | undefined;
  sha256?: string | undefined;
  /** Whose conversations and runs its requests see; `local` when absent. */
  principal?: string | undefined;
  /** What it may do; everything when absent. */
  scopes?: readonly string[] | undefined;
  /** When it ends, in milliseconds since 1970; never when absent. */
  expiresAt?: number | undefined;
  /** How many requests may come with it; as many as wanted when absent. */
  limits?: ApiKeyLimits | undefined;
}

/** Beyond them, requests get 429. */
export interface ApiKeyLimits {
  perMinute?: number | undefined;
  /** Of a day of UTC, as this process counts it. */
  perDay?: number | undefined;
}

export interface ApiOptions {
  /** The agent that answers chats; `agent` when absent. */
  agent?: string | undefined;
  /** Without keys, the routes are for this machine alone. */
  keys?: readonly ApiKey[] | undefined;
  /** A file of further keys that `millrace keys` writes, read again when it changes. Where it is there, requests need a key. */
  keysFile?: string | undefined;
  /** A file that gets a line of JSON for each request, or `-` for standard output. */
  accessLog?: string | undefined;
  /** Addresses and blocks of proxies whose `X-Forwarded-For` counts. */
  trustedProxies?: readonly string[] | undefined;
  /** How callbacks of tools are signed and tried again. */
  webhooks?: ApiWebhooks | undefined;
  /** Origins of pages that may use the routes, beside those of this machine. */
  origins?: readonly string[] | undefined;
  /** Whether `GET /openapi.json` answers; true when absent. */
  openapi?: boolean | undefined;
  /** Whether the page for chats is at `/`; true when absent. It holds no data, and needs no key itself. */
  page?: boolean | undefined;
  /** The largest attachment, in bytes; 100 MiB when absent. */
  attachmentBytes?: number | undefined;
  /** Makes the title of a conversation of its first question and answer; the question is the title when absent. */
  title?: ((first: { question: string; answer: string }) => Promise<string> | string) | undefined;
  /** Makes an object by a schema, for clients of LobeHub's server. */
  object?: ((request: ObjectRequest) => unknown) | undefined;
  /** What the probes report of models and sockets, and reach for. Keys and paths of addresses are not reported. */
  probes?: ApiProbes | undefined;
  /** Which tools can be invoked from outside; none when absent. */
  tools?: ApiTools | undefined;
  /** How many facts are remembered (`/api/v1/memory`); 500 when absent, and the oldest one goes. */
  memoryMax?: number | undefined;
  /**
   * How many bytes the log of one job takes in memory; 16 MiB when absent. Beyond it the oldest deltas go, then the
   * oldest events, and a reader behind them gets `gap`.
   */
  jobLogBytes?: number | undefined;
  /**
   * How long a reader may take nothing of what waits for it; 60,000 when absent. Then its answer is cut off, and a job or
   * a run goes on without it. Units: milliseconds.
   */
  readerStallMs?: number | undefined;
  /** The number by which clients know who writes; 42 when absent. */
  userId?: number | undefined;
  /** The permission by which clients know who writes; `superadmin` when absent. */
  permission?: string | undefined;
  /** The number of the superadmin among those who send commands; 10001 when absent or 0. */
  superadminId?: number | undefined;
  /** The numbers of the admins among those who send commands; none when absent. */
  adminIds?: readonly number[] | undefined;
}

/** What an object is made of: a `schema`, or `tools` of which the model calls some. */
export interface ObjectRequest {
  messages: { role: string; content: unknown }[];
  model?: string | undefined;
  provider?: string | undefined;
  schema?: object | undefined;
  tools?: object[] | undefined;
}

/** Dependencies by the names under which the probes report them. */
export interface ApiProbes {
  models?: Record<string, ApiProbe> | undefined;
  /** Only the connection counts. */
  sockets?: Record<string, ApiProbe> | undefined;
}

/** A dependency; without an address it is skipped. */
export interface ApiProbe {
  model_name?: string | undefined;
  api_url?: string | undefined;
  /** Sent as a bearer token. */
  api_key?: string | undefined;
  /** Why it is skipped. */
  reason?: string | undefined;
  [setting: string]: unknown;
}

/** Callbacks of tools are webhooks of standardwebhooks.com. */
export interface ApiWebhooks {
  /** `whsec_` and base64 of 24 to 64 bytes; of several, each signs. Not signed when absent. */
  secret?: string | readonly string[] | undefined;
  /** Waits between tries; 5 s, 30 s, 2 min, 10 min, 30 min, 1 h, 2 h, 4 h, 8 h and 8 h when absent. */
  retryDelaysMs?: readonly number[] | undefined;
}

/** Which tools can be invoked from outside. */
export interface ApiTools {
  enabled?: boolean | undefined;
  /** `tools`, `toolsets`, `tools+toolsets` (default), `agents` or `all`. */
  expose?: string | undefined;
  /** Exactly these, whatever `expose` names. */
  allow?: readonly string[] | undefined;
  deny?: readonly string[] | undefined;
  timeoutMs?: number | undefined;
  callbackTimeoutMs?: number | undefined;
  /** Hosts that callbacks may be sent to beside the public internet, as `allow` of `builtinTools` names them. */
  callbackAllow?: readonly string[] | undefined;
}

const names: readonly (keyof RuntimeOptions)[] = [
  'storage',
  'role',
  'durability',
  'versions',
  'openTimeoutMs',
  'onDisconnect',
  'approvalTimeoutMs',
  'detachedTimeoutMs',
  'maxDetachedRuns',
  'concurrency',
  'rate',
  'retention',
  'allowNetworkFileSystem',
  'api',
];

function checkStorage(storage: unknown): void {
  if (typeof storage === 'string' && (storage === 'memory' || isFileStorage(storage))) return;
  throw new MillraceError(
    'invalid_option',
    `createRuntime() needs storage: 'memory' or 'file:' and a path without a host or NUL, not ${shown(storage)}.`,
  );
}

export function checkRuntimeOptions(options: unknown): asserts options is RuntimeOptions {
  const given = (options ?? {}) as Partial<RuntimeOptions>;
  checkNames('createRuntime()', given, names, { path: "storage: 'file:…'", file: 'storage' });
  const { storage, role, durability, versions } = given;
  checkStorage(storage);
  checkChoice('createRuntime()', 'role', role, ['owner', 'reader']);
  checkChoice('createRuntime()', 'durability', durability, ['full', 'balanced']);
  checkChoice('createRuntime()', 'versions', versions, ['continue', 'strict']);
  checkValues('createRuntime()', given, {
    ...policyChecks,
    openTimeoutMs: milliseconds,
    detachedTimeoutMs: milliseconds,
    maxDetachedRuns: count,
    allowNetworkFileSystem: flag,
    api: group,
  });
  checkRetention(given.retention);
}

function checkRetention(retention: unknown): void {
  if (retention === undefined) return;
  if (typeof retention !== 'object' || retention === null) {
    throw new MillraceError(
      'invalid_option',
      `createRuntime(): retention must be an object, not ${shown(retention)}.`,
    );
  }
  const times = ['compactMs', 'recordsMs', 'blobsMs'];
  checkNames('retention', retention, times);
  for (const [name, value] of Object.entries(retention)) {
    if (value === undefined || value === false) continue;
    checkValues('retention', { [name]: value as unknown }, { [name]: milliseconds });
  }
}
