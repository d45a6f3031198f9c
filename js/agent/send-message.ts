// sendMessage: a run in a stored thread. The user's message is stored before the model is called.
import type { ChatStorage } from '../../types/channels';
import type { AssistantMessage, Message, UserMessage } from '../../types/messages';
import { MillraceError } from '../errors';
import { randomUUID } from '../node-crypto';
import { foldEvents } from '../runs/fold';
import type { AgentResult } from './agent-result';
import type { AgentRun } from './agent-run';
import type { AgentRunOptions, RunnableAgent } from './types';

/** A storage that takes whole conversations, as inMemoryStorage() does. */
export interface MessageStorage extends ChatStorage {
  thread: ChatStorage['thread'] & {
    setMessages(threadId: string, messages: Message[]): Promise<unknown>;
  };
}

export interface SendMessageOptions extends Omit<AgentRunOptions, 'runId'> {
  storage: MessageStorage;
  message: string | UserMessage;
  /** Called when the conversation is stored. What it throws rejects `finished`. */
  onFinish?: ((finished: FinishedMessage) => unknown) | undefined;
}

/** What became of a message. */
export interface FinishedMessage {
  threadId: string;
  /** The whole conversation as it is stored. */
  messages: Message[];
  result: AgentResult;
}

export interface SentMessage {
  threadId: string;
  /** The row of the answer: empty until it is stored. */
  placeholderId: string;
  run: AgentRun;
  /** Resolves when the conversation is stored. */
  finished: Promise<FinishedMessage>;
}

/**
 * Stores the user's row and an empty answer, then runs the agent. Messages of one thread take their turn:
 * the next is stored when the answer before it is.
 */
export async function sendMessage(
  agent: RunnableAgent,
  given: SendMessageOptions,
): Promise<SentMessage> {
  const { storage, message, onFinish, ...options } = given ?? {};
  const thread = threadOf(storage);
  const row: UserMessage =
    typeof message === 'string' ? { id: randomUUID(), role: 'user', content: message } : message;
  const isNew = options.threadId === undefined;
  const threadId = options.threadId ?? (await thread.createThread(row)).id;
  const done = await turnOf(thread, threadId);
  try {
    const before = isNew ? [] : await thread.getMessages(threadId);
    const placeholder: AssistantMessage = { id: randomUUID(), role: 'assistant', content: '' };
    const sentMessages = [...before, row];
    await thread.setMessages(threadId, [...sentMessages, placeholder]);
    const run = await begun(thread, threadId, before, () =>
      agent.run(sentMessages, { ...options, threadId }),
    );
    const stored = store(run, sentMessages, placeholder.id, thread).finally(done);
    const finished = stored.then(async (messages) => {
      const reported = { threadId, messages, result: await run.result };
      await onFinish?.(reported);
      return reported;
    });
    // A caller that does not wait for it must not end by it.
    finished.catch(() => undefined);
    return { threadId, placeholderId: placeholder.id, run, finished };
  } catch (error) {
    done();
    throw error;
  }
}

type MessageThread = MessageStorage['thread'];

// Rows of a run that cannot begin are taken back: they would be in the way of every later one.
async function begun(
  thread: MessageThread,
  threadId: string,
  before: Message[],
  start: () => AgentRun,
): Promise<AgentRun> {
  try {
    return start();
  } catch (error) {
    await thread.setMessages(threadId, before);
    throw error;
  }
}

function threadOf(storage: Partial<MessageStorage> | undefined): MessageThread {
  const { thread } = storage ?? {};
  if (typeof thread?.setMessages === 'function') return thread;
  throw new MillraceError(
    'invalid_option',
    'sendMessage() needs `storage` with `thread.setMessages(threadId, messages)`, as inMemoryStorage() has ' +
      'it. The service behind restStorage() keeps what its front end sends: give it a setMessages of your own.',
  );
}

// By storage and thread: the end of the last turn.
const turns = new WeakMap<object, Map<string, Promise<void>>>();

// Waits for the thread's earlier turns; the answer ends this one.
async function turnOf(thread: object, threadId: string): Promise<() => void> {
  const last = turns.get(thread) ?? new Map<string, Promise<void>>();
  turns.set(thread, last);
  const before = last.get(threadId);
  let end: () => void = () => undefined;
  const turn = new Promise<void>((resolve) => (end = resolve));
  last.set(threadId, turn);
  await before;
  return () => {
    if (last.get(threadId) === turn) last.delete(threadId);
    end();
  };
}

async function store(
  run: AgentRun,
  sentMessages: Message[],
  placeholderId: string,
  thread: MessageThread,
): Promise<Message[]> {
  const events = foldEvents(run);
  const { status } = await run.result;
  const answer = inPlace(await events, placeholderId);
  const last = answer.at(-1);
  const isCut = ['cancelled', 'limited', 'error'].includes(status);
  if (isCut && last?.role === 'assistant' && !last.toolCalls?.length) {
    last.metadata = { ...last.metadata, interruptedMidStream: true };
  }
  const messages = [...sentMessages, ...answer];
  await thread.setMessages(run.threadId, messages);
  return messages;
}

// The answer's first row is the one that was stored empty.
function inPlace(answer: Message[], id: string): Message[] {
  const first = answer.findIndex(({ role }) => role === 'assistant');
  return answer.map((row, index) => (index === first ? { ...row, id } : { ...row }));
}
