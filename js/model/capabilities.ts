// What a provider can do besides chats: the engine builds requests and reads answers, its transport (or a
// fetch function) carries them.
import { onAbort, throwIfAborted } from '../abort';
import type {
  CapabilityOptions,
  EmbeddingsPayload,
  ImagePayload,
  ImageResult,
  ProviderModel,
  PullPayload,
  SpeechPayload,
} from '../../types/capabilities';
import type { ModelUsage } from '../../types/chat-stream';
import type { ModelHooks } from '../../types/model';
import type { NativeRequest } from '../addon';
import { addon } from '../addon';
import { MillraceError, errorFromNative } from '../errors';
import { pause } from '../pause';
import { shown } from '../shown';
import type { EngineRequest, Timeouts } from '../transport/engine';
import { engineFetch } from '../transport/engine';
import type { RouteOptions } from '../transport/route';
import { routeOf } from '../transport/route';
import { checkCallOptions } from './call-options';
import { throughFetch } from './capability-fetch';
import { checkPayload, textOf, wrongPayload } from './capability-payload';
import { type ListedModel, listedModels } from './listed-models';

export type Capability = 'models' | 'embeddings' | 'image' | 'speech' | 'pull';

type CapabilitySettings = RouteOptions & {
  provider?: string | undefined;
  errorNames?: Record<string, string> | undefined;
  maxRetries?: number | undefined;
  headers?: Record<string, string> | undefined;
  timeouts?: Timeouts | undefined;
};

/** Whose capabilities they are. */
export interface CapabilityHost {
  /** The settings as the engine reads them. */
  readonly settings: CapabilitySettings;
  /** Sends the requests; undefined: the engine. */
  readonly send: typeof fetch | undefined;
  readonly handleRetry?: ModelHooks['handleRetry'];
}

interface Answer {
  json: string;
  /** As the provider wrote it. */
  body: Uint8Array;
  audio: Buffer | undefined;
  nextPage: string | undefined;
  /** What the vendor's API has no place for, a sentence each. */
  notes: string[];
}

/** One call with its options. */
interface Call extends CapabilityOptions {
  capability: Capability;
  /** The payload, as JSON. */
  text: string;
  /** The settings, with what the call's options change in them. */
  settings: string;
  /** When its time is over, on the clock of `performance.now()`. */
  end: number;
}

const defaultRetries = 2;
const firstWaitMs = 500;
const longestWaitMs = 60_000;
const pollLimitMs = 300_000;
const mostPages = 100;

/** The capabilities of one provider. Safe to be used for many calls at a time. */
export class Capabilities {
  readonly #own: CapabilitySettings;
  readonly #route: RouteOptions;
  readonly #send: typeof fetch | undefined;
  readonly #handleRetry: ModelHooks['handleRetry'];
  #token: { value: string; refreshAt: number } | undefined;
  // Keys are taken in turn.
  #turn = 0;

  constructor({ settings, send, handleRetry }: CapabilityHost) {
    this.#own = settings;
    this.#route = routeOf(settings);
    this.#send = send;
    this.#handleRetry = handleRetry;
  }

  async models(options: CapabilityOptions = {}): Promise<ProviderModel[]> {
    return this.#listed(options, (cards) => cards);
  }

  /** The models with what their endpoint says of each. */
  async listedModels(options: CapabilityOptions = {}): Promise<ListedModel[]> {
    return this.#listed(options, listedModels);
  }

