// Which authorization server is responsible for an MCP server, and where its endpoints are.
// Source: RFC 9728, RFC 8414, OpenID Connect Discovery 1.0; Model Context Protocol 2025-11-25, "Authorization Code
// Protection", and 2025-03-26 for servers without either.
import { MillraceError } from '../errors';
import { type AddressGuard, engineFetch, type EngineRequest } from '../transport/engine';
import type { RouteOptions } from '../transport/route';
import { isLoopback } from './oauth-client';

export interface ProtectedResource {
  resource: string;
  authorization_servers?: string[];
  scopes_supported?: string[];
}

export interface AuthorizationServer {
  issuer: string;
  authorization_endpoint: string;
  token_endpoint: string;
  registration_endpoint?: string;
  scopes_supported?: string[];
  code_challenge_methods_supported?: string[];
  token_endpoint_auth_methods_supported?: string[];
  client_id_metadata_document_supported?: boolean;
  authorization_response_iss_parameter_supported?: boolean;
}

/** How the authorization's own requests are made; the guard is for addresses that others name. */
export interface Fetcher extends RouteOptions {
  guard?: AddressGuard;
}

export interface JsonAnswer {
  ok: boolean;
  status: number;
  text: string;
  json: unknown;
}

const longestText = 256 * 1024;

const unauthorized = (message: string, detail?: string): MillraceError =>
  new MillraceError('mcp_unauthorized', message, { detail });

/** What others wrote, short enough for a message. */
export const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 200);

/** One request whose answer is small JSON. */
export async function fetchJson(fetcher: Fetcher, request: EngineRequest): Promise<JsonAnswer> {
  const timeouts = { connect: 10_000, total: 30_000 };
  const headers = [...request.headers, ['Accept', 'application/json'] as [string, string]];
  const response = await engineFetch({ ...fetcher, timeouts, ...request, headers });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > longestText) {
      throw new MillraceError(
        'response_too_large',
        'The answer to an authorization request is too large.',
      );
    }
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    json = undefined;
  }
  return { ok: response.ok, status: response.status, text, json };
}

async function first<T>(
  fetcher: Fetcher,
  urls: readonly string[],
  isOne: (value: Partial<T>) => boolean,
): Promise<T | undefined> {
  for (const url of urls) {
    const answer = await fetchJson(fetcher, { method: 'GET', url, headers: [] });
    // What is said there is not known now: another address may say something else.
    if (answer.status >= 500 || answer.status === 429) {
      throw unauthorized(
        `The metadata for the authorization at ${url} cannot be read now (HTTP status ${answer.status}); try again.`,
        answer.text,
      );
    }
    const value = answer.json as Partial<T> | null | undefined;
    if (answer.ok && typeof value === 'object' && value !== null && isOne(value)) return value as T;
  }
  return undefined;
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, '');
}

// The resource that is named must be the server, or a folder above it.
function covers(resource: string, server: string): boolean {
  try {
    const named = new URL(resource);
    const requested = new URL(server);
    const folder = `${withoutSlash(named.pathname)}/`;
    return (
      named.origin === requested.origin && `${withoutSlash(requested.pathname)}/`.startsWith(folder)
    );
  } catch {
    return false;
  }
}

async function resourceOf(
  fetcher: Fetcher,
  server: string,
  named: string | undefined,
): Promise<ProtectedResource | undefined> {
  const { origin, pathname } = new URL(server);
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
  const urls = named ? [named] : [`${wellKnown}${withoutSlash(pathname)}`, wellKnown];
  const isOne = ({ resource }: Partial<ProtectedResource>): boolean => typeof resource === 'string';
  const found = await first<ProtectedResource>(fetcher, [...new Set(urls)], isOne);
  if (found && !covers(found.resource, server)) {
    throw unauthorized(
      `The metadata of the MCP server is for another resource, ${found.resource}.`,
    );
  }
  return found;
}

function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = withoutSlash(pathname);
  const names = ['oauth-authorization-server', 'openid-configuration'];
  const urls = names.map((name) => `${origin}/.well-known/${name}${path}`);
  return path === '' ? urls : [...urls, `${origin}${path}/.well-known/openid-configuration`];
}

/** Whether two names of an authorization server are the same, with or without a slash at their end. */
export function isSameIssuer(one: string, other: string): boolean {
  return withoutSlash(one) === withoutSlash(other);
}

/** Why a client that was registered by hand is not shown to the authorization servers of an MCP server. */
export function notItsOwner(
  server: string,
  issuers: readonly string[],
  owner: string,
): MillraceError {
  return unauthorized(
    `The MCP server ${server} names the authorization server ${issuers.join(', ')}; \`client\` belongs to ` +
      `${owner} and is shown to no other one.`,
  );
}

const isAddress = (value: unknown): value is string =>
  typeof value === 'string' && URL.canParse(value) && /^https?:/i.test(value);

