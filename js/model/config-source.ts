// Where the settings of providers come from: given options, the environment, or a store of the
// host's own.
import { MillraceError } from '../errors';
import type { ProviderSettings } from './settings';
import { providerRow } from './settings';

/** Who asks, for a source that keeps settings of many users. */
export interface ConfigContext {
  user?: string | undefined;
  request?: Request | undefined;
}

/** Finds the settings of a provider. */
export interface ProviderConfigSource {
  /** The settings, or undefined when this source does not know the provider. */
  settingsOf(
    provider: string,
    context: ConfigContext,
  ): ProviderSettings | undefined | Promise<ProviderSettings | undefined>;
}

/** Settings by provider, as they are given. */
export function configFromOptions(
  providers: Readonly<Record<string, ProviderSettings>>,
): ProviderConfigSource {
  return {
    settingsOf: (provider) =>
      Object.hasOwn(providers, provider) ? providers[provider] : undefined,
  };
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Answers at once. */
export interface EnvironmentSource extends ProviderConfigSource {
  settingsOf(provider: string): { baseURL?: string; apiKey?: string } | undefined;
}

/**
 * Every provider of the table, with the key from its usual variable and the base URL from
 * `<PROVIDER>_BASE_URL` or `<PROVIDER>_PROXY_URL`. The variables are read at each call.
 */
export function configFromEnvironment(environment?: Environment): EnvironmentSource {
  return {
    settingsOf(provider) {
      const row = providerRow(provider);
      if (!row) return undefined;
      const env = environment ?? process.env;
      const name = row.id.toUpperCase();
      const baseURL = firstOf(env, [`${name}_BASE_URL`, `${name}_PROXY_URL`]);
      const apiKey = firstOf(env, row.keyNames);
      return {
        ...(baseURL === undefined ? {} : { baseURL }),
        ...(apiKey === undefined || row.id === 'bedrock' ? {} : { apiKey }),
      };
    },
  };
}

function firstOf(env: Environment, names: readonly string[]): string | undefined {
  return names
    .map((name) => env[name]?.trim())
    .find((value) => value !== undefined && value !== '');
}

/** Asks one source after the other; the first that knows the provider counts. */
export function firstConfigOf(...sources: ProviderConfigSource[]): ProviderConfigSource {
  return {
    async settingsOf(provider, context) {
      for (const source of sources) {
        const settings = await source.settingsOf(provider, context);
        if (settings !== undefined) return settings;
      }
      return undefined;
    },
  };
}

/** Throws unless it looks like a source. */
export function checkConfigSource(owner: string, source: unknown): void {
  const { settingsOf } = (source ?? {}) as Partial<ProviderConfigSource>;
  if (source === undefined || typeof settingsOf === 'function') return;
  throw new MillraceError('invalid_option', `${owner}: config needs a function settingsOf.`);
}
