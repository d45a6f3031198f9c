// createChatRoute: POST /webapi/chat/[provider] as a Fetch handler, for any server that has those.
import type { ChatStreamPayload } from '../../types/model';
import { MillraceError } from '../errors';
import { longestTimer } from '../limits';
import { jsonOfRequest } from '../request-body';
import { shown } from '../shown';
import type { TransportOptions } from '../transport/choose';
import type { Check } from '../value-checks';
import { anything, atLeast, callback, checkValues } from '../value-checks';
import type { ConfigContext, ProviderConfigSource } from './config-source';
import { checkConfigSource, configFromEnvironment } from './config-source';
import { chatErrorResponse } from './error-body';
import { ModelRuntime } from './runtime';
import type { ChatOptions } from './runtime-options';
import type { ProviderSettings } from './settings';
import { providerRow } from './settings';

/** Anything that answers chats: a ModelRuntime, or a router of several. */
export interface ChatRuntime {
  chat(payload: ChatStreamPayload, options?: ChatOptions): Promise<Response>;
}

/** Who may ask; `user` is told to providers that want one. */
export interface Caller {
  user?: string | undefined;
}

export interface ChatRouteOptions extends TransportOptions {
  /** Default: the environment's keys. */
  config?: ProviderConfigSource | undefined;
  /**
   * Makes the runtime of a provider; default a ModelRuntime with the settings of `config`. Without a
   * `config` it is called for providers that Millrace does not know as well, with no settings.
   */
  runtime?:
    | ((provider: string, settings: ProviderSettings) => ChatRuntime | Promise<ChatRuntime>)
    | undefined;
  /**
   * Says who asks. Undefined or false refuses with 401; a Response is given as it is. Without it
   * every caller may use it: only for servers that no other machine can reach.
   */
  authorize?:
    | ((
        request: Request,
        provider: string,
      ) => Caller | Response | false | undefined | Promise<Caller | Response | false | undefined>)
    | undefined;
  /** Default `lobe`. */
  protocol?: 'lobe' | 'ag-ui' | undefined;
  /** Bytes of a request; default 32 MiB. */
  bodyLimit?: number | undefined;
  /** Ends an answer after this many milliseconds; default none. */
  maxDuration?: number | undefined;
}

/** What frameworks give beside the request. */
export interface RouteContext {
  params?: { provider?: string } | Promise<{ provider?: string }> | undefined;
}

const defaultBodyLimit = 32 << 20;

const checks: Readonly<Record<string, Check>> = {
  config: anything,
  runtime: callback,
  authorize: callback,
  protocol: ["'lobe' or 'ag-ui'", (value) => value === 'lobe' || value === 'ag-ui'],
  bodyLimit: atLeast(1),
  maxDuration: atLeast(0),
};

/**
 * A handler for `POST /webapi/chat/[provider]`: the body is a ChatStreamPayload, the answer a chat
 * stream, or one JSON completion for `responseMode: 'json'`. The provider is the parameter of that
 * name, else the last part of the path. Never rejects.
 */
export function createChatRoute(
  options: ChatRouteOptions = {},
): (request: Request, context?: RouteContext) => Promise<Response> {
  checkValues('createChatRoute', options, checks);
  checkConfigSource('createChatRoute', options.config);
  const route = new ChatRoute(options);
  return (request, context) => route.handle(request, context);
}

class ChatRoute {
  readonly #options: ChatRouteOptions;
  readonly #config: ProviderConfigSource;

  constructor(options: ChatRouteOptions) {
    this.#options = options;
    this.#config = options.config ?? configFromEnvironment();
  }

  async handle(request: Request, context: RouteContext | undefined): Promise<Response> {
    let provider: string | undefined;
    try {
      provider = await providerOf(request, context);
      if (request.method !== 'POST') return methodNotAllowed(request.method, provider);
      return await this.#answer(request, provider);
    } catch (error) {
      return chatErrorResponse(error, provider);
    }
  }

  async #answer(request: Request, provider: string): Promise<Response> {
    const { authorize, runtime, protocol = 'lobe', maxDuration } = this.#options;
    const caller = authorize ? await authorize(request, provider) : {};
    if (caller instanceof Response) return caller;
    if (!caller) return unauthorized(provider);
    const payload = await payloadOf(request, this.#options.bodyLimit ?? defaultBodyLimit);
    const settings = await this.#settings(provider, { user: caller.user, request });
    const chat = await (runtime ?? this.#runtime)(provider, settings);
    const clock =
      maxDuration === undefined
        ? undefined
        : AbortSignal.timeout(Math.min(maxDuration, longestTimer));
    const signal = clock ? AbortSignal.any([request.signal, clock]) : request.signal;
    try {
      return await chat.chat(withoutNulls(payload), {
        user: caller.user,
        protocol,
        signal,
        fromClient: true,
      });
    } catch (cause) {
      if (clock?.aborted !== true || request.signal.aborted || MillraceError.is(cause)) throw cause;
      const text = `The provider did not answer within ${maxDuration} ms.`;
      throw new MillraceError('total_timeout', text, { retryable: true, cause });
    }
  }

  async #settings(provider: string, context: ConfigContext): Promise<ProviderSettings> {
    const settings = await this.#config.settingsOf(provider, context);
    if (settings) return settings;
    const { runtime, config } = this.#options;
    if (runtime && !config) return {};
    throw new MillraceError(
      'unknown_provider',
      providerRow(provider)
        ? `The model provider '${provider}' is not configured on this server; give its settings in \`config\`.`
        : `There is no model provider '${provider}'. 'millrace providers' lists them.`,
    );
  }

  readonly #runtime = (provider: string, settings: ProviderSettings): ChatRuntime => {
    const { fetch, transport, origin } = this.#options;
    return new ModelRuntime(provider, {
      temperatureScale: 'lobe',
      ...settings,
      fetch,
      transport,
      origin,
    });
  };
}

async function providerOf(request: Request, context: RouteContext | undefined): Promise<string> {
  const given = (await context?.params)?.provider;
  const path = new URL(request.url).pathname.replace(/\/+$/, '');
  const name = path.slice(path.lastIndexOf('/') + 1);
  try {
    return given ?? decodeURIComponent(name);
  } catch (cause) {
    throw new MillraceError(
      'invalid_argument',
      `'${name}' is not the name of a provider: check its percent-encoding.`,
      {
        cause,
      },
    );
  }
}

async function payloadOf(request: Request, limit: number): Promise<ChatStreamPayload> {
  const value = await jsonOfRequest(request, limit);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as ChatStreamPayload;
  }
  throw new MillraceError(
    'invalid_body',
    `The request body must be a JSON object, not ${shown(value)}.`,
  );
}

// Clients send null for sampling that they leave to the provider.
function withoutNulls(payload: ChatStreamPayload): ChatStreamPayload {
  const members = Object.entries(payload).filter(([, value]) => value !== null);
  return Object.fromEntries(members) as unknown as ChatStreamPayload;
}

function unauthorized(provider: string): Response {
  const body = { error: { message: 'The request is not authorized.' }, provider };
  return Response.json({ errorType: 'Unauthorized', body }, { status: 401 });
}

function methodNotAllowed(method: string, provider: string): Response {
  const sentence = `The chat route takes POST requests, not ${method}.`;
  const error = new MillraceError('method_not_allowed', sentence);
  const response = chatErrorResponse(error, provider);
  response.headers.set('Allow', 'POST');
  return response;
}
