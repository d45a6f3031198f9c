// The keys of `millrace serve`: from the configuration, from a file, or made for a server that others can reach.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

import { UsageError } from './command';
import type { Config } from './config';

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/u;

/** Keys, one a line; empty lines and those that begin with # do not count. Errors say what named the file. */
function keysIn(file: string, { from = '--key-file:', fix = '' } = {}): string[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${from} ${file} cannot be read.`, { cause });
  }
  const keys = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (keys.length === 0) throw new UsageError(`${from} ${file} has no key.${fix}`);
  return keys;
}

const made = {
  from: 'The file of the key that the server made:',
  fix: ' Remove it to have another key made.',
};

export interface ServeKeys {
  keys: string[];
  /** The file of a key that was made by the server, now or at an earlier start. */
  file?: string;
}

/** The file of the key that a server makes for itself. */
export function madeKeyFileOf(storage: string): string {
  return `${storage.slice('file:'.length)}.key`;
}

/** The file of `millrace keys`; undefined without a store, where no request needs a key. */
export function keysFileOf(config: Config, storage: string | undefined): string | undefined {
  const given = config.text('api.keys_file');
  if (storage !== undefined) return given ?? `${storage.slice('file:'.length)}.keys`;
  if (given !== undefined) throw new UsageError('--keys needs --storage file:PATH.');
  return undefined;
}

/** The keys that requests are sent with; none where the server is for this machine alone. */
export function serveKeys(config: Config, storage: string | undefined, isCheck = false): ServeKeys {
  const given = config.text('api.auth_key') ?? '';
  const named = config.text('api.key_file');
  const keys = [...(given === '' ? [] : [given]), ...(named === undefined ? [] : keysIn(named))];
  const count = keys.length + config.keys.length;
  if (count > 0 && storage === undefined) {
    const what =
      config.keys.length === count ? 'api.keys needs' : 'MILLRACE_API_KEY and --key-file need';
    throw new UsageError(`${what} --storage file:PATH.`);
  }
  const stored = keysFileOf(config, storage);
  const hasStored = stored !== undefined && existsSync(stored);
  const isLocal = loopback.test(config.text('api.host') ?? '');
  if (count > 0 || storage === undefined) return { keys };
  const file = madeKeyFileOf(storage);
  // It stays valid beside those of `millrace keys`. A server for this machine alone needs a key only where there are such.
  if (existsSync(file) && (hasStored || !isLocal)) return { keys: keysIn(file, made), file };
  if (hasStored || isLocal) return { keys };
  if (isCheck) return { keys, file };
  const key = `mr_${randomBytes(24).toString('base64url')}`;
  try {
    writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new UsageError(`The key of the server could not be written to ${file}.`, { cause });
  }
  return { keys: [key], file };
}
