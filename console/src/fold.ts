// An answer as the page shows it, folded from the log of its job. Nothing here touches the page.
import type { Attachment, HistoryItem, JobEvent } from './types';

export interface TextPart {
  kind: 'text';
  key: string;
  text: string;
  attachments: Attachment[];
  parent: string;
}

export interface ReasoningPart {
  kind: 'reasoning';
  key: string;
  text: string;
  parent: string;
}

export type CallState = 'writing' | 'running' | 'done' | 'error' | 'cancelled' | 'refused';

export interface CallPart {
  kind: 'call';
  key: string;
  parent: string;
  name: string;
  isAgent: boolean;
  args: string;
  result: string;
  state: CallState;
  durationMs?: number;
  /** What an agent is doing. */
  stage?: string;
}

export type Part = TextPart | ReasoningPart | CallPart;

export type AnswerState = 'working' | 'done' | 'error' | 'cancelled';

export interface Answer {
  parts: readonly Part[];
  state: AnswerState;
  stage: string;
  error: string;
  durationMs?: number;
  /** The place in the log behind which a reader goes on. */
  cursor: string;
  /** Changes where what the job waits for may have changed. */
  actionMark: number;
  isWaiting: boolean;
  /** Step of the model, and how many parts there were when it began. */
  step: string;
  stepBegan: number;
  /** What of the job's time was over before. */
  beganMs: number;
}

export const emptyAnswer: Answer = {
  parts: [],
  state: 'working',
  stage: '',
  error: '',
  cursor: '',
  actionMark: 0,
  isWaiting: false,
  step: '',
  stepBegan: 0,
  beganMs: 0,
};

type Payload = Record<string, unknown>;
type HistoryEvents = NonNullable<HistoryItem['webchat']>['events'];

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const keyOf = (kind: string, index: unknown): string => `${kind}:${String(index)}`;

/** Parts with the one of this key changed, or with a new one at the end. */
function withPart<P extends Part>(
  answer: Answer,
  key: string,
  make: () => P,
  change: (part: P) => P,
): Answer {
  const at = answer.parts.findIndex((part) => part.key === key);
  const part = change(at < 0 ? make() : (answer.parts[at] as P));
  const parts = at < 0 ? [...answer.parts, part] : answer.parts.with(at, part);
  return { ...answer, parts };
}

const newText = (key: string, parent: string): TextPart => ({
  ...{ kind: 'text', key, text: '', attachments: [], parent },
});

function onMessageDelta(answer: Answer, payload: Payload): Answer {
  const key = keyOf('text', payload['index']);
  return withPart(
    answer,
    key,
    () => newText(key, ''),
    (part) => ({ ...part, text: part.text + text(payload['text']) }),
  );
}

// The whole text counts more than its deltas: media in it became attachments.
function onMessage(answer: Answer, payload: Payload): Answer {
  const key = keyOf('text', payload['index']);
  const attachments = (payload['attachments'] ?? []) as Attachment[];
  const parent = text(payload['parent_webchat_call_id']);
  return withPart(
    answer,
    key,
    () => newText(key, parent),
    (part) => ({ ...part, text: text(payload['content']), attachments, parent }),
  );
}

function onMessageReset(answer: Answer, payload: Payload): Answer {
  const key = keyOf('text', payload['index']);
  return { ...answer, parts: answer.parts.filter((part) => part.key !== key) };
}

function onReasoningDelta(answer: Answer, payload: Payload): Answer {
  const key = keyOf('reasoning', payload['index']);
  return withPart<ReasoningPart>(
    answer,
    key,
    () => ({ kind: 'reasoning', key, text: '', parent: text(payload['call_id']) }),
    (part) => ({ ...part, text: part.text + text(payload['text']) }),
  );
}

const newCall = (key: string, payload: Payload): CallPart => ({
  ...{ kind: 'call', key, isAgent: false, args: '', result: '', state: 'writing' },
  parent: text(payload['parent_webchat_call_id']),
  name: text(payload['name']),
});

function onArguments(answer: Answer, payload: Payload): Answer {
  const key = keyOf('call', payload['call_id']);
  return withPart(
    answer,
    key,
    () => newCall(key, payload),
    (part) => ({ ...part, args: part.args + text(payload['text']) }),
  );
}

function onCallStart(answer: Answer, payload: Payload): Answer {
  const key = keyOf('call', payload['webchat_call_id']);
  return withPart(
    answer,
    key,
    () => newCall(key, payload),
    (part) => ({
      ...part,
      name: text(payload['name']) || part.name,
      parent: text(payload['parent_webchat_call_id']),
      isAgent: payload['is_agent'] === true,
      args: text(payload['arguments_preview']) || part.args,
      state: 'running',
    }),
  );
}

