// millrace import: takes over what another server kept.
import type { Command } from './command';
import { readArgs, UsageError } from './command';
import { reporting, storeCommand, storeHelp, storeOf, storeOptions, withProgress } from './store';

const help = `Usage: millrace import undefined <data folder>

Takes over the conversations, the history of older releases, the attachments and the remembered facts (\`memory.json\`)
of an Undefined server (its folder \`data\`) into a store, which is made where it is missing. Conversations and facts that
are there already stay as they are. The history of older releases is taken over once; a marker file in the folder
records that.

Options:
${storeHelp}  --principal <name>     whose conversations they become (default local)

Exit code: 0, 1 when it failed, 2 for wrong arguments.
`;

const options = { ...storeOptions, principal: { type: 'string' } } as const;

interface Imported {
  conversations: number;
  messages: number;
  attachments: number;
  facts: number;
  skipped: number;
}

/** The `import` command. */
export const importCommand: Command = {
  summary: 'take over conversations of another server',
  run([source = '', ...args]) {
    if (source === '--help' || source === '-h') {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    if (source !== 'undefined') {
      throw new UsageError(`'millrace import' needs a source: undefined.\n\n${help}`);
    }
    const { values, positionals } = readArgs(args, options, true);
    if (values.help === true) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    const [path, extra] = positionals;
    if (path === undefined) throw new UsageError('millrace import undefined needs a folder.');
    if (extra !== undefined) throw new UsageError(`'${extra}' is one path too many.`);
    const { principal = 'local' } = values;
    return reporting(values.json === true, async () => {
      const result = await withProgress('importing', (onRows) =>
        storeCommand<Imported>('import-undefined', { ...storeOf(values), path, principal }, onRows),
      );
      const { conversations, messages, attachments, facts, skipped } = result;
      const text = `${conversations} conversations with ${messages} messages, ${attachments} attachments and ${facts} facts were imported, ${skipped} records were skipped.\n`;
      process.stdout.write(values.json === true ? `${JSON.stringify(result)}\n` : text);
      return 0;
    });
  },
};
