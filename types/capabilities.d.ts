// What a model runtime takes and gives besides chats.
// Source: LobeHub's model runtime (payloads and results).
import type { ModelUsage } from './chat-stream';

/** A model as its provider lists it; what the provider does not tell is absent. */
export interface ProviderModel {
  id: string;
  displayName?: string;
  contextWindowTokens?: number;
  /** Tokens of one answer at most. */
  maxOutput?: number;
  functionCall?: boolean;
  vision?: boolean;
  reasoning?: boolean;
  /** false: listed, but not to be used. */
  enabled?: boolean;
  /** By what the provider says, else by the name. */
  type: 'chat' | 'embedding' | 'image' | 'tts' | 'stt' | 'video' | 'rerank' | (string & {});
  /** YYYY-MM-DD */
  releasedAt?: string;
}

export interface CapabilityOptions {
  signal?: AbortSignal | null | undefined;
  /** Told of the tokens, where the provider counts them. */
  onUsage?: ((usage: ModelUsage) => void) | undefined;
  /** Told of what was left out because the provider's API has no place for it, a sentence each. */
  onNotes?: ((notes: string[]) => void) | undefined;
  /** Sent to the provider, besides the runtime's headers. */
  requestHeaders?: Record<string, string> | undefined;
  /** The same; LobeHub's word. */
  headers?: Record<string, string> | undefined;
  /** The end user, told to providers that ask for one. */
  user?: string | undefined;
  maxRetries?: number | undefined;
  /** In milliseconds; each stands for itself, the others stay the runtime's. */
  timeouts?: { connect?: number; firstByte?: number; idle?: number; total?: number } | undefined;
}

export interface EmbeddingsPayload {
  model: string;
  input: string | readonly string[];
  /** Length of the vectors, where the model has several. */
  dimensions?: number | undefined;
  /** What the texts are for, in the provider's words: "search_query", "RETRIEVAL_DOCUMENT". */
  inputType?: string | undefined;
  user?: string | undefined;
}

export interface ImagePayload {
  model: string;
  params: {
    prompt: string;
    /** Images to start from: data URIs; addresses where the provider takes them. */
    imageUrl?: string | undefined;
    imageUrls?: readonly string[] | undefined;
    width?: number | undefined;
    height?: number | undefined;
    /** "1024x1024" */
    size?: string | undefined;
    /** "16:9" */
    aspectRatio?: string | undefined;
    seed?: number | undefined;
    steps?: number | undefined;
    cfg?: number | undefined;
    quality?: string | undefined;
    /** How many, where the provider makes several at once. */
    n?: number | undefined;
    /** Where images to start from may change: a data URI (OpenAI). */
    mask?: string | undefined;
    [member: string]: unknown;
  };
}

export interface ImageResult {
  /** A data URI, or an address of the provider that may end soon. */
  imageUrl: string;
  /** All of them, where several were made. */
  imageUrls?: string[];
  width?: number;
  height?: number;
  modelUsage?: Partial<ModelUsage>;
  /** What was left out because the provider's API has no place for it, a sentence each. */
  notes?: string[];
}

export interface SpeechPayload {
  model: string;
  input: string;
  voice?: string | undefined;
  speed?: number | undefined;
  /** "mp3", "wav", ... where the provider has a choice. */
  format?: string | undefined;
  instructions?: string | undefined;
}

export interface PullPayload {
  model: string;
  insecure?: boolean | undefined;
}
