// inMemoryStorage: threads and artifacts that live as long as the process.
import type {
  Artifact,
  ArtifactListParams,
  ProvidedArtifactStorage,
  ArtifactSummary,
  ChatStorage,
  Thread,
  ProvidedThreadStorage,
} from '../../types/channels';
import type { Message, UserMessage } from '../../types/messages';
import { MillraceError } from '../errors';
import { randomUUID } from '../node-crypto';
import { shown } from '../shown';

/** An artifact that is to be kept; id and time are made where they are missing. */
export type NewArtifact = Omit<Artifact, 'id' | 'updatedAt'> & Partial<Artifact>;

export interface InMemoryStorageOptions {
  /** Artifacts that are there from the start. */
  artifacts?: NewArtifact[];
}

export interface InMemoryArtifactStorage extends ProvidedArtifactStorage {
  /** Keeps a new artifact; one with the same id is replaced. */
  create(artifact: NewArtifact): Promise<Artifact>;
}

export interface InMemoryStorage extends ChatStorage {
  thread: Required<ProvidedThreadStorage> & {
    /** Replaces the messages of a thread: the store itself keeps only the first one. */
    setMessages(threadId: string, messages: Message[]): Promise<void>;
    /** The same, by the name that newer stores of OpenUI call when an answer is whole. */
    cacheMessages(threadId: string, messages: Message[]): Promise<void>;
  };
  artifact: InMemoryArtifactStorage;
}

/** Threads and artifacts in memory, for tests and small programs; gone with the process. */
export function inMemoryStorage(options: InMemoryStorageOptions = {}): InMemoryStorage {
  const artifacts = new Artifacts();
  for (const artifact of options.artifacts ?? []) artifacts.keep(artifact);
  return { thread: threads(), artifact: artifacts };
}

const titleLength = 40;

function threads(): InMemoryStorage['thread'] {
  // Newest first.
  let list: Thread[] = [];
  const messages = new Map<string, Message[]>();
  const setMessages = async (threadId: string, replacement: Message[]): Promise<void> =>
    void messages.set(threadId, copyOf(replacement));
  return {
    listThreads: async () => ({ threads: copyOf(list) }),
    createThread: async (firstMessage) => {
      const thread = {
        id: randomUUID(),
        title: titleOf(firstMessage),
        createdAt: new Date().toISOString(),
      };
      list = [thread, ...list];
      messages.set(thread.id, [copyOf(firstMessage)]);
      return { ...thread };
    },
    getMessages: async (threadId) => copyOf(messages.get(threadId) ?? []),
    setMessages,
    cacheMessages: setMessages,
    updateMessage: async (threadId, message) => {
      const retained = messages.get(threadId);
      const edited = retained?.map((known) => (known.id === message.id ? copyOf(message) : known));
      if (edited) messages.set(threadId, edited);
    },
    updateThread: async (thread) => {
      list = list.map((known) => (known.id === thread.id ? copyOf(thread) : known));
      return thread;
    },
    deleteThread: async (id) => {
      list = list.filter((thread) => thread.id !== id);
      messages.delete(id);
    },
  };
}

function titleOf({ content }: UserMessage): string {
  if (typeof content !== 'string' || content === '') return 'New thread';
  // A character may be a pair of surrogates.
  return Array.from(content.slice(0, 2 * titleLength))
    .slice(0, titleLength)
    .join('');
}

class Artifacts implements InMemoryArtifactStorage {
  // In the order they were kept.
  readonly #artifacts = new Map<string, Artifact>();

  keep(artifact: NewArtifact): Artifact {
    const retained: Artifact = {
      ...copyOf(artifact),
      id: artifact.id ?? randomUUID(),
      updatedAt: artifact.updatedAt ?? new Date().toISOString(),
    };
    this.#artifacts.set(retained.id, retained);
    return copyOf(retained);
  }

  async create(artifact: NewArtifact): Promise<Artifact> {
    return this.keep(artifact);
  }

  async list(params?: ArtifactListParams | null): ReturnType<ProvidedArtifactStorage['list']> {
    const { name: part, type: types, cursor, limit } = params ?? {};
    const name = part?.toLowerCase();
    const wanted = types === undefined ? undefined : [types].flat();
    const matching = [...this.#artifacts.values()].filter(
      ({ title, type }) =>
        (name === undefined || title.toLowerCase().includes(name)) &&
        (wanted === undefined || wanted.includes(type)),
    );
    const start = this.#positionOf(cursor);
    const end = limit === undefined ? matching.length : start + limitOf(limit);
    const artifacts = matching.slice(start, end).map(summaryOf);
    return end < matching.length ? { artifacts, nextCursor: String(end) } : { artifacts };
  }

  async get(id: string): Promise<Artifact> {
    return copyOf(this.#find(id));
  }

  async update({ id, content }: { id: string; content: unknown }): Promise<ArtifactSummary> {
    const updated = {
      ...this.#find(id),
      content: copyOf(content),
      updatedAt: new Date().toISOString(),
    };
    this.#artifacts.set(id, updated);
    return summaryOf(updated);
  }

  #find(id: string): Artifact {
    const artifact = this.#artifacts.get(id);
    if (artifact) return artifact;
    throw new MillraceError('invalid_argument', `There is no artifact with the id '${id}'.`);
  }

  #positionOf(cursor: string | undefined): number {
    if (cursor === undefined || cursor === '') return 0;
    if (/^\d{1,15}$/.test(cursor)) return Number(cursor);
    throw new MillraceError(
      'invalid_argument',
      `'${cursor}' is not a cursor of this storage; pass the one that list() returned.`,
    );
  }
}

function limitOf(limit: number): number {
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new MillraceError(
    'invalid_argument',
    `limit must be a positive integer, not ${shown(limit)}.`,
  );
}

function summaryOf({ content: _content, ...summary }: Artifact): ArtifactSummary {
  return summary;
}

// What is kept has no other owner: lists and plain objects are copied, everything else is as it is.
// `above` are the values that hold this one, with their names.
function copyOf<T>(value: T, above = new Map<unknown, string>(), name = 'value'): T {
  if (typeof value !== 'object' || value === null) return value;
  if (!Array.isArray(value)) {
    const shape: unknown = Object.getPrototypeOf(value);
    if (shape !== null && Object.getPrototypeOf(shape) !== null) return value;
  }
  if (above.has(value)) {
    throw new MillraceError(
      'state_not_serializable',
      `${[...above.values(), name].join('.')} is a reference to a value that holds it; a storage keeps plain values.`,
    );
  }
  above.set(value, name);
  const copies = Object.entries(value as object).map(([key, item]: [string, unknown]) => ({
    key,
    item: copyOf(item, above, key),
  }));
  above.delete(value);
  if (Array.isArray(value)) return copies.map(({ item }) => item) as T;
  return Object.fromEntries(copies.map(({ key, item }) => [key, item])) as T;
}
