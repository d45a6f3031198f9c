// What `millrace runs` and `millrace storage` share: which store, the commands of the engine, and its owner.
import { addon } from '../addon';
import { errorFixes } from '../error-types';
import { errorFromNative, MillraceError } from '../errors';
import type { ErrorCode } from '../../types/errors';
import { exitCodeOf, integerOption, reportedError, UsageError } from './command';
import { isFileStorage } from '../file-storage';

/** Options of every command about a store. */
export const storeOptions = {
  storage: { type: 'string' },
  wait: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The lines of help about them. */
export const storeHelp = `  --storage <file:path>  the store; default: MILLRACE_STORAGE, or file:.millrace/store.db
  --wait <seconds>       how long a command that writes waits for the process that has the store (default 2)
  --json                 print JSON, also of errors
  --help                 print this
`;

/** What the options say about the store. */
export interface StoreValues {
  storage?: string | undefined;
  wait?: string | undefined;
  json?: boolean | undefined;
}

/** The store that is meant, as the engine takes it. */
export function storeOf({ storage, wait }: StoreValues): Record<string, unknown> {
  const given = storage ?? process.env['MILLRACE_STORAGE']?.trim();
  const chosen = given || 'file:.millrace/store.db';
  if (!isFileStorage(chosen)) {
    const name = storage === undefined ? 'MILLRACE_STORAGE' : '--storage';
    throw new UsageError(`${name} must be 'file:' and a path, not '${chosen}'.`);
  }
  const seconds = integerOption('wait', wait, 0, 86_400);
  return { storage: chosen, ...(seconds !== undefined && { openTimeoutMs: seconds * 1000 }) };
}

/** Carries out a command of the engine on a store (lib/app/store_commands.hpp). */
export function storeCommand<T>(
  command: string,
  options: Record<string, unknown>,
  onRows: (rows: number) => void = () => undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    addon().storeCommand(JSON.stringify({ ...options, command }), (rows, result, error) => {
      if (rows !== undefined) onRows(rows);
      else if (error !== undefined) reject(errorFromNative(error));
      else resolve(JSON.parse(result ?? 'null') as T);
    });
  });
}

/** Runs a command; with --json, an error goes to standard output as well. */
export async function reporting(isJson: boolean, run: () => Promise<number>): Promise<number> {
  try {
    return await run();
  } catch (error) {
    if (!isJson) throw error;
    // Programs read standard output, whatever went wrong.
    process.stdout.write(`${JSON.stringify({ error: reportedError(error) })}\n`);
    return exitCodeOf(error);
  }
}

const firstReportMs = 1_000;
const reportEveryMs = 2_000;

/** Reports on standard error that long work goes on, until its end. */
export async function withProgress<T>(
  what: string,
  work: (onRows: (rows: number) => void) => Promise<T>,
): Promise<T> {
  const began = performance.now();
  let rows = 0;
  let timer = setTimeout(function report() {
    const seconds = Math.round((performance.now() - began) / 1000);
    const done = rows === 0 ? '' : `, ${rows} rows`;
    process.stderr.write(`millrace: ${what}: ${seconds} s${done}\n`);
    timer = setTimeout(report, reportEveryMs);
  }, firstReportMs);
  try {
    return await work((count) => (rows = count));
  } finally {
    clearTimeout(timer);
  }
}

interface StoreOwner {
  pid?: string;
  url?: string;
  token?: string;
}

/** A change that the process which has the store makes, and this one where there is none. */
export interface OwnedChange {
  method: string;
  path: string;
  body?: object;
  /** The engine's command of the same, and its options. */
  command: string;
  options: Record<string, unknown>;
}

const ownerTimeoutMs = 30_000;

/** Makes a change through the owner of the store, or opens the store for it. */
export async function changeStore<T>(
  store: Record<string, unknown>,
  change: OwnedChange,
): Promise<T> {
  const owner = await storeCommand<StoreOwner>('owner', store);
  if (owner.url !== undefined) return askOwner<T>(owner, change);
  // Without a control endpoint its lock tells what is to be said.
  return storeCommand<T>(change.command, { ...store, ...change.options });
}

async function askOwner<T>(owner: StoreOwner, { method, path, body }: OwnedChange): Promise<T> {
  let response: Response;
  try {
    response = await fetch(`${owner.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${owner.token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ownerTimeoutMs),
    });
  } catch (error) {
    const who = `The process ${owner.pid}, which has the store open, does not answer.`;
    throw new MillraceError('store_in_use', who, { cause: error });
  }
  const answer = (await response.json()) as T & { error?: { code: string; message: string } };
  if (response.ok) return answer;
  const { code = 'internal', message = `It answered ${response.status}.` } = answer.error ?? {};
  const known = Object.hasOwn(errorFixes, code) ? (code as ErrorCode) : 'internal';
  throw new MillraceError(known, message, { status: response.status });
}
