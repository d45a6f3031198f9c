// What a model runtime takes and gives.
// Source: LobeHub's model runtime (payload, callbacks, usage), OpenAI's chat completions.
import type {
  ChatImageChunk,
  ChatPart,
  ChatReasoning,
  Grounding,
  MessageToolCall,
  ModelSpeed,
  ModelUsage,
} from './chat-stream';
import type { ErrorCode } from './errors';
import type { AGUIEvent, AnswerAlternative, AnswerInfo } from './events';
import type { MessageInput } from './messages';
import type { ProviderId } from './providers';

/** A part of a message's content. */
export type ChatContentPart =
  | { type: 'text'; text: string }
  | { type: 'image_url'; image_url: { url: string; detail?: 'auto' | 'low' | 'high' } }
  | { type: 'video_url'; video_url: { url: string } }
  | { type: 'audio_url'; audio_url: { url: string } }
  | { type: 'file_url'; file_url: { url: string }; file_name?: string }
  | { type: 'input_audio'; input_audio: { data: string; format: string } }
  | { type: 'thinking'; thinking: string; signature?: string }
  | { type: string; [member: string]: unknown };

export interface ChatToolCall {
  id: string;
  type?: 'function';
  function: { name: string; arguments: string };
  [member: string]: unknown;
}

/** A message of OpenAI's shape with LobeHub's members. */
export interface ChatMessage {
  role: 'system' | 'developer' | 'user' | 'assistant' | 'tool' | 'function';
  content?: string | ChatContentPart[] | null | undefined;
  name?: string | undefined;
  tool_calls?: ChatToolCall[] | undefined;
  tool_call_id?: string | undefined;
  reasoning?: { content?: string; signature?: string; responseItems?: unknown[] } | undefined;
  reasoning_content?: string | undefined;
  [member: string]: unknown;
}

export interface ChatTool {
  type: 'function';
  function: { name: string; description?: string; parameters?: unknown; strict?: boolean };
}

/** `provider:model`. The providers of the table are completed, and others are allowed. */
export type ModelId = `${ProviderId}:${string}` | (string & {});

/** What a chat is asked. Members that are null count as missing. */
export interface ChatStreamPayload {
  model: string;
  messages: readonly (ChatMessage | MessageInput)[];
  /** Anthropic's place of a system prompt, which goes before the messages: a text, or a list of text blocks. */
  system?:
    string | readonly { type: 'text'; text: string; [member: string]: unknown }[] | undefined;
  /** The shape of `messages`; default OpenAI's with LobeHub's members. */
  format?: 'openai' | 'canonical' | (string & {}) | undefined;
  provider?: string | undefined;
  /** Whether the provider streams; default true. The answer is given as events either way. */
  stream?: boolean | undefined;
  /** `json`: `chat` answers with one completion instead of a stream. */
  responseMode?: 'stream' | 'json' | undefined;
  /**
   * The API of the provider: `responses`, `chat` (chat completions), `anthropic`, `gemini`; `chatCompletion` is LobeHub's
   * word for the provider's own API when that is not to be Responses.
   */
  apiMode?: 'chatCompletion' | 'responses' | (string & {}) | undefined;
  deploymentName?: string | undefined;
  temperature?: number | null | undefined;
  top_p?: number | null | undefined;
  top_k?: number | null | undefined;
  max_tokens?: number | null | undefined;
  frequency_penalty?: number | null | undefined;
  presence_penalty?: number | null | undefined;
  n?: number | null | undefined;
  seed?: number | null | undefined;
  stop?: string | string[] | null | undefined;
  logprobs?: boolean | null | undefined;
  top_logprobs?: number | null | undefined;
  tools?: readonly (ChatTool | object)[] | null | undefined;
  tool_choice?: 'auto' | 'none' | 'required' | object | null | undefined;
  parallel_tool_calls?: boolean | null | undefined;
  response_format?:
    | { type: 'text' | 'json_object' }
    | { type: 'json_schema'; json_schema: { name: string; schema: unknown; strict?: boolean } }
    | object
    | null;
  enabledContextCaching?: boolean | undefined;
  enabledSearch?: boolean | undefined;
  urlContext?: boolean | undefined;
  thinking?:
    | {
        type?: 'enabled' | 'disabled' | 'adaptive';
        budget_tokens?: number;
        clear_thinking?: boolean;
      }
    | undefined;
  thinkingBudget?: number | undefined;
  thinkingLevel?: 'minimal' | 'low' | 'medium' | 'high' | undefined;
  reasoning?: { effort?: string; summary?: string; mode?: string } | undefined;
  reasoning_effort?:
    'default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max' | null | undefined;
  verbosity?: 'low' | 'medium' | 'high' | null | undefined;
  text?: { verbosity?: 'low' | 'medium' | 'high' } | undefined;
  truncation?: 'auto' | 'disabled' | null | undefined;
  preserveThinking?: boolean | undefined;
  imageAspectRatio?: string | undefined;
  imageResolution?: '512' | '1K' | '2K' | '4K' | undefined;
  /** No provider is asked: the answer is `mockChunks`, each `mockDelayMs` (50) after the one before. */
  mockResponse?: boolean | undefined;
  mockChunks?: string[] | undefined;
  mockDelayMs?: number | undefined;
  user?: string | undefined;
  [member: string]: unknown;
}

