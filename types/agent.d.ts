// The agent runtime: state, context, instructions, events. Field names are LobeHub's, so that its
// agents, executors and stored states fit.
import type { AGUIEvent } from './events';
import type { CallReport } from './model';

export type AgentStatus =
  | 'idle'
  | 'running'
  | 'waiting_for_human'
  | 'waiting_for_async_tool'
  | 'done'
  | 'error'
  | 'interrupted';

/** Why a run ended. */
export type FinishReason =
  | 'completed'
  | 'user_requested'
  | 'user_aborted'
  | 'max_steps_exceeded'
  | 'max_steps_completed'
  | 'cost_limit_exceeded'
  /** `limits.maxTokens`. */
  | 'token_limit_exceeded'
  | 'tool_call_repeat_limit'
  | 'timeout'
  | 'agent_decision'
  | 'error_recovery'
  | 'system_shutdown'
  | 'queued_message_interrupt';

export type AgentPhase =
  | 'init'
  | 'user_input'
  | 'llm_result'
  | 'tool_result'
  | 'tools_batch_result'
  | 'task_result'
  | 'tasks_batch_result'
  | 'sub_agent_result'
  | 'sub_agents_batch_result'
  | 'human_response'
  | 'human_approved_tool'
  | 'human_abort'
  | 'compression_result'
  | 'error';

/** One row of a conversation: OpenAI's members and whatever a host keeps beside them. */
export interface AgentMessage {
  id?: string;
  role: string;
  content?: unknown;
  parentId?: string;
  tool_calls?: OpenAIToolCall[];
  tool_call_id?: string;
  plugin?: ChatToolPayload;
  pluginIntervention?: ToolIntervention;
  reasoning?: unknown;
  metadata?: Record<string, unknown>;
  [member: string]: unknown;
}

export interface OpenAIToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  thoughtSignature?: string;
}

/** A tool call as agents see it. */
export interface ChatToolPayload {
  id: string;
  identifier: string;
  apiName: string;
  /** JSON text. */
  arguments: string;
  type: string;
  executor?: string;
  source?: string;
  thoughtSignature?: string;
  intervention?: ToolIntervention;
  result_msg_id?: string;
}

export interface ToolIntervention {
  status: 'pending' | 'approved' | 'rejected' | 'aborted' | 'none';
  rejectedReason?: string;
  [member: string]: unknown;
}

/** An error in a state or an event; thrown errors are turned into it. */
export interface AgentError {
  type?: string;
  message: string;
  body?: unknown;
}

// Approval

export type HumanInterventionPolicy = 'never' | 'required' | 'always';
export type ApprovalMode = 'manual' | 'auto-run' | 'allow-list' | 'headless' | 'reject';

export type ArgumentMatcher =
  | string
  | {
      type: 'exact' | 'prefix' | 'wildcard' | 'regex' | 'semanticShell' | 'sensitivePath';
      pattern: string;
    }
  /** A rule of shell commands may name what it looks for as its `predicate`. */
  | { type: 'semanticShell'; predicate: string };

export interface HumanInterventionRule {
  /** All of these arguments have to be there and match; a rule without it always matches. */
  match?: Record<string, ArgumentMatcher>;
  policy: HumanInterventionPolicy;
}

export type HumanInterventionConfig = HumanInterventionPolicy | HumanInterventionRule[];

/** A resolver of the host decides at run time. */
export interface DynamicIntervention {
  dynamic: {
    type: string;
    policy?: HumanInterventionPolicy;
    default?: HumanInterventionPolicy;
  };
}

export interface SecurityBlacklistRule {
  description: string;
  match: Record<string, ArgumentMatcher>;
  /** `always` (when absent) is overridden by no mode. */
  policy?: 'always' | 'required';
}

export type SecurityBlacklistConfig = SecurityBlacklistRule[];

export interface SecurityCheckResult {
  blocked: boolean;
  /** The description of the rule. */
  reason?: string;
  /** Of the rule; `always` where it says nothing. */
  policy?: 'always' | 'required';
}

/** True asks for approval. */
export type InterventionAudit = (
  toolArgs: Record<string, unknown>,
  metadata?: Record<string, unknown>,
) => boolean | Promise<boolean>;

export interface GlobalInterventionAudit {
  type: string;
  policy?: 'always' | 'required';
  resolver: InterventionAudit;
}

// Usage and cost

/** What an answer of the model reports of itself, in a run of an agent. */
export type TurnAnswer = Pick<
  CallReport,
  'provider' | 'model' | 'finishReason' | 'response' | 'incomplete' | 'alternatives'
>;

