// millrace runs replay: the response of a run that is over, once more from its journal.
import { plain, readArgs, runOf, UsageError } from './command';
import { reporting, storeCommand, storeOf, storeOptions, withProgress } from './store';

const options = {
  ...storeOptions,
  as: { type: 'string' },
  'protocol-version': { type: 'string' },
  output: { type: 'string' },
} as const;

const forms: readonly string[] = ['ag_ui', 'ag_ui_proto', 'lobe'];
const standardOutput = 1;

/** The exit code; undefined where help is wanted. */
export async function replayRun(args: readonly string[]): Promise<number | undefined> {
  const { values, positionals } = readArgs(args, options, true);
  if (values.help === true) return undefined;
  return reporting(values.json === true, async () => {
    const id = runOf(positionals);
    const { as = 'ag_ui', output, 'protocol-version': version } = values;
    if (!forms.includes(as))
      throw new UsageError(`--as must be ag_ui, ag_ui_proto or lobe, not '${as}'.`);
    const isFile = output !== undefined && output !== '-';
    const to = isFile ? { path: output } : { fd: standardOutput };
    const { bytes } = await withProgress('replaying', () =>
      storeCommand<{ bytes: number }>('replay', { ...storeOf(values), id, as, version, ...to }),
    );
    if (!isFile) return 0;
    const text = `${bytes} bytes are in ${plain(output)}.\n`;
    process.stdout.write(
      values.json === true ? `${JSON.stringify({ path: output, bytes })}\n` : text,
    );
    return 0;
  });
}
