// What tools declare about calls that fail: that a failure may pass, and how often a call is tried again. The engine decides
// whether it is (lib/agent/step/step_tools.cpp).
import { setTimeout as sleep } from 'node:timers/promises';

// By the function of the tool.
const declared = new WeakMap<object, number>();

/** Remembers how often a call of this function is tried again. */
export function withRetries<Tool extends object>(tool: Tool, retries: number | undefined): Tool {
  if (retries !== undefined) declared.set(tool, retries);
  return tool;
}

/** How often calls of these tools are tried again, of those that declare it. */
export function declaredRetries(tools: Readonly<Record<string, object>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(tools).flatMap(([name, tool]) => {
      const retries = declared.get(tool);
      return retries === undefined ? [] : [[name, retries]];
    }),
  );
}

/** True for an error that says `retryable: true`, or `kind: 'retry'` as LobeHub's tools do. */
export function isPassing(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false;
  try {
    const { retryable, kind } = error as Record<string, unknown>;
    return retryable === true || kind === 'retry';
  } catch {
    // Something was thrown that cannot be read.
    return false;
  }
}

/** Waits before another attempt. */
export type Wait = (ms: number, options: { signal: AbortSignal }) => unknown;

// An abort ends it.
const waitByTimer: Wait = (ms, { signal }) =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** Waits before an attempt that the engine asked for later. Throws when its answer is not wanted any more. */
export async function waited(
  ms: number | undefined,
  signal: AbortSignal,
  wait: Wait = waitByTimer,
): Promise<void> {
  if (ms === undefined) return;
  await wait(ms, { signal });
  signal.throwIfAborted();
}
