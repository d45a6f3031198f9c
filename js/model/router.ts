// createRouterRuntime: one runtime in front of several, chosen by model, with fallback channels.
import { randomUUID } from 'node:crypto';

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
  StandardSchema,
  ValidatedRequest,
} from '../../types/objects';
import { checkSignal, onAbort } from '../abort';
import { MillraceError } from '../errors';
import type { RuntimeClass } from './factories';
import { checkModel, checkPayload } from './payload';
import type { ObjectReader } from './routed-object';
import { RoutedObjectRun } from './routed-object';
import type { RoutedChannel } from './routed-run';
import { RoutedItems } from './routed-run';
import { ModelRun } from './run';
import { ModelRuntime } from './runtime';
import type { ChatOptions, ModelRuntimeOptions, StreamOptions } from './runtime-options';
import { defaultKeptSize } from './runtime-options';

/** Settings of one channel; it may be of another kind than its router. */
export interface ChannelOptions extends ModelRuntimeOptions {
  /** A provider of the table. */
  apiType?: string | undefined;
  /** What the channel is called in `onRouteAttempt`. */
  id?: string | undefined;
}

/** Who answers for some models. */
export interface Router {
  id?: string | undefined;
  /** A provider of the table, for instance `openai`, `anthropic` or `google`. */
  apiType: string;
  /** The models it answers for; absent means any. */
  models?: readonly string[] | undefined;
  /** Chosen, whatever the model, when the runtime's base URL matches. */
  baseURLPattern?: RegExp | undefined;
  /** Instead of the provider named by `apiType`. */
  runtime?: RuntimeClass | undefined;
  /** The channels, asked in this order until one takes the call. */
  options: ChannelOptions | readonly ChannelOptions[];
}

/** One channel that was asked. */
export interface RouteAttempt {
  routerId: string;
  apiType: string;
  channelId: string | undefined;
  /** From 0. */
  channelIndex: number;
  model: string;
  success: boolean;
  durationMs: number;
  /** Of the call's options. */
  metadata?: unknown;
  error?: unknown;
}

/** How one channel failed. */
export interface FailedRoute {
  error: unknown;
  model: string;
  /** Which of the router's `options`, from 0. */
  optionIndex: number;
}

type Routers =
  | readonly Router[]
  | ((
      options: ModelRuntimeOptions,
      call: { model: string },
    ) => readonly Router[] | Promise<readonly Router[]>);

export interface RouterOptions {
  id: string;
  /** For channels that have no key of their own. */
  apiKey?: string | undefined;
  routers: Routers;
  /** What `models()` lists. */
  models?:
    | readonly ProviderModel[]
    | ((options: ModelRuntimeOptions) => ProviderModel[] | Promise<ProviderModel[]>)
    | undefined;
  defaultHeaders?: Record<string, string> | undefined;
  /** True ends the search for a channel with this error; it is instead of the runtime's own judgement. */
  shouldStopFallback?: ((failed: FailedRoute) => boolean | Promise<boolean>) | undefined;
  /** `handleError` gives what chat() rejects with; undefined leaves the error as it is. */
  chatCompletion?: { handleError?: ((error: unknown) => unknown) | undefined } | undefined;
  /** Told of each channel that was asked; what it throws is ignored. */
  onRouteAttempt?: ((attempt: RouteAttempt) => void) | undefined;
}

/**
 * A runtime that passes each call on to the channels of a router: they are asked in turn until one takes
 * the call, of a stream until one shows something of its answer.
 */
export interface RouterRuntime {
  readonly baseURL: string | undefined;
  chat(payload: ChatStreamPayload, options?: ChatOptions): Promise<Response>;
  stream(payload: ChatStreamPayload, options?: StreamOptions): ModelRun;
  generateObject<Schema extends StandardSchema>(
    request: ValidatedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): Promise<OutputOf<Schema>>;
  generateObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): Promise<T>;
  /** The same, shown while it arrives; what a channel showed before it failed is followed by the next one's. */
  streamObject<Schema extends StandardSchema>(
    request: ValidatedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): ObjectReader<OutputOf<Schema>>;
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

// The same request fails at every channel.
const requestErrors = new Set([
  ...['InvalidRequestFormat', 'ExceededContextWindow', 'ExceededToolLimit'],
  ...['CapabilityNotSupported', 'ContentModeration', 'BadRequest', 'UserConfigError'],
]);

