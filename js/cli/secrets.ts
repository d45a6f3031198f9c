// millrace secrets: keys of providers, encrypted beside a store, which millrace serve uses.
import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';

import { providerRow } from '../model/settings';
import { messageOf } from '../thrown';
import type { Command } from './command';
import { plain, readArgs, UsageError } from './command';
import { resolveConfig } from './config';
import { providerMembers } from './config-settings';
import { hiddenInput } from './hidden-input';
import { changeFile } from './locked-file';
import {
  checkKey,
  emptyFile,
  neededKey,
  readSecretFile,
  seal,
  sealedAnew,
  secretFileOf,
  type KeyPlace,
  type SecretFile,
} from './secret-file';
import { reporting, storeOf } from './store';
import { tableOf } from './table';

const help = `Usage: millrace secrets set <provider> [member]
       millrace secrets list
       millrace secrets remove <provider> [member]
       millrace secrets rotate
       millrace secrets key <file>

Keys of model providers, encrypted (AES-256-GCM) in the file <store>.secrets, which millrace serve reads, also when it
changes. The environment and millrace.toml count more.

  set      stores a secret that is read from standard input; member is api_key (default), credentials, access_key_id,
           secret_access_key or session_token
  list     prints which secrets there are, without their values
  remove   removes those of a provider, or one
  rotate   encrypts all of them under a new key, all or none
  key      writes a new key to a file that only you can read

The key is MILLRACE_SECRET_KEY (64 hexadecimal digits, or base64 of 32 bytes), or that of a file outside the folder of the
store. Without one, nothing is stored.

Options:
  --secret-key-file <file>  the file of the key (default: MILLRACE_STORAGE_SECRET_KEY_FILE, or millrace.toml)
  --new-key-file <file>     of rotate: the file of the new key, in place of MILLRACE_NEW_SECRET_KEY
  --storage <file:path>     the store; default: MILLRACE_STORAGE, millrace.toml, or file:.millrace/store.db
  --config <file>           settings in TOML, as of millrace serve
  --json                    print JSON, also of errors
  --help                    print this
`;

