// OAuth 2.1 for MCP servers: discovery, registration, PKCE, tokens, and more rights when they are asked.
// Source: Model Context Protocol 2025-11-25 and 2026-07-28, "Authorization"; RFC 6749, 7636, 7591,
// 8414, 8707, 9207, 9728.
import { setTimeout as sleep } from 'node:timers/promises';

import { MillraceError } from '../errors';
import { proxyFromEnvironment, routeOf } from '../transport/route';
import type { MCPAuthorizer } from './authorization';
import { checkClient, isLoopback } from './oauth-client';
import {
  type AuthorizationServer,
  type ProtectedResource,
  discover,
  type Fetcher,
  isSameIssuer,
  notItsOwner,
} from './oauth-discovery';
import {
  type Flow,
  ForgottenClient,
  grantedByPerson,
  type OAuthOptions,
  refreshed,
  registered,
} from './oauth-flow';
import {
  bearer,
  inMemoryOAuthStore,
  isUsable,
  isValid,
  type OAuthClientInformation,
  type OAuthStore,
  type OAuthTokens,
} from './oauth-records';

export type { OAuthOptions } from './oauth-flow';

const challengePart = /([\w!#$%&'*+.^`|~-]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+)))?/g;

/** The members of the Bearer challenge of a WWW-Authenticate header; of all challenges where it has none. */
export function challengeOf(header: string): Record<string, string> {
  const challenges: { scheme: string; members: Record<string, string> }[] = [
    { scheme: '', members: {} },
  ];
  for (const { index, 1: name = '', 2: quoted, 3: plain } of header.matchAll(challengePart)) {
    const value = quoted?.replace(/\\(.)/g, '$1') ?? plain;
    const begins = /(?:^|,)\s*$/.test(header.slice(0, index));
    if (value === undefined && begins) challenges.push({ scheme: name.toLowerCase(), members: {} });
    const members = challenges.at(-1)?.members;
    if (value !== undefined && members) members[name.toLowerCase()] ??= value;
  }
  const bearer = challenges.find(({ scheme }) => scheme === 'bearer');
  const used = bearer ? [bearer] : challenges.reverse();
  return Object.fromEntries(used.flatMap(({ members }) => Object.entries(members)));
}

function joined(...scopes: (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []).filter(Boolean));
  return all.size > 0 ? [...all].join(' ') : undefined;
}

// The guard of one request does not know whose it is.
function withPlaceOfGuard(error: unknown): never {
  if (!MillraceError.is(error, 'address_blocked')) throw error;
  const message = error.message.replace('`allow`', '`guard: { allow: [...] }` of the OAuth');
  throw new MillraceError('address_blocked', message, { cause: error });
}

interface Flight {
  wantsMore: boolean;
  headers: Promise<Record<string, string>>;
}

/**
 * Authorizes requests to an MCP server with OAuth; for `auth` of createMCPClient. After a refusal the
 * tokens are refreshed, or a person is asked.
 */
export class OAuth {
  readonly #options: OAuthOptions;
  readonly #store: OAuthStore;
  // What was asked for, since servers forget to say what they granted.
  readonly #requested = new Map<string, string | undefined>();
  readonly #last = new Map<string, string>();
  readonly #flights = new Map<string, Flight>();
  // The authorization server that the client which was registered by hand belongs to.
  #owner: string | undefined;

  constructor(options: OAuthOptions) {
    const { authorize, redirectUrl } = (options ?? {}) as Partial<OAuthOptions>;
    if (typeof authorize !== 'function' || !URL.canParse(String(redirectUrl))) {
      throw new MillraceError(
        'invalid_option',
        'OAuth needs `redirectUrl`, and a function `authorize` that sends the user to the authorization server.',
      );
    }
    checkClient(options.client);
    this.#options = options;
    this.#store = options.store ?? inMemoryOAuthStore();
    this.#owner = options.client?.issuer;
  }

  /** The headers for the first request: those of tokens that are kept. */
  async headers(server: string): Promise<Record<string, string>> {
    const { tokens } = (await this.#store.load(server)) ?? {};
    return isUsable(tokens) ? this.#given(server, tokens) : {};
  }

  /** Clients of one server that are refused at a time share one answer. */
  readonly authorize: MCPAuthorizer = (refusal) => {
    const { url, status, challenge } = refusal;
    const received = challengeOf(challenge);
    const wantsMore = status === 403 || received['error'] === 'insufficient_scope';
    const before = this.#flights.get(url);
    if (before && (before.wantsMore || !wantsMore)) return before.headers;
    const unauthorized = refusal.rejected ?? this.#last.get(url);
    const headers = (before?.headers ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => this.#authorize(url, received, wantsMore, unauthorized))
      .catch(withPlaceOfGuard);
    const flight = { wantsMore, headers };
    this.#flights.set(url, flight);
    const landed = (): void => {
      if (this.#flights.get(url) === flight) this.#flights.delete(url);
    };
    headers.then(landed, landed);
    return headers;
  };

  async #authorize(
    url: string,
    received: Record<string, string>,
    wantsMore: boolean,
    unauthorized: string | undefined,
  ): Promise<Record<string, string>> {
    const retained = wantsMore ? undefined : await this.#newer(url, unauthorized);
    if (retained) return this.#given(url, retained);
    let flow = await this.#begin(url, received, wantsMore);
    const record = await this.#store.load(url);
    const refresh = record?.issuer === flow.issuer ? record.tokens?.refresh_token : undefined;
    let tokens: OAuthTokens | undefined;
    try {
      tokens = refresh && !wantsMore ? await refreshed(flow, refresh, this.#options) : undefined;
      const others =
        refresh && !tokens && !wantsMore && (await this.#savedByOthers(url, unauthorized));
      if (others) return this.#given(url, others);
      if (!tokens) {
        // Authorization servers send people back only to where the registration said.
        const { redirect_uris: places } = flow.client;
        const isElsewhere = Array.isArray(places) && !places.includes(this.#options.redirectUrl);
        if (isElsewhere) flow = { ...flow, client: await this.#register(flow) };
        tokens = await grantedByPerson(flow, this.#options);
      }
    } catch (error) {
      if (!(error instanceof ForgottenClient)) throw error;
      flow = { ...flow, client: await this.#register(flow) };
      tokens = await grantedByPerson(flow, this.#options);
    }
    this.#requested.set(url, joined(flow.scope, tokens.scope));
    await this.#store.save(url, { issuer: flow.issuer, client: flow.client, tokens });
    return this.#given(url, tokens);
  }

  // Kept tokens that are not the refused ones.
  async #newer(url: string, unauthorized: string | undefined): Promise<OAuthTokens | undefined> {
    const { tokens } = (await this.#store.load(url)) ?? {};
    return isUsable(tokens) && bearer(tokens) !== unauthorized ? tokens : undefined;
  }

  // A token that can be used once may have been used by another holder of the store, who saves soon what it was given
  // for it.
  async #savedByOthers(
    url: string,
    unauthorized: string | undefined,
  ): Promise<OAuthTokens | undefined> {
    const waits = this.#options.store ? [0, 50, 100, 200, 400, 800] : [0];
    for (const wait of waits) {
      if (wait > 0) await sleep(wait);
      const saved = await this.#newer(url, unauthorized);
      if (saved) return saved;
    }
    return undefined;
  }

  #given(url: string, tokens: OAuthTokens): Record<string, string> {
    this.#last.set(url, bearer(tokens));
    return { Authorization: bearer(tokens) };
  }

  async #begin(server: string, received: Record<string, string>, more: boolean): Promise<Flow> {
    const fetcher = this.#fetcher(server);
    const record = await this.#store.load(server);
    const { client: own } = this.#options;
    if (own && record?.client?.client_id === own.client_id) this.#owner ??= record.issuer;
    const { resource, issuer, metadata } = await discover(fetcher, server, {
      metadataUrl: received['resource_metadata'],
      owner: own && this.#owner,
      preferred: record?.issuer,
    });
    // Another server's authorization may have been faster.
    if (own && !isSameIssuer((this.#owner ??= issuer), issuer)) {
      throw notItsOwner(server, [issuer], this.#owner);
    }
    const granted = more ? joined(this.#requested.get(server), record?.tokens?.scope) : undefined;
    const scope = this.#scope(received['scope'], granted, resource, metadata);
    const flow = { server, fetcher, resource, issuer, metadata, scope };
    const known = record?.issuer === issuer && isValid(record.client) ? record.client : undefined;
    const client = own ?? known ?? (await this.#register(flow));
    return { ...flow, client };
  }

  async #register(flow: Omit<Flow, 'client'>): Promise<OAuthClientInformation> {
    const { client, isNew } = await registered(flow, this.#options);
    if (isNew) await this.#store.save(flow.server, { issuer: flow.issuer, client });
    return client;
  }

  // Servers say themselves where they are authorized: their word leads to no private network.
  #fetcher(server: string): Fetcher {
    const { proxy = proxyFromEnvironment(), guard = {} } = this.#options;
    const { protocol, host, hostname, port } = new URL(server);
    const own = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
    // A server on this machine has its authorization server here, too.
    const beside = isLoopback(hostname) ? ['localhost', '127.0.0.0/8', '[::1]'] : [];
    const allow = [own, ...beside, ...(guard.allow ?? [])];
    return {
      ...routeOf({ ...this.#options, proxy }),
      guard: { httpsOnly: true, ...guard, allow },
    };
  }

  #scope(
    requested: string | undefined,
    granted: string | undefined,
    resource: ProtectedResource | undefined,
    metadata: AuthorizationServer,
  ): string | undefined {
    const own = this.#options.clientMetadata?.['scope'] as string | undefined;
    const scope = joined(granted, requested || resource?.scopes_supported?.join(' ') || own);
    // A token that can be refreshed has to be asked for where the server tells it so.
    const offersRefresh = metadata.scopes_supported?.includes('offline_access') ?? false;
    return scope && offersRefresh ? joined(scope, 'offline_access') : scope;
  }
}