/** What the calls of the model report to the host of a run. */
export interface TurnReports {
  /** What was left out or changed because a provider does not take it, each sentence once. */
  notes?: string[];
  answers?: TurnAnswer[];
  /** How many answers are not in the list, as it has its limit of 64 KB. */
  answersLeftOut?: number;
}

/** What a run used. */
export interface AgentUsage {
  llm: {
    apiCalls: number;
    processingTimeMs: number;
    tokens: { input: number; output: number; total: number };
    /** Of agents in the engine: there when not every call was reported by its provider. */
    source?: 'estimated' | 'unknown';
  };
  tools: {
    totalCalls: number;
    totalTimeMs: number;
    byTool: { name: string; calls: number; errors: number; totalTimeMs: number }[];
  };
  humanInteraction: {
    approvalRequests: number;
    promptRequests: number;
    selectRequests: number;
    totalWaitingTimeMs: number;
  };
}

/** What a run cost. */
export interface AgentCost {
  total: number;
  /** Of agents in the engine: model calls whose price nobody knows; `total` is without them. */
  unpricedCalls?: number;
  currency: string;
  calculatedAt: string;
  llm: {
    total: number;
    currency: string;
    byModel: {
      id: string;
      provider?: string;
      model?: string;
      totalCost: number;
      usage?: Record<string, number>;
    }[];
  };
  tools: {
    total: number;
    currency: string;
    byTool: { name: string; calls: number; totalCost: number; currency: string }[];
  };
}

/** The cost of a run: without a total where no price of its calls is known. */
export type AgentRunCost = Omit<AgentCost, 'total' | 'llm'> & {
  total?: number;
  llm: Omit<AgentCost['llm'], 'total'> & { total?: number };
};

/** What a run may cost. */
export interface AgentCostLimit {
  maxTotalCost: number;
  maxLlmCost?: number;
  maxToolCost?: number;
  currency?: string;
  onExceeded: 'stop' | 'warn' | 'interrupt';
}

/** LobeHub's name of AgentUsage. */
export type Usage = AgentUsage;
/** LobeHub's name of AgentCost. */
export type Cost = AgentCost;
/** LobeHub's name of AgentCostLimit. */
export type CostLimit = AgentCostLimit;

/** Limits that are ours. */
export interface AgentLimits {
  /** Tokens of all model calls. */
  maxTokens?: number | undefined;
  /** Milliseconds since the state was created. */
  maxDurationMs?: number | undefined;
  /** The same call of a tool this often in a row ends tool use; 20 when absent. */
  maxRepeats?: number | undefined;
  /** Calls that one turn may make; the others are answered with an error. createAgent: 16 when absent. */
  maxCallsPerStep?: number | undefined;
}

// State

export interface PendingApproval {
  toolCallId: string;
  /** SHA-256, in hexadecimal, of identifier, API and arguments exactly as shown, each as `length:text`. */
  hash: string;
  status: 'pending' | 'approved' | 'rejected' | 'aborted';
  /** Both sets of arguments when a person edited them. */
  original?: { arguments: string; hash: string };
  edited?: { arguments: string; hash: string };
}

export interface AgentState {
  operationId: string;
  status: AgentStatus;
  messages: AgentMessage[];
  stepCount: number;
  maxSteps?: number;
  /** The limit of steps is passed: one last answer without tools. */
  forceFinish?: boolean;
  systemRole?: string;
  tools?: unknown[];
  toolManifestMap: Record<string, unknown>;
  toolSourceMap?: Record<string, string>;
  toolExecutorMap?: Record<string, string>;
  operationToolSet?: Record<string, unknown>;
  activatedStepTools?: unknown[];
  modelRuntimeConfig?: ModelRuntimeConfig;
  /** A compression that failed: it is tried again when the conversation has grown by a quarter of its tokens. */
  failedCompression?: { tokens: number; rows: number; last: string; grown?: number };
  usage: AgentUsage;
  cost: AgentCost;
  /** What the calls of the model reported so far. */
  report?: TurnReports;
  costLimit?: AgentCostLimit;
  limits?: AgentLimits;
  pendingToolsCalling?: ChatToolPayload[];
  pendingHumanPrompt?: { prompt: string; metadata?: Record<string, unknown> };
  pendingHumanSelect?: {
    options: { label: string; value: string }[];
    multi?: boolean;
    prompt?: string;
    metadata?: Record<string, unknown>;
  };
  pendingApprovals?: PendingApproval[];
  interruption?: {
    reason: string;
    interruptedAt: string;
    canResume: boolean;
    interruptedInstruction?: unknown;
  };
  userInterventionConfig?: { approvalMode: ApprovalMode; allowList?: string[] };
  securityBlacklist?: SecurityBlacklistConfig;
  toolCallRepeatGuard?: { counts: Record<string, number>; stoppedByRepeatLimit?: boolean };
  error?: AgentError;
  metadata?: Record<string, unknown>;
  createdAt: string;
  lastModified: string;
  [member: string]: unknown;
}

