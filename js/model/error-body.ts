// Errors as LobeHub's chat route answers with them: { errorType, body: { error, provider, ... } }.
import type { ErrorCode, ErrorType } from '../../types/errors';
import { errorStatuses } from '../error-statuses';
import { errorTypeRows, errorTypes, privateDetails } from '../error-types';
import { MillraceError } from '../errors';

/** An error as JSON, and the status that goes with it. */
export interface ChatErrorBody {
  status: number;
  errorType: string;
  body: { error: Record<string, unknown>; provider?: string; [member: string]: unknown };
}

// What is wrong with a request itself has a status of HTTP's own; the rest has that of its class.
const ofRequest = new Set<ErrorCode>([
  'method_not_allowed',
  'body_too_large',
  'unsupported_media_type',
]);
const unknownStatus = 500;
const clientGone = 499;

/** Describes what a model runtime, or user code around it, threw. */
export function chatErrorBody(error: unknown, provider?: string): ChatErrorBody {
  const named = provider === undefined ? {} : { provider };
  if (MillraceError.is(error)) {
    const { code, message, status, retryAfterMs, requestId, errorType } = error;
    const { endpoint, errorId } = error;
    const detail = privateDetails.has(errorTypes[code]) ? undefined : error.detail;
    const reported = { code, message, detail, status, retryAfterMs, requestId, error: error.error };
    const place = { provider: error.provider ?? provider, endpoint, errorId };
    return {
      status: ofRequest.has(code) ? errorStatuses[code] : error.httpStatus,
      errorType,
      body: { error: given(reported), ...given(place) },
    };
  }
  // What a fetcher or a runtime of the host's own throws in LobeHub's shape.
  const { errorType, name, message, ...rest } = (error ?? {}) as Record<string, unknown>;
  const text = typeof message === 'string' && message !== '' ? message : 'The request failed.';
  if (typeof errorType === 'string') {
    const inner = (rest['error'] ?? { message: text }) as Record<string, unknown>;
    return { status: statusOf(errorType), errorType, body: { ...rest, error: inner, ...named } };
  }
  const aborted = name === 'AbortError';
  return {
    status: aborted ? clientGone : unknownStatus,
    errorType: aborted ? 'Cancelled' : 'InternalServerError',
    // An error of the host's own may hold what clients must not see.
    body: { error: { message: aborted ? text : 'The request failed.' }, ...named },
  };
}

function given(members: object): Record<string, unknown> {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries);
}

function statusOf(name: string): number {
  return Object.hasOwn(errorTypeRows, name)
    ? errorTypeRows[name as ErrorType].status
    : unknownStatus;
}

/** The error as a response. */
export function chatErrorResponse(error: unknown, provider?: string): Response {
  const { status, errorType, body } = chatErrorBody(error, provider);
  const headers: Record<string, string> = { 'Cache-Control': 'no-store' };
  const wait = body.error['retryAfterMs'];
  if (typeof wait === 'number') headers['Retry-After'] = String(Math.ceil(wait / 1000));
  return Response.json({ errorType, body }, { status, headers });
}
