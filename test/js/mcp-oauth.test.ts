// OAuth of MCP clients: the whole way with a server that behaves, and servers whose metadata leads into
// networks that are none of theirs.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

import { createMCPClient, type MCPClient, OAuth, type OAuthOptions } from 'millrace';

import { bodyOf, type Loopback, loopback } from './support/server';

const redirectUrl = 'http://127.0.0.1:1/callback';
const closing: { close(): Promise<unknown> }[] = [];

interface Protected {
  server: Loopback;
  authorization: Loopback;
  /** Requests to the authorization server. */
  asked: string[];
}

function send(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

// An MCP server behind an authorization server. `named` replaces what they say of each other.
async function protectedServer(
  named: (urls: { server: string; authorization: string }) => object = () => ({}),
): Promise<Protected> {
  const asked: string[] = [];
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
    asked.push(pathname);
    if (pathname === '/.well-known/oauth-authorization-server') return send(response, words());
    if (pathname === '/register') return send(response, { client_id: 'registered' }, 201);
    if (pathname === '/authorize') {
      challenges.set('code', searchParams.get('code_challenge') ?? '');
      const back = `${redirectUrl}?code=code&state=${searchParams.get('state') ?? ''}`;
      response.writeHead(302, { location: back }).end();
      return;
    }
    if (pathname === '/busy') return send(response, { error: 'temporarily_unavailable' }, 503);
    if (pathname === '/moved') {
      response.writeHead(307, { location: 'http://169.254.169.254/token' }).end();
      return;
    }
    const form = new URLSearchParams(await bodyOf(request));
    const hash = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (pathname !== '/token' || hash !== challenges.get('code')) {
      return send(response, { error: 'invalid_grant' }, 400);
    }
    return send(response, { access_token: 'token', token_type: 'Bearer', expires_in: 3600 });
  }

  const server = await loopback((request, response) => void serve(request, response));
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      return send(response, { resource: `${urls.server}/mcp`, ...words() });
    }
    const { id, method } = JSON.parse((await bodyOf(request)) || '{}') as Record<string, unknown>;
    if (request.headers.authorization !== 'Bearer token') {
      const metadata = String(words()['resource_metadata']);
      response
        .writeHead(401, { 'www-authenticate': `Bearer resource_metadata="${metadata}"` })
        .end();
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
  return { server, authorization, asked };
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

const hostOf = (url: string): string => url.slice('http://'.length);

afterEach(async () => {
  for (const one of closing.splice(0).reverse()) await one.close();
});

describe('OAuth', () => {
  it('finds, registers, asks and connects where the operator named the authorization server', async () => {
    const { server, authorization, asked } = await protectedServer();
    const client = await connect(server.url, { guard: { allow: [hostOf(authorization.url)] } });
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['look']);
    expect(asked).toEqual([
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
    let asked = 0;
    const client = { client_id: 'registered' };
    const tokens = { access_token: 'old', token_type: 'Bearer', refresh_token: 'r' };
    const connecting = connect(server.url, {
      guard: { allow: [hostOf(authorization.url)] },
      store: { load: () => ({ issuer: authorization.url, client, tokens }), save: () => undefined },
      authorize: (url) => {
        asked += 1;
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
    expect(asked).toBe(people);
  });

  it('is not made without what it needs', () => {
    for (const options of [undefined, {}, { redirectUrl }, { authorize: visit }]) {
      expect(() => new OAuth(options as never)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });

  it('goes into no private network by the word of the MCP server', async () => {
    const { server, asked } = await protectedServer();
    await expect(connect(server.url)).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('may not be reached') as string,
    });
    expect(asked).toEqual([]);
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
      'a token endpoint that redirects',
      ({ authorization }) => ({ token_endpoint: `${authorization}/moved` }),
      ['/.well-known/oauth-authorization-server', '/register', '/authorize', '/moved'],
    ],
    [
      'a token endpoint on another port of this machine',
      () => ({ token_endpoint: 'http://127.0.0.1:9/token' }),
      ['/.well-known/oauth-authorization-server', '/register', '/authorize'],
    ],
  ])('blocks %s that leads inside', async (_what, named, expected) => {
    const { server, authorization, asked } = await protectedServer(named);
    const guard = { allow: [hostOf(authorization.url)] };
    await expect(connect(server.url, { guard })).rejects.toMatchObject({
      code: 'mcp_unauthorized',
      message: expect.stringContaining('may not be reached') as string,
    });
    expect(asked).toEqual(expected);
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
