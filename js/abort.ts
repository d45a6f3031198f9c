// Listening to the AbortSignals that users pass, in Node.
import { setMaxListeners } from 'node:events';

import type { Signal } from './signal';
import { listen } from './signal';

export { checkSignal, neverSent, noListener, reasonOf, throwIfAborted } from './signal';

/**
 * Calls `listener` once when `signal` aborts, and not if it has already; returns what ends that. One
 * signal may stop any number of things: Node would warn of a leak at the eleventh.
 */
export function onAbort(signal: Signal, listener: () => void): () => void {
  if (signal) {
    try {
      setMaxListeners(0, signal);
    } catch {
      // Not Node's own AbortSignal: its listeners are not counted.
    }
  }
  return listen(signal, listener);
}

/** Aborts with the first of the signals that does. */
export function eitherSignal(signals: readonly Signal[]): AbortSignal {
  const given = signals.filter((signal) => signal !== undefined && signal !== null);
  const own = given.filter((signal) => signal instanceof AbortSignal);
  if (own.length === given.length) return AbortSignal.any(own);
  const controller = new AbortController();
  for (const signal of given) {
    const stop = (): void => controller.abort(signal.reason);
    if (signal.aborted) stop();
    else onAbort(signal, stop);
  }
  return controller.signal;
}
