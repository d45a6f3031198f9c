// foldEvents: what a chat looks like after the events, for hosts without a UI library.
import type { AGUIEvent } from '../../types/events';
import type { Message } from '../../types/messages';
import { EventStream } from '../adapters/event-stream';
import { addon } from '../addon';
import { rethrow } from '../errors';

// Events cross to the engine this many at a time.
const batchSize = 256;

/**
 * The messages that an AG-UI client builds from these events, and the provider state that the next
 * request needs. Rejects with what the source throws.
 */
export async function foldEvents(
  events: AsyncIterable<AGUIEvent> | Iterable<AGUIEvent>,
): Promise<Message[]> {
  const folder = new (addon().Folder)();
  let batch: AGUIEvent[] = [];
  const flush = (): void => {
    try {
      folder.feed(JSON.stringify(batch));
    } catch (error) {
      rethrow(error);
    }
    batch = [];
  };
  for await (const event of events) {
    batch.push(event);
    if (events instanceof EventStream) batch.push(...events.loaded());
    if (batch.length >= batchSize) flush();
  }
  flush();
  return JSON.parse(folder.messages()) as Message[];
}
