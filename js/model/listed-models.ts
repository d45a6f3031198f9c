// Models as their endpoint lists them: each card with the members of its own entry.
import type { ProviderModel } from '../../types/capabilities';
import { isRecord, jsonOf } from '../plain-values';

/** A model with all that its endpoint says of it, beside our own members. */
export type ListedModel = ProviderModel & Readonly<Record<string, unknown>>;

// Where lib/model/capability/models.cpp looks for the id.
const idNames = ['id', 'modelId', 'model', 'name', 'model_name'];

/** The cards that the engine made of a page of the list, each with the members of its entry there. */
export function listedModels(cards: readonly ProviderModel[], page: Uint8Array): ListedModel[] {
  const entries = new Map<string, Record<string, unknown>[]>();
  for (const entry of entriesOf(jsonOf(Buffer.from(page).toString('utf8')))) {
    const id = idOf(entry);
    entries.set(id, [...(entries.get(id) ?? []), entry]);
  }
  return cards.map((card) => ({ ...entries.get(card.id)?.shift(), ...card }));
}

function idOf(entry: Record<string, unknown>): string {
  const id = idNames.map((name) => entry[name] ?? undefined).find((value) => value !== undefined);
  return typeof id === 'string' ? id.replace(/^models\//, '') : '';
}

// Endpoints call the list `data`, `models` and more, and some have others beside it or put it one level deeper.
function entriesOf(value: unknown, depth = 2): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.filter(isRecord);
  if (!isRecord(value) || depth === 0) return [];
  return Object.values(value).flatMap((inner) => entriesOf(inner, depth - 1));
}