const options = {
  'secret-key-file': { type: 'string' },
  'new-key-file': { type: 'string' },
  storage: { type: 'string' },
  config: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = ReturnType<typeof readArgs<typeof options>>['values'];

/** Where secrets and their key are. */
interface Place {
  storage: string;
  file: string;
  key: KeyPlace;
}

const secretMembers = Object.entries(providerMembers).flatMap(([name, { isSecret }]) =>
  isSecret ? [name] : [],
);

function placeOf(values: Values): Place {
  const config = resolveConfig(values, process.env);
  const { storage } = storeOf({ storage: config.text('storage.location') }) as { storage: string };
  const file = config.text('storage.secret_key_file');
  const key = { variable: 'MILLRACE_SECRET_KEY', option: 'secret-key-file', file };
  return { storage, file: secretFileOf(storage), key };
}

function print(values: Values, result: object, text: string): number {
  process.stdout.write(values.json === true ? `${JSON.stringify(result)}\n` : plain(text));
  return 0;
}

function nameOf(provider: string, member: string): string {
  const row = providerRow(provider);
  if (!row) throw new UsageError(`There is no provider '${provider}': see millrace providers.`);
  if (!secretMembers.includes(member)) {
    throw new UsageError(`The member must be ${secretMembers.join(', ')}, not '${member}'.`);
  }
  return `${row.id}.${member}`;
}

function textOf(file: SecretFile): string {
  return `${JSON.stringify(file, null, 2)}\n`;
}

async function set(values: Values, [provider = '', member = 'api_key']: string[]): Promise<number> {
  const place = placeOf(values);
  const name = nameOf(provider, member);
  // Before the user types a secret that could not be stored.
  const key = neededKey(place.key, place.storage, process.env);
  const stored = readSecretFile(place.file);
  if (stored) checkKey(stored, key, place.file);
  const value = (await hiddenInput(name)).trim();
  changeFile(place.file, () => {
    const file = readSecretFile(place.file) ?? emptyFile(key);
    checkKey(file, key, place.file);
    const secrets = {
      ...file.secrets,
      [name]: { sealed: seal(key, name, value), updatedAt: Date.now() },
    };
    return textOf({ ...file, secrets });
  });
  return print(values, { name, file: place.file }, `${name} is stored in ${place.file}.\n`);
}

function list(values: Values): Promise<number> {
  const { file } = placeOf(values);
  const rows = Object.entries(readSecretFile(file)?.secrets ?? {}).map(([name, { updatedAt }]) => ({
    ...{ name, updatedAt },
  }));
  const cells = rows.map(({ name, updatedAt }) => [
    ...[plain(name), new Date(updatedAt).toISOString().slice(0, 16)],
  ]);
  const text = rows.length === 0 ? 'There is no secret.\n' : tableOf(['SECRET', 'STORED'], cells);
  return Promise.resolve(print(values, { file, secrets: rows }, text));
}

function remove(values: Values, [provider = '', member]: string[]): Promise<number> {
  const { file } = placeOf(values);
  const id = providerRow(provider)?.id ?? provider;
  const removed: string[] = [];
  if (readSecretFile(file) === undefined) throw new UsageError(`There is no ${file}.`);
  changeFile(file, () => {
    const read = readSecretFile(file);
    if (!read) throw new UsageError(`There is no ${file}.`);
    const isMeant = (name: string): boolean =>
      member === undefined ? name.startsWith(`${id}.`) : name === `${id}.${member}`;
    const left = Object.entries(read.secrets).filter(([name]) => !isMeant(name));
    removed.push(...Object.keys(read.secrets).filter(isMeant));
    if (removed.length === 0) throw new UsageError(`There is no such secret in ${file}.`);
    return textOf({ ...read, secrets: Object.fromEntries(left) });
  });
  return Promise.resolve(print(values, { removed }, `${removed.join(', ')}: removed.\n`));
}

function rotate(values: Values): Promise<number> {
  const place = placeOf(values);
  const old = neededKey(place.key, place.storage, process.env);
  const place2 = { variable: 'MILLRACE_NEW_SECRET_KEY', option: 'new-key-file' };
  const next = neededKey({ ...place2, file: values['new-key-file'] }, place.storage, process.env);
  if (old.equals(next)) throw new UsageError('The new key is the old one.');
  if (readSecretFile(place.file) === undefined) throw new UsageError(`There is no ${place.file}.`);
  let count = 0;
  changeFile(place.file, () => {
    const read = readSecretFile(place.file) ?? emptyFile(old);
    count = Object.keys(read.secrets).length;
    return textOf(sealedAnew(read, old, next, place.file));
  });
  const text = `${count} ${count === 1 ? 'secret is' : 'secrets are'} encrypted under the new key. Give it to millrace serve in place of the old one.\n`;
  return Promise.resolve(print(values, { rotated: count }, text));
}

function makeKey(values: Values, [file = '']: string[]): Promise<number> {
  if (existsSync(file)) throw new UsageError(`${file} is there already.`);
  try {
    writeFileSync(file, `${randomBytes(32).toString('hex')}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw new UsageError(`${file} cannot be written: ${messageOf(cause)}`, { cause });
  }
  return Promise.resolve(
    print(values, { file }, `A new key is in ${file}. Without it, secrets are lost.\n`),
  );
}

interface Verb {
  run: (values: Values, names: string[]) => Promise<number>;
  least: number;
  most: number;
}

const verbs: Readonly<Record<string, Verb>> = {
  set: { run: set, least: 1, most: 2 },
  list: { run: list, least: 0, most: 0 },
  remove: { run: remove, least: 1, most: 2 },
  rotate: { run: rotate, least: 0, most: 0 },
  key: { run: makeKey, least: 1, most: 1 },
};

/** The `secrets` command. */
export const secrets: Command = {
  summary: 'store keys of providers, encrypted',
  run(args) {
    const { values, positionals } = readArgs(args, options, true);
    if (values.help === true) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    return reporting(values.json === true, async () => {
      const [name = '', ...names] = positionals;
      const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
      if (!verb || names.length < verb.least || names.length > verb.most) {
        throw new UsageError(`'millrace secrets' needs a command.\n\n${help}`);
      }
      return verb.run(values, names);
    });
  },
};
