// What every command shares: its shape, its options and how it reports an error.
import { parseArgs, type ParseArgsConfig } from 'node:util';
import type { ErrorCode } from '../../types/errors';
import { errorFixes } from '../error-types';
import { MillraceError } from '../errors';
import { meantBy } from '../known-names';
import { messageOf } from '../thrown';

/** One command of the command line. */
export interface Command {
  readonly summary: string;
  /** Resolves to the exit code. */
  run(args: readonly string[]): Promise<number>;
}

/** A wrong use of the command line: exit code 2. */
export class UsageError extends Error {}

type Options = NonNullable<ParseArgsConfig['options']>;

/** Reads the arguments strictly; an unknown option is a UsageError. */
export function readArgs<T extends Options>(
  args: readonly string[],
  options: T,
  positionals: boolean,
): ReturnType<typeof parseArgs<{ options: T; allowPositionals: boolean; strict: true }>> {
  try {
    return parseArgs({
      args: withNumbers(args, options),
      options,
      allowPositionals: positionals,
      strict: true,
    });
  } catch (error) {
    throw new UsageError(unknownOption(error, options) ?? messageOf(error));
  }
}

// Node's message of an unknown option is about arguments that begin with a dash, or says no more than that.
function unknownOption(error: unknown, options: Options): string | undefined {
  if ((error as { code?: unknown }).code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return undefined;
  const name = /'(-[^' ]*)/.exec(messageOf(error))?.[1] ?? '';
  const meant = meantBy(name.replace(/^-+/, ''), Object.keys(options));
  const more = meant === undefined ? '--help lists the options.' : `Did you mean '--${meant}'?`;
  return `there is no option '${name}'. ${more}`;
}

// A number below zero is a value, which its option judges, and no further option.
function withNumbers(args: readonly string[], options: Options): string[] {
  const joined: string[] = [];
  for (const arg of args) {
    const before = joined.at(-1) ?? '';
    const takes = before.startsWith('--') && options[before.slice(2)]?.type === 'string';
    if (takes && /^-\d/.test(arg)) joined[joined.length - 1] = `${before}=${arg}`;
    else joined.push(arg);
  }
  return joined;
}

/** The run that is named, and nothing else where nothing else is taken. */
export function runOf(positionals: readonly string[], most = 1): string {
  const [run] = positionals;
  if (run === undefined || run === '') {
    throw new UsageError("Name the run: 'millrace runs ls' lists them.");
  }
  if (positionals.length > most) {
    throw new UsageError(`'${positionals[most]}' is one argument too many.`);
  }
  return run;
}

/** An option that must be an integer within bounds. */
export function integerOption(
  name: string,
  text: string | undefined,
  min: number,
  max: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < min || value > max) {
    throw new UsageError(`--${name} must be an integer from ${min} to ${max}, not '${text}'.`);
  }
  return value;
}

/** The exit code of an error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof UsageError ? 2 : 1;
}

/** An error as `--json` tells it. */
export function reportedError(error: unknown): object {
  const cause = error instanceof UsageError ? error.cause : error;
  const { code, fix } = MillraceError.is(cause)
    ? cause
    : { code: 'invalid_option', fix: errorFixes.invalid_option };
  return { code, message: messageOf(error), fix };
}

/** Text of others for the terminal: nothing in it moves the cursor, or turns the direction of writing. */
export function plain(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu, '');
}

/** An error for the terminal or a log: its message and code, and below what to do about it. */
export function shownError(message: string, code: string | undefined, detail?: string): string {
  const fix = Object.hasOwn(errorFixes, code ?? '') ? errorFixes[code as ErrorCode] : undefined;
  const head = plain(code === undefined ? message : `${message} (${code})`);
  const more = detail === undefined ? '' : `  Detail: ${plain(detail)}\n`;
  return fix === undefined ? `${head}\n${more}` : `${head}\n${more}  Fix: ${fix}\n`;
}

/** Writes an error to stderr. Returns the exit code. */
export function fail(error: unknown): number {
  const cause = error instanceof UsageError ? error.cause : error;
  const { code, detail } = MillraceError.is(cause) ? cause : {};
  process.stderr.write(`millrace: ${shownError(messageOf(error), code, detail)}`);
  return exitCodeOf(error);
}
