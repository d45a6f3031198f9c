// What can be made of a run that is stored: a file that plays it, its bytes once more, and another run from one of its
// records.
import type { ExportRunOptions, ForkOptions, ReplayOptions, RunInfo } from '../../types/runtime';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { exportedRun, type RecordPage } from '../runs/export-page';
import { secretNames } from '../runs/redaction';
import { shown } from '../shown';
import { checkValues, text } from '../value-checks';

/** A command of an open store. */
export type Command = <T>(name: string, options: object) => Promise<T>;

/** The file of a run in pieces. `planOf` gives what is known of the agent of a name. */
export async function* runFile(
  command: Command,
  run: string,
  options: ExportRunOptions,
  planOf: (name: string) => string,
): AsyncGenerator<Uint8Array, undefined> {
  const { format = 'html', secrets = [], principal } = options;
  const info = await command<RunInfo>('get', { run, principal });
  const { id } = info;
  const { messages } = await command<{ messages: object[] }>('messages', { run: id });
  const page = (after: number) => command<RecordPage>('records', { run: id, after });
  const names = secretNames([...secrets, ...declaredSecrets(planOf(info.name))]);
  yield* exportedRun({ run: info, messages, page }, { format, secrets: names });
  return undefined;
}

/** Throws what is wrong with the options. */
export function checkExport({ format = 'html', secrets = [], ...rest }: ExportRunOptions): void {
  checkNames('export()', rest, ['principal']);
  checkValues('export()', rest, { principal: text });
  if (!['html', 'jsonl'].includes(format)) {
    throw new MillraceError(
      'invalid_option',
      `export(): format must be 'html' or 'jsonl', not ${shown(format)}.`,
    );
  }
  if (Array.isArray(secrets) && secrets.every((name) => typeof name === 'string')) return;
  throw new MillraceError(
    'invalid_option',
    `export(): secrets must be names, not ${shown(secrets)}.`,
  );
}

/** Makes the new run, and resolves when it is stored. */
export function forkRun(command: Command, run: string, options: ForkOptions): Promise<RunInfo> {
  checkNames('fork()', options, ['at', 'results', 'message', 'threadId', 'principal']);
  checkValues('fork()', options, { threadId: text, principal: text });
  return command<RunInfo>('fork', { ...options, run });
}

/** The bytes that the readers of a run got, as text where they are one. */
export async function replayedRun(
  command: Command,
  run: string,
  options: ReplayOptions,
): Promise<string | Uint8Array> {
  checkNames('replay()', options, ['as', 'protocolVersion', 'principal']);
  checkValues('replay()', options, { as: text, protocolVersion: text, principal: text });
  const { as = 'ag_ui', protocolVersion: version, principal } = options;
  const bytes = await command<string>('replay', { run, as, version, principal });
  return as === 'ag_ui_proto' ? new Uint8Array(Buffer.from(bytes, 'base64')) : bytes;
}

// Members of schemas that say that their value is not to be shown.
function declaredSecrets(planJson: string): string[] {
  const found: string[] = [];
  // Items of a list and alternatives of a value have no name of their own: the property has it.
  const look = (value: unknown, property?: string): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      const { writeOnly, format } = (member ?? {}) as { writeOnly?: unknown; format?: unknown };
      if (writeOnly === true || format === 'password') found.push(property ?? name);
      if (name !== 'properties') look(member, property);
      else
        for (const [own, schema] of Object.entries((member ?? {}) as Record<string, unknown>))
          look({ [own]: schema }, own);
    }
  };
  look(planJson === '' ? null : JSON.parse(planJson));
  return found;
}
