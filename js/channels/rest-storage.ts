// restStorage: threads kept by a REST service.
import type { TransportOptions } from '../transport/choose';
import { enginePlatform } from './engine-platform';
import type { RestStorage, RestThreadsOptions } from './rest-threads';
import { restThreads } from './rest-threads';

export type { RestStorage } from './rest-threads';

export interface RestStorageOptions extends RestThreadsOptions, TransportOptions {}

/**
 * | operation | request |
 * | --- | --- |
 * | listThreads(cursor) | GET `/get?cursor=<cursor>` |
 * | createThread(message) | POST `/create` with `{ messages }` |
 * | getMessages(id) | GET `/get/<id>` |
 * | updateThread(thread) | PATCH `/update/<id>` with the thread |
 * | deleteThread(id) | DELETE `/delete/<id>` |
 * | updateMessage(threadId, message) | PATCH `/messages/<threadId>/<id>` with `{ messages }` |
 *
 * An answer outside 200 to 299 rejects with a MillraceError that has its status.
 */
export function restStorage(options: RestStorageOptions): RestStorage {
  return restThreads(enginePlatform, options);
}
