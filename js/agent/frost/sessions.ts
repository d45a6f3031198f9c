// SessionManager: histories of users and groups. Prompts of one session wait for each other; nothing
// is locked while a model answers.
import type { AgentMessage } from '../../../types/agent';
import { MillraceError } from '../../errors';
import { checkNames } from '../../known-names';
import { longestTimer } from '../../limits';
import { shown, shownText } from '../../shown';
import { atLeast, callback, type Check, checkValues, count } from '../../value-checks';
import { engineAnswer } from '../../tool/engine-answer';
import { raced } from '../../tool/time-limit';

export interface SessionManagerOptions {
  /** Rows kept besides the system row; 20 when absent. */
  maxHistory?: number;
  /** Milliseconds after which an idle session is forgotten; a day when absent. */
  ttlMs?: number;
  /** Milliseconds between two clean-ups of idle sessions; an hour when absent, 0 for none, 24 days at most. */
  cleanupIntervalMs?: number;
  /** Prompts that may wait in one session besides the one that is answered; 100 when absent. */
  maxQueued?: number;
  now?: () => number;
}

/** What is known of a session without its history. */
export interface SessionInfo {
  id: string;
  messages: number;
  createdAt: number;
  updatedAt: number;
  /** How the newest turn of the history ended, where it has no answer. */
  unfinished?: Unfinished;
}

/** Why a turn has no answer. */
export type Unfinished = 'error' | 'cancelled';

/** What a turn gives to be stored. */
export interface TurnEnd<T> {
  /** The history with the turn; absent leaves it as it was. */
  messages?: AgentMessage[];
  unfinished?: Unfinished;
  value: T;
}

interface Session {
  messages: AgentMessage[];
  createdAt: number;
  updatedAt: number;
  unfinished?: Unfinished | undefined;
  /** Prompts that wait, and the one that is answered. */
  queued: number;
  tail: Promise<unknown>;
  generation: number;
  /** What was done to the history since the turn under way read it. */
  edits: ((messages: AgentMessage[]) => AgentMessage[])[];
}

const hour = 60 * 60 * 1000;

const checks: Record<keyof SessionManagerOptions, Check> = {
  maxHistory: count,
  ttlMs: atLeast(0),
  cleanupIntervalMs: atLeast(0),
  maxQueued: atLeast(0),
  now: callback,
};

/** Throws for what names no session: those who forgot their id would share a history. */
export function checkSession(id: unknown): void {
  if (typeof id === 'string' && id !== '') return;
  throw new MillraceError(
    'invalid_argument',
    `The id of a session must be a non-empty string, not ${shown(id)}.`,
  );
}

