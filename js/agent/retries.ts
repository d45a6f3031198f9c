// When a tool call that failed is tried again: its error says that it may pass, and its declared
// effect that a second execution is safe.
import { setTimeout as sleep } from 'node:timers/promises';

const safe = new Set(['read', 'idempotent', 'keyed']);
const mostAttempts = 3;
const firstPauseMs = 200;

/** True for an error that says `retryable: true`, or `kind: 'retry'` as LobeHub's tools do. */
export function isPassing(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  const { retryable, kind } = error as { retryable?: unknown; kind?: unknown };
  return retryable === true || kind === 'retry';
}

export function mayRetry(effect: string | undefined, error: unknown, attempt: number): boolean {
  return attempt < mostAttempts && safe.has(effect ?? 'once') && isPassing(error);
}

/** Waits before the attempt that follows this one; an abort ends the wait. */
export async function pauseBefore(attempt: number, signal: AbortSignal): Promise<void> {
  await sleep(firstPauseMs * 2 ** (attempt - 1), undefined, { signal }).catch(() => undefined);
}
