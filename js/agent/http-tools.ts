// What HTTP plugins and OpenAPI tools share: one guarded request, and its answer as a tool's result.
import { addon } from '../addon';
import { MillraceError } from '../errors';
import type { AddressGuard } from '../transport/engine';
import { engineFetch } from '../transport/engine';
import type { RouteOptions } from '../transport/route';

/** How requests of plugins and OpenAPI tools are sent. */
export interface HttpToolOptions {
  /** Headers for a request, such as Authorization; asked before each one. */
  auth?: (context: {
    identifier: string;
    apiName: string;
    url: string;
    signal: AbortSignal | undefined;
  }) => Record<string, string> | undefined | Promise<Record<string, string> | undefined>;
  /** What may be reached besides the public internet. */
  guard?: AddressGuard;
  /** The way out, for a guard that trusts it (`trustsProxy`); none when absent. */
  proxy?: RouteOptions['proxy'];
  /** Milliseconds for a call; 60,000 when absent. */
  timeoutMs?: number;
  /** Characters of a result; 25,000 when absent. */
  maxResult?: number;
}

/** How a call ended. Failures are results, which the model reads. */
export interface HttpToolResult {
  content: string;
  success: boolean;
  error?: { type: string; message: string; body?: unknown };
}

const defaultTimeoutMs = 60_000;
const defaultMaxResult = 25_000;
const mostBytes = 4 << 20;

export function failed(type: string, message: string, body?: unknown): HttpToolResult {
  const error = { type, message, ...(body !== undefined && { body }) };
  return { content: message, success: false, error };
}

/** Makes foreign text safe to stand in a conversation, and short enough. */
export function resultText(text: string, most: number = defaultMaxResult): string {
  return addon().resultText(text, most);
}

export interface HttpToolRequest {
  identifier: string;
  apiName: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends one request; rejects only with the signal's reason. */
export async function send(
  request: HttpToolRequest,
  options: HttpToolOptions,
): Promise<HttpToolResult> {
  const { identifier, apiName, method, url, body, signal } = request;
  try {
    const auth = await options.auth?.({ identifier, apiName, url, signal });
    const response = await engineFetch({
      method,
      url,
      headers: Object.entries({ ...request.headers, ...auth }),
      body,
      signal,
      guard: options.guard ?? {},
      ...(options.proxy !== undefined && { proxy: options.proxy }),
      timeouts: { total: options.timeoutMs ?? defaultTimeoutMs },
      // What is longer is cut here.
      limits: { decodedBytes: 0 },
    });
    const content = await contentOf(response, options.maxResult);
    if (response.ok) return { content, success: true };
    return refused(response.status, content);
  } catch (error) {
    signal?.throwIfAborted();
    const code = MillraceError.is(error) ? error.code : 'tool_failed';
    return failed(code, resultText(error instanceof Error ? error.message : String(error)));
  }
}

// As much of an answer as a result may need; the rest is not waited for.
async function contentOf(response: Response, limit: number | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    bytes += chunk.length;
    if (bytes <= mostBytes) continue;
    return `${resultText(text, limit)}\n[the answer is longer than ${mostBytes} bytes]`;
  }
  return resultText(text + decoder.decode(), limit);
}

// A gateway says `{ errorType, body }`; anybody else what they like.
function refused(status: number, content: string): HttpToolResult {
  try {
    const said = JSON.parse(content) as { errorType?: unknown; body?: unknown };
    if (typeof said.errorType === 'string') {
      const { message } = (said.body ?? {}) as { message?: unknown };
      const sentence = typeof message === 'string' ? `: ${message}` : '.';
      return failed(said.errorType, resultText(`The plugin failed${sentence}`), said.body);
    }
  } catch {
    // Not JSON, or cut.
  }
  return failed('http_status', `The server answered with status ${status}.\n${content}`.trim());
}
