// When a tool call that failed is tried again: its error says that it may pass, and its declared
// effect that a second execution is safe.
import { setTimeout as sleep } from 'node:timers/promises';

const safe = new Set(['read', 'idempotent', 'keyed']);
const defaultRetries = 2;
const mostRetries = 5;
const firstPauseMs = 200;

// What tools say of themselves, by their function.
const declared = new WeakMap<object, number>();

/** Remembers how often a call of this function is tried again. */
export function withRetries<Tool extends object>(tool: Tool, retries: number | undefined): Tool {
  if (retries !== undefined) declared.set(tool, Math.min(retries, mostRetries));
  return tool;
}

/** How often a call of this function is tried again where that is safe. */
export function retriesOf(tool: object): number {
  return declared.get(tool) ?? defaultRetries;
}

/** True for an error that says `retryable: true`, or `kind: 'retry'` as LobeHub's tools do. */
export function isPassing(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  try {
    const { retryable, kind } = error as { retryable?: unknown; kind?: unknown };
    return retryable === true || kind === 'retry';
  } catch {
    // Something was thrown that cannot be read.
    return false;
  }
}

export function mayRetry(
  { effect = 'once', retries }: { effect: string | undefined; retries: number },
  error: unknown,
  attempt: number,
): boolean {
  return attempt <= retries && safe.has(effect) && isPassing(error);
}

/** Waits before another attempt. */
export type Wait = (ms: number, options: { signal: AbortSignal }) => unknown;

/** Waits by a timer, which an abort ends. */
export const waitByTimer: Wait = (ms, { signal }) =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** Milliseconds before the attempt of a tool that follows this one. */
export function pauseAfter(attempt: number): number {
  return firstPauseMs * 2 ** (attempt - 1);
}
