// Canonical messages: what a conversation is made of, whatever the provider or the wire.
// Source: AG-UI protocol 0.0.53 to 1.0, whose messages these are.

/** Text of a message. */
export interface TextPart {
  type: 'text';
  text: string;
  id?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** A file of AG-UI before 1.0; at least one of `id`, `url` and `data` (base64) is given. */
export interface BinaryPart {
  type: 'binary';
  mimeType: string;
  id?: string | undefined;
  url?: string | undefined;
  data?: string | undefined;
  filename?: string | undefined;
}

/** Where a media part's bytes are: base64, or an address. */
export type MediaSource =
  | { type: 'data'; value: string; mimeType: string }
  | { type: 'url'; value: string; mimeType?: string | undefined };

/** A file that a provider keeps; `value` is its handle there. */
export interface FileSource {
  type: 'file';
  value: string;
  provider?: string | undefined;
  mimeType?: string | undefined;
}

interface Media<Type extends string, Source> {
  type: Type;
  source: Source;
  id?: string | undefined;
  metadata?: unknown;
}

/** An image, a sound, a video or a document. */
export type MediaPart<Source = MediaSource> =
  | Media<'image', Source>
  | Media<'audio', Source>
  | Media<'video', Source>
  | Media<'document', Source>;

/** Content of AG-UI 1.0. */
export type ContentPart = TextPart | MediaPart<MediaSource | FileSource>;
/** Content of a user's message. */
export type InputContent = TextPart | MediaPart | BinaryPart;

/** What AG-UI calls these parts. */
export type TextInputContent = TextPart;
export type BinaryInputContent = BinaryPart;

/** `arguments` is JSON text, as the model wrote it. */
export interface FunctionCall {
  name: string;
  arguments: string;
}

/** A function the model wants called. */
export interface ToolCall {
  id: string;
  type: 'function';
  function: FunctionCall;
  encryptedValue?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
}

interface MessageBase {
  id: string;
  /** Opaque state of a provider that the next request must carry unchanged. */
  encryptedValue?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  subagentRunId?: string | undefined;
}

export interface UserMessage extends MessageBase {
  role: 'user';
  content: string | InputContent[];
  name?: string | undefined;
}

export interface AssistantMessage extends MessageBase {
  role: 'assistant';
  content?: string | undefined;
  toolCalls?: ToolCall[] | undefined;
  name?: string | undefined;
}

export interface SystemMessage extends MessageBase {
  role: 'system';
  content: string;
  name?: string | undefined;
}

export interface DeveloperMessage extends MessageBase {
  role: 'developer';
  content: string;
  name?: string | undefined;
}

export interface ToolMessage extends MessageBase {
  role: 'tool';
  content: string;
  toolCallId: string;
  /** What failed; absent when the call succeeded. */
  error?: string | undefined;
}

export interface ReasoningMessage extends MessageBase {
  role: 'reasoning';
  content: string;
}

export interface ActivityMessage {
  id: string;
  role: 'activity';
  activityType: string;
  content: Record<string, unknown>;
  metadata?: Record<string, unknown> | undefined;
  subagentRunId?: string | undefined;
}

export type Message =
  | UserMessage
  | AssistantMessage
  | SystemMessage
  | DeveloperMessage
  | ToolMessage
  | ReasoningMessage
  | ActivityMessage;

type Given<M> = M extends ActivityMessage
  ? M
  : Omit<M, 'content'> & { content?: string | (ContentPart | BinaryPart)[] | undefined };

/** A message as it may be given: AG-UI 1.0 lets every role but `activity` have parts. */
export type MessageInput = Given<Message>;
