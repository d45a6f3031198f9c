// The body of a request to one of our Fetch handlers.
import { noListener, onAbort, reasonOf, throwIfAborted } from './abort';
import { MillraceError } from './errors';
import { messageOf } from './thrown';

/** The JSON value of a body of at most so many bytes. Rejects with a MillraceError, or with why it was aborted. */
export async function jsonOfRequest(request: Request, limit: number): Promise<unknown> {
  rejectCoding(request.headers.get('content-encoding'));
  return jsonOf(await bytesOf(request, limit));
}

/** Throws for a body that is compressed. */
export function rejectCoding(coding: string | null | undefined): void {
  if ((coding ?? 'identity').toLowerCase() === 'identity') return;
  const sentence = `The request body has the Content-Encoding '${coding}'; send it without one.`;
  throw new MillraceError('unsupported_media_type', sentence);
}

/** The JSON value of a body. */
export function jsonOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch (cause) {
    throw new MillraceError(
      'invalid_json',
      `The request body is not valid JSON: ${messageOf(cause)}.`,
      { cause },
    );
  }
}

/** The bytes of a body of at most so many. Rejects with a MillraceError, or with why it was aborted. */
export async function bytesOf(
  request: Pick<Request, 'body' | 'bodyUsed' | 'signal'>,
  limit: number,
): Promise<Buffer> {
  const { body, signal } = request;
  if (request.bodyUsed || body?.locked === true) {
    throw new MillraceError(
      'invalid_argument',
      'The body of the request was already read before the handler. Read a clone() of the request ' +
        'there, or give the handler a new Request with the body.',
      { errorType: 'InternalServerError' },
    );
  }
  throwIfAborted(signal);
  let done = noListener;
  // A body may wait for ever for a client that is gone.
  const gone = new Promise<never>((_, reject) => {
    done = onAbort(signal, () => reject(reasonOf(signal)));
  });
  try {
    return await Promise.race([gathered(body as AsyncIterable<Uint8Array> | null, limit), gone]);
  } catch (cause) {
    throwIfAborted(signal);
    if (MillraceError.is(cause)) throw cause;
    return unreadable(cause);
  } finally {
    done();
  }
}

/** Throws for a body that ends too early. */
export function unreadable(cause: unknown): never {
  const text = `The request body cannot be read: ${messageOf(cause)}`;
  throw new MillraceError('invalid_body', text, { cause });
}

/** All bytes of a body; throws `body_too_large` for more than the limit. */
export async function gathered(
  body: AsyncIterable<Uint8Array> | null,
  limit: number,
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > limit) {
      throw new MillraceError('body_too_large', `The request is larger than ${limit} bytes.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
