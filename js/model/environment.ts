// What the environment says about providers: their keys, and the addresses that belong to these keys.
import { MillraceError } from '../errors';

/** The variables, as `process.env` has them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** What names a provider's variables. */
export interface NamedProvider {
  readonly id: string;
  readonly keyNames: readonly string[];
}

/** The first of the variables that is set to more than blanks. */
export function firstOf(env: Environment, names: readonly string[]): string | undefined {
  return names
    .map((name) => env[name]?.trim())
    .find((value) => value !== undefined && value !== '');
}

/** The key of a provider. */
export function keyOf({ keyNames }: NamedProvider, env: Environment): string | undefined {
  return firstOf(env, keyNames);
}

/** The variables that a vendor's own libraries read, beside `<PROVIDER>_BASE_URL`. */
const vendorNames: Readonly<Record<string, readonly string[]>> = {
  azure: ['AZURE_OPENAI_ENDPOINT'],
  google: ['GOOGLE_GEMINI_BASE_URL'],
  ollama: ['OLLAMA_HOST'],
};

/**
 * The address of a provider: `<PROVIDER>_BASE_URL`, `<PROVIDER>_PROXY_URL`, or the vendor's own name
 * for it.
 * Errors: invalid_option when the variable holds no URL; the sentence names it.
 */
export function addressOf({ id }: NamedProvider, env: Environment): string | undefined {
  const prefix = id.toUpperCase();
  const names = [`${prefix}_BASE_URL`, `${prefix}_PROXY_URL`, ...(vendorNames[id] ?? [])];
  const name = names.find((each) => firstOf(env, [each]) !== undefined);
  if (name === undefined) return undefined;
  const value = firstOf(env, [name]) ?? '';
  const url = name === 'OLLAMA_HOST' ? ollamaURL(value) : value;
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new MillraceError(
    'invalid_option',
    `The environment variable ${name} must be an http or https URL.`,
  );
}

/** OLLAMA_HOST may lack scheme and port, and may be the address that Ollama listens on. */
function ollamaURL(host: string): string {
  const hasScheme = /^https?:\/\//.test(host);
  const name = host.startsWith(':') ? `127.0.0.1${host}` : host;
  const text = (hasScheme ? host : `http://${name}`).replace(/\/+$/, '');
  if (!URL.canParse(text)) return text;
  const url = new URL(text);
  if (url.port === '' && !hasScheme) url.port = '11434';
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  return url.href.replace(/\/+$/, '');
}