/** Histories of an Engine by session: prompts of one session wait for each other, and old rows are trimmed. */
export class SessionManager {
  readonly maxHistory: number;
  readonly #options: Required<Omit<SessionManagerOptions, 'maxHistory'>>;
  readonly #sessions = new Map<string, Session>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(given?: SessionManagerOptions) {
    const options = given ?? {};
    checkNames('A SessionManager', options, Object.keys(checks));
    checkValues('A SessionManager', options, checks);
    this.maxHistory = options.maxHistory ?? 20;
    this.#options = {
      ttlMs: options.ttlMs ?? 24 * hour,
      cleanupIntervalMs: Math.min(options.cleanupIntervalMs ?? hour, longestTimer),
      maxQueued: options.maxQueued ?? 100,
      now: options.now ?? Date.now,
    };
  }

  /** `group:<id>` for a whole group, `private:<id>` for one user. */
  static key(type: 'group' | 'private', id: string): string {
    return `${type}:${id}`;
  }

  /** A copy of the history. */
  snapshot(id: string): AgentMessage[] {
    return structuredClone(this.#sessions.get(id)?.messages ?? []);
  }

  /** Replaces the history; what a turn under way adds to it goes with the old one. */
  replaceMessages(id: string, messages: AgentMessage[]): void {
    const given = structuredClone(messages);
    this.#edit(id, () => given);
  }

  /** Adds a row, behind those of a turn that is under way. */
  addMessage(id: string, message: AgentMessage): void {
    const given = structuredClone(message);
    this.#edit(id, (stateMessages) => [...stateMessages, given]);
  }

  /** Forgets the history; a run that is under way does not bring it back. */
  clear(id: string): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    session.messages = [];
    session.unfinished = undefined;
    session.edits = [];
    session.generation += 1;
  }

  /** The system row and the newest others; a call and its results stay together. */
  trim(messages: AgentMessage[]): AgentMessage[] {
    return engineAnswer('trimMessages', { messages, most: this.maxHistory });
  }

  /** Newest first. */
  listSessions(offset = 0, limit = 0): SessionInfo[] {
    const from = Math.max(0, offset);
    return [...this.#sessions]
      .map(([id, { messages, createdAt, updatedAt, unfinished }]) => ({
        id,
        messages: messages.length,
        createdAt,
        updatedAt,
        ...(unfinished && { unfinished }),
      }))
      .sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1))
      .slice(from, limit > 0 ? from + limit : undefined);
  }

  /** Forgets sessions that are idle; gives how many. */
  cleanup(): number {
    const oldest = this.#options.now() - this.#options.ttlMs;
    let removed = 0;
    for (const [id, session] of this.#sessions) {
      if (session.queued > 0 || session.updatedAt > oldest) continue;
      this.#sessions.delete(id);
      removed += 1;
    }
    if (this.#sessions.size === 0) this.#rest();
    return removed;
  }

  /** Ends the clean-up and takes no more prompts; those under way go on. */
  close(): void {
    this.#closed = true;
    this.#rest();
  }

  /**
   * Runs `turn` on the history when the turns before it are over, and stores what it gives. A turn
   * that rejects stores nothing. An abort while it waits rejects with the signal's reason at once.
   */
  async run<T>(
    id: string,
    turn: (history: AgentMessage[]) => Promise<TurnEnd<T>>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (this.#closed) {
      throw new MillraceError(
        'invalid_state',
        `The session manager is closed; the prompt for session ${shownText(id)} was not run.`,
      );
    }
    const session = this.#open(id);
    const { maxQueued } = this.#options;
    if (session.queued > maxQueued) {
      const sentence = `The queue of the session ${id} is full (maxQueued ${maxQueued}).`;
      throw new MillraceError('too_much_work', sentence, { retryable: true });
    }
    session.queued += 1;
    const before = session.tail;
    const work = (async () => {
      await raced(before, signal);
      const { generation } = session;
      session.edits = [];
      const { messages, unfinished, value } = await turn(structuredClone(session.messages));
      if (messages && session.generation === generation) {
        session.unfinished = unfinished;
        session.messages = session.edits.reduce(
          (stateMessages, edit) => this.trim(edit(stateMessages)),
          this.trim(messages),
        );
      }
      return value;
    })();
    // Those behind wait for those in front, also when this one has left.
    session.tail = Promise.allSettled([before, work]).then(() => undefined);
    try {
      return await work;
    } finally {
      session.queued -= 1;
      session.updatedAt = this.#options.now();
    }
  }

  // Seen at once, and done again to what the turn under way stores.
  #edit(id: string, edit: Session['edits'][number]): void {
    const session = this.#open(id);
    session.messages = this.trim(edit(session.messages));
    session.updatedAt = this.#options.now();
    if (session.queued > 0) session.edits.push(edit);
  }

  #open(id: string): Session {
    checkSession(id);
    const found = this.#sessions.get(id);
    if (found) return found;
    const now = this.#options.now();
    const session: Session = {
      messages: [],
      createdAt: now,
      updatedAt: now,
      queued: 0,
      tail: Promise.resolve(),
      generation: 0,
      edits: [],
    };
    this.#sessions.set(id, session);
    this.#watch();
    return session;
  }

  // A timer only while there are sessions; it keeps no process alive.
  #watch(): void {
    const { cleanupIntervalMs } = this.#options;
    if (this.#timer || this.#closed || cleanupIntervalMs <= 0) return;
    this.#timer = setInterval(() => this.cleanup(), cleanupIntervalMs).unref();
  }

  #rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
