// What `millrace serve` starts its server with, made of its configuration.
import { resolve } from 'node:path';

import { MillraceError } from '../errors';
import { type Environment, addressOf, keyOf } from '../model/environment';
import type { ProviderRow, ProviderSettings } from '../model/settings';
import { checkSettings, engineSettings, providerRow, providerRows } from '../model/settings';
import type { ServerOptions, ServerTools } from '../server';
import { UsageError } from './command';
import type { Config } from './config';
import { chooseModel, type KnownProvider } from './model-choice';
import { keysFileOf, serveKeys } from './serve-keys';
import { providersOf } from './serve-secrets';
import { isFileStorage } from '../file-storage';

type Providers = Config['providers'];

/** A server that can be started. */
export interface ServePlan {
  options: ServerOptions;
  /** provider:name */
  model: string;
  /** `file:` and a path, where runs are recorded. */
  storage: string | undefined;
  /** The file of a key that was made for the server. */
  keyFile: string | undefined;
  /** Hosts that requests may name. */
  hosts: string[];
}

function storageOf(config: Config): string | undefined {
  const storage = config.text('storage.location');
  if (storage === undefined || storage === 'off') {
    const needing = ['wait_seconds', 'on_disconnect', 'keep_records', 'approval_timeout_seconds'];
    if (needing.some((name) => config.isOption(`storage.${name}`))) {
      throw new UsageError(
        '--wait, --on-disconnect, --keep-records and --approval-timeout need --storage file:PATH.',
      );
    }
    return undefined;
  }
  if (isFileStorage(storage)) return storage;
  throw new UsageError(`--storage must be file:PATH or off, not '${storage}'.`);
}

const mostDays = 36_500;

function recordRetention(days: string | undefined): Pick<ServerOptions, 'retention'> {
  if (days === undefined) return {};
  if (days === 'forever') return { retention: { recordsMs: false } };
  if (/^\d{1,5}$/u.test(days) && Number(days) <= mostDays) {
    return { retention: { recordsMs: Number(days) * 24 * 3600 * 1000 } };
  }
  throw new UsageError(
    `--keep-records must be forever or a number of days, 0 to ${mostDays}, not '${days}'.`,
  );
}

function storageOptions(
  config: Config,
): Pick<
  ServerOptions,
  'storage' | 'openTimeoutMs' | 'onDisconnect' | 'approvalTimeoutMs' | 'keysFile' | 'retention'
> {
  const storage = storageOf(config);
  const keysFile = keysFileOf(config, storage);
  if (storage === undefined) return {};
  return {
    storage,
    openTimeoutMs: config.number('storage.wait_seconds') * 1000,
    onDisconnect: config.text('storage.on_disconnect') === 'stop' ? 'stop' : 'continue',
    approvalTimeoutMs: config.number('storage.approval_timeout_seconds') * 1000,
    ...recordRetention(config.text('storage.keep_records')),
    ...(keysFile !== undefined && { keysFile }),
  };
}

// Where the environment has a key, what the file knows of it is of another account.
function settingsOf(row: ProviderRow, providers: Providers, env: Environment): ProviderSettings {
  const given = providers.get(row.id) ?? {};
  if (keyOf(row, env) === undefined) return given;
  const { apiKey: _key, baseURL: _address, ...others } = given;
  return others;
}

/** Every provider of which the configuration or the environment has a key or an address, and nothing else is missing. */
function configuredProviders(providers: Providers, env: Environment): object[] {
  return providerRows().flatMap((row) => {
    const settings = settingsOf(row, providers, env);
    if (providers.has(row.id)) {
      checkSettings(row.id, settings);
      return [engineSettings(row.id, settings)];
    }
    try {
      if (keyOf(row, env) === undefined && addressOf(row, env) === undefined) return [];
      checkSettings(row.id, {});
    } catch {
      // It needs an address as well; the route says so when it is asked.
      return [];
    }
    return [engineSettings(row.id, {})];
  });
}

function knownProviders(config: Config, providers: Providers): KnownProvider {
  const ofModel = config.text('model.api_key');
  return (id) => {
    const settings = providers.get(providerRow(id)?.id ?? id);
    const apiKey = ofModel ?? (settings?.['apiKey'] as string | undefined);
    const baseURL = settings?.['baseURL'] as string | undefined;
    return { ...(apiKey !== undefined && { apiKey }), ...(baseURL !== undefined && { baseURL }) };
  };
}

// What is named wrongly is a wrong use.
const uses: ReadonlySet<string> = new Set(['invalid_option', 'unknown_provider']);

/** The same error as one of the command line, where it is about what the user wrote. */
export function asUse(error: unknown): unknown {
  const isUse = MillraceError.is(error) && uses.has(error.code);
  return isUse ? new UsageError(error.message, { cause: error }) : error;
}

// An agent that could write them could give itself any right.
function filesOf(config: Config): string[] {
  const names = ['api.key_file', 'api.keys_file', 'storage.secret_key_file', 'mcp.file'];
  const files = [config.file, ...names.map((name) => config.text(name))];
  return files.flatMap((file) => (file === undefined ? [] : [resolve(file)]));
}

function exposedTools(config: Config): ServerTools {
  return {
    enabled: config.flag('api.tool_invoke_enabled'),
    expose: config.text('api.tool_invoke_expose'),
    allow: config.list('api.tool_invoke_allowlist'),
    deny: config.list('api.tool_invoke_denylist'),
    timeoutMs: config.number('api.tool_invoke_timeout') * 1000,
    callbackTimeoutMs: config.number('api.tool_invoke_callback_timeout') * 1000,
    callbackAllow: config.list('api.tool_invoke_callback_allowlist'),
  };
}

/** Makes the options of a server. A check makes no key for it. Errors: UsageError. */
export function servePlan(
  config: Config,
  env: Environment,
  { isCheck = false }: { isCheck?: boolean } = {},
): ServePlan {
  const recording = storageOptions(config);
  const providers = providersOf(config, recording.storage, env);
  const known = knownProviders(config, providers);
  const choice = chooseModel(config.text('model.name'), config.text('model.base_url'), env, known);
  const { keys, file } = serveKeys(config, recording.storage, isCheck);
  const host = config.text('api.host') ?? '';
  const allowedHosts = config.list('api.allowed_hosts');
  const instructions = config.text('agent.instructions');
  const accessLog = config.text('api.access_log');
  const secret = config.list('api.webhook_secrets');
  const options: ServerOptions = {
    ...choice,
    ...recording,
    ...(instructions !== undefined && { instructions }),
    tools: config.list('agent.tools'),
    approval: config.text('agent.approval') ?? '',
    maxSteps: config.number('agent.max_steps'),
    maxOutputTokens: config.number('model.max_output_tokens'),
    apiKeys: keys,
    keys: config.keys,
    ...(accessLog !== undefined && { accessLog }),
    trustedProxies: config.list('api.trusted_proxies'),
    protectedFiles: filesOf(config),
    showsPage: config.flag('api.page'),
    openapi: config.flag('api.openapi_enabled'),
    makesTitles: config.flag('api.title_enabled'),
    apiTools: exposedTools(config),
    ...(secret.length > 0 && { webhooks: { secret } }),
    providers: configuredProviders(providers, env),
    ...{ host, port: config.number('api.port') },
    allowedHosts,
    allowedOrigins: config.list('api.allowed_origins'),
  };
  return {
    ...{ options, model: choice.model, storage: recording.storage, keyFile: file },
    hosts: [...new Set(['localhost', '127.0.0.1', '[::1]', host, ...allowedHosts])],
  };
}
