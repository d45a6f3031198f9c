// Authorizations of MCP servers from the command line: tokens in files, and a person who opens an address and
// comes back to a listener on this machine.
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { MillraceError } from '../errors';
import type { MCPAuthorizer } from '../mcp/authorization';
import { OAuth } from '../mcp/oauth';
import { fileOAuthStore } from '../mcp/oauth-files';
import type { MCPEntryOAuth } from '../mcp/servers';
import { inMemoryOAuthStore, type OAuthRecord, type OAuthStore } from '../mcp/oauth-records';
import { proxyFromEnvironment } from '../transport/route';
import { type CallbackListener, listenForCallback } from './callback-listener';
import { messageOf } from '../thrown';
import { plain, UsageError } from './command';

/** How a command authorizes. */
export interface AuthorizationChoice {
  how: 'print' | 'open' | 'never';
  store: OAuthStore;
  report: (text: string) => void;
  /** Where a person may paste the address, too. */
  input?: NodeJS.ReadableStream;
  authorizationTimeoutMs?: number;
}

const ways: readonly string[] = ['print', 'open', 'never'] satisfies AuthorizationChoice['how'][];
const defaultTimeoutMs = 300_000;

/** Where tokens are kept when nothing else is said. */
export function tokenFolder(env: NodeJS.ProcessEnv = process.env): string {
  const base = env['XDG_STATE_HOME'] || join(env['HOME'] || homedir(), '.local', 'state');
  return join(base, 'millrace', 'mcp');
}

/** Options of commands that authorize. */
export const authorizationOptions = {
  authorize: { type: 'string' },
  tokens: { type: 'string' },
} as const;

// Names, addresses and errors are a server's words.
const report = (text: string): void => void process.stderr.write(plain(text));

// A folder that cannot be used costs the next time, not this one.
function forgiving(store: OAuthStore, report: (text: string) => void): OAuthStore {
  // What could not be kept in the folder.
  const memory = new Map<string, OAuthRecord>();
  const lost = (error: unknown): undefined => {
    report(`Tokens are not kept: ${messageOf(error)}\n`);
    return undefined;
  };
  return {
    load: async (server) => {
      try {
        return memory.get(server) ?? (await store.load(server));
      } catch (error) {
        return lost(error);
      }
    },
    save: async (server, record) => {
      try {
        await store.save(server, record);
        memory.delete(server);
      } catch (error) {
        lost(error);
        memory.set(server, record);
      }
    },
  };
}

/** Reads them. */
export function authorizationChoice(values: {
  authorize?: string | undefined;
  tokens?: string | undefined;
}): AuthorizationChoice {
  const { authorize: how = 'print', tokens = tokenFolder() } = values;
  if (!ways.includes(how)) {
    throw new UsageError(`--authorize must be ${ways.join(', ')}, not '${how}'.`);
  }
  return {
    how: how as AuthorizationChoice['how'],
    store: tokens === 'off' ? inMemoryOAuthStore() : forgiving(fileOAuthStore(tokens), report),
    report,
  };
}

function openInBrowser(url: string, report: (text: string) => void): void {
  const program = process.env['BROWSER'] || (process.platform === 'darwin' ? 'open' : 'xdg-open');
  const child = spawn(program, [url], { stdio: 'ignore', detached: true });
  child.on('error', () => report(`'${program}' cannot be started: open the address yourself.\n`));
  child.unref();
}

function unauthorized(message: string, cause?: unknown): MillraceError {
  return new MillraceError('mcp_unauthorized', message, { cause });
}

// The port of a registration counts: many authorization servers take no other one.
function portOf(record: OAuthRecord | undefined): number {
  const [place] = record?.client?.redirect_uris ?? [];
  if (typeof place !== 'string' || !URL.canParse(place)) return 0;
  const { hostname, port } = new URL(place);
  return hostname === '127.0.0.1' ? Number(port) : 0;
}

/** Authorizes one MCP server; for `auth` of createMCPClient. */
export class CommandLineAuthorization {
  readonly #name: string;
  readonly #server: string;
  readonly #settings: MCPEntryOAuth;
  readonly #choice: AuthorizationChoice;
  readonly #oauth: OAuth;
  readonly #closed = new AbortController();
  #listener: CallbackListener | undefined;
  // Why the browser could not come back.
  #unheard: Error | undefined;
  // A person who did not come, or refused, is not asked again and again.
  #wasInVain = false;