export interface ModelRuntimeConfig {
  model: string;
  provider: string;
  contextWindowTokens?: number;
  compressionModel?: { model: string; provider: string };
  [member: string]: unknown;
}

export interface AgentRuntimeContext {
  phase: AgentPhase;
  payload?: unknown;
  session?: {
    sessionId: string;
    messageCount: number;
    status: AgentStatus;
    stepCount: number;
    eventCount?: number;
  };
  operationId?: string;
  metadata?: Record<string, unknown>;
  stepUsage?: unknown;
  initialContext?: unknown;
  stepContext?: { hasQueuedMessages?: boolean; [member: string]: unknown };
  instructionIndex?: number;
}

// Instructions

export interface SubAgentTask {
  description?: string;
  instruction: string;
  inheritMessages?: boolean;
  /** Milliseconds; 30 minutes when absent. */
  timeout?: number;
  runInClient?: boolean;
  targetAgentId?: string;
  [member: string]: unknown;
}

/** A piece of context for one call of a model, in an element of its own. */
export interface AdditionalContext {
  content:
    | { type: 'text'; text: string }
    | {
        type: 'sections';
        sections: { tag: string; format: 'text' | 'json' | 'compact_json'; value: unknown }[];
      };
  /** Before the first message of the user, or behind all messages. */
  placement: 'stable_prefix' | 'virtual_tail';
  wrapper: { tag: string; attributes?: Record<string, string> };
}

/**
 * `stepLabel` names a step for people: the events `llm_start` and `llm_result` have it, and `metadata._stepLabel` of the
 * state has the newest.
 */
export type AgentInstruction = { stepLabel?: string } & (
  | {
      type: 'call_llm';
      payload: Record<string, unknown> & {
        messages: AgentMessage[];
        additionalContexts?: AdditionalContext[];
      };
    }
  | {
      type: 'call_tool';
      payload: {
        parentMessageId?: string;
        toolCalling: ChatToolPayload;
        skipCreateToolMessage?: boolean;
      };
    }
  | {
      type: 'call_tools_batch';
      payload:
        | {
            parentMessageId?: string;
            toolsCalling: ChatToolPayload[];
            existingToolMessageIds?: Record<string, string>;
          }
        | OpenAIToolCall[];
    }
  | {
      type: 'resolve_aborted_tools';
      payload: {
        parentMessageId?: string;
        toolsCalling: ChatToolPayload[];
        reason?: string;
        existingToolMessageIds?: Record<string, string>;
      };
    }
  | {
      type: 'resolve_blocked_tools';
      payload: {
        parentMessageId?: string;
        toolsCalling: ChatToolPayload[];
        blockedReason?: string;
        blockedContent?: string;
      };
    }
  | {
      type: 'exec_sub_agent' | 'exec_client_sub_agent' | 'exec_task' | 'exec_client_task';
      payload: { parentMessageId?: string; task: SubAgentTask };
    }
  | {
      type: 'exec_sub_agents' | 'exec_client_sub_agents' | 'exec_tasks' | 'exec_client_tasks';
      payload: { parentMessageId?: string; tasks: SubAgentTask[] };
    }
  | {
      type: 'request_human_approve';
      pendingToolsCalling: ChatToolPayload[];
      parentMessageId?: string;
      reason?: string;
      skipCreateToolMessage?: boolean;
      /** The batch that this one takes the place of; taken from the calls' rows when absent. */
      supersedes?: { batchId: string; operationId?: string; toolCallIds: string[] } | string;
    }
  | {
      type: 'request_human_prompt';
      prompt: string;
      reason?: string;
      metadata?: Record<string, unknown>;
    }
  | {
      type: 'request_human_select';
      options: { label: string; value: string }[];
      multi?: boolean;
      prompt?: string;
      reason?: string;
      metadata?: Record<string, unknown>;
    }
  | {
      type: 'compress_context';
      payload: {
        messages: AgentMessage[];
        currentTokenCount: number;
        existingSummary?: string;
        preserveTailTokens?: number;
      };
    }
  | { type: 'finish'; reason: FinishReason; reasonDetail?: string }
);

// Events

