// Which model `serve` asks: the flags first, then the environment, then the built-in demo.
import { configFromEnvironment } from '../model/config-source';
import { providerRows } from '../model/settings';

/** What the engine needs to know about the model. */
export interface ModelChoice {
  /** provider:name */
  readonly model: string;
  /** Empty: the provider's own. */
  readonly baseURL: string;
  readonly apiKey: string;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Source {
  readonly provider: string;
  /** Any of these set means that the user wants this provider. */
  readonly variables: readonly string[];
  readonly modelVariable: string;
  readonly defaultModel: string;
  readonly keyVariable?: string;
  readonly baseURL: (env: Environment) => string;
}

const sources: readonly Source[] = [
  {
    provider: 'openai',
    variables: ['OPENAI_API_KEY', 'OPENAI_BASE_URL'],
    modelVariable: 'OPENAI_MODEL',
    defaultModel: 'gpt-4o-mini',
    keyVariable: 'OPENAI_API_KEY',
    baseURL: (env) => env['OPENAI_BASE_URL'] ?? '',
  },
  {
    provider: 'anthropic',
    variables: ['ANTHROPIC_API_KEY'],
    modelVariable: 'ANTHROPIC_MODEL',
    defaultModel: 'claude-sonnet-4-5',
    keyVariable: 'ANTHROPIC_API_KEY',
    baseURL: (env) => env['ANTHROPIC_BASE_URL'] ?? '',
  },
  {
    provider: 'ollama',
    variables: ['OLLAMA_HOST'],
    modelVariable: 'OLLAMA_MODEL',
    defaultModel: 'llama3.2',
    baseURL: (env) => ollamaURL(env['OLLAMA_HOST']),
  },
];

/** OLLAMA_HOST may lack scheme and port. */
function ollamaURL(host: string | undefined): string {
  if (host === undefined || host === '') return '';
  const bare = host.replace(/\/+$/, '');
  const url = new URL(/^https?:\/\//.test(bare) ? bare : `http://${bare}`);
  if (url.port === '' && !/^https?:\/\//.test(bare)) url.port = '11434';
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}/v1`;
}

function isSet(env: Environment, name: string): boolean {
  return (env[name] ?? '') !== '';
}

/** A provider of the table, with the key and address that the environment holds for it. */
function choiceOfTable(model: string, baseURL: string | undefined, env: Environment): ModelChoice {
  const name = model.split(':')[0] ?? '';
  const settings = configFromEnvironment(env).settingsOf(name);
  return {
    model,
    baseURL: baseURL ?? settings?.baseURL ?? '',
    apiKey: settings?.apiKey ?? '',
  };
}

/** Chooses the model from `--model`, `--base-url` and the environment. */
export function chooseModel(
  model: string | undefined,
  baseURL: string | undefined,
  env: Environment,
): ModelChoice {
  const wanted = model ?? (isSet(env, 'MILLRACE_MODEL') ? env['MILLRACE_MODEL'] : undefined);
  const source =
    wanted === undefined
      ? sources.find((row) => row.variables.some((name) => isSet(env, name)))
      : sources.find((row) => wanted.split(':')[0] === row.provider);
  if (source === undefined) return choiceOfTable(wanted ?? 'demo:demo', baseURL, env);
  const named = isSet(env, source.modelVariable) ? env[source.modelVariable] : undefined;
  const key = source.keyVariable === undefined ? undefined : env[source.keyVariable];
  return {
    model: wanted ?? `${source.provider}:${named ?? source.defaultModel}`,
    baseURL: baseURL ?? source.baseURL(env),
    apiKey: key ?? '',
  };
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