  async #listed<T>(
    options: CapabilityOptions,
    read: (cards: ProviderModel[], body: Uint8Array) => T[],
  ): Promise<T[]> {
    const models: T[] = [];
    let page: string | undefined;
    for (let pages = 0; pages < mostPages; pages += 1) {
      const { json, body, nextPage } = await this.#call('models', { page }, options);
      // Servers that know no pages give the same one again.
      if (nextPage !== undefined && nextPage === page) break;
      models.push(...read(JSON.parse(json) as ProviderModel[], body));
      if (nextPage === undefined) break;
      page = nextPage;
    }
    return models;
  }

  /** One vector for each text, in their order. */
  async embeddings(
    payload: EmbeddingsPayload,
    options: CapabilityOptions = {},
  ): Promise<number[][]> {
    checkPayload('embeddings', payload, 'input');
    const texts = typeof payload.input === 'string' ? [payload.input] : payload.input;
    if (!Array.isArray(texts)) {
      throw wrongPayload(
        'embeddings',
        `\`input\` must be a text or a list of texts, not ${shown(payload.input)}`,
      );
    }
    const size = this.#native((native) =>
      native.textsInOneRequest('embeddings', JSON.stringify(this.#own), textOf(payload)),
    );
    const vectors: number[][] = [];
    const used = { totalInputTokens: 0, totalTokens: 0 };
    let counted = false;
    for (let at = 0; at === 0 || at < texts.length; at += size || texts.length || 1) {
      const input = size === 0 ? texts : texts.slice(at, at + size);
      const { json, notes } = await this.#call('embeddings', { ...payload, input }, options);
      if (at === 0) reportOf(notes, options);
      const part = JSON.parse(json) as { embeddings: number[][]; usage?: typeof used };
      vectors.push(...part.embeddings);
      counted ||= part.usage !== undefined;
      used.totalInputTokens += part.usage?.totalInputTokens ?? 0;
      used.totalTokens += part.usage?.totalTokens ?? 0;
    }
    const usage = counted ? { ...used, source: 'reported' } : { source: 'unknown' };
    options.onUsage?.(usage as ModelUsage);
    return vectors;
  }

  async createImage(payload: ImagePayload, options: CapabilityOptions = {}): Promise<ImageResult> {
    checkPayload('createImage', payload, 'params');
    const { json, notes } = await this.#call('image', payload, options);
    const image = JSON.parse(json) as ImageResult;
    if (notes.length > 0) image.notes = notes;
    reportOf(notes, options);
    const usage = image.modelUsage
      ? { ...image.modelUsage, source: 'reported' }
      : { source: 'unknown' };
    options.onUsage?.(usage as ModelUsage);
    return image;
  }

  /** The audio; its type depends on the provider and on `format`. */
  async textToSpeech(
    payload: SpeechPayload,
    options: CapabilityOptions = {},
  ): Promise<ArrayBuffer> {
    checkPayload('textToSpeech', payload, 'input');
    const { audio, notes } = await this.#call('speech', payload, options);
    reportOf(notes, options);
    const bytes = audio ?? Buffer.alloc(0);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  }

  /** The provider's own progress, NDJSON as it comes. */
  async pullModel(payload: PullPayload, options: CapabilityOptions = {}): Promise<Response> {
    checkPayload('pullModel', payload);
    const call = this.#callOf('pull', payload, options);
    return this.#tried(call, async () => {
      const response = await this.#request(call);
      if (!response.ok) await this.#fail(call, response);
      return response;
    });
  }

  async #call(
    capability: Capability,
    payload: object,
    options: CapabilityOptions,
  ): Promise<Answer> {
    const call = this.#callOf(capability, payload, options);
    return this.#tried(call, () => this.#once(call));
  }

  // Whether an error may pass is the engine's to say, as for chats.
  async #tried<T>(call: Call, work: () => Promise<T>): Promise<T> {
    const retries = call.maxRetries ?? this.#own.maxRetries ?? defaultRetries;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const wait = waitFor(error, attempt);
        const again = MillraceError.is(error) && error.retryable && attempt < retries;
        if (!again || wait >= leftOf(call)) throw error;
        await pause(await this.#reported(error, call, attempt + 1, wait), call.signal, onAbort);
      }
    }
  }

  // The rest of the wait before another attempt, when the hook of the runtime has been told of it.
  async #reported(
    error: MillraceError,
    call: Call,
    attempt: number,
    waitMs: number,
  ): Promise<number> {
    const { code, message, provider = this.#own.provider ?? '' } = error;
    const { model } = JSON.parse(call.text) as { model?: string };
    const given: unknown = await this.#handleRetry?.({
      provider,
      ...(typeof model === 'string' && { model }),
      attempt,
      waitMs,
      error: { ...error, code, message, retry: error.retryAfterMs === undefined ? 'yes' : 'later' },
    });
    const { waitMs: rest } = (given ?? {}) as { waitMs?: unknown };
    return typeof rest === 'number' && rest >= 0 ? rest : waitMs;
  }

  #callOf(capability: Capability, payload: object, options: CapabilityOptions): Call {
    const { timeouts, user } = options;
    checkCallOptions('a call', options);
    const requested = { ...options.headers, ...options.requestHeaders };
    const { headers, timeouts: own } = this.#own;
    const settings = {
      ...this.#own,
      headers: { ...headers, ...requested },
      ...(timeouts ? { timeouts: { ...own, ...timeouts } } : {}),
    };
    const text = textOf(user === undefined ? payload : { user, ...payload });
    const { total = 0 } = { ...own, ...timeouts };
    const end = total > 0 ? performance.now() + total : Infinity;
    return { ...options, capability, text, settings: JSON.stringify(settings), end };
  }

  async #once(call: Call): Promise<Answer> {
    const { capability, settings, text } = call;
    let response = await this.#request(call);
    const end = performance.now() + pollLimitMs;
    let address: string | undefined;
    for (;;) {
      if (!response.ok) await this.#fail(call, response);
      const body = new Uint8Array(await response.arrayBuffer());
      const type = response.headers.get('content-type') ?? '';
      const [json, audio, poll, after, nextPage, notes] = this.#native((native) =>
        native.readCapability(capability, settings, text, type, body),
      );
      // A state without an address is asked for again where it came from.
      address = poll ?? (after > 0 ? address : undefined);
      if (after === 0) return { json, body, audio, nextPage, notes: JSON.parse(notes) as string[] };
      if (address === undefined || performance.now() > end) {
        throw new MillraceError('provider_error', 'The provider did not finish the work in time.', {
          retryable: false,
        });
      }
      if (after >= leftOf(call)) {
        throw new MillraceError('total_timeout', 'The call took longer than the limit.');
      }
      await pause(after, call.signal, onAbort);
      response = await this.#poll(call, address);
    }
  }

  async #request(call: Call): Promise<Response> {
    throwIfAborted(call.signal);
    const credential = await this.#credential(call);
    const request = this.#native((native) =>
      native.buildCapability(call.capability, call.settings, call.text, credential),
    );
    return this.#carry(request, call);
  }

  async #poll(call: Call, url: string): Promise<Response> {
    const credential = await this.#credential(call);
    const request = this.#native((native) =>
      native.buildPoll(call.capability, call.settings, url, credential),
    );
    return this.#carry(request, call);
  }

  // What proves who asks: a key in its turn, or a token that is exchanged first and kept.
  async #credential(call: Call): Promise<string> {
    const { capability, settings, text } = call;
    const key = this.#turn++;
    if (this.#token && Date.now() < this.#token.refreshAt) {
      return JSON.stringify({ key, token: this.#token.value });
    }
    const request = this.#native((native) =>
      native.tokenRequest(capability, settings, text, JSON.stringify({ key })),
    );
    if (!request) return JSON.stringify({ key });
    const response = await this.#carry(request, call);
    const body = await response.text();
    const token = this.#native((native) =>
      native.readToken(capability, settings, body, response.status),
    );
    this.#token = JSON.parse(token) as { value: string; refreshAt: number };
    return JSON.stringify({ key, token: this.#token.value });
  }

  async #carry([json, body]: NativeRequest, call: Call): Promise<Response> {
    const request = JSON.parse(json) as EngineRequest & { limits: { decodedBytes: number } };
    // Earlier requests of the call and their waits count as well.
    const left = leftOf(call);
    if (left < Infinity) request.timeouts = { ...request.timeouts, total: Math.ceil(left) };
    const signal = call.signal ?? undefined;
    try {
      if (!this.#send) return await engineFetch({ ...request, ...this.#route, body, signal });
      return await throughFetch(this.#send, request, body, signal);
    } catch (error) {
      if (!MillraceError.is(error)) throw error;
      return this.#lost(error, call.settings, request.url);
    }
  }

  // The network failed: a server of one's own that is down has a class of its own.
  #lost(error: MillraceError, settings: string, url: string): never {
    const { code, message, cause, ...rest } = error;
    const received = JSON.stringify({ code, message });
    try {
      this.#native((native) => native.networkError(settings, received, url));
    } catch (named) {
      if (!MillraceError.is(named)) throw named;
      const reported = { ...rest, ...named, retryable: error.retryable };
      throw new MillraceError(
        named.code,
        named.message,
        cause === undefined ? reported : { ...reported, cause },
      );
    }
    throw error;
  }

  async #fail({ capability, settings }: Call, response: Response): Promise<never> {
    const { status, url } = response;
    const head = JSON.stringify({ status, url, headers: [...response.headers] });
    const body = new Uint8Array(await response.arrayBuffer());
    return this.#native((native) => native.failCapability(capability, settings, head, body));
  }

  #native<T>(work: (native: ReturnType<typeof addon>) => T): T {
    try {
      return work(addon());
    } catch (error) {
      if (typeof error !== 'string') throw error;
      throw this.#named(errorFromNative(error));
    }
  }

  // As a chat's errors are told.
  #named(error: MillraceError): MillraceError {
    const { code, message, errorType } = error;
    const { provider, errorNames = {} } = this.#own;
    return new MillraceError(code, message, {
      ...error,
      provider,
      errorType: errorNames[errorType] ?? errorType,
    });
  }
}

/** Milliseconds that are left for a call, at least a fraction of one. */
function leftOf({ end }: Call): number {
  return Math.max(end - performance.now(), Number.MIN_VALUE);
}

function reportOf(notes: string[], { onNotes }: CapabilityOptions): void {
  if (notes.length > 0) onNotes?.(notes);
}

function waitFor(error: unknown, attempt: number): number {
  const requested = MillraceError.is(error) ? error.retryAfterMs : undefined;
  const doubled = firstWaitMs * 2 ** attempt * (0.5 + Math.random() / 2);
  return Math.round(Math.min(requested ?? doubled, longestWaitMs));
}