/** A runtime class that routes by model. */
export function createRouterRuntime(options: RouterOptions): RouterRuntimeClass {
  const { routers, id } = (options ?? {}) as Partial<RouterOptions>;
  if (!Array.isArray(routers) && typeof routers !== 'function') {
    throw new MillraceError('invalid_option', 'createRouterRuntime: routers must be a list.');
  }
  if (typeof id !== 'string') {
    throw new MillraceError('invalid_option', 'createRouterRuntime: id must be a string.');
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
    return this.#own.baseURL;
  }

  async chat(payload: ChatStreamPayload, call: ChatOptions = {}): Promise<Response> {
    checkPayload(payload);
    const { chatCompletion } = this.#options;
    try {
      return await this.#first(payload.model, call, (runtime) => runtime.chat(payload, call));
    } catch (error) {
      throw chatCompletion?.handleError?.(error) ?? error;
    }
  }

  stream(payload: ChatStreamPayload, call: StreamOptions = {}): ModelRun {
    checkPayload(payload);
    const { signal, keptSize = defaultKeptSize } = call;
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
          tell: (failed) =>
            tell(this.#options, channel, index, { model, started, ...call }, failed),
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
      keptSize,
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
    if (typeof models === 'function') return models(this.#own);
    if (models) return [...models];
    return this.#first('', call, (runtime) => runtime.models(call));
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
    work: (runtime: ModelRuntime) => Promise<T>,
  ): Promise<T> {
    const channels = await channelsFor(this.#options, this.#own, model);
    for (const [index, channel] of channels.entries()) {
      const asked = { model, started: performance.now(), metadata };
      try {
        const answer = await work(channel.open());
        tell(this.#options, channel, index, asked);
        return answer;
      } catch (error) {
        tell(this.#options, channel, index, asked, { error });
        if (index === channels.length - 1 || signal?.aborted) throw error;
        if (await stops(this.#options, { error, model, optionIndex: index })) throw error;
      }
    }
    throw noChannel(this.#options.id, model);
  }
}

interface Channel {
  router: Router;
  apiType: string;
  id: string | undefined;
  open(): ModelRuntime;
}

async function channelsFor(
  options: RouterOptions,
  own: ModelRuntimeOptions,
  model: string,
): Promise<Channel[]> {
  const { routers, defaultHeaders, apiKey } = options;
  const list = typeof routers === 'function' ? await routers(own, { model }) : routers;
  const router = chosen(list, own.baseURL, model);
  if (!router) {
    throw new MillraceError('unknown_provider', `The router ${options.id} has no routers.`, {
      provider: options.id,
    });
  }
  const given = Array.isArray(router.options)
    ? (router.options as readonly ChannelOptions[])
    : [router.options as ChannelOptions];
  if (given.length === 0) throw noChannel(options.id, model);
  return given.map(({ apiType = router.apiType, id, ...channel }) => {
    const settings: ModelRuntimeOptions = {
      ...(apiKey === undefined ? {} : { apiKey }),
      ...own,
      ...channel,
      headers: { ...defaultHeaders, ...own.headers, ...channel.headers },
    };
    const open = (): ModelRuntime =>
      router.runtime && apiType === router.apiType
        ? new router.runtime(named(settings, options.id))
        : new ModelRuntime(apiType, settings);
    return { router, apiType, id, open };
  });
}

// A class of the user's own is told whose runtime it is.
function named(settings: ModelRuntimeOptions, id: string): ModelRuntimeOptions {
  return Object.assign({ id }, settings);
}

// The pattern of the base URL first, then the list of models, then the last router.
function chosen(
  routers: readonly Router[],
  baseURL: string | undefined,
  model: string,
): Router | undefined {
  const byURL = routers.find(
    ({ baseURLPattern }) => baseURL !== undefined && baseURLPattern?.test(baseURL),
  );
  return byURL ?? routers.find(({ models }) => models?.includes(model)) ?? routers.at(-1);
}

async function stops({ shouldStopFallback }: RouterOptions, failed: FailedRoute): Promise<boolean> {
  if (shouldStopFallback) return shouldStopFallback(failed);
  const { error } = failed;
  const { errorType, error: said } = (error ?? {}) as { errorType?: unknown; error?: unknown };
  if (typeof errorType !== 'string') return false;
  return requestErrors.has(errorType) || (errorType === 'ProviderBizError' && isRefusal(said));
}

// What a provider says of a request that it refuses for what stands in it.
function isRefusal(said: unknown): boolean {
  const { type, body, message } = (said ?? {}) as {
    type?: unknown;
    body?: { httpStatusCode?: unknown };
    message?: unknown;
  };
  if (type === 'invalid_request_error' && (body?.httpStatusCode ?? 400) === 400) return true;
  return typeof message === 'string' && refusalWords.test(message);
}

// Of runtimes of somebody else, whose errors have no more than a sentence.
const refusalWords =
  /\binvalid schema for\b|\bdoes not support parameter\b|\bunsupported parameter\b/i;

function tell(
  { id, onRouteAttempt }: RouterOptions,
  { router, apiType, id: channelId }: Channel,
  channelIndex: number,
  { model, started, metadata }: { model: string; started: number; metadata?: unknown },
  failed?: { error: unknown },
): void {
  try {
    onRouteAttempt?.({
      routerId: router.id ?? id,
      apiType,
      channelId,
      channelIndex,
      model,
      success: failed === undefined,
      durationMs: Math.round(performance.now() - started),
      ...(metadata === undefined ? {} : { metadata }),
      ...failed,
    });
  } catch {
    // An observer must not change the outcome.
  }
}

function noChannel(id: string, model: string): MillraceError {
  return new MillraceError(
    'no_available_channel',
    `The router ${id} has no channel for '${model}'.`,
    { provider: id },
  );
}
