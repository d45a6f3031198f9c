// The entries of a conversation, and what the log of a job makes of them: a run that takes messages while it works has
// an answer before and behind each. Nothing here touches the page.
import {
  type Answer,
  answerOfHistory,
  emptyAnswer,
  foldAll,
  settled,
  type TakenMessage,
  turnsOf,
} from './fold';
import type { Action, Attachment, HistoryItem, Job, JobEvent } from './types';

export interface Question {
  kind: 'question';
  key: string;
  text: string;
  attachments: readonly Attachment[];
  /** The run at work has not taken it yet. */
  isPending: boolean;
}

export interface AnswerEntry {
  kind: 'answer';
  key: string;
  job: string;
  answer: Answer;
  /** Where it is from the history: what only the log has is read once it is seen. */
  item?: HistoryItem;
  isShort: boolean;
  /** Its turn comes behind the answer that is being made. */
  isQueued: boolean;
  actions: readonly Action[];
  /** Why the exact calls cannot be shown. */
  actionsProblem: string;
  spent?: Job;
}

export type Entry = Question | AnswerEntry;

export const question = (
  key: string,
  text: string,
  attachments: readonly Attachment[] = [],
  isPending = false,
): Question => ({ kind: 'question', key, text, attachments, isPending });

/** An answer that a log will fill. */
export function emptyEntry(job: string, isQueued = false, began?: TakenMessage): AnswerEntry {
  const key = began ? `answer:${job}:${began.id}` : `answer:${job}`;
  const answer = { ...emptyAnswer, beganMs: began?.elapsedMs ?? 0 };
  const none = { isShort: false, actions: [], actionsProblem: '' };
  return { kind: 'answer', key, job, answer, isQueued, ...none };
}

function entryOf(item: HistoryItem): Entry {
  const { message_id: key, content, attachments = [], pending, webchat } = item;
  if (item.role === 'user') return question(key, content, attachments, pending);
  const job = webchat?.job_id ?? '';
  const answer = answerOfHistory(item);
  return { ...emptyEntry(job), key, answer, item, isShort: job !== '' };
}

/** What jobs that are not over show, the one at work first; the log of it brings the rest. */
export function entriesOfJobs(jobs: readonly Job[]): Entry[] {
  const atWork = jobs.find(isAlive);
  return jobs.flatMap((one) => {
    const { job_id: job, queued_message: message } = one;
    if (!isAlive(one)) return [endedEntry(one)];
    const answer = emptyEntry(job, one !== atWork);
    if (!message) return [answer];
    return [question(message.message_id, message.content, message.attachments), answer];
  });
}

/** False for a job that cannot go on, since its records are damaged. */
export const isAlive = ({ status }: Job): boolean => status !== 'error';

function endedEntry({ job_id: job, error }: Job): AnswerEntry {
  const entry = emptyEntry(job);
  return { ...entry, answer: { ...entry.answer, state: 'error', error: error ?? '' } };
}

/** The latest page of the history, with the jobs that are not over: what waits for them is behind their answers. */
export function entriesOfPage(items: readonly HistoryItem[], jobs: readonly Job[]): Entry[] {
  const active = entriesOfJobs(jobs);
  const waiting = items.filter(({ pending }) => pending);
  const others = items.filter(({ pending }) => !pending);
  return [...entriesOfHistory(others, active), ...active, ...entriesOfHistory(waiting, [])];
}

/** Items of the history that are not among the entries: what a log brings is there once. */
export function entriesOfHistory(items: readonly HistoryItem[], known: readonly Entry[]): Entry[] {
  const keys = new Set(known.map(({ key }) => key));
  const followed = new Set(
    known.flatMap((one) => (one.kind === 'answer' && !one.item ? [one.job] : [])),
  );
  return items
    .filter(({ message_id: id, webchat }) => !keys.has(id) && !followed.has(webchat?.job_id ?? ''))
    .map(entryOf);
}

const isOf = (entry: Entry, job: string): boolean => entry.kind === 'answer' && entry.job === job;

/** The answer of a job that its log goes on with. */
export function latestOf(entries: readonly Entry[], job: string): AnswerEntry | undefined {
  return entries.findLast((entry): entry is AnswerEntry => isOf(entry, job));
}

export function changed(
  entries: readonly Entry[],
  key: string | undefined,
  change: Partial<AnswerEntry>,
): Entry[] {
  return entries.map((entry) =>
    entry.kind === 'answer' && entry.key === key ? { ...entry, ...change } : entry,
  );
}

// A run takes messages in the order in which they were sent; pipelines may have changed their texts.
function withoutPending(entries: readonly Entry[], text: string): readonly Entry[] {
  const isPending = (entry: Entry): boolean => entry.kind === 'question' && entry.isPending;
  const same = entries.findIndex(
    (entry) => isPending(entry) && (entry as Question).text.trim() === text.trim(),
  );
  const at = same < 0 ? entries.findIndex(isPending) : same;
  return at < 0 ? entries : entries.toSpliced(at, 1);
}

// Puts the message behind the answer so far, and an empty answer behind it, which the rest of the log fills.
function withMessage(entries: readonly Entry[], job: string, message: TakenMessage): Entry[] {
  const others = withoutPending(entries, message.text).filter(({ key }) => key !== message.id);
  const at = others.findLastIndex((entry) => isOf(entry, job));
  const before = others[at];
  if (before?.kind !== 'answer') return [...entries];
  const answer = settled(before.answer, message.elapsedMs);
  const whole = answer.parts.length > 0 ? [{ ...before, answer, actions: [] }] : [];
  const next = emptyEntry(job, false, message);
  const asked = question(message.id, message.text, message.attachments);
  return others.toSpliced(at, 1, ...whole, asked, next);
}

/** The entries with more of the log of a job, whose answer is among them. */
export function withLog(
  entries: readonly Entry[],
  job: string,
  events: readonly JobEvent[],
): Entry[] {
  let list = [...entries];
  for (const turn of turnsOf(events)) {
    if (turn.message) list = withMessage(list, job, turn.message);
    const entry = latestOf(list, job);
    if (!entry) continue;
    list = changed(list, entry.key, { answer: foldAll(entry.answer, turn.events) });
  }
  return list;
}
