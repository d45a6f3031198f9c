// What HTTP plugins and OpenAPI tools share: one guarded request, and its answer as a tool's result.
import { throwIfAborted } from '../abort';
import { addon } from '../addon';
import { MillraceError } from '../errors';
import { withoutTexts } from '../secret-text';
import { kindOf } from '../shown';
import type { AddressGuard } from '../transport/engine';
import { engineFetch } from '../transport/engine';
import type { RouteOptions } from '../transport/route';
import { leaveBody } from '../transport/source';
import { messageOf } from '../thrown';

type AuthHeaders =
  | Readonly<Record<string, string | undefined>>
  | Headers
  | ReadonlyMap<string, string>
  | null
  | undefined;

/** How requests of plugins and OpenAPI tools are sent. */
export interface HttpToolOptions {
  /**
   * Headers for a request, such as Authorization: an object of texts, a Headers or a Map. Asked before
   * each one; nothing adds none.
   */
  auth?: (context: {
    identifier: string;
    apiName: string;
    url: string;
    signal: AbortSignal | undefined;
  }) => AuthHeaders | Promise<AuthHeaders>;
  /** What may be reached besides the public internet. */
  guard?: AddressGuard;
  /** The way out, for a guard that trusts it (`trustsProxy`); none when absent. */
  proxy?: RouteOptions['proxy'];
  /** Milliseconds for a call; 60,000 when absent. */
  timeoutMs?: number;
  /** Characters of a result; 25,000 when absent. */
  maxResult?: number;
}

export const httpToolOptions: readonly (keyof HttpToolOptions)[] = [
  ...(['auth', 'guard', 'proxy', 'timeoutMs', 'maxResult'] as const),
];

/** How a call ended. Failures are results, which the model reads. */
export interface HttpToolResult {
  content: string;
  success: boolean;
  error?: {
    type: string;
    message: string;
    body?: unknown;
    /** The message with the hosts that it names, for the program alone: models and clients read `***` for them. */
    detail?: string;
  };
}

const defaultTimeoutMs = 60_000;
const defaultMaxResult = 25_000;
const mostBytes = 4 << 20;
const nameLimit = 64;

/** Makes foreign text safe to stand in a conversation, and short enough. */
export function resultText(text: string, most: number = defaultMaxResult): string {
  return addon().resultText(text, most);
}

/** A failure as a result; the message may be foreign text. */
export function failed(
  type: string,
  message: string,
  { body, most = defaultMaxResult }: { body?: unknown; most?: number | undefined } = {},
): HttpToolResult {
  const content = resultText(message, most);
  const error = { type, message: content, ...(body !== undefined && { body }) };
  return { content, success: false, error };
}

export interface HttpToolRequest {
  identifier: string;
  apiName: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array | undefined;
  signal?: AbortSignal | undefined;
}

/** Sends one request; rejects only with the signal's reason. */
export async function send(
  request: HttpToolRequest,
  options: HttpToolOptions,
): Promise<HttpToolResult> {
  const { identifier, apiName, method, url, body, signal } = request;
  try {
    const auth = checkedAuth(await options.auth?.({ identifier, apiName, url, signal }));
    const response = await engineFetch({
      method,
      url,
      headers: headersOf(request.headers, auth),
      body,
      signal,
      guard: options.guard ?? {},
      ...(options.proxy !== undefined && { proxy: options.proxy }),
      timeouts: { total: options.timeoutMs ?? defaultTimeoutMs },
      // What is longer is cut, not refused.
      limits: { decodedBytes: 0 },
    });
    const { text: received, isCut } = await readText(response);
    // Models, readers and the journal get the text.
    const text = withoutTexts(received, secretsOf(auth));
    const most = options.maxResult ?? defaultMaxResult;
    if (!response.ok) return rejected(response.status, text, most);
    const content = resultText(text, most);
    return { content: isCut ? markedAsCut(content) : content, success: true };
  } catch (error) {
    throwIfAborted(signal);
    return unsent(error);
  }
}

// The address is one of the program's configuration.
function unsent(error: unknown): HttpToolResult {
  const message = messageOf(error);
  const shown = addon().withoutHosts(message);
  const result = failed(MillraceError.is(error) ? error.code : 'tool_failed', shown);
  if (result.error && shown !== message) result.error.detail = message;
  return result;
}

// What of the operator's headers a server must not hand on by repeating it.
function secretsOf(auth: Record<string, string>): string[] {
  if (Object.keys(auth).length === 0) return [];
  return JSON.parse(addon().carriedSecrets(JSON.stringify(auth))) as string[];
}

// A text that was meant to be a header would be none.
function checkedAuth(given: unknown): Record<string, string> {
  if (given === undefined || given === null) return {};
  if (given instanceof Headers || given instanceof Map) {
    return checkedAuth(Object.fromEntries<unknown>(given));
  }
  const entries = typeof given === 'object' ? Object.entries(given) : [];
  const isHeaders = typeof given === 'object' && !Array.isArray(given);
  const set = entries.filter(([, value]) => value !== undefined) as [string, string][];
  if (isHeaders && set.every(([, value]) => typeof value === 'string')) {
    return Object.fromEntries(set);
  }
  throw new MillraceError(
    'invalid_option',
    `\`auth\` must return headers as an object of strings, such as { Authorization: 'Bearer ...' }, not ${kindOf(given)}.`,
  );
}

// The operator's headers replace those of a call, however they are spelled.
function headersOf(
  headers: Record<string, string>,
  auth: Record<string, string>,
): [string, string][] {
  const own = new Set(Object.keys(auth).map((name) => name.toLowerCase()));
  const others = Object.entries(headers).filter(([name]) => !own.has(name.toLowerCase()));
  return [...others, ...Object.entries(auth)];
}

// The answer up to the limit; the rest is not read.
async function readText(response: Response): Promise<{ text: string; isCut: boolean }> {
  const reader = (response.body as ReadableStream<Uint8Array> | null)?.getReader();
  if (!reader) return { text: '', isCut: false };
  const decoder = new TextDecoder();
  let text = '';
  let room = mostBytes;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { text: text + decoder.decode(), isCut: false };
    text += decoder.decode(value.subarray(0, room), { stream: true });
    room -= value.length;
    if (room >= 0) continue;
    leaveBody(reader);
    return { text, isCut: true };
  }
}

// What was not read is not counted.
const markedAsCut = (content: string): string =>
  `${content.replace(/\n\[cut here: \d+ more bytes\]$/, '')}\n[cut here: the answer is longer]`;

// A gateway says `{ errorType, body }`; anybody else what they like.
function rejected(status: number, text: string, most: number): HttpToolResult {
  try {
    const received = JSON.parse(text) as { errorType?: unknown; body?: unknown } | null;
    if (typeof received?.errorType === 'string') {
      const { message } = (received.body ?? {}) as { message?: unknown };
      const sentence = typeof message === 'string' ? `: ${message}` : '.';
      const type = resultText(received.errorType, nameLimit);
      return failed(type, `The plugin failed${sentence}`, { body: received.body, most });
    }
  } catch {
    // Not JSON.
  }
  return failed('http_status', `The server answered with status ${status}.\n${text}`.trim(), {
    most,
  });
}
