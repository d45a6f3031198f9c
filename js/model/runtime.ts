// ModelRuntime: one provider's models behind the interface that all providers share.
import { neverSent, onAbort, throwIfAborted } from '../abort';
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
import type { ProviderName } from '../../types/providers';
import { MillraceError } from '../errors';
import { randomUUID } from '../node-crypto';
import { kindOf, shown } from '../shown';
import { checkTimeouts, chooseFetch } from '../transport/choose';
import { checkValues, isRecord } from '../value-checks';
import { startCall } from './call';
import { CallItems } from './call-items';
import { Capabilities } from './capabilities';
import { checkCallOptions, checkFallback } from './call-options';
import { type CallHost, callTexts, linkOf, type Own, withDemo } from './call-texts';
import { CallbackDriver } from './callbacks';
import { imageByChat, imageChatModel } from './chat-images';
import { chatResponse } from './chat-response';
import { completionOf } from './completion';
import type { ListedModel } from './listed-models';
import { mockedFetch } from './mock';
import type { ObjectHost, ObjectRun } from './object';
import { generateObject, streamObject } from './object';
import { checkPayload } from './payload';
import { ModelRun } from './run';
import {
  type ChatOptions,
  checkHooks,
  defaultReplayBufferSize,
  hookNames,
  type Fallback,
  type ModelRuntimeOptions,
  type StreamOptions,
} from './runtime-options';
import type { ProviderSettings } from './settings';
import { checkOptionNames, checkSettings, engineSettings } from './settings';

/** The models of one provider. Safe to be used for many calls at a time. */
export class ModelRuntime {
  readonly provider: string;
  readonly #settings: ProviderSettings;
  readonly #own: Pick<ModelRuntimeOptions, Own>;
  #capabilities: Capabilities | undefined;

