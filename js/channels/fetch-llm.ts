// fetchLLM: the model channel of a chat, over HTTP.
import { randomUUID } from 'node:crypto';

import type { ChatLLM, MessageFormat, StreamProtocolAdapter } from '../../types/channels';
import type { Message } from '../../types/messages';
import { checkSignal } from '../abort';
import { MillraceError } from '../errors';
import { checkHeaders } from '../value-checks';
import { checkSpelling } from '../known-names';
import { identityMessageFormat, toApiJson } from '../formats';
import type { TransportOptions } from '../transport/choose';
import { chooseTransport } from '../transport/choose';

export interface FetchLLMOptions<
  Adapter extends StreamProtocolAdapter = StreamProtocolAdapter,
> extends TransportOptions {
  /** Where the messages go: POST. */
  url: string;
  /** Reads the answer, for instance `agUIAdapter()`. */
  streamAdapter: Adapter;
  /** The shape of `messages` in the request; default canonical. */
  messageFormat?: MessageFormat | undefined;
  headers?: Record<string, string> | undefined;
  /** Further members of the request, for instance `model`. */
  body?: Record<string, unknown> | undefined;
}

/**
 * Sends `{ threadId, runId, messages, tools: [], context: [], ...body }` to `url`.
 * send() resolves with the Response whatever its status.
 */
export function fetchLLM<Adapter extends StreamProtocolAdapter>(
  options: FetchLLMOptions<Adapter>,
): ChatLLM<Adapter> {
  checkOptions(options);
  const { url, streamAdapter, messageFormat = identityMessageFormat, body } = options;
  const headers = withContentType(options.headers);
  const transport = chooseTransport('fetchLLM', 'url', url, options);
  return {
    async send(params) {
      const { threadId, messages, signal } = checkParams(params);
      return transport(url, {
        method: 'POST',
        headers,
        body: requestBody(body, threadId, messageFormat, messages),
        signal,
      });
    },
    streamProtocol: streamAdapter,
  };
}

// Members of `body` come first and cannot replace ours. The messages are written as text at once
// where the format allows it.
function requestBody(
  extra: Record<string, unknown> | undefined,
  threadId: string,
  format: MessageFormat,
  messages: Message[],
): string {
  const head = JSON.stringify({
    ...extra,
    tools: [],
    context: [],
    threadId,
    runId: randomUUID(),
    messages: undefined,
  });
  const text = toApiJson(format, messages);
  return text === undefined ? head : `${head.slice(0, -1)},"messages":${text}}`;
}

type Params = Parameters<ChatLLM['send']>[0];

function checkParams(params: unknown): Params {
  const { signal, messages } = (params ?? {}) as Partial<Params>;
  checkSignal('fetchLLM: send()', signal);
  if (typeof params === 'object' && Array.isArray(messages)) return params as Params;
  throw new MillraceError(
    'invalid_argument',
    'fetchLLM: send() takes { threadId, messages, signal }, and messages is a list.',
  );
}

const names: readonly (keyof FetchLLMOptions)[] = [
  ...(['url', 'streamAdapter', 'messageFormat', 'headers', 'body'] as const),
  ...(['fetch', 'transport', 'origin', 'timeouts'] as const),
];

function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new MillraceError('invalid_option', 'fetchLLM() takes an object of options.');
  }
  checkSpelling('fetchLLM', options, names);
  const { url, streamAdapter, messageFormat, body } = options as Partial<FetchLLMOptions>;
  if (typeof url !== 'string' || url === '') {
    throw new MillraceError('invalid_option', 'fetchLLM: url must be a string that is not empty.');
  }
  if (typeof streamAdapter === 'function') {
    const { name } = streamAdapter as { name: string };
    throw new MillraceError(
      'invalid_option',
      `fetchLLM: streamAdapter is a factory. Call it: streamAdapter: ${name || 'adapter'}().`,
    );
  }
  if (typeof streamAdapter?.parse !== 'function') {
    throw new MillraceError(
      'invalid_option',
      'fetchLLM: streamAdapter must be an adapter, for instance agUIAdapter().',
    );
  }
  checkFormat('fetchLLM', messageFormat);
  if (body !== undefined && (typeof body !== 'object' || body === null || Array.isArray(body))) {
    throw new MillraceError('invalid_option', 'fetchLLM: body must be an object.');
  }
  checkHeaders('fetchLLM', (options as FetchLLMOptions).headers);
}

export function checkFormat(owner: string, format: unknown): void {
  if (format === undefined) return;
  const { toApi, fromApi } = (format ?? {}) as Partial<MessageFormat>;
  if (typeof toApi === 'function' && typeof fromApi === 'function') return;
  throw new MillraceError('invalid_option', `${owner}: messageFormat needs toApi and fromApi.`);
}

/** The headers with a JSON content type, unless they have one in whatever case. */
export function withContentType(headers: Record<string, string> = {}): Record<string, string> {
  const given = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return given ? { ...headers } : { 'Content-Type': 'application/json', ...headers };
}
