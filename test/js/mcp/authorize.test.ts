// Authorizations from the command line: a loopback authorization server, a person who opens what is printed,
// tokens in files.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { connectMCPServers, fileOAuthStore, OAuth } from 'millrace';

import { bareEnvironment } from '../../support/environment';
import { startableFolder } from '../support/script';
import { bodyOf, type Loopback, loopback } from '../support/server';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-authorize-'));
const children: ChildProcess[] = [];
let cases = 0;
let guarded: Guarded;

// An MCP server, and an authorization server at another port.
class Guarded {
  readonly asked: string[] = [];
  readonly redirects = new Map<string, string[]>();
  readonly tokens = new Set<string>();
  readonly refreshes = new Set<string>();
  #challenge = '';
  #server!: Loopback;
  #authorization!: Loopback;

  async start(): Promise<this> {
    this.#server = await loopback((request, response) => void this.#serve(request, response));
    this.#authorization = await loopback(
      (request, response) => void this.#grant(request, response),
    );
    return this;
  }

  get url(): string {
    return `${this.#server.url}/mcp`;
  }

  async close(): Promise<void> {
    await Promise.all([this.#server.close(), this.#authorization.close()]);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const named = { resource: this.url, authorization_servers: [this.#authorization.url] };
      return send(response, named);
    }
    const { id, method } = JSON.parse((await bodyOf(request)) || '{}') as Record<string, unknown>;
    if (!this.tokens.has(request.headers.authorization ?? '')) {
      response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
      return;
    }
    const answers: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 'safe', version: '1' },
      },
      'tools/list': { tools: [{ name: 'look', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'seen' }] },
    };
    const result = answers[String(method)];
    if (result) return send(response, { jsonrpc: '2.0', id, result });
    response.writeHead(id === undefined ? 202 : 404).end();
  }

  async #grant(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const base = this.#authorization.url;
    const { pathname, searchParams } = new URL(request.url ?? '', base);
    this.asked.push(pathname);
    const body = await bodyOf(request);
    switch (pathname) {
      case '/.well-known/oauth-authorization-server':
        return send(response, {
          issuer: base,
          authorization_endpoint: `${base}/authorize`,
          token_endpoint: `${base}/token`,
          registration_endpoint: `${base}/register`,
          code_challenge_methods_supported: ['S256'],
        });
      case '/register': {
        const { redirect_uris } = JSON.parse(body) as { redirect_uris: string[] };
        const client_id = `client-${this.redirects.size}`;
        this.redirects.set(client_id, redirect_uris);
        return send(response, { client_id, redirect_uris }, 201);
      }
      case '/authorize':
        return this.#authorize(searchParams, response);
      default:
        return this.#token(new URLSearchParams(body), response);
    }
  }

  // The page where a person agrees.
  #authorize(wanted: URLSearchParams, response: ServerResponse): void {
    const place = wanted.get('redirect_uri') ?? '';
    if (!this.redirects.get(wanted.get('client_id') ?? '')?.includes(place)) {
      return send(response, { error: 'invalid redirect_uri' }, 400);
    }
    this.#challenge = wanted.get('code_challenge') ?? '';
    const back = new URL(place);
    back.searchParams.set('code', 'code');
    back.searchParams.set('state', wanted.get('state') ?? '');
    response.writeHead(302, { location: back.href }).end();
  }

  #token(form: URLSearchParams, response: ServerResponse): void {
    const grant = form.get('grant_type') ?? '';
    this.asked.push(grant);
    const hash = createHash('sha256').update(form.get('code_verifier') ?? '');
    const isGood =
      grant === 'refresh_token'
        ? this.refreshes.delete(form.get('refresh_token') ?? '')
        : hash.digest('base64url') === this.#challenge;
    if (!isGood) return send(response, { error: 'invalid_grant' }, 400);
    const number = this.asked.length;
    this.tokens.add(`Bearer access-${number}`);
    this.refreshes.add(`refresh-${number}`);
    send(response, { access_token: `access-${number}`, refresh_token: `refresh-${number}` });
  }
}

