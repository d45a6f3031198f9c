// What the engine gives of a run: events, and items of another kind beside them.
import type { AGUIEvent } from '../../types/events';
import { itemsOf } from '../transport/batches';
import { EngineEventReader, type ReaderMark } from '../adapters/engine-events';

// Other types that begin so are events in the engine's short form.
const own = new Set([
  ...['@tool', '@withdraw', '@checkpoint', '@result'],
  ...['@hook', '@report', '@bytes', '@failed', '@parts', '@fetch', '@fetched'],
  ...['@run', '@seq', '@sent'],
]);

/** Whether an item is an event, as an object or as the engine's short text. */
export function isEvent<Own extends { type: string }>(
  item: AGUIEvent | Own | string,
): item is AGUIEvent | string {
  return typeof item === 'string' || !own.has(item.type);
}

/** The events among items, as objects. */
export function eventsOf<Own extends { type: string }>(
  items: (AGUIEvent | Own | string)[],
  reader: EngineEventReader,
): AGUIEvent[] {
  const events: AGUIEvent[] = [];
  reader.loadItems(items.filter(isEvent));
  for (let event = reader.next(); event; event = reader.next()) events.push(event);
  return events;
}

/** The output of these items without those that are no events; undefined where it has none. */
export function eventsIn<Own extends { type: string }>(
  items: readonly (AGUIEvent | Own | string)[],
  output: string,
): string | undefined {
  const events = items.filter(isEvent);
  // The number of a record, at the end of each output of a durable run, is small.
  const isSmall = (item: AGUIEvent | Own | string) => isEvent(item) || item.type === '@seq';
  if (events.length === 0) return undefined;
  return items.every(isSmall) ? output : inOnePiece(JSON.stringify(events));
}

// V8 makes longer JSON as a tree of pieces, each with a node of its own, until a character is looked at.
function inOnePiece(json: string): string {
  json.charCodeAt(0);
  return json;
}

/** The events of outputs that follow each other; the mark is where a reader stood before the first. */
export function readAgain(outputs: readonly string[], mark: ReaderMark): AGUIEvent[] {
  const reader = EngineEventReader.from(mark);
  return outputs.flatMap((output) => eventsOf(itemsOf<AGUIEvent>(output), reader));
}
