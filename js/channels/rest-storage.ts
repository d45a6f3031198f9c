// restStorage: threads kept by a REST service.
import type { ChatStorage, MessageFormat, Thread, ThreadStorage } from '../../types/channels';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { identityMessageFormat, toApiJson } from '../formats';
import type { Transport, TransportOptions } from '../transport/choose';
import { chooseTransport } from '../transport/choose';
import { messageOf } from '../transport/said';
import { checkHeaders } from '../value-checks';
import { checkFormat, withContentType } from './fetch-llm';

export interface RestStorageOptions extends TransportOptions {
  /** Where the service is; a trailing slash does not matter. */
  baseUrl: string;
  /** The shape of stored messages; default canonical. */
  messageFormat?: MessageFormat | undefined;
  headers?: Record<string, string> | undefined;
}

export interface RestStorage extends ChatStorage {
  thread: Required<ThreadStorage>;
}

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
  checkOptions(options);
  const { messageFormat: format = identityMessageFormat } = options;
  const base = options.baseUrl.replace(/\/+$/, '');
  const call = caller(chooseTransport('restStorage', 'baseUrl', base, options), options.headers);
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
        const body = messagesBody(format, [firstMessage]);
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
        await finish(await call('PATCH', url, messagesBody(format, [message])));
      },
    },
  };
}

function messagesBody(format: MessageFormat, list: Message[]): string {
  const messages = toApiJson(format, list);
  return messages === undefined ? '{}' : `{"messages":${messages}}`;
}

interface Answer {
  response: Response;
  request: string;
}

type Call = (method: string, url: string, body?: string) => Promise<Answer>;

function caller(transport: Transport, given: Record<string, string> = {}): Call {
  return async (method, url, body) => {
    const headers = body === undefined ? { ...given } : withContentType(given);
    const response = await transport(url, {
      method: method === 'GET' ? undefined : method,
      headers,
      body,
    });
    if (response.ok) return { response, request: `${method} ${url}` };
    throw await failure(`${method} ${url}`, response);
  };
}

const idOf = (one: { id: string } | undefined): unknown => one?.id;

// '.' and '..' would be path segments of their own, however they are written.
function segment(argument: string, id: unknown): string {
  // A service may count its threads.
  const isId = typeof id === 'string' ? id !== '' : Number.isFinite(id) || typeof id === 'bigint';
  if (isId && id !== '.' && id !== '..') {
    return encodeURIComponent(Buffer.from(String(id)).toString());
  }
  const given = typeof id === 'string' ? `'${id}'` : id === null ? 'null' : typeof id;
  throw new MillraceError(
    'invalid_argument',
    `restStorage: ${argument} must be the id that the service gave, a text or a number; it is ${given}.`,
  );
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

async function failure(request: string, response: Response): Promise<MillraceError> {
  const { status, statusText } = response;
  const text = hasNoText(response) ? '' : await response.text().catch(() => '');
  const said = messageOf(text);
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
  const { baseUrl, messageFormat, headers } = options as Partial<RestStorageOptions>;
  if (typeof baseUrl !== 'string') {
    throw new MillraceError('invalid_option', 'restStorage: baseUrl must be a string.');
  }
  checkFormat('restStorage', messageFormat);
  checkHeaders('restStorage', headers);
}
