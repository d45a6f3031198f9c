// The model channel of a chat, over HTTP, for Node and for pages.
import type { ChatLLM, MessageFormat, StreamProtocolAdapter } from '../../types/channels';
import { MillraceError } from '../errors';
import { checkHeaders } from '../value-checks';
import { checkSpelling } from '../known-names';
import { randomId } from '../random-id';
import { checkSignal } from '../signal';
import type { ChannelPlatform } from './platform';
import { identityMessageFormat } from './platform';

export interface LLMChannelOptions<Adapter extends StreamProtocolAdapter = StreamProtocolAdapter> {
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

/** A channel whose requests go out as `platform` sends them. */
export function llmChannel<Adapter extends StreamProtocolAdapter, Further>(
  platform: ChannelPlatform<Further>,
  options: LLMChannelOptions<Adapter> & Further,
): ChatLLM<Adapter> {
  checkOptions(options);
  const { url, streamAdapter, messageFormat = identityMessageFormat, body } = options;
  const headers = withContentType(options.headers);
  const transport = platform.transport('fetchLLM', 'url', url, options);
  return {
    async send(params) {
      const { threadId, messages, signal } = checkParams(params);
      return transport(url, {
        method: 'POST',
        headers,
        body: requestBody(body, threadId, platform.toApiJson(messageFormat, messages)),
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
  messages: string | undefined,
): string {
  const head = JSON.stringify({
    ...extra,
    tools: [],
    context: [],
    threadId,
    runId: randomId(),
    messages: undefined,
  });
  return messages === undefined ? head : `${head.slice(0, -1)},"messages":${messages}}`;
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

const names = [
  ...(['url', 'streamAdapter', 'messageFormat', 'headers', 'body'] as const),
  ...(['fetch', 'transport', 'origin', 'timeouts'] as const),
];

function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new MillraceError('invalid_option', 'fetchLLM() takes an object of options.');
  }
  checkSpelling('fetchLLM', options, names);
  const { url, streamAdapter, messageFormat, body } = options as Partial<LLMChannelOptions>;
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
  checkHeaders('fetchLLM', (options as LLMChannelOptions).headers);
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
