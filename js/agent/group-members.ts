// How the members of a group are put to work: the executors of a supervisor's instructions, and what the
// supervisor gets an error where one fails.
import type { AgentState } from '../../types/agent';
import type { GroupExecutor, GroupResult } from './group-types';

type Payload = Record<string, unknown>;

/** Lets one member work; `payload` names it and has its task. */
export type Speak = (payload: Payload, state: AgentState) => Promise<unknown>;

/** Works on all items, some at a time. */
export type Each = <T>(
  items: T[],
  work: (item: T) => Promise<unknown>,
) => Promise<{ success: boolean; result?: unknown; error?: string }[]>;

/** The results of instructions that failed, by the instruction's type. */
export const failures: Record<string, (payload: Payload, error: string) => GroupResult> = {
  call_agent: ({ agentId }, error) => ({
    type: 'agent_spoke',
    payload: { agentId, completed: false, error },
  }),
  parallel_call_agents: ({ agentIds }, error) => ({
    type: 'agents_broadcasted',
    payload: { agentIds, completed: false, error },
  }),
  exec_async_task: ({ agentId }, error) => ({
    type: 'task_completed',
    payload: { agentId, success: false, error },
  }),
  batch_exec_async_tasks: ({ tasks }, error) => ({
    type: 'tasks_completed',
    payload: {
      results: ((tasks ?? []) as { agentId?: string }[]).map(({ agentId }) => ({
        agentId,
        success: false,
        error,
      })),
    },
  }),
  delegate: ({ agentId }, error) => ({
    type: 'delegated',
    payload: { agentId, completed: false, error },
  }),
};

/** The executors of instructions to members, on a way to let one of them work. */
export function memberExecutors(speak: Speak, each: Each): Record<string, GroupExecutor> {
  return {
    call_agent: async ({ payload = {} }, state) => {
      const { agentId } = payload;
      await speak(payload, state);
      return {
        events: [{ type: 'agent_spoke', agentId }],
        newState: state,
        result: { type: 'agent_spoke', payload: { agentId, completed: true } },
      };
    },
    parallel_call_agents: async ({ payload = {} }, state) => {
      const agentIds = (payload.agentIds ?? []) as string[];
      const results = await each(agentIds, (agentId) => speak({ ...payload, agentId }, state));
      const completed = results.every(({ success }) => success);
      return {
        events: [{ type: 'agents_broadcasted', agentIds }],
        newState: state,
        result: { type: 'agents_broadcasted', payload: { agentIds, completed, results } },
      };
    },
    delegate: async ({ payload = {} }, newState) => {
      const { agentId } = payload;
      await speak(payload, newState);
      const result = { type: 'delegated', payload: { agentId, completed: true } };
      return { events: [], newState, result };
    },
    exec_async_task: async ({ payload = {} }, newState) => {
      const { agentId } = payload;
      const done = { agentId, success: true, result: await speak(payload, newState) };
      return { events: [], newState, result: { type: 'task_completed', payload: done } };
    },
    batch_exec_async_tasks: async ({ payload = {} }, state) => {
      const tasks = (payload.tasks ?? []) as Record<string, unknown>[];
      const results = await each(tasks, (task) => speak(task, state));
      return {
        events: [],
        newState: state,
        result: {
          type: 'tasks_completed',
          payload: {
            results: results.map((result, index) => ({
              agentId: tasks[index]?.agentId,
              ...result,
            })),
          },
        },
      };
    },
  };
}
