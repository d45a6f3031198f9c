// One request of a capability through a fetch function, with the limits that fetch itself has not.
import { throwIfAborted } from '../abort';
import { MillraceError } from '../errors';
import { messageOf } from '../thrown';
import type { EngineRequest } from '../transport/engine';

/** Fetch sends a key on to wherever it is redirected, so redirects are not followed. */
export async function throughFetch(
  send: typeof fetch,
  request: EngineRequest & { limits: { decodedBytes: number } },
  body: Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<Response> {
  const { total = 0, firstByte = 0, connect = 0 } = request.timeouts ?? {};
  const limit = total || (firstByte ? firstByte + connect : 0);
  const clock = limit ? AbortSignal.timeout(limit) : undefined;
  const signals = [signal, clock].filter((one) => one !== undefined);
  try {
    const response = await send(request.url, {
      method: request.method,
      headers: request.headers,
      redirect: 'manual',
      ...(body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> }),
      ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
    });
    return limited(response, request.limits.decodedBytes);
  } catch (cause) {
    throwIfAborted(signal);
    const code = clock?.aborted ? 'total_timeout' : 'connect_failed';
    throw new MillraceError(
      code,
      `The request to ${new URL(request.url).origin} through the given fetch failed: ${messageOf(cause)}`,
      {
        cause,
        retryable: true,
      },
    );
  }
}

function limited(response: Response, limit: number): Response {
  if (!response.body || limit === 0) return response;
  let size = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      size += chunk.byteLength;
      if (size <= limit) controller.enqueue(chunk);
      else
        controller.error(
          new MillraceError('response_too_large', `The answer is larger than ${limit} bytes.`),
        );
    },
  });
  const { status, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, headers });
}
