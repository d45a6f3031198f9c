// What createRuntime() may be given.
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { checkValues, flag, milliseconds } from '../value-checks';

export interface RuntimeOptions {
  /** `memory` keeps runs as long as the runtime; `file:` and a path keeps them in a file, whose folder is made. */
  storage: 'memory' | `file:${string}`;
  /** A reader looks at a store that another process has open, and runs nothing; `owner` when absent. */
  role?: 'owner' | 'reader' | undefined;
  /** What a power cut may lose: nothing that was shown (`full`, the default), or the latest progress. */
  durability?: 'full' | 'balanced' | undefined;
  /** How long opening waits for the process that has the store open, in milliseconds; 2000 when absent. */
  openTimeoutMs?: number | undefined;
  /** Allows a file on a network file system, which may lose runs. */
  allowNetworkFileSystem?: boolean | undefined;
}

const names: readonly (keyof RuntimeOptions)[] = [
  'storage',
  'role',
  'durability',
  'openTimeoutMs',
  'allowNetworkFileSystem',
];

function checkChoice(name: string, value: unknown, choices: readonly string[]): void {
  if (value === undefined || choices.includes(value as string)) return;
  const wanted = choices.map((one) => `'${one}'`).join(' or ');
  throw new MillraceError(
    'invalid_option',
    `createRuntime(): ${name} must be ${wanted}, not ${shown(value)}.`,
  );
}

export function checkRuntimeOptions(options: unknown): asserts options is RuntimeOptions {
  const given = (options ?? {}) as Partial<RuntimeOptions>;
  checkNames('createRuntime()', given, names, { path: "storage: 'file:…'", file: 'storage' });
  const { storage, role, durability, openTimeoutMs, allowNetworkFileSystem } = given;
  const isFile = typeof storage === 'string' && /^file:./.test(storage);
  if (storage !== 'memory' && !isFile) {
    throw new MillraceError(
      'invalid_option',
      `createRuntime() needs storage: 'memory' or 'file:' and a path, not ${shown(storage)}.`,
    );
  }
  checkChoice('role', role, ['owner', 'reader']);
  checkChoice('durability', durability, ['full', 'balanced']);
  checkValues(
    'createRuntime()',
    { openTimeoutMs, allowNetworkFileSystem },
    { openTimeoutMs: milliseconds, allowNetworkFileSystem: flag },
  );
}
