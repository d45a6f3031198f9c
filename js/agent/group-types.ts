// What a group's supervisor and executors take and give.
import type { AgentState } from '../../types/agent';
import type { DurableJobRuntime } from './durable-jobs';

export interface GroupOrchestrationSupervisorConfig {
  /** Turns of the supervisor; 10 when absent. */
  maxRounds?: number;
  supervisorAgentId: string;
}

/** What an executor did. */
export interface GroupResult {
  type: string;
  payload?: unknown;
}

export type GroupInstruction =
  | { type: string; payload: Record<string, unknown>; reason?: string }
  | { type: 'finish'; reason: string; payload?: undefined };

export interface GroupContext {
  phase: string;
  payload?: unknown;
  operationId?: string | undefined;
}

export interface GroupExecutorOutput {
  events: object[];
  newState: AgentState;
  /** Of executors for supervisors that decide; the loop ends without one. */
  result?: GroupResult;
  /** Of executors for supervisors with a runner. */
  nextContext?: GroupContext;
}

export type GroupExecutor = (
  instruction: GroupInstruction,
  state: AgentState,
  options?: { signal: AbortSignal },
) => Promise<GroupExecutorOutput> | GroupExecutorOutput;

export interface GroupSupervisor {
  decide?(result: GroupResult, state: AgentState): Promise<GroupInstruction> | GroupInstruction;
  runner?(context: GroupContext, state: AgentState): Promise<GroupInstruction> | GroupInstruction;
  /** With a runtime: what a supervisor remembers of a run, a value of JSON, which is stored with each decision. */
  save?(): unknown;
  /** Called before each decision with what was saved; undefined before the first one. */
  restore?(memory: unknown): void;
}

/** Lets one member of a group work. */
export type CallGroupAgent = (
  agentId: string,
  options: {
    instruction?: string;
    task?: unknown;
    disableTools?: boolean;
    state: AgentState;
    signal: AbortSignal;
  },
) => unknown;

export interface GroupOrchestrationRuntimeConfig {
  executors?: Record<string, GroupExecutor | undefined>;
  operationId?: string;
  getOperation?: (id: string) => {
    context?: Record<string, unknown>;
    abortController?: AbortController;
  };
  /** Gives the executors of members that are missing. */
  callAgent?: CallGroupAgent;
  /** Members at work at a time; 4 when absent. */
  concurrency?: number;
  /** Milliseconds for a member or an executor; none when absent. */
  agentTimeoutMs?: number;
  signal?: AbortSignal;
  /** Called for each event of a run as its step ends. */
  onEvent?: (event: object) => void;
  /**
   * Records the runs, which then survive their process; needs a `name`. Without `callAgent`, members are agents of this
   * runtime, whose runs are their own.
   */
  runtime?: DurableJobRuntime;
  /** How runs find this group after a restart. */
  name?: string;
  /** Stored with the runs. */
  version?: string;
  /** What is done with an executor or a member that a crash cut: it failed (`report`, the default), or runs again. */
  unknown?: 'report' | 'retry';
}

/** Options of a group's run; for groups with a runtime. */
export interface GroupRunOptions {
  /** The same key gives the run that it began, also after a restart. */
  idempotencyKey?: string;
}
