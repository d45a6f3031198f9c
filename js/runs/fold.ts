// foldEvents: what a chat looks like after the events, for hosts without a UI library.
import type { AGUIEvent } from '../../types/events';
import type { Message } from '../../types/messages';
import { EventStream } from '../adapters/event-stream';
import type { NativeFolder } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';

// Events cross to the engine this many at a time.
const batchSize = 256;

/**
 * The messages that an AG-UI client builds from these events, and the provider state that the next
 * request needs: at once for an array or another iterable, as a promise for a stream, which rejects
 * with what the stream throws.
 */
export function foldEvents(events: Iterable<AGUIEvent>): Message[];
export function foldEvents(events: AsyncIterable<AGUIEvent>): Promise<Message[]>;
export function foldEvents(
  events: AsyncIterable<AGUIEvent> | Iterable<AGUIEvent>,
): Message[] | Promise<Message[]> {
  if (typeof events === 'object' && events !== null) {
    if (Symbol.asyncIterator in events) return foldStream(events);
    if (Symbol.iterator in events) return foldList(events);
  }
  throw new MillraceError('invalid_argument', 'foldEvents() takes an iterable of events.');
}

function foldList(events: Iterable<AGUIEvent>): Message[] {
  const folder = new (addon().Folder)();
  let batch: AGUIEvent[] = [];
  for (const event of events) {
    batch.push(event);
    if (batch.length < batchSize) continue;
    feed(folder, batch);
    batch = [];
  }
  feed(folder, batch);
  return messagesOf(folder);
}

async function foldStream(events: AsyncIterable<AGUIEvent>): Promise<Message[]> {
  const folder = new (addon().Folder)();
  let batch: AGUIEvent[] = [];
  for await (const event of events) {
    batch.push(event);
    if (events instanceof EventStream) batch.push(...events.loaded());
    if (batch.length < batchSize) continue;
    feed(folder, batch);
    batch = [];
  }
  feed(folder, batch);
  return messagesOf(folder);
}

function feed(folder: NativeFolder, batch: readonly AGUIEvent[]): void {
  try {
    folder.feed(JSON.stringify(batch));
  } catch (error) {
    rethrow(error);
  }
}

function messagesOf(folder: NativeFolder): Message[] {
  return JSON.parse(folder.messages()) as Message[];
}
