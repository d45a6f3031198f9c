// A conversation on the page: what its history and the logs of its jobs make of it, also where a run took messages
// while it worked.
import {
  type AnswerEntry,
  emptyEntry,
  entriesOfHistory,
  entriesOfJobs,
  entriesOfPage,
  type Entry,
  question,
  withLog,
} from '../../../console/src/entries';
import { answerOfLog, textOf } from '../../../console/src/fold';
import type { HistoryItem, Job, JobEvent } from '../../../console/src/types';

const at = (id: string, event: string, payload: object = {}): JobEvent => ({
  ...{ id, event, payload: payload as Record<string, unknown> },
});
const taken = (id: string, key: string, content: string, elapsed_ms: number): JobEvent =>
  at(id, 'user_message', { id: key, content, elapsed_ms });

const log = [
  at('1', 'meta'),
  at('1.1', 'reasoning_delta', { index: 0, text: 'Long.' }),
  at('1.2', 'message_delta', { index: 0, text: 'One, t' }),
  at('2', 'message', { index: 0, content: 'One, t', attachments: [] }),
  taken('3', 'msg_2', 'Shorter.', 300),
  taken('4', 'msg_3', 'And in French.', 310),
  at('4.1', 'message_delta', { index: 1, text: 'Un.' }),
  at('5', 'message', { index: 1, content: 'Un.', attachments: [] }),
  at('6', 'done', { duration_ms: 900 }),
];

const item = (key: string, role: 'user' | 'bot', content: string, ...seqs: number[]) => ({
  ...{ message_id: key, role, content },
  ...(seqs.length > 0 && {
    webchat: {
      ...{ job_id: 'j', status: 'done' as const, duration_ms: seqs[0] === 2 ? 300 : 590 },
      events: seqs.map((seq) => ({
        ...{ seq, event: 'message', payload: { content, index: seq === 2 ? 0 : 1 } },
      })),
    },
  }),
});
const items: HistoryItem[] = [
  item('msg_1', 'user', 'Count.'),
  item('msg_a', 'bot', 'One, t', 2),
  item('msg_2', 'user', 'Shorter.'),
  item('msg_3', 'user', 'And in French.'),
  item('msg_b', 'bot', 'Un.', 5),
];

const shown = (entries: readonly Entry[]): string[] =>
  entries.map((entry) => {
    if (entry.kind === 'question') return `${entry.isPending ? '(you)' : 'you'}: ${entry.text}`;
    const state = entry.isQueued ? 'queued' : entry.answer.state;
    return `${state}: ${textOf(entry.answer)}`;
  });
const whole = ['you: Count.', 'done: One, t', 'you: Shorter.', 'you: And in French.', 'done: Un.'];
const times = (entries: readonly Entry[]): (number | undefined)[] =>
  entries.flatMap((entry) => (entry.kind === 'answer' ? [entry.answer.durationMs] : []));

describe('a run that took messages', () => {
  it('has an answer before and behind them, wherever its log is cut', () => {
    for (const [place] of log.entries()) {
      const first = [question('msg_1', 'Count.'), emptyEntry('j')];
      const half = withLog(first, 'j', log.slice(0, place));
      const entries = withLog(half, 'j', log.slice(place));
      expect(shown(entries)).toEqual(whole);
      expect(times(entries)).toEqual([300, 590]);
    }
  });

  it('shows with each item of the history what belongs to it', () => {
    const entries = entriesOfHistory(items, []);
    expect(shown(entries)).toEqual(whole);
    const answers = entries.filter((one): one is AnswerEntry => one.kind === 'answer');
    const read = answers.map((one) => answerOfLog(one.item as HistoryItem, log));
    expect(read.map(({ answer }) => textOf(answer))).toEqual(['One, t', 'Un.']);
    expect(read.map(({ answer }) => answer.state)).toEqual(['done', 'done']);
    expect(read.map(({ answer }) => answer.durationMs)).toEqual([300, 590]);
    expect(read.map(({ isLast }) => isLast)).toEqual([false, true]);
    expect(read[0]?.answer.parts.map(({ kind }) => kind)).toEqual(['reasoning', 'text']);
  });

  it('has each message once where it is still at work', () => {
    const active = entriesOfJobs([{ job_id: 'j' } as Job]);
    const entries = [...entriesOfHistory(items, active), ...active];
    expect(shown(withLog(entries, 'j', log))).toEqual(whole);
    expect(entriesOfHistory(items, withLog(entries, 'j', log))).toEqual([]);
  });

  it('takes what was sent to it, and leaves what waits behind it', () => {
    const queued_message = { message_id: 'msg_9', content: 'Later.', attachments: [] };
    const jobs = [{ job_id: 'j' }, { job_id: 'k', queued_message }] as unknown as Job[];
    const sent = [
      ...[question('msg_1', 'Count.'), ...entriesOfJobs(jobs)],
      ...[question('x', 'Shorter.', [], true), question('y', 'And in French.', [], true)],
    ];
    const before = shown(withLog(sent, 'j', log.slice(0, 4)));
    expect(before.slice(1)).toEqual([
      ...['working: One, t', 'you: Later.', 'queued: '],
      ...['(you): Shorter.', '(you): And in French.'],
    ]);
    expect(shown(withLog(sent, 'j', log))).toEqual([...whole, 'you: Later.', 'queued: ']);
  });

  it('has behind its answer what the history says is on its way', () => {
    const wait = { ...item('msg_8', 'user', 'Shorter.'), pending: true } as HistoryItem;
    const first = items.slice(0, 1);
    const entries = entriesOfPage([...first, wait], [{ job_id: 'j' } as Job]);
    expect(shown(withLog(entries, 'j', log.slice(0, 4)))).toEqual([
      ...['you: Count.', 'working: One, t', '(you): Shorter.'],
    ]);
    expect(shown(withLog(entries, 'j', log))).toEqual(whole);
  });
});

describe('a job that is damaged', () => {
  it('is an error, and not what the others wait for', () => {
    const jobs = [
      { job_id: 'a', status: 'error', error: 'store_damaged: gone' },
      { job_id: 'b', status: 'running' },
      { job_id: 'c', status: 'queued' },
    ] as Job[];
    const entries = entriesOfJobs(jobs);
    expect(shown(entries)).toEqual(['error: ', 'working: ', 'queued: ']);
    expect(entries[0]).toMatchObject({ answer: { error: 'store_damaged: gone' } });
  });
});

describe('an answer that was changed', () => {
  it('keeps its text, and gets its reasoning from the log', () => {
    const changed = item('msg_a', 'bot', 'One, two.', 2) as HistoryItem;
    const { answer } = answerOfLog(changed, log);
    expect(answer.parts.map((part) => 'text' in part && part.text)).toEqual(['Long.', 'One, two.']);
  });

  it('is as the history has it where the log lost it', () => {
    const { answer } = answerOfLog(items[1] as HistoryItem, log.slice(4));
    expect(textOf(answer)).toBe('One, t');
  });
});
