// foldEvents of pages.
import type { AGUIEvent } from '../../types/events';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { Folder } from './folder';

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
  const folder = new Folder();
  const given = Object(events) as object;
  if (Symbol.asyncIterator in given) return foldStream(folder, given as AsyncIterable<AGUIEvent>);
  if (typeof events !== 'object' || !(Symbol.iterator in given)) {
    throw new MillraceError('invalid_argument', 'foldEvents() takes an iterable of events.');
  }
  for (const event of events as Iterable<AGUIEvent>) folder.feed(event);
  return folder.messages();
}

async function foldStream(folder: Folder, events: AsyncIterable<AGUIEvent>): Promise<Message[]> {
  for await (const event of events) folder.feed(event);
  return folder.messages();
}
