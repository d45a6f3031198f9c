// The functions behind the calls that a person is asked about. A thread's question may be answered through
// another agent with tools of the same description: what was approved is what runs then.
import type { Interrupt } from '../../types/events';
import type { HostTool } from '../tool/types';

/** Functions by the ids of their calls. */
export type AskedTools = ReadonlyMap<string, HostTool>;

interface Thread {
  asked: AskedTools;
  since: number;
}

// As many and as long as the engine keeps runs that wait (KeptLimits in lib/run/suspended_runs.hpp).
const mostThreads = 10_000;
const lifetimeMs = 3_600_000;

const threads = new Map<string, Thread>();

/** What the thread's run asks about; empty for a thread that asks nothing. */
export function askedTools(threadId: string): AskedTools {
  return threads.get(threadId)?.asked ?? new Map<string, HostTool>();
}

/**
 * Keeps the functions of the calls that a run of the thread ended with, or none; `before` are those of the
 * questions that it answered, of which some may still be open.
 */
export function rememberAsked(
  threadId: string,
  interrupts: readonly Interrupt[],
  tools: ReadonlyMap<string, HostTool>,
  before: AskedTools | undefined,
): void {
  threads.delete(threadId);
  const asked = new Map<string, HostTool>();
  for (const { toolCallId, metadata } of interrupts) {
    const name = metadata?.toolName;
    if (toolCallId === undefined || typeof name !== 'string') continue;
    const found = before?.get(toolCallId) ?? tools.get(name);
    if (found) asked.set(toolCallId, found);
  }
  if (asked.size === 0) return;
  const now = Date.now();
  threads.set(threadId, { asked, since: now });
  for (const [oldest, { since }] of threads) {
    if (threads.size <= mostThreads && now - since <= lifetimeMs) break;
    threads.delete(oldest);
  }
}
