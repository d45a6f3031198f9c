// Runtimes for vendors that are not in the table, from a few options.
import type {
  CapabilityOptions,
  ImagePayload,
  ImageResult,
  ProviderModel,
} from '../../types/capabilities';
import type { ErrorType } from '../../types/errors';
import type { AttemptError, ChatStreamPayload, ModelHooks } from '../../types/model';
import type { GenerateObjectOptions, GenerateObjectRequest } from '../../types/objects';
import { errorTypes } from '../error-types';
import type { TransportOptions } from '../transport/choose';
import { chooseFetch } from '../transport/choose';
import { withSender } from './custom-client';
import { checkAnthropicFactory, checkOpenAIFactory } from './factory-checks';
import type { ContextPreFlight } from './factory-hooks';
import { tooLongFor, withDebug, withMedia } from './factory-hooks';
import type {
  AnthropicCompatibleOptions,
  Chunks,
  FactoryHooks,
  FactoryInstance,
  FactoryOptions,
  GivenModel,
  ObjectHooks,
  OpenAICompatibleOptions,
  PricingHook,
} from './factory-options';
import type { FactoryRuntimeOptions, VendorRow } from './factory-settings';
import { checkKey, instanceOf, settingsOf } from './factory-settings';
import type { ListedModel } from './listed-models';
import type { ObjectChanges, ObjectRun } from './object';
import { fits } from './patterns';
import { checkPayload, isPayloadMember } from './payload';
import type { ModelRun } from './run';
import type {
  CallOptions,
  ChatOptions,
  ModelRuntimeOptions,
  StreamOptions,
} from './runtime-options';
import { ModelRuntime } from './runtime';
import { canonicalName } from './settings';

/** A class of runtimes for one vendor. */
export type RuntimeClass = new (options?: FactoryRuntimeOptions) => ModelRuntime;

/** A runtime class for a vendor with OpenAI's chat completions. */
export function openaiCompatibleFactory(options: OpenAICompatibleOptions): RuntimeClass {
  checkOpenAIFactory(options);
  const { chatCompletion: chat = {}, generateObject: object } = options;
  const { useResponse = false, useResponseModels = [] } = chat;
  const ofObjects = object?.useResponse === true || object?.useResponseModels !== undefined;
  const quirks = {
    prompt_cache_key: true,
    no_stream_options: chat.excludeUsage ?? false,
    no_user: chat.noUserId ?? false,
    no_audio: chat.supportsAudioInput === false,
    // A call may ask for it wherever the vendor's options do not say that there is none.
    responses_api: chat.useResponse !== false || useResponseModels.length > 0 || ofObjects,
  };
  // The user's word comes first, but never asks a model by an API that it has not got.
  const apiMode: Plan['apiMode'] = ({ apiMode: wanted, model }, baseURL) => {
    if (!quirks.responses_api) return wanted;
    if (wanted === 'responses') {
      const any = useResponseModels.length === 0 || ofObjects;
      return any || matches(useResponseModels, model) ? 'responses' : 'chatCompletion';
    }
    const byResponses = useResponse || matches(useResponseModels, model);
    if (wanted !== undefined || byResponses) return wanted ?? 'responses';
    // The engine knows such an address to be one of Anthropic's API.
    return baseURL.endsWith('/anthropic') ? undefined : 'chatCompletion';
  };
  return runtimeClass(options, {
    row: { dialect: 'openai_chat', auth: 'bearer', quirks },
    hooks: openaiHooks(options),
    apiMode,
    preFlight: chat.contextPreFlight,
    objectRequest: object && ((request) => objectRequest(object, request)),
    toStream: chat.handleTransformResponseToStream,
    createImage: options.createImage,
    onlyChats: true,
  });
}

/** A runtime class for a vendor with Anthropic's Messages. */
export function anthropicCompatibleFactory(options: AnthropicCompatibleOptions): RuntimeClass {
  checkAnthropicFactory(options);
  const { chatCompletion = {}, debug } = options;
  return runtimeClass(options, {
    row: { dialect: 'anthropic', auth: 'x_api_key', quirks: {} },
    hooks: ownOnly(options.provider, withDebug(options.provider, debug, hooksOf(chatCompletion))),
    apiMode: ({ apiMode }) => apiMode,
    pricing: chatCompletion.getPricingOptions,
    generateObject: options.generateObject,
  });
}

