// The engine's MCP client as promises: requests out, answers and the server's questions in.
import type { MCPImplementation, MCPProgress, MCPRequestOptions } from '../../types/mcp';
import { noListener, onAbort, throwIfAborted } from '../abort';
import type { Addon } from '../addon';
import { MillraceError, errorFromNative, rethrow } from '../errors';
import { limitOf } from '../limits';
import { shown } from '../shown';
import { engine } from '../transport/engine';
import { memberOf, messageOf } from '../thrown';

/** What a server said when the connection was opened. */
export interface MCPServer {
  protocolVersion: string;
  serverInfo?: MCPImplementation;
  capabilities: Record<string, Record<string, unknown> | undefined>;
  instructions?: string;
  /** The connection was opened again: lists may have changed. */
  reopened: boolean;
}

export type MCPHandler = (params: never, context: { signal: AbortSignal }) => unknown;

export interface ConnectionHost {
  /** By method; a question without a handler is refused. */
  handlers: Record<string, MCPHandler | undefined>;
  onNotification(method: string, params: Record<string, unknown>): void;
  onOpened(server: MCPServer): void;
  /** A line of the program's standard error. */
  onWrote(line: string): void;
  /** Gives the headers of an authorization, or throws. */
  onUnauthorized(status: number, challenge: string): Promise<Record<string, string>>;
}

type Item =
  | { type: 'opened'; info: MCPServer }
  | { type: 'settled'; call: number; result?: unknown; error?: object; rpc?: RpcError }
  | { type: 'progress'; call: number; params: MCPProgress }
  | { type: 'asked'; question: number; call: number; method: string; params: never }
  | { type: 'withdrawn'; question: number }
  | { type: 'notified'; method: string; params: Record<string, unknown> }
  | { type: 'wrote'; line: string }
  | { type: 'unauthorized'; status: number; challenge: string };

/** The error object of a server, as `cause` of an `mcp_error`. */
export interface RpcError {
  code: number;
  message: string;
  data?: unknown;
}

interface Waiting {
  resolve: (result: never) => void;
  reject: (error: unknown) => void;
  options: MCPRequestOptions | undefined;
  settled: () => void;
}

const methodNotFound = -32601;
const internalError = -32603;

export class MCPConnection {
  readonly #native: Addon;
  readonly #stream: number;
  readonly #host: ConnectionHost;
  readonly #waiting = new Map<number, Waiting>();
  readonly #questions = new Map<number, AbortController>();
  readonly #opened: Promise<MCPServer>;
  #resolveOpened!: (server: MCPServer) => void;
  #rejectOpened!: (error: unknown) => void;
  #resolveClosed!: () => void;
  readonly #closed = new Promise<void>((resolve) => (this.#resolveClosed = resolve));
  #nextCall = 1;
  #over: { error: unknown } | undefined;
  // One authorization at a time; refusals that come meanwhile are part of it.
  #authorizing = false;