function issuersOf(resource: ProtectedResource | undefined): string[] {
  const named: unknown = resource?.authorization_servers;
  if (named === undefined || named === null) return [];
  const issuers = Array.isArray(named) ? named.filter(isAddress) : [];
  if (issuers.length > 0 || (Array.isArray(named) && named.length === 0)) return issuers;
  throw unauthorized(
    `The metadata of the MCP server has the \`authorization_servers\` ${shown(named)}, which is not a list of ` +
      'URLs.',
  );
}

const endpoints = ['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const;

// Tokens and codes travel encrypted, but on this machine.
function checkEndpoints(metadata: AuthorizationServer): void {
  for (const name of endpoints) {
    const value: unknown = metadata[name];
    if (value === undefined || (value === null && name === 'registration_endpoint')) continue;
    if (!isAddress(value)) {
      throw unauthorized(
        `The metadata of the authorization server ${metadata.issuer} has the \`${name}\` ${shown(value)}, ` +
          'which is not a URL.',
      );
    }
    const { protocol, hostname } = new URL(value);
    if (protocol === 'https:' || isLoopback(hostname)) continue;
    throw unauthorized(`The \`${name}\` ${value} must use https.`);
  }
}

// Lists that are none say nothing.
function withLists<T extends object>(document: T): T {
  const isTexts = (value: unknown): boolean =>
    Array.isArray(value) && value.every((text) => typeof text === 'string');
  const entries = Object.entries(document).filter(
    ([name, value]) => !name.endsWith('_supported') || typeof value === 'boolean' || isTexts(value),
  );
  return Object.fromEntries(entries) as T;
}

// A server that ignores the challenge would give its tokens to whoever caught the code: a client has to be told that it
// does not, by either kind of metadata.
function checkPkce({
  issuer,
  code_challenge_methods_supported: methods,
}: AuthorizationServer): void {
  if (methods?.includes('S256')) return;
  throw unauthorized(
    methods
      ? `The authorization server ${issuer} does not support PKCE with S256.`
      : `The metadata of the authorization server ${issuer} does not announce PKCE, which MCP requires: ` +
          'it must list `code_challenge_methods_supported: ["S256"]`.',
  );
}

async function metadataOf(
  fetcher: Fetcher,
  issuer: string,
): Promise<AuthorizationServer | undefined> {
  const isOne = (value: Partial<AuthorizationServer>): boolean =>
    typeof value.authorization_endpoint === 'string' && typeof value.token_endpoint === 'string';
  const found = await first<AuthorizationServer>(fetcher, metadataUrls(issuer), isOne);
  if (!found) return undefined;
  if (!isSameIssuer(String(found.issuer), issuer)) {
    throw unauthorized(
      `The metadata of the authorization server ${issuer} belongs to ${shown(found.issuer)}.`,
    );
  }
  checkEndpoints(found);
  const metadata = withLists(found);
  checkPkce(metadata);
  return metadata;
}

// The first that answers; when none does, why the first did not.
async function firstOf(fetcher: Fetcher, issuers: readonly string[]): Promise<AuthorizationServer> {
  let failure: unknown;
  for (const issuer of issuers) {
    try {
      const metadata = await metadataOf(fetcher, issuer);
      if (metadata) return metadata;
      failure ??= unauthorized(`The authorization server ${issuer} publishes no metadata.`);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
}

export interface DiscoveryOptions {
  /** Where the MCP server said that its metadata is. */
  metadataUrl?: string | undefined;
  /** The only authorization server that may be asked. */
  owner?: string | undefined;
  /** The one that is asked first where the MCP server names several. */
  preferred?: string | undefined;
}

/** Finds the authorization server of an MCP server. */
export async function discover(
  fetcher: Fetcher,
  server: string,
  { metadataUrl, owner, preferred }: DiscoveryOptions,
): Promise<{
  resource: ProtectedResource | undefined;
  issuer: string;
  metadata: AuthorizationServer;
}> {
  const found = await resourceOf(fetcher, server, metadataUrl);
  const resource = found && withLists(found);
  const { origin } = new URL(server);
  const named = issuersOf(resource);
  const all = named.length > 0 ? named : [origin];
  const issuers = all.filter((issuer) => owner === undefined || isSameIssuer(issuer, owner));
  if (owner !== undefined && issuers.length === 0) throw notItsOwner(server, all, owner);
  if (named.length > 0) {
    const isFirst = (issuer: string): boolean =>
      preferred !== undefined && isSameIssuer(issuer, preferred);
    const others = issuers.filter((issuer) => !isFirst(issuer));
    const metadata = await firstOf(fetcher, [...issuers.filter(isFirst), ...others]);
    return { resource, issuer: metadata.issuer, metadata };
  }
  // Servers of 2025-03-26 may be their own authorization server, at fixed addresses.
  const metadata = (await metadataOf(fetcher, origin)) ?? {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
  };
  checkEndpoints(metadata);
  return { resource, issuer: metadata.issuer, metadata };
}