/** What the two factories differ in. */
interface Plan {
  row: VendorRow;
  hooks: ModelHooks;
  apiMode: (payload: ChatStreamPayload, baseURL: string) => string | undefined;
  pricing?: PricingHook | undefined;
  preFlight?: ContextPreFlight | undefined;
  objectRequest?: ((request: GenerateObjectRequest) => ObjectRequested) | undefined;
  generateObject?: AnthropicCompatibleOptions['generateObject'];
  toStream?: ((answer: unknown) => Chunks) | undefined;
  createImage?: OpenAICompatibleOptions['createImage'];
  /** Leaves models that have names of other models than chats' out of the list. */
  onlyChats?: boolean | undefined;
}

// Source: LobeHub's model runtime (the default list of its factory).
const otherModels = /embedding|davinci|curie|moderation|ada|babbage|tts|whisper|dall-e/i;

function matches(patterns: readonly (string | RegExp)[], model: string): boolean {
  return patterns.some((one) => (typeof one === 'string' ? model.includes(one) : fits(one, model)));
}

function openaiHooks(options: OpenAICompatibleOptions): ModelHooks {
  const { chatCompletion: chat = {}, responses, debug, provider } = options;
  const hooks = hooksOf(chat);
  const { handlePayload, handleError } = hooks;
  const ofResponses = responses?.handlePayload;
  if (handlePayload ?? ofResponses) {
    hooks.handlePayload = (body, call) =>
      ('input' in body ? ofResponses : handlePayload)?.(body, call);
  }
  const errorType = chat.handleStreamBizErrorType;
  if (errorType) {
    hooks.handleError = async (error, call) => {
      const reported: unknown = await handleError?.(error, call);
      if (reported !== undefined && reported !== null) return reported;
      if (!isInAnswer(error)) return undefined;
      const type = errorType({ message: error.message, name: error.code });
      return type === undefined ? undefined : { errorType: type };
    };
  }
  return ownOnly(provider, withDebug(provider, debug, withMedia(chat, hooks)));
}

// What failed on the way to the answer, or cut it, is no word of the vendor.
const notVendors = new Set<ErrorType>([
  'ProviderNetworkError',
  'StreamChunkError',
  'AgentRuntimeError',
]);

// The code of a record may be a status as well; a status beside anything else is that of a rejected request.
function isInAnswer({ code, status, detail, error }: AttemptError): boolean {
  if (status !== undefined && detail !== String(status)) return false;
  return error !== undefined || !notVendors.has(errorTypes[code]);
}

// A vendor's hooks know its own requests and errors, not those of a fallback elsewhere.
function ownOnly(provider: string, hooks: ModelHooks): ModelHooks {
  const { handlePayload, handleError } = hooks;
  // Looked up in a call: to make a factory loads no addon.
  const isOwn = (name: string): boolean => canonicalName(name) === canonicalName(provider);
  const own = { ...hooks };
  if (handlePayload) {
    own.handlePayload = (body, call) =>
      isOwn(call.provider) ? handlePayload(body, call) : undefined;
  }
  if (handleError) {
    own.handleError = (error, call) =>
      isOwn(call.provider) ? handleError(error, call) : undefined;
  }
  return own;
}

// What the payload of an object becomes, and the vendor's own members of it.
interface ObjectRequested {
  request: GenerateObjectRequest;
  call: ObjectChanges & { extraBody?: Record<string, unknown> };
}

function objectRequest(hooks: ObjectHooks, request: GenerateObjectRequest): ObjectRequested {
  const { handleSchema, handlePayload, useToolsCalling, useResponse, useResponseModels } = hooks;
  let next = { ...request };
  const call = handleSchema ? { changeSchema: handleSchema } : {};
  if (useToolsCalling === true) next.mode ??= 'tool';
  if (useResponse === true || matches(useResponseModels ?? [], request.model)) {
    next['apiMode'] ??= 'responses';
  }
  if (!handlePayload) return { request: next, call };
  const { schema, ...payload } = next;
  const changed = handlePayload(payload);
  next = { ...changed, schema } as GenerateObjectRequest;
  const added = Object.entries(changed).filter(([name]) => !isPayloadMember(name));
  return { request: next, call: { ...call, extraBody: Object.fromEntries(added) } };
}

