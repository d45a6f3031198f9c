// Sends a chat request and hands what its LobeHub chat stream says to callbacks, in Node and in pages.
import type { ChatFinishContext, ChatMessageError, ChatStreamChunk } from '../../types/chat-stream';
import type { ChannelRequest, Transport } from '../transport/request';
import { MillraceError } from '../errors';
import { noListener, throwIfAborted } from '../signal';
import { messageOf } from '../thrown';
import type { Source } from '../transport/body';
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
    | { text?: TextAnimation; /** Characters a second that `smooth` begins with. */ speed?: number }
    | undefined;
  requestContext?: ChatRequestContext | undefined;
  /** The sentence of an HTTP error, by its code or status, in the user's language. */
  errorMessage?: ((type: string | number) => string | undefined) | undefined;
  signal?: AbortSignal | undefined;
}

/** What differs between Node and pages; `Further` are options of the platform's own. */
export interface ChatPlatform<Further> {
  /** Chooses how text bodies are sent; `further` has only members that `names` lists. */
  transport(owner: string, urlOption: string, url: string, further: Further): Transport;
  readonly names: readonly string[];
  /** The records of the answer, as a ChatReader takes them. */
  open(response: Response): Source;
  /** What to call a body that is a gateway's page; undefined for any other. */
  pageIn(body: string): string | undefined;
  /** Calls `listener` once when `signal` aborts; returns what ends that. */
  onAbort(signal: AbortSignal | undefined, listener: () => void): () => void;
}

const defaultSpeed = 10;

/** Sends the request as `platform` does and reads the answer to its end; see fetchSSE. */
export async function fetchChat<Further>(
  platform: ChatPlatform<Further>,
  url: string,
  options: ChatFetchOptions & Further,
): Promise<Response | undefined> {
  checkOptions(url, options);
  return new ChatFetch(platform, url, options).run();
}

class ChatFetch {
  readonly #platform: ChatPlatform<never>;
  readonly #options: ChatFetchOptions;
  readonly #reader: ChatReader;
  readonly #send: () => Promise<Response>;
  readonly #started = performance.now();
  #source: Source | undefined;
  // What a callback threw; it ends the call.
  #thrown: { error: unknown } | undefined;

  constructor(platform: ChatPlatform<never>, url: string, options: ChatFetchOptions) {
    this.#platform = platform;
    this.#options = options;
    const { text, speed } = animationOf(options);
    const target = {
      chunk: (chunk: ChatStreamChunk) => this.#tell(() => options.onMessageHandle?.(chunk)),
      error: (error: ChatMessageError) => this.#tell(() => options.onErrorHandle?.(error)),
    };
    this.#reader = new ChatReader(target, text, speed);
    this.#send = senderOf(platform, url, options);
  }

