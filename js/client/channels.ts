// fetchLLM, restStorage and fetchSSE of pages.
import type { ChatLLM, StreamProtocolAdapter } from '../../types/channels';
import type { LLMChannelOptions } from '../channels/llm-channel';
import { llmChannel } from '../channels/llm-channel';
import type { RestStorage, RestThreadsOptions } from '../channels/rest-threads';
import { restThreads } from '../channels/rest-threads';
import { htmlPage } from './html-page';
import type { ChatFetchOptions, ChatPlatform } from '../model/chat-fetch';
import { fetchChat } from '../model/chat-fetch';
import { listen } from '../signal';
import { bodyOf, leaveBody } from '../transport/body';
import { recordsOf } from './page-source';
import type { PageTransportOptions } from './page-transport';
import { pagePlatform, pageTransport } from './page-transport';

export interface FetchLLMOptions<Adapter extends StreamProtocolAdapter = StreamProtocolAdapter>
  extends LLMChannelOptions<Adapter>, PageTransportOptions {}

export interface RestStorageOptions extends RestThreadsOptions, PageTransportOptions {}

type Further = Omit<PageTransportOptions, 'fetch'>;

/** The members of a standard RequestInit, and these. */
export interface FetchSSEOptions extends ChatFetchOptions, Further {}

/**
 * Sends `{ threadId, runId, messages, tools: [], context: [], ...body }` to `url`.
 * send() resolves with the Response whatever its status.
 */
export function fetchLLM<Adapter extends StreamProtocolAdapter>(
  options: FetchLLMOptions<Adapter>,
): ChatLLM<Adapter> {
  return llmChannel(pagePlatform, options);
}

/** Threads kept by a REST service; the requests are those of `restStorage` in Node. */
export function restStorage(options: RestStorageOptions): RestStorage {
  return restThreads(pagePlatform, options);
}

const chatPlatform: ChatPlatform<Further> = {
  transport: pageTransport,
  names: ['transport', 'origin', 'timeouts'],
  open(response) {
    const reader = bodyOf(response).getReader();
    return {
      records: recordsOf(reader, true),
      cancel: (reason) => leaveBody(reader, reason),
    };
  },
  pageIn: htmlPage,
  onAbort: listen,
};

/**
 * Sends the request and reads the answer to its end. Resolves with the response, or with undefined
 * when there was none; rejects only with what a callback throws, and for wrong options.
 */
export function fetchSSE(
  url: string,
  options: FetchSSEOptions = {},
): Promise<Response | undefined> {
  return fetchChat(chatPlatform, url, options);
}
