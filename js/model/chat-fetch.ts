// Sends a chat request and hands what its LobeHub chat stream says to callbacks, in Node and in pages.
import type { ChatFinishContext, ChatMessageError, ChatStreamChunk } from '../../types/chat-stream';
import { MillraceError } from '../errors';
import { filled, isRecord, jsonOf } from '../plain-values';
import { noListener, throwIfAborted } from '../signal';
import { messageOf } from '../thrown';
import type { Transport } from '../transport/request';
import { checkOption } from '../value-checks';
import { ChatReader } from './chat-reader';
import type { TextAnimation } from './text-channel';

type MaybePromise = void | Promise<void>;

/** What the request was about; it stands in the body of network errors. */
export interface ChatRequestContext {
  apiMode?: string | undefined;
  fetchOnClient?: boolean | undefined;
  model?: string | undefined;
  provider?: string | undefined;
}

/** The members of a standard RequestInit, and these. */
export interface ChatFetchOptions extends Omit<RequestInit, 'signal'> {
  /** Answers instead of the network. */
  fetcher?: typeof fetch | undefined;
  onMessageHandle?: ((chunk: ChatStreamChunk) => void) | undefined;
  /** Called once when an answer that was opened ends, unless onAbort was called. */
  onFinish?: ((output: string, context: ChatFinishContext) => MaybePromise) | undefined;
  onErrorHandle?: ((error: ChatMessageError) => void) | undefined;
  /** Called once with the text so far when the signal aborts; nothing is called after it. */
  onAbort?: ((output: string) => MaybePromise) | undefined;
  /** How text comes: `none` at once, `fadeIn` (default) every 300 ms, `smooth` at a steady speed. */
  responseAnimation?:
    | TextAnimation
    | {
        text?: TextAnimation | undefined;
        /** Calls come as they arrive; with `smooth` or `fadeIn` each chunk says which of them grow. */
        toolsCalling?: TextAnimation | undefined;
        /** Characters a second that `smooth` begins with. */
        speed?: number | undefined;
      }
    | undefined;
  requestContext?: ChatRequestContext | undefined;
  /** The sentence of an HTTP error, by its code or status, in the user's language. */
  errorMessage?: ((type: string | number) => string | undefined) | undefined;
  signal?: AbortSignal | undefined;
}

/** Records of a chat stream, until it is cancelled. */
export interface ChatRecords {
  records: AsyncIterable<{ event: string; data: string }>;
  cancel(reason?: unknown): void;
}

/** What differs between Node and pages; `Further` are options of the platform's own. */
export interface ChatPlatform<Further> {
  /** Chooses how text bodies are sent; `further` has only members that `names` lists. */
  transport(owner: string, urlOption: string, url: string, further: Further): Transport;
  readonly names: readonly string[];
  /** The records of the answer. */
  open(response: Response): ChatRecords;
  /** What to call a body that is a gateway's page; undefined for any other. */
  pageIn: (body: string) => string | undefined;
  /** Calls `listener` once when `signal` aborts; returns what ends that. */
  onAbort: (signal: AbortSignal | undefined, listener: () => void) => () => void;
}

const defaultSpeed = 10;

/** Sends the request as `platform` does and reads the answer to its end; see fetchSSE. */
export async function fetchChat<Further>(
  platform: ChatPlatform<Further>,
  url: string,
  options: ChatFetchOptions & Further,
): Promise<Response | undefined> {
  checkOptions(url, options);
  const began = performance.now();
  const send = senderOf(platform, url, options);
  let response: Response;
  try {
    response = await answerOf(send, platform, options);
  } catch (error) {
    if (isAborted(error, options)) await options.onAbort?.('');
    else options.onErrorHandle?.(networkError(error, began, options));
    return undefined;
  }
  if (response.ok) await readAnswer(response, platform, began, options);
  else options.onErrorHandle?.(await refusal(response, platform, options));
  return response;
}

// The response, or the signal's reason as soon as it aborts.
async function answerOf(
  send: () => Promise<Response>,
  { onAbort }: ChatPlatform<never>,
  { signal }: ChatFetchOptions,
): Promise<Response> {
  throwIfAborted(signal);
  const answer = send();
  if (!signal) return answer;
  return new Promise((resolve, reject) => {
    const settled = onAbort(signal, () => {
      reject(signal.reason as Error);
      answer.then((late) => late.body?.cancel()).catch(noListener);
    });
    answer.finally(settled).then(resolve, reject);
  });
}

