// The texts that a call is made of, from the options of its runtime and its own.
import type { ChatStreamPayload, ModelHooks } from '../../types/model';
import { MillraceError } from '../errors';
import { randomUUID } from '../node-crypto';
import { engine } from '../transport/engine';
import type { CallTexts } from './call';
import type { ContextOverflow } from './factory-hooks';
import { mockedSettings } from './mock';
import type { CallOptions, ChatOptions, Fallback, ModelRuntimeOptions } from './runtime-options';
import type { ProviderSettings } from './settings';
import { canonicalName, checkSettings, engineSettings, splitModel } from './settings';

// What a factory adds to the options of a call.
interface OwnOptions {
  extraBody?: Record<string, unknown>;
  apiMode?: string;
  /** Why the conversation does not fit this provider's model. */
  tooLong?: ContextOverflow;
}

/** Options of a runtime that are not settings of its provider. */
export type Own = 'fetch' | 'transport' | 'origin' | 'fallback' | 'providers' | keyof ModelHooks;

/** Whose calls they are. */
export interface CallHost {
  readonly provider: string;
  readonly settings: ProviderSettings;
  readonly own: Pick<ModelRuntimeOptions, Own>;
}

/** What a call is made of: `output` says what it gives. */
export function callTexts(
  host: CallHost,
  payload: ChatStreamPayload,
  options: CallOptions,
  output: object,
): CallTexts {
  const { requestHeaders, maxRetries, timeouts, user, fallback } = options;
  const settings: ProviderSettings = { ...host.settings };
  if (requestHeaders) settings.headers = { ...settings.headers, ...requestHeaders };
  if (maxRetries !== undefined) settings.maxRetries = maxRetries;
  if (timeouts) settings.timeouts = { ...settings.timeouts, ...timeouts };
  // Of the factories, which know members of a vendor's own, and which of its APIs has a model.
  const { extraBody, apiMode, tooLong } = options as OwnOptions;
  if (extraBody) Object.assign(settings, { extraBody });
  if (tooLong !== undefined) Object.assign(settings, { tooLong });
  if (apiMode !== undefined) settings.apiMode = apiMode;
  const mocked = payload.mockResponse === true;
  const chain = mocked
    ? [engineSettings(host.provider, mockedSettings(host.provider))]
    : [
        engineSettings(host.provider, settings),
        ...(fallback ?? host.own.fallback ?? []).map((one) => linkOf(host, one, options)),
      ];
  const { handlePayload, handleError, handleStream, handleRetry } = host.own;
  return {
    chain: JSON.stringify(chain),
    payload: textOf(user === undefined ? payload : { ...payload, user }),
    options: JSON.stringify({
      ...output,
      hooks: {
        payload: handlePayload !== undefined,
        error: handleError !== undefined,
        events: handleStream !== undefined,
        retry: handleRetry !== undefined,
      },
      retryAfterFirstToken: options.retryAfterFirstToken,
      pricing: options.pricingContext,
      thinkTags: options.thinkTags,
      fromClient: options.fromClient,
      throttleMs: options.throttleMs,
      limits: settings.limits,
      threadId: options.threadId ?? randomUUID(),
      runId: options.runId ?? randomUUID(),
      parentRunId: options.parentRunId,
      protocolVersion: (options as ChatOptions).protocolVersion,
    }),
  };
}

/** A fallback has limits of its own, else the runtime's; those of a call go before both. */
export function linkOf(
  host: CallHost,
  fallback: Fallback,
  call: Pick<CallOptions, 'maxRetries' | 'timeouts'> = {},
): object {
  const { provider, model, ...given } =
    typeof fallback === 'string' ? splitModel(fallback) : fallback;
  const { maxRetries, timeouts, temperatureScale } = host.settings;
  const known =
    canonicalName(provider) === host.provider
      ? host.settings
      : { maxRetries, timeouts, temperatureScale };
  const named = { ...known, ...host.own.providers?.[provider], ...given };
  const retries = call.maxRetries ?? named.maxRetries;
  const settings = withDemo(provider, {
    ...named,
    ...(retries === undefined ? {} : { maxRetries: retries }),
    ...(call.timeouts ? { timeouts: { ...named.timeouts, ...call.timeouts } } : {}),
  });
  checkSettings(provider, settings);
  return { ...engineSettings(provider, settings), model };
}

/** The settings; the demo model lives in the engine, at an address of its own. */
export function withDemo(provider: string, settings: ProviderSettings): ProviderSettings {
  if (provider !== 'demo' || settings.baseURL !== undefined) return settings;
  return { ...settings, baseURL: engine().demoModel() };
}

function textOf(payload: ChatStreamPayload): string {
  try {
    return JSON.stringify(payload);
  } catch (cause) {
    throw new MillraceError('invalid_argument', 'The payload of a chat must be plain JSON.', {
      cause,
    });
  }
}
