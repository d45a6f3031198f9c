// Threads kept by a REST service, for Node and for pages.
import type {
  ChatStorage,
  MessageFormat,
  Thread,
  ProvidedArtifactStorage,
  ProvidedThreadStorage,
} from '../../types/channels';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { isRecord } from '../plain-values';
import { shown } from '../shown';
import { messageIn } from '../transport/message-of';
import { checkHeaders, checkOption } from '../value-checks';
import { checkFormat, withContentType } from './llm-channel';
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
  thread: Required<ProvidedThreadStorage>;
  artifact?: ProvidedArtifactStorage;
}

const owner = 'restStorage';

/** A storage whose requests go out as `platform` sends them. */
export function restThreads<Further>(
  platform: ChannelPlatform<Further>,
  options: RestThreadsOptions & Further,
): RestStorage {
  checkOptions(options);
  const { messageFormat: format = identityMessageFormat } = options;
  const call = caller(platform, options);
  const bodyOf = (list: Message[]): string => {
    const messages = platform.toApiJson(format, list);
    return messages === undefined ? '{}' : `{"messages":${messages}}`;
  };
  return {
    thread: {
      async listThreads(cursor) {
        const query = cursor ? `?cursor=${encodeURIComponent(cursor)}` : '';
        return (await call('GET', `/get${query}`)) as { threads: Thread[]; nextCursor?: string };
      },
      async createThread(firstMessage) {
        return (await call('POST', '/create', bodyOf([firstMessage]))) as Thread;
      },
      async getMessages(threadId) {
        return format.fromApi(await call('GET', `/get${pathOf({ threadId })}`));
      },
      async updateThread(thread) {
        const path = `/update${pathOf({ 'thread.id': idOf(thread) })}`;
        // A service that answers with nothing has taken the thread as it is.
        return ((await call('PATCH', path, JSON.stringify(thread), 'optional')) ??
          thread) as Thread;
      },
      async deleteThread(id) {
        await call('DELETE', `/delete${pathOf({ id })}`, undefined, 'ignored');
      },
      async updateMessage(threadId, message) {
        const path = `/messages${pathOf({ threadId, 'message.id': idOf(message) })}`;
        await call('PATCH', path, bodyOf([message]), 'ignored');
      },
    },
  };
}

/** Sends a request and gives the JSON of its answer, which may be missing, or be of no interest. */
type Call = (
  method: string,
  path: string,
  body?: string,
  answer?: 'optional' | 'ignored',
) => Promise<unknown>;

function caller<Further>(
  { transport, pageIn }: ChannelPlatform<Further>,
  options: RestThreadsOptions & Further,
): Call {
  const base = options.baseUrl.replace(/\/+$/, '');
  const send = transport(owner, 'baseUrl', base, options);
  const { headers } = options;
  return async (method, path, body, answer) => {
    const url = base + path;
    const request = `${owner}: ${method} ${url}`;
    const response = await send(url, {
      method: method === 'GET' ? undefined : method,
      headers: body === undefined ? { ...headers } : withContentType(headers),
      body,
    });
    const { ok, status } = response;
    // What stands in for a Response in tests may have json() alone, or less.
    const isText = typeof (response as Partial<Response>).text === 'function';
    if (!ok) throw await failure(request, response, isText, pageIn);
    if (!isText) return answer === 'ignored' ? undefined : response.json();
    // Read to the end, so that the connection can be used again.
    const text = await response.text();
    if (answer === 'ignored' || (answer && text.trim() === '')) return undefined;
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      const details = { status, cause };
      throw new MillraceError('invalid_json', `The answer to ${request} is not JSON.`, details);
    }
  };
}

const idOf = (one: { id: string } | undefined): unknown => one?.id;

// Ids by the names of their arguments as segments of a path. '.' and '..' would be others, however they are written.
function pathOf(ids: Record<string, unknown>): string {
  return Object.entries(ids).reduce((path, [argument, id]) => {
    // A service may count its threads.
    const isId = typeof id === 'string' ? id : Number.isFinite(id) || typeof id === 'bigint';
    // Halves of surrogate pairs are replaced, as in all text that is sent.
    const text = String(id).replace(/\p{Surrogate}/gu, '\ufffd');
    if (isId && text !== '.' && text !== '..') return `${path}/${encodeURIComponent(text)}`;
    throw new MillraceError(
      'invalid_argument',
      `${owner}: ${argument} must be the id that the service gave, not ${shown(id)}.`,
    );
  }, '');
}

// Statuses after which the same request may succeed.
const retryable = [408, 425, 429, 500, 502, 503, 504];

async function failure(
  request: string,
  response: Response,
  isText: boolean,
  pageIn: ChannelPlatform<never>['pageIn'],
): Promise<MillraceError> {
  const { status, statusText } = response;
  const detail = isText ? messageIn(await response.text().catch(() => ''), pageIn) : undefined;
  const sentence = `${request} failed: ${status} ${statusText}${detail ? `: ${detail}` : ''}`;
  const details = { status, retryable: retryable.includes(status), detail };
  return new MillraceError('provider_error', sentence, details);
}

function checkOptions(options: unknown): void {
  checkOption(isRecord(options), owner, 'it takes an object of options.');
  const { baseUrl, messageFormat, headers } = options as Partial<RestThreadsOptions>;
  checkOption(typeof baseUrl === 'string', owner, 'baseUrl must be a string.');
  checkFormat(owner, messageFormat);
  checkHeaders(owner, headers);
}
