// A wait that a signal ends, in Node and in pages.
import type { Signal } from './signal';
import { listen } from './signal';

/** Resolves after this time; rejects with the reason of a signal that aborts before. `onAbort` is how Node or a page listens. */
export function pause(ms: number, signal: Signal, onAbort: typeof listen = listen): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      settled();
      resolve();
    }, ms);
    const settled = onAbort(signal, stop);
    if (signal?.aborted) stop();
  });
}
