// The events of a run, as AG-UI 1.0 spells them.
import type { AgentUsage, AgentRunCost } from './agent';
import type { ContentPart, MessageInput, Message } from './messages';

/** Members of every event. */
interface EventBase {
  /** Milliseconds since 1970, an integer. */
  timestamp?: number | undefined;
  /** The event of the source that this one was made from. */
  rawEvent?: unknown;
  metadata?: Record<string, unknown> | undefined;
}

/** Members of events that may stem from a subagent. */
interface AttributedEventBase extends EventBase {
  subagentRunId?: string | undefined;
}

export interface TokenUsage {
  provider?: string | undefined;
  model?: string | undefined;
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  totalTokens?: number | undefined;
  /** Part of the output. */
  reasoningTokens?: number | undefined;
  /** Part of the input. */
  cachedInputTokens?: number | undefined;
  /** Part of the input. */
  cacheWriteInputTokens?: number | undefined;
}

export interface Interrupt {
  id: string;
  /** `tool_call`, `input_required`, `confirmation` or `<framework>:<name>` by convention. */
  reason: string;
  message?: string | undefined;
  toolCallId?: string | undefined;
  responseSchema?: Record<string, unknown> | undefined;
  expiresAt?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  subagentRunId?: string | undefined;
}

export type RunFinishedOutcome =
  | { type: 'success'; pendingToolCallIds?: string[] | undefined }
  | { type: 'interrupt'; interrupts: Interrupt[] }
  | { type: 'cancelled' };

/** One operation of RFC 6902. */
export type JsonPatchOperation =
  | { op: 'add' | 'replace' | 'test'; path: string; value?: unknown }
  | { op: 'remove'; path: string }
  | { op: 'move' | 'copy'; path: string; from: string };

export interface Tool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters?: unknown;
  metadata?: Record<string, unknown> | undefined;
}

/** What a client sends to start a run. */
export interface RunAgentInput {
  threadId: string;
  runId: string;
  messages: MessageInput[];
  protocolVersion?: string | undefined;
  parentRunId?: string | undefined;
  state?: unknown;
  tools?: Tool[] | undefined;
  context?: { description: string; value: string }[] | undefined;
  forwardedProps?: unknown;
  resume?: ResumeEntry[] | undefined;
}

/** The answer to one interrupt. */
export interface ResumeEntry {
  interruptId: string;
  status: 'resolved' | 'cancelled';
  payload?: unknown;
  metadata?: Record<string, unknown> | undefined;
}

export interface RunStartedEvent extends EventBase {
  type: 'RUN_STARTED';
  threadId: string;
  runId: string;
  protocolVersion?: string | undefined;
  parentRunId?: string | undefined;
  input?: unknown;
}
export interface RunFinishedEvent extends EventBase {
  type: 'RUN_FINISHED';
  threadId: string;
  runId: string;
  result?: unknown;
  outcome?: RunFinishedOutcome | undefined;
  usage?: TokenUsage[] | undefined;
}
export interface RunErrorEvent extends EventBase {
  type: 'RUN_ERROR';
  message: string;
  code?: string | undefined;
  usage?: TokenUsage[] | undefined;
}
export interface StepStartedEvent extends AttributedEventBase {
  type: 'STEP_STARTED';
  stepName: string;
}
export interface StepFinishedEvent extends AttributedEventBase {
  type: 'STEP_FINISHED';
  stepName: string;
}

export type TextMessageRole = 'assistant' | 'user' | 'system' | 'developer';

export interface TextMessageStartEvent extends AttributedEventBase {
  type: 'TEXT_MESSAGE_START';
  messageId: string;
  /** Absent means assistant. */
  role?: TextMessageRole | undefined;
  name?: string | undefined;
}
export interface TextMessageContentEvent extends AttributedEventBase {
  type: 'TEXT_MESSAGE_CONTENT';
  messageId: string;
  delta: string;
}
export interface TextMessageEndEvent extends AttributedEventBase {
  type: 'TEXT_MESSAGE_END';
  messageId: string;
}
/** A start, content and end in one; see AG-UI's rules of chunk expansion. */
export interface TextMessageChunkEvent extends AttributedEventBase {
  type: 'TEXT_MESSAGE_CHUNK';
  messageId?: string | undefined;
  role?: TextMessageRole | undefined;
  delta?: string | undefined;
  name?: string | undefined;
}