export type AgentEvent =
  | { type: 'init' }
  | { type: 'llm_start'; payload: unknown; stepLabel?: string }
  | { type: 'llm_stream'; chunk: unknown }
  | {
      type: 'llm_result';
      stepLabel?: string;
      result: {
        content: string;
        tool_calls: OpenAIToolCall[];
        reasoning?: unknown;
        usage?: unknown;
        finishReason?: string;
        /** Calls whose arguments were nearly JSON; `tool_calls` has them as they are run. */
        repairedArguments?: { id: string; what: string }[];
      };
    }
  | { type: 'stream_retry'; data: Record<string, unknown> }
  | { type: 'tool_pending'; toolCalls: ChatToolPayload[] }
  | { type: 'tool_result'; id: string; result: unknown }
  | {
      type: 'human_approve_required';
      pendingToolsCalling: ChatToolPayload[];
      operationId: string;
    }
  | {
      type: 'human_prompt_required';
      prompt: string;
      metadata?: Record<string, unknown>;
      operationId: string;
    }
  | {
      type: 'human_select_required';
      options: { label: string; value: string }[];
      multi?: boolean;
      prompt?: string;
      metadata?: Record<string, unknown>;
      operationId: string;
    }
  | { type: 'done'; finalState: AgentState; reason: FinishReason; reasonDetail?: string }
  | { type: 'error'; error: AgentError; isCostWarning?: boolean }
  | {
      type: 'interrupted';
      reason: string;
      interruptedAt: string;
      canResume: boolean;
      interruptedInstruction?: unknown;
      metadata?: Record<string, unknown>;
    }
  | {
      type: 'resumed';
      reason: string;
      resumedAt: string;
      resumedFromStep: number;
      metadata?: Record<string, unknown>;
    }
  | { type: 'compression_complete'; groupId: string; parentMessageId?: string }
  | { type: 'compression_error'; error: AgentError };

// Agents and executors

export interface AgentStepResult {
  events: AgentEvent[];
  newState: AgentState;
  nextContext?: AgentRuntimeContext;
  /** Of an AgentRuntime with a runtime: `run_` and 32 hexadecimal digits. */
  runId?: string;
}

export type InstructionExecutor = (
  instruction: AgentInstruction,
  state: AgentState,
  context?: AgentRuntimeContext,
) => Promise<AgentStepResult> | AgentStepResult;

export interface ModelChunk {
  content?: string;
  tool_calls?: OpenAIToolCall[];
  reasoning?: unknown;
  usage?: unknown;
  finishReason?: string;
  [member: string]: unknown;
}

export type AgentModelRuntime = (
  payload: never,
  options?: { signal: AbortSignal },
) => AsyncIterable<ModelChunk>;

/** What an agent needs of a runtime that createModelRuntime made. */
export interface AgentStreamingRuntime {
  stream(
    payload: never,
    options?: { signal?: AbortSignal },
  ): AsyncIterable<AGUIEvent> & { text(): Promise<string>; readonly report: Promise<CallReport> };
}

/** What a tool learns besides its arguments. */
export interface AgentToolContext {
  signal: AbortSignal;
  toolCallId: string;
  /** The same for each attempt of one call. */
  idempotencyKey: string;
  /** Tells readers of the run how far the call is. */
  progress: (value: unknown) => void;
  /** Of a durable run: what is known of it in every process that it works in. */
  run?:
    | {
        id: string;
        threadId: string;
        principal: string;
        context: unknown;
        /** The header of that name of the request that began the run. */
        traceparent?: string | undefined;
      }
    | undefined;
}

export type AgentTool = (args: never, context: AgentToolContext) => unknown;

export interface SubAgentResult {
  success: boolean;
  threadId?: string;
  result?: string;
  error?: string;
}

/** The brain: it decides, the runtime executes. */
export interface Agent {
  runner(
    context: AgentRuntimeContext,
    state: AgentState,
  ): Promise<AgentInstruction | AgentInstruction[]> | AgentInstruction | AgentInstruction[];
  tools?: Record<string, AgentTool>;
  /** A function that gives chunks, or a runtime made by createModelRuntime. */
  modelRuntime?: AgentModelRuntime | AgentStreamingRuntime;
  executors?: Partial<Record<AgentInstruction['type'], InstructionExecutor>>;
  calculateUsage?(
    operationType: 'llm' | 'tool' | 'human_interaction',
    operationResult: unknown,
    previousUsage: AgentUsage,
  ): AgentUsage | Promise<AgentUsage>;
  calculateCost?(context: {
    usage: AgentUsage;
    costLimit?: AgentCostLimit;
    previousCost?: AgentCost;
  }): AgentCost | Promise<AgentCost>;
}

/** What a person decided. */
export type HumanDecision =
  | {
      action: 'approve';
      toolCallId: string;
      arguments?: string;
      editedArguments?: object | string;
    }
  | { action: 'approve_all' }
  | { action: 'reject' | 'reject_and_continue'; toolCallId: string; reason?: string }
  | { action: 'stop'; reason?: string }
  | { action: 'answer'; value: unknown }
  | { action: 'tool_result'; toolCallId: string; result: unknown; success?: boolean };
