// Tokens of an authorization over time: they end, are used once, are forgotten with their client, and are
// shared by clients.
import type { IncomingMessage, ServerResponse } from 'node:http';

import { createMCPClient, inMemoryOAuthStore, type MCPClient, OAuth } from 'millrace';

import { bodyOf, type Loopback, loopback } from '../support/server';

const redirectUrl = 'http://127.0.0.1:1/callback';

// An MCP server that authorizes by itself; a refresh token can be used once.
class Guarded {
  readonly clients = new Set<string>();
  readonly tokens = new Set<string>();
  readonly refreshes = new Set<string>();
  readonly grants: string[] = [];
  refreshAnswer: object | undefined;
  refreshTime = 0; // milliseconds that an answer to a refresh takes
  persons = 0;
  registered = 0;
  #server!: Loopback;
  readonly #open: MCPClient[] = [];

  async start(): Promise<this> {
    this.#server = await loopback((request, response) => void this.#answer(request, response));
    return this;
  }

  get url(): string {
    return `${this.#server.url}/mcp`;
  }

  oauth(store = inMemoryOAuthStore()): OAuth {
    const authorize = async (url: URL): Promise<string> => {
      this.persons++;
      await new Promise((resolve) => setTimeout(resolve, 30));
      expect(this.clients).toContain(url.searchParams.get('client_id'));
      return `${redirectUrl}?code=code&state=${url.searchParams.get('state') ?? ''}`;
    };
    return new OAuth({ redirectUrl, authorize, store, proxy: '' });
  }

  async client(auth: OAuth): Promise<MCPClient> {
    const client = await createMCPClient({ url: this.url, type: 'http', auth, proxy: '' });
    this.#open.push(client);
    return client;
  }

  /** What a restart of an authorization server in memory forgets. */
  forget(): void {
    for (const retained of [this.clients, this.tokens, this.refreshes]) retained.clear();
  }

  async close(): Promise<void> {
    for (const client of this.#open) await client.close();
    await this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (body: object, status = 200): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const path = request.url ?? '';
    const body = await bodyOf(request);
    if (path === '/register') {
      const client_id = `client-${++this.registered}`;
      this.clients.add(client_id);
      return send({ client_id }, 201);
    }
    if (path === '/token') return this.#token(new URLSearchParams(body), send);
    if (path !== '/mcp') return send({}, 404);
    if (!this.tokens.has(request.headers.authorization ?? '')) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return;
    }
    const { id, method } = JSON.parse(body || '{}') as Record<string, unknown>;
    const info = { capabilities: { tools: {} }, serverInfo: { name: 'guarded', version: '1' } };
    const answers: Record<string, object> = {
      initialize: { protocolVersion: '2025-11-25', ...info },
      'tools/list': { tools: [] },
    };
    const result = answers[String(method)];
    if (result) return send({ jsonrpc: '2.0', id, result });
    response.writeHead(id === undefined ? 202 : 404).end();
  }

  async #token(
    form: URLSearchParams,
    send: (body: object, status?: number) => void,
  ): Promise<void> {
    const grant = form.get('grant_type') ?? '';
    this.grants.push(grant);
    if (!this.clients.has(form.get('client_id') ?? ''))
      return send({ error: 'invalid_client' }, 401);
    if (grant === 'refresh_token') {
      if (this.refreshAnswer) return send(this.refreshAnswer);
      if (!this.refreshes.delete(form.get('refresh_token') ?? '')) {
        return send({ error: 'invalid_grant' }, 400);
      }
    }
    const number = this.grants.length;
    this.tokens.add(`Bearer access-${number}`);
    this.refreshes.add(`refresh-${number}`);
    const time = grant === 'refresh_token' ? this.refreshTime : 0;
    if (time > 0) await new Promise((resolve) => setTimeout(resolve, time));
    send({ access_token: `access-${number}`, refresh_token: `refresh-${number}` });
  }
}

let guarded: Guarded;
beforeEach(async () => (guarded = await new Guarded().start()));
afterEach(() => guarded.close());

describe('tokens of OAuth', () => {
  it('ask one person for two clients that open at a time', async () => {
    const auth = guarded.oauth();
    await Promise.all([guarded.client(auth), guarded.client(auth)]);
    expect([guarded.persons, guarded.registered]).toEqual([1, 1]);
  });

  it('are refreshed once for two clients, also one after the other', async () => {
    const auth = guarded.oauth();
    const [one, other] = [await guarded.client(auth), await guarded.client(auth)];
    guarded.tokens.clear();
    await Promise.all([one.listTools(), other.listTools()]);
    guarded.tokens.clear();
    await one.listTools();
    await other.listTools();
    expect(guarded.grants).toEqual(['authorization_code', 'refresh_token', 'refresh_token']);
    expect(guarded.persons).toBe(1);
  });

  it('are taken from a store that another process has written to', async () => {
    const store = inMemoryOAuthStore();
    const [one, other] = [guarded.oauth(store), guarded.oauth(store)];
    const clients = [await guarded.client(one), await guarded.client(other)];
    guarded.tokens.clear();
    await clients[0]?.listTools();
    await clients[1]?.listTools();
    expect(guarded.grants).toEqual(['authorization_code', 'refresh_token']);
  });

  it('are waited for while another holder of the store refreshes them', async () => {
    const store = inMemoryOAuthStore();
    const [one, other] = [guarded.oauth(store), guarded.oauth(store)];
    const clients = [await guarded.client(one), await guarded.client(other)];
    guarded.tokens.clear();
    guarded.refreshTime = 150;
    await Promise.all(clients.map((client) => client.listTools()));
    expect(guarded.persons).toBe(1);
  });

  it('are got anew, with a new registration, from a server that forgot the client', async () => {
    const client = await guarded.client(guarded.oauth());
    guarded.forget();
    await client.listTools();
    expect([guarded.persons, guarded.registered]).toEqual([2, 2]);
  });

  it('are not kept when the answer to a refresh holds none', async () => {
    const store = inMemoryOAuthStore();
    const client = await guarded.client(guarded.oauth(store));
    guarded.tokens.clear();
    guarded.refreshAnswer = { error: 'bad_refresh_token' };
    await client.listTools();
    expect(guarded.persons).toBe(2);
    const { tokens } = (await store.load(guarded.url)) ?? {};
    expect(guarded.tokens).toContain(`Bearer ${tokens?.access_token ?? ''}`);
  });

  it('of a registration whose secret has ended are asked for by a new client', async () => {
    const store = inMemoryOAuthStore();
    const client = { client_id: 'old', client_secret_expires_at: 1 };
    await store.save(guarded.url, { issuer: new URL(guarded.url).origin, client });
    await guarded.client(guarded.oauth(store));
    expect(guarded.registered).toBe(1);
  });
});

it('an `authorize` that gives nothing is named', async () => {
  const auth = { authorize: () => undefined as never };
  const opened = createMCPClient({ url: guarded.url, type: 'http', auth, proxy: '' });
  await expect(opened).rejects.toMatchObject({ code: 'mcp_unauthorized', message: /`authorize`/ });
});
