// millrace models: the models that are known, with their limits and prices.
import type { ModelCard, PricingUnit } from '../../types/usage';
import { providerRows } from '../model/settings';
import { modelCards } from '../model/usage';
import type { Command } from './command';
import { readArgs, UsageError } from './command';
import { tableOf } from './table';

const help = `Usage: millrace models [--provider <id>] [--json]

Lists models: those whose vendors publish limits and prices (US dollars for a million tokens), and the
usual ones of each provider. Prices are those of the vendor's own price list, never a guess.

Options:
  --provider <id>  of this provider only
  --json           print a JSON array
  --help           print this
`;

const options = {
  provider: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Row = Pick<ModelCard, 'provider' | 'id'> & Partial<ModelCard>;

function rowsOf(provider: string | undefined): Row[] {
  const wanted = provider?.toLowerCase();
  const rows = providerRows().filter(({ id }) => wanted === undefined || id === wanted);
  if (wanted !== undefined && rows.length === 0) {
    throw new UsageError(`There is no provider '${wanted}'. 'millrace providers' lists them.`);
  }
  const cards = modelCards();
  return rows.flatMap(({ id, models }) => {
    const known: Row[] = cards.filter((card) => card.provider === id);
    const others = models.filter((model) => !known.some((row) => row.id === model));
    return [...known, ...others.map((model) => ({ provider: id, id: model }))];
  });
}

// The price of the first tier, or of the usual key.
function rateOf(card: Row, name: string): string {
  const unit = card.pricing?.units.find((one: PricingUnit) => one.name === name);
  if (!unit) return '-';
  if (unit.strategy === 'tiered') return `${unit.tiers[0]?.rate ?? '-'}+`;
  if (unit.strategy === 'lookup') return String(Object.values(unit.lookup.prices)[0] ?? '-');
  return String(unit.rate);
}

/** The `models` command. */
export const models: Command = {
  summary: 'list models with their limits and prices',
  run(args) {
    const { values } = readArgs(args, options, false);
    if (values.help === true) {
      process.stdout.write(help);
      return Promise.resolve(0);
    }
    const rows = rowsOf(values.provider);
    if (values.json === true) {
      process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
      return Promise.resolve(0);
    }
    const cells = rows.map((row) => [
      `${row.provider}:${row.id}`,
      row.contextWindowTokens?.toString() ?? '-',
      row.maxOutput?.toString() ?? '-',
      rateOf(row, 'textInput'),
      rateOf(row, 'textInput_cacheRead'),
      rateOf(row, 'textOutput'),
    ]);
    const head = ['model', 'context', 'max output', '$ input', '$ cached', '$ output'];
    process.stdout.write(tableOf(head, cells));
    return Promise.resolve(0);
  },
};
