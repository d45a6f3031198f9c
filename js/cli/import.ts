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
  --memory-max <n>       how many facts the principal may have, as \`memoryMax\` of its server (default 500); those
                         that are there stay, and of the others the oldest are left out

Exit code: 0, 1 when it failed, 2 for wrong arguments.
`;

const options = {
  ...storeOptions,
  principal: { type: 'string' },
  'memory-max': { type: 'string' },
} as const;

function factsOf(text: string): number {
  const most = /^\d+$/.test(text) ? Number(text) : 0;
  if (most > 0 && Number.isSafeInteger(most)) return most;
  throw new UsageError(`--memory-max must be a number of facts, not '${text}'.`);
}

interface Imported {
  conversations: number;
  messages: number;
  attachments: number;
  facts: number;
  factsBeyond: number;
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
    const { principal = 'local', 'memory-max': most = '500' } = values;
    const memoryMax = factsOf(most);
    return reporting(values.json === true, async () => {
      const result = await withProgress('importing', (onRows) =>
        storeCommand<Imported>(
          'import-undefined',
          { ...storeOf(values), path, principal, memoryMax },
          onRows,
        ),
      );
      const { conversations, messages, attachments, facts, factsBeyond, skipped } = result;
      const beyond =
        factsBeyond > 0
          ? `${factsBeyond} facts, the oldest, were left out: ${principal} may have ${memoryMax} (--memory-max, and \`memoryMax\` of the server).\n`
          : '';
      const text = `${conversations} conversations with ${messages} messages, ${attachments} attachments and ${facts} facts were imported, ${skipped} records were skipped.\n${beyond}`;
      process.stdout.write(values.json === true ? `${JSON.stringify(result)}\n` : text);
      return 0;
    });
  },
};