// What the factory decides is its vendor's alone: a fallback's own API is not asked otherwise for it.
function withPlan<T extends CallOptions>(
  plan: Plan,
  payload: ChatStreamPayload,
  { baseURL }: FactoryInstance,
  call?: T,
): [ChatStreamPayload, T | undefined] {
  const pricingContext = call?.pricingContext ?? plan.pricing?.(payload);
  const { apiMode: wanted, ...rest } = payload;
  const apiMode = plan.apiMode(payload, baseURL);
  const tooLong = tooLongFor(plan.preFlight, payload);
  const own = {
    ...(pricingContext === undefined ? {} : { pricingContext }),
    ...(apiMode === wanted ? {} : { apiMode }),
    ...(tooLong === undefined ? {} : { tooLong }),
  };
  const isSame = Object.keys(own).length === 0;
  return [apiMode === wanted ? payload : rest, isSame ? call : ({ ...call, ...own } as T)];
}

function requestedObject(
  plan: Plan,
  request: GenerateObjectRequest,
  call?: GenerateObjectOptions,
): [GenerateObjectRequest, GenerateObjectOptions] {
  const own = plan.objectRequest?.(request) ?? { request, call: {} };
  return [own.request, { ...call, ...own.call }];
}

/** A runtime whose client, where it has one, is for chats alone. */
class RuntimeOfFactory extends ModelRuntime {
  readonly #transport: TransportOptions;

  constructor(provider: string, options: ModelRuntimeOptions, transport: TransportOptions) {
    super(provider, options);
    this.#transport = transport;
  }

  protected override capabilitySender(): typeof fetch | undefined {
    return chooseFetch(this.provider, this.#transport);
  }
}

function runtimeClass(options: FactoryOptions, plan: Plan): RuntimeClass {
  return class extends RuntimeOfFactory {
    readonly #instance: FactoryInstance;

    constructor(given: FactoryRuntimeOptions = {}) {
      const settings = settingsOf(options, plan.row, given);
      checkKey(options, settings);
      const instance = instanceOf(settings);
      if (options.customClient) {
        instance.client = options.customClient.createClient({ ...settings, ...instance });
      }
      const { customClient: custom } = options;
      const chats = withSender(settings, custom, plan.toStream, instance, plan.row.dialect);
      super(options.provider, { ...plan.hooks, ...chats }, settings);
      this.#instance = instance;
    }

    override async chat(payload: ChatStreamPayload, call?: ChatOptions): Promise<Response> {
      checkPayload(payload);
      return super.chat(...withPlan(plan, payload, this.#instance, call));
    }

    override stream(payload: ChatStreamPayload, call?: StreamOptions): ModelRun {
      checkPayload(payload);
      return super.stream(...withPlan(plan, payload, this.#instance, call));
    }

    override async models(call: CapabilityOptions = {}): Promise<ProviderModel[]> {
      const { models } = options;
      if (typeof models === 'function') {
        return (await models(this.#instance, call)).map(withType);
      }
      if (models) return changedBy(models.transformModel, await this.listedModels(call));
      const all = await super.models(call);
      return plan.onlyChats ? all.filter(({ id }) => !otherModels.test(id)) : all;
    }

    override async createImage(
      payload: ImagePayload,
      call: CapabilityOptions = {},
    ): Promise<ImageResult> {
      if (plan.createImage) return plan.createImage(payload, this.#instance, call);
      return super.createImage(payload, call);
    }

    override async generateObject<T = unknown>(
      request: GenerateObjectRequest,
      call: GenerateObjectOptions = {},
    ): Promise<T> {
      checkPayload(request);
      if (plan.generateObject) {
        const pricing = plan.pricing?.(request);
        return (await plan.generateObject(this.#instance, request, call, pricing)) as T;
      }
      return super.generateObject<T>(...requestedObject(plan, request, call));
    }

    override streamObject<T = unknown>(
      request: GenerateObjectRequest,
      call?: GenerateObjectOptions,
    ): ObjectRun<T> {
      checkPayload(request);
      return super.streamObject<T>(...requestedObject(plan, request, call));
    }
  };
}

// A card of a vendor's own may say nothing of what the model is for.
function withType(model: GivenModel): ProviderModel {
  return model.type === undefined ? { ...model, type: 'chat' } : (model as ProviderModel);
}

function changedBy(
  transform: (model: ListedModel) => GivenModel | undefined,
  models: readonly ListedModel[],
): ProviderModel[] {
  const changed = models.map((model) => transform(model));
  return changed.filter((model) => model !== undefined).map(withType);
}

// A hook that the user did not give stays absent: it would cost a turn of the JavaScript thread.
function hooksOf({ handlePayload, handleStream, handleError }: FactoryHooks): ModelHooks {
  return {
    ...(handlePayload ? { handlePayload } : {}),
    ...(handleStream ? { handleStream } : {}),
    ...(handleError ? { handleError } : {}),
  };
}
