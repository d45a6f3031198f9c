// Answers of chat completions and Claude in the fewest records, and a provider that fails.
import type { ServerResponse } from 'node:http';

import { bytesOf, recordsOf } from './model-wires';

/** A chat completion that says `text` in its first record. */
export const answer = (text: string): string =>
  bytesOf(recordsOf('chat', { deltas: [text] }).slice(1));

/** The same of Claude, with its tokens. */
export const claude: string = bytesOf(
  recordsOf('messages', { deltas: ['Bonjour'], usage: { input: 1, output: 2 } }),
);

export const messages = [{ role: 'user' as const, content: 'Hi' }];

/** An answer with this status and message. */
export const reject =
  (status: number, message: string) =>
  (response: ServerResponse): void =>
    void response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: { message } }));