function onCallEnd(answer: Answer, payload: Payload): Answer {
  const key = keyOf('call', payload['webchat_call_id']);
  const status = text(payload['status']);
  const ending = status === 'done' || status === 'cancelled' ? status : 'error';
  const state = payload['rejected'] === true ? 'refused' : ending;
  const duration = payload['duration_ms'];
  return withPart(
    answer,
    key,
    () => newCall(key, payload),
    (part) => ({
      ...part,
      isAgent: payload['is_agent'] === true,
      result: text(payload['result_preview']),
      state,
      ...(typeof duration === 'number' && { durationMs: duration }),
    }),
  );
}

function onAgentStage(answer: Answer, payload: Payload): Answer {
  const key = keyOf('call', payload['webchat_call_id']);
  return withPart(
    answer,
    key,
    () => ({ ...newCall(key, payload), isAgent: true, state: 'running' }),
    (part) => ({ ...part, stage: text(payload['stage']) }),
  );
}

// A step that begins again, after a crash or a failure, brings its reasoning and its calls again.
function onStage(answer: Answer, payload: Payload): Answer {
  const stage = text(payload['stage']);
  if (payload['transient'] === true) return { ...answer, stage };
  if (stage !== 'waiting_model') return { ...answer, stage };
  const step = text(payload['detail']);
  const isAgain = step === answer.step;
  const from = Math.min(answer.stepBegan, answer.parts.length);
  const isKept = (part: Part, at: number): boolean =>
    at < from || part.kind === 'text' || (part.kind === 'call' && part.state !== 'writing');
  const parts = isAgain ? answer.parts.filter(isKept) : answer.parts;
  return { ...answer, stage, parts, step, stepBegan: isAgain ? from : parts.length };
}

function onAction(answer: Answer): Answer {
  return { ...answer, isWaiting: true, actionMark: answer.actionMark + 1 };
}

// Calls without a result end with their answer.
function ended(answer: Answer, state: AnswerState, payload: Payload): Answer {
  const callState = state === 'done' ? 'done' : state === 'cancelled' ? 'cancelled' : 'error';
  const parts = answer.parts.map((part) =>
    part.kind === 'call' && (part.state === 'running' || part.state === 'writing')
      ? { ...part, state: callState as CallState }
      : part,
  );
  const duration = payload['duration_ms'];
  const times = typeof duration === 'number' ? { durationMs: duration - answer.beganMs } : {};
  return { ...answer, parts, state, isWaiting: false, ...times };
}

/** An answer behind which its run took a message, so long after the job began. */
export function settled(answer: Answer, elapsedMs: number): Answer {
  return ended(answer, 'done', { duration_ms: elapsedMs });
}

function onError(answer: Answer, payload: Payload): Answer {
  const error = text(payload['error']);
  if (error === 'cancelled') return ended(answer, 'cancelled', payload);
  return { ...ended(answer, 'error', payload), error };
}

const rows: Record<string, (answer: Answer, payload: Payload) => Answer> = {
  message_delta: onMessageDelta,
  message: onMessage,
  message_reset: onMessageReset,
  reasoning_delta: onReasoningDelta,
  tool_arguments_delta: onArguments,
  tool_start: onCallStart,
  agent_start: onCallStart,
  tool_end: onCallEnd,
  agent_end: onCallEnd,
  agent_stage: onAgentStage,
  stage: onStage,
  requires_action: onAction,
  done: (answer, payload) => ended(answer, 'done', payload),
  error: onError,
};

// Events that a job which waits for the user does not have: what it waited for was decided.
function mayEndWaiting({ event, payload }: JobEvent): boolean {
  return event !== 'requires_action' && payload['transient'] !== true;
}

/** The answer with one more event of its log. */
export function fold(answer: Answer, event: JobEvent): Answer {
  const changed = rows[event.event]?.(answer, event.payload) ?? answer;
  const isDecided = changed.isWaiting && mayEndWaiting(event);
  const actionMark = changed.actionMark + Number(isDecided);
  return { ...changed, actionMark, cursor: event.id || changed.cursor };
}

export function foldAll(answer: Answer, events: readonly JobEvent[]): Answer {
  return events.reduce(fold, answer);
}

export function isLast({ event }: JobEvent): boolean {
  return event === 'done' || event === 'error';
}

/** A message that a run took while it worked. */
export interface TakenMessage {
  id: string;
  text: string;
  attachments: readonly Attachment[];
  /** Since the job began. */
  elapsedMs: number;
}

