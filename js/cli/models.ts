// millrace models: the models of providers, with their limits and prices.
import type { ModelCard, PricingUnit } from '../../types/usage';
import { addon } from '../addon';
import { MillraceError } from '../errors';
import { ModelRuntime } from '../model/runtime';
import type { ProviderRow } from '../model/settings';
import { hasKey, providerRow, providerRows } from '../model/settings';
import { modelCard, modelCards } from '../model/usage';
import { messageOf } from '../thrown';
import type { Command } from './command';
import { exitCodeOf, plain, readArgs, reportedError, UsageError } from './command';
import { tableOf } from './table';

const help = `Usage: millrace models [--provider <id>] [--offline] [--json]

Lists models. Models of providers with a key in the environment are requested from the provider. For other
providers the built-in list is printed (source "built-in"). Prices are US dollars per million tokens from the
vendors' own price lists.

Options:
  --provider <id>  of this provider only
  --offline        print the built-in list only
  --json           print a JSON array, or an object with the error
  --help           print this
`;

const options = {
  provider: { type: 'string' },
  offline: { type: 'boolean' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

const listTimeoutMs = 15_000;

type Row = Pick<ModelCard, 'provider' | 'id'> &
  Partial<ModelCard> & {
    /** Who says that there is this model. */
    source: 'vendor' | 'built-in';
  };

function builtIn({ id, models }: ProviderRow): Row[] {
  const known = modelCards().filter((card) => card.provider === id);
  const others = models.filter((model) => !known.some((row) => row.id === model));
  return [...known, ...others.map((model) => ({ provider: id, id: model }))].map((row) => ({
    ...row,
    source: 'built-in' as const,
  }));
}

async function listed(provider: string): Promise<Row[]> {
  const runtime = new ModelRuntime(provider, { maxRetries: 0 });
  const models = await runtime.models({ signal: AbortSignal.timeout(listTimeoutMs) });
  return models.map((model) => ({
    ...modelCard(provider, model.id),
    ...model,
    provider,
    source: 'vendor' as const,
  }));
}

// A provider that does not answer costs its own list only.
async function rowsOf(row: ProviderRow): Promise<Row[]> {
  try {
    return await listed(row.id);
  } catch (error) {
    const reason = messageOf(error);
    process.stderr.write(`${row.id} gave no list (built-in list shown): ${plain(reason)}\n`);
    return builtIn(row);
  }
}

// Servers of one's own have no key; they are asked when they are named.
function isRequested(row: ProviderRow, named: boolean): boolean {
  const lists = (JSON.parse(addon().capabilities()) as Record<string, string[]>)[row.id] ?? [];
  if (!lists.includes('models')) return false;
  return hasKey(row) || (named && /\/\/(localhost|127\.0\.0\.1)[:/]/.test(row.baseURL));
}

async function allRows(provider: string | undefined, offline: boolean): Promise<Row[]> {
  const named = provider === undefined ? undefined : providerRow(provider);
  if (provider !== undefined && !named) {
    const text = `There is no provider '${provider}'. 'millrace providers' lists them.`;
    throw new UsageError(text, { cause: new MillraceError('unknown_provider', text) });
  }
  const rows = named ? [named] : providerRows();
  const requested = (row: ProviderRow): boolean =>
    !offline && isRequested(row, named !== undefined);
  const lists = rows.map(async (row) => (requested(row) ? rowsOf(row) : builtIn(row)));
  return (await Promise.all(lists)).flat();
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
  async run(args) {
    const { values } = readArgs(args, options, false);
    if (values.help === true) {
      process.stdout.write(help);
      return 0;
    }
    const isJson = values.json === true;
    let rows: Row[];
    try {
      rows = await allRows(values.provider, values.offline === true);
    } catch (error) {
      if (!isJson) throw error;
      // Programs read standard output, whatever went wrong.
      process.stdout.write(`${JSON.stringify({ error: reportedError(error) })}\n`);
      return exitCodeOf(error);
    }
    if (isJson) {
      process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
      return 0;
    }
    const cells = rows.map((row) => [
      `${row.provider}:${row.id}`,
      row.source,
      row.contextWindowTokens?.toString() ?? '-',
      row.maxOutput?.toString() ?? '-',
      rateOf(row, 'textInput'),
      rateOf(row, 'textInput_cacheRead'),
      rateOf(row, 'textOutput'),
    ]);
    const head = ['model', 'source', 'context', 'max output', '$ input', '$ cached', '$ output'];
    process.stdout.write(plain(tableOf(head, cells)));
    return 0;
  },
};
