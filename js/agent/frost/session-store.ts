// Sessions of an Engine with a runtime: each is a thread of the store.
import type { AgentMessage } from '../../../types/agent';
import { MillraceError } from '../../errors';
import { createHash, randomUUID } from '../../node-crypto';
import { toJson } from '../../serialize';
import type { DurableRuntime } from '../durable-types';
import type { EngineUsage } from './usage';

/** What one prompt of a session came to. */
export interface SessionTurn {
  /** Milliseconds since 1970. */
  at: number;
  status: 'completed' | 'max_iterations' | 'error' | 'cancelled';
  usage: EngineUsage;
}

/** What is stored of a session. */
export interface StoredSession {
  messages: AgentMessage[];
  /** The newest turns, the oldest first. */
  turns: SessionTurn[];
}

/** Where sessions are kept beyond their process. */
export interface SessionStore {
  load(id: string): Promise<StoredSession>;
  save(id: string, session: StoredSession): Promise<void>;
}

type Row = Record<string, unknown>;

/** The sessions of the Engine with this name. */
export function sessionStore(runtime: DurableRuntime, name: string): SessionStore {
  const threadOf = (id: string): string => `${name}/${id}`;
  return {
    load: async (id) => storedSession(await runtime.ask('thread.messages', at(threadOf(id)))),
    save: async (id, session) => {
      const thread = threadOf(id);
      const options = { ...at(thread), messages: rowsOf(session) };
      try {
        await runtime.ask('thread.setMessages', options);
      } catch (error) {
        if (!MillraceError.is(error) || error.code !== 'thread_not_found') throw error;
        if (options.messages.length === 0) return;
        const message = { ...rowOf(firstOf(session)), id: randomUUID() };
        await runtime.ask('thread.create', { principal: '', id: thread, message });
        await runtime.ask('thread.setMessages', options);
      }
    },
  };
}

// A thread begins with a message of its user, and has its title from it; a session may begin with a welcome.
function firstOf({ messages }: StoredSession): AgentMessage {
  const found = messages.find(({ role, content }) => role === 'user' && content !== undefined);
  return found ?? { role: 'user', content: '' };
}

const at = (threadId: string): object => ({ principal: '', threadId });

// AG-UI's names of members, as other threads of the store have them.
function rowOf({ tool_calls, tool_call_id, ...message }: AgentMessage): Row {
  return {
    ...message,
    ...(tool_calls !== undefined && { toolCalls: tool_calls }),
    ...(tool_call_id !== undefined && { toolCallId: tool_call_id }),
  };
}

function messageOf({
  toolCalls,
  toolCallId,
  id: _id,
  messageId,
  turns: _turns,
  ...row
}: Row): AgentMessage {
  return {
    ...(messageId !== undefined && { id: messageId }),
    ...row,
    ...(toolCalls !== undefined && { tool_calls: toolCalls }),
    ...(toolCallId !== undefined && { tool_call_id: toolCallId }),
  } as AgentMessage;
}

// What holds the turns of a session that has no message, as after a first turn that failed.
const turnsId = 'turns';
const turnsRow = (turns: SessionTurn[]): Row => ({
  ...{ id: turnsId, role: 'system', content: '', displayOnly: true },
  turns,
});

// A message is known by what it is, so that one that is still there keeps its place and time.
function rowsOf({ messages, turns }: StoredSession): Row[] {
  const uses = new Map<string, number>();
  const rows = messages.map((message) => {
    const { id, ...row } = rowOf(message);
    const json = toJson(row, 'message');
    const hash = createHash('sha256').update(json).digest('hex').slice(0, 24);
    const use = (uses.get(hash) ?? 0) + 1;
    uses.set(hash, use);
    return {
      ...(JSON.parse(json) as Row),
      id: use === 1 ? hash : `${hash}.${use}`,
      ...(id !== undefined && { messageId: id }),
    };
  });
  const last = rows.at(-1);
  if (last) return [...rows.slice(0, -1), { ...last, turns }];
  return turns.length > 0 ? [turnsRow(turns)] : [];
}

function storedSession(rows: Row[]): StoredSession {
  const turns = (rows.at(-1)?.['turns'] ?? []) as SessionTurn[];
  return { messages: rows.filter(({ id }) => id !== turnsId).map(messageOf), turns };
}