export interface ToolCallStartEvent extends AttributedEventBase {
  type: 'TOOL_CALL_START';
  toolCallId: string;
  toolCallName: string;
  parentMessageId?: string | undefined;
}
export interface ToolCallArgsEvent extends AttributedEventBase {
  type: 'TOOL_CALL_ARGS';
  toolCallId: string;
  delta: string;
}
export interface ToolCallEndEvent extends AttributedEventBase {
  type: 'TOOL_CALL_END';
  toolCallId: string;
}
export interface ToolCallChunkEvent extends AttributedEventBase {
  type: 'TOOL_CALL_CHUNK';
  toolCallId?: string | undefined;
  toolCallName?: string | undefined;
  parentMessageId?: string | undefined;
  delta?: string | undefined;
}
export interface ToolCallResultEvent extends AttributedEventBase {
  type: 'TOOL_CALL_RESULT';
  messageId: string;
  toolCallId: string;
  content: string | ContentPart[];
  role?: 'tool' | undefined;
  /** Not of AG-UI: the call failed, as OpenUI's reader understands it. */
  isError?: boolean | undefined;
  /** Not of AG-UI: what failed. */
  error?: string | undefined;
}

export interface StateSnapshotEvent extends AttributedEventBase {
  type: 'STATE_SNAPSHOT';
  snapshot?: unknown;
}
export interface StateDeltaEvent extends AttributedEventBase {
  type: 'STATE_DELTA';
  /** JSON Patch; the JsonPatchOperation type describes its entries. */
  delta: unknown[];
}
export interface MessagesSnapshotEvent extends EventBase {
  type: 'MESSAGES_SNAPSHOT';
  messages: Message[];
}
/** The same as a foreign agent may tell it. */
export interface MessagesSnapshotInput extends EventBase {
  type: 'MESSAGES_SNAPSHOT';
  messages: MessageInput[];
}
export interface ActivitySnapshotEvent extends AttributedEventBase {
  type: 'ACTIVITY_SNAPSHOT';
  messageId: string;
  activityType: string;
  content: Record<string, unknown>;
  /** Absent means true. */
  replace?: boolean | undefined;
}
export interface ActivityDeltaEvent extends AttributedEventBase {
  type: 'ACTIVITY_DELTA';
  messageId: string;
  activityType: string;
  patch: unknown[];
}

export interface ReasoningStartEvent extends AttributedEventBase {
  type: 'REASONING_START';
  messageId: string;
}
export interface ReasoningEndEvent extends AttributedEventBase {
  type: 'REASONING_END';
  messageId: string;
}
export interface ReasoningMessageStartEvent extends AttributedEventBase {
  type: 'REASONING_MESSAGE_START';
  messageId: string;
  role: 'reasoning';
}
export interface ReasoningMessageContentEvent extends AttributedEventBase {
  type: 'REASONING_MESSAGE_CONTENT';
  messageId: string;
  delta: string;
}
export interface ReasoningMessageEndEvent extends AttributedEventBase {
  type: 'REASONING_MESSAGE_END';
  messageId: string;
}
export interface ReasoningMessageChunkEvent extends AttributedEventBase {
  type: 'REASONING_MESSAGE_CHUNK';
  messageId?: string | undefined;
  delta?: string | undefined;
}
export interface ReasoningEncryptedValueEvent extends AttributedEventBase {
  type: 'REASONING_ENCRYPTED_VALUE';
  subtype: 'tool-call' | 'message';
  entityId: string;
  encryptedValue: string;
}

export interface SubagentStartedEvent extends EventBase {
  type: 'SUBAGENT_STARTED';
  subagentRunId: string;
  name: string;
  description?: string | undefined;
  parentSubagentRunId?: string | undefined;
  parentToolCallId?: string | undefined;
  parentMessageId?: string | undefined;
}
export interface SubagentFinishedEvent extends EventBase {
  type: 'SUBAGENT_FINISHED';
  subagentRunId: string;
  result?: unknown;
  outcome?:
    { type: 'success' } | { type: 'suspended'; interruptIds?: string[] | undefined } | undefined;
}
export interface SubagentErrorEvent extends EventBase {
  type: 'SUBAGENT_ERROR';
  subagentRunId: string;
  message: string;
  code?: string | undefined;
}

export interface RawEvent extends AttributedEventBase {
  type: 'RAW';
  event?: unknown;
  source?: string | undefined;
}
/** Names that start with `millrace.` are Millrace's own: MillraceEvent has the values of each. */
export interface CustomEvent extends AttributedEventBase {
  type: 'CUSTOM';
  name: string;
  value?: unknown;
}

