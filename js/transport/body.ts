// The body of a Response, for its reader, in Node and in pages.
import { MillraceError } from '../errors';
import { shown } from '../shown';

/** What a pipe gives: text for payloads and events, bytes otherwise. */
export type Output = string | Uint8Array;

/** Takes outputs as they come, without a promise for each. */
export interface Sink {
  /** True to be given more; false stops until flow() is called again. */
  data(output: Output): boolean;
  /** Nothing follows. `error` holds the body's own error, if it broke. */
  end(error: { value: unknown } | undefined): void;
}

/** One output after the other; `read` must not be called again before it settled. */
export interface Source {
  /** The next output; undefined at the end. Rejects with the body's own error. */
  read(): Promise<Output | undefined>;
  /** Instead of read(), where the engine has the bytes. Does nothing while it flows. */
  flow?(sink: Sink): void;
  /** Stops the body; what is being read ends. */
  cancel(reason?: unknown): Promise<void>;
}

/** The unread body of `response`. */
export function bodyOf(response: Response): ReadableStream<Uint8Array> {
  const wrong = (sentence: string): MillraceError =>
    new MillraceError('invalid_argument', `parse() ${sentence}`);
  if (Object(response) !== response) throw wrong(`takes a Response, not ${shown(response)}.`);
  const { body, bodyUsed, status } = response;
  if (!body) throw new Error('No response body');
  if (typeof (body as Partial<ReadableStream>).getReader !== 'function') {
    throw wrong('needs a body that is a ReadableStream; convert it with Readable.toWeb.');
  }
  if (bodyUsed || body.locked) {
    const sentence = `The body of the response (status ${status}) was already read or is locked.`;
    throw new MillraceError('response_used', sentence);
  }
  return body;
}

/**
 * Cancels a body without waiting for that: one branch of a tee is cancelled when the other one is. A body that fails
 * meanwhile has nothing more to say, and a stand-in of a test may have no cancel().
 */
export function leaveBody(
  body: Partial<Pick<ReadableStream, 'cancel'>> | null,
  reason?: unknown,
): void {
  try {
    body?.cancel?.(reason).catch(() => undefined);
  } catch {
    // It threw instead of rejecting.
  }
}
