// Runs of an agent that works inside the engine.
import type { AgentRuntimeContext, AgentState } from './agent';
import type { Interrupt } from './events';

export type AgentRunStatus =
  | 'completed'
  /** A person is asked: `interrupts`. */
  | 'interrupted'
  /** The client runs the calls that have no result; its next messages hold them. */
  | 'delegated'
  | 'cancelled'
  /** `maxCost`, `maxTokens` or `maxDurationMs` ended it. */
  | 'limited'
  | 'error';

/** A tool waits for approval by the user. */
export interface ApprovalInterrupt extends Interrupt {
  reason: 'tool_call';
  message: string;
  toolCallId: string;
  metadata: {
    toolName: string;
    /** Of the MCP server whose tool the provider calls itself; its arguments cannot be edited. */
    serverLabel?: string;
    /** As the model wrote them: a text when they are no JSON. */
    arguments: unknown;
    hash: string;
    /** Of a computer's call: approving it acknowledges them. */
    pendingSafetyChecks?: { id: string; code?: string | null; message?: string | null }[];
    [member: string]: unknown;
  };
}

/** The run waits for an answer of the user, to the tool `ask_user` for instance. */
export interface QuestionInterrupt extends Interrupt {
  reason: 'input_required';
  message: string;
}

/** What a run asks. */
export type AgentInterrupt = ApprovalInterrupt | QuestionInterrupt;

/** A person's answer to one question. */
export interface AgentDecision {
  approved?: boolean | undefined;
  /** Replaces the arguments of the call. */
  editedArgs?: object | string | undefined;
  /** The same, by the name that decisions of AgentRuntime have. */
  editedArguments?: object | string | undefined;
  /** Told to the model when the call is refused. */
  reason?: string | undefined;
  /** Ends the run instead of telling the model of the refusal. */
  stop?: boolean | undefined;
  /** To a question that is no approval. */
  value?: unknown;
}

/** What an agent can do, as AG-UI's clients read it. */
export interface AgentCapabilities {
  identity: { name: string; type: string; version: string };
  transport: { streaming: boolean };
  tools: {
    supported: boolean;
    parallelCalls: boolean;
    clientProvided: boolean;
    items: { name: string; description: string; parameters?: object }[];
  };
  reasoning: { supported: boolean; streaming: boolean; encrypted: boolean };
  humanInTheLoop: {
    supported: boolean;
    approvals: boolean;
    interrupts: boolean;
    approveWithEdits: boolean;
  };
  /** `maxIterations`: `limits.maxSteps`. */
  execution?: { maxIterations: number };
}

/** A run between two steps, as plain JSON: it goes on in any process that has the same agent. */
export interface RunCheckpoint {
  state: AgentState;
  /** null when the run has ended or waits. */
  context: AgentRuntimeContext | null;
}
