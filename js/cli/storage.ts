// millrace storage: the file of durable runs as a whole.
import type { Command } from './command';
import { plain, readArgs, UsageError } from './command';
import { reporting, storeCommand, storeHelp, storeOf, storeOptions, withProgress } from './store';

const help = `Usage: millrace storage check
       millrace storage backup <path>
       millrace storage vacuum
       millrace storage export [path]
       millrace storage import <path>

Looks after a store of durable runs.

  check    reads every page, compares checksums and tables, and prints each problem
  backup   copies the store to a new file; works beside the process that has the store
  vacuum   moves the log into the file and gives back free pages
  export   writes everything as lines of JSON to a new file, or to standard output
  import   reads such lines into a store that is new or empty: all of them or none; - is standard input

Options:
${storeHelp}
Exit code: 0, 1 when it failed or check found a problem, 2 for wrong arguments.
`;

type Values = ReturnType<typeof readArgs<typeof storeOptions>>['values'];
type Work = (values: Values, path: string | undefined) => Promise<number>;

function print(values: Values, result: object, text: string): void {
  process.stdout.write(values.json === true ? `${JSON.stringify(result)}\n` : text);
}

function needed(path: string | undefined, command: string): string {
  if (path !== undefined && path !== '') return path;
  throw new UsageError(`millrace storage ${command} needs a path.`);
}

interface Problem {
  run?: string;
  code: string;
  what: string;
}

async function check(values: Values): Promise<number> {
  const result = await withProgress('checking', () =>
    storeCommand<{ problems: Problem[] }>('check', storeOf(values)),
  );
  const lines = result.problems.map(({ run, what }) =>
    plain(run === undefined ? `${what}\n` : `${run}: ${what}\n`),
  );
  print(values, result, lines.join('') || 'No problem was found.\n');
  return lines.length > 0 ? 1 : 0;
}

async function backup(values: Values, path: string | undefined): Promise<number> {
  const options = { ...storeOf(values), path: needed(path, 'backup') };
  const result = await withProgress('backing up', () =>
    storeCommand<{ path: string; bytes: number }>('backup', options),
  );
  print(values, result, `${result.bytes} bytes are in ${plain(result.path)}.\n`);
  return 0;
}

async function vacuum(values: Values): Promise<number> {
  const result = await withProgress('vacuuming', () =>
    storeCommand<{ bytesBefore: number; bytesAfter: number }>('vacuum', storeOf(values)),
  );
  print(values, result, `${result.bytesBefore} bytes before, ${result.bytesAfter} after.\n`);
  return 0;
}

const standardOutput = 1;
const standardInput = 0;

async function exportRows(values: Values, path: string | undefined): Promise<number> {
  const isFile = path !== undefined && path !== '-';
  const to = isFile ? { path } : { fd: standardOutput };
  const result = await withProgress('exporting', (onRows) =>
    storeCommand<{ rows: number }>('export', { ...storeOf(values), ...to }, onRows),
  );
  if (isFile) print(values, result, `${result.rows} rows are in ${plain(path)}.\n`);
  return 0;
}

async function importRows(values: Values, path: string | undefined): Promise<number> {
  const given = needed(path, 'import');
  const from = given === '-' ? { fd: standardInput } : { path: given };
  const result = await withProgress('importing', (onRows) =>
    storeCommand<{ rows: number }>('import', { ...storeOf(values), ...from }, onRows),
  );
  print(values, result, `${result.rows} rows were imported.\n`);
  return 0;
}

const works: Record<string, Work> = {
  check,
  backup,
  vacuum,
  export: exportRows,
  import: importRows,
};
const withPath = ['backup', 'export', 'import'];

/** The `storage` command. */
export const storage: Command = {
  summary: 'check, back up and move a store of durable runs',
  run([name = '', ...args]) {
    if (name === '--help' || name === '-h') {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    const work = Object.hasOwn(works, name) ? works[name] : undefined;
    if (!work) throw new UsageError(`'millrace storage' needs a command.\n\n${help}`);
    const { values, positionals } = readArgs(args, storeOptions, withPath.includes(name));
    if (values.help === true) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    if (positionals.length > 1) throw new UsageError(`'${positionals[1]}' is one path too many.`);
    return reporting(values.json === true, () => work(values, positionals[0]));
  },
};
