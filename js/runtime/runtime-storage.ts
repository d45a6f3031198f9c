// runtime.storage(): the threads, messages and artifacts of a store, as OpenUI's ChatStorage.
import type {
  Artifact,
  ArtifactListParams,
  ProvidedArtifactStorage,
  ArtifactSummary,
  ChatStorage,
  Thread,
  ProvidedThreadStorage,
} from '../../types/channels';
import type { Message } from '../../types/messages';
import { checkNames } from '../known-names';
import { randomUUID } from '../node-crypto';
import { toJson } from '../serialize';
import { checkValues, text } from '../value-checks';

export interface RuntimeStorageOptions {
  /** Whose threads and artifacts they are; as `principal` of a run. */
  principal?: string | undefined;
}

/** An artifact that is to be kept; its id is made where it is missing. */
export type NewRuntimeArtifact = Omit<Artifact, 'id' | 'updatedAt'> & { id?: string | undefined };

export interface RuntimeArtifactStorage extends ProvidedArtifactStorage {
  /** Keeps an artifact of a thread; one with the same id is replaced. */
  create(artifact: NewRuntimeArtifact): Promise<Artifact>;
  /** Does nothing where there is no such artifact. */
  delete(id: string): Promise<void>;
}

/** Threads that durable runs write, and artifacts that belong to them. */
export interface RuntimeStorage extends ChatStorage {
  thread: Required<ProvidedThreadStorage> & {
    /** Replaces the messages of a thread. */
    setMessages(threadId: string, messages: Message[]): Promise<void>;
  };
  artifact: RuntimeArtifactStorage;
}

type Ask = <T>(command: string, options: object) => Promise<T>;

export function runtimeStorage(ask: Ask, options: RuntimeStorageOptions): RuntimeStorage {
  checkNames('storage()', options, ['principal']);
  checkValues('storage()', options, { principal: text });
  const { principal = '' } = options;
  const call: Ask = (name, given) => ask(name, { principal, ...given });
  return { thread: threadsOf(call), artifact: artifactsOf(call) };
}

interface StoredThread extends Thread {
  createdAt: number;
}

function threadsOf(call: Ask): RuntimeStorage['thread'] {
  return {
    listThreads: async (cursor) => {
      const page = await call<{ threads: StoredThread[]; nextCursor?: string }>('thread.list', {
        cursor,
      });
      return { ...page, threads: page.threads.map(threadOf) };
    },
    createThread: async (firstMessage) => {
      const message = plain(firstMessage);
      return threadOf(await call('thread.create', { id: randomUUID(), message }));
    },
    getMessages: (threadId) => call('thread.messages', { threadId }),
    setMessages: async (threadId, messages) => {
      await call('thread.setMessages', { threadId, messages: plain(messages) });
    },
    updateMessage: async (threadId, message) => {
      await call('thread.updateMessage', { threadId, message: plain(message) });
    },
    updateThread: async (thread) =>
      threadOf(await call('thread.update', { thread: plain(thread) })),
    deleteThread: async (id) => {
      await call('thread.delete', { id });
    },
  };
}

function artifactsOf(call: Ask): RuntimeArtifactStorage {
  return {
    list: async (params?: ArtifactListParams | null) => {
      const { name, type, cursor, limit } = params ?? {};
      const page = await call<{ artifacts: ArtifactSummary[]; nextCursor?: string }>(
        'artifact.list',
        { name, type, cursor, limit },
      );
      return { ...page, artifacts: page.artifacts.map(artifactOf) };
    },
    get: async (id) => artifactOf(await call<Artifact>('artifact.get', { id })),
    create: async (artifact) =>
      artifactOf(await call<Artifact>('artifact.create', { artifact: plain(artifact) })),
    update: async ({ id, content }) =>
      artifactOf(await call<ArtifactSummary>('artifact.update', plain({ id, content }))),
    delete: async (id) => {
      await call('artifact.delete', { id });
    },
  };
}

// Throws for what JSON cannot carry.
function plain<T extends object>(value: T): T {
  return JSON.parse(toJson(value, 'value')) as T;
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

function threadOf(thread: StoredThread): Thread {
  return { ...thread, createdAt: timeOf(thread.createdAt) };
}

function artifactOf<T extends ArtifactSummary>(artifact: T): T {
  return { ...artifact, updatedAt: timeOf(artifact.updatedAt as number) };
}
