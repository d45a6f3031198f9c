// createRouterRuntime: one runtime in front of several, chosen by model, with fallback channels.
import type {
  CapabilityOptions,
  EmbeddingsPayload,
  ImagePayload,
  ImageResult,
  ProviderModel,
  PullPayload,
  SpeechPayload,
} from '../../types/capabilities';
import type { ChatStreamPayload } from '../../types/model';
import type {
  GenerateObjectOptions,
  GenerateObjectRequest,
  OutputOf,
  DescribedRequest,
  StandardSchema,
  ValidatedRequest,
} from '../../types/objects';
import type { ObjectJsonSchema, ValueOf } from '../../types/json-schema';
import { checkSignal, onAbort } from '../abort';
import { MillraceError } from '../errors';
import { randomUUID } from '../node-crypto';
import { shown } from '../shown';
import { channelsFor, checkRouter, defaultAddress, noChannel, stops, report } from './channels';
import { checkModel, checkPayload } from './payload';
import type { ObjectReader } from './routed-object';
import { RoutedObjectRun } from './routed-object';
import type { Turn } from './routed-response';
import { routedResponse } from './routed-response';
import type { RoutedChannel } from './routed-run';
import { RoutedItems } from './routed-run';
import type { RouterListing, RouterOptions } from './router-options';
import { ModelRun } from './run';
import type { ModelRuntime } from './runtime';
import type { ChatOptions, ModelRuntimeOptions, StreamOptions } from './runtime-options';
import { defaultReplayBufferSize } from './runtime-options';

/**
 * A runtime that passes each call on to the channels of a router: they are asked in turn until one takes
 * the call, of a stream until one shows something of its answer.
 */
export interface RouterRuntime {
  /** Of the runtime; else of the first channel of the last router, which is the default. */
  readonly baseURL: string | undefined;
  chat(payload: ChatStreamPayload, options?: ChatOptions): Promise<Response>;
  stream(payload: ChatStreamPayload, options?: StreamOptions): ModelRun;
  generateObject<Schema extends StandardSchema>(
    request: ValidatedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): Promise<OutputOf<Schema>>;
  generateObject<const Schema extends ObjectJsonSchema>(
    request: DescribedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): Promise<ValueOf<Schema>>;
  generateObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): Promise<T>;
  /** The same, shown while it arrives; what a channel showed before it failed is followed by the next one's. */
  streamObject<Schema extends StandardSchema>(
    request: ValidatedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): ObjectReader<OutputOf<Schema>>;
  streamObject<const Schema extends ObjectJsonSchema>(
    request: DescribedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): ObjectReader<ValueOf<Schema>>;
  streamObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): ObjectReader<T>;
  /** The option `models`, else what the last router's provider lists. */
  models(options?: CapabilityOptions): Promise<ProviderModel[]>;
  embeddings(payload: EmbeddingsPayload, options?: CapabilityOptions): Promise<number[][]>;
  createImage(payload: ImagePayload, options?: CapabilityOptions): Promise<ImageResult>;
  textToSpeech(payload: SpeechPayload, options?: CapabilityOptions): Promise<ArrayBuffer>;
  pullModel(payload: PullPayload, options?: CapabilityOptions): Promise<Response>;
}

export type RouterRuntimeClass = new (options?: ModelRuntimeOptions) => RouterRuntime;

/** A runtime class that routes by model. */
export function createRouterRuntime(options: RouterOptions): RouterRuntimeClass {
  const { routers, id } = (options ?? {}) as Partial<RouterOptions>;
  if (!Array.isArray(routers) && typeof routers !== 'function') {
    throw new MillraceError(
      'invalid_option',
      `createRouterRuntime: routers must be a list, not ${shown(routers)}.`,
    );
  }
  if (Array.isArray(routers)) routers.forEach(checkRouter);
  if (typeof id !== 'string') {
    throw new MillraceError(
      'invalid_option',
      `createRouterRuntime: id must be a string, not ${shown(id)}.`,
    );
  }
  return class extends Routed {
    constructor(own: ModelRuntimeOptions = {}) {
      super(options, own);
    }
  };
}

class Routed implements RouterRuntime {
  readonly #options: RouterOptions;
  readonly #own: ModelRuntimeOptions;

  constructor(options: RouterOptions, own: ModelRuntimeOptions) {
    this.#options = options;
    this.#own = own;
  }

  get baseURL(): string | undefined {
    return this.#own.baseURL ?? defaultAddress(this.#options.routers);
  }

