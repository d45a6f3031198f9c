// One conversation: its messages, and the job that works in it.
import { api, ApiError, type OnBusy, randomId } from './api';
import {
  type AnswerEntry,
  changed,
  emptyEntry,
  entriesOfHistory,
  entriesOfPage,
  type Entry,
  isAlive,
  latestOf,
  question,
  withLog,
} from './entries';
import { answerOfLog } from './fold';
import { readJob } from './job-reader';
import { Store } from './store';
import type { Action, Attachment, JobEvent } from './types';

export interface ChatState {
  /** Undefined is a conversation that is made with its first message. */
  id: string | undefined;
  entries: readonly Entry[];
  /** Place of the messages before; null where there are none. */
  before: number | null;
  isLoading: boolean;
  isSending: boolean;
  isLive: boolean;
  problem: string;
}

const mostAttempts = 15;
const attemptPauseMs = 1000;

const empty: ChatState = {
  ...{ id: undefined, entries: [], before: null, problem: '' },
  ...{ isLoading: false, isSending: false, isLive: true },
};

export class Chat extends Store<ChatState> {
  /** Called when a job began or ended. */
  readonly #onJob: () => void;
  #reading = new AbortController();
  #queue: JobEvent[] = [];
  #actionReads = 0;

  constructor(onJob: () => void) {
    super(empty);
    this.#onJob = onJob;
  }

  /** The answer that is being made. */
  get active(): AnswerEntry | undefined {
    return this.get().entries.findLast(
      (entry): entry is AnswerEntry =>
        entry.kind === 'answer' && entry.answer.state === 'working' && !entry.isQueued,
    );
  }

  async open(id: string | undefined): Promise<void> {
    this.#leave();
    const { signal } = this.#reading;
    this.set({ ...empty, id, isLoading: id !== undefined });
    if (id === undefined) return;
    try {
      await this.#load(id, signal);
    } catch (error) {
      if (!signal.aborted) this.set({ isLoading: false, problem: (error as Error).message });
    }
  }

