// createMCPClient: a connection to one MCP server.
import type {
  MCPImplementation,
  MCPPrompt,
  MCPPromptResult,
  MCPRequestOptions,
  MCPResource,
  MCPResourceContents,
  MCPResourceTemplate,
  MCPTool,
  MCPToolResult,
} from '../../types/mcp';
import { noListener, onAbort, throwIfAborted } from '../abort';
import type { RunnableTool } from '../tool/types';
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { authorizationOf, headersOf } from './authorization';
import { type ConnectionHost, MCPConnection, type MCPServer } from './connection';
import { checkClientOptions, checkReach, type MCPClientOptions, reachOf } from './reach';
import { type MCPToolsOptions, hostTools } from './tools';

/**
 * A connection to one MCP server. A program that ended, or a session that the server forgot, is opened
 * again for the next call; a call that may have had an effect is never repeated.
 */
export class MCPClient {
  readonly #connection: MCPConnection;
  readonly #options: MCPClientOptions;
  #server!: MCPServer;
  readonly #seen = new Map<string, string>();
  // Of 2026-07-28: the stream of changes, and the resources that it tells of.
  #listening: AbortController | undefined;
  readonly #subscribed = new Set<string>();
  #logLevel: string | undefined;
  #closing = false;

  private constructor(options: MCPClientOptions) {
    this.#options = options;
    const { roots, onElicitation, onSampling, samplingTools } = options;
    const capabilities = {
      ...(roots && { roots: { listChanged: true } }),
      ...(onElicitation && { elicitation: { form: { applyDefaults: true }, url: {} } }),
      ...(onSampling && { sampling: samplingTools ? { tools: {} } : {} }),
    };
    const auth =
      'url' in options
        ? authorizationOf(options.auth, String(options.url), options.headers)
        : undefined;
    const host: ConnectionHost = {
      handlers: {
        'elicitation/create': onElicitation,
        'sampling/createMessage': onSampling,
        'roots/list':
          roots && (async () => ({ roots: typeof roots === 'function' ? await roots() : roots })),
      },
      onNotification: (method, params) => this.#notified(method, params),
      onOpened: (server) => this.#opened(server),
      onWrote: (line) => options.onStderr?.(line),
      onUnauthorized: async (status, challenge) => {
        if (auth) return auth(status, challenge);
        throw new MillraceError(
          'mcp_unauthorized',
          `The MCP server requires authorization (HTTP status ${status}); give \`auth\` or headers.`,
        );
      },
    };
    this.#connection = new MCPConnection(
      {
        ...reachOf(options),
        capabilities,
      },
      host,
    );
  }

  /** Resolves when the server has opened the connection. */
  static async connect(options: MCPClientOptions): Promise<MCPClient> {
    checkReach('The MCP server', options);
    checkClientOptions(options);
    const { signal } = options;
    throwIfAborted(signal);
    const reach = { ...options };
    if ('url' in reach && reach.url !== undefined) {
      const authorized = await headersOf(reach.auth, String(reach.url));
      reach.headers = { ...reach.headers, ...authorized };
    }
    const client = new MCPClient(reach);
    let settled = noListener;
    const aborted = new Promise<never>((_resolve, reject) => {
      settled = onAbort(signal, () => {
        void client.close();
        reject(signal?.reason as Error);
      });
    });
    try {
      await Promise.race([client.#connection.opened(), aborted]);
      return client;
    } catch (error) {
      throw withHint(error, options);
    } finally {
      settled();
    }
  }

  /** The server's name in the names of its tools. */
  get name(): string {
    const own: unknown = this.serverInfo?.name;
    return this.#options.name ?? (typeof own === 'string' ? own : 'mcp');
  }

  get serverInfo(): MCPImplementation | undefined {
    return this.#server.serverInfo;
  }

  get capabilities(): MCPServer['capabilities'] {
    return this.#server.capabilities;
  }

  get instructions(): string | undefined {
    return this.#server.instructions;
  }

  get protocolVersion(): string {
    return this.#server.protocolVersion;
  }

  /** Any request of the protocol. */
  request<T = Record<string, unknown>>(
    method: string,
    params: object = {},
    options?: MCPRequestOptions,
  ): Promise<T> {
    return this.#connection.request(method, params, options);
  }

  /** All tools, from all pages. */
  async listTools(options?: MCPRequestOptions): Promise<MCPTool[]> {
    const tools = await this.#list<MCPTool>('tools/list', 'tools', options);
    return tools.filter(({ name }) => typeof name === 'string' && name !== '');
  }

  /**
   * The server's tools for createAgentToolsEngine. Their names begin with the server's. A person is
   * asked before a call, unless the server is trusted and describes the tool as it did before.
   */
  async tools(options: MCPToolsOptions = {}): Promise<RunnableTool<Record<string, unknown>>[]> {
    // With those that have no name, which are reported.
    const listed = await this.#list<MCPTool>('tools/list', 'tools', options);
    return hostTools(this, listed, {
      ...options,
      trusted: options.trusted ?? this.#options.trusted ?? false,
      seen: this.#seen,
      stream: this.#connection.stream,
    });
  }

  callTool(name: string, args?: object, options?: MCPRequestOptions): Promise<MCPToolResult>;
  /** The same with a record, as clients of the official SDK give it. */
  callTool(call: MCPToolCall, options?: MCPRequestOptions): Promise<MCPToolResult>;
  // No async function: one more promise for each call, and a compilation that costs as much as a hundred of them.
  callTool(
    call: string | MCPToolCall,
    given?: object | MCPRequestOptions,
    last?: MCPRequestOptions,
  ): Promise<MCPToolResult> {
    const isName = typeof call === 'string';
    const options = isName ? last : (last ?? given);
    const params = isName ? toolCall(call, given) : toolCall(call?.name, call?.arguments);
    if (params instanceof MillraceError) return Promise.reject(params);
    if (this.#logLevel && this.#isPerRequest) {
      params._meta = { 'io.modelcontextprotocol/logLevel': this.#logLevel };
    }
    return this.#connection.request<MCPToolResult>('tools/call', params, options).then(withContent);
  }

  async listResources(options?: MCPRequestOptions): Promise<MCPResource[]> {
    return this.#list('resources/list', 'resources', options);
  }

  async listResourceTemplates(options?: MCPRequestOptions): Promise<MCPResourceTemplate[]> {
    return this.#list('resources/templates/list', 'resourceTemplates', options);
  }

  readResource(
    uri: string,
    options?: MCPRequestOptions,
  ): Promise<{ contents: MCPResourceContents[] }> {
    return this.#connection.request('resources/read', { uri }, options);
  }

  /** Has the server tell when the resource changes, through onResourceUpdated. */
  async subscribeResource(uri: string, options?: MCPRequestOptions): Promise<void> {
    if (this.#isPerRequest) {
      this.#subscribed.add(uri);
      void this.#listen();
      return;
    }
    await this.#connection.request('resources/subscribe', { uri }, options);
  }

  async unsubscribeResource(uri: string, options?: MCPRequestOptions): Promise<void> {
    if (this.#isPerRequest) {
      this.#subscribed.delete(uri);
      void this.#listen();
      return;
    }
    await this.#connection.request('resources/unsubscribe', { uri }, options);
  }

  async listPrompts(options?: MCPRequestOptions): Promise<MCPPrompt[]> {
    return this.#list('prompts/list', 'prompts', options);
  }

  getPrompt(
    name: string,
    args: Record<string, string> = {},
    options?: MCPRequestOptions,
  ): Promise<MCPPromptResult> {
    return this.#connection.request('prompts/get', { name, arguments: args ?? {} }, options);
  }

  /** What could stand for an argument of a prompt or of a resource template. */
  async complete(
    ref: { type: 'ref/prompt'; name: string } | { type: 'ref/resource'; uri: string },
    argument: { name: string; value: string },
    options?: MCPRequestOptions,
  ): Promise<{ values: string[]; total?: number; hasMore?: boolean }> {
    const { completion } = await this.#connection.request<{ completion: { values: string[] } }>(
      'completion/complete',
      { ref, argument },
      options,
    );
    return completion;
  }

  async setLogLevel(level: string, options?: MCPRequestOptions): Promise<void> {
    // In 2026-07-28 each request names the notifications that it gets.
    this.#logLevel = level;
    if (this.#isPerRequest) return;
    await this.#connection.request('logging/setLevel', { level }, options);
  }

  async ping(options?: MCPRequestOptions): Promise<void> {
    // 2026-07-28 has no ping; a server that answers this is there.
    const method = this.#isPerRequest ? 'server/discover' : 'ping';
    await this.#connection.request(method, {}, options);
  }

  /** Tells the server that the roots are others now. */
  rootsChanged(): void {
    this.#connection.notify('notifications/roots/list_changed', {});
  }

  /** Ends the session and the program; calls that run are rejected. */
  close(): Promise<void> {
    this.#closing = true;
    return this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #list<T>(method: string, key: string, options?: MCPRequestOptions): Promise<T[]> {
    const { signal, timeoutMs, maxTotalMs } = options ?? {};
    const limits = { signal, timeoutMs, maxTotalMs };
    const answer = await this.#connection.request<Record<string, T[]>>(method, {}, limits, key);
    // A server may list anything; what is no object is nothing.
    return (answer[key] ?? []).filter((one) => typeof one === 'object' && one !== null);
  }

  get #isPerRequest(): boolean {
    return this.protocolVersion === '2026-07-28';
  }

  // What the server shall tell of, or nothing.
  #filter(): object | undefined {
    const { onToolsChanged, onResourcesChanged, onPromptsChanged } = this.#options;
    const { tools, resources, prompts } = this.capabilities;
    const filter = {
      ...(onToolsChanged && tools && { toolsListChanged: true }),
      ...(onResourcesChanged && resources && { resourcesListChanged: true }),
      ...(onPromptsChanged && prompts && { promptsListChanged: true }),
      ...(this.#subscribed.size > 0 && { resourceSubscriptions: [...this.#subscribed] }),
    };
    return Object.keys(filter).length > 0 ? filter : undefined;
  }

  // In 2026-07-28 a server tells of changes on a stream that is asked for, and asked for again when it
  // ends or something else shall be told.
  async #listen(): Promise<void> {
    if (this.#listening) {
      this.#listening.abort();
      return;
    }
    let pause = 1000;
    for (let filter = this.#filter(); filter && !this.#closing; filter = this.#filter()) {
      const begin = Date.now();
      const { signal } = (this.#listening = new AbortController());
      const refusal: unknown = await this.#connection
        .request('subscriptions/listen', { notifications: filter }, { timeoutMs: 0, signal })
        .then(() => undefined)
        .catch((error: unknown) => error);
      if (signal.aborted) continue;
      // A server that knows no such stream says so, and is not asked again.
      if (MillraceError.is(refusal, 'mcp_error') || this.#closing) break;
      if (Date.now() - begin > pause) pause = 1000;
      await new Promise((resolve) => setTimeout(resolve, pause).unref());
      pause = Math.min(2 * pause, 60_000);
    }
    this.#listening = undefined;
  }

  #opened(server: MCPServer): void {
    this.#server = server;
    if (this.#isPerRequest) void this.#listen();
    if (!server.reopened) return;
    const { tools, resources, prompts } = server.capabilities;
    if (tools) this.#options.onToolsChanged?.();
    if (resources) this.#options.onResourcesChanged?.();
    if (prompts) this.#options.onPromptsChanged?.();
  }

  #notified(method: string, params: Record<string, unknown>): void {
    const options = this.#options;
    const listeners: Record<string, (() => void) | undefined> = {
      'notifications/message': () => options.onLog?.(params as never),
      'notifications/tools/list_changed': options.onToolsChanged,
      'notifications/resources/list_changed': options.onResourcesChanged,
      'notifications/prompts/list_changed': options.onPromptsChanged,
      'notifications/resources/updated': () => options.onResourceUpdated?.(String(params['uri'])),
    };
    options.onNotification?.(method, params);
    listeners[method]?.();
  }
}

/** A call of a tool as a record. */
export interface MCPToolCall {
  name: string;
  arguments?: object | null | undefined;
}

// A whole command line in the place of a program is the usual mistake.
function withHint(error: unknown, options: MCPClientOptions): unknown {
  const { command } = options as { command?: string };
  const isLine =
    MillraceError.is(error, 'process_start_failed') && /\s/.test(command?.trim() ?? '');
  if (!isLine) return error;
  const { message, detail } = error;
  return new MillraceError(
    'process_start_failed',
    `${message} \`command\` names the program alone: its arguments belong in \`args\`.`,
    { ...(detail !== undefined && { detail }), cause: error },
  );
}

// Servers that have nothing to say leave it out.
function withContent(result: MCPToolResult): MCPToolResult {
  result.content ??= [];
  return result;
}

interface ToolCallParams {
  name: string;
  arguments: object;
  _meta?: Record<string, unknown>;
}

function toolCall(name: unknown, given: unknown): ToolCallParams | MillraceError {
  if (typeof name !== 'string' || name === '') {
    return new MillraceError(
      'invalid_argument',
      `The name of the tool to call must be a non-empty string, not ${shown(name)}.`,
    );
  }
  const args = given ?? {};
  if (typeof args === 'object' && !Array.isArray(args)) return { name, arguments: args };
  return new MillraceError(
    'invalid_argument',
    `The arguments of ${name} must be an object, not ${shown(args)}.`,
  );
}

/** Connects to an MCP server; rejects with a MillraceError that says why it cannot. */
export function createMCPClient(options: MCPClientOptions): Promise<MCPClient> {
  return MCPClient.connect(options);
}