/** An error as an attempt ended with it. */
export interface AttemptError {
  code: ErrorCode;
  message: string;
  detail?: string;
  status?: number;
  retry: 'no' | 'yes' | 'later';
  retryAfterMs?: number;
  requestId?: string;
  /** A name that the host gave the class of the error. */
  errorType?: string;
  provider?: string;
  /** Where the request went, without the query. */
  endpoint?: string;
  /** The provider's own error body, shortened and without credentials. */
  error?: unknown;
}

/** One request to a provider. */
export interface CallAttempt {
  provider: string;
  model: string;
  /** The HTTP status; 0 when no answer came. */
  status: number;
  /** A reader saw a part of its answer. */
  shown: boolean;
  waitedMs: number;
  durationMs: number;
  firstTokenMs?: number;
  error?: AttemptError;
  usage?: ModelUsage;
  /** As the provider wrote it. */
  reportedUsage?: unknown;
}

/** The state of one provider's address and key after failures. */
export interface ProviderCircuit {
  provider: string;
  origin: string;
  /** `open`: calls fail at once; `half_open`: the next one finds out. */
  state: 'closed' | 'open' | 'half_open';
  failures: number;
  lastError: ErrorCode;
  /** Until it is asked again. */
  retryAfterMs?: number;
}

/** One of a provider's rate limits, as its answer reports it. */
export interface RateLimit {
  limit?: number;
  remaining?: number;
  /** When it is full again, as the provider writes it: a duration or a date. */
  reset?: string;
}

/** What an answer reports of itself, in its body and in its head. */
export interface ResponseReport extends AnswerInfo {
  /** The provider's id of the request. */
  requestId?: string;
  /** By what they limit: `requests`, `tokens`, `inputTokens`, `outputTokens`, ... */
  rateLimits?: Record<string, RateLimit>;
  /** How many documented headers came beyond the 64 of `headers`. */
  headersLeftOut?: number;
  /** The response headers that the provider documents, by their names in lower case. */
  headers?: Record<string, string>;
}

/** What is known of a call at its end. */
export interface CallReport {
  /** Of the last attempt. */
  provider: string;
  model: string;
  /** The provider's word for the end of the answer. */
  finishReason?: string;
  /** The answer is not whole and goes on in a further request. */
  incomplete?: {
    /** The provider's word. */
    reason: string;
    /** What the further request adds to the payload. */
    continue?: Record<string, unknown>;
  };
  /** What the last answer reports of itself, in its body and in its head. */
  response?: ResponseReport;
  /** Further answers, where `n` asked for several. */
  alternatives?: AnswerAlternative[];
  /** One for each request that was sent. */
  attempts: CallAttempt[];
  /** Of all attempts together. */
  usage: ModelUsage;
  /** What was left out or changed because the provider does not take it. */
  notes: string[];
}

/** A piece of a call as it came. */
export interface ToolCallChunk {
  index: number;
  id?: string;
  type: 'function';
  function: { name?: string | null; arguments?: string };
}

