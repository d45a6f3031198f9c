// MCP servers that a cloud service makes for a user: an instance is created over HTTP, the user
// authorizes it, and its address is connected to. A service is one row.
import { setTimeout as sleep } from 'node:timers/promises';

import { throwIfAborted } from '../abort';
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { type RouteOptions, proxyFromEnvironment, routeOf } from '../transport/route';
import { type MCPClient, createMCPClient } from './client';
import type { MCPCommonOptions } from './reach';
import { type Fetcher, fetchJson } from './oauth-discovery';

/** An instance that a service has made. */
export interface CloudInstance {
  id: string;
  url: string;
  /** Where the user authorizes it, when that is needed. */
  authorizationUrl?: string;
}

interface CloudService {
  baseUrl: string;
  /** The domain whose hosts may see the key. */
  domain: string;
  create: { path: string; body: (server: string, user: string) => object };
  read: (answer: Record<string, unknown>) => CloudInstance;
  poll: { path: (id: string) => string; isReady: (answer: Record<string, unknown>) => boolean };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

// Source: Klavis API reference, "Create a Server Instance" and "Get Server Instance" (npm klavis 2.15.0).
const services: Record<string, CloudService> = {
  klavis: {
    baseUrl: 'https://api.klavis.ai',
    domain: 'klavis.ai',
    create: {
      path: '/mcp-server/instance/create',
      body: (serverName, userId) => ({ serverName, userId, connectionType: 'StreamableHttp' }),
    },
    read: ({ instanceId, serverUrl, oauthUrl }) => ({
      id: text(instanceId),
      url: text(serverUrl),
      ...(text(oauthUrl) !== '' && { authorizationUrl: text(oauthUrl) }),
    }),
    poll: {
      path: (id) => `/mcp-server/instance/${encodeURIComponent(id)}`,
      isReady: ({ isAuthenticated, authNeeded }) =>
        isAuthenticated === true || authNeeded === false,
    },
  },
};

export interface CloudConnectorOptions extends RouteOptions {
  service: 'klavis';
  apiKey: string;
  baseUrl?: string;
  /** Milliseconds between two questions whether the user has authorized; default 2000. */
  pollMs?: number;
  /** Milliseconds that the user has for that; default 5 minutes. */
  authorizationTimeoutMs?: number;
}

export interface CloudConnection extends MCPCommonOptions {
  /** The server's name at the service. */
  server: string;
  user: string;
  /** Shows the user where to authorize. */
  authorize?: (url: string) => void | Promise<void>;
  signal?: AbortSignal;
}

// A service that is down for a moment has not forgotten the instance.
function mayPass(error: unknown): error is MillraceError {
  if (!MillraceError.is(error)) return false;
  const { status, retryable } = error;
  return status === undefined ? retryable : status === 429 || status >= 500;
}

/** Makes and reaches the MCP servers of a cloud service. */
export class CloudConnector {
  readonly #options: CloudConnectorOptions;
  readonly #service: CloudService;
  readonly #fetcher: Fetcher;

  constructor(options: CloudConnectorOptions) {
    const { service: name, apiKey } = (options ?? {}) as Partial<CloudConnectorOptions>;
    const service =
      name !== undefined && Object.hasOwn(services, name) ? services[name] : undefined;
    if (!service) {
      const known = Object.keys(services).join(', ');
      throw new MillraceError('invalid_option', `There is no service '${name}'; use ${known}.`);
    }
    if (typeof apiKey !== 'string' || apiKey.trim() === '') {
      throw new MillraceError('invalid_option', `The service ${name} needs an \`apiKey\`.`);
    }
    this.#service = service;
    this.#options = options;
    this.#fetcher = routeOf({ ...options, proxy: options.proxy ?? proxyFromEnvironment() });
  }

  /** Makes an instance of a server for a user. */
  async create(server: string, user: string, signal?: AbortSignal): Promise<CloudInstance> {
    const { path, body } = this.#service.create;
    const instance = this.#service.read(
      await this.#request('POST', path, signal, body(server, user)),
    );
    if (instance.id !== '' && URL.canParse(instance.url)) return instance;
    throw new MillraceError(
      'mcp_connection_failed',
      'The answer of the service has no address of the server.',
    );
  }

  /** Whether the user has authorized the instance. */
  async isReady(instance: CloudInstance, signal?: AbortSignal): Promise<boolean> {
    const { path, isReady } = this.#service.poll;
    return isReady(await this.#request('GET', path(instance.id), signal));
  }

  /** Makes an instance, has it authorized and connects to it. */
  async connect(connection: CloudConnection): Promise<MCPClient> {
    const { server, user, authorize, signal, ...common } = connection ?? {};
    for (const [name, value] of Object.entries({ server, user })) {
      if (typeof value === 'string' && value !== '') continue;
      throw new MillraceError(
        'invalid_option',
        `\`${name}\` of a connection must be a non-empty string, not ${shown(value)}.`,
      );
    }
    const instance = await this.create(server, user, signal);
    if (instance.authorizationUrl !== undefined && !(await this.isReady(instance, signal))) {
      await authorize?.(instance.authorizationUrl);
      await this.#wait(instance, signal);
    }
    const auth = { type: 'bearer', token: this.#options.apiKey } as const;
    // The key belongs to the service; an address elsewhere does not get it.
    const { host, hostname, protocol } = new URL(instance.url);
    const isOwn =
      host === new URL(this.#base()).host ||
      (protocol === 'https:' && hostname.endsWith(`.${this.#service.domain}`));
    const route = routeOf(this.#options);
    return createMCPClient({
      ...common,
      ...route,
      url: instance.url,
      ...(signal && { signal }),
      ...(isOwn && { auth }),
    });
  }

  #base(): string {
    return this.#options.baseUrl ?? this.#service.baseUrl;
  }

  async #wait(instance: CloudInstance, signal: AbortSignal | undefined): Promise<void> {
    const { pollMs = 2000, authorizationTimeoutMs = 300_000 } = this.#options;
    const end = performance.now() + authorizationTimeoutMs;
    for (;;) {
      let failure: MillraceError | undefined;
      try {
        if (await this.isReady(instance, signal)) return;
      } catch (error) {
        throwIfAborted(signal);
        if (!mayPass(error)) throw error;
        failure = error;
      }
      if (performance.now() + pollMs > end) {
        if (failure) throw failure;
        throw new MillraceError(
          'mcp_unauthorized',
          'The user did not authorize the connection in time; connect again.',
        );
      }
      await sleep(pollMs, undefined, { signal }).catch(() => throwIfAborted(signal));
    }
  }

  async #request(
    method: string,
    path: string,
    signal: AbortSignal | undefined,
    body?: object,
  ): Promise<Record<string, unknown>> {
    const answer = await fetchJson(this.#fetcher, {
      method,
      url: `${this.#base()}${path}`,
      headers: [
        ['Authorization', `Bearer ${this.#options.apiKey}`],
        ['Content-Type', 'application/json'],
      ],
      body: body && JSON.stringify(body),
      signal,
    });
    if (answer.ok && typeof answer.json === 'object' && answer.json !== null) {
      return answer.json as Record<string, unknown>;
    }
    const code = answer.status === 401 || answer.status === 403 ? 'mcp_unauthorized' : undefined;
    throw new MillraceError(
      code ?? 'mcp_connection_failed',
      `The service answered with HTTP status ${answer.status}.`,
      { status: answer.status, detail: answer.text.slice(0, 2000) },
    );
  }
}