  async #load(id: string, signal: AbortSignal): Promise<void> {
    // In this order: the history has the message of a job whose turn came in between.
    const jobs = await api.activeJobs(id);
    const page = await api.history(id);
    if (signal.aborted) return;
    const entries = entriesOfPage(page.items, jobs);
    this.set({ entries, before: page.next_before, isLoading: false });
    const atWork = jobs.find(isAlive);
    if (atWork) void this.#follow(atWork.job_id);
  }

  async loadOlder(): Promise<void> {
    const { id, before } = this.get();
    if (id === undefined || before === null) return;
    await this.#try(async () => {
      const page = await api.history(id, before);
      if (this.get().id !== id) return;
      const { entries } = this.get();
      const older = entriesOfHistory(page.items, entries);
      this.set({ entries: [...older, ...entries], before: page.next_before });
    });
  }

  /** Goes on with a job that was begun elsewhere. */
  async catchUp(): Promise<void> {
    const { id, isLoading, isSending } = this.get();
    if (id === undefined || isLoading || isSending || this.active) return;
    const { signal } = this.#reading;
    try {
      if ((await api.activeJobs(id)).some(isAlive)) await this.#load(id, signal);
    } catch {
      // The list is read again soon.
    }
  }

  /**
   * True once the message is stored. `made` gets the id of a conversation that is made for it; `onBusy` is for one that
   * comes while an answer is being made.
   */
  async send(
    text: string,
    attachments: readonly Attachment[],
    made: (id: string) => void,
    onBusy: OnBusy = 'queue',
  ): Promise<boolean> {
    this.set({ isSending: true, problem: '' });
    const key = randomId();
    let isStored = false;
    // The log may bring it before the request is answered.
    if (this.active && onBusy !== 'queue') this.#add(question(key, text, attachments, true));
    await this.#try(async () => {
      const known = this.get().id;
      const id = known ?? (await api.create()).id;
      const ids = attachments.map((one) => one.id);
      const request = { conversation: id, text, attachments: ids, key, onBusy };
      const job = await this.#persistently(() => api.start(request));
      isStored = true;
      // The user may have gone elsewhere; the answer is found there.
      if (this.get().id !== known || latestOf(this.get().entries, job.job_id)) return;
      this.#remove(key);
      const isQueued = this.active !== undefined;
      this.set({ id });
      this.#add(question(key, text, attachments), emptyEntry(job.job_id, isQueued));
      if (known === undefined) made(id);
      if (!isQueued) void this.#follow(job.job_id);
    });
    if (!isStored) this.#remove(key);
    this.set({ isSending: false });
    return isStored;
  }

  /** Takes back a message whose turn has not come. */
  async takeBack({ key, job }: AnswerEntry): Promise<void> {
    await this.#try(async () => {
      const { current_stage: stage } = await api.takeBack(job);
      const { entries } = this.get();
      const at = entries.findIndex((entry) => entry.key === key);
      // One that has begun meanwhile is stopped.
      if (at > 0 && stage === 'received') this.set({ entries: entries.toSpliced(at - 1, 2) });
    });
  }

  async stop(): Promise<void> {
    const { active } = this;
    if (active) await this.#try(() => api.cancel(active.job));
  }

  /** Answers the last question again, in place of the answer that is there. */
  async again(): Promise<void> {
    const { id } = this.get();
    if (id === undefined) return;
    const { signal } = this.#reading;
    this.set({ isSending: true, problem: '' });
    await this.#try(async () => {
      const last = (await api.history(id)).items.at(-1);
      if (!last || signal.aborted) return;
      await api.regenerate(id, last.message_id);
      if (!signal.aborted) await this.#load(id, signal);
    });
    this.set({ isSending: false });
  }

  async decide(job: string, action: Action, entry: unknown): Promise<void> {
    await this.#try(() => api.decide(job, action.action_id, entry));
    await this.#readActions(job);
  }

  dismiss(): void {
    this.set({ problem: '' });
  }

  /** Reads what only the log has of an answer that came with the history. */
  async complete({ key, job, item }: AnswerEntry): Promise<void> {
    if (!item) return;
    this.#change(key, { isShort: false });
    try {
      const [events, spent] = await Promise.all([api.log(job), api.job(job)]);
      const { answer, isLast } = answerOfLog(item, events);
      // The last answer of a run shows what all of it took.
      this.#change(key, { answer, ...(isLast && { spent }) });
    } catch {
      // Jobs are removed in time; the history has what counts.
    }
  }

  async #follow(job: string): Promise<void> {
    this.#leave();
    const { signal } = this.#reading;
    this.#changeLatest(job, { isQueued: false });
    this.set({ isLive: true });
    this.#onJob();
    try {
      await readJob({
        ...{ job, after: '', signal },
        onEvents: (events) => this.#take(job, events, signal),
        onConnection: (isLive) => {
          if (!signal.aborted && isLive !== this.get().isLive) this.set({ isLive });
        },
      });
      this.#flush(job, signal);
      if (signal.aborted) return;
      this.#onJob();
      this.#followNext();
      this.#changeLatest(job, { spent: await api.job(job) });
    } catch (error) {
      if (!signal.aborted) this.set({ problem: (error as Error).message });
    }
  }

  #followNext(): void {
    const entries = this.get().entries.filter(
      (entry) => entry.kind === 'answer' || !entry.isPending,
    );
    this.set({ entries });
    const next = entries.find(
      (entry): entry is AnswerEntry => entry.kind === 'answer' && entry.isQueued,
    );
    if (next) void this.#follow(next.job);
  }

  // Pieces of a text come faster than a screen shows them.
  #take(job: string, events: readonly JobEvent[], signal: AbortSignal): void {
    const isFirst = this.#queue.length === 0;
    this.#queue.push(...events);
    if (!isFirst) return;
    if (document.hidden) setTimeout(() => this.#flush(job, signal), 50);
    else requestAnimationFrame(() => this.#flush(job, signal));
  }

  #flush(job: string, signal: AbortSignal): void {
    const events = this.#queue;
    if (signal.aborted || events.length === 0) return;
    this.#queue = [];
    const before = latestOf(this.get().entries, job);
    const entries = withLog(this.get().entries, job, events);
    this.set({ entries });
    const after = latestOf(entries, job);
    if (!after?.answer.isWaiting) return;
    const isSame = before?.key === after.key;
    if (isSame && before.answer.actionMark === after.answer.actionMark) return;
    void this.#readActions(job);
  }

  async #readActions(job: string): Promise<void> {
    const number = ++this.#actionReads;
    try {
      const actions = await api.actions(job);
      // Another reading has begun since, and knows more.
      if (number !== this.#actionReads) return;
      const answer = latestOf(this.get().entries, job)?.answer;
      if (!answer) return;
      const isWaiting = actions.length > 0 && answer.state === 'working';
      this.#changeLatest(job, { actions, actionsProblem: '', answer: { ...answer, isWaiting } });
    } catch (error) {
      const isForbidden = error instanceof ApiError && error.status === 403;
      const actionsProblem = isForbidden
        ? 'The run waits for an approval. Your key may not approve.'
        : (error as Error).message;
      this.#changeLatest(job, { actions: [], actionsProblem });
    }
  }

  #add(...entries: Entry[]): void {
    this.set({ entries: [...this.get().entries, ...entries] });
  }

  #remove(key: string): void {
    this.set({ entries: this.get().entries.filter((entry) => entry.key !== key) });
  }

  #change(key: string | undefined, change: Partial<AnswerEntry>): void {
    this.set({ entries: changed(this.get().entries, key, change) });
  }

  #changeLatest(job: string, change: Partial<AnswerEntry>): void {
    this.#change(latestOf(this.get().entries, job)?.key, change);
  }

  #leave(): void {
    this.#reading.abort();
    this.#reading = new AbortController();
    this.#queue = [];
  }

  // A request whose answer was lost is sent again: the server knows it by its key.
  async #persistently<T>(work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const done = await work();
        this.set({ isLive: true });
        return done;
      } catch (error) {
        const isAway = error instanceof ApiError && error.status === 0;
        this.set({ isLive: !isAway });
        if (!isAway || attempt === mostAttempts) throw error;
        await new Promise((resolve) => setTimeout(resolve, attemptPauseMs));
      }
    }
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.set({ problem: (error as Error).message });
    }
  }
}
