// What an AgentRuntime reads of its agent and its state.
import type { Agent, AgentState, ModelRuntimeConfig } from '../../types/agent';
import type { WaitingRun } from './durable-step-reader';

/** The model that the agent was made with. */
export function modelConfig(agent: Agent): unknown {
  const { config } = agent as { config?: { modelRuntimeConfig?: ModelRuntimeConfig } };
  const { model, provider, compressionModel } = config?.modelRuntimeConfig ?? {};
  return { model, provider, compressionModel };
}

/** A compression of an agent that knows its window is measured by it. */
export function withWindow(agent: Agent, decided: unknown): unknown {
  if (Array.isArray(decided)) return decided.map((one) => withWindow(agent, one));
  const { config } = agent as { config?: Record<string, Record<string, unknown> | undefined> };
  const window =
    config?.['compressionConfig']?.['maxWindowToken'] ??
    config?.['modelRuntimeConfig']?.['contextWindowTokens'];
  const { type, payload } = (decided ?? {}) as { type?: unknown; payload?: object };
  if (typeof window !== 'number' || type !== 'compress_context') return decided;
  return { ...(decided as object), payload: { maxWindowToken: window, ...payload } };
}

/** The durable run that waits in this state. */
export function durableRunOf({ metadata }: AgentState): WaitingRun | undefined {
  const run = metadata?.['durableRun'] as Partial<WaitingRun> | undefined;
  return typeof run?.id === 'string' ? { id: run.id, events: run.events ?? 0 } : undefined;
}

/** Whether an agent has a hook. */
export function has(agent: Agent, hook: keyof Agent): boolean {
  return agent[hook] !== undefined;
}
