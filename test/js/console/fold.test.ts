// The page's answer, folded from the log of a job: as it comes, and cut at every place.
import {
  type Answer,
  answerOfHistory,
  type CallPart,
  emptyAnswer,
  fold,
  foldAll,
  partsOf,
  textOf,
} from '../../../console/src/fold';
import type { HistoryItem, JobEvent } from '../../../console/src/types';

let last = 0;
const at = (event: string, payload: object = {}): JobEvent => ({
  ...{ id: String(++last), event, payload: payload as Record<string, unknown> },
});
const model = (step: number) =>
  at('stage', { stage: 'waiting_model', detail: `iteration=${step}` });
const call = (id: string, more: object = {}) => ({ webchat_call_id: id, name: 'find', ...more });

const wholeLog = (): JobEvent[] => [
  at('meta'),
  model(1),
  at('reasoning_delta', { index: 0, text: 'The user ' }),
  at('reasoning_delta', { index: 0, text: 'asks.' }),
  at('message_delta', { index: 0, text: 'Let me ' }),
  at('message_delta', { index: 0, text: 'see.' }),
  at('tool_arguments_delta', { call_id: 'c1', name: 'find', text: '{"what":' }),
  at('message', { index: 0, content: 'Let me see.', attachments: [] }),
  at('tool_start', call('c1', { arguments_preview: '{"what":"it"}' })),
  at('tool_end', call('c1', { status: 'done', result_preview: 'found', duration_ms: 7 })),
  model(2),
  at('message_delta', { index: 1, text: 'Here it is.' }),
  at('message', { index: 1, content: 'Here it is.', attachments: [] }),
  at('done', { duration_ms: 40 }),
];

const shown = (answer: Answer): string[] =>
  answer.parts.map((part) => (part.kind === 'call' ? `${part.name}:${part.state}` : part.text));

