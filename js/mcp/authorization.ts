// How requests to an MCP server are authorized.
import { MillraceError } from '../errors';
import { kindOf, shown } from '../shown';

/** Gives the headers of an authorization after a refusal; throws when there is none. */
export type MCPAuthorizer = (refusal: {
  status: number;
  challenge: string;
  url: string;
  /** The `Authorization` header that was refused; absent when none was sent. */
  rejected?: string;
}) => Promise<Record<string, string>> | Record<string, string>;

/** A token, LobeHub's authorization record, or a function that is asked after a refusal. */
export type MCPAuthorization =
  | { type: 'none' }
  | { type: 'bearer'; token: string }
  | { type: 'oauth2'; accessToken: string }
  | { authorize: MCPAuthorizer; headers?: (url: string) => Promise<Record<string, string>> };

/** What `authorize` gives; where it throws nothing, which says nothing, an error in the place of it. */
export async function reported<T>(owner: string, authorize: () => T | Promise<T>): Promise<T> {
  try {
    return await authorize();
  } catch (thrown) {
    if (thrown !== undefined && thrown !== null) throw thrown;
    throw new MillraceError(
      'mcp_unauthorized',
      `\`authorize\` of ${owner} failed without a reason: it threw ${thrown}. Throw an Error.`,
    );
  }
}

const isText = (value: unknown): boolean => typeof value === 'string';

/** The function that answers refusals of one client, which began with `headers`; none without `auth`. */
export function authorizationOf(
  auth: MCPAuthorization | undefined,
  url: string,
  headers: Readonly<Record<string, string>> = {},
): ((status: number, challenge: string) => Promise<Record<string, string>>) | undefined {
  if (!auth || !('authorize' in auth)) return undefined;
  let rejected = headers['Authorization'];
  return async (status, challenge) => {
    const refusal = { status, challenge, url, ...(rejected && { rejected }) };
    const given = await reported('the MCP server', () => auth.authorize(refusal));
    if (typeof given !== 'object' || given === null || !Object.values(given).every(isText)) {
      throw new MillraceError(
        'mcp_unauthorized',
        '`authorize` of the MCP server must return headers as an object of strings, such as ' +
          `{ Authorization: 'Bearer ...' }, not ${kindOf(given)}.`,
      );
    }
    rejected = given['Authorization'];
    return given;
  };
}

/** The headers that are sent from the first request on. */
export async function headersOf(
  auth: MCPAuthorization | undefined,
  url: string,
): Promise<Record<string, string>> {
  if (auth === undefined || auth === null) return {};
  const wrong = (what: string): never => {
    throw new MillraceError('invalid_option', `\`auth\` of an MCP server ${what}.`);
  };
  if (typeof auth !== 'object')
    return wrong(`must be an object, { type, token } or an OAuth, not ${kindOf(auth)}`);
  if ('authorize' in auth) return (await auth.headers?.(url)) ?? {};
  if (auth.type === 'none') return {};
  const { type, token, accessToken = token } = auth as { [member: string]: unknown };
  if (type !== 'bearer' && type !== 'oauth2')
    return wrong(`must have the type none, bearer or oauth2, not ${shown(type)}`);
  const sent = type === 'bearer' ? (token ?? accessToken) : accessToken;
  if (typeof sent !== 'string' || sent === '')
    return wrong(`needs a non-empty string as token, not ${kindOf(sent)}`);
  return { Authorization: `Bearer ${sent}` };
}