  constructor(options: object, host: ConnectionHost) {
    this.#host = host;
    this.#opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve;
      this.#rejectOpened = reject;
    });
    this.#opened.catch(() => undefined);
    this.#native = engine();
    try {
      this.#stream = this.#native.startMcpClient(JSON.stringify(options), this.#deliver);
    } catch (error) {
      rethrow(error);
    }
  }

  /** Its number in the engine. */
  get stream(): number {
    return this.#stream;
  }

  opened(): Promise<MCPServer> {
    return this.#opened;
  }

  request<T>(
    method: string,
    params: object,
    options?: MCPRequestOptions,
    list?: string,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#over) throw this.#over.error;
      throwIfAborted(options?.signal);
      const text = requestText(method, params);
      const callOptions = optionsText(method, options, list);
      const call = this.#nextCall++;
      const settled = options?.signal ? this.#cancelWith(options.signal, call) : noListener;
      this.#waiting.set(call, { resolve, reject, options, settled });
      this.#command('call', call, text, callOptions);
    });
  }

  #cancelWith(signal: AbortSignal, call: number): () => void {
    return onAbort(signal, () => this.#command('cancel', call, messageOf(signal.reason)));
  }

  notify(method: string, params: object): void {
    if (!this.#over) this.#command('notify', 0, JSON.stringify(params), method);
  }

  /** Ends calls, session and program; resolves when they have ended. */
  close(): Promise<void> {
    if (!this.#over) this.#command('close', 0);
    return this.#closed;
  }

  #command(name: string, id: number, text = '', options = ''): void {
    this.#native.command(this.#stream, name, id, text, options);
  }

  readonly #deliver = (_head?: string, data?: string | Buffer, end?: string): boolean => {
    if (data !== undefined) {
      for (const item of JSON.parse(data as string) as Item[]) this.#take(item);
    }
    if (end !== undefined) this.#end(end);
    return end === undefined;
  };

  #take(item: Item): void {
    switch (item.type) {
      case 'opened':
        this.#resolveOpened(item.info);
        this.#host.onOpened(item.info);
        break;
      case 'settled':
        this.#settle(item);
        break;
      case 'progress':
        quietly(() => this.#waiting.get(item.call)?.options?.onProgress?.(item.params));
        break;
      case 'asked':
        void this.#answer(item);
        break;
      case 'withdrawn':
        this.#questions.get(item.question)?.abort();
        this.#questions.delete(item.question);
        break;
      case 'notified':
        quietly(() => this.#host.onNotification(item.method, item.params));
        break;
      case 'wrote':
        quietly(() => this.#host.onWrote(item.line));
        break;
      case 'unauthorized':
        void this.#authorize(item.status, item.challenge);
    }
  }

  #settle({ call, result, error, rpc }: Item & { type: 'settled' }): void {
    const waiting = this.#waiting.get(call);
    if (!waiting) return;
    this.#waiting.delete(call);
    const { options, settled, resolve, reject } = waiting;
    settled();
    if (!error) resolve(result as never);
    else if (options?.signal?.aborted) reject(options.signal.reason);
    else reject(errorFromNative(JSON.stringify(error), rpc));
  }

  async #answer({ question, method, params }: Item & { type: 'asked' }): Promise<void> {
    const handler = this.#host.handlers[method];
    if (!handler) {
      this.#command('refuse', question, `No handler for ${method}.`, String(methodNotFound));
      return;
    }
    const controller = new AbortController();
    this.#questions.set(question, controller);
    try {
      const answer = await handler(params, { signal: controller.signal });
      if (!this.#over) this.#command('answer', question, JSON.stringify(answer ?? {}));
    } catch (error) {
      const code = memberOf(error, 'code');
      const known = typeof code === 'number' ? code : internalError;
      if (!this.#over) this.#command('refuse', question, messageOf(error), String(known));
    } finally {
      this.#questions.delete(question);
    }
  }

  async #authorize(status: number, challenge: string): Promise<void> {
    if (this.#authorizing) return;
    this.#authorizing = true;
    try {
      const headers = await this.#host.onUnauthorized(status, challenge);
      if (!this.#over) this.#command('authorize', 0, JSON.stringify(headers));
    } catch (error) {
      if (!this.#over) this.#command('unauthorized', 0, messageOf(error));
    } finally {
      this.#authorizing = false;
    }
  }

  #end(end: string): void {
    const error =
      end === ''
        ? new MillraceError('mcp_connection_failed', 'The MCP client is closed.')
        : errorFromNative(end);
    this.#over = { error };
    this.#rejectOpened(error);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    for (const controller of this.#questions.values()) controller.abort();
    this.#questions.clear();
    this.#resolveClosed();
  }
}

// What a request holds beside its name; numbers of BigInt and values that hold themselves are no JSON.
function requestText(method: string, params: object): string {
  const wrong = (what: string, cause?: unknown): MillraceError =>
    new MillraceError('invalid_argument', what, { cause });
  if (typeof method !== 'string' || method === '')
    throw wrong(`The method of a request must be a non-empty string, not ${shown(method)}.`);
  if (typeof params !== 'object' || params === null || Array.isArray(params)) {
    throw wrong(`The parameters of ${method} must be an object, not ${shown(params)}.`);
  }
  try {
    return JSON.stringify(params);
  } catch (error) {
    throw wrong(`The parameters of ${method} cannot be sent: ${messageOf(error)}`, error);
  }
}

// What the engine is to know of a request beside its text.
function optionsText(
  method: string,
  options: MCPRequestOptions | undefined,
  list: string | undefined,
): string {
  if (!options && list === undefined) return JSON.stringify({ method });
  const timeoutMs = timeOf('timeoutMs', options?.timeoutMs);
  const totalMs = timeOf('maxTotalMs', options?.maxTotalMs);
  return JSON.stringify({ method, list, timeoutMs, totalMs, progress: !!options?.onProgress });
}

// What is left of somebody's time may be less than nothing.
function timeOf(name: string, value: number | undefined): number | undefined {
  if (value === undefined || !(value < 0)) return limitOf(name, value);
  throw new MillraceError('tool_timeout', `No time is left for the request: ${name} is ${value}.`);
}

// A listener's failure is not the connection's.
function quietly(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
