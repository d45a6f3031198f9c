// fetchSSE: sends a chat request and hands what its LobeHub chat stream says to callbacks.
import { onAbort } from '../abort';
import type { TransportOptions } from '../transport/choose';
import { chooseTransport } from '../transport/choose';
import { pageIn } from '../transport/said';
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
  open: (response) => openSource(response, { kind: 'records', options: {} }),
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
