// The functions behind the calls that a person is asked about. A thread's question may be answered through
// another agent with tools of the same description: what was approved is what runs then.
import type { Interrupt } from '../../types/events';
import { addon } from '../addon';
import type { HostTool } from '../tool/types';

/** Functions by the ids of their calls. */
export type SuspendedTools = ReadonlyMap<string, HostTool>;

interface Thread {
  suspended: SuspendedTools;
  since: number;
}

// As many and as long as the engine has runs that wait.
let limits: { runs: number; lifetimeMs: number } | undefined;

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
  limits ??= JSON.parse(addon().suspendedLimits()) as NonNullable<typeof limits>;
  const now = Date.now();
  threads.set(threadId, { suspended: requested, since: now });
  for (const [oldest, { since }] of threads) {
    if (threads.size <= limits.runs && now - since <= limits.lifetimeMs) break;
    threads.delete(oldest);
  }
}
