// An Engine's rules as the C++ engine reads them (RoundRules in lib/agent/rounds.hpp), with FrostAgent's words.
import { limitOf } from '../../limits';
import { agentToolName } from '../../tool/tool';
import { resultLimit, silentResult, staySilentTool } from './tools';
import type { EngineOptions, EngineTool } from './types';

/** What the document calls a text of the engine's begins with this. */
export const failed = 'FrostAgent错误：';

// The cut result of a tool and the note that it was cut.
const resultRoom = resultLimit + 64;

/** The name of a tool in calls. */
export function calledName(tool: Pick<EngineTool, 'name'>): string {
  return agentToolName(tool as never);
}

/** A tool as the provider gets it. */
export function definition(tool: EngineTool): object {
  const { description, parameters } = tool;
  return { type: 'function', function: { name: calledName(tool), description, parameters } };
}

/** A plan. Without a chain of providers the model is the host's. */
export function planOf(
  tools: Iterable<EngineTool>,
  options: EngineOptions,
  chain: object[] | undefined,
): object {
  const { maxIterations = 5, maxContextTokens = 128_000, parallelTools, toolTimeoutMs } = options;
  const { maxTokens, temperature, toolChoice } = options;
  // FrostAgent's provider knows whole answers only.
  const whole = options.provider === undefined && { stream: false };
  return {
    ...(chain
      ? {
          chain,
          payload: { ...whole, max_tokens: maxTokens, temperature, tool_choice: toolChoice },
        }
      : { hostModel: true }),
    rounds: {
      most: maxIterations,
      mostTokens: maxContextTokens,
      silence: {
        tool: staySilentTool.name,
        result: silentResult,
        conflict: 'stay_silent 不能与其他工具同时调用，所有工具均未执行',
      },
      unknownTool: `${failed}工具未找到`,
      failedTool: `${failed}工具执行失败: `,
    },
    concurrency: typeof parallelTools === 'number' ? parallelTools : parallelTools ? 8 : 1,
    tools: [...tools].map((tool) => ({
      name: calledName(tool),
      description: tool.description,
      parameters: tool.parameters,
      timeoutMs: limitOf('timeoutMs', tool.timeoutMs ?? toolTimeoutMs) ?? 0,
      resultLimit: resultRoom,
      checked: 'host',
    })),
  };
}