  constructor(name: string, server: string, settings: MCPEntryOAuth, choice: AuthorizationChoice) {
    this.#name = name;
    this.#server = server;
    this.#settings = settings;
    this.#choice = choice;
    const { clientId, clientSecret, issuer, scope, hosts } = settings;
    const redirectUrl = (): string => this.#listener?.url ?? 'http://127.0.0.1/callback';
    this.#oauth = new OAuth({
      get redirectUrl() {
        return redirectUrl();
      },
      authorize: (url) => this.#request(url),
      store: choice.store,
      clientMetadata: { client_name: 'Millrace', ...(scope !== undefined && { scope }) },
      ...(clientId !== undefined && {
        client: {
          client_id: clientId,
          ...(clientSecret !== undefined && { client_secret: clientSecret }),
          ...(issuer !== undefined && { issuer }),
        },
      }),
      // The operator's own proxy is the only way out where there is one.
      guard: {
        ...(hosts && { allow: hosts }),
        trustsProxy: proxyFromEnvironment() !== undefined,
      },
    });
  }

  /** The headers of the first request. */
  headers(server: string): Promise<Record<string, string>> {
    return this.#oauth.headers(server);
  }

  readonly authorize: MCPAuthorizer = async (refusal) => {
    const record = await this.#choice.store.load(refusal.url);
    if (!this.#mayRequest() && !record?.tokens) throw this.#notAuthorized(refusal.url);
    try {
      this.#listener = await this.#listen(portOf(record));
    } catch (error) {
      // Kept tokens may do without a person.
      if (!record?.tokens) throw error;
      this.#unheard = error as Error;
    }
    try {
      const headers = await this.#oauth.authorize(refusal);
      this.#wasInVain = false;
      return headers;
    } finally {
      this.#listener?.close();
      this.#listener = undefined;
      this.#unheard = undefined;
    }
  };

  /** Waits for no answer any more. */
  close(): void {
    this.#closed.abort();
  }

  #mayRequest(): boolean {
    return this.#choice.how !== 'never' && !this.#wasInVain;
  }

  #notAuthorized(server: string): MillraceError {
    return unauthorized(
      `The MCP server ${this.#name} requires authorization by a user; run 'millrace mcp test ${server}'.`,
    );
  }

  async #listen(registered: number): Promise<CallbackListener> {
    const { callbackPort } = this.#settings;
    try {
      return await listenForCallback(callbackPort ?? registered);
    } catch (error) {
      if (callbackPort === undefined && registered !== 0) return listenForCallback(0);
      throw unauthorized(`The callback port ${callbackPort} cannot be opened.`, error);
    }
  }

  async #request(url: URL): Promise<string> {
    if (!this.#mayRequest()) throw this.#notAuthorized(this.#server);
    if (this.#unheard) throw this.#unheard;
    const { how, report, input, authorizationTimeoutMs = defaultTimeoutMs } = this.#choice;
    const { signal } = this.#closed;
    const state = url.searchParams.get('state') ?? '';
    const paste = input ? ', or paste here the address that it ends at' : '';
    report(
      `MCP server ${this.#name} wants an authorization. Open this address in a browser${paste}:\n\n` +
        `  ${url.href}\n\n`,
    );
    if (how === 'open') openInBrowser(url.href, report);
    let stop = (): void => undefined;
    const given = new Promise<never>((_resolve, reject) => {
      const late = (): void =>
        reject(unauthorized(`The MCP server ${this.#name} was not authorized in time; try again.`));
      const timer = setTimeout(late, authorizationTimeoutMs);
      const closed = (): void => reject(unauthorized('The authorization was cancelled.'));
      signal.addEventListener('abort', closed, { once: true });
      if (signal.aborted) closed();
      stop = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', closed);
      };
    });
    const lines = input && createInterface({ input });
    const pasted = new Promise<string>((resolve) => {
      lines?.on('line', (line) => {
        if (line.includes(state)) resolve(line.trim());
      });
    });
    this.#wasInVain = true;
    try {
      return await Promise.race([this.#listener?.arrival(state) ?? given, pasted, given]);
    } finally {
      stop();
      lines?.close();
    }
  }
}
