// OAuth 2.1 for MCP servers: discovery, registration, PKCE, tokens, and more rights when they are asked.
// Source: Model Context Protocol 2025-11-25 and 2026-07-28, "Authorization"; RFC 6749, 7636, 7591,
// 8414, 8707, 9207, 9728.
import { createHash, randomBytes } from 'node:crypto';

import { MillraceError } from '../errors';
import type { AddressGuard } from '../transport/engine';
import { type RouteOptions, proxyFromEnvironment, routeOf } from '../transport/route';
import type { MCPAuthorizer } from './authorization';
import { applicationType, checkClient, isLoopback, methodOf } from './oauth-client';
import {
  type AuthorizationServer,
  type ProtectedResource,
  discover,
  fetchJson,
  type Fetcher,
  isSameIssuer,
  type JsonAnswer,
  notItsOwner,
} from './oauth-discovery';
import {
  bearer,
  inMemoryOAuthStore,
  isUsable,
  isValid,
  type OAuthClientInformation,
  type OAuthStore,
  type OAuthTokens,
} from './oauth-records';

export interface OAuthOptions extends RouteOptions {
  /** Where the authorization server sends people back; read anew for each authorization. */
  redirectUrl: string;
  /** Shows the address to a person and gives the address that the person was sent back to. */
  authorize: (url: URL) => Promise<string | URL> | string | URL;
  /** Default: memory. */
  store?: OAuthStore;
  /** What is told at a registration, beside the redirect address; `client_name`, `scope`, ... */
  clientMetadata?: Record<string, unknown>;
  /** An address that serves this client's metadata, for servers that take it as client id. */
  clientMetadataUrl?: string;
  /**
   * A client that was registered by hand. It is shown to its `issuer` alone, or, without one, to the first
   * authorization server that it was needed for.
   */
  client?: OAuthClientInformation;
  /**
   * What the authorization's requests may reach besides the public internet over https and the MCP server
   * itself: an authorization server in a private network has to be named in `allow`. A server on this machine
   * may have its authorization server at another port of it.
   */
  guard?: AddressGuard;
}

function refused(message: string, detail?: string): MillraceError {
  return new MillraceError('mcp_unauthorized', message, { detail });
}