  async run(): Promise<Response | undefined> {
    let response: Response;
    try {
      response = await this.#answer();
    } catch (error) {
      if (this.#isAborted(error)) await this.#options.onAbort?.('');
      else this.#options.onErrorHandle?.(this.#networkError(error));
      return undefined;
    }
    if (!response.ok) {
      this.#options.onErrorHandle?.(await this.#refusal(response));
      return response;
    }
    const aborted = await this.#read(response);
    this.#reader.flush();
    if (this.#thrown) throw this.#thrown.error;
    await this.#finish(response, aborted);
    return response;
  }

  // The response, or the signal's reason as soon as it aborts.
  async #answer(): Promise<Response> {
    const { signal } = this.#options;
    throwIfAborted(signal);
    const answer = this.#send();
    if (!signal) return answer;
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        reject(signal.reason as Error);
        answer.then(
          (late) => late.body?.cancel().catch(() => undefined),
          () => undefined,
        );
      };
      answer.finally(this.#platform.onAbort(signal, stop)).then(resolve, reject);
    });
  }

  // Reads to the end; true when the call was aborted.
  async #read(response: Response): Promise<boolean> {
    const { signal } = this.#options;
    if (response.body === null) return false;
    let settled = noListener;
    try {
      this.#source = this.#platform.open(response);
      settled = this.#platform.onAbort(signal, () => void this.#source?.cancel(signal?.reason));
      while (!this.#thrown && !signal?.aborted) {
        const output = await this.#source.read();
        if (output === undefined) break;
        if (!signal?.aborted) this.#reader.load(output as string);
      }
      return signal?.aborted ?? false;
    } catch (error) {
      if (this.#isAborted(error)) return true;
      this.#reader.failed();
      this.#reader.flush();
      this.#tell(() => this.#options.onErrorHandle?.(this.#networkError(error)));
      return false;
    } finally {
      settled();
      if (this.#thrown || signal?.aborted) void this.#source?.cancel();
    }
  }

  async #finish(response: Response, aborted: boolean): Promise<void> {
    const { onAbort, onFinish } = this.#options;
    const { output } = this.#reader;
    if (aborted && onAbort) return onAbort(output);
    if (aborted) this.#reader.aborted();
    const context = this.#reader.context();
    context.traceId = response.headers.get('x-lobe-chat-trace-id');
    context.observationId = response.headers.get('x-lobe-observation-id');
    return onFinish?.(output, context);
  }

  #tell(call: () => void): void {
    if (this.#thrown) return;
    try {
      call();
    } catch (error) {
      this.#thrown = { error };
      void this.#source?.cancel(error);
    }
  }

  #isAborted(error: unknown): boolean {
    const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
    // The second is how clients of user interfaces call what their user stopped.
    const isStop = name === 'AbortError' || name === 'CanceledError' || message === 'canceled';
    return (this.#options.signal?.aborted ?? false) || isStop;
  }

  #networkError(error: unknown): ChatMessageError {
    const given = asChatError(error);
    if (given) return given;
    const { name, message } = error instanceof Error ? error : new Error(messageOf(error));
    const code = MillraceError.is(error) ? { code: error.code } : {};
    const elapsedMs = Math.round(performance.now() - this.#started);
    const { navigator } = globalThis as { navigator?: { onLine?: boolean } };
    // Outside of browsers nobody knows better.
    const networkStatus = navigator?.onLine ?? true;
    return {
      type: 'UnknownChatFetchError',
      message,
      body: { ...this.#options.requestContext, name, message, ...code, elapsedMs, networkStatus },
    };
  }

  async #refusal(response: Response): Promise<ChatMessageError> {
    const text = await response.text().catch(() => '');
    const said = jsonOf(text);
    const { type = response.status, body } = partsOf(said);
    const status = `Request failed: ${response.status} ${response.statusText}`.trim();
    // JSON without a sentence is for programs to read.
    const failed = type === response.status ? status : `${status} (${type})`;
    const told = sentenceOf(body) ?? (said === undefined ? text.trim() : '');
    const page = this.#platform.pageIn(told);
    const words = page === undefined ? told : `${failed}, with ${page}`;
    const sentence = this.#options.errorMessage?.(type) ?? words;
    const message = sentence || failed;
    return body === undefined ? { type, message } : { type, message, body };
  }
}

// Undefined for what is no JSON: a proxy's page, for instance.
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

// { errorType, body } of a chat route; members beside an errorType are its body, and so is any other JSON.
function partsOf(said: unknown): { type?: string | number; body?: unknown } {
  if (typeof said !== 'object' || said === null || Array.isArray(said)) {
    return said === undefined || said === null ? {} : { body: said };
  }
  const { errorType, ...rest } = said as Record<string, unknown>;
  if (typeof errorType !== 'string' && typeof errorType !== 'number') {
    return { body: rest['body'] ?? said };
  }
  const body = 'body' in rest ? rest['body'] : rest;
  const isEmpty = body === undefined || body === null || (body === rest && isBare(rest));
  return isEmpty ? { type: errorType } : { type: errorType, body };
}

const isBare = (members: object): boolean => Object.keys(members).length === 0;

