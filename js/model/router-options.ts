// What a router in front of several runtimes is made of.
import type { ProviderModel } from '../../types/capabilities';
import type { RuntimeClass } from './factories';
import type { ModelRuntimeOptions } from './runtime-options';

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

export type Routers =
  | readonly Router[]
  | ((
      options: ModelRuntimeOptions,
      call: { model: string },
    ) => readonly Router[] | Promise<readonly Router[]>);

/** What a function that lists the models of a router is given: the settings of its runtime, and a client. */
export interface RouterListing extends ModelRuntimeOptions {
  /** The settings alone; LobeHub's word. */
  options: ModelRuntimeOptions;
  client: {
    apiKey: string;
    baseURL: string | undefined;
    /** What the provider lists whom the router asks by default. */
    models: { list: () => Promise<{ data: ProviderModel[] }> };
  };
}

export interface RouterOptions {
  id: string;
  /** For channels that have no key of their own. */
  apiKey?: string | undefined;
  routers: Routers;
  /** What `models()` lists. */
  models?:
    | readonly ProviderModel[]
    | ((listing: RouterListing) => ProviderModel[] | Promise<ProviderModel[]>)
    | undefined;
  defaultHeaders?: Record<string, string> | undefined;
  /** True ends the search for a channel with this error; it is instead of the runtime's own judgement. */
  shouldStopFallback?: ((failed: FailedRoute) => boolean | Promise<boolean>) | undefined;
  /** `handleError` gives what chat() rejects with; undefined leaves the error as it is. */
  chatCompletion?: { handleError?: ((error: unknown) => unknown) | undefined } | undefined;
  /** Told of each channel that was asked; what it throws is ignored. */
  onRouteAttempt?: ((attempt: RouteAttempt) => void) | undefined;
}