/** The members of a Bearer challenge of a WWW-Authenticate header. */
export function challengeOf(header: string): Record<string, string> {
  const members: Record<string, string> = {};
  for (const [, name = '', quoted, plain] of header.matchAll(
    /([a-zA-Z_]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/g,
  )) {
    members[name.toLowerCase()] ??= quoted?.replace(/\\(.)/g, '$1') ?? plain ?? '';
  }
  return members;
}

function joined(...scopes: (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap((scope) => scope?.split(' ') ?? []).filter(Boolean));
  return all.size > 0 ? [...all].join(' ') : undefined;
}

/** Everything that one authorization works with. */
interface Flow {
  server: string;
  fetcher: Fetcher;
  resource: ProtectedResource | undefined;
  issuer: string;
  metadata: AuthorizationServer;
  scope: string | undefined;
  client: OAuthClientInformation;
}

/** A client that registered itself, and that its authorization server does not know any more. */
class ForgottenClient extends MillraceError {
  constructor(issuer: string, detail: string) {
    super('mcp_unauthorized', `The authorization server ${issuer} does not know the client.`, {
      detail,
    });
  }
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

const base64url = (bytes: Buffer): string => bytes.toString('base64url');

/**
 * Authorizes requests to an MCP server with OAuth; for `auth` of createMCPClient. After a refusal the
 * tokens are refreshed, or a person is asked.
 */
export class OAuth {
  readonly #options: OAuthOptions;
  readonly #store: OAuthStore;
  // What was asked for, since servers forget to say what they granted.
  readonly #asked = new Map<string, string | undefined>();
  readonly #last = new Map<string, string>();
  readonly #flights = new Map<string, Flight>();
  // The authorization server that the client which was registered by hand belongs to.
  #owner: string | undefined;

  constructor(options: OAuthOptions) {
    const { authorize, redirectUrl } = (options ?? {}) as Partial<OAuthOptions>;
    if (typeof authorize !== 'function' || !URL.canParse(String(redirectUrl))) {
      throw new MillraceError(
        'invalid_option',
        'OAuth needs `redirectUrl`, and `authorize` to send a person to the authorization server.',
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
    const said = challengeOf(challenge);
    const wantsMore = status === 403 || said['error'] === 'insufficient_scope';
    const before = this.#flights.get(url);
    if (before && (before.wantsMore || !wantsMore)) return before.headers;
    const refused = refusal.refused ?? this.#last.get(url);
    const headers = (before?.headers ?? Promise.resolve())
      .catch(() => undefined)
      .then(() => this.#authorize(url, said, wantsMore, refused))
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
    said: Record<string, string>,
    wantsMore: boolean,
    refused: string | undefined,
  ): Promise<Record<string, string>> {
    const kept = wantsMore ? undefined : await this.#newer(url, refused);
    if (kept) return this.#given(url, kept);
    let flow = await this.#begin(url, said, wantsMore);
    const record = await this.#store.load(url);
    const refresh = record?.issuer === flow.issuer ? record.tokens?.refresh_token : undefined;
    let tokens: OAuthTokens | undefined;
    try {
      tokens = refresh && !wantsMore ? await this.#refresh(flow, refresh) : undefined;
      // A token that can be used once may have been used by another process with the same store.
      const others = refresh && !tokens ? await this.#newer(url, refused) : undefined;
      if (others && !wantsMore) return this.#given(url, others);
      if (!tokens) {
        // Authorization servers send people back only to where the registration said.
        const { redirect_uris: places } = flow.client;
        const isElsewhere = Array.isArray(places) && !places.includes(this.#options.redirectUrl);
        if (isElsewhere) flow = { ...flow, client: await this.#register(flow) };
        tokens = await this.#askPerson(flow);
      }
    } catch (error) {
      if (!(error instanceof ForgottenClient)) throw error;
      flow = { ...flow, client: await this.#register(flow) };
      tokens = await this.#askPerson(flow);
    }
    this.#asked.set(url, joined(flow.scope, tokens.scope));
    await this.#store.save(url, { issuer: flow.issuer, client: flow.client, tokens });
    return this.#given(url, tokens);
  }

  // Kept tokens that are not the refused ones.
  async #newer(url: string, refused: string | undefined): Promise<OAuthTokens | undefined> {
    const { tokens } = (await this.#store.load(url)) ?? {};
    return isUsable(tokens) && bearer(tokens) !== refused ? tokens : undefined;
  }

  #given(url: string, tokens: OAuthTokens): Record<string, string> {
    this.#last.set(url, bearer(tokens));
    return { Authorization: bearer(tokens) };
  }

  async #begin(server: string, said: Record<string, string>, more: boolean): Promise<Flow> {
    const fetcher = this.#fetcher(server);
    const record = await this.#store.load(server);
    const { client: own } = this.#options;
    if (own && record?.client?.client_id === own.client_id) this.#owner ??= record.issuer;
    const { resource, issuer, metadata } = await discover(fetcher, server, {
      metadataUrl: said['resource_metadata'],
      owner: own && this.#owner,
      preferred: record?.issuer,
    });
    // Another server's authorization may have been faster.
    if (own && !isSameIssuer((this.#owner ??= issuer), issuer)) {
      throw notItsOwner(server, [issuer], this.#owner);
    }
    const granted = more ? joined(this.#asked.get(server), record?.tokens?.scope) : undefined;
    const scope = this.#scope(said['scope'], granted, resource, metadata);
    const flow = { server, fetcher, resource, issuer, metadata, scope };
    const known = record?.issuer === issuer && isValid(record.client) ? record.client : undefined;
    const client = own ?? known ?? (await this.#register(flow));
    return { ...flow, client };
  }

  // Servers say themselves where they are authorized: their word leads to no private network.
  #fetcher(server: string): Fetcher {
    const { proxy = proxyFromEnvironment(), guard = {} } = this.#options;
    const { protocol, host, hostname, port } = new URL(server);
    const own = port === '' ? `${host}:${protocol === 'https:' ? 443 : 80}` : host;
    // Whoever starts a server on this machine has its authorization server here, too.
    const beside = isLoopback(hostname) ? ['localhost', '127.0.0.0/8', '[::1]'] : [];
    const allow = [own, ...beside, ...(guard.allow ?? [])];
    return {
      ...routeOf({ ...this.#options, proxy }),
      guard: { httpsOnly: true, ...guard, allow },
    };
  }

  #scope(
    asked: string | undefined,
    granted: string | undefined,
    resource: ProtectedResource | undefined,
    metadata: AuthorizationServer,
  ): string | undefined {
    const own = this.#options.clientMetadata?.['scope'] as string | undefined;
    const scope = joined(granted, asked || resource?.scopes_supported?.join(' ') || own);
    // A token that can be refreshed has to be asked for where the server tells it so.
    const offersRefresh = metadata.scopes_supported?.includes('offline_access') ?? false;
    return scope && offersRefresh ? joined(scope, 'offline_access') : scope;
  }

  async #register(flow: Omit<Flow, 'client'>): Promise<OAuthClientInformation> {
    const { metadata, issuer, server, scope } = flow;
    const { clientMetadataUrl, clientMetadata, redirectUrl } = this.#options;
    if (clientMetadataUrl && metadata.client_id_metadata_document_supported === true) {
      return { client_id: clientMetadataUrl, token_endpoint_auth_method: 'none' };
    }
    if (!metadata.registration_endpoint) {
      throw refused(
        `The authorization server ${issuer} registers no clients by itself; register one there and ` +
          'give it as `client`.',
      );
    }
    const answer = await fetchJson(flow.fetcher, {
      method: 'POST',
      url: metadata.registration_endpoint,
      headers: [['Content-Type', 'application/json']],
      body: JSON.stringify({
        client_name: 'Millrace',
        redirect_uris: [redirectUrl],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        application_type: applicationType(redirectUrl),
        ...(scope && { scope }),
        ...clientMetadata,
      }),
    });
    const client = answer.json as OAuthClientInformation | undefined;
    if (!answer.ok || typeof client?.client_id !== 'string') {
      throw refused(`The authorization server ${issuer} refuses the registration.`, answer.text);
    }
    // The way back that was registered counts, also where the answer does not repeat it.
    const registered = { redirect_uris: [redirectUrl], ...client };
    await this.#store.save(server, { issuer, client: registered });
    return registered;
  }

  async #refresh(flow: Flow, token: string): Promise<OAuthTokens | undefined> {
    const answer = await this.#token(flow, {
      grant_type: 'refresh_token',
      refresh_token: token,
    });
    // What was refused is asked for anew; a server that is down for a moment may still take the token.
    if (answer.status === 429 || answer.status >= 500) {
      throw refused(
        `The authorization server ${flow.issuer} cannot refresh the token now (HTTP status ` +
          `${answer.status}); try again.`,
        answer.text,
      );
    }
    const tokens = answer.json as OAuthTokens | undefined;
    return answer.ok && isUsable(tokens) ? { refresh_token: token, ...tokens } : undefined;
  }

  async #askPerson(flow: Flow): Promise<OAuthTokens> {
    const { metadata, client, scope, issuer } = flow;
    const { redirectUrl, authorize } = this.#options;
    const methods = metadata.code_challenge_methods_supported;
    if (methods && !methods.includes('S256')) {
      throw refused(`The authorization server ${issuer} does not support PKCE with S256.`);
    }
    const verifier = base64url(randomBytes(48));
    const state = base64url(randomBytes(24));
    const url = new URL(metadata.authorization_endpoint);
    const wanted = {
      response_type: 'code',
      client_id: client.client_id,
      redirect_uri: redirectUrl,
      state,
      code_challenge: base64url(createHash('sha256').update(verifier).digest()),
      code_challenge_method: 'S256',
      ...(scope && { scope }),
      ...(flow.resource && { resource: flow.resource.resource }),
      ...(scope?.split(' ').includes('offline_access') && { prompt: 'consent' }),
    };
    for (const [name, value] of Object.entries(wanted)) url.searchParams.set(name, value);
    const code = codeOf(addressOf(await authorize(url), redirectUrl), state, flow);
    const answer = await this.#token(flow, {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUrl,
    });
    const tokens = answer.json as OAuthTokens | undefined;
    if (!answer.ok || !isUsable(tokens)) {
      throw refused(`The authorization server ${issuer} gives no token.`, answer.text);
    }
    return tokens;
  }

  async #token(flow: Flow, wanted: Record<string, string>): Promise<JsonAnswer> {
    const { client, metadata, resource } = flow;
    const form = new URLSearchParams(wanted);
    if (resource) form.set('resource', resource.resource);
    const headers: [string, string][] = [['Content-Type', 'application/x-www-form-urlencoded']];
    const method = methodOf(client, metadata.token_endpoint_auth_methods_supported);
    if (method === 'client_secret_basic') {
      const pair = [client.client_id, client.client_secret ?? ''].map(encodeURIComponent).join(':');
      headers.push(['Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]);
    } else {
      form.set('client_id', client.client_id);
      if (method === 'client_secret_post') form.set('client_secret', client.client_secret ?? '');
    }
    const request = {
      method: 'POST',
      url: metadata.token_endpoint,
      headers,
      body: form.toString(),
    };
    // What the form holds is for the place that the metadata named.
    const answer = await fetchJson(flow.fetcher, { ...request, sameOrigin: true });
    if (answer.status >= 300 && answer.status < 400) {
      throw refused(
        `The token endpoint ${metadata.token_endpoint} redirects elsewhere, which is not followed.`,
      );
    }
    const { error } = (answer.json ?? {}) as { error?: unknown };
    const isUnknown = error === 'invalid_client' || error === 'unauthorized_client';
    if (
      isUnknown &&
      client !== this.#options.client &&
      client.client_id !== this.#options.clientMetadataUrl
    ) {
      throw new ForgottenClient(flow.issuer, answer.text);
    }
    return answer;
  }
}

// A person may be sent back to a path of the application.
function addressOf(given: unknown, redirectUrl: string): URL {
  const text = given instanceof URL ? given.href : given;
  const back = typeof text === 'string' && URL.canParse(text, redirectUrl);
  const address = back ? new URL(text, redirectUrl) : undefined;
  if (address?.searchParams.has('code') || address?.searchParams.has('error')) return address;
  throw refused(
    '`authorize` of OAuth has to give the whole address that the person was sent back to, with its ' +
      '`code` and `state`.',
  );
}

// The code of the address that a person came back to.
function codeOf(back: URL, state: string, { metadata }: Flow): string {
  const { searchParams } = back;
  const iss = searchParams.get('iss');
  if (iss === null && metadata.authorization_response_iss_parameter_supported === true) {
    throw refused('The authorization server promised to name itself in its answer and did not.');
  }
  if (iss !== null && iss !== metadata.issuer) {
    throw refused(`The answer comes from ${iss}, not from ${metadata.issuer}.`);
  }
  if (searchParams.get('state') !== state) {
    throw refused('The answer of the authorization server belongs to another request.');
  }
  const error = searchParams.get('error');
  const code = searchParams.get('code');
  if (error !== null || code === null) {
    throw refused(
      `The authorization was refused: ${error ?? 'no code'}.`,
      searchParams.get('error_description') ?? undefined,
    );
  }
  return code;
}