function send(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

interface Run {
  child: ChildProcess;
  home: string;
  /** What it wrote. */
  told: { out: string; err: string };
  code: Promise<number>;
}

function run(args: string[], env: Record<string, string> = {}): Run {
  const home = env['HOME'] ?? join(folder, `${cases++}`);
  const child = spawn(process.execPath, [cli, ...args], {
    env: { ...bareEnvironment, HOME: home, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const reported = { out: '', err: '' };
  child.stdout.on('data', (data) => (reported.out += String(data)));
  child.stderr.on('data', (data) => (reported.err += String(data)));
  const code = once(child, 'close').then(([value]) => value as number);
  return { child, home, told: reported, code };
}

/** Waits until the condition holds; programs start, and servers are tried again after some seconds. */
async function until(condition: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 40_000; Date.now() < end;) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`it never happened: ${what}`);
}

const printed = ({ told: reported }: Run): string =>
  /^ {2}(http\S+)$/m.exec(reported.err)?.[1] ?? '';

/** A person who opens the address that was printed; gives the page that they end at. */
async function visit(one: Run): Promise<string> {
  await until(() => printed(one) !== '', 'the address');
  return (await fetch(printed(one))).text();
}

function retained(home: string): string[] {
  const place = join(home, '.local/state/millrace/mcp');
  return readdirSync(place).map((name) => join(place, name));
}

// Programs start, which takes its time on a loaded machine.
jest.setTimeout(90_000);

beforeEach(async () => (guarded = await new Guarded().start()));
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await guarded.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('millrace mcp test', () => {
  it('has a person authorize, and keeps the tokens for the next time', async () => {
    const first = run(['mcp', 'test', '--call', 'look', guarded.url]);
    expect(await visit(first)).toContain('close this window');
    expect(await first.code).toBe(0);
    expect(first.told.out).toMatch(/look:\nseen\n$/);
    const [file = ''] = retained(first.home);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ server: guarded.url });

    const second = run(['mcp', 'test', guarded.url], { HOME: first.home });
    expect(await second.code).toBe(0);
    expect(second.told.err).toBe('');

    guarded.tokens.clear();
    const third = run(['mcp', 'test', guarded.url], { HOME: first.home });
    expect(await third.code).toBe(0);
    expect(third.told.err).toBe('');
    expect(guarded.asked.filter((what) => /^[a-z]/.test(what))).toEqual([
      'authorization_code',
      'refresh_token',
    ]);
  });

  it('comes back to the port that was registered, or registers anew where it is taken', async () => {
    const first = run(['mcp', 'test', guarded.url]);
    await visit(first);
    expect(await first.code).toBe(0);
    const forget = (): void => [guarded.tokens, guarded.refreshes].forEach((one) => one.clear());

    forget();
    const second = run(['mcp', 'test', guarded.url], { HOME: first.home });
    await visit(second);
    expect(await second.code).toBe(0);
    expect(guarded.redirects.size).toBe(1);

    forget();
    const [[place = ''] = []] = guarded.redirects.values();
    const squatter = await loopback((_request, response) => response.end());
    await squatter.close();
    await new Promise<void>((resolve) =>
      squatter.server.listen(Number(new URL(place).port), '127.0.0.1', resolve),
    );
    const third = run(['mcp', 'test', guarded.url], { HOME: first.home });
    await visit(third);
    expect(await third.code).toBe(0);
    expect(guarded.redirects.size).toBe(2);
    await squatter.close();
  });

  it('asks nobody, keeps nothing, and opens the address, as it is told', async () => {
    const never = run(['mcp', 'test', '--authorize', 'never', guarded.url]);
    expect(await never.code).toBe(1);
    expect(never.told.err).toMatch(/requires authorization by a user.*mcp_unauthorized/s);
    expect(guarded.asked).toEqual([]);

    const place = startableFolder();
    const browser = join(place, 'browser.cjs');
    writeFileSync(
      browser,
      `#!${process.execPath}\nfetch(process.argv[2]).then((r) => r.text());\n`,
    );
    chmodSync(browser, 0o755);
    const args = ['mcp', 'test', '--authorize', 'open', '--tokens', 'off', guarded.url];
    const open = run(args, { BROWSER: browser });
    expect(await open.code).toBe(0);
    expect(() => retained(open.home)).toThrow();
    rmSync(place, { recursive: true });
  });

  it('goes on where tokens cannot be kept', async () => {
    const file = join(folder, `${cases++}`);
    writeFileSync(file, '');
    const one = run(['mcp', 'test', '--tokens', join(file, 'tokens'), guarded.url]);
    await visit(one);
    expect(await one.code).toBe(0);
    expect(one.told.err).toContain('Tokens are not kept: ');
  });

  it('lets nobody else come back, and tells a refusal', async () => {
    const one = run(['mcp', 'test', guarded.url]);
    await until(() => printed(one) !== '', 'the address');
    const wanted = new URL(printed(one)).searchParams;
    const place = wanted.get('redirect_uri') ?? '';
    expect((await fetch(`${place}?code=stolen&state=guessed`)).status).toBe(404);
    expect((await fetch(new URL('/favicon.ico', place))).status).toBe(404);
    await fetch(`${place}?error=access_denied&state=${wanted.get('state') ?? ''}`);
    expect(await one.code).toBe(1);
    expect(one.told.err).toContain('The authorization was refused: access_denied.');
  });
});

