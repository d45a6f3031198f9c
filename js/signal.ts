// What Node and pages do alike with the AbortSignals that users pass.
import { MillraceError } from './errors';
import { shown } from './shown';

export type Signal = AbortSignal | null | undefined;

/** Throws for what is no signal; a stand-in of a browser's needs only to be listened to. */
export function checkSignal(owner: string, signal: unknown): void {
  if (signal === undefined || signal === null) return;
  if (typeof (signal as Partial<AbortSignal>).addEventListener === 'function') return;
  throw new MillraceError(
    'invalid_argument',
    `${owner}: signal must be an AbortSignal, not ${shown(signal)}.`,
  );
}

/** Why a signal aborted; one of a browser's stand-in, as jsdom has one, may not know. */
export function reasonOf(signal: Partial<AbortSignal> | undefined): Error {
  if (signal && 'reason' in signal) return signal.reason as Error;
  return new DOMException('This operation was aborted', 'AbortError');
}

/** Throws the reason of a signal that has aborted. */
export function throwIfAborted(signal: Signal): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/** Sends nothing: for a run whose signal has aborted before it began. */
export const neverSent: typeof fetch = () => new Promise(() => undefined);

/** Ends listening where nothing was listened to. */
export const noListener = (): void => undefined;

/** Calls `listener` once when `signal` aborts, and not if it has already; returns what ends that. */
export function listen(signal: Signal, listener: () => void): () => void {
  if (!signal) return noListener;
  signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
