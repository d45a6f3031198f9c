// What a provider can do besides chats: the engine builds requests and reads answers, its transport (or a
// fetch function) carries them.
import { onAbort } from '../abort';
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
import type { NativeRequest } from '../addon';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import type { EngineRequest } from '../transport/engine';
import { engineFetch } from '../transport/engine';
import type { RouteOptions } from '../transport/route';
import { routeOf } from '../transport/route';

export type Capability = 'models' | 'embeddings' | 'image' | 'speech' | 'pull';

/** Whose capabilities they are. */
export interface CapabilityHost {
  /** The settings as the engine reads them. */
  readonly settings: RouteOptions & { maxRetries?: number | undefined };
  /** Sends the requests; undefined: the engine. */
  readonly send: typeof fetch | undefined;
}

interface Answer {
  json: string;
  audio: Buffer | undefined;
}

const defaultRetries = 2;
const firstWaitMs = 500;
const longestWaitMs = 60_000;
const pollLimitMs = 300_000;

/** The capabilities of one provider. Safe to be used for many calls at a time. */
export class Capabilities {
  readonly #settings: string;
  readonly #route: RouteOptions;
  readonly #retries: number;
  readonly #send: typeof fetch | undefined;
  #token: { value: string; refreshAt: number } | undefined;
  // Keys are taken in turn.
  #turn = 0;

  constructor({ settings, send }: CapabilityHost) {
    this.#settings = JSON.stringify(settings);
    this.#route = routeOf(settings);
    this.#retries = settings.maxRetries ?? defaultRetries;
    this.#send = send;
  }

  async models(options: CapabilityOptions = {}): Promise<ProviderModel[]> {
    const { json } = await this.#call('models', {}, options);
    return JSON.parse(json) as ProviderModel[];
  }

