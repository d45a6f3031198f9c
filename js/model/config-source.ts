// Where the settings of providers come from: given options, the environment, or a store of the
// host's own.
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { addressOf, keyOf } from './environment';
import type { Environment } from './environment';
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

/** Answers at once. */
export interface EnvironmentSource extends ProviderConfigSource {
  settingsOf(provider: string): { baseURL?: string; apiKey?: string } | undefined;
}

/**
 * Every provider of the table, with the key from its usual variable and the base URL from
 * `<PROVIDER>_BASE_URL`, `<PROVIDER>_PROXY_URL` or the vendor's own name for it (OLLAMA_HOST). The
 * variables are read at each call.
 */
export function configFromEnvironment(environment?: Environment): EnvironmentSource {
  return {
    settingsOf(provider) {
      const row = providerRow(provider);
      if (!row) return undefined;
      const env = environment ?? process.env;
      const baseURL = addressOf(row, env);
      const apiKey = keyOf(row, env);
      return {
        ...(baseURL === undefined ? {} : { baseURL }),
        ...(apiKey === undefined || row.id === 'bedrock' ? {} : { apiKey }),
      };
    },
  };
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
  throw new MillraceError(
    'invalid_option',
    `${owner}: config must be an object with a function settingsOf, not ${shown(source)}.`,
  );
}
