// What an Engine takes and gives.
import type { AgentMessage, TurnAnswer } from '../../../types/agent';
import type { ChatMessage, ChatStreamPayload } from '../../../types/model';
import type { Dispatcher } from './dispatcher';
import type { DurableRuntime } from '../durable-types';
import type { SessionManager } from './sessions';
import type { EngineUsage } from './usage';
import type { HostTool, UnnamedTool } from '../../tool/types';

export type { EngineUsage } from './usage';

/** One message of send_message, its parts checked. */
export interface SendMessagePayload {
  messages: SendMessagePart[];
  session?: string;
}

export interface SendMessagePart {
  type: string;
  text?: string;
  mention_user_id?: string;
  message_id?: string;
  path?: string;
  url?: string;
}

/** Delivers a message of the running prompt; `{ delivered: false, error }` or a throw means that it failed. */
export type MessageHook = (
  message: SendMessagePayload,
  context: { runId: string; sessionId?: string; signal: AbortSignal },
) => unknown;

/** A tool of an Engine. `execute` gets the arguments and gives what the model reads. */
export interface EngineTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments; a call that breaks it is not executed. */
  parameters: object;
  /** Milliseconds for one call. */
  timeoutMs?: number;
  execute(args: Record<string, unknown>, context: EngineRunContext): Promise<string> | string;
}

/** What a tool learns of its run. */
export interface EngineRunContext {
  runId: string;
  sessionId?: string;
  /** Aborts with the run, and when the call's time is over. */
  signal: AbortSignal;
  toolCallId?: string;
  onMessage?: MessageHook;
}

export type ToolChoice = NonNullable<ChatStreamPayload['tool_choice']>;

export interface ChatRequest {
  /** The Engine's `model`; empty where it was given none, for a provider that knows what to ask. */
  model: string;
  messages: ChatMessage[];
  tools?: object[];
  tool_choice?: ToolChoice;
  max_tokens?: number;
  temperature?: number;
  [member: string]: unknown;
}

export interface ChatResponse {
  message: AgentMessage;
  usage?: { prompt_tokens?: number; completion_tokens?: number; total_tokens?: number };
}

/** Who answers chats: a function `chat` of your own, or a runtime made by createModelRuntime. */
export interface ChatProvider {
  chat(
    request: ChatRequest,
    options: { signal: AbortSignal },
  ): Promise<ChatResponse | Response> | ChatResponse | Response;
  /** What a runtime has: it is asked for a whole answer. */
  stream?: unknown;
}

type NamedTool = EngineTool | HostTool;
type KeyedTool = NamedTool | UnnamedTool | Omit<EngineTool, 'name'>;

/** Tools as they are given. */
export type EngineTools =
  readonly NamedTool[] | ReadonlyMap<string, KeyedTool> | Readonly<Record<string, KeyedTool>>;

export interface EngineOptions {
  /** Rounds of a model call and its tools; 5 when absent. */
  maxIterations?: number;
  /** Tools with `execute`, or of `tool()` and builtinTools(); in a record or map the keys are the names. */
  tools?: EngineTools;
  /** FrostAgent's name of `tools`. */
  toolRegistry?: EngineTools;
  provider?: ChatProvider;
  baseURL?: string;
  apiKey?: string;
  model?: string;
  systemPrompt?: string;
  sessionManager?: SessionManager;
  /** Keeps the sessions as threads of its store, so that they survive the process; needs a `name`. */
  runtime?: DurableRuntime;
  /** Threads of sessions are called `name/session`. */
  name?: string;
  dispatcher?: Dispatcher;
  startedAt?: Date;
  version?: string;
  maxTokens?: number;
  temperature?: number;
  /** A mode, or a tool that the model has to call: its name, or as a request has it. */
  toolChoice?: ToolChoice | (string & {});
  /**
   * Runs the calls of one turn side by side, 8 or this many at a time; one after the other when
   * absent. Their results stay in the model's order.
   */
  parallelTools?: boolean | number;
  /** Milliseconds for a call of a tool that names no limit of its own; none when absent. */
  toolTimeoutMs?: number;
  /** Milliseconds for an answer of the provider that `baseURL` names; 120000 when absent. */
  requestTimeoutMs?: number;
  /** Tokens of a conversation and its tools, by estimate; 128000 when absent. */
  maxContextTokens?: number;
}

export interface EngineRunOptions {
  signal?: AbortSignal;
  /** Takes over the messages of send_message; the model gets the result. */
  onMessage?: MessageHook;
  /** Called when the provider that `baseURL` names, or a runtime without hooks, is asked again after a failure. */
  onRetry?: (retry: EngineRetry) => void;
}

/** A failure of the provider that another attempt follows. */
export interface EngineRetry {
  /** The number of the attempt that failed, from 1. */
  attempt: number;
  /** Milliseconds before the next one. */
  waitMs: number;
  code: string;
  message: string;
}

export interface EngineResult {
  status: 'completed' | 'max_iterations' | 'error' | 'cancelled';
  /** Of an answer that was cut at the limit of its tokens (`error.code` is `output_limit_reached`) what there is. */
  text?: string;
  error?: { code: string; message: string; retryable: boolean };
  usage: EngineUsage;
  /** True when the model chose to stay silent. */
  silent?: boolean;
  /** The whole conversation of this run. */
  messages: AgentMessage[];
  /** What a request left out or changed because the provider does not take it, where the engine makes the requests. */
  notes?: string[];
  /** What each of those answers reports of itself. */
  answers?: TurnAnswer[];
  answersLeftOut?: number;
}

/** Counters that mean what their names say. */
export interface EngineCounters {
  runs: number;
  /** Calls of the model. */
  iterations: number;
  toolCalls: number;
  /** Messages of send_message that were delivered. */
  messagesSent: number;
}