async function readAnswer(
  response: Response,
  platform: ChatPlatform<never>,
  began: number,
  options: ChatFetchOptions,
): Promise<void> {
  const { signal } = options;
  let source: ChatRecords | undefined;
  let aborted = false;
  // What a callback threw; it ends the call.
  let thrown: { error: unknown } | undefined;
  const report = (call: () => void): void => {
    try {
      if (!thrown) call();
    } catch (error) {
      thrown = { error };
      source?.cancel(error);
    }
  };
  const target = {
    chunk: (chunk: ChatStreamChunk) => report(() => options.onMessageHandle?.(chunk)),
    error: (error: ChatMessageError) => report(() => options.onErrorHandle?.(error)),
  };
  const reader = new ChatReader(target, ...animationOf(options));
  const isStopped = (): boolean => thrown !== undefined || signal?.aborted === true;
  let settled = noListener;
  try {
    if (response.body !== null) source = platform.open(response);
    settled = platform.onAbort(signal, () => source?.cancel(signal?.reason));
    for await (const { event, data } of source?.records ?? []) {
      if (isStopped()) break;
      reader.take(event, data);
    }
    aborted = source !== undefined && signal?.aborted === true;
  } catch (error) {
    aborted = isAborted(error, options);
    if (!aborted) reader.ended('error');
    reader.flush();
    if (!aborted) target.error(networkError(error, began, options));
  } finally {
    settled();
    if (isStopped()) source?.cancel();
  }
  reader.flush();
  if (thrown) throw thrown.error;
  await finish(response, reader, aborted, options);
}

async function finish(
  { headers }: Response,
  reader: ChatReader,
  aborted: boolean,
  options: ChatFetchOptions,
): Promise<void> {
  if (aborted && options.onAbort) return options.onAbort(reader.output);
  if (aborted) reader.ended('abort');
  const traceId = headers.get('x-lobe-chat-trace-id');
  const observationId = headers.get('x-lobe-observation-id');
  return options.onFinish?.(reader.output, { ...reader.context(), traceId, observationId });
}

function isAborted(error: unknown, { signal }: ChatFetchOptions): boolean {
  const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
  // All but the first are how clients of user interfaces call what their user stopped.
  const isNamed = name === 'AbortError' || name === 'CanceledError';
  const isStop = isNamed || message === 'canceled' || error === 'canceled';
  return signal?.aborted === true || isStop;
}

// --- errors

function networkError(
  error: unknown,
  began: number,
  { requestContext }: ChatFetchOptions,
): ChatMessageError {
  const given = asChatError(error);
  if (given) return given;
  const { name, message } = error instanceof Error ? error : new Error(messageOf(error));
  const code = MillraceError.is(error) ? error.code : undefined;
  const elapsedMs = Math.round(performance.now() - began);
  const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
  // Outside of browsers there is no better answer.
  const networkStatus = navigator?.onLine ?? true;
  const body = {
    ...requestContext,
    name,
    message,
    ...(code && { code }),
    elapsedMs,
    networkStatus,
  };
  return { type: 'UnknownChatFetchError', message, body };
}

async function refusal(
  response: Response,
  { pageIn }: ChatPlatform<never>,
  options: ChatFetchOptions,
): Promise<ChatMessageError> {
  const { status, statusText } = response;
  const text = await response.text().catch(() => '');
  const received = jsonOf(text);
  const { type = status, body } = partsOf(received);
  const line = `Request failed: ${status} ${statusText}`.trim();
  const failed = type === status ? line : `${line} (${type})`;
  // JSON without a sentence is for programs to read.
  const reported = sentenceOf(body) ?? (received === undefined ? text.trim() : '');
  const page = pageIn(reported);
  const words = page === undefined ? reported : `${failed}, with ${page}`;
  const message = (options.errorMessage?.(type) ?? words) || failed;
  return { type, message, ...(body !== undefined && { body }) };
}

