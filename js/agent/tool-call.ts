// One call of a tool that JavaScript runs: time limit, size of its result, and another try where the
// declared effect makes that safe.
import type { AgentTool, ChatToolPayload } from '../../types/agent';
import { MillraceError } from '../errors';
import { mayRetry, pauseAfter, retriesOf, type Wait, waitByTimer } from './retries';
import { within } from '../tool/time-limit';
import { resultJson } from '../tool/tool-result';

/** What the engine asks: which tool, with what, and what its call may change. */
export interface ToolAction {
  name: string;
  toolCall: ChatToolPayload;
  args: never;
  effect?: string;
}

/** What a call may take. */
export interface ToolLimits {
  /** Milliseconds; without end when absent. */
  toolTimeoutMs?: number;
  /** Characters of JSON that it may return; 4 Mi when absent. */
  toolResultLimit?: number;
  /** Before a call is tried again; a timer when absent. */
  wait?: Wait;
}

const defaultResultLimit = 4 * 1024 * 1024;

/** Calls a tool. A call that failed in passing is tried again where its declared effect makes that safe. */
export async function callTool(
  tool: AgentTool,
  action: ToolAction,
  limits: ToolLimits,
  signal: AbortSignal,
): Promise<unknown> {
  const { wait = waitByTimer } = limits;
  const effort = { effect: action.effect, retries: retriesOf(tool) };
  for (let attempt = 1; ; attempt += 1) {
    try {
      const result = await callOnce(tool, action, limits, signal);
      const failed = (result as { error?: unknown } | null | undefined)?.error;
      if (!mayRetry(effort, failed, attempt) || signal.aborted) return result;
    } catch (error) {
      if (!mayRetry(effort, error, attempt) || signal.aborted) throw error;
    }
    await wait(pauseAfter(attempt), { signal });
  }
}

async function callOnce(
  tool: AgentTool,
  { name, toolCall, args }: ToolAction,
  limits: ToolLimits,
  outer: AbortSignal,
): Promise<unknown> {
  const limit = limits.toolTimeoutMs ?? 0;
  const result = await within<unknown>(
    (signal) => {
      // A tool that takes only its arguments is given nothing else.
      if (tool.length <= 1) return (tool as (args: never) => unknown)(args);
      const { id } = toolCall;
      return tool(args, {
        signal,
        toolCallId: id,
        idempotencyKey: id,
        progress: () => undefined,
      });
    },
    limit,
    `The tool ${name} did not answer within ${limit} ms.`,
    outer,
  );
  const most = limits.toolResultLimit ?? defaultResultLimit;
  const { length: size } = typeof result === 'string' ? result : resultJson(result, name);
  if (size > most) {
    throw new MillraceError(
      'tool_failed',
      `The tool ${name} returned ${size} characters; ${most} are allowed.`,
    );
  }
  return result;
}
