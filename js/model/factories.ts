// Runtimes for vendors that are not in the table, from a few options.
import type { AGUIEvent } from '../../types/events';
import type { ChatStreamPayload, ModelHooks } from '../../types/model';
import { MillraceError } from '../errors';
import type { ModelRun } from './run';
import type { ChatOptions, ModelRuntimeOptions, StreamOptions } from './runtime';
import { ModelRuntime } from './runtime';

type PayloadHook = NonNullable<ModelHooks['handlePayload']>;
type ErrorHook = NonNullable<ModelHooks['handleError']>;

/** User code on the way of each call, see ModelHooks. */
export interface FactoryHooks {
  /** Changes the body of each request; nothing leaves it as it is. */
  handlePayload?: PayloadHook | undefined;
  handleError?: ErrorHook | undefined;
  /** Changes the events of the answer, in batches. */
  handleStream?: ((events: AGUIEvent[]) => unknown) | undefined;
}

interface FactoryOptions {
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
  /** What this vendor's two commonest errors are called, as the `errorType` that chat() rejects with. */
  errorType?: { bizError?: string; invalidAPIKey?: string } | undefined;
  /** Environment variables of the key. */
  keyNames?: readonly string[] | undefined;
}

export interface OpenAICompatibleOptions extends FactoryOptions {
  baseURL: string;
  chatCompletion?:
    | (FactoryHooks & {
        /** The vendor refuses `stream_options`. */
        excludeUsage?: boolean | undefined;
        /** The vendor refuses `user`. */
        noUserId?: boolean | undefined;
        /** Ask by the Responses API unless the payload says otherwise. */
        useResponse?: boolean | undefined;
        /** Models to ask by the Responses API: part of the name, or a pattern. */
        useResponseModels?: readonly (string | RegExp)[] | undefined;
      })
    | undefined;
  responses?: { handlePayload?: PayloadHook | undefined } | undefined;
}

export interface AnthropicCompatibleOptions extends FactoryOptions {
  baseURL: string;
  chatCompletion?: FactoryHooks | undefined;
}

/** A class of runtimes for one vendor. */
export type RuntimeClass = new (options?: ModelRuntimeOptions) => ModelRuntime;

/** A runtime class for a vendor that speaks OpenAI's chat completions. */
export function openaiCompatibleFactory(options: OpenAICompatibleOptions): RuntimeClass {
  checkFactory('openaiCompatibleFactory', options);
  const { chatCompletion: chat = {}, responses } = options;
  const { useResponse = false, useResponseModels = [] } = chat;
  const quirks = {
    no_stream_options: chat.excludeUsage ?? false,
    no_user: chat.noUserId ?? false,
    responses_api: useResponse || useResponseModels.length > 0,
  };
  const matches = (model: string): boolean =>
    useResponseModels.some((one) =>
      typeof one === 'string' ? model.includes(one) : one.test(model),
    );
  // The user's word comes first, but never asks a model by an API that it has not got.
  const apiMode = ({ apiMode: wanted, model }: ChatStreamPayload): string | undefined => {
    if (!quirks.responses_api) return wanted;
    if (wanted === 'responses') {
      return useResponseModels.length === 0 || matches(model) ? 'responses' : 'chatCompletion';
    }
    return wanted ?? (useResponse || matches(model) ? 'responses' : 'chatCompletion');
  };
  const hooks = hooksOf(chat);
  const { handlePayload } = hooks;
  const ofResponses = responses?.handlePayload;
  if (handlePayload ?? ofResponses) {
    hooks.handlePayload = (body, call) =>
      ('input' in body ? ofResponses : handlePayload)?.(body, call);
  }
  return runtimeClass(options, { dialect: 'openai_chat', auth: 'bearer', quirks }, hooks, apiMode);
}

/** A runtime class for a vendor that speaks Anthropic's Messages. */
export function anthropicCompatibleFactory(options: AnthropicCompatibleOptions): RuntimeClass {
  checkFactory('anthropicCompatibleFactory', options);
  const hooks = hooksOf(options.chatCompletion ?? {});
  const row = { dialect: 'anthropic', auth: 'x_api_key', quirks: {} };
  return runtimeClass(options, row, hooks, ({ apiMode }) => apiMode);
}

