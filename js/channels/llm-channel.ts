// The model channel of a chat, over HTTP, for Node and for pages.
import type { ChatLLM, MessageFormat, StreamProtocolAdapter } from '../../types/channels';
import { MillraceError } from '../errors';
import { checkSpelling } from '../known-names';
import { isRecord } from '../plain-values';
import { randomId } from '../random-id';
import { checkSignal } from '../signal';
import { checkHeaders, checkOption } from '../value-checks';
import type { ChannelPlatform } from './platform';
import { identityMessageFormat } from './platform';
import { shown } from '../shown';

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
    `fetchLLM: send() takes { threadId, messages, signal }, where messages is a list, not ${shown(messages)}.`,
  );
}

const names = [
  ...(['url', 'streamAdapter', 'messageFormat', 'headers', 'body'] as const),
  ...(['fetch', 'transport', 'origin', 'timeouts'] as const),
];

function checkOptions(options: unknown): void {
  const owner = 'fetchLLM';
  checkOption(isRecord(options), owner, 'it takes an object of options.');
  checkSpelling(owner, options, names);
  const { url, streamAdapter, messageFormat, body, headers } =
    options as Partial<LLMChannelOptions>;
  checkOption(typeof url === 'string' && url, owner, 'url must be a non-empty string.');
  const { name = '', parse } = (streamAdapter ?? {}) as { name?: string; parse?: unknown };
  checkOption(
    typeof streamAdapter !== 'function',
    owner,
    `streamAdapter is a factory. Call it: streamAdapter: ${name || 'adapter'}().`,
  );
  const sentence = 'streamAdapter must be an adapter, for instance agUIAdapter().';
  checkOption(typeof parse === 'function', owner, sentence);
  checkFormat(owner, messageFormat);
  checkOption(body === undefined || isRecord(body), owner, 'body must be an object.');
  checkHeaders(owner, headers);
}

export function checkFormat(owner: string, format: unknown = identityMessageFormat): void {
  const { toApi, fromApi } = (format ?? {}) as Partial<MessageFormat>;
  const isFormat = typeof toApi === 'function' && typeof fromApi === 'function';
  checkOption(isFormat, owner, 'messageFormat must be an object with toApi and fromApi.');
}

/** The headers with a JSON content type, unless they have one in whatever case. */
export function withContentType(headers: Record<string, string> = {}): Record<string, string> {
  const names = Object.keys(headers).join('\n');
  const given = /^content-type$/im.test(names);
  return given ? { ...headers } : { 'Content-Type': 'application/json', ...headers };
}
