// Secrets of a store at rest: a file beside it, encrypted under a key that is kept elsewhere.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { type Environment, firstOf } from '../model/environment';
import { messageOf } from '../thrown';
import { UsageError } from './command';

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const cipher = 'aes-256-gcm';

/** What names a secret: a provider and a member of its settings, as `openai.api_key`. */
export type SecretName = string;

/** The file as it is: names can be read, values cannot. */
export interface SecretFile {
  version: 1;
  /** Tells whether a key is the right one. */
  key: string;
  secrets: Record<SecretName, { sealed: string; updatedAt: number }>;
}

/** The file of a store's secrets. */
export function secretFileOf(storage: string): string {
  return `${storage.slice('file:'.length)}.secrets`;
}

function fingerprintOf(key: Buffer): string {
  return createHash('sha256')
    .update('millrace secret key\n')
    .update(key)
    .digest('hex')
    .slice(0, 32);
}

/** A key as it is written down: 64 hexadecimal digits, or base64. */
function keyOfText(text: string, place: string): Buffer {
  const written = text.trim();
  const isHex = /^[0-9a-f]{64}$/i.test(written);
  const isBase64 = /^[\w+/-]{43}=?$/.test(written);
  if (isHex || isBase64) return Buffer.from(written, isHex ? 'hex' : 'base64');
  throw new UsageError(
    `${place} must be ${keyBytes} random bytes, as 64 hexadecimal digits or base64: openssl rand -hex ${keyBytes}`,
  );
}

function keyOfFile(file: string, label: string, storage: string): Buffer {
  let text: string;
  let mode: number;
  try {
    ({ mode } = statSync(file));
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${label}: ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
  if ((mode & 0o077) !== 0) {
    throw new UsageError(
      `${label}: others can read ${file}. Make it yours alone: chmod 600 ${file}`,
    );
  }
  if (dirname(resolve(file)) === dirname(resolve(storage.slice('file:'.length)))) {
    throw new UsageError(
      `${label}: ${file} is in the folder of the store. Keep the key elsewhere.`,
    );
  }
  return keyOfText(text, `The key in ${file}`);
}

/** Where a key may be: a variable, or a file. */
export interface KeyPlace {
  variable: string;
  option: string;
  file: string | undefined;
}

/** The key of a store's secrets; undefined where none is given. */
export function secretKey(place: KeyPlace, storage: string, env: Environment): Buffer | undefined {
  const text = firstOf(env, [place.variable]);
  if (text !== undefined) return keyOfText(text, place.variable);
  const { file, option } = place;
  return file === undefined ? undefined : keyOfFile(file, `--${option}`, storage);
}

/** The key, or an error that names how to give one. */
export function neededKey(place: KeyPlace, storage: string, env: Environment): Buffer {
  const key = secretKey(place, storage, env);
  if (key) return key;
  throw new UsageError(
    `There is no key to encrypt secrets with: set ${place.variable} to the output of openssl rand -hex ${keyBytes}, or ` +
      `make a file with millrace secrets key <file> and name it with --${place.option}.`,
  );
}

/** Reads the file; undefined where there is none. */
export function readSecretFile(file: string): SecretFile | undefined {
  if (!existsSync(file)) return undefined;
  const wrong = (cause?: unknown): UsageError =>
    new UsageError(`${file} is not a file of millrace secrets.`, { cause });
  let read: Partial<SecretFile>;
  try {
    read = JSON.parse(readFileSync(file, 'utf8')) as Partial<SecretFile>;
  } catch (cause) {
    throw wrong(cause);
  }
  const isGood = read.version === 1 && typeof read.key === 'string' && read.secrets;
  if (!isGood || typeof read.secrets !== 'object') throw wrong();
  return read as SecretFile;
}

function wrongKey(file: string): UsageError {
  return new UsageError(
    `The secrets in ${file} were encrypted with another key: give the one that they were stored with.`,
  );
}

/** A file without secrets under this key. */
export function emptyFile(key: Buffer): SecretFile {
  return { version: 1, key: fingerprintOf(key), secrets: {} };
}

/** Throws unless the secrets of the file are encrypted under the key. */
export function checkKey(read: SecretFile, key: Buffer, file: string): void {
  const [a, b] = [Buffer.from(read.key), Buffer.from(fingerprintOf(key))];
  if (a.length !== b.length || !timingSafeEqual(a, b)) throw wrongKey(file);
}

/** Encrypts a value; it counts under its name alone. */
export function seal(key: Buffer, name: SecretName, value: string): string {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, key, nonce).setAAD(Buffer.from(name));
  const bytes = [nonce, sealing.update(value, 'utf8'), sealing.final(), sealing.getAuthTag()];
  return Buffer.concat(bytes).toString('base64');
}

function unseal(key: Buffer, name: SecretName, sealed: string, file: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  try {
    const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes));
    opening.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(-tagBytes));
    const plain = [opening.update(bytes.subarray(nonceBytes, -tagBytes)), opening.final()];
    return Buffer.concat(plain).toString('utf8');
  } catch (cause) {
    const reason = `The secret ${name} in ${file} was changed, and cannot be decrypted.`;
    throw new UsageError(reason, { cause });
  }
}

/** All secrets of a file, by their names. */
export function openSecrets(read: SecretFile, key: Buffer, file: string): Map<SecretName, string> {
  checkKey(read, key, file);
  return new Map(
    Object.entries(read.secrets).map(([name, { sealed }]) => [
      name,
      unseal(key, name, sealed, file),
    ]),
  );
}

/** The same secrets under another key. */
export function sealedAnew(read: SecretFile, old: Buffer, next: Buffer, file: string): SecretFile {
  const made = emptyFile(next);
  for (const [name, value] of openSecrets(read, old, file)) {
    const updatedAt = read.secrets[name]?.updatedAt ?? 0;
    made.secrets[name] = { sealed: seal(next, name, value), updatedAt };
  }
  return made;
}
