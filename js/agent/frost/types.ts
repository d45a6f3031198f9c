// What an Engine takes and gives.
import type { AgentMessage } from '../../../types/agent';
import type { Dispatcher } from './dispatcher';
import type { SessionManager } from './sessions';
import type { MessageHook } from './tools';

/** A tool of an Engine. `execute` gets JSON text and gives what the model reads. */
export interface EngineTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments; a call that breaks it is not executed. */
  parameters: object;
  /** Milliseconds for one call. */
  timeoutMs?: number;
  execute(args: string, context: EngineRunContext): Promise<string> | string;
}

/** What a tool learns of its run. */
export interface EngineRunContext {
  runId: string;
  sessionId?: string;
  signal: AbortSignal;
  onMessage?: MessageHook;
}

export interface EngineUsage {
  prompt: number;
  completion: number;
  total: number;
}

export interface ChatRequest {
  model: string;
  messages: AgentMessage[];
  tools?: object[];
  tool_choice?: unknown;
  max_tokens?: number;
  temperature?: number;
}

export interface ChatResponse {
  message: AgentMessage;
  usage?: { prompt_tokens?: number; completion_tokens?: number; total_tokens?: number };
}

/** Who answers chats. */
export interface ChatProvider {
  chat(request: ChatRequest, options: { signal: AbortSignal }): Promise<ChatResponse>;
}

export interface EngineOptions {
  /** Rounds of a model call and its tools; 5 when absent. */
  maxIterations?: number;
  tools?: EngineTool[];
  provider?: ChatProvider;
  baseURL?: string;
  apiKey?: string;
  model?: string;
  systemPrompt?: string;
  sessionManager?: SessionManager;
  dispatcher?: Dispatcher;
  version?: string;
  maxTokens?: number;
  temperature?: number;
  toolChoice?: unknown;
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
  /** Takes over what send_message says; the model is told what became of it. */
  onMessage?: MessageHook;
}

export interface EngineResult {
  status: 'completed' | 'max_iterations' | 'error' | 'cancelled';
  text?: string;
  error?: { code: string; message: string; retryable: boolean };
  usage: EngineUsage;
  /** True when the model chose to say nothing. */
  silent?: boolean;
  /** The whole conversation of this run. */
  messages: AgentMessage[];
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
