// How an AgentRuntime runs its agent, and one step of it.
import type {
  AgentCost,
  AgentEvent,
  AgentInstruction,
  AgentModelRuntime,
  AgentStreamingRuntime,
  AgentUsage,
  InstructionExecutor,
  SubAgentResult,
  SubAgentTask,
} from '../../types/agent';
import { MillraceError } from '../errors';
import { checkRetries } from '../limits';
import type { DurableJobRuntime } from './durable-jobs';
import type { Wait } from './retries';
import { shown } from '../shown';
import { callback, type Check, checkValues, having, text } from '../value-checks';

/** A child run that an instruction asks for. */
export type RunSubAgent = (
  task: SubAgentTask,
  options: { signal: AbortSignal; depth: number; parentMessageId?: string },
) => Promise<SubAgentResult & { usage?: AgentUsage; cost?: AgentCost }>;

/** How an AgentRuntime runs its agent. */
export interface RuntimeConfig {
  /** Executors by instruction; those of the agent win, the engine's come last. */
  executors?: Partial<Record<AgentInstruction['type'], InstructionExecutor>>;
  operationId?: string;
  getOperation?: (id: string) => {
    context?: Record<string, unknown>;
    abortController?: AbortController;
  };
  /** The model of agents that bring none: a function, or a runtime made by createModelRuntime. */
  modelRuntime?: AgentModelRuntime | AgentStreamingRuntime;
  runSubAgent?: RunSubAgent;
  /** `engine`: the engine writes assistant rows, ids and rows of open calls. */
  history?: 'caller' | 'engine';
  /** Calls of tools at a time; 8 when absent. */
  concurrency?: number;
  /**
   * Milliseconds that a call may wait for its approval, for ever at 0 or Infinity. When absent 15 minutes, with a runtime
   * what that has.
   */
  approvalTimeoutMs?: number;
  /**
   * How often a function that is the model is called again when it fails in passing before its first
   * chunk: 0 to 100, 5 when absent. Runtimes that createModelRuntime made have `maxRetries`.
   */
  modelRetries?: number;
  /**
   * Waits these milliseconds before a model or a tool is called again, as a clock of one's own does; a timer
   * when absent. The signal ends the wait.
   */
  wait?: Wait;
  /** Milliseconds that a tool may take. */
  toolTimeoutMs?: number;
  /** Characters of JSON that a tool may return; 4 Mi when absent. */
  toolResultLimit?: number;
  onEvent?: (event: AgentEvent) => void;
  /** Records the runs, which then survive their process; needs a `name`. */
  runtime?: DurableJobRuntime;
  /** How runs find this AgentRuntime after a restart. */
  name?: string;
  /** Stored with the runs. */
  version?: string;
  /**
   * What is done with a tool of effect `once`, an executor or a sub-agent that a crash cut: the agent gets an error
   * (`report`, the default), or it runs again.
   */
  unknown?: 'report' | 'retry';
}

/** Options of one step, and of a run. */
export interface StepOptions {
  signal?: AbortSignal;
  /** Called for each event as it happens. */
  onEvent?: (event: AgentEvent) => void;
  /** With a runtime: the same key gives the run that it began, also after a restart. */
  idempotencyKey?: string;
  /** With a runtime: whose run it is. */
  principal?: string;
  /** With a runtime: one run at a time works in a thread. */
  threadId?: string;
}

/** Of the options that go with a runtime. */
export const durableChecks: Readonly<Record<string, Check>> = {
  runtime: having('a runtime of createRuntime()', 'register', 'beginJob'),
  name: text,
  version: text,
  unknown: ["'report' or 'retry'", (value) => value === 'report' || value === 'retry'],
};

const defaultApprovalMs = 15 * 60 * 1000;

/**
 * Milliseconds that a call may wait for its approval, 0 for ever as the engine has it. Throws
 * `invalid_option` for what an AgentRuntime cannot be run with.
 */
export function checkedApprovalMs({
  runtime,
  approvalTimeoutMs = runtime?.approvalTimeoutMs ?? defaultApprovalMs,
  modelRetries,
  wait,
  name,
  version,
  unknown,
}: RuntimeConfig): number {
  checkRetries('modelRetries', modelRetries);
  checkValues(
    'AgentRuntime',
    { wait, runtime, name, version, unknown },
    { wait: callback, ...durableChecks },
  );
  if (approvalTimeoutMs === Infinity) return 0;
  if (Number.isFinite(approvalTimeoutMs) && approvalTimeoutMs >= 0)
    return Math.floor(approvalTimeoutMs);
  throw new MillraceError(
    'invalid_option',
    `approvalTimeoutMs must be a number of at least 0, not ${shown(approvalTimeoutMs)}.`,
  );
}
