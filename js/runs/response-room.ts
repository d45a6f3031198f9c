// Room in the responses of Node servers, whose clients may take nothing.
import type { Writable } from 'node:stream';

/** How long a client may take nothing of its answer. */
export const usualStallMs = 60_000;

// Small, so that a client that takes a little at a time keeps its connection.
const pieceBytes = 16 * 1024;

/** Writes bytes as fast as the client takes them; one that takes none of them for so long loses its connection. */
export async function writeTo(
  response: Writable,
  bytes: Uint8Array,
  stallMs: number,
): Promise<void> {
  for (let at = 0; at < bytes.length && !response.destroyed; at += pieceBytes) {
    if (!response.write(bytes.subarray(at, at + pieceBytes))) await roomIn(response, stallMs);
  }
}

/** Resolves when there is room or the response is closed, which it is where the client takes nothing. */
export function roomIn(response: Writable, stallMs: number): Promise<void> {
  return taken(response, 'drain', stallMs);
}

/** Ends a response; the client has to take its rest in the same time. */
export function endOf(response: Writable, stallMs: number): void {
  response.end();
  if (!response.writableFinished && !response.destroyed) void taken(response, 'finish', stallMs);
}

/** How long a client may take for what waits for it, however large that is: it takes a piece in the usual time. */
export function stallOf({ writableLength }: Writable): number {
  return usualStallMs * Math.max(1, Math.ceil(writableLength / pieceBytes));
}

function taken(response: Writable, event: 'drain' | 'finish', stallMs: number): Promise<void> {
  return new Promise((resolve) => {
    const stalled = setTimeout(() => response.destroy(), stallMs);
    stalled.unref();
    const done = (): void => {
      clearTimeout(stalled);
      response.off(event, done).off('close', done);
      resolve();
    };
    response.on(event, done).on('close', done);
  });
}
