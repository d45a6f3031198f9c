// millrace keys: the keys of a server's routes, in a file that the server reads again when it changes.
import { createHash, randomBytes, randomUUID, scryptSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';

import type { Command } from './command';
import { integerOption, plain, readArgs, UsageError } from './command';
import { hiddenInput } from './hidden-input';
import { keyScopes } from './key-scopes';
import { changeFile } from './locked-file';
import { madeKeyFileOf } from './serve-keys';
import { reporting, storeOf } from './store';
import { tableOf } from './table';

const help = `Usage: millrace keys create [name] [options]
       millrace keys list
       millrace keys password <name>
       millrace keys revoke <id or name>

Keys of the routes of millrace serve, and of a runtime with api.keysFile. The file has hashes of them: a key is
printed once, when it is made. A server reads the file again when it changes. Once there is a file, requests need a
key. password reads a password from standard input: on the page, the name of the key and the password begin a session
with the rights of the key. The file has its scrypt hash.

Options:
  --scope <scope>        what the key may do: read, chat, tools or approve; may be repeated (default: everything)
  --principal <name>     whose conversations and runs its requests see (default local)
  --expires <days>       how long the key is valid (default: for ever)
  --per-minute <n>       requests a minute; more get 429
  --per-day <n>          requests a day of UTC
  --keys <file>          the file (default: the path of the store and .keys)
  --storage <file:path>  the store; default: MILLRACE_STORAGE, or file:.millrace/store.db
  --json                 print JSON, also of errors
  --help                 print this
`;

const options = {
  scope: { type: 'string', multiple: true },
  principal: { type: 'string' },
  expires: { type: 'string' },
  'per-minute': { type: 'string' },
  'per-day': { type: 'string' },
  keys: { type: 'string' },
  storage: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = ReturnType<typeof readArgs<typeof options>>['values'];

/** A key as the file has it; see lib/api/api_keys.hpp. */
interface StoredKey {
  id: string;
  name: string;
  sha256: string;
  principal: string;
  scopes?: string[];
  createdAt: number;
  expiresAt?: number;
  limits?: { perMinute?: number; perDay?: number };
  /** scrypt$cost$block size$parallel$salt$hash, in base64. */
  password?: string;
}

const dayMs = 24 * 3600 * 1000;

function storageOf(values: Values): string {
  return String(storeOf(values)['storage']);
}

function fileOf(values: Values): string {
  return values.keys ?? `${storageOf(values).slice('file:'.length)}.keys`;
}

function keysIn(file: string): StoredKey[] {
  if (!existsSync(file)) return [];
  try {
    const { keys } = JSON.parse(readFileSync(file, 'utf8')) as { keys: StoredKey[] };
    if (Array.isArray(keys)) return keys;
  } catch (cause) {
    throw new UsageError(`${file} is not a file of millrace keys.`, { cause });
  }
  throw new UsageError(`${file} is not a file of millrace keys.`);
}

/** Changes the keys of a file, one command at a time. */
function change(file: string, make: (keys: StoredKey[]) => StoredKey[]): void {
  changeFile(file, () => `${JSON.stringify({ version: 1, keys: make(keysIn(file)) }, null, 2)}\n`);
}

function limitsOf(values: Values): StoredKey['limits'] {
  const perMinute = integerOption('per-minute', values['per-minute'], 1, 1e9);
  const perDay = integerOption('per-day', values['per-day'], 1, 1e9);
  if (perMinute === undefined && perDay === undefined) return undefined;
  return { ...(perMinute && { perMinute }), ...(perDay && { perDay }) };
}

// The key that a server made when it first needed one is in none of these files.
function noteOfMade(values: Values): string {
  if (values.keys !== undefined) return '';
  const made = madeKeyFileOf(storageOf(values));
  return existsSync(made)
    ? `The key that the server made for itself stays valid, too: remove ${made} to revoke it.\n`
    : '';
}

function create(values: Values, name: string): number {
  const file = fileOf(values);
  const unknown = values.scope?.find((scope) => !keyScopes.includes(scope));
  if (unknown !== undefined) {
    throw new UsageError(`--scope must be ${keyScopes.join(', ')}, not '${unknown}'.`);
  }
  if (values.principal === '') throw new UsageError('--principal must not be empty.');
  const key = `mr_${randomBytes(24).toString('base64url')}`;
  const days = integerOption('expires', values.expires, 1, 36_500);
  const now = Date.now();
  const limits = limitsOf(values);
  const made: StoredKey = {
    id: randomUUID(),
    name,
    sha256: createHash('sha256').update(key).digest('hex'),
    principal: values.principal ?? 'local',
    ...(values.scope && { scopes: [...new Set(values.scope)] }),
    createdAt: now,
    ...(days !== undefined && { expiresAt: now + days * dayMs }),
    ...(limits && { limits }),
  };
  change(file, (keys) => {
    if (!keys.some((one) => one.name === name)) return [...keys, made];
    throw new UsageError(`There is a key called '${name}': revoke it, or give another name.`);
  });
  const { sha256: _hash, ...shown } = made;
  if (values.json === true) process.stdout.write(`${JSON.stringify({ ...shown, key, file })}\n`);
  else {
    process.stdout.write(`${key}\n`);
    process.stderr.write(
      plain(`This key is shown once. Its hash is in ${file}.\n${noteOfMade(values)}`),
    );
  }
  return 0;
}

function dateOf(time: number | undefined): string {
  return time === undefined ? '-' : new Date(time).toISOString().slice(0, 16);
}

function list(values: Values): number {
  const keys = keysIn(fileOf(values)).map(({ sha256: _hash, password, ...key }) => ({
    ...key,
    hasPassword: password !== undefined,
  }));
  if (values.json === true) {
    process.stdout.write(`${JSON.stringify({ keys })}\n`);
    return 0;
  }
  const head = ['ID', 'NAME', 'PRINCIPAL', 'SCOPES', 'A MINUTE', 'A DAY', 'EXPIRES'];
  const rows = keys.map(({ id, name, principal, scopes: held, limits, expiresAt }) => [
    ...[id, plain(name), plain(principal), held?.join(',') ?? 'all'],
    ...[String(limits?.perMinute ?? '-'), String(limits?.perDay ?? '-'), dateOf(expiresAt)],
  ]);
  process.stdout.write(rows.length === 0 ? 'There is no key.\n' : tableOf(head, rows));
  return 0;
}

const scryptCost = { N: 32_768, r: 8, p: 1 };
const scryptMemory = 64 * 1024 * 1024;
const leastPassword = 8;
const mostPassword = 1024;

function passwordHash(password: string): string {
  const salt = randomBytes(16);
  const hash = scryptSync(password, salt, 32, { ...scryptCost, maxmem: scryptMemory });
  const { N, r, p } = scryptCost;
  return ['scrypt', N, r, p, salt.toString('base64'), hash.toString('base64')].join('$');
}

async function setPassword(values: Values, name: string): Promise<number> {
  const file = fileOf(values);
  const isKnown = (key: StoredKey): boolean => key.name === name || key.id === name;
  const unknown = (): UsageError => new UsageError(`There is no key '${name}' in ${file}.`);
  if (!keysIn(file).some(isKnown)) throw unknown();
  const password = await hiddenInput(`Password of ${name}`);
  const bytes = Buffer.byteLength(password);
  if (bytes < leastPassword || bytes > mostPassword) {
    throw new UsageError(`A password has ${leastPassword} to ${mostPassword} bytes.`);
  }
  const hash = passwordHash(password);
  change(file, (keys) => {
    if (!keys.some(isKnown)) throw unknown();
    return keys.map((key) => (isKnown(key) ? { ...key, password: hash } : key));
  });
  const text = `${name} has a password.\n`;
  process.stdout.write(
    values.json === true ? `${JSON.stringify({ password: name })}\n` : plain(text),
  );
  return 0;
}

function revoke(values: Values, wanted: string): number {
  const file = fileOf(values);
  // The file stays: while it has no keys, each request is rejected.
  change(file, (keys) => {
    const left = keys.filter(({ id, name }) => id !== wanted && name !== wanted);
    if (left.length < keys.length) return left;
    throw new UsageError(`There is no key '${wanted}' in ${file}.`);
  });
  const text = `${wanted} is revoked.\n`;
  process.stdout.write(
    values.json === true ? `${JSON.stringify({ revoked: wanted })}\n` : plain(text),
  );
  return 0;
}

/** The `keys` command. */
export const keys: Command = {
  summary: 'make, list and revoke the keys of a server',
  async run(args) {
    const { values, positionals } = readArgs(args, options, true);
    if (values.help === true) {
      process.stdout.write(help);
      return 0;
    }
    const [verb, name, ...rest] = positionals;
    return reporting(values.json === true, async () => {
      if (rest.length > 0) throw new UsageError(`millrace keys takes no '${rest.join(' ')}'.`);
      if (verb === 'create') return create(values, name ?? `key-${randomBytes(4).toString('hex')}`);
      if (verb === 'list' && name === undefined) return list(values);
      if (verb === 'password' && name !== undefined) return setPassword(values, name);
      if (verb === 'revoke' && name !== undefined) return revoke(values, name);
      throw new UsageError(
        'millrace keys needs create [name], list, password <name>, or revoke <id or name>.',
      );
    });
  },
};