  /** `owner` is named in errors about the options. */
  constructor(
    provider: ProviderName,
    options: ModelRuntimeOptions = {},
    owner = 'createModelRuntime',
  ) {
    if (typeof provider !== 'string' || typeof options !== 'object' || options === null) {
      throw new MillraceError(
        'invalid_argument',
        `createModelRuntime() takes a provider's id and an object of options, not ${shown(provider)} and ${kindOf(options)}.`,
      );
    }
    const {
      fetch,
      transport,
      origin,
      fallback,
      providers,
      handlePayload,
      handleError,
      handleStream,
      handleRetry,
      ...settings
    } = options;
    this.#own = {
      fetch,
      transport,
      origin,
      fallback,
      providers,
      ...(handlePayload ? { handlePayload } : {}),
      ...(handleError ? { handleError } : {}),
      ...(handleStream ? { handleStream } : {}),
      ...(handleRetry ? { handleRetry } : {}),
    };
    checkHooks(this.#own);
    checkOptionNames(owner, options);
    checkFallback(owner, fallback);
    checkValues(owner, { providers }, { providers: ['an object of settings', isSettings] });
    checkTimeouts(owner, settings.timeouts);
    this.#settings = withDemo(provider, settings);
    this.provider = checkSettings(provider, this.#settings);
    for (const one of fallback ?? []) linkOf(this.#host, one);
  }

  /**
   * The settings of this runtime's calls as the engine reads them, the first and its fallbacks: for
   * agents, which ask models inside the engine.
   * @internal
   */
  chain(model: string, fallback?: readonly Fallback[]): object[] {
    if (this.#hasHooks()) {
      throw new MillraceError(
        'invalid_option',
        'An agent calls its model inside the engine, without the hooks of its runtime: ' +
          `${hookNames.join(', ')}. Use AgentRuntime with this runtime as its modelRuntime.`,
      );
    }
    return [
      { ...engineSettings(this.provider, this.#settings), model },
      ...(fallback ?? this.#own.fallback ?? []).map((one) => linkOf(this.#host, one)),
    ];
  }

  /**
   * The function that the calls of an agent are sent through now; undefined for the engine.
   * @internal
   */
  sender(owner: string): typeof fetch | undefined {
    return chooseFetch(owner, this.#own);
  }

  /**
   * Whether its options say how calls are sent.
   * @internal
   */
  get choosesSender(): boolean {
    return (this.#own.fetch ?? this.#own.transport) !== undefined;
  }

  /**
   * The function that everything besides chats is sent through; undefined for the engine.
   * @internal
   */
  protected capabilitySender(): typeof fetch | undefined {
    return chooseFetch('createModelRuntime', this.#own);
  }

  get baseURL(): string | undefined {
    return this.#settings.baseURL;
  }

  /**
   * Asks for an answer as a standard Response. Resolves when a provider took the call; rejects with a
   * MillraceError when none did. What fails later is told in the stream.
   */
  async chat(payload: ChatStreamPayload, options: ChatOptions = {}): Promise<Response> {
    checkPayload(payload);
    checkCallOptions('chat()', options);
    throwIfAborted(options.signal);
    if (payload.responseMode === 'json') return this.#completion(payload, options);
    const protocol = options.protocol ?? 'ag-ui';
    if (protocol !== 'ag-ui' && protocol !== 'lobe') {
      throw new MillraceError(
        'invalid_option',
        `protocol must be 'ag-ui' or 'lobe', not ${shown(protocol)}.`,
      );
    }
    const { callback } = options;
    const withEvents = callback !== undefined || this.#hasHooks();
    const callbacks = callback && new CallbackDriver(callback);
    const texts = callTexts(this.#host, payload, options, {
      protocol: protocol === 'lobe' ? 'lobe' : 'ag_ui',
      withEvents,
      keepAliveMs: options.keepAliveMs,
    });
    const call = startCall(texts, this.#sender('chat', payload));
    const items = withEvents ? new CallItems(call, payload, this.#own) : undefined;
    return chatResponse({
      call,
      items,
      callbacks,
      signal: options.signal,
      headers: options.headers,
    });
  }

  /** Asks for an answer as a run that can be read in many ways. The request is sent at once. */
  stream(payload: ChatStreamPayload, options: StreamOptions = {}): ModelRun {
    checkPayload(payload);
    return this.#run(payload, options, this.#own);
  }

  #run(payload: ChatStreamPayload, options: StreamOptions, own: CallHost['own']): ModelRun {
    const ids = {
      threadId: options.threadId ?? randomUUID(),
      runId: options.runId ?? randomUUID(),
    };
    checkCallOptions('stream()', options);
    const { signal } = options;
    const texts = callTexts(
      { ...this.#host, own },
      payload,
      { ...options, ...ids },
      { protocol: 'events' },
    );
    const sender = signal?.aborted ? neverSent : this.#sender('stream', payload);
    const call = startCall(texts, sender);
    const stop = (): void => call.stop();
    if (signal?.aborted) stop();
    return new ModelRun({
      ...ids,
      items: new CallItems(call, payload, this.#own),
      stop,
      abortReason: () => (signal?.aborted ? { value: signal.reason as unknown } : undefined),
      done: onAbort(signal, stop),
      leave: () => call.cancel(),
      replayBufferSize: options.replayBufferSize ?? defaultReplayBufferSize,
    });
  }

  /** The provider's models, with what it tells of them. */
  async models(options?: CapabilityOptions): Promise<ProviderModel[]> {
    return this.#others().models(options);
  }

  /**
   * The models with all that their endpoint says of each.
   * @internal
   */
  protected async listedModels(options?: CapabilityOptions): Promise<ListedModel[]> {
    return this.#others().listedModels(options);
  }

  /** One vector for each text, in their order. */
  async embeddings(payload: EmbeddingsPayload, options?: CapabilityOptions): Promise<number[][]> {
    return this.#others().embeddings(payload, options);
  }

  /** An image; a model named `...:image` makes it in a chat. */
  async createImage(payload: ImagePayload, options?: CapabilityOptions): Promise<ImageResult> {
    const model = imageChatModel(payload);
    if (model !== undefined) {
      return imageByChat((chat, call) => this.stream(chat, call), model, payload, options);
    }
    return this.#others().createImage(payload, options);
  }

  /** The audio of a spoken text. */
  async textToSpeech(payload: SpeechPayload, options?: CapabilityOptions): Promise<ArrayBuffer> {
    return this.#others().textToSpeech(payload, options);
  }

  /** Has the provider fetch a model (Ollama): its progress as NDJSON. */
  async pullModel(payload: PullPayload, options?: CapabilityOptions): Promise<Response> {
    return this.#others().pullModel(payload, options);
  }

  /**
   * Asks for a value that follows a schema; without a schema, for the calls of `tools`:
   * `[{ name, arguments }]`.
   */
  async generateObject<Schema extends StandardSchema>(
    request: ValidatedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): Promise<OutputOf<Schema>>;
  async generateObject<const Schema extends ObjectJsonSchema>(
    request: DescribedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): Promise<ValueOf<Schema>>;
  async generateObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): Promise<T>;
  async generateObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): Promise<T> {
    checkPayload(request);
    return (await generateObject(this.#objectHost(), request, options)) as T;
  }

  /** The same, shown while it arrives. */
  streamObject<Schema extends StandardSchema>(
    request: ValidatedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): ObjectRun<OutputOf<Schema>>;
  streamObject<const Schema extends ObjectJsonSchema>(
    request: DescribedRequest<Schema>,
    options?: GenerateObjectOptions,
  ): ObjectRun<ValueOf<Schema>>;
  streamObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): ObjectRun<T>;
  streamObject<T = unknown>(
    request: GenerateObjectRequest,
    options?: GenerateObjectOptions,
  ): ObjectRun<T> {
    checkPayload(request);
    return streamObject<T>(this.#objectHost(), request, options);
  }

  #others(): Capabilities {
    this.#capabilities ??= new Capabilities({
      settings: engineSettings(this.provider, this.#settings),
      send: this.capabilitySender(),
      handleRetry: this.#own.handleRetry,
    });
    return this.#capabilities;
  }

  #objectHost(): ObjectHost {
    return {
      settings: engineSettings(this.provider, this.#settings),
      stream: (payload, options) => this.stream(payload as ChatStreamPayload, options),
    };
  }

  async #completion(payload: ChatStreamPayload, options: ChatOptions): Promise<Response> {
    const { callback, headers = {} } = options;
    const callbacks = callback && new CallbackDriver(callback);
    const run = this.#run(payload, options, this.#own);
    const completion = await completionOf(run, callbacks, options.signal);
    return Response.json(completion, { headers });
  }

  #sender(caller: string, payload: ChatStreamPayload): typeof fetch | undefined {
    return payload.mockResponse === true ? mockedFetch(payload) : chooseFetch(caller, this.#own);
  }

  get #host(): CallHost {
    return { provider: this.provider, settings: this.#settings, own: this.#own };
  }

  #hasHooks(): boolean {
    return hookNames.some((name) => this.#own[name] !== undefined);
  }
}

/** A runtime for a provider of the table; docs/providers.md lists them. */
export function createModelRuntime(
  provider: ProviderName,
  options: ModelRuntimeOptions = {},
): ModelRuntime {
  return new ModelRuntime(provider, options);
}

function isSettings(providers: unknown): boolean {
  return (
    isRecord(providers) &&
    Object.values(providers).every((one) => one === undefined || isRecord(one))
  );
}
