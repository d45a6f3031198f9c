// sendMessage: a run in a stored thread. What the user said is stored before the model is asked.
import { randomUUID } from 'node:crypto';

import type { AgentResult } from '../../types/agent-run';
import type { ChatStorage } from '../../types/channels';
import type { AssistantMessage, Message, UserMessage } from '../../types/messages';
import { MillraceError } from '../errors';
import { foldEvents } from '../runs/fold';
import type { AgentRun } from './agent-run';
import type { AgentRunOptions, EngineAgent } from './create-agent';

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
  onFinish?: (finished: FinishedMessage) => unknown;
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
  /** The row that the answer will have, while there is none. */
  placeholderId: string;
  run: AgentRun;
  /** Resolves when the conversation is stored. */
  finished: Promise<FinishedMessage>;
}

/** Stores the user's row and an empty answer, then runs the agent. */
export async function sendMessage(
  agent: EngineAgent,
  { storage, message, onFinish, ...options }: SendMessageOptions,
): Promise<SentMessage> {
  const { thread } = storage;
  if (typeof thread?.setMessages !== 'function') {
    throw new MillraceError('invalid_option', 'sendMessage() needs a storage with setMessages().');
  }
  const row: UserMessage =
    typeof message === 'string' ? { id: randomUUID(), role: 'user', content: message } : message;
  const placeholder: AssistantMessage = { id: randomUUID(), role: 'assistant', content: '' };
  const isNew = options.threadId === undefined;
  const threadId = options.threadId ?? (await thread.createThread(row)).id;
  const before = isNew ? [] : await thread.getMessages(threadId);
  const asked = [...before, row];
  await thread.setMessages(threadId, [...asked, placeholder]);
  const run = agent.run(asked, { ...options, threadId });
  const finished = store(run, asked, storage, threadId, onFinish);
  // Whoever does not wait for it must not be ended by it.
  finished.catch(() => undefined);
  return { threadId, placeholderId: placeholder.id, run, finished };
}

async function store(
  run: AgentRun,
  asked: Message[],
  { thread }: MessageStorage,
  threadId: string,
  onFinish: SendMessageOptions['onFinish'],
): Promise<FinishedMessage> {
  const events = foldEvents(run);
  const result = await run.result;
  const messages = [...asked, ...(await events)];
  await thread.setMessages(threadId, messages);
  const finished = { threadId, messages, result };
  await onFinish?.(finished);
  return finished;
}
