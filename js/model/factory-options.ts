// What the factories of runtimes are given: the options, and the hooks on the way of a call.
import type {
  CapabilityOptions,
  ImagePayload,
  ImageResult,
  ProviderModel,
} from '../../types/capabilities';
import type { AGUIEvent } from '../../types/events';
import type { ChatStreamPayload, ModelHooks } from '../../types/model';
import type { GenerateObjectOptions, GenerateObjectRequest } from '../../types/objects';
import type { CostOptions } from '../../types/usage';
import type { ContextPreFlight, DebugOptions, MediaOptions } from './factory-hooks';
import type { ListedModel } from './listed-models';
import type { ModelRuntimeOptions } from './runtime-options';

export type PayloadHook = NonNullable<ModelHooks['handlePayload']>;
export type PricingHook = (payload: ChatStreamPayload) => CostOptions | undefined;
type ErrorHook = NonNullable<ModelHooks['handleError']>;

/** User code on the way of each call, see ModelHooks. */
export interface FactoryHooks {
  /** Changes the body of each request; nothing leaves it as it is. */
  handlePayload?: PayloadHook | undefined;
  handleError?: ErrorHook | undefined;
  /** Changes the events of the answer, in batches. */
  handleStream?: ((events: AGUIEvent[]) => unknown) | undefined;
}

/** What a function of the factory's user is told of the runtime that it works for. */
export interface FactoryInstance {
  apiKey: string;
  baseURL: string;
  /** Asks with the vendor's client, where `customClient` made one. */
  client?: unknown;
}

/** The chunks of an answer as the vendor's stream holds them. */
export type Chunks = AsyncIterable<unknown> | Iterable<unknown> | ReadableStream<unknown>;

/** What a client gives: chunks, a response, or the answer in one piece, as for `stream: false`. */
export type Given = Chunks | Response | object;

export interface CustomClient {
  /** Makes the client of a runtime. */
  createClient: (options: ModelRuntimeOptions & FactoryInstance) => unknown;
  /**
   * Sends a chat, with the body that the vendor's API would have got; absent, `fetch` sends it. Everything
   * else goes by HTTP: the lists of models, embeddings, images, speech, and what fallbacks of other
   * vendors are asked.
   */
  createChatCompletionStream?:
    | ((
        client: unknown,
        body: Record<string, unknown>,
        call: FactoryInstance & { signal?: AbortSignal },
      ) => Given | Promise<Given>)
    | undefined;
}

/** A model as its vendor's code describes it; without `type` it is one for chats. */
export type GivenModel = Omit<ProviderModel, 'type'> & { type?: ProviderModel['type'] | undefined };

/** What the options of both factories share. */
export interface FactoryOptions {
  /** The id of the vendor, as it stands in errors and usage. */
  provider: string;
  /** Default of the runtime's own option. */
  baseURL?: string | undefined;
  /** Default of the runtime's own option; a placeholder for servers that need none. */
  apiKey?: string | undefined;
  constructorOptions?:
    | {
        defaultHeaders?: Record<string, string> | undefined;
        defaultQuery?: Record<string, string> | undefined;
        /** Milliseconds until the first byte of an answer. */
        timeout?: number | undefined;
        maxRetries?: number | undefined;
      }
    | undefined;
  /** What this vendor's two commonest errors are called: their `errorType`. */
  errorType?: { bizError?: string; invalidAPIKey?: string } | undefined;
  /** Environment variables of the key. */
  keyNames?: readonly string[] | undefined;
  /** The vendor's own client instead of HTTP. */
  customClient?: CustomClient | undefined;
  /**
   * The models of the vendor, or what becomes of each that its endpoint lists, with the members that the
   * endpoint gave it beside our own; undefined drops it. Absent, the list of a vendor with OpenAI's API lacks models with names of embeddings, speech and the like.
   */
  models?:
    | ((
        instance: FactoryInstance,
        options: CapabilityOptions,
      ) => GivenModel[] | Promise<GivenModel[]>)
    | { transformModel: (model: ListedModel) => GivenModel | undefined }
    | undefined;
}

/** Hooks on the requests of generateObject. */
export interface ObjectHooks {
  /** Changes the JSON Schema. */
  handleSchema?: ((schema: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Changes the payload of the chat that asks for the object. */
  handlePayload?: ((payload: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Ask for the arguments of a tool instead of an answer in a schema. */
  useToolsCalling?: boolean | undefined;
  /** Ask by the Responses API. */
  useResponse?: boolean | undefined;
  useResponseModels?: readonly (string | RegExp)[] | undefined;
}

export interface OpenAICompatibleOptions extends FactoryOptions {
  baseURL: string;
  chatCompletion?:
    | (FactoryHooks &
        MediaOptions & {
          /** The vendor refuses `stream_options`. */
          excludeUsage?: boolean | undefined;
          /** The vendor refuses `user`. */
          noUserId?: boolean | undefined;
          /** Default true; false refuses conversations with sounds before they are sent. */
          supportsAudioInput?: boolean | undefined;
          /** Ask by the Responses API unless the payload says otherwise. */
          useResponse?: boolean | undefined;
          /** Models to ask by the Responses API: part of the name, or a pattern. */
          useResponseModels?: readonly (string | RegExp)[] | undefined;
          /** What an error inside an answer is called; undefined leaves it. */
          handleStreamBizErrorType?:
            ((error: { message: string; name: string }) => string | undefined) | undefined;
          /** Makes the chunks of a stream of an answer that came in one piece. */
          handleTransformResponseToStream?: ((answer: unknown) => Chunks) | undefined;
          /** Refuses conversations that are too long before they are sent. */
          contextPreFlight?: ContextPreFlight | undefined;
        })
    | undefined;
  responses?: { handlePayload?: PayloadHook | undefined } | undefined;
  generateObject?: ObjectHooks | undefined;
  createImage?:
    | ((
        payload: ImagePayload,
        instance: FactoryInstance,
        options: CapabilityOptions,
      ) => ImageResult | Promise<ImageResult>)
    | undefined;
  /** Tells standard error what is sent. */
  debug?: DebugOptions | undefined;
}

export interface AnthropicCompatibleOptions extends FactoryOptions {
  baseURL: string;
  chatCompletion?:
    | (FactoryHooks & {
        /** What prices depend on, such as the time that the payload's cache is kept. */
        getPricingOptions?: PricingHook | undefined;
      })
    | undefined;
  /** Asks for an object in the vendor's own way; `pricing` is what `getPricingOptions` says of the request. */
  generateObject?:
    | ((
        instance: FactoryInstance,
        request: GenerateObjectRequest,
        options: GenerateObjectOptions,
        pricing: CostOptions | undefined,
      ) => unknown)
    | undefined;
  debug?: DebugOptions | undefined;
}