// Errors that a fetcher throws in our shape, or in that of a model runtime.
function asChatError(error: unknown): ChatMessageError | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { type, errorType, message, ...rest } = error as Record<string, unknown>;
  const text = typeof message === 'string' ? message : undefined;
  if (typeof errorType === 'string' && errorType !== 'ProviderNetworkError') {
    return { type: errorType, message: text ?? sentenceOf(rest) ?? errorType, body: rest };
  }
  const isType = typeof type === 'string' || typeof type === 'number';
  return isType && text !== undefined ? (error as unknown as ChatMessageError) : undefined;
}

// Where hosts, gateways and frameworks put what went wrong.
const sentenceMembers = [
  ...['message', 'error_description', 'error', 'detail', 'errors', 'msg', 'error_msg', 'reason'],
  ...['title', 'body'],
];

/** The sentence of a body: itself, or the first that its members hold. */
function sentenceOf(body: unknown, depth = 4): string | undefined {
  if (typeof body === 'string') return body === '' ? undefined : body;
  if (typeof body !== 'object' || body === null || depth === 0) return undefined;
  if (Array.isArray(body)) return sentenceOf(body[0], depth - 1);
  for (const name of sentenceMembers) {
    const sentence = sentenceOf((body as Record<string, unknown>)[name], depth - 1);
    if (sentence !== undefined) return sentence;
  }
  return undefined;
}

function animationOf({ responseAnimation: given = {} }: ChatFetchOptions): {
  text: TextAnimation;
  speed: number;
} {
  if (typeof given === 'string') return { text: given, speed: defaultSpeed };
  return { text: given.text ?? 'fadeIn', speed: given.speed ?? defaultSpeed };
}

// Whom the request goes through: the fetcher, the transport of the channels, or, for bodies that only
// the standard knows how to send, the global fetch.
function senderOf(
  platform: ChatPlatform<never>,
  url: string,
  options: ChatFetchOptions,
): () => Promise<Response> {
  const { fetcher, signal, ...rest } = options;
  const isFurther = ([name]: [string, unknown]): boolean => platform.names.includes(name);
  const members = Object.entries(rest);
  const further = Object.fromEntries(members.filter(isFurther));
  const init = requestInit(
    members.filter((member) => !isFurther(member)),
    signal,
  );
  const { body } = init;
  if (fetcher) return async () => fetcher(url, init);
  if (body !== undefined && body !== null && typeof body !== 'string') {
    return async () => fetch(url, init);
  }
  const send = platform.transport('fetchSSE', 'url', url, further as never);
  const request: ChannelRequest = {
    method: init.method,
    headers: Object.fromEntries(new Headers(init.headers)),
    body: body ?? undefined,
    signal,
  };
  return async () => send(url, request);
}

const ours = new Set([
  ...['onMessageHandle', 'onFinish', 'onErrorHandle', 'onAbort'],
  ...['responseAnimation', 'requestContext', 'errorMessage'],
]);

function requestInit(members: [string, unknown][], signal: AbortSignal | undefined): RequestInit {
  const init = Object.fromEntries(members.filter(([name]) => !ours.has(name))) as RequestInit;
  if (signal) init.signal = signal;
  return init;
}

function checkOptions(url: unknown, options: ChatFetchOptions): void {
  const fail = (sentence: string): never => {
    throw new MillraceError('invalid_option', `fetchSSE: ${sentence}`);
  };
  if (typeof url !== 'string' || url === '') fail('the first argument must be a URL.');
  if (typeof options !== 'object' || (options as unknown) === null) fail('takes options.');
  const callbacks = ['onMessageHandle', 'onFinish', 'onErrorHandle', 'onAbort'] as const;
  for (const name of [...callbacks, 'fetcher', 'errorMessage'] as const) {
    const value: unknown = options[name];
    if (value !== undefined && typeof value !== 'function') fail(`${name} must be a function.`);
  }
  const { text, speed } = animationOf(options);
  if (!['none', 'fadeIn', 'smooth'].includes(text)) {
    fail("responseAnimation must be 'none', 'fadeIn' or 'smooth'.");
  }
  if (!Number.isFinite(speed) || speed <= 0) fail('responseAnimation.speed must be above 0.');
}