describe('an answer', () => {
  it('has its parts in the order in which they began', () => {
    const answer = foldAll(emptyAnswer, wholeLog());
    expect(shown(answer)).toEqual(['The user asks.', 'Let me see.', 'find:done', 'Here it is.']);
    expect(answer).toMatchObject({ state: 'done', durationMs: 40, isWaiting: false });
    expect(answer.parts[2]).toMatchObject({
      args: '{"what":"it"}',
      result: 'found',
      durationMs: 7,
    });
    expect(textOf(answer)).toBe('Let me see.\n\nHere it is.');
  });

  it('shows a call that the user rejected as no failure', () => {
    const rejected = { status: 'error', ok: false, rejected: true };
    const answer = foldAll(emptyAnswer, [
      ...wholeLog().slice(0, 9),
      at('tool_end', call('c1', { ...rejected, result_preview: 'No.' })),
    ]);
    expect(shown(answer).at(-1)).toBe('find:refused');
  });

  it('is the same wherever its reader was cut', () => {
    const log = wholeLog();
    const whole = foldAll(emptyAnswer, log);
    for (const [place] of log.entries()) {
      const first = foldAll(emptyAnswer, log.slice(0, place + 1));
      expect(first.cursor).toBe(log[place]?.id);
      expect(foldAll(first, log.slice(place + 1))).toEqual(whole);
    }
  });

  it('drops what a step wrote that begins again', () => {
    const log = [
      model(1),
      at('reasoning_delta', { index: 0, text: 'First try' }),
      at('message_delta', { index: 0, text: 'Half a sen' }),
      at('tool_arguments_delta', { call_id: 'c1', name: 'find', text: '{"wh' }),
      at('message_reset', { index: 0 }),
      model(1),
      at('reasoning_delta', { index: 1, text: 'Second try' }),
      at('message_delta', { index: 1, text: 'A sentence.' }),
    ];
    expect(shown(foldAll(emptyAnswer, log))).toEqual(['Second try', 'A sentence.']);
  });

  it('keeps the steps before one that begins again', () => {
    const log = wholeLog().slice(0, 11);
    const again = [
      at('reasoning_delta', { index: 1, text: 'Half' }),
      model(2),
      at('message_delta', { index: 1, text: 'Done.' }),
    ];
    expect(shown(foldAll(emptyAnswer, [...log, ...again]))).toEqual([
      ...['The user asks.', 'Let me see.', 'find:done', 'Done.'],
    ]);
  });

  it('takes a stage that is shown again for what it is', () => {
    const log = [model(1), at('reasoning_delta', { index: 0, text: 'One' })];
    const same = { stage: 'waiting_model', detail: 'iteration=1', transient: true };
    expect(shown(foldAll(emptyAnswer, [...log, at('stage', same)]))).toEqual(['One']);
  });

  it('waits for the user until something goes on', () => {
    const waiting = foldAll(emptyAnswer, [model(1), at('requires_action', { action_id: 'a' })]);
    expect(waiting).toMatchObject({ isWaiting: true, actionMark: 1 });
    const still = fold(waiting, at('stage', { stage: 'sending_message', transient: true }));
    expect(still).toMatchObject({ isWaiting: true, actionMark: 1 });
    // Whether it still waits is what the server knows; it has to be read again.
    expect(fold(still, at('tool_start', call('c1')))).toMatchObject({ actionMark: 2 });
    expect(fold(still, at('done'))).toMatchObject({ isWaiting: false, state: 'done' });
  });

  it.each([
    ['cancelled', 'cancelled', ''],
    ['The model is away.', 'error', 'The model is away.'],
  ])('ends with its calls: %s', (error, state, reason) => {
    const log = [model(1), at('tool_start', call('c1')), at('error', { error, duration_ms: 3 })];
    const answer = foldAll(emptyAnswer, log);
    expect(answer).toMatchObject({ state, error: reason, durationMs: 3 });
    expect((answer.parts[0] as CallPart).state).toBe(state);
  });

  it('shows the calls of an agent within its own', () => {
    const log = [
      at('agent_start', call('a1', { name: 'helper', is_agent: true })),
      at('tool_start', call('a1/c1', { parent_webchat_call_id: 'a1' })),
      at('tool_start', call('lost', { parent_webchat_call_id: 'not here' })),
      at('agent_stage', call('a1', { stage: 'waiting_tools' })),
    ];
    const answer = foldAll(emptyAnswer, log);
    const keys = (parent: string) => partsOf(answer, parent).map((part) => part.key);
    expect(keys('')).toEqual(['call:a1', 'call:lost']);
    expect(keys('a1')).toEqual(['call:a1/c1']);
    expect(answer.parts[0]).toMatchObject({ isAgent: true, stage: 'waiting_tools' });
  });

  it('passes over events that it does not know', () => {
    expect(fold(emptyAnswer, at('newer', { index: 0 })).parts).toEqual([]);
  });
});

describe('an answer of the history', () => {
  const item = (more: Partial<HistoryItem>): HistoryItem => ({
    ...{ message_id: 'm', role: 'bot', content: 'Hello.', ...more },
  });
  const block = (status: 'done' | 'error' | 'running', events: JobEvent[]) => ({
    ...{ job_id: 'j', status, duration_ms: 5 },
    events: events.map(({ id, event, payload }) => ({ seq: Number(id), event, payload })),
  });

  it('has the calls and texts of its job', () => {
    const log = wholeLog().filter(({ event }) => /^(message|tool_start|tool_end)$/.test(event));
    const answer = answerOfHistory(item({ webchat: block('done', log) }));
    expect(shown(answer)).toEqual(['Let me see.', 'find:done', 'Here it is.']);
    expect(answer).toMatchObject({ state: 'done', durationMs: 5, isWaiting: false });
  });

  it('has its text where nothing is known of a job', () => {
    expect(shown(answerOfHistory(item({})))).toEqual(['Hello.']);
    expect(shown(answerOfHistory(item({ webchat: block('error', []) })))).toEqual(['Hello.']);
  });
});
