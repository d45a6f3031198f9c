// Runs of an agent that works inside the engine.
import type { AgentCost, AgentRuntimeContext, AgentState, AgentUsage } from './agent';
import type { Interrupt } from './events';

export type AgentRunStatus =
  | 'completed'
  /** A person is asked: `interrupts`. */
  | 'interrupted'
  /** The client runs the calls that have no result; its next messages hold them. */
  | 'delegated'
  | 'cancelled'
  | 'error';

/** How a run ended. */
export interface AgentResult {
  status: AgentRunStatus;
  /** A finish reason, for instance `completed` or `max_steps_completed`. */
  reason: string;
  /** The last answer of the model. */
  text: string;
  steps: number;
  threadId: string;
  runId: string;
  usage?: AgentUsage;
  cost?: AgentCost;
  interrupts?: Interrupt[];
  error?: Error;
}

/** A person's answer to one question. */
export interface AgentDecision {
  approved?: boolean;
  /** Replaces the arguments of the call. */
  editedArgs?: object | string;
  /** Told to the model when the call is refused. */
  reason?: string;
  /** Ends the run instead of telling the model of the refusal. */
  stop?: boolean;
  /** To a question that is no approval. */
  value?: unknown;
}

/** A run between two steps, as plain JSON: it goes on in any process that has the same agent. */
export interface SavedRun {
  state: AgentState;
  /** null when the run has ended or waits. */
  context: AgentRuntimeContext | null;
}
