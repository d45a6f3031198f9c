// The functions behind the calls that a person is asked about. A thread's question may be answered through
// another agent with tools of the same description: what was approved is what runs then.
import type { Interrupt } from '../../types/events';
import type { HostTool } from '../tool/types';

/** Functions by the ids of their calls. */
export type SuspendedTools = ReadonlyMap<string, HostTool>;

interface Thread {
  suspended: SuspendedTools;
  since: number;
}

// As many and as long as the engine keeps runs that wait (SuspendedLimits in lib/run/suspended_runs.hpp).
const mostThreads = 10_000;
const lifetimeMs = 3_600_000;

const threads = new Map<string, Thread>();

/** What the thread's run asks about; empty for a thread that asks nothing. */
export function suspendedTools(threadId: string): SuspendedTools {
  return threads.get(threadId)?.suspended ?? new Map<string, HostTool>();
}

/**
 * Keeps the functions of the calls that a run of the thread ended with, or none; `before` are those of the
 * questions that it answered, of which some may still be open.
 */
export function rememberSuspended(
  threadId: string,
  interrupts: readonly Interrupt[],
  tools: ReadonlyMap<string, HostTool>,
  before: SuspendedTools | undefined,
): void {
  threads.delete(threadId);
  const requested = new Map<string, HostTool>();
  for (const { toolCallId, metadata } of interrupts) {
    const name = metadata?.toolName;
    if (toolCallId === undefined || typeof name !== 'string') continue;
    const found = before?.get(toolCallId) ?? tools.get(name);
    if (found) requested.set(toolCallId, found);
  }
  if (requested.size === 0) return;
  const now = Date.now();
  threads.set(threadId, { suspended: requested, since: now });
  for (const [oldest, { since }] of threads) {
    if (threads.size <= mostThreads && now - since <= lifetimeMs) break;
    threads.delete(oldest);
  }
}
