// OAuth of MCP clients: the whole way with a server that behaves, and servers whose metadata leads into
// networks that are none of theirs.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import {
  createMCPClient,
  type MCPClient,
  type MillraceError,
  OAuth,
  type OAuthOptions,
} from 'millrace';

import { bodyOf, type Loopback, loopback } from '../support/server';

const redirectUrl = 'http://127.0.0.1:1/callback';
const closing: { close(): Promise<unknown> }[] = [];

interface Protected {
  server: Loopback;
  authorization: Loopback;
  /** Requests to the authorization server. */
  asked: string[];
  /** What clients proved themselves with. */
  secrets: string[];
}

function send(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

// An MCP server behind an authorization server. `named` replaces what they say of each other.
async function protectedServer(
  named: (urls: { server: string; authorization: string }) => object = () => ({}),
): Promise<Protected> {
  const requested: string[] = [];
  const secrets: string[] = [];
  const challenges = new Map<string, string>();
  let urls = { server: '', authorization: '' };
  const words = (): Record<string, unknown> => ({
    issuer: urls.authorization,
    authorization_endpoint: `${urls.authorization}/authorize`,
    token_endpoint: `${urls.authorization}/token`,
    registration_endpoint: `${urls.authorization}/register`,
    authorization_servers: [urls.authorization],
    resource_metadata: `${urls.server}/.well-known/oauth-protected-resource`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    ...named(urls),
  });

  const authorization = await loopback((request, response) => void answer(request, response));
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '', urls.authorization);
    requested.push(pathname);
    const place = words()['is_oidc'] ? 'openid-configuration' : 'oauth-authorization-server';
    if (pathname === `/.well-known/${place}`) return send(response, words());
    if (pathname === '/register') return send(response, { client_id: 'registered' }, 201);
    if (pathname === '/authorize') {
      challenges.set('code', searchParams.get('code_challenge') ?? '');
      const back = `${redirectUrl}?code=code&state=${searchParams.get('state') ?? ''}`;
      response.writeHead(302, { location: back }).end();
      return;
    }
    if (pathname === '/busy') return send(response, { error: 'temporarily_unavailable' }, 503);
    if (pathname === '/resource')
      return send(response, { resource: `${urls.server}/mcp`, ...words() });
    if (pathname === '/elsewhere') {
      response.writeHead(302, { location: '/resource' }).end();
      return;
    }
    if (pathname === '/moved') {
      response.writeHead(307, { location: 'http://169.254.169.254/token' }).end();
      return;
    }
    const form = new URLSearchParams(await bodyOf(request));
    if (request.headers.authorization) secrets.push(request.headers.authorization);
    const hash = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (pathname === '/echo') {
      const [code, secret] = [form.get('code_verifier'), form.get('client_secret')];
      const reported = {
        error: 'invalid_grant',
        error_description: `${code} and ${secret} of yours`,
      };
      return send(response, { ...reported, refresh_token: 'its-own-token' }, 400);
    }
    if (pathname !== '/token' || hash !== challenges.get('code')) {
      const reported = { error: 'invalid_grant', error_description: 'The code is too old.' };
      return send(response, reported, 400);
    }
    const { token_type = 'Bearer' } = words();
    return send(response, { access_token: 'token', token_type, expires_in: 3600 });
  }

  const server = await loopback((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    urls.server = `http://${request.headers.host}`;
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      return send(response, { resource: `${urls.server}/mcp`, ...words() });
    }
    const { id, method } = JSON.parse((await bodyOf(request)) || '{}') as Record<string, unknown>;
    if (request.headers.authorization !== 'Bearer token') {
      const { resource_metadata: metadata, other_challenges: others } = words();
      const all = [
        ...((others as string[]) ?? []),
        `Bearer resource_metadata="${String(metadata)}"`,
      ];
      response.writeHead(401, { 'www-authenticate': all }).end();
      return;
    }
    const answers: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'safe', version: '1' },
      },
      'tools/list': { tools: [{ name: 'look', inputSchema: { type: 'object' } }] },
    };
    const result = answers[String(method)];
    if (result) return send(response, { jsonrpc: '2.0', id, result });
    response.writeHead(id === undefined ? 202 : 404).end();
  }

  urls = { server: server.url, authorization: authorization.url };
  closing.push(server, authorization);
  return { server, authorization, asked: requested, secrets };
}

