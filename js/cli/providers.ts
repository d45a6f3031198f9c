// millrace providers: the table of model providers.
import { hasKey, providerRows } from '../model/settings';
import type { Command } from './command';
import { readArgs } from './command';
import { tableOf } from './table';

const help = `Usage: millrace providers [--json]

Lists the model providers: their wire format, the variables of their keys, and whether address, wire format
and authentication were checked against the vendor's documentation.

Options:
  --json   print a JSON array
  --help   print this
`;

const options = {
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** The `providers` command. */
export const providers: Command = {
  summary: 'list the model providers',
  run(args) {
    const { values } = readArgs(args, options, false);
    if (values.help === true) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    const rows = providerRows();
    if (values.json === true) {
      const reported = rows.map((row) => ({ ...row, keySet: hasKey(row) }));
      process.stdout.write(`${JSON.stringify(reported, null, 2)}\n`);
      return Promise.resolve(0);
    }
    const cells = rows.map((row) => [
      row.id,
      row.name,
      textOf(row['dialect']),
      hasKey(row) ? 'set' : (row.keyNames[0] ?? '-'),
      row['verified'] === true ? 'yes' : 'no',
      row.baseURL || '(must be given)',
    ]);
    const head = ['provider', 'name', 'wire', 'key', 'verified', 'base URL'];
    process.stdout.write(tableOf(head, cells));
    return Promise.resolve(0);
  },
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '-';
}
