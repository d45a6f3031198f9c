// Work with a limit of time, which learns when nobody waits for it any more.
import { noListener, onAbort } from '../abort';
import { MillraceError } from '../errors';

/**
 * Settles with what `work` gives, fails with `tool_timeout` after `ms` (0: waits for ever), and with the
 * reason of `outer` when that aborts. The signal that `work` gets aborts with each failure.
 */
export async function within<T>(
  work: (signal: AbortSignal) => Promise<T> | T,
  ms: number,
  message: string,
  outer?: AbortSignal,
): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let settled = noListener;
  const over = new Promise<never>((_resolve, reject) => {
    if (ms > 0) timer = setTimeout(() => reject(new MillraceError('tool_timeout', message)), ms);
    settled = onAbort(outer, () => {
      controller.abort(outer?.reason);
      reject(outer?.reason as Error);
    });
  });
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
