// millrace runs fork: a new run from a record of another one.
import { integerOption, plain, readArgs, runOf, UsageError } from './command';
import type { RunInfo } from './run-text';
import { changeStore, reporting, storeOf, storeOptions } from './store';

const options = {
  ...storeOptions,
  at: { type: 'string' },
  'edit-result': { type: 'string', multiple: true },
  'edit-message': { type: 'string' },
  thread: { type: 'string' },
} as const;

/** The exit code; undefined where help is wanted. */
export async function forkRun(args: readonly string[]): Promise<number | undefined> {
  const { values, positionals } = readArgs(args, options, true);
  if (values.help === true) return undefined;
  return reporting(values.json === true, async () => {
    const id = runOf(positionals);
    const at = integerOption('at', values.at, 1, Number.MAX_SAFE_INTEGER);
    if (at === undefined)
      throw new UsageError('--at is missing: the number of the last record to keep.');
    const { 'edit-message': message, thread: threadId } = values;
    const results = resultsOf(values['edit-result'] ?? []);
    const fork = { at, results, message, threadId };
    const info = await changeStore<RunInfo>(storeOf(values), {
      method: 'POST',
      path: `/runs/${encodeURIComponent(id)}/fork`,
      body: fork,
      command: 'fork',
      options: { id, fork },
    });
    const text = `${info.id} is ${info.state}, in the thread ${plain(info.threadId ?? '-')}\n`;
    process.stdout.write(values.json === true ? `${JSON.stringify(info)}\n` : text);
    return 0;
  });
}

function resultsOf(edits: readonly string[]): Record<string, string> {
  const pairs = edits.map((edit) => {
    const at = edit.indexOf('=');
    if (at > 0) return [edit.slice(0, at), edit.slice(at + 1)];
    throw new UsageError(`--edit-result must be <call>=<text>, not '${edit}'.`);
  });
  return Object.fromEntries(pairs) as Record<string, string>;
}
