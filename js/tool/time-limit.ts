// Work with a limit of time, which learns when its result is not awaited any more.
import { noListener, onAbort, reasonOf, throwIfAborted } from '../abort';
import { MillraceError } from '../errors';
import { longestTimer } from '../limits';

/**
 * Settles with what `work` gives, fails with `tool_timeout` after `ms` (0 and Infinity: waits for ever), and with the
 * reason of `outer` when that aborts. The signal that `work` gets aborts with each failure.
 */
export async function within<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  ms: number,
  message: string,
  outer?: AbortSignal,
): Promise<T> {
  throwIfAborted(outer);
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let settled = noListener;
  const over = new Promise<never>((_resolve, reject) => {
    if (ms > 0 && ms < Infinity) {
      const late = (): void => reject(new MillraceError('tool_timeout', message));
      timer = setTimeout(late, Math.min(ms, longestTimer));
    }
    settled = onAbort(outer, () => {
      const reason = reasonOf(outer);
      controller.abort(reason);
      reject(reason);
    });
  });
  // It is not reported when `work` throws at once, of an abort of its own for instance.
  over.catch(noListener);
  try {
    return await Promise.race([work(controller.signal), over]);
  } catch (error) {
    controller.abort(error);
    throw error;
  } finally {
    clearTimeout(timer);
    settled();
  }
}

/** Settles as `work` does, or rejects with the reason of `signal` when that aborts first. */
export function raced<T>(work: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    if (signal?.aborted) stop();
    Promise.resolve(work).then(resolve, reject).finally(onAbort(signal, stop));
  });
}
