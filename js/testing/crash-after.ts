// crashAfter: runs a program until a record of a durable run is stored, ends it there as a crash does, and runs it again.
import { spawn } from 'node:child_process';
import { join } from 'node:path';

import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { checkValues, count, isRecord, list, milliseconds, text } from '../value-checks';

const kinds = [
  'accepted',
  'segment',
  'step_started',
  'model_requested',
  'model_opened',
  'model_completed',
  'tool_intent',
  'tool_started',
  'tool_result',
  'approval_requested',
  'child_started',
  'child_ended',
  'job_step',
  'slept',
  'checkpoint',
  'stop_requested',
  'terminal',
  'text_delta',
] as const;

/** A record of a run's journal; docs/journal.md has what they are. `text_delta` is a piece of an answer. */
export type RecordKind = (typeof kinds)[number];

export interface CrashOptions {
  /** The file of the program, which makes a runtime with a file and its agents. */
  program: string;
  /** Arguments of the program. */
  args?: readonly string[] | undefined;
  /** Options of Node.js, for instance `['--import', 'tsx']`. */
  execArgv?: readonly string[] | undefined;
  /** Environment of the program beside that of this process. */
  env?: Record<string, string> | undefined;
  cwd?: string | undefined;
  /** Which record of the kind it is, from 1; the first when absent. */
  nth?: number | undefined;
  /** Only records with this name count: of a tool (`tool_intent`) or a step (`job_step`). */
  name?: string | undefined;
  /** How long each of both may run, in milliseconds; a minute when absent. */
  timeoutMs?: number | undefined;
}

/** What a program printed until it ended. */
export interface ProgramOutput {
  stdout: string;
  stderr: string;
}

/** Both times that the program ran. */
export interface CrashReport {
  /** Until the crash. */
  crashed: ProgramOutput;
  /** To its end. */
  recovered: ProgramOutput;
}

interface Ended extends ProgramOutput {
  code: number | null;
  isLate: boolean;
}

// The exit code of the engine at a crash point.
const crashCode = 137;
const preload = join(__dirname, 'crash-preload.js');

const isKind = (kind: unknown): boolean => kinds.includes(kind as RecordKind);

function check(kind: unknown, options: unknown): asserts options is CrashOptions {
  if (!isKind(kind)) {
    throw new MillraceError(
      'invalid_argument',
      `crashAfter(): there is no record ${shown(kind)}; there are ${kinds.join(', ')}.`,
    );
  }
  const names = ['program', 'args', 'execArgv', 'env', 'cwd', 'nth', 'name', 'timeoutMs'];
  checkNames('crashAfter()', options ?? {}, names);
  const { program } = (options ?? {}) as Partial<CrashOptions>;
  if (typeof program !== 'string' || program === '') {
    throw new MillraceError(
      'invalid_option',
      `crashAfter() needs the file of a program, not ${shown(program)}.`,
    );
  }
  checkValues('crashAfter()', options, {
    ...{ args: list, execArgv: list, cwd: text, nth: count, name: text, timeoutMs: milliseconds },
    env: ['an object', isRecord],
  });
}

/**
 * Runs a program and ends it, as `kill -9` does, when a record of this kind is stored and before anything follows from
 * it; then runs the program again to its end. Rejects where there was no such record, or the second one failed.
 */
export async function crashAfter(kind: RecordKind, options: CrashOptions): Promise<CrashReport> {
  check(kind, options);
  const { nth = 1, name = '' } = options;
  const crashed = await run(options, JSON.stringify({ kind, name, count: nth }));
  if (crashed.code !== crashCode) {
    throw failure(`The program ended without the record ${kind} number ${nth}`, crashed);
  }
  const recovered = await run(options, undefined);
  if (recovered.code !== 0) throw failure('The program failed after the crash', recovered);
  return { crashed: outputOf(crashed), recovered: outputOf(recovered) };
}

function run(options: CrashOptions, point: string | undefined): Promise<Ended> {
  const { program, args = [], execArgv = [], env, cwd, timeoutMs = 60_000 } = options;
  const first = point === undefined ? [] : ['--require', preload];
  const child = spawn(process.execPath, [...first, ...execArgv, program, ...args], {
    cwd,
    env: { ...process.env, ...env, ...(point !== undefined && { MILLRACE_CRASH_POINT: point }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended: Ended = { stdout: '', stderr: '', code: null, isLate: false };
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (ended.stdout += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (ended.stderr += piece));
  const timer = setTimeout(() => {
    ended.isLate = true;
    child.kill('SIGKILL');
  }, timeoutMs);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve({ ...ended, code: ended.isLate ? null : code });
    });
  });
}

const outputOf = ({ stdout, stderr }: Ended): ProgramOutput => ({ stdout, stderr });

function failure(what: string, { code, isLate, stdout, stderr }: Ended): MillraceError {
  const how = isLate ? 'it was ended at its time limit' : `exit code ${String(code)}`;
  const printed = [stdout, stderr].filter(Boolean).join('\n').slice(-4000);
  return new MillraceError(isLate ? 'timeout' : 'invalid_state', `${what} (${how}):\n${printed}`);
}