/** What is known when a call is over. */
export interface ChatFinish {
  text: string;
  thinking?: string;
  reasoning?: ChatReasoning;
  images?: ChatImageChunk[];
  toolsCalling?: MessageToolCall[];
  grounding?: Grounding;
  usage?: ModelUsage;
  speed?: ModelSpeed;
  finishReason?: string;
  error?: unknown;
  /** Where the provider did not say how many tokens were used. */
  usageMissingDiagnostics?: UsageMissingDiagnostics;
}

export interface UsageMissingDiagnostics {
  hasUsageMetadata: boolean;
  provider: string;
  model: string;
  finishReason?: string;
  terminalEventType: 'stop' | 'error';
}

/** Told of an answer while it streams, each in its turn; what one throws fails the call. */
export interface ChatCallbacks {
  onStart?: () => void | Promise<void>;
  /**
   * What was told of the answer so far is void: another attempt begins it anew. `attempt` is the number
   * of the one that failed, `reason` its code.
   */
  onReset?(reset: { messageIds: string[]; attempt: number; reason: string }): void | Promise<void>;
  onText?: (delta: string) => void | Promise<void>;
  onThinking?: (delta: string) => void | Promise<void>;
  onToolsCalling?(data: {
    chunk: ToolCallChunk[];
    toolsCalling: MessageToolCall[];
  }): void | Promise<void>;
  /** An image of the answer. */
  onBase64Image?(data: { image: ChatImageChunk; images: ChatImageChunk[] }): void | Promise<void>;
  /**
   * Each text and image of an answer that LobeHub's stream writes in parts: one of Gemini's with reasoning before its
   * text, or by a model that draws. Instead of onText and onBase64Image, which get those pieces where there is no
   * onContentPart, and all pieces of other answers.
   */
  onContentPart?: (part: ChatPart) => void | Promise<void>;
  /** Each part of the reasoning of such an answer, instead of onThinking. */
  onReasoningPart?: (part: ChatPart) => void | Promise<void>;
  onGrounding?: (grounding: Grounding) => void | Promise<void>;
  onUsage?: (usage: ModelUsage) => void | Promise<void>;
  onError?: (error: unknown) => void | Promise<void>;
  /** The call succeeded. */
  onCompletion?: (data: ChatFinish) => void | Promise<void>;
  /** The call is over, whichever way. */
  onFinal?: (data: ChatFinish) => void | Promise<void>;
}

/** How a hook may describe an error; what is missing stays as it is. */
export interface HookedError {
  code?: ErrorCode;
  errorType?: string;
  message?: string;
  /** The body of the error, as the MillraceError has it. */
  error?: unknown;
}

/** A failure that another attempt follows. */
export interface CallRetry {
  /** Who failed. */
  provider: string;
  /** Absent where the call has none, as that of a list of models. */
  model?: string;
  /** The number of the attempt that failed, from 1. */
  attempt: number;
  /** Milliseconds before the next attempt. */
  waitMs: number;
  /** The provider that is asked instead; absent where the same one is asked again. */
  fallback?: string;
  error: AttemptError;
}

/**
 * User code on the way of a call. Each moves only its own stage to the JavaScript thread, and may
 * give a promise. What one throws ends the call with that error.
 */
export interface ModelHooks {
  /** Changes the body of each request before it is sent; nothing leaves it as it is. */
  handlePayload?:
    | ((
        body: Record<string, unknown>,
        call: { provider: string; model: string; url: string; payload: ChatStreamPayload },
      ) => unknown)
    | undefined;
  /** Gives a HookedError, before it is decided what follows; nothing leaves the error as it is. */
  handleError?:
    ((error: AttemptError, call: { provider: string; model: string }) => unknown) | undefined;
  /** Changes the events of the answer, in batches; nothing leaves them as they are. */
  handleStream?: ((events: AGUIEvent[]) => unknown) | undefined;
  /**
   * Called before each further attempt, also of embeddings, images and the like. What it gives is waited
   * for: `{ waitMs }` is the rest of the wait, nothing leaves the engine's own. A clock of one's own waits
   * here and gives `{ waitMs: 0 }`.
   */
  handleRetry?: ((retry: CallRetry) => unknown) | undefined;
}