/** A part of a job's log. */
export interface Turn {
  /** That begins it, but for the first one. */
  message?: TakenMessage;
  events: JobEvent[];
}

/** The parts of a log, which messages that the run took begin. */
export function turnsOf(events: readonly JobEvent[]): Turn[] {
  let turn: Turn = { events: [] };
  const turns = [turn];
  for (const event of events) {
    if (event.event === 'user_message') {
      const { id, content, attachments, elapsed_ms: elapsed } = event.payload;
      const elapsedMs = typeof elapsed === 'number' ? elapsed : 0;
      const given = Array.isArray(attachments) ? (attachments as Attachment[]) : [];
      const message = { id: text(id), text: text(content), attachments: given, elapsedMs };
      turn = { message, events: [] };
      turns.push(turn);
    }
    turn.events.push(event);
  }
  return turns;
}

/** The answer that the history has: without reasoning, which only the log has. */
export function answerOfHistory({ content, attachments = [], webchat }: HistoryItem): Answer {
  const events = (webchat?.events ?? []).map(({ seq, event, payload }) => ({
    ...{ id: String(seq), event, payload },
  }));
  const folded = foldAll(emptyAnswer, events);
  const hasText = folded.parts.some((part) => part.kind === 'text');
  const whole = { ...newText('text:history', ''), text: content, attachments };
  const parts = hasText || content === '' ? folded.parts : [...folded.parts, whole];
  const duration = webchat?.duration_ms;
  const answer = ended({ ...folded, parts }, stateOf(webchat), { duration_ms: duration });
  return { ...answer, cursor: '' };
}

function stateOf(webchat: HistoryItem['webchat']): AnswerState {
  const status = webchat?.status ?? 'done';
  return status === 'queued' || status === 'running' ? 'done' : status;
}

// What the history has of a log counts more: texts may have been changed since, or removed.
function asStored(events: readonly JobEvent[], stored: HistoryEvents): JobEvent[] {
  const payloads = new Map(stored.map(({ seq, payload }) => [String(seq), payload]));
  const first = stored[0]?.seq ?? 0;
  const isGone = ({ id, event }: JobEvent): boolean =>
    event === 'message' && Number(id) >= first && !payloads.has(id);
  const gone = new Set(events.filter(isGone).map(({ payload }) => payload['index']));
  return events
    .filter(({ event, payload }) => !event.startsWith('message') || !gone.has(payload['index']))
    .map((one) =>
      one.event === 'message' ? { ...one, payload: payloads.get(one.id) ?? one.payload } : one,
    );
}

/**
 * The answer of an item with what only the log has, which is that of its whole job. `isLast` is that nothing of
 * the job follows.
 */
export function answerOfLog(
  item: HistoryItem,
  log: readonly JobEvent[],
): { answer: Answer; isLast: boolean } {
  const { webchat } = item;
  const stored = webchat?.events ?? [];
  const places = new Set(stored.map(({ seq }) => String(seq)));
  const turns = turnsOf(log).filter(({ events }) => events.some(({ id }) => places.has(id)));
  const events = turns.flatMap((turn) => turn.events);
  const isWhole = events.some(isLast);
  // Old logs lose their beginning.
  if (events.length === 0) return { answer: answerOfHistory(item), isLast: isWhole };
  const beganMs = turns[0]?.message?.elapsedMs ?? 0;
  const folded = foldAll({ ...emptyAnswer, beganMs }, asStored(events, stored));
  if (isWhole) return { answer: folded, isLast: isWhole };
  const duration = beganMs + (webchat?.duration_ms ?? 0);
  return { answer: ended(folded, stateOf(webchat), { duration_ms: duration }), isLast: false };
}

/** The parts of an agent's call, or those of the answer itself (`''`). */
export function partsOf(answer: Answer, parent: string): readonly Part[] {
  const calls = new Set(answer.parts.flatMap((part) => (part.kind === 'call' ? [part.key] : [])));
  // What belongs to a call that is not here is shown at the top.
  const placeOf = (part: Part): string => {
    const key = `call:${part.parent}`;
    return part.parent !== '' && calls.has(key) && key !== part.key ? part.parent : '';
  };
  return answer.parts.filter((part) => placeOf(part) === parent);
}

/** The texts of an answer, for the clipboard. */
export function textOf(answer: Answer): string {
  const texts = answer.parts.flatMap((part) =>
    part.kind === 'text' && part.parent === '' ? [part.text.trim()] : [],
  );
  return texts.filter((one) => one !== '').join('\n\n');
}