interface Row {
  dialect: string;
  auth: string;
  quirks: Record<string, boolean>;
}

function runtimeClass(
  options: FactoryOptions,
  row: Row,
  hooks: ModelHooks,
  apiMode: (payload: ChatStreamPayload) => string | undefined,
): RuntimeClass {
  const withMode = (payload: ChatStreamPayload): ChatStreamPayload => {
    const mode = apiMode(payload);
    return mode === undefined ? payload : { ...payload, apiMode: mode };
  };
  return class extends ModelRuntime {
    constructor(instance: ModelRuntimeOptions = {}) {
      super(options.provider, { ...hooks, ...settingsOf(options, row, instance) });
    }

    override async chat(payload: ChatStreamPayload, call?: ChatOptions): Promise<Response> {
      try {
        return await super.chat(withMode(payload), call);
      } catch (error) {
        throw rename(error, options.errorType);
      }
    }

    override stream(payload: ChatStreamPayload, call?: StreamOptions): ModelRun {
      return super.stream(withMode(payload), call);
    }
  };
}

function settingsOf(
  options: FactoryOptions,
  row: Row,
  instance: ModelRuntimeOptions,
): ModelRuntimeOptions {
  const { provider, constructorOptions: given = {} } = options;
  const { quirks, ...rest } = row;
  const on = Object.entries(quirks).filter(([, value]) => value);
  const baseURL = instance.baseURL ?? options.baseURL;
  const apiKey = instance.apiKey ?? keyOf(options.keyNames) ?? options.apiKey;
  return {
    ...(given.maxRetries === undefined ? {} : { maxRetries: given.maxRetries }),
    ...(given.timeout === undefined ? {} : { timeouts: { firstByte: given.timeout } }),
    ...(given.defaultQuery === undefined ? {} : { query: given.defaultQuery }),
    ...instance,
    headers: { ...given.defaultHeaders, ...instance.headers },
    quirks: { ...Object.fromEntries(on), ...instance.quirks },
    ...(baseURL === undefined ? {} : { baseURL: baseURL.trim() }),
    ...(apiKey === undefined ? {} : { apiKey: trimmed(apiKey) }),
    custom: { name: provider, ...rest, baseURL: options.baseURL },
  };
}

function keyOf(names: readonly string[] = []): string | undefined {
  return names.map((name) => process.env[name]).find((value) => value?.trim());
}

function trimmed(key: string | readonly string[]): string | readonly string[] {
  return typeof key === 'string' ? key.trim() : key.map((one) => one.trim());
}

// A hook that the user did not give stays absent: it would cost a turn of the JavaScript thread.
function hooksOf({ handlePayload, handleStream, handleError }: FactoryHooks): ModelHooks {
  return {
    ...(handlePayload ? { handlePayload } : {}),
    ...(handleStream ? { handleStream } : {}),
    ...(handleError ? { handleError } : {}),
  };
}

const keyTypes = new Set<string>(['InvalidProviderAPIKey']);
const bizTypes = new Set<string>(['ProviderBizError']);

// The vendor's own names of its two commonest errors.
function rename(error: unknown, names: FactoryOptions['errorType'] = {}): unknown {
  if (!MillraceError.is(error)) return error;
  const { bizError, invalidAPIKey } = names;
  const name = keyTypes.has(error.errorType)
    ? invalidAPIKey
    : bizTypes.has(error.errorType)
      ? bizError
      : undefined;
  if (name !== undefined) Object.defineProperty(error, 'errorType', { value: name });
  return error;
}

function checkFactory(owner: string, options: unknown): void {
  const { provider, baseURL } = (options ?? {}) as { provider?: unknown; baseURL?: unknown };
  for (const [name, value] of Object.entries({ provider, baseURL })) {
    if (typeof value === 'string' && value.trim() !== '') continue;
    throw new MillraceError('invalid_option', `${owner}: ${name} must be a string.`);
  }
}
