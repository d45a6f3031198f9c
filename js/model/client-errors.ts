// What a vendor's own client throws, told as the vendor would have told it: the clients of OpenAI and Anthropic keep
// the body of a refusal, or of an error inside an answer, in `error`, with the answer's headers beside it.
import type { ErrorType } from '../../types/errors';
import { errorTypeRows } from '../error-types';
import { MillraceError } from '../errors';
import { messageOf } from '../thrown';
import { isRecord } from '../value-checks';

const stream = { 'content-type': 'text/event-stream' };

/** The answer that an error was made of; throws what tells neither a status nor the vendor's words. */
export function refusalOf(thrown: unknown): Response {
  const status = statusOf(thrown);
  const headers = headersOf(thrown);
  if (status !== undefined) return Response.json({ error: errorOf(thrown) }, { status, headers });
  return new Response(recordOf(thrown), { headers: { ...headers, ...stream } });
}

/** The record of a stream that an error was made of; throws as refusalOf does. */
export function recordOf(thrown: unknown): string {
  if (MillraceError.is(thrown)) throw thrown;
  const status = statusOf(thrown);
  const { error: received } = membersOf(thrown);
  const hasBody = isRecord(received) || (typeof received === 'string' && received !== '');
  if (status === undefined && !hasBody) throw blamed(thrown);
  const error = errorOf(thrown);
  if (status !== undefined) error['code'] ??= error['type'] ?? status;
  return `event: error\ndata: ${JSON.stringify({ type: 'error', error })}\n\n`;
}

/** A mistake of the code that was given is no broken line: asking again would repeat it. */
export function blamed(thrown: unknown): unknown {
  const { name, cause } = membersOf(thrown);
  const isMistake = typeof name === 'string' && mistakes.has(name) && cause === undefined;
  const message = messageOf(thrown);
  if (!isMistake || ofNetwork.test(message)) return thrown;
  const text = `A function of the factory threw a ${name}: ${message}`;
  return new MillraceError('invalid_option', text, { cause: thrown });
}

const mistakes = new Set(['ReferenceError', 'TypeError', 'RangeError', 'EvalError']);
// fetch tells a broken line by a TypeError.
const ofNetwork = /fetch|network|terminated/i;

function membersOf(thrown: unknown): Record<string, unknown> {
  return (thrown ?? {}) as Record<string, unknown>;
}

function errorOf(thrown: unknown): Record<string, unknown> {
  const { code, type, message, error } = membersOf(thrown);
  const body = typeof error === 'string' ? { message: error } : error;
  // Anthropic's clients keep the whole body, OpenAI's what is in its `error`.
  const inner = isRecord(body) && isRecord(body['error']) ? body['error'] : body;
  return {
    ...(code ? { code } : {}),
    ...(type ? { type } : {}),
    message,
    ...(isRecord(inner) ? inner : {}),
  };
}

function statusOf(thrown: unknown): number | undefined {
  const { status, errorType } = membersOf(thrown);
  if (Number.isInteger(status) && Number(status) >= 400 && Number(status) <= 599)
    return Number(status);
  const isClass = typeof errorType === 'string' && Object.hasOwn(errorTypeRows, errorType);
  return isClass ? errorTypeRows[errorType as ErrorType].status : undefined;
}

// When to come again, and what the vendor calls the request. What describes the body is of another one.
function headersOf(thrown: unknown): Record<string, string> {
  const { headers, requestID } = membersOf(thrown);
  const given = headers instanceof Headers ? [...headers] : Object.entries(headers ?? {});
  const named = typeof requestID === 'string' ? [['x-request-id', requestID] as const] : [];
  const retained = [...named, ...given].filter(
    ([name, value]) =>
      !ofBody.test(name) && isToken.test(name) && typeof value === 'string' && isText.test(value),
  );
  return Object.fromEntries(retained.map(([name, value]) => [name.toLowerCase(), value]));
}

const ofBody = /^(content-|transfer-encoding|connection|set-cookie)/i;
const isToken = /^[\w!#$%&'*+.^`|~-]+$/;
const isText = /^[\t\x20-\x7e\x80-\xff]*$/;
