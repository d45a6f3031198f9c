// What only JavaScript can do in a step of an AgentRuntime: the agent, executors, models, tools, child runs.
import type {
  Agent,
  AgentCost,
  AgentInstruction,
  AgentRuntimeContext,
  AgentState,
  AgentTool,
  AgentUsage,
  InstructionExecutor,
  SubAgentTask,
} from '../../types/agent';
import { toJson } from '../serialize';
import { within } from '../tool/time-limit';
import { withWindow } from './agent-parts';
import { chunksOf } from './model-chunks';
import { waited } from './retries';
import type { RuntimeConfig } from './runtime-config';
import type { ActionHandler, ActionTools } from './step-driver';
import { type ToolAction, callTool } from './tool-call';

interface ModelAction {
  payload: never;
  /** Milliseconds before the model is asked. */
  waitMs?: number;
}

interface SubAgentAction {
  task: SubAgentTask;
  parentMessageId?: string;
  depth: number;
  timeoutMs: number;
}

/** The handlers by the kind of the engine's action. */
export function stepHandlers(
  agent: Agent,
  config: RuntimeConfig,
  executors: Readonly<Record<string, InstructionExecutor>>,
): Record<string, ActionHandler> {
  return {
    runner: ({ context, state }: { context: AgentRuntimeContext; state: AgentState }) =>
      instructionsOf(agent, config, context, state),
    executor: (payload: {
      instruction: AgentInstruction;
      state: AgentState;
      context: AgentRuntimeContext;
    }) => {
      const executor = executors[payload.instruction.type];
      return executor?.(payload.instruction, payload.state, payload.context);
    },
    model: (action: ModelAction, tools) => callModel(agent, config, action, tools),
    tool: (payload: ToolAction, { signal }) => {
      const tool = (agent.tools ?? {})[payload.name] as AgentTool;
      return callTool(tool, payload, config, signal);
    },
    usage: (payload: { operation: 'llm' | 'tool'; result: unknown; previous: AgentUsage }) =>
      agent.calculateUsage?.(payload.operation, payload.result, payload.previous),
    cost: ({ context }: { context: { usage: AgentUsage; previousCost: AgentCost } }) =>
      agent.calculateCost?.(context),
    sub_agent: (payload: SubAgentAction, { signal }) => runSubAgent(config, payload, signal),
  };
}

// Agents of other runtimes write into the state that they are given: messages that they only added become the
// state's, where the engine does not write them, and their metadata, where they keep their place.
async function instructionsOf(
  agent: Agent,
  { history }: RuntimeConfig,
  context: AgentRuntimeContext,
  state: AgentState,
): Promise<unknown> {
  const before = [...state.messages];
  const metadataBefore = metadataOf(state);
  const instructions: unknown = withWindow(agent, await agent.runner(context, state));
  const changed = {
    ...addedMessages(state, before, history),
    ...(metadataOf(state) !== metadataBefore && { '@metadata': state.metadata ?? {} }),
  };
  if (Object.keys(changed).length === 0) return instructions;
  return { instructions: instructions ?? null, ...changed };
}

function metadataOf({ metadata }: AgentState): string {
  return toJson(metadata ?? {}, 'state.metadata');
}

function addedMessages(
  { messages }: AgentState,
  before: readonly unknown[],
  history: RuntimeConfig['history'],
): object {
  const isCaller = history !== 'engine' && Array.isArray(messages);
  const grew = isCaller && messages.length > before.length;
  if (!grew || before.some((row, index) => row !== messages[index])) return {};
  return { '@rows': messages.slice(before.length) };
}

async function callModel(
  agent: Agent,
  config: RuntimeConfig,
  { payload, waitMs }: ModelAction,
  { signal, progress }: ActionTools,
): Promise<void> {
  const { modelRuntime = config.modelRuntime } = agent;
  if (!modelRuntime) return;
  await waited(waitMs, signal, config.wait);
  const chunks =
    typeof modelRuntime === 'function'
      ? modelRuntime.call(agent, payload, { signal })
      : chunksOf(modelRuntime, payload, signal);
  for await (const chunk of chunks) {
    if (signal.aborted) break;
    progress(chunk);
  }
}

function runSubAgent(
  config: RuntimeConfig,
  { task, timeoutMs, depth, parentMessageId }: SubAgentAction,
  outer: AbortSignal,
): Promise<unknown> {
  return within<unknown>(
    (signal) =>
      config.runSubAgent?.(task, {
        signal,
        depth,
        ...(parentMessageId ? { parentMessageId } : {}),
      }),
    timeoutMs,
    `The sub-agent did not end within ${timeoutMs} ms.`,
    outer,
  );
}