async function visit(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: 'manual' });
  return response.headers.get('location') ?? '';
}

async function connect(url: string, options: Partial<OAuthOptions> = {}): Promise<MCPClient> {
  const auth = new OAuth({ redirectUrl, authorize: visit, proxy: '', ...options });
  const client = await createMCPClient({ url: `${url}/mcp`, type: 'http', auth, proxy: '' });
  closing.push(client);
  return client;
}

// The same server, which does not count as one on this machine.
const elsewhere = (url: string): string => url.replace('127.0.0.1', '0.0.0.0');
const hostOf = (url: string): string => url.slice('http://'.length);

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});

describe('OAuth', () => {
  it('finds, registers, asks and connects where the operator named the authorization server', async () => {
    const { server, authorization, asked: requested } = await protectedServer();
    const client = await connect(server.url, { guard: { allow: [hostOf(authorization.url)] } });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['look']);
    expect(requested).toEqual([
      '/.well-known/oauth-authorization-server',
      '/register',
      '/authorize',
      '/token',
    ]);
  });

  it.each([
    ['/busy', 'cannot refresh the token now', 0],
    ['/token', '', 1],
  ])('asks a person only when %s refuses the refresh', async (place, message, people) => {
    const { server, authorization } = await protectedServer((urls) => ({
      token_endpoint: `${urls.authorization}${place}`,
    }));
    let requested = 0;
    const client = { client_id: 'registered' };
    const tokens = { access_token: 'old', token_type: 'Bearer', refresh_token: 'r' };
    const connecting = connect(server.url, {
      guard: { allow: [hostOf(authorization.url)] },
      store: { load: () => ({ issuer: authorization.url, client, tokens }), save: () => undefined },
      authorize: (url) => {
        requested += 1;
        return visit(url);
      },
    });
    if (message === '') await connecting;
    else {
      await expect(connecting).rejects.toMatchObject({
        code: 'mcp_unauthorized',
        message: expect.stringContaining(message) as string,
      });
    }
    expect(requested).toBe(people);
  });

  it.each([
    [503, '/.well-known/oauth-protected-resource/mcp'],
    [429, '/.well-known/oauth-protected-resource/mcp'],
    [500, '/.well-known/oauth-authorization-server'],
  ])('reports the status %i of %s, and guesses no other address', async (status, place) => {
    const requested: string[] = [];
    const server = await loopback((request, response) => {
      requested.push(request.url ?? '');
      const other = request.url === '/mcp' ? 401 : 404;
      response.writeHead(request.url === place ? status : other).end('down');
    });
    closing.push(server);
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining(
        `${place} cannot be read now (HTTP status ${status})`,
      ) as string,
    });
    expect(requested.at(-1)).toBe(place);
  });

  it('takes no secret unencrypted to a server that is its own authorization server', async () => {
    const requested: string[] = [];
    const server = await loopback((request, response) => {
      requested.push(request.url ?? '');
      response.writeHead(request.url === '/mcp' ? 401 : 404).end();
    });
    closing.push(server);
    const guard = { allow: [hostOf(server.url)] };
    await expect(connect(elsewhere(server.url), { guard })).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('must use https') as string,
    });
    expect(requested).not.toContain('/register');
  });

  it('is not made without what it needs', () => {
    for (const options of [undefined, {}, { redirectUrl }, { authorize: visit }]) {
      expect(() => new OAuth(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });

  it('goes into no private network by the word of the MCP server', async () => {
    const { server, asked: requested } = await protectedServer();
    const guard = { allow: [hostOf(server.url)] };
    await expect(connect(elsewhere(server.url), { guard })).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringMatching(
        /^http:\/\/127.* is not allowed.*`guard: \{ allow: \[...\] \}` of the OAuth/,
      ) as string,
    });
    expect(requested).toEqual([]);
  });

  it('needs no naming of an authorization server on this machine for a server on it', async () => {
    const { server, asked: requested } = await protectedServer();
    const client = await connect(server.url);
    expect(await client.listTools()).toHaveLength(1);
    expect(requested.at(-1)).toBe('/token');
  });

  it('takes the first of several authorization servers that answers', async () => {
    const { server, asked: requested } = await protectedServer(({ authorization }) => ({
      authorization_servers: ['http://127.0.0.1:1', authorization],
    }));
    await connect(server.url);
    expect(requested.at(-1)).toBe('/token');
  });

  it('reads the Bearer challenge behind others, in headers of their own or in one', async () => {
    for (const join of [true, false]) {
      const others = [
        'Negotiate',
        'DPoP error="invalid_token", resource_metadata="http://127.0.0.1:1/"',
      ];
      const { server } = await protectedServer(() => ({
        other_challenges: join ? [others.join(', ')] : others,
      }));
      expect(await (await connect(server.url)).listTools()).toHaveLength(1);
    }
  });

  it('follows a redirect of the metadata', async () => {
    const { server, asked: requested } = await protectedServer(({ authorization }) => ({
      resource_metadata: `${authorization}/elsewhere`,
    }));
    await connect(server.url);
    expect(requested.slice(0, 2)).toEqual(['/elsewhere', '/resource']);
  });

  it.each<[string, object, string]>([
    [
      'authorization servers that are no addresses',
      { authorization_servers: ['not a url'] },
      'the `authorization_servers` ["not a url"], which is not a list of URLs',
    ],
    [
      'authorization servers that are no list',
      { authorization_servers: 'https://login.example' },
      'the `authorization_servers` "https://login.example", which',
    ],
    ['a path', { token_endpoint: '/token' }, 'the `token_endpoint` "/token", which is not a URL'],
    [
      'a script',
      { authorization_endpoint: 'javascript:alert(1)' },
      'the `authorization_endpoint` "javascript:alert(1)", which is not a URL',
    ],
    [
      'a registration over http',
      { registration_endpoint: 'http://login.example/register' },
      'The `registration_endpoint` http://login.example/register must use https',
    ],
  ])('names what is wrong with %s in the metadata', async (_what, words, message) => {
    const { server } = await protectedServer(() => words);
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining(message) as string,
    });
  });

  it.each([
    [
      'OAuth metadata without PKCE',
      { code_challenge_methods_supported: undefined },
      'does not announce',
    ],
    [
      'a discovery document of OpenID Connect without PKCE',
      { code_challenge_methods_supported: undefined, is_oidc: true },
      'does not announce PKCE',
    ],
    [
      'a text in the place of its methods',
      { code_challenge_methods_supported: 'S256' },
      'does not',
    ],
    ['plain PKCE', { code_challenge_methods_supported: ['plain'] }, 'not support PKCE with S256'],
    ['no method', { code_challenge_methods_supported: [], is_oidc: true }, 'with S256'],
  ])('asks nobody by %s', async (_what, words, message) => {
    const { server, asked: requested } = await protectedServer(() => words);
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining(message) as string,
    });
    expect(requested).not.toContain('/register');
    expect(requested).not.toContain('/authorize');
  });

  it('takes a discovery document of OpenID Connect that lists S256', async () => {
    const { server } = await protectedServer(() => ({ is_oidc: true }));
    expect(await (await connect(server.url)).listTools()).toHaveLength(1);
  });

  it.each(['bearer', 'BEARER', undefined, null])('takes tokens of the type %j', async (type) => {
    const { server } = await protectedServer(() => ({ token_type: type }));
    expect(await (await connect(server.url)).listTools()).toHaveLength(1);
  });

  it.each(['mac', 'DPoP', 5, ''])('sends no token of the type %j', async (type) => {
    const { server, authorization } = await protectedServer(() => ({ token_type: type }));
    const rejected = {
      code: 'mcp_unauthorized',
      message: expect.stringContaining(`a token of the type ${JSON.stringify(type)}`) as string,
    };
    await expect(connect(server.url)).rejects.toMatchObject(rejected);
    // Nor one that was kept.
    const tokens = { access_token: 'token', token_type: type as string };
    const record = { issuer: authorization.url, tokens };
    const store = { load: () => record, save: () => undefined };
    const auth = new OAuth({ redirectUrl, authorize: visit, proxy: '', store });
    expect(await auth.headers(`${server.url}/mcp`)).toEqual({});
  });

  it.each([null, undefined])('tells that nothing says why where %p is thrown', async (thrown) => {
    const { server } = await protectedServer();
    const reported = (owner: string) => ({
      code: 'mcp_unauthorized',
      message: expect.stringContaining(
        `\`authorize\` of ${owner} failed without a reason`,
      ) as string,
    });
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
    const authorize = () => Promise.reject(thrown);
    await expect(connect(server.url, { authorize })).rejects.toMatchObject(reported('OAuth'));
    const url = `${server.url}/mcp`;
    const bare = createMCPClient({ url, type: 'http', auth: { authorize }, proxy: '' });
    await expect(bare).rejects.toMatchObject(reported('the MCP server'));
    const because = () => Promise.reject(new Error('the person left'));
    await expect(connect(server.url, { authorize: because })).rejects.toThrow('the person left');
  });

  it('goes to the address 0.0.0.0 where it is allowed', async () => {
    const { server, authorization } = await protectedServer();
    const guard = { allow: [hostOf(elsewhere(server.url)), hostOf(authorization.url)] };
    const client = await connect(elsewhere(server.url), { guard });
    expect(await client.listTools()).toHaveLength(1);
  });

  it.each([
    ['/other', ': "invalid_grant", "The code is too old."'],
    ['/elsewhere-too', ': "invalid_grant"'],
    ['/busy', ': "temporarily_unavailable"'],
  ])('tells what the token endpoint %s says of its refusal', async (path, words) => {
    const { server } = await protectedServer(({ authorization }) => ({
      token_endpoint: `${authorization}${path}`,
    }));
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining(`did not return a token${words}`) as string,
    });
  });

  it('tells nothing that the authorization server repeats of the secrets that it was sent', async () => {
    const secret = 'the "secret" of the client';
    const { server } = await protectedServer(({ authorization }) => ({
      token_endpoint: `${authorization}/echo`,
      token_endpoint_auth_methods_supported: ['client_secret_post'],
    }));
    const client = { client_id: 'known', client_secret: secret };
    const error: unknown = await connect(server.url, { client }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('"invalid_grant", "[redacted] and [redacted] of') as string,
    });
    const { message, detail = '' } = error as MillraceError;
    for (const reported of [message, String(detail)]) {
      expect(reported).not.toContain('of the client');
      expect(reported).not.toContain('its-own-token');
    }
  });

  it('does without lists that are none', async () => {
    const { server } = await protectedServer(() => ({
      scopes_supported: 'a b',
      token_endpoint_auth_methods_supported: 'none',
    }));
    expect(await (await connect(server.url)).listTools()).toHaveLength(1);
  });

  it.each<[string, (urls: { server: string; authorization: string }) => object, string[]]>([
    [
      'metadata of the resource',
      () => ({ resource_metadata: 'http://169.254.169.254/latest' }),
      [],
    ],
    ['metadata in another notation', () => ({ resource_metadata: 'http://2130706433/' }), []],
    ['an issuer', () => ({ authorization_servers: ['https://10.0.0.1'] }), []],
    ['an issuer by a private name', () => ({ authorization_servers: ['https://db.internal'] }), []],
    [
      'a registration endpoint',
      () => ({ registration_endpoint: 'https://192.168.0.1/register' }),
      ['/.well-known/oauth-authorization-server'],
    ],
    [
      'a token endpoint',
      () => ({ token_endpoint: 'https://[fd00::1]/token' }),
      ['/.well-known/oauth-authorization-server', '/register', '/authorize'],
    ],
    [
      'a token endpoint on another port of this machine',
      () => ({ token_endpoint: 'http://127.0.0.1:9/token' }),
      ['/.well-known/oauth-authorization-server', '/register', '/authorize'],
    ],
  ])('blocks %s that leads inside', async (_what, named, expected) => {
    const { server, authorization, asked: requested } = await protectedServer(named);
    const guard = { allow: [hostOf(server.url), hostOf(authorization.url)] };
    await expect(connect(elsewhere(server.url), { guard })).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('is not allowed') as string,
    });
    expect(requested).toEqual(expected);
  });

  it('sends what is for a token endpoint to no place that this redirects to', async () => {
    const { server } = await protectedServer(({ authorization }) => ({
      token_endpoint: `${authorization}/moved`,
    }));
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('redirected the request') as string,
    });
  });

  it('takes a proxy only when that is trusted to keep private networks out', async () => {
    const { server, authorization } = await protectedServer();
    const proxied: string[] = [];
    const proxy = await loopback((request, response) => {
      proxied.push(request.url ?? '');
      response.writeHead(502).end();
    });
    closing.push(proxy);
    const allow = [hostOf(authorization.url)];
    await expect(connect(server.url, { proxy: proxy.url, guard: { allow } })).rejects.toMatchObject(
      { message: expect.stringContaining('trustsProxy') as string },
    );
    expect(proxied).toEqual([]);
    await expect(
      connect(server.url, { proxy: proxy.url, guard: { allow, trustsProxy: true } }),
    ).rejects.toMatchObject({ code: 'mcp_unauthorized' });
    expect(proxied.length).toBeGreaterThan(0);
  });
});

