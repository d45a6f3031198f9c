// How a run of an agent ended, distinguished by `status`.
import type { AgentRunCost, AgentUsage, TurnAnswer } from '../../types/agent';
import type { AgentInterrupt } from '../../types/agent-run';
import type { MillraceError } from '../errors';

/** What every end of a run has. */
export interface AgentResultBase {
  /** A finish reason, for instance `completed` or `max_steps_completed`. */
  reason: string;
  /** The last answer of the model, or what there is of one that was cut. */
  text: string;
  /** Steps of the loop: turns of the model, rounds of tools, and the end. */
  steps: number;
  /** Turns of the model: what `limits.maxSteps` counts, and the last answer after it. */
  turns: number;
  threadId: string;
  runId: string;
  /** What a function gave that is no text. */
  value?: unknown;
  usage?: AgentUsage;
  cost?: AgentRunCost;
  /**
   * What was left out or changed because a provider does not take it: `report.notes` of all calls of the model, also of
   * the agents that the run called. Each is there once, and 100 of them at most.
   */
  notes?: string[];
  /** What each answer of the model reports of itself. Of further ones than 64 KB hold, `answersLeftOut` has the number. */
  answers?: TurnAnswer[];
  answersLeftOut?: number;
}

/** A run that came to its end, left calls to the client, or was stopped. */
export interface EndedResult extends AgentResultBase {
  status: 'completed' | 'delegated' | 'cancelled';
  interrupts?: undefined;
  error?: undefined;
}

/** A run that waits for people. */
export interface InterruptedResult extends AgentResultBase {
  status: 'interrupted';
  interrupts: AgentInterrupt[];
  error?: undefined;
}

/**
 * A run that was ended by `maxCost`, `maxTokens` or `maxDurationMs`. `text` is the answer so far; `error` says which
 * limit it was, its code is the `reason`.
 */
export interface LimitedResult extends AgentResultBase {
  status: 'limited';
  reason: 'cost_limit_exceeded' | 'token_limit_exceeded' | 'timeout';
  interrupts?: undefined;
  error: MillraceError;
}

export interface FailedResult extends AgentResultBase {
  status: 'error';
  interrupts?: undefined;
  error: MillraceError;
}

/** How a run ended. */
export type AgentResult = EndedResult | InterruptedResult | LimitedResult | FailedResult;