/** What an answer reports of itself. */
export interface AnswerInfo {
  /** The provider's id of the answer. */
  id?: string;
  /** The model that answered, as the provider names it. */
  model?: string;
  /** Seconds since 1970. */
  created?: number;
  /** Of an answer that the provider keeps: `queued`, `in_progress`, `completed`, ... */
  status?: string;
  serviceTier?: string;
  /** OpenAI's `system_fingerprint`. */
  fingerprint?: string;
  conversationId?: string;
  /** The text at which the model stopped. */
  stopSequence?: string;
  /** Everything else, raw, under the provider's own names. */
  details?: Record<string, unknown>;
}

/** A further answer of a request that asked for several. */
export interface AnswerAlternative {
  index: number;
  /** The provider's word for its end. */
  finishReason?: string;
  /** In the provider's shape: `{ role, content, ... }`, of Gemini `{ role, parts }`. */
  message?: Record<string, unknown>;
  [member: string]: unknown;
}

/** The values of Millrace's CUSTOM events, by name; docs/events.md says what each means. */
export interface MillraceEventValues {
  'millrace.warning': { code: string; message: string; payload?: unknown };
  'millrace.retry': { attempt: number; waitMs: number; code: string; message: string };
  'millrace.reset': { messageIds?: string[]; attempt?: number; reason: string };
  'millrace.stage': { name: string; detail?: unknown };
  'millrace.citation': { messageId?: string; citation: unknown };
  /** The start of an AG-UI source's run, where it has more than ids. */
  'millrace.source_run': {
    type: string;
    threadId?: string;
    runId?: string;
    [member: string]: unknown;
  };
  /** An event of a subagent, for clients older than AG-UI 1.0. */
  'millrace.subagent': { type: string; subagentRunId: string; [member: string]: unknown };
  'millrace.provider_state': { provider: string; kind: string; entityId?: string; state: unknown };
  'millrace.tool_error': { toolCallId: string; error: string };
  'millrace.usage': { tokens: TokenUsage; reported?: unknown; estimated?: boolean };
  'millrace.tool_progress': { toolCallId: string; progress: unknown };
  'millrace.tool_result': { toolCallId: string; [member: string]: unknown };
  'millrace.run_usage': { usage: AgentUsage; cost: AgentRunCost; steps: number; turns: number };
  'millrace.interrupt': { interrupt: unknown; reason?: string };
  'millrace.finish': {
    reason: string;
    /** The answer goes on in a further request. */
    incomplete?: boolean;
    /** What that request adds to the payload. */
    continue?: Record<string, unknown>;
  };
  'millrace.response': AnswerInfo;
  'millrace.logprobs': { messageId?: string; logprobs: unknown };
  'millrace.partial_image': { toolCallId: string; image: Record<string, unknown> };
  'millrace.alternative': AnswerAlternative;
}

/** Millrace's CUSTOM events, told apart by `name`. */
export type MillraceEvent = {
  [Name in keyof MillraceEventValues]: AttributedEventBase & {
    type: 'CUSTOM';
    name: Name;
    value: MillraceEventValues[Name];
  };
}[keyof MillraceEventValues];

/** The events of a run that is read in JavaScript: its CUSTOM events are Millrace's. */
export type RunEvent = Exclude<AGUIEvent, CustomEvent> | MillraceEvent;

/** Reasoning as AG-UI spelled it before 1.0; nothing here emits it. */
export type DeprecatedReasoningEvent = AttributedEventBase &
  (
    | { type: 'THINKING_START'; title?: string | undefined }
    | { type: 'THINKING_END' | 'THINKING_TEXT_MESSAGE_START' | 'THINKING_TEXT_MESSAGE_END' }
    | { type: 'THINKING_TEXT_MESSAGE_CONTENT'; delta: string }
  );

/** Every event of AG-UI 1.0, told apart by `type`. */
export type AGUIEvent =
  | RunStartedEvent
  | RunFinishedEvent
  | RunErrorEvent
  | StepStartedEvent
  | StepFinishedEvent
  | TextMessageStartEvent
  | TextMessageContentEvent
  | TextMessageEndEvent
  | TextMessageChunkEvent
  | ToolCallStartEvent
  | ToolCallArgsEvent
  | ToolCallEndEvent
  | ToolCallChunkEvent
  | ToolCallResultEvent
  | StateSnapshotEvent
  | StateDeltaEvent
  | MessagesSnapshotEvent
  | ActivitySnapshotEvent
  | ActivityDeltaEvent
  | ReasoningStartEvent
  | ReasoningEndEvent
  | ReasoningMessageStartEvent
  | ReasoningMessageContentEvent
  | ReasoningMessageEndEvent
  | ReasoningMessageChunkEvent
  | ReasoningEncryptedValueEvent
  | SubagentStartedEvent
  | SubagentFinishedEvent
  | SubagentErrorEvent
  | RawEvent
  | CustomEvent
  | DeprecatedReasoningEvent;
