// Which model `serve` asks: the flags first, then the environment, then the built-in demo.
import { MillraceError } from '../errors';
import type { EnvironmentSource } from '../model/config-source';
import { configFromEnvironment } from '../model/config-source';
import { type Environment, firstOf } from '../model/environment';
import { providerRows } from '../model/settings';
import { UsageError } from './command';

/** What the engine needs to know about the model. */
export interface ModelChoice {
  /** provider:name */
  readonly model: string;
  /** Empty: the provider's own. */
  readonly baseURL: string;
  readonly apiKey: string;
}

interface Source {
  readonly provider: string;
  /** Any of these set chooses this provider. */
  readonly variables: readonly string[];
  readonly modelVariable: string;
  readonly defaultModel: string;
}

type Found = ReturnType<EnvironmentSource['settingsOf']>;

const sources: readonly Source[] = [
  {
    provider: 'openai',
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    modelVariable: 'OPENAI_MODEL',
    defaultModel: 'gpt-4o-mini',
  },
  {
    provider: 'anthropic',
    variables: ['ANTHROPIC_API_KEY'],
    modelVariable: 'ANTHROPIC_MODEL',
    defaultModel: 'claude-sonnet-4-5',
  },
  {
    provider: 'ollama',
    variables: ['OLLAMA_HOST'],
    modelVariable: 'OLLAMA_MODEL',
    defaultModel: 'llama3.2',
  },
];

function isSet(env: Environment, name: string): boolean {
  return firstOf(env, [name]) !== undefined;
}

/** What else is known of providers: their key and address. */
export type KnownProvider = (id: string) => { apiKey?: string; baseURL?: string };

/**
 * Chooses the model from `--model`, `--base-url`, the environment and what else is known. A key and an address that
 * belong together come from one place: where the environment has a key, nothing else counts beside it.
 */
export function chooseModel(
  model: string | undefined,
  baseURL: string | undefined,
  env: Environment,
  known: KnownProvider = () => ({}),
): ModelChoice {
  const chosen =
    model ?? firstOf(env, ['MILLRACE_MODEL']) ?? modelOfEnvironment(env) ?? 'demo:demo';
  const provider = chosen.split(':')[0] ?? '';
  const settings = environmentOf(provider, env);
  const others = settings?.apiKey === undefined ? known(provider) : {};
  const address = others.apiKey === undefined ? settings?.baseURL : undefined;
  return {
    model: chosen,
    baseURL: baseURL ?? address ?? others.baseURL ?? '',
    apiKey: settings?.apiKey ?? others.apiKey ?? '',
  };
}

function environmentOf(provider: string, env: Environment): Found {
  try {
    return configFromEnvironment(env).settingsOf(provider);
  } catch (error) {
    throw MillraceError.is(error) ? new UsageError(error.message, { cause: error }) : error;
  }
}

function modelOfEnvironment(env: Environment): string | undefined {
  const source = sources.find((row) => row.variables.some((name) => isSet(env, name)));
  return (
    source && `${source.provider}:${firstOf(env, [source.modelVariable]) ?? source.defaultModel}`
  );
}

/**
 * The usual model of the first provider in the table whose API key is set, for want of a choice: not
 * where one is made already, and not by variables that have other uses, as GITHUB_TOKEN has.
 */
export function modelWithKey(env: Environment): string | undefined {
  const chosen = sources.some((row) => row.variables.some((name) => isSet(env, name)));
  if (chosen || isSet(env, 'MILLRACE_MODEL')) return undefined;
  const row = providerRows().find(
    ({ keyNames, models }) =>
      models.length > 0 && keyNames.some((name) => name.endsWith('_API_KEY') && isSet(env, name)),
  );
  return row && `${row.id}:${row.models[0]}`;
}
