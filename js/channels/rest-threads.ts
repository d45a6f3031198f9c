// Threads kept by a REST service, for Node and for pages.
import type { ChatStorage, MessageFormat, Thread, ThreadStorage } from '../../types/channels';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { messageIn } from '../transport/message-of';
import { checkHeaders } from '../value-checks';
import { checkFormat, withContentType } from './llm-channel';
import type { Transport } from '../transport/request';
import type { ChannelPlatform } from './platform';
import { identityMessageFormat } from './platform';

export interface RestThreadsOptions {
  /** Where the service is; a trailing slash does not matter. */
  baseUrl: string;
  /** The shape of stored messages; default canonical. */
  messageFormat?: MessageFormat | undefined;
  headers?: Record<string, string> | undefined;
}

export interface RestStorage extends ChatStorage {
  thread: Required<ThreadStorage>;
}

/** A storage whose requests go out as `platform` sends them. */
export function restThreads<Further>(
  platform: ChannelPlatform<Further>,
  options: RestThreadsOptions & Further,
): RestStorage {
  checkOptions(options);
  const { messageFormat: format = identityMessageFormat } = options;
  const base = options.baseUrl.replace(/\/+$/, '');
  const transport = platform.transport('restStorage', 'baseUrl', base, options);
  const call = caller(platform, transport, options.headers);
  const bodyOf = (list: Message[]): string => {
    const messages = platform.toApiJson(format, list);
    return messages === undefined ? '{}' : `{"messages":${messages}}`;
  };
  return {
    thread: {
      async listThreads(cursor) {
        const query = cursor ? `?cursor=${encodeURIComponent(cursor)}` : '';
        return (await json(await call('GET', `${base}/get${query}`))) as Promise<{
          threads: Thread[];
          nextCursor?: string;
        }>;
      },
      async createThread(firstMessage) {
        const body = bodyOf([firstMessage]);
        return (await json(await call('POST', `${base}/create`, body))) as Thread;
      },
      async getMessages(threadId) {
        const answer = await call('GET', `${base}/get/${segment('threadId', threadId)}`);
        return format.fromApi(await json(answer));
      },
      async updateThread(thread) {
        const url = `${base}/update/${segment('thread.id', idOf(thread))}`;
        const answer = await call('PATCH', url, JSON.stringify(thread));
        // A service that answers with nothing has taken the thread as it is.
        return ((await json(answer, true)) ?? thread) as Thread;
      },
      async deleteThread(id) {
        const answer = await call('DELETE', `${base}/delete/${segment('id', id)}`);
        await finish(answer);
      },
      async updateMessage(threadId, message) {
        const place = `${segment('threadId', threadId)}/${segment('message.id', idOf(message))}`;
        const url = `${base}/messages/${place}`;
        await finish(await call('PATCH', url, bodyOf([message])));
      },
    },
  };
}

interface Answer {
  response: Response;
  request: string;
}

type Call = (method: string, url: string, body?: string) => Promise<Answer>;

type PageIn = ChannelPlatform<never>['pageIn'];

function caller(
  { pageIn }: { pageIn: PageIn },
  transport: Transport,
  given: Record<string, string> = {},
): Call {
  return async (method, url, body) => {
    const headers = body === undefined ? { ...given } : withContentType(given);
    const response = await transport(url, {
      method: method === 'GET' ? undefined : method,
      headers,
      body,
    });
    if (response.ok) return { response, request: `${method} ${url}` };
    throw await failure(`${method} ${url}`, response, pageIn);
  };
}

const idOf = (one: { id: string } | undefined): unknown => one?.id;

// '.' and '..' would be path segments of their own, however they are written.
function segment(argument: string, id: unknown): string {
  // A service may count its threads.
  const isId = typeof id === 'string' ? id !== '' : Number.isFinite(id) || typeof id === 'bigint';
  if (isId && id !== '.' && id !== '..') {
    return encodeURIComponent(wellFormed(String(id)));
  }
  const given = typeof id === 'string' ? `'${id}'` : id === null ? 'null' : typeof id;
  throw new MillraceError(
    'invalid_argument',
    `restStorage: ${argument} must be the id that the service gave, a text or a number; it is ${given}.`,
  );
}

// Halves of surrogate pairs are replaced, as in all text that is sent.
function wellFormed(text: string): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new TextEncoder().encode(text));
}

// True for what stands in for a Response in tests with json() alone, or less.
function hasNoText(response: Partial<Response>): boolean {
  return typeof response.text !== 'function';
}

// Reads to the end, so that the connection can be used again.
async function finish({ response }: Answer): Promise<void> {
  if (!hasNoText(response)) await response.text();
}

async function json({ response, request }: Answer, mayBeEmpty = false): Promise<unknown> {
  if (hasNoText(response)) return response.json();
  const text = await response.text();
  if (mayBeEmpty && text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new MillraceError('invalid_json', `restStorage: ${request} did not answer with JSON.`, {
      status: response.status,
      cause,
    });
  }
}

// Statuses after which the same request may succeed.
const retryable = new Set([408, 425, 429, 500, 502, 503, 504]);

async function failure(
  request: string,
  response: Response,
  pageIn: PageIn,
): Promise<MillraceError> {
  const { status, statusText } = response;
  const text = hasNoText(response) ? '' : await response.text().catch(() => '');
  const said = messageIn(text, pageIn);
  const sentence = `restStorage: ${request} failed: ${status} ${statusText}`;
  return new MillraceError('provider_error', said ? `${sentence}: ${said}` : sentence, {
    status,
    retryable: retryable.has(status),
    detail: said,
  });
}

function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new MillraceError('invalid_option', 'restStorage() takes an object of options.');
  }
  const { baseUrl, messageFormat, headers } = options as Partial<RestThreadsOptions>;
  if (typeof baseUrl !== 'string') {
    throw new MillraceError('invalid_option', 'restStorage: baseUrl must be a string.');
  }
  checkFormat('restStorage', messageFormat);
  checkHeaders('restStorage', headers);
}