  /** One vector for each text, in their order. */
  async embeddings(
    payload: EmbeddingsPayload,
    options: CapabilityOptions = {},
  ): Promise<number[][]> {
    const texts = typeof payload.input === 'string' ? [payload.input] : [...payload.input];
    const size = this.#native((native) =>
      native.textsInOneRequest('embeddings', this.#settings, JSON.stringify(payload)),
    );
    const vectors: number[][] = [];
    const used = { totalInputTokens: 0, totalTokens: 0 };
    let counted = false;
    for (let at = 0; at === 0 || at < texts.length; at += size || texts.length || 1) {
      const input = size === 0 ? texts : texts.slice(at, at + size);
      const { json } = await this.#call('embeddings', { ...payload, input }, options);
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
    const { json } = await this.#call('image', payload, options);
    const image = JSON.parse(json) as ImageResult;
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
    const { audio } = await this.#call('speech', payload, options);
    const bytes = audio ?? Buffer.alloc(0);
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
  }

  /** The provider's own progress, NDJSON as it comes. */
  async pullModel(payload: PullPayload, options: CapabilityOptions = {}): Promise<Response> {
    const response = await this.#request('pull', JSON.stringify(payload), options);
    if (!response.ok) await this.#fail('pull', response);
    return response;
  }

  async #call(
    capability: Capability,
    payload: object,
    options: CapabilityOptions,
  ): Promise<Answer> {
    const text = textOf(payload);
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#once(capability, text, options);
      } catch (error) {
        const again = MillraceError.is(error) && error.retryable && attempt < this.#retries;
        if (!again) throw error;
        await pause(waitFor(error, attempt), options.signal);
      }
    }
  }

  async #once(capability: Capability, text: string, options: CapabilityOptions): Promise<Answer> {
    let response = await this.#request(capability, text, options);
    const end = Date.now() + pollLimitMs;
    let address: string | undefined;
    for (;;) {
      if (!response.ok) await this.#fail(capability, response);
      const body = new Uint8Array(await response.arrayBuffer());
      const type = response.headers.get('content-type') ?? '';
      const [json, audio, poll, after] = this.#native((native) =>
        native.readCapability(capability, this.#settings, text, type, body),
      );
      // A state without an address is asked for again where it came from.
      address = poll ?? (after > 0 ? address : undefined);
      if (after === 0) return { json, audio };
      if (address === undefined || Date.now() > end) {
        throw new MillraceError('provider_error', 'The provider did not finish the work in time.', {
          retryable: false,
        });
      }
      await pause(after, options.signal);
      response = await this.#poll(capability, address, options);
    }
  }

  async #request(
    capability: Capability,
    text: string,
    options: CapabilityOptions,
  ): Promise<Response> {
    options.signal?.throwIfAborted();
    const credential = await this.#credential(capability, options);
    const request = this.#native((native) =>
      native.buildCapability(capability, this.#settings, text, credential),
    );
    return this.#carry(request, options);
  }

  async #poll(capability: Capability, url: string, options: CapabilityOptions): Promise<Response> {
    const credential = await this.#credential(capability, options);
    const request = this.#native((native) =>
      native.buildPoll(capability, this.#settings, url, credential),
    );
    return this.#carry(request, options);
  }

  // What proves who asks: a key in its turn, or a token that is exchanged first and kept.
  async #credential(capability: Capability, options: CapabilityOptions): Promise<string> {
    const key = this.#turn++;
    if (this.#token && Date.now() < this.#token.refreshAt) {
      return JSON.stringify({ key, token: this.#token.value });
    }
    const request = this.#native((native) =>
      native.tokenRequest(capability, this.#settings, '', JSON.stringify({ key })),
    );
    if (!request) return JSON.stringify({ key });
    const response = await this.#carry(request, options);
    const body = await response.text();
    const token = this.#native((native) =>
      native.readToken(capability, this.#settings, body, response.status),
    );
    this.#token = JSON.parse(token) as { value: string; refreshAt: number };
    return JSON.stringify({ key, token: this.#token.value });
  }

  async #carry([json, body]: NativeRequest, options: CapabilityOptions): Promise<Response> {
    const request = JSON.parse(json) as EngineRequest & { limits: { decodedBytes: number } };
    const signal = options.signal ?? undefined;
    if (!this.#send) return engineFetch({ ...request, ...this.#route, body, signal });
    return throughFetch(this.#send, request, body, signal);
  }

  async #fail(capability: Capability, response: Response): Promise<never> {
    const head = JSON.stringify({ status: response.status, headers: [...response.headers] });
    const body = new Uint8Array(await response.arrayBuffer());
    return this.#native((native) => native.failCapability(capability, this.#settings, head, body));
  }

  #native<T>(work: (native: ReturnType<typeof addon>) => T): T {
    try {
      return work(addon());
    } catch (error) {
      rethrow(error);
    }
  }
}

// Fetch sends a key on to wherever it is redirected, so redirects are not followed.
async function throughFetch(
  send: typeof fetch,
  request: EngineRequest & { limits: { decodedBytes: number } },
  body: Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { total = 0, firstByte = 0, connect = 0 } = request.timeouts ?? {};
  const limit = total || (firstByte ? firstByte + connect : 0);
  const clock = limit ? AbortSignal.timeout(limit) : undefined;
  const signals = [signal, clock].filter((one) => one !== undefined);
  try {
    const response = await send(request.url, {
      method: request.method,
      headers: request.headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    });
    return limited(response, request.limits.decodedBytes);
  } catch (cause) {
    signal?.throwIfAborted();
    const code = clock?.aborted ? 'total_timeout' : 'connect_failed';
    throw new MillraceError(code, 'The request through the given fetch failed.', {
      cause,
      retryable: true,
    });
  }
}

function limited(response: Response, limit: number): Response {
  if (!response.body || limit === 0) return response;
  let size = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size <= limit) controller.enqueue(chunk);
      else controller.error(new MillraceError('response_too_large', 'The answer is too large.'));
    },
  });
  const { status, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, headers });
}

function waitFor(error: unknown, attempt: number): number {
  const asked = MillraceError.is(error) ? error.retryAfterMs : undefined;
  const doubled = firstWaitMs * 2 ** attempt * (0.5 + Math.random() / 2);
  return Math.min(asked ?? doubled, longestWaitMs);
}

function pause(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      settled();
      resolve();
    }, ms);
    const settled = onAbort(signal, stop);
    if (signal?.aborted) stop();
  });
}

function textOf(payload: object): string {
  try {
    return JSON.stringify(payload);
  } catch (cause) {
    throw new MillraceError('invalid_argument', 'The payload must be plain JSON.', { cause });
  }
}
