// The configuration of a server: each setting from its option, the environment, the file, or its default.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

import { type Environment, firstOf } from '../model/environment';
import type { ServerKey } from '../server';
import { UsageError } from './command';
import { readConfig } from './config-file';
import { configOf, type FileConfig } from './config-reader';
import { type Setting, settings, type SettingValue, variableOf } from './config-settings';

export type SettingSource = 'option' | 'environment' | 'file' | 'default';

export interface Resolved {
  source: SettingSource;
  /** Undefined: none is given, and there is no default. */
  value: SettingValue | undefined;
}

/** The values of the command line, as parseArgs gives them. */
export type OptionValues = Readonly<Record<string, unknown>>;

const usualFile = 'millrace.toml';
const noProviders: FileConfig['providers'] = new Map();

/** All settings of one reading. */
export class Config {
  constructor(
    /** The file that was read. */
    readonly file: string | undefined,
    readonly values: ReadonlyMap<string, Resolved>,
    readonly keys: readonly ServerKey[],
    readonly providers: FileConfig['providers'],
  ) {}

  text(name: string): string | undefined {
    return this.values.get(name)?.value as string | undefined;
  }
  number(name: string): number {
    return this.values.get(name)?.value as number;
  }
  flag(name: string): boolean {
    return this.values.get(name)?.value === true;
  }
  list(name: string): readonly string[] {
    return (this.values.get(name)?.value ?? []) as readonly string[];
  }
  isGiven(name: string): boolean {
    return (this.values.get(name)?.source ?? 'default') !== 'default';
  }
  /** Whether it stands on the command line. */
  isOption(name: string): boolean {
    return this.values.get(name)?.source === 'option';
  }
}

const words: Readonly<Record<string, boolean>> = {
  ...{ '1': true, true: true, yes: true, on: true },
  ...{ '0': false, false: false, no: false, off: false },
};

function listOf(text: string): string[] {
  const items = text.split(',').map((item) => item.trim());
  return items.filter((item) => item !== '');
}

/** A value that was written as text. Secrets are not shown. */
function valueOfText(row: Setting, text: string, label: string): SettingValue {
  const { type } = row;
  const wrong = (wanted: string): UsageError =>
    new UsageError(`${label} must be ${wanted}, not '${text}'.`);
  switch (type.kind) {
    case 'text':
      return text;
    case 'integer': {
      const value = Number(text);
      if (/^\d+$/.test(text) && value >= type.min && value <= type.max) return value;
      throw wrong(`an integer from ${type.min} to ${type.max}`);
    }
    case 'choice':
      if (type.of.includes(text)) return text;
      throw wrong(type.of.join(type.of.length > 2 ? ', ' : ' or '));
    case 'flag': {
      const value = Object.hasOwn(words, text.toLowerCase())
        ? words[text.toLowerCase()]
        : undefined;
      if (value !== undefined) return value;
      throw wrong('true or false');
    }
    case 'list':
      return listOf(text);
  }
}

function optionOf(row: Setting, values: OptionValues): SettingValue | undefined {
  const given = row.option === undefined ? undefined : values[row.option];
  if (typeof given !== 'string') return given as SettingValue | undefined;
  return valueOfText(row, given, `--${row.option}`);
}

function resolveSetting(
  row: Setting,
  options: OptionValues,
  env: Environment,
  file: FileConfig | undefined,
): Resolved {
  const option = optionOf(row, options);
  if (option !== undefined) return { source: 'option', value: option };
  const variable = variableOf(row);
  const text = firstOf(env, [variable]);
  if (text !== undefined) {
    return { source: 'environment', value: valueOfText(row, text, variable) };
  }
  const value = file?.values.get(row.name);
  if (value !== undefined) return { source: 'file', value };
  return { source: 'default', value: row.fallback };
}

/** The file that counts: of `--config`, of MILLRACE_CONFIG, or millrace.toml of the working folder. */
export function configFile(options: OptionValues, env: Environment): string | undefined {
  const given = (options['config'] as string | undefined) ?? firstOf(env, ['MILLRACE_CONFIG']);
  if (given === 'off') return undefined;
  if (given !== undefined) return resolve(given);
  return existsSync(usualFile) ? resolve(usualFile) : undefined;
}

/** Reads the configuration. Errors: UsageError, ConfigError for what is wrong in the file. */
export function resolveConfig(options: OptionValues, env: Environment): Config {
  const path = configFile(options, env);
  const file = path === undefined ? undefined : configOf(readConfig(path), path);
  const values = new Map(
    settings.map((row) => [row.name, resolveSetting(row, options, env, file)] as const),
  );
  return new Config(path, values, file?.keys ?? [], file?.providers ?? noProviders);
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The names of what differs between two readings: what counts at once, and what needs a restart. */
export function changesBetween(old: Config, next: Config): { live: string[]; restart: string[] } {
  const differs = ({ name }: Setting): boolean =>
    !isSame(old.values.get(name)?.value, next.values.get(name)?.value);
  const changed = settings.filter(differs);
  const live = changed.filter(({ isLive }) => isLive).map(({ name }) => name);
  if (!isSame(old.keys, next.keys)) live.push('api.keys');
  if (!isSame([...old.providers], [...next.providers])) live.push('providers');
  return { live, restart: changed.filter(({ isLive }) => !isLive).map(({ name }) => name) };
}
