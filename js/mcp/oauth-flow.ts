// What an authorization asks of its server and of a person: registration, a code with PKCE, tokens.
// Source: RFC 6749, 7636, 7591, 8707, 9207.
import { createHash, randomBytes } from 'node:crypto';

import { MillraceError } from '../errors';
import type { AddressGuard } from '../transport/engine';
import type { RouteOptions } from '../transport/route';
import { reported } from './authorization';
import { applicationType, methodOf } from './oauth-client';
import {
  type AuthorizationServer,
  type Fetcher,
  fetchJson,
  type JsonAnswer,
  type ProtectedResource,
  shown,
} from './oauth-discovery';
import {
  foreignType,
  isUsable,
  type OAuthClientInformation,
  type OAuthStore,
  type OAuthTokens,
} from './oauth-records';
import { withoutSecrets } from './oauth-secrets';

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

/** Everything that one authorization works with. */
export interface Flow {
  server: string;
  fetcher: Fetcher;
  resource: ProtectedResource | undefined;
  issuer: string;
  metadata: AuthorizationServer;
  scope: string | undefined;
  client: OAuthClientInformation;
}

/** A client that registered itself, and that its authorization server does not know any more. */
export class ForgottenClient extends MillraceError {
  constructor(issuer: string, received: string, detail: string) {
    super(
      'mcp_unauthorized',
      `The authorization server ${issuer} does not know the client${received}.`,
      {
        detail,
      },
    );
  }
}

function unauthorized(message: string, detail?: string): MillraceError {
  return new MillraceError('mcp_unauthorized', message, { detail });
}

// What the authorization server says of its refusal (RFC 6749, 5.2), else the status.
function messageIn({ status, json }: JsonAnswer): string {
  const { error, error_description: reason } = (json ?? {}) as Record<string, unknown>;
  const words = [error, reason].filter((word) => typeof word === 'string').map(shown);
  return words.length > 0 ? `: ${words.join(', ')}` : ` (status ${status})`;
}

const base64url = (bytes: Buffer): string => bytes.toString('base64url');

/** Makes a client known to the authorization server; one that it finds by its address needs no registration. */
export async function registered(
  flow: Omit<Flow, 'client'>,
  { clientMetadataUrl, clientMetadata, redirectUrl }: OAuthOptions,
): Promise<{ client: OAuthClientInformation; isNew: boolean }> {
  const { metadata, issuer, scope } = flow;
  if (clientMetadataUrl && metadata.client_id_metadata_document_supported === true) {
    const client = { client_id: clientMetadataUrl, token_endpoint_auth_method: 'none' };
    return { client, isNew: false };
  }
  if (!metadata.registration_endpoint) {
    throw unauthorized(
      `The authorization server ${issuer} does not register clients dynamically; register one there and ` +
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
    const reported = withoutSecrets(answer);
    throw unauthorized(
      `The authorization server ${issuer} rejected the registration${messageIn(reported)}.`,
      reported.text,
    );
  }
  // The way back that was registered counts, also where the answer does not repeat it.
  return { client: { redirect_uris: [redirectUrl], ...client }, isNew: true };
}

/** New tokens for the one that refreshes; nothing where that is refused. */
export async function refreshed(
  flow: Flow,
  token: string,
  options: OAuthOptions,
): Promise<OAuthTokens | undefined> {
  const answer = await requestToken(flow, options, {
    grant_type: 'refresh_token',
    refresh_token: token,
  });
  // What was refused is asked for anew; a server that is down for a moment may still take the token.
  if (answer.status === 429 || answer.status >= 500) {
    throw unauthorized(
      `The authorization server ${flow.issuer} cannot refresh the token now (HTTP status ` +
        `${answer.status}); try again.`,
      answer.text,
    );
  }
  const tokens = tokensOf(answer, flow);
  return tokens && { refresh_token: token, ...tokens };
}

/** Sends a person to the authorization server and takes the tokens of the code that comes back. */
export async function grantedByPerson(flow: Flow, options: OAuthOptions): Promise<OAuthTokens> {
  const { metadata, client, scope, issuer } = flow;
  const { redirectUrl, authorize } = options;
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
  const code = codeOf(
    addressOf(await reported('OAuth', () => authorize(url)), redirectUrl),
    state,
    flow,
  );
  const answer = await requestToken(flow, options, {
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    redirect_uri: redirectUrl,
  });
  const tokens = tokensOf(answer, flow);
  if (!tokens)
    throw unauthorized(
      `The authorization server ${issuer} did not return a token${messageIn(answer)}.`,
      answer.text,
    );
  return tokens;
}

// What is no bearer would be refused by the MCP server, or worse, taken for one on the way.
function tokensOf({ ok, json }: JsonAnswer, { issuer }: Flow): OAuthTokens | undefined {
  const tokens = (json ?? undefined) as OAuthTokens | undefined;
  const type = ok && tokens ? foreignType(tokens) : undefined;
  if (type !== undefined) {
    throw unauthorized(
      `The authorization server ${issuer} returned a token of the type ${shown(type)}; only Bearer is supported.`,
    );
  }
  return ok && isUsable(tokens) ? tokens : undefined;
}

async function requestToken(
  flow: Flow,
  options: OAuthOptions,
  wanted: Record<string, string>,
): Promise<JsonAnswer> {
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
  const { client_secret: secret } = client;
  const { code, code_verifier: verifier, refresh_token: token } = wanted;
  const reported = withoutSecrets(answer, [secret, code, verifier, token, headers[1]?.[1]]);
  if (answer.status >= 300 && answer.status < 400) {
    throw unauthorized(
      `The token endpoint ${metadata.token_endpoint} redirected the request, which is not followed.`,
    );
  }
  const { error } = (answer.json ?? {}) as { error?: unknown };
  const isUnknown = error === 'invalid_client' || error === 'unauthorized_client';
  if (isUnknown && client !== options.client && client.client_id !== options.clientMetadataUrl) {
    throw new ForgottenClient(flow.issuer, messageIn(reported), reported.text);
  }
  return answer.ok ? { ...answer, text: reported.text } : reported;
}

// A person may be sent back to a path of the application.
function addressOf(given: unknown, redirectUrl: string): URL {
  const text = given instanceof URL ? given.href : given;
  const back = typeof text === 'string' && URL.canParse(text, redirectUrl);
  const address = back ? new URL(text, redirectUrl) : undefined;
  if (address?.searchParams.has('code') || address?.searchParams.has('error')) return address;
  throw unauthorized(
    '`authorize` of OAuth must return the whole URL that the user was redirected to, with its ' +
      '`code` and `state`.',
  );
}

// The code of the address that a person came back to.
function codeOf(back: URL, state: string, { metadata }: Flow): string {
  const { searchParams } = back;
  const iss = searchParams.get('iss');
  if (iss === null && metadata.authorization_response_iss_parameter_supported === true) {
    throw unauthorized(
      'The answer of the authorization server has no `iss`, which its metadata announces.',
    );
  }
  if (iss !== null && iss !== metadata.issuer) {
    throw unauthorized(`The answer comes from ${iss}, not from ${metadata.issuer}.`);
  }
  if (searchParams.get('state') !== state) {
    throw unauthorized('The answer of the authorization server belongs to another request.');
  }
  const error = searchParams.get('error');
  const code = searchParams.get('code');
  if (error !== null || code === null) {
    throw unauthorized(
      `The authorization was refused: ${error ?? 'no code'}.`,
      searchParams.get('error_description') ?? undefined,
    );
  }
  return code;
}