describe('a client that was registered by hand', () => {
  const own = { client_id: 'mine', client_secret: 'secret' };
  const basic = `Basic ${Buffer.from('mine:secret').toString('base64')}`;

  // An MCP server that names now one, now another authorization server.
  async function switching(): Promise<{
    server: string;
    honest: Protected;
    other: Protected;
    turn: () => void;
  }> {
    let [honest, other] = [undefined, undefined] as unknown as Protected[];
    let named: Protected | undefined;
    const withSecret = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    const words = (): object => ({
      ...(named && { authorization_servers: [named.authorization.url] }),
      ...withSecret,
    });
    honest = await protectedServer(words);
    other = await protectedServer(() => withSecret);
    named = honest;
    return { server: honest.server.url, honest, other, turn: () => (named = other) };
  }

  it.each([
    ['its issuer', true],
    ['the first authorization server', false],
  ])('is shown to %s alone', async (_what, isNamed) => {
    const { server, honest, other, turn } = await switching();
    const issuer = `${honest.authorization.url}/`;
    const auth = new OAuth({
      redirectUrl,
      authorize: visit,
      proxy: '',
      client: { ...own, ...(isNamed && { issuer }) },
    });
    const client = await createMCPClient({ url: `${server}/mcp`, type: 'http', auth, proxy: '' });
    closing.push(client);
    expect(honest.secrets).toEqual([basic]);
    turn();
    const refusal = { url: `${server}/mcp`, status: 401, challenge: 'Bearer' };
    await expect(
      Promise.resolve(auth.authorize({ ...refusal, rejected: 'Bearer token' })),
    ).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringMatching(
        new RegExp(`${other.authorization.url}.*\`client\` belongs to ${honest.authorization.url}`),
      ) as string,
    });
    expect([other.asked, other.secrets]).toEqual([[], []]);
  });

  it('is shown to nobody else from the start', async () => {
    const { server, asked: requested } = await protectedServer();
    const client = { ...own, issuer: 'https://login.example' };
    await expect(connect(server.url, { client })).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('belongs to https://login.example') as string,
    });
    expect(requested).toEqual([]);
  });

  it('belongs to the authorization server that the store names, of several at a time to the first', async () => {
    const one = await protectedServer();
    const two = await protectedServer();
    const record = { issuer: 'https://login.example', client: own };
    const store = { load: () => record, save: () => undefined };
    await expect(connect(one.server.url, { client: own, store })).rejects.toMatchObject({
      message: expect.stringContaining('belongs to https://login.example') as string,
    });
    const auth = new OAuth({ redirectUrl, authorize: visit, proxy: '', client: own });
    const headers = await Promise.allSettled(
      [one, two].map(({ server }) =>
        Promise.resolve(auth.authorize({ url: `${server.url}/mcp`, status: 401, challenge: '' })),
      ),
    );
    expect(headers.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect([...one.asked, ...two.asked].filter((path) => path === '/token')).toHaveLength(1);
  });

  it.each([{}, { client_id: '' }, { ...own, issuer: 'login' }])('is not %j', (client) => {
    expect(() => new OAuth({ redirectUrl, authorize: visit, client: client as never })).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
  });
});
