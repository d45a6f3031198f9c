// A client towards an authorization server: what it is, how it proves that, and which addresses are safe for it.
// Source: RFC 6749, 2.3; OpenID Connect Registration 1.0, application_type; RFC 8252.
import { MillraceError } from '../errors';
import type { OAuthClientInformation } from './oauth-records';

/** Whether a host is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** Throws `invalid_option` for a client registered by hand that cannot be used. */
export function checkClient(client: OAuthClientInformation | undefined): void {
  if (client === undefined) return;
  const { client_id: id, issuer } = (client ?? {}) as Partial<OAuthClientInformation>;
  if (typeof id !== 'string' || id === '') {
    throw new MillraceError('invalid_option', '`client` of OAuth needs a `client_id`.');
  }
  if (issuer === undefined || (typeof issuer === 'string' && URL.canParse(issuer))) return;
  throw new MillraceError(
    'invalid_option',
    '`client.issuer` of OAuth must be the URL of the authorization server where the client is registered.',
  );
}

/** A client on somebody's machine is a native one. */
export function applicationType(redirectUrl: string): 'native' | 'web' {
  const { protocol, hostname } = new URL(redirectUrl);
  return isLoopback(hostname) || !/^https?:$/.test(protocol) ? 'native' : 'web';
}

const authenticationMethods = ['client_secret_basic', 'client_secret_post', 'none'];

/** How a client authenticates at a token endpoint. */
export function methodOf(client: OAuthClientInformation, supported: string[] = []): string {
  const own = client.token_endpoint_auth_method;
  const isPossible = (method: string): boolean =>
    (supported.length === 0 || supported.includes(method)) &&
    (method === 'none' || client.client_secret !== undefined);
  if (own && authenticationMethods.includes(own) && isPossible(own)) return own;
  const found = authenticationMethods.find(isPossible);
  return found ?? (client.client_secret === undefined ? 'none' : 'client_secret_post');
}
