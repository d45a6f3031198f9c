// The one error class of the package.
import type { ErrorCode, ErrorType } from '../types/errors';
import type { CallReport } from '../types/model';
import { errorFixes, errorTypeRows, errorTypes } from './error-types';
import { defined } from './plain-values';

// Marks our errors for other copies of this module and other realms, where instanceof fails.
const marker = Symbol.for('millrace.error');

/** What an error says besides its code and message. */
export interface MillraceErrorDetails {
  /** The HTTP status that the peer answered with. */
  status?: number | undefined;
  /** Whether the same request may be sent again; false when absent. */
  retryable?: boolean | undefined;
  /** How long to wait before that, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** What the peer said, shortened and without credentials. */
  detail?: string | undefined;
  /** The peer's name of the request, which its support asks for. */
  requestId?: string | undefined;
  /** Instead of the class of the code: a name of the host's own. */
  errorType?: string | undefined;
  /** Whose answer or network failed. */
  provider?: string | undefined;
  /** Where the request went. */
  endpoint?: string | undefined;
  /** The body that the peer answered with. */
  error?: unknown;
  cause?: unknown;
}

/**
 * A failure with a stable code. The message names the cause and the wrong value, `fix` says what to do.
 * `MillraceError.is(error)` recognises one also across realms and copies of the package.
 */
export class MillraceError extends Error {
  declare readonly code: ErrorCode;
  /** What to do about it: one sentence for all errors of this code, as docs/errors.md lists it. */
  declare readonly fix: string;
  declare readonly retryable: boolean;
  /** The class that LobeHub's clients tell errors by, or a name that a hook gave it. */
  declare readonly errorType: ErrorType | (string & {});
  /** The provider that failed, for failures of models. */
  declare readonly provider?: string;
  /**
   * Where its request went, without the query; the first name of a host that was set by `baseURL` is
   * `***`.
   */
  declare readonly endpoint?: string;
  /**
   * The provider's own error body, parsed, shortened and without credentials. Of a conversation that is
   * too long for its model, before it is sent: `{ type, model, ctx, promptTokens, shortBy,
   * minOutputTokens?, suggestions }`, in tokens.
   */
  declare readonly error?: unknown;
  declare readonly status?: number;
  declare readonly retryAfterMs?: number;
  declare readonly detail?: string;
  declare readonly requestId?: string;
  /** What is known of a call whose completion in one piece failed: also what it used. */
  declare readonly report?: CallReport;

  constructor(code: ErrorCode, message: string, details: MillraceErrorDetails = {}) {
    super(message, details);
    const { cause: _cause, ...members } = details;
    Object.defineProperties(this, {
      name: { value: 'MillraceError', configurable: true },
      [marker]: { value: true },
    });
    const usual = { code, fix: errorFixes[code], retryable: false, errorType: errorTypes[code] };
    Object.assign(this, usual, defined(members));
  }

  /** The number of its class, where LobeHub's has one. */
  get errorId(): number | undefined {
    return this.#row.id || undefined;
  }

  /** The HTTP status that LobeHub's chat route gives its class. */
  get httpStatus(): number {
    return this.#row.status;
  }

  // A name of the host's own stands for the class of the code.
  get #row(): { id: number; status: number } {
    const { errorType: type, code } = this;
    return errorTypeRows[
      Object.hasOwn(errorTypeRows, type) ? (type as ErrorType) : errorTypes[code]
    ];
  }

  /** What JSON.stringify writes: the sentence as well, which an Error keeps to itself. */
  toJSON(): object {
    const { name, message } = this;
    return { name, message, ...(this as object) };
  }

  /** True for an error of this package, with this code when one is given. */
  static is(error: unknown, code?: ErrorCode): error is MillraceError {
    const known = Object(error) as { code?: unknown };
    return marker in known && (code === undefined || known.code === code);
  }
}

interface NativeError {
  code: ErrorCode;
  message: string;
  detail?: string;
  status?: number;
  retry: 'no' | 'yes' | 'later';
  retryAfterMs?: number;
  requestId?: string;
  errorType?: string;
  provider?: string;
  endpoint?: string;
  error?: unknown;
  /** Why a fallback was asked at all. */
  cause?: NativeError;
}

/** The number and the HTTP status that LobeHub's chat route gives a class of errors. */
export function errorTypeRow(type: ErrorType): { id: number; status: number } {
  return errorTypeRows[type];
}

/** The error that the engine described as JSON text. */
export function errorFromNative(json: string, cause?: unknown): MillraceError {
  return errorOf(JSON.parse(json) as NativeError, cause);
}

function errorOf(
  { code, message, retry, cause: first, ...received }: NativeError,
  given?: unknown,
): MillraceError {
  const details = { ...received, retryable: retry !== 'no' };
  const cause = given ?? (first && errorOf(first));
  return new MillraceError(code, message, cause === undefined ? details : { ...details, cause });
}

/** The engine throws its errors as JSON text, since an error object would be of another realm. */
export function rethrow(thrown: unknown): never {
  throw typeof thrown === 'string' ? errorFromNative(thrown) : thrown;
}
