// Operations of LobeHub's server: what its functions take and give.

/** A call of a tool as LobeHub's clients have it. */
export interface LobeToolCall {
  id: string;
  identifier: string;
  apiName: string;
  /** JSON text. */
  arguments: string;
  type: string;
}

/** Where an operation stands. */
export type LobeStatus =
  | 'idle'
  | 'running'
  | 'waiting_for_human'
  | 'waiting_for_async_tool'
  | 'done'
  | 'error'
  | 'interrupted';

/** Why nothing more comes, or nothing before somebody answers. */
export type LobeCompletionReason =
  | 'done'
  | 'error'
  | 'interrupted'
  | 'waiting_for_human'
  | 'waiting_for_async_tool'
  | 'max_steps'
  | 'cost_limit';

/** Where an event of an operation is sent to. */
export interface LobeWebhook {
  /** An address of the internet, or one that `api.tools.callbackAllow` names. */
  url: string;
  /** Members that each message has beside those of the event. */
  body?: Record<string, unknown> | undefined;
}

/** A point of an operation that is reported to a webhook. */
export interface LobeWebhookHook {
  id?: string | undefined;
  type: LobeHook['type'];
  webhook: LobeWebhook;
}

/** A request for an operation. It has a `prompt`, or `messages`. */
export interface LobeOperationParams {
  /** Names it; a request that comes again with the same members finds it. Made when absent. */
  operationId?: string | undefined;
  /** The agent of the runtime that works; the one that answers chats when absent. */
  agentId?: string | undefined;
  /** Goes on with what its thread has. */
  prompt?: string | undefined;
  /** The whole conversation, as LobeHub or AG-UI has messages. */
  messages?: readonly object[] | undefined;
  threadId?: string | null | undefined;
  topicId?: string | null | undefined;
  /** Tools that the client runs. */
  tools?: readonly object[] | undefined;
  /** False: it begins with `startExecution`, or with the first step that is executed. */
  autoStart?: boolean | undefined;
  /** Points that are reported to webhooks. */
  hooks?: readonly LobeWebhookHook[] | undefined;
  /** The same of each step that has ended; messages have `type: 'step'`. */
  stepWebhook?: LobeWebhook | undefined;
  /** The same of the end, and of each wait for the user; messages have `type: 'completion'`. */
  completionWebhook?: LobeWebhook | undefined;
  /** What else LobeHub's clients send; the agent's tools get some of it as `run.context`. */
  [member: string]: unknown;
}

/** An operation that was created. */
export interface LobeOperationInfo {
  success: boolean;
  operationId: string;
  autoStarted: boolean;
  agentId: string;
  /** Of the durable run that it is. */
  runId: string;
  status: LobeStatus;
  threadId: string;
  createdAt: string;
}

/** The state of an operation. */
export interface LobeState {
  status: LobeStatus;
  stepCount: number;
  lastModified: string;
  usage?: object;
  cost?: { total?: number };
  error?: { message: string; code?: string };
  interruption?: { reason: string; canResume: boolean };
  pendingToolsCalling?: LobeToolCall[];
  pendingHumanPrompt?: { prompt: string };
  pendingHumanSelect?: { prompt: string; options?: unknown };
}

/** An operation as it stands. */
export interface LobeOperationStatus {
  operationId: string;
  currentState: LobeState;
  isActive: boolean;
  isCompleted: boolean;
  hasError: boolean;
  needsHumanInput: boolean;
  metadata: Record<string, unknown>;
  /** Units: times in milliseconds. */
  stats: {
    lastActiveTime: number;
    totalCost: number;
    totalMessages: number;
    totalSteps: number;
    uptime: number;
  };
  executionHistory?: object[];
  recentEvents?: LobeEvent[];
}

/** What came of a step. `locked`: another request does it. */
export interface LobeStepResult {
  success?: boolean;
  locked?: boolean;
  operationId: string;
  stepIndex: number;
  status?: LobeStatus;
  completed?: boolean;
  waitingForHuman?: boolean;
  nextStepScheduled?: boolean;
  nextStepIndex?: number;
  totalSteps?: number;
  totalCost?: number;
  reason?: LobeCompletionReason;
  error?: unknown;
  pendingApproval?: LobeToolCall[];
  pendingPrompt?: object;
  pendingSelect?: object;
}

/** A question that waits for the answer of the user. */
export interface LobeIntervention {
  type: 'tool_approval' | 'human_prompt' | 'human_select';
  operationId: string;
  status: LobeStatus;
  stepCount: number;
  lastModified: string;
  userId?: string;
  pendingToolsCalling?: LobeToolCall[];
  pendingHumanPrompt?: object;
  pendingHumanSelect?: object;
}

/** The answer of the user. */
export interface LobeDecision {
  operationId: string;
  action: 'approve' | 'reject' | 'reject_continue' | 'input' | 'select';
  data?: { approvedToolCall?: Partial<LobeToolCall>; input?: unknown; selection?: unknown };
  /** The call, where several wait. */
  toolCallId?: string | undefined;
  reason?: string | undefined;
}

/** An event of an operation's stream. */
export interface LobeEvent {
  type: string;
  operationId: string;
  stepIndex: number;
  timestamp: number;
  /** The place behind which a reader goes on. */
  id: string;
  data: Record<string, unknown>;
}

/** The result of a tool for a call. */
export interface LobeToolOutput {
  id: string;
  identifier: string;
  apiName: string;
  isSuccess: boolean;
  output: string;
  executionTimeMs: number;
}

/** What a hook gets of an operation. Units: members named `Ms` and `duration` in milliseconds, costs in USD. */
export interface LobeHookEvent {
  operationId: string;
  agentId: string;
  userId: string;
  threadId: string;
  /** The thread, as LobeHub's clients name it. */
  topicId: string;
  stepIndex: number;
  stepType?: string;
  /** What a function calls the step, by its last `ctx.stage`. */
  stepLabel?: string;
  /** The model's answer in the step that has ended, and the calls that it made. */
  content?: string;
  reasoning?: string;
  toolsCalling?: LobeToolCall[];
  /** The results of the tools in that step, in the order of their ends. */
  toolsResult?: LobeToolOutput[];
  executionTimeMs?: number;
  /** Since the operation was created. */
  elapsedMs?: number;
  /** Whether that step was one of the model. */
  thinking?: boolean;
  /** What the model wrote in the steps before, shortened, and the calls that it made last. */
  lastLLMContent?: string;
  lastToolsCalling?: LobeToolCall[];
  stepCost?: number;
  totalCost?: number;
  totalInputTokens?: number;
  totalOutputTokens?: number;
  totalSteps?: number;
  /** Calls of tools that the model made, in all steps. */
  totalToolCalls?: number;
  /** Whether another step follows. */
  shouldContinue?: boolean;
  status?: LobeStatus;
  reason?: LobeCompletionReason;
  steps?: number;
  cost?: number;
  duration?: number;
  llmCalls?: number;
  toolCalls?: number;
  totalTokens?: number;
  lastAssistantContent?: string;
  errorMessage?: string;
  /** LobeHub's class of the error. */
  errorType?: string;
  finalState?: LobeState;
}

/** A function that is called at a point of an operation. */
export interface LobeHook {
  id: string;
  type: 'beforeStep' | 'afterStep' | 'onComplete' | 'onError';
  handler: (event: LobeHookEvent) => Promise<void> | void;
}
