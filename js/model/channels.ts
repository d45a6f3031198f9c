// The channels of a router: who is asked, in which order, and when the next one is.
import { MillraceError } from '../errors';
import { fits } from './patterns';
import type { ChannelOptions, FailedRoute, Router, RouterOptions } from './router-options';
import { ModelRuntime } from './runtime';
import type { ModelRuntimeOptions } from './runtime-options';

// The same request fails at every channel.
const requestErrors = new Set([
  ...['InvalidRequestFormat', 'ExceededContextWindow', 'ExceededToolLimit'],
  ...['CapabilityNotSupported', 'ContentModeration', 'BadRequest', 'UserConfigError'],
]);

/** One runtime that a router may ask. */
export interface Channel {
  router: Router;
  apiType: string;
  id: string | undefined;
  open(): ModelRuntime;
}

/** Throws for a router without a channel. */
export function checkRouter(router: unknown): void {
  const { apiType, options } = (router ?? {}) as Partial<Router>;
  if (typeof apiType === 'string' && typeof options === 'object' && options !== null) return;
  const name = typeof apiType === 'string' ? ` '${apiType}'` : '';
  throw new MillraceError(
    'invalid_option',
    `createRouterRuntime: the router${name} needs apiType (a string) and options (an object).`,
  );
}

/** The channels for a model, in the order in which they are asked. */
export async function channelsFor(
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
  checkRouter(router);
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
        : new ModelRuntime(apiType, { temperatureScale: 'lobe', ...settings });
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
    ({ baseURLPattern }) =>
      baseURL !== undefined && baseURLPattern && fits(baseURLPattern, baseURL),
  );
  return byURL ?? routers.find(({ models }) => models?.includes(model)) ?? routers.at(-1);
}

/** Where the default of routers is asked, as far as a list of them says so. */
export function defaultAddress(routers: RouterOptions['routers']): string | undefined {
  if (typeof routers === 'function') return undefined;
  const given = routers.at(-1)?.options;
  const first = Array.isArray(given)
    ? (given as readonly ChannelOptions[])[0]
    : (given as ChannelOptions | undefined);
  return first?.baseURL;
}

/** Whether no other channel is called after an error. */
export async function stops(
  { shouldStopFallback }: RouterOptions,
  failed: FailedRoute,
): Promise<boolean> {
  if (shouldStopFallback) return shouldStopFallback(failed);
  const { error } = failed;
  const { errorType, error: received } = (error ?? {}) as { errorType?: unknown; error?: unknown };
  if (typeof errorType !== 'string') return false;
  return requestErrors.has(errorType) || (errorType === 'ProviderBizError' && isRefusal(received));
}

// What a provider says of a request that it refuses for what stands in it.
function isRefusal(received: unknown): boolean {
  const { type, body, message } = (received ?? {}) as {
    type?: unknown;
    body?: { httpStatusCode?: unknown };
    message?: unknown;
  };
  if (type === 'invalid_request_error' && (body?.httpStatusCode ?? 400) === 400) return true;
  return typeof message === 'string' && refusalWords.test(message);
}

// Of runtimes of the host, whose errors have no more than a sentence.
const refusalWords =
  /\binvalid schema for\b|\bdoes not support parameter\b|\bunsupported parameter\b/i;

/** Tells the router's observer of a channel that was asked. */
export function report(
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

export function noChannel(id: string, model: string): MillraceError {
  return new MillraceError(
    'no_available_channel',
    `The router ${id} has no channel for '${model}'.`,
    { provider: id },
  );
}
