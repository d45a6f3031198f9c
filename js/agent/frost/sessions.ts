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
import { messageOf } from '../../thrown';
import { estimateTokens } from '../../model/usage';
import { countContextTokens } from '../vocabulary';
import type { SessionStore, SessionTurn } from './session-store';
import type { EngineUsage } from './usage';

export interface SessionManagerOptions {
  /** Rows kept besides the system row; 20 when absent, without limit with `maxTokens`. */
  maxHistory?: number;
  /** Tokens of a history, by estimate: the oldest rows beyond them go. */
  maxTokens?: number;
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
  /** Of all turns that are known; see turns(). */
  usage?: EngineUsage;
}

/** Why a turn has no answer. */
export type Unfinished = 'error' | 'cancelled';

/** What a turn gives to be stored. */
export interface TurnEnd<T> {
  /** The history with the turn; absent leaves it as it was. */
  messages?: AgentMessage[];
  unfinished?: Unfinished;
  /** What is remembered of it. */
  turn?: SessionTurn;
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
  turns: SessionTurn[];
  /** What the store has of it is here. */
  isLoaded: boolean;
}

// Turns of a session that are remembered.
const mostTurns = 200;

const hour = 60 * 60 * 1000;

const checks: Record<keyof SessionManagerOptions, Check> = {
  maxHistory: count,
  maxTokens: count,
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
  readonly maxTokens: number | undefined;
  #store: SessionStore | undefined;
  readonly #options: Required<Omit<SessionManagerOptions, 'maxHistory' | 'maxTokens'>>;
  readonly #sessions = new Map<string, Session>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(given?: SessionManagerOptions) {
    const options = given ?? {};
    checkNames('A SessionManager', options, Object.keys(checks));
    checkValues('A SessionManager', options, checks);
    this.maxTokens = options.maxTokens;
    this.maxHistory = options.maxHistory ?? (this.maxTokens ? Number.MAX_SAFE_INTEGER : 20);
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

  /** The turns that are remembered of a session, the oldest first; 200 at most. */
  turns(id: string): SessionTurn[] {
    return structuredClone(this.#sessions.get(id)?.turns ?? []);
  }

  /** The history of a session, also one of an earlier process that no prompt has used yet. */
  async load(id: string): Promise<AgentMessage[]> {
    if (this.#store) await this.#queue(this.#open(id), (session) => this.#load(id, session));
    return this.snapshot(id);
  }

  /** Resolves when the store has what was done to all sessions. */
  async saved(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    await Promise.all(sessions.map(({ tail }) => tail));
  }

  /** @internal Has a store keep the sessions; an Engine with a runtime does that. */
  useStore(store: SessionStore): void {
    if (this.#store || this.#sessions.size > 0) {
      throw new MillraceError(
        'invalid_option',
        'A SessionManager belongs to one Engine with a runtime, and has no sessions before.',
      );
    }
    this.#store = store;
  }

  /** Forgets the history; a run that is under way does not bring it back. */
  clear(id: string): void {
    const session = this.#store ? this.#open(id) : this.#sessions.get(id);
    if (!session) return;
    session.isLoaded = true;
    session.turns = [];
    this.#saveLater(id, session);
    session.messages = [];
    session.unfinished = undefined;
    session.edits = [];
    session.generation += 1;
  }

  /** The system row and the newest others; a call and its results stay together. */
  trim(messages: AgentMessage[]): AgentMessage[] {
    const most = Math.min(this.maxHistory, this.#fitting(messages));
    return engineAnswer('trimMessages', { messages, most });
  }

  // How many of the newest rows besides the system row fit, one at least.
  #fitting(messages: readonly AgentMessage[]): number {
    if (this.maxTokens === undefined) return messages.length;
    const [first] = messages;
    const rest = first?.role === 'system' ? messages.slice(1) : messages;
    let left = this.maxTokens - (first && rest.length < messages.length ? tokensIn(first) : 0);
    const tooMuch = rest.findLastIndex((message) => (left -= tokensIn(message)) < 0);
    return Math.max(1, rest.length - 1 - tooMuch);
  }

  /** Newest first. */
  listSessions(offset = 0, limit = 0): SessionInfo[] {
    const from = Math.max(0, offset);
    return [...this.#sessions]
      .map(([id, { messages, createdAt, updatedAt, unfinished, turns }]) => ({
        id,
        messages: messages.length,
        createdAt,
        updatedAt,
        ...(unfinished && { unfinished }),
        ...(turns.length > 0 && { usage: totalOf(turns) }),
      }))
      .sort((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? -1 : 1))
      .slice(from, limit > 0 ? from + limit : undefined);
  }

  /** Forgets sessions that are idle, but for what a store has of them; gives how many. */
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
      await this.#load(id, session);
      return this.#turn(id, session, turn);
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

  async #turn<T>(
    id: string,
    session: Session,
    turn: (history: AgentMessage[]) => Promise<TurnEnd<T>>,
  ): Promise<T> {
    const { generation } = session;
    session.edits = [];
    const {
      messages,
      unfinished,
      turn: made,
      value,
    } = await turn(structuredClone(session.messages));
    if (session.generation !== generation) return value;
    if (made) session.turns = [...session.turns, made].slice(-mostTurns);
    if (messages) {
      session.unfinished = unfinished;
      session.messages = session.edits.reduce(
        (stateMessages, edit) => this.trim(edit(stateMessages)),
        this.trim(messages),
      );
    }
    if (messages || made) await this.#save(id, session);
    return value;
  }

  // Seen at once, and done again to what the turn under way stores, or to what the store has.
  #edit(id: string, edit: Session['edits'][number]): void {
    const session = this.#open(id);
    session.messages = this.trim(edit(session.messages));
    session.updatedAt = this.#options.now();
    if (session.queued > 0 || !session.isLoaded) session.edits.push(edit);
    this.#saveLater(id, session);
  }

  async #load(id: string, session: Session): Promise<void> {
    if (session.isLoaded || !this.#store) return;
    const { messages, turns } = await this.#store.load(id);
    // Cleared meanwhile.
    if (session.isLoaded) return;
    session.isLoaded = true;
    session.turns = turns;
    session.messages = session.edits.reduce(
      (stateMessages, edit) => this.trim(edit(stateMessages)),
      this.trim(messages),
    );
    session.edits = [];
  }

  async #save(id: string, { messages, turns }: Session): Promise<void> {
    await this.#store?.save(id, { messages, turns });
  }

  #saveLater(id: string, session: Session): void {
    if (!this.#store) return;
    const saving = this.#queue(session, async () => {
      await this.#load(id, session);
      await this.#save(id, session);
    });
    saving.catch((error: unknown) => {
      process.emitWarning(`The session ${id} was not stored: ${messageOf(error)}`, {
        code: 'MILLRACE_RUNTIME',
      });
    });
  }

  // Behind the turns of the session.
  #queue(session: Session, work: (session: Session) => Promise<void>): Promise<void> {
    const { tail } = session;
    session.queued += 1;
    const made = (async () => {
      await tail;
      try {
        await work(session);
      } finally {
        session.queued -= 1;
      }
    })();
    session.tail = made.catch(() => undefined);
    return made;
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
      turns: [],
      isLoaded: this.#store === undefined,
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

function tokensIn(message: AgentMessage): number {
  return countContextTokens([message], undefined) ?? estimateTokens(JSON.stringify(message));
}

function totalOf(turns: readonly SessionTurn[]): EngineUsage {
  const total: EngineUsage = { prompt: 0, completion: 0, total: 0 };
  for (const { usage } of turns) {
    total.prompt += usage.prompt;
    total.completion += usage.completion;
    total.total += usage.total;
    if (usage.source !== undefined && total.source !== 'unknown') total.source = usage.source;
  }
  return total;
}