  async chat(payload: ChatStreamPayload, call: ChatOptions = {}): Promise<Response> {
    checkPayload(payload);
    const { chatCompletion } = this.#options;
    try {
      return await this.#first(payload.model, call, (runtime, turn) =>
        routedResponse((options) => runtime.chat(payload, options), call, turn),
      );
    } catch (error) {
      throw chatCompletion?.handleError?.(error) ?? error;
    }
  }

  stream(payload: ChatStreamPayload, call: StreamOptions = {}): ModelRun {
    checkPayload(payload);
    const { signal, replayBufferSize = defaultReplayBufferSize } = call;
    checkSignal('stream()', signal);
    const ids = { threadId: call.threadId ?? randomUUID(), runId: call.runId ?? randomUUID() };
    const { model } = payload;
    const open = async (): Promise<RoutedChannel[]> =>
      (await channelsFor(this.#options, this.#own, model)).map((channel, index) => {
        let started = performance.now();
        return {
          start: () => {
            started = performance.now();
            return ModelRun.callOf(channel.open().stream(payload, { ...call, ...ids }));
          },
          report: (failed) =>
            report(this.#options, channel, index, { model, started, ...call }, failed),
          stops: (error) => stops(this.#options, { error, model, optionIndex: index }),
        };
      });
    const items = new RoutedItems(open(), signal);
    const stop = (): void => items.stop();
    const heard = onAbort(signal, stop);
    return new ModelRun({
      ...ids,
      items,
      stop,
      abortReason: () => (signal?.aborted ? { value: signal.reason as unknown } : undefined),
      done: () => {
        heard();
        items.done();
      },
      leave: () => items.leave(),
      replayBufferSize,
    });
  }

  async generateObject<T = unknown>(
    request: GenerateObjectRequest,
    call: GenerateObjectOptions = {},
  ): Promise<T> {
    checkPayload(request);
    return this.#first(request.model, call, (runtime) => runtime.generateObject<T>(request, call));
  }

  streamObject<T = unknown>(
    request: GenerateObjectRequest,
    call: GenerateObjectOptions = {},
  ): ObjectReader<T> {
    checkPayload(request);
    return new RoutedObjectRun<T, ModelRuntime>(
      (options, work) => this.#first(request.model, options, work),
      (runtime) => (options) => runtime.streamObject<T>(request, options),
      call,
    );
  }

  async models(call: CapabilityOptions = {}): Promise<ProviderModel[]> {
    const { models } = this.#options;
    if (typeof models === 'function') return models(this.#listing(call));
    if (models) return [...models];
    return this.#first('', call, (runtime) => runtime.models(call));
  }

  #listing(call: CapabilityOptions): RouterListing {
    const options = this.#own;
    const key = options.apiKey ?? this.#options.apiKey ?? '';
    const list = async (): Promise<{ data: ProviderModel[] }> => ({
      data: await this.#first('', call, (runtime) => runtime.models(call)),
    });
    const apiKey = typeof key === 'string' ? key : (key[0] ?? '');
    return { ...options, options, client: { apiKey, baseURL: this.baseURL, models: { list } } };
  }

  embeddings(payload: EmbeddingsPayload, call?: CapabilityOptions): Promise<number[][]> {
    return this.#able(payload, call, (runtime) => runtime.embeddings(payload, call));
  }

  createImage(payload: ImagePayload, call?: CapabilityOptions): Promise<ImageResult> {
    return this.#able(payload, call, (runtime) => runtime.createImage(payload, call));
  }

  textToSpeech(payload: SpeechPayload, call?: CapabilityOptions): Promise<ArrayBuffer> {
    return this.#able(payload, call, (runtime) => runtime.textToSpeech(payload, call));
  }

  pullModel(payload: PullPayload, call?: CapabilityOptions): Promise<Response> {
    return this.#able(payload, call, (runtime) => runtime.pullModel(payload, call));
  }

  async #able<T>(
    payload: { model: string },
    call: CapabilityOptions | undefined,
    work: (runtime: ModelRuntime) => Promise<T>,
  ): Promise<T> {
    checkModel(payload);
    return this.#first(payload.model, call ?? {}, work);
  }

  async #first<T>(
    model: string,
    { signal, metadata }: { signal?: AbortSignal | null | undefined; metadata?: unknown },
    work: (runtime: ModelRuntime, turn: Turn) => Promise<T>,
  ): Promise<T> {
    const channels = await channelsFor(this.#options, this.#own, model);
    for (const [index, channel] of channels.entries()) {
      const requested = { model, started: performance.now(), metadata };
      const reported = (failed?: { error: unknown }): void =>
        report(this.#options, channel, index, requested, failed);
      const turn: Turn = { isLast: index === channels.length - 1 };
      try {
        const answer = await work(channel.open(), turn);
        if (turn.end) void turn.end.then(reported);
        else reported();
        return answer;
      } catch (error) {
        reported(turn.isTaken ? undefined : { error });
        if (turn.isLast || turn.isTaken || signal?.aborted) throw error;
        if (await stops(this.#options, { error, model, optionIndex: index })) throw error;
      }
    }
    throw noChannel(this.#options.id, model);
  }
}
