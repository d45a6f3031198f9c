// One call of a tool that JavaScript runs: time limit and size of its result.
import type { AgentTool, ChatToolPayload } from '../../types/agent';
import { MillraceError } from '../errors';
import { type Wait, waited } from './retries';
import { within } from '../tool/time-limit';
import { resultJson } from '../tool/tool-result';

/** What the engine asks: which tool, with what, and what its call may change. */
export interface ToolAction {
  name: string;
  toolCall: ChatToolPayload;
  args: never;
  effect?: string;
  /** Milliseconds before the call begins, and its number, when it is tried again. */
  waitMs?: number;
  retry?: number;
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

/** Calls a tool, once. */
export async function callTool(
  tool: AgentTool,
  { name, toolCall, args, waitMs }: ToolAction,
  limits: ToolLimits,
  outer: AbortSignal,
): Promise<unknown> {
  await waited(waitMs, outer, limits.wait);
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
