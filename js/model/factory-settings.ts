// The settings of a runtime that a factory's class makes: the vendor's options and the caller's, the key, the names of errors.
import { MillraceError } from '../errors';
import type { FactoryInstance, FactoryOptions } from './factory-options';
import type { ModelRuntimeOptions } from './runtime-options';

/** A runtime's options, or those of a vendor's client. */
export type FactoryRuntimeOptions = ModelRuntimeOptions &
  NonNullable<FactoryOptions['constructorOptions']>;

/** The vendor's row of the table of providers. */
export interface VendorRow {
  dialect: string;
  auth: string;
  quirks: Record<string, boolean>;
}

/** What a vendor's own hooks are given of the runtime. */
export function instanceOf({ apiKey, baseURL }: ModelRuntimeOptions): FactoryInstance {
  const key = typeof apiKey === 'string' ? apiKey : (apiKey?.[0] ?? '');
  return { apiKey: key, baseURL: baseURL ?? '' };
}

/** The settings of a runtime: the vendor's options, and those of the instance before them. */
export function settingsOf(
  options: FactoryOptions,
  row: VendorRow,
  instance: FactoryRuntimeOptions,
): ModelRuntimeOptions {
  const { provider, constructorOptions } = options;
  const { timeout, defaultHeaders, defaultQuery, ...own } = instance;
  const given = { ...constructorOptions };
  if (timeout !== undefined) given.timeout = timeout;
  const { quirks, ...rest } = row;
  const on = Object.entries(quirks).filter(([, value]) => value);
  const baseURL = instance.baseURL ?? options.baseURL;
  const apiKey = instance.apiKey ?? keyOf(options.keyNames) ?? options.apiKey;
  return {
    ...(given.maxRetries === undefined ? {} : { maxRetries: given.maxRetries }),
    ...(given.timeout === undefined ? {} : { timeouts: { firstByte: given.timeout } }),
    ...((given.defaultQuery ?? defaultQuery)
      ? { query: { ...given.defaultQuery, ...defaultQuery } }
      : {}),
    ...own,
    headers: { ...given.defaultHeaders, ...defaultHeaders, ...instance.headers },
    quirks: { ...Object.fromEntries(on), ...instance.quirks },
    errorNames: { ...errorNamesOf(options), ...instance.errorNames },
    ...(baseURL === undefined ? {} : { baseURL: baseURL.trim() }),
    ...(apiKey === undefined ? {} : { apiKey: trimmed(apiKey) }),
    // LobeHub's providers get LobeHub's temperatures.
    temperatureScale: 'lobe',
    custom: { name: provider, ...rest, baseURL: options.baseURL },
  };
}

function keyOf(names: readonly string[] = []): string | undefined {
  return names.map((name) => process.env[name]).find((value) => value?.trim());
}

function trimmed(key: string | readonly string[]): string | readonly string[] {
  return typeof key === 'string' ? key.trim() : key.map((one) => one.trim());
}

function errorNamesOf({ errorType = {} }: FactoryOptions): Record<string, string> {
  const { bizError, invalidAPIKey } = errorType;
  return {
    ...(invalidAPIKey === undefined ? {} : { InvalidProviderAPIKey: invalidAPIKey }),
    ...(bizError === undefined ? {} : { ProviderBizError: bizError }),
  };
}

/**
 * Throws when nothing says who calls: no key, no client of the vendor's own, no header and no query that may prove it.
 */
export function checkKey(options: FactoryOptions, settings: ModelRuntimeOptions): void {
  const { apiKey = '', headers = {} } = settings;
  const { query = {} } = settings as { query?: object };
  const keys = typeof apiKey === 'string' ? apiKey.split(',') : apiKey;
  if (keys.some((key) => key.trim() !== '') || options.customClient) return;
  if (Object.keys({ ...headers, ...query }).some((name) => provesIdentity.test(name))) return;
  const [name] = options.keyNames ?? [];
  const fix = name === undefined ? 'Give `apiKey`.' : `Set ${name} or give \`apiKey\`.`;
  throw new MillraceError(
    'missing_api_key',
    `The provider ${options.provider} needs an API key. ${fix}`,
    { errorType: errorNamesOf(options)['InvalidProviderAPIKey'], provider: options.provider },
  );
}

const provesIdentity = /key|token|auth|cookie|signature/i;
