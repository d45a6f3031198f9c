// fetchSSE: sends a chat request and hands what its LobeHub chat stream says to callbacks.
import { onAbort } from '../abort';
import type { TransportOptions } from '../transport/choose';
import { textsOf, throwError } from '../transport/batches';
import { chooseTransport } from '../transport/choose';
import { pageIn } from '../transport/message-in-body';
import type { Source } from '../transport/source';
import { openSource } from '../transport/source';
import type { ChatFetchOptions, ChatPlatform } from './chat-fetch';
import { fetchChat } from './chat-fetch';

export type { ChatRequestContext } from './chat-fetch';

type Further = Omit<TransportOptions, 'fetch'>;

/** The members of a standard RequestInit, and these. */
export interface FetchSSEOptions extends ChatFetchOptions, Further {}

const platform: ChatPlatform<Further> = {
  transport: chooseTransport,
  names: ['transport', 'origin', 'timeouts'],
  open(response) {
    const source = openSource(response, { kind: 'records', options: {} });
    return { records: recordsOf(source), cancel: (reason) => void source.cancel(reason) };
  },
  pageIn,
  onAbort,
};

/**
 * Sends the request and reads the answer to its end. Resolves with the response, or with undefined
 * when there was none; rejects only with what a callback throws, and for wrong options.
 */
export function fetchSSE(
  url: string,
  options: FetchSSEOptions = {},
): Promise<Response | undefined> {
  return fetchChat(platform, url, options);
}

// A text of the pipe is the name, the id and the payload of a record, each but the last ended by a line feed.
async function* recordsOf(source: Source): AsyncGenerator<{ event: string; data: string }, void> {
  for (let output = await source.read(); output !== undefined; output = await source.read()) {
    const texts = textsOf(output);
    for (const [at, text] of texts.entries()) {
      throwError(texts, at);
      const nameEnd = text.indexOf('\n');
      const idEnd = text.indexOf('\n', nameEnd + 1);
      yield { event: text.slice(0, nameEnd), data: text.slice(idEnd + 1) };
    }
  }
}
