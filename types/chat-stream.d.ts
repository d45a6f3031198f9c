// The LobeHub chat stream as a client sees it: what its events carry and what fetchSSE hands over.

/** Tokens of one model call and their cost; what nobody knows is absent, never 0. */
export interface ModelUsage {
  inputTextTokens?: number;
  inputImageTokens?: number;
  inputAudioTokens?: number;
  inputVideoTokens?: number;
  inputToolTokens?: number;
  inputCitationTokens?: number;
  inputCachedTokens?: number;
  inputCacheMissTokens?: number;
  inputWriteCacheTokens?: number;
  /** Of these, what stays in the cache for an hour. */
  inputWriteCacheLongTokens?: number;
  /** The same, and the rest of them, as newer versions of LobeHub call it; both where it is known how long they stay. */
  inputWriteCacheTokens1h?: number;
  inputWriteCacheTokens5m?: number;
  inputCachedTextTokens?: number;
  inputCachedImageTokens?: number;
  inputCachedAudioTokens?: number;
  inputCachedVideoTokens?: number;
  outputTextTokens?: number;
  outputImageTokens?: number;
  outputAudioTokens?: number;
  outputVideoTokens?: number;
  outputReasoningTokens?: number;
  acceptedPredictionTokens?: number;
  rejectedPredictionTokens?: number;
  totalInputTokens?: number;
  totalOutputTokens?: number;
  totalTokens?: number;
  /** US dollars. */
  cost?: number;
  /** What is not in the cost: members of the provider's report, such as `service_tier` or `server_tool_use.web_search_requests`. */
  unpriced?: string[];
  /** Whether the provider counted the tokens, we did, or nobody could. */
  source?: 'reported' | 'estimated' | 'unknown';
}

/** How fast an answer came, in milliseconds. */
export interface ModelSpeed {
  /** Output tokens a second. */
  tps?: number;
  /** From the request to the first output. */
  ttft?: number;
  /** From the first to the last output. */
  duration?: number;
  /** From the request to the end. */
  latency?: number;
}

/** One call of a tool; `arguments` is JSON text. */
export interface MessageToolCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
  thoughtSignature?: string;
}

export interface Grounding {
  citations?: { title?: string; url: string; favicon?: string }[];
  searchQueries?: string[];
  [member: string]: unknown;
}

export interface ChatImageChunk {
  id: string;
  /** A data URI. */
  data: string;
  isBase64: true;
}

/** A part of an answer that has parts; text, or the base64 data of an image. */
export interface ChatPart {
  partType: 'text' | 'image';
  content: string;
  mimeType?: string;
  thoughtSignature?: string;
}

/** What fetchSSE gives to `onMessageHandle`. */
export type ChatStreamChunk =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text?: string; signature?: string }
  | ({ type: 'reasoning_part' | 'content_part' } & ChatPart)
  | {
      type: 'tool_calls';
      /** All calls so far. */
      tool_calls: MessageToolCall[];
      /** Of each call, whether this chunk is about it; with `responseAnimation.toolsCalling` alone. */
      isAnimationActives?: boolean[];
    }
  | { type: 'grounding'; grounding: Grounding }
  | { type: 'usage'; usage: ModelUsage }
  | { type: 'speed'; speed: ModelSpeed }
  | { type: 'base64_image'; id: string; image: ChatImageChunk; images: ChatImageChunk[] }
  | { type: 'stop'; reason: string }
  /** What was given so far is void and comes again. */
  | { type: 'reset'; reason?: string };

/** An error as LobeHub's clients show it. */
export interface ChatMessageError {
  /** A code such as `InvalidProviderAPIKey`, or the HTTP status. */
  type: string | number;
  message: string;
  body?: unknown;
}

export interface ChatReasoning {
  content?: string;
  signature?: string;
  responseItems?: unknown[];
}

/** How an answer ended, and what it was. */
export interface ChatFinishContext {
  type: 'done' | 'error' | 'abort';
  reasoning?: ChatReasoning;
  toolCalls?: MessageToolCall[];
  grounding?: Grounding;
  images?: ChatImageChunk[];
  usage?: ModelUsage;
  speed?: ModelSpeed;
  traceId?: string | null;
  observationId?: string | null;
}
