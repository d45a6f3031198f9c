// The contracts between a chat front end, its model channel and its storage.
// Source: @openuidev/react-headless 0.9.13, whose interfaces of the same names these fit.
import type { AGUIEvent } from './events';
import type { Message, UserMessage } from './messages';

/** Reads the body of a response as events. */
export interface StreamProtocolAdapter {
  parse(response: Response): AsyncIterable<AGUIEvent>;
  /** Never chosen by a call: lets a value of this type stand where another package's own is asked for. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  parse(response: Response): AsyncIterable<any>;
}

/**
 * An adapter of this package. `Event` may name another package's type of the same events, so that
 * the adapter fits where that package's own is asked for.
 */
export interface StreamAdapter extends StreamProtocolAdapter {
  parse<Event extends { type: string } = AGUIEvent>(response: Response): AsyncIterable<Event>;
}

/** Canonical messages to the shape a backend expects, and back. */
export interface MessageFormat {
  toApi(messages: Message[]): unknown;
  fromApi(data: unknown): Message[];
}

/** The model channel of a chat. */
export interface ChatLLM<Adapter extends StreamProtocolAdapter = StreamProtocolAdapter> {
  send(params: { threadId: string; messages: Message[]; signal: AbortSignal }): Promise<Response>;
  streamProtocol: Adapter;
}

export interface Thread {
  id: string;
  title: string;
  createdAt: string | number;
  isPending?: boolean;
}

export interface ThreadStorage {
  listThreads(cursor?: string): Promise<{ threads: Thread[]; nextCursor?: string | undefined }>;
  createThread(firstMessage: UserMessage): Promise<Thread>;
  getMessages(threadId: string): Promise<Message[]>;
  updateThread(thread: Thread): Promise<Thread>;
  deleteThread(id: string): Promise<void>;
  /** Replaces one stored message. Later versions of the store call it where it is there. */
  updateMessage?(threadId: string, message: Message): Promise<void>;
}

/** Threads of a storage of this package: absent members of its answers are absent, not undefined. */
export interface ProvidedThreadStorage extends ThreadStorage {
  listThreads(cursor?: string): Promise<{ threads: Thread[]; nextCursor?: string }>;
}

/** An artifact without its content. */
export interface ArtifactSummary {
  id: string;
  title: string;
  type: string;
  threadId: string;
  updatedAt?: string | number;
}

export interface Artifact extends ArtifactSummary {
  content: unknown;
}

export interface ArtifactListParams {
  /** Part of the title, whatever its case. */
  name?: string;
  /** Only artifacts of these types. */
  type?: string[];
  cursor?: string;
  limit?: number;
}

export interface ArtifactStorage {
  list(params?: ArtifactListParams): Promise<{
    artifacts: ArtifactSummary[];
    nextCursor?: string | undefined;
  }>;
  get(id: string): Promise<Artifact>;
  update(patch: { id: string; content: unknown }): Promise<ArtifactSummary>;
}

/** Artifacts of a storage of this package, in the same way. */
export interface ProvidedArtifactStorage extends ArtifactStorage {
  list(params?: ArtifactListParams): Promise<{ artifacts: ArtifactSummary[]; nextCursor?: string }>;
}

export interface ChatStorage {
  thread: ThreadStorage;
  artifact?: ArtifactStorage;
}
