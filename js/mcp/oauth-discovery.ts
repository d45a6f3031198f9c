// Which authorization server is responsible for an MCP server, and where its endpoints are.
// Source: RFC 9728, RFC 8414, OpenID Connect Discovery 1.0; Model Context Protocol 2025-03-26 for servers
// without either.
import { MillraceError } from '../errors';
import { type AddressGuard, engineFetch, type EngineRequest } from '../transport/engine';
import type { RouteOptions } from '../transport/route';

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
      throw new MillraceError('response_too_large', 'An answer about authorization is too large.');
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
    const asked = new URL(server);
    const folder = `${withoutSlash(named.pathname)}/`;
    return named.origin === asked.origin && `${withoutSlash(asked.pathname)}/`.startsWith(folder);
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
    throw new MillraceError(
      'mcp_unauthorized',
      `The metadata of the MCP server speaks of another resource, ${found.resource}.`,
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

/** Finds the authorization server of an MCP server. */
export async function discover(
  fetcher: Fetcher,
  server: string,
  metadataUrl: string | undefined,
): Promise<{
  resource: ProtectedResource | undefined;
  issuer: string;
  metadata: AuthorizationServer;
}> {
  const resource = await resourceOf(fetcher, server, metadataUrl);
  const named = resource?.authorization_servers?.[0];
  const issuer = named ?? new URL(server).origin;
  const isOne = (value: Partial<AuthorizationServer>): boolean =>
    typeof value.authorization_endpoint === 'string' && typeof value.token_endpoint === 'string';
  const found = await first<AuthorizationServer>(fetcher, metadataUrls(issuer), isOne);
  if (found) {
    if (withoutSlash(String(found.issuer)) !== withoutSlash(issuer)) {
      throw new MillraceError(
        'mcp_unauthorized',
        `The metadata of the authorization server ${issuer} belongs to ${found.issuer}.`,
      );
    }
    return { resource, issuer: found.issuer, metadata: found };
  }
  if (named !== undefined) {
    throw new MillraceError(
      'mcp_unauthorized',
      `The authorization server ${issuer} publishes no metadata.`,
    );
  }
  // Servers of 2025-03-26 may be their own authorization server, at fixed addresses.
  const metadata: AuthorizationServer = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    registration_endpoint: `${issuer}/register`,
  };
  return { resource, issuer, metadata };
}
