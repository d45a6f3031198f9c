// createRouterRuntime: one runtime in front of several, chosen by model, with fallback channels.
import type { ChatStreamPayload } from '../../types/model';
import { MillraceError } from '../errors';
import type { RuntimeClass } from './factories';
import type { ModelRun } from './run';
import type { ChatOptions, ModelRuntimeOptions, StreamOptions } from './runtime';
import { ModelRuntime } from './runtime';

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
  error?: unknown;
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
  defaultHeaders?: Record<string, string> | undefined;
  /** True ends the search for a channel with this error. */
  shouldStopFallback?: ((error: unknown) => boolean) | undefined;
  /** Told of each channel that was asked; what it throws is ignored. */
  onRouteAttempt?: ((attempt: RouteAttempt) => void) | undefined;
}

/** A runtime that passes each call on to the channels of a router. */
export interface RouterRuntime {
  chat(payload: ChatStreamPayload, options?: ChatOptions): Promise<Response>;
  /** The channels are asked in turn, and may also follow an answer that broke off. */
  stream(payload: ChatStreamPayload, options?: StreamOptions): Promise<ModelRun>;
}

export type RouterRuntimeClass = new (options?: ModelRuntimeOptions) => RouterRuntime;

// The same request fails at every channel.
const requestErrors = new Set([
  ...['InvalidRequestFormat', 'ExceededContextWindow', 'ExceededToolLimit'],
  ...['CapabilityNotSupported', 'ContentModeration', 'BadRequest', 'UserConfigError'],
]);

/** A runtime class that routes by model. */
export function createRouterRuntime(options: RouterOptions): RouterRuntimeClass {
  if (!Array.isArray(options.routers) && typeof options.routers !== 'function') {
    throw new MillraceError('invalid_option', 'createRouterRuntime: routers must be a list.');
  }
  return class implements RouterRuntime {
    readonly #own: ModelRuntimeOptions;

    constructor(own: ModelRuntimeOptions = {}) {
      this.#own = own;
    }

    async chat(payload: ChatStreamPayload, call: ChatOptions = {}): Promise<Response> {
      const channels = await channelsFor(options, this.#own, payload.model);
      for (const [index, channel] of channels.entries()) {
        const started = performance.now();
        try {
          const response = await channel.open().chat(payload, call);
          tell(options, channel, index, payload.model, started);
          return response;
        } catch (error) {
          tell(options, channel, index, payload.model, started, { error });
          if (index === channels.length - 1 || call.signal?.aborted) throw error;
          if (stops(options, error)) throw error;
        }
      }
      throw noChannel(options.id, payload.model);
    }

    async stream(payload: ChatStreamPayload, call: StreamOptions = {}): Promise<ModelRun> {
      const [first, ...rest] = await channelsFor(options, this.#own, payload.model);
      if (!first) throw noChannel(options.id, payload.model);
      const fallback = rest.map(({ apiType, settings }) => ({
        ...settings,
        provider: apiType,
        model: payload.model,
      }));
      return first.open().stream(payload, { fallback, ...call });
    }
  };
}

interface Channel {
  router: Router;
  apiType: string;
  id: string | undefined;
  settings: ModelRuntimeOptions;
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
  if (!router) throw noChannel(options.id, model);
  const given = Array.isArray(router.options)
    ? (router.options as readonly ChannelOptions[])
    : [router.options as ChannelOptions];
  return given.map(({ apiType = router.apiType, id, ...channel }) => {
    const settings: ModelRuntimeOptions = {
      ...(apiKey === undefined ? {} : { apiKey }),
      ...own,
      ...channel,
      headers: { ...defaultHeaders, ...own.headers, ...channel.headers },
    };
    const open = (): ModelRuntime =>
      router.runtime && apiType === router.apiType
        ? new router.runtime(settings)
        : new ModelRuntime(apiType, settings);
    return { router, apiType, id, settings, open };
  });
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

function stops({ shouldStopFallback }: RouterOptions, error: unknown): boolean {
  if (shouldStopFallback) return shouldStopFallback(error);
  const { errorType } = (error ?? {}) as { errorType?: unknown };
  return typeof errorType === 'string' && requestErrors.has(errorType);
}

function tell(
  { id, onRouteAttempt }: RouterOptions,
  { router, apiType, id: channelId }: Channel,
  channelIndex: number,
  model: string,
  started: number,
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
  );
}