// { errorType, body } of a chat route; members beside an errorType are its body, and so is any other JSON.
function partsOf(received: unknown): { type?: string | number | undefined; body?: unknown } {
  if (!isRecord(received)) return { body: received ?? undefined };
  const { errorType, ...rest } = received;
  if (!isType(errorType)) return { body: rest['body'] ?? received };
  return { type: errorType, body: ('body' in rest ? rest['body'] : filled(rest)) ?? undefined };
}

const isType = (type: unknown): type is string | number =>
  typeof type === 'string' || typeof type === 'number';

// Errors that a fetcher throws in our shape, or in that of a model runtime.
function asChatError(error: unknown): ChatMessageError | undefined {
  const { type, errorType, message, ...rest } = Object(error) as Record<string, unknown>;
  const text = typeof message === 'string' ? message : undefined;
  if (typeof errorType === 'string' && errorType !== 'ProviderNetworkError') {
    return { type: errorType, message: text ?? sentenceOf(rest) ?? errorType, body: rest };
  }
  return isType(type) && text !== undefined ? (error as ChatMessageError) : undefined;
}

// Where hosts, gateways and frameworks put what went wrong; 0 is the first of a list.
const sentenceMembers = [
  ...['message', 'error_description', 'error', 'detail', 'errors', 'msg', 'error_msg', 'reason'],
  ...['title', 'body', '0'],
];

/** The sentence of a body: itself, or the first that its members hold. */
function sentenceOf(body: unknown, depth = 4): string | undefined {
  if (typeof body === 'string') return body || undefined;
  for (const name of depth > 0 ? sentenceMembers : []) {
    const sentence = sentenceOf((body as Json | null | undefined)?.[name], depth - 1);
    if (sentence) return sentence;
  }
  return undefined;
}

type Json = Record<string, unknown>;

// --- the request

// Of text, its speed, and whether chunks say which calls grow.
function animationOf({
  responseAnimation: given = {},
}: ChatFetchOptions): [TextAnimation, number, boolean] {
  const animation = typeof given === 'string' ? { text: given } : given;
  const { text = 'fadeIn', toolsCalling = 'none', speed = defaultSpeed } = animation;
  return [text, speed, toolsCalling !== 'none'];
}

const callbacks = ['onMessageHandle', 'onFinish', 'onErrorHandle', 'onAbort', 'errorMessage'];
const ours = [...callbacks, 'responseAnimation', 'requestContext'];

// Whom the request goes through: the fetcher, the transport of the channels, or, for bodies that only
// the standard knows how to send, the global fetch.
function senderOf(
  platform: ChatPlatform<never>,
  url: string,
  { fetcher, signal, ...rest }: ChatFetchOptions,
): () => Promise<Response> {
  const members = (isWanted: (name: string) => boolean): Json =>
    Object.fromEntries(Object.entries(rest).filter(([name]) => isWanted(name)));
  const init: RequestInit = members((name) => ![...ours, ...platform.names].includes(name));
  if (signal) init.signal = signal;
  if (fetcher) return async () => fetcher(url, init);
  const body = init.body ?? undefined;
  if (body !== undefined && typeof body !== 'string') return async () => fetch(url, init);
  const further = members((name) => platform.names.includes(name));
  const send = platform.transport('fetchSSE', 'url', url, further as never);
  const headers = Object.fromEntries(new Headers(init.headers));
  return async () => send(url, { method: init.method, headers, body, signal });
}

function checkOptions(url: unknown, options: unknown): asserts options is ChatFetchOptions {
  const owner = 'fetchSSE';
  checkOption(typeof url === 'string' && url, owner, 'the first argument must be a URL.');
  checkOption(isRecord(options), owner, 'it takes an object of options.');
  for (const name of [...callbacks, 'fetcher']) {
    const isRight = options[name] === undefined || typeof options[name] === 'function';
    checkOption(isRight, owner, `${name} must be a function.`);
  }
  const [text, speed] = animationOf(options);
  const isKnown = ['none', 'fadeIn', 'smooth'].includes(text);
  checkOption(isKnown, owner, "responseAnimation must be 'none', 'fadeIn' or 'smooth'.");
  const isSpeed = Number.isFinite(speed) && speed > 0;
  checkOption(isSpeed, owner, 'responseAnimation.speed must be above 0.');
}