describe('millrace serve --mcp', () => {
  function config(more: object = {}): string {
    const file = join(folder, `${cases++}.json`);
    const fixture = join(__dirname, '../fixtures/mcp-server.cjs');
    const mcpServers = {
      fix: { command: process.execPath, args: [fixture] },
      safe: { url: guarded.url, ...more },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    return file;
  }
  const start = (home: string, ...args: string[]): Run =>
    run(['serve', '--json', '--port', '0', '--model', 'demo:demo', ...args], { HOME: home });
  const ready = async ({ child }: Run) => {
    const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
    const [line] = (await once(lines, 'line')) as [string];
    return JSON.parse(line) as { url: string; mcp: { name: string; state: string }[] };
  };
  const toolsOf = async (url: string): Promise<string[]> => {
    const reported = (await (await fetch(`${url}/agent/capabilities`)).json()) as {
      tools: { items: { name: string }[] };
    };
    return reported.tools.items.map(({ name }) => name);
  };
  const newHome = (): string => join(folder, `${cases++}`);

  it('serves the others while a person authorizes one, and its tools after that', async () => {
    const one = start(newHome(), '--mcp', config());
    const { url, mcp } = await ready(one);
    expect(mcp.map(({ name, state }) => [name, state])).toEqual([
      ['fix', 'ready'],
      ['safe', 'unauthorized'],
    ]);
    expect(await toolsOf(url)).toContain('fix__echo');
    expect(await toolsOf(url)).not.toContain('safe__look');
    await visit(one);
    await until(() => one.told.err.includes('MCP server safe: 1 tool\n'), 'the tool');
    expect(await toolsOf(url)).toContain('safe__look');
    one.child.kill('SIGTERM');
    expect(await one.code).toBe(0);

    // The next one begins with the token that is kept, and refreshes one that has ended.
    guarded.tokens.clear();
    const next = start(one.home, '--mcp', config());
    expect((await ready(next)).mcp.map(({ state }) => state)).not.toContain('failed');
    await until(() => next.told.err.includes('MCP server safe: 1 tool\n'), 'the refresh');
    expect(printed(next)).toBe('');
  });

  it('takes tokens that another program got, and stops while it waits', async () => {
    const home = newHome();
    const one = start(home, '--mcp', config(), '--authorize', 'never');
    const { mcp } = await ready(one);
    expect(mcp.map(({ name }) => name)).toContain('safe');
    await until(() => /MCP server safe: .*millrace mcp test/.test(one.told.err), 'the hint');
    const person = run(['mcp', 'test', guarded.url], { HOME: home });
    await visit(person);
    expect(await person.code).toBe(0);
    await until(() => one.told.err.includes('MCP server safe: 1 tool\n'), 'the tokens');

    const waits = start(newHome(), '--mcp', config());
    await ready(waits);
    await until(() => printed(waits) !== '', 'the address');
    waits.child.kill('SIGTERM');
    expect(await waits.code).toBe(0);
  });

  it('waits for a person with --strict, and refuses settings that are none', async () => {
    const strict = start(newHome(), '--strict', '--mcp', config());
    await until(() => printed(strict) !== '', 'the address');
    expect(strict.told.out).toBe('');
    const reported = ready(strict);
    await visit(strict);
    expect((await reported).mcp.map(({ state }) => state)).toEqual(['ready', 'ready']);

    const wrong = start(newHome(), '--mcp', config({ oauth: { callbackPort: 'x' } }), '--strict');
    expect(await wrong.code).toBe(1);
    expect(wrong.told.err).toContain('MCP server safe: ');
    expect(wrong.told.err).toContain('callbackPort');
  });
});

describe('fileOAuthStore', () => {
  it('keeps what was saved last, and names what is no address', async () => {
    const store = fileOAuthStore(join(folder, 'order'));
    const server = 'https://mcp.example/';
    const issuers = Array.from({ length: 30 }, (_one, at) => `https://login.example/${at}`);
    await Promise.all(issuers.map(async (issuer) => store.save(server, { issuer })));
    expect(await store.load(server)).toEqual({ issuer: issuers.at(-1) });
    for (const used of [store.load('x'), store.save('', { issuer: 'x' })]) {
      await expect(used).rejects.toMatchObject({ code: 'invalid_argument' });
    }
  });
});

describe('connectMCPServers', () => {
  it('names entries that are none, whatever they are called', async () => {
    const config = '{"mcpServers":{"a":null,"__proto__":{"command":"/no/such/program"}}}';
    const servers = await connectMCPServers(JSON.parse(config) as never);
    expect(Object.keys(servers.failures).sort()).toEqual(['__proto__', 'a']);
    expect(servers.failures['a']).toMatchObject({
      code: 'invalid_option',
      message: 'The MCP server a must be described by an object, not null.',
    });
    await servers.close();
  });

  it('authorizes servers without a token of their own', async () => {
    const store = fileOAuthStore(join(folder, 'library'));
    const redirectUrl = 'http://127.0.0.1:1/callback';
    const authorize = async (url: URL): Promise<string> =>
      (await fetch(url, { redirect: 'manual' })).headers.get('location') ?? '';
    const guard = { allow: ['127.0.0.1'] };
    const auth = new OAuth({ redirectUrl, authorize, store, guard, proxy: '' });
    const headers = { Authorization: 'Bearer wrong' };
    const servers = await connectMCPServers(
      { mcpServers: { safe: { url: guarded.url }, other: { url: guarded.url, headers } } },
      { auth },
    );
    expect(Object.keys(servers.clients)).toEqual(['safe']);
    expect(servers.failures['other']?.code).toBe('mcp_unauthorized');
    await servers.close();
    expect(await store.load(guarded.url)).toMatchObject({
      tokens: { access_token: expect.stringContaining('access') as string },
    });
    expect(await store.load(`${guarded.url}2`)).toBeUndefined();
    const token = { type: 'bearer', token: 'x' };
    await expect(connectMCPServers({ mcpServers: {} }, { auth: token as never })).rejects.toThrow(
      /for one/,
    );
  });
});
