// What is kept of an authorization: tokens, the registration of a client, and where they lie.

export interface OAuthTokens {
  access_token: string;
  token_type?: string;
  expires_in?: number;
  refresh_token?: string;
  scope?: string;
}

export interface OAuthClientInformation {
  client_id: string;
  client_secret?: string;
  /** Seconds since 1970; 0 is never. */
  client_secret_expires_at?: number;
  token_endpoint_auth_method?: string;
  /** The authorization server that knows a client which was registered by hand; no other one is shown it. */
  issuer?: string;
  /** What the client was registered with. */
  redirect_uris?: string[];
}

/** What is kept of one authorization server; it must never be shown to another one. */
export interface OAuthRecord {
  issuer: string;
  client?: OAuthClientInformation;
  tokens?: OAuthTokens;
}

/** Where tokens and registrations are kept; by the address of the MCP server. */
export interface OAuthStore {
  load(server: string): OAuthRecord | undefined | Promise<OAuthRecord | undefined>;
  save(server: string, record: OAuthRecord): void | Promise<void>;
}

/** Keeps tokens and registrations in memory. */
export function inMemoryOAuthStore(): OAuthStore {
  const records = new Map<string, OAuthRecord>();
  return {
    load: (server) => records.get(server),
    save: (server, record) => void records.set(server, record),
  };
}

/** The type of tokens that cannot be sent, since they want a proof beside them; undefined for bearers. */
export function foreignType({ token_type: type }: OAuthTokens): unknown {
  // Servers that leave it out have always given bearers.
  const isBearer = typeof type === 'string' && type.toLowerCase() === 'bearer';
  return (type ?? undefined) === undefined || isBearer ? undefined : type;
}

/** Whether an answer or a store holds tokens that can be sent. */
export function isUsable(tokens: OAuthTokens | undefined): tokens is OAuthTokens {
  const has = typeof tokens?.access_token === 'string' && tokens.access_token !== '';
  return has && foreignType(tokens) === undefined;
}

/** Whether a registration has not ended. */
export function isValid(client: OAuthClientInformation | undefined): boolean {
  const { client_secret_expires_at: ends = 0 } = client ?? {};
  return ends === 0 || ends * 1000 > Date.now();
}

/** The `Authorization` header of tokens. */
export function bearer({ access_token }: OAuthTokens): string {
  return `Bearer ${access_token}`;
}
