// foldEvents of pages: what a chat looks like after the events. The engine's fold (lib/message/fold.cpp) decides; a test
// gives the same events to both.
import type { AGUIEvent } from '../../types/events';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { isRecord } from '../plain-values';
import { randomId } from '../random-id';
import { patched } from './json-patch';
import type { Call, Entity, Json, Row } from './messages';
import {
  gather,
  merge,
  newCall,
  newEntity,
  newRow,
  objectOf,
  readRows,
  shown,
  stateOf,
  textOf,
} from './messages';

/**
 * The messages that an AG-UI client builds from these events, and the provider state that the next
 * request needs: at once for an array or another iterable, as a promise for a stream, which rejects
 * with what the stream throws.
 */
export function foldEvents(events: Iterable<AGUIEvent>): Message[];
export function foldEvents(events: AsyncIterable<AGUIEvent>): Promise<Message[]>;
export function foldEvents(
  events: AsyncIterable<AGUIEvent> | Iterable<AGUIEvent>,
): Message[] | Promise<Message[]> {
  const folder = new Folder();
  const given = Object(events) as object;
  if (Symbol.asyncIterator in given) return foldStream(folder, given as AsyncIterable<AGUIEvent>);
  if (typeof events !== 'object' || !(Symbol.iterator in given)) {
    throw new MillraceError('invalid_argument', 'foldEvents() takes an iterable of events.');
  }
  for (const event of events as Iterable<AGUIEvent>) folder.feed(event);
  return folder.messages();
}

async function foldStream(folder: Folder, events: AsyncIterable<AGUIEvent>): Promise<Message[]> {
  for await (const event of events) folder.feed(event);
  return folder.messages();
}

type Handler = (event: Json) => void;

const pieces = /^(TEXT|REASONING)_MESSAGE_(START|CONTENT|END|CHUNK)$/;
const speakers = ['assistant', 'user', 'system', 'developer'];

class Folder {
  #rows: Row[] = [];
  // All but reasoning, whose ids are a world of their own.
  readonly #messages = new Map<unknown, Row>();
  readonly #reasoning = new Map<unknown, Row>();
  readonly #calls = new Map<unknown, { owner: Row; call: Call }>();
  readonly #results = new Map<unknown, Row>();
  // What is known of messages and calls that have not begun.
  readonly #waiting = new Map<string, Entity>();
  readonly #chunks = new Map<string, string>();
  // Added since the step began.
  #step: Row[] = [];
  #thinkingId = '';

  feed(event: unknown): void {
    if (!isRecord(event)) return;
    const type = textOf(event['type']);
    const [, kind, piece] = pieces.exec(type) ?? [];
    if (kind) this.#onPiece(kind === 'TEXT', piece, event);
    else if (Object.hasOwn(this.#handlers, type)) this.#handlers[type]?.(event);
  }

  readonly #handlers: Readonly<Record<string, Handler>> = {
    THINKING_TEXT_MESSAGE_START: () => void (this.#thinkingId = ''),
    THINKING_TEXT_MESSAGE_END: () => void (this.#thinkingId = ''),
    THINKING_TEXT_MESSAGE_CONTENT: (event) => {
      this.#thinkingId ||= randomId();
      append(this.#thought(this.#thinkingId, event), event);
    },
    REASONING_ENCRYPTED_VALUE: (event) => this.#onEncrypted(event),
    TOOL_CALL_START: (event) => void this.#startCall(textOf(event['toolCallId']), event),
    TOOL_CALL_ARGS: (event) => this.#onArguments(this.#callOf(event['toolCallId']), event),
    TOOL_CALL_END: (event) => merge(this.#callOf(event['toolCallId']), event['metadata']),
    TOOL_CALL_CHUNK: (event) => {
      const id = this.#chunkId(event, 'toolCallId');
      if (id) this.#startCall(id, event).function.arguments += textOf(event['delta']);
    },
    TOOL_CALL_RESULT: (event) => this.#onResult(event),
    ACTIVITY_SNAPSHOT: (event) => this.#onActivity(event),
    ACTIVITY_DELTA: (event) => {
      const row = this.#messages.get(textOf(event['messageId']));
      if (row?.role !== 'activity') return;
      const content = patched(row.content, event['patch']);
      if (content !== undefined) this.#setActivity(row, content, event);
    },
    MESSAGES_SNAPSHOT: (event) => this.#onSnapshot(event['messages']),
    RUN_STARTED: (event) => {
      for (const row of readRows(objectOf(event['input'])['messages'])) {
        if (!this.#byRole(row.role).has(row.id)) this.#add(row);
      }
      this.#step = [];
    },
    STEP_STARTED: () => void (this.#step = []),
    CUSTOM: ({ name, value }) => this.#onCustom(name, objectOf(value)),
  };

  // Called once, at the end.
  messages(): Message[] {
    const rows = this.#rows;
    const rest = [...this.#waiting].sort(([a], [b]) => (bytesOf(a) < bytesOf(b) ? -1 : 1));
    const opaque = rest.find(([id, { metadata }]) => id && metadata.states.length > 0);
    const last = rows.findLast(({ role }) => role === 'user' || role === 'assistant');
    // An answer that has nothing but such things is a message of its own, lest it seem to be part of the one before the
    // question.
    if (opaque && last?.role !== 'assistant') rows.push(newRow('assistant', opaque[0]));
    const answer = rows.findLast(({ role }) => role === 'assistant');
    if (answer) rest.forEach(([, early]) => gather(answer, early));
    return rows.map(shown);
  }

  // --- places

  #byRole(role: string): Map<unknown, Row> {
    return role === 'reasoning' ? this.#reasoning : this.#messages;
  }

  #add(row: Row, at = this.#rows.length): Row {
    this.#rows.splice(at, 0, row);
    this.#index(row);
    this.#step.push(row);
    this.#settle(row.id, row);
    return row;
  }

  #index(row: Row): void {
    setNew(this.#byRole(row.role), row.id, row);
    for (const call of row.toolCalls) setNew(this.#calls, call.id, { owner: row, call });
    if (row.role === 'tool') setNew(this.#results, row.toolCallId, row);
  }

  #indexAll(): void {
    for (const map of [this.#messages, this.#reasoning, this.#calls, this.#results]) map.clear();
    this.#rows.forEach((row) => this.#index(row));
  }

  // Gives a message or call that begins what came before it.
  #settle(id: string, to: Entity): void {
    const early = this.#waiting.get(id);
    if (!early) return;
    gather(to, early);
    to.encryptedValue = early.encryptedValue ?? to.encryptedValue;
    this.#waiting.delete(id);
  }

  #begin(role: string, id: string, event: Json): Row {
    const row = newRow(role, id);
    row.subagentRunId = textOf(event['subagentRunId']) || undefined;
    return this.#add(row);
  }

  // --- texts

  // One of the events of a text or of reasoning.
  #onPiece(isText: boolean, piece: string | undefined, event: Json): void {
    const isChunk = piece === 'CHUNK';
    const id = isChunk ? this.#chunkId(event, 'messageId') : textOf(event['messageId']);
    if (isChunk && !id) return;
    const isEnd = piece === 'END';
    const known = this.#byRole(isText ? '' : 'reasoning').get(id);
    const row = isEnd
      ? known
      : (known ?? (isText ? this.#text(id, event) : this.#thought(id, event)));
    if (row && !isEnd && piece !== 'START') append(row, event);
    merge(row, event['metadata']);
  }

  #text(id: string, event: Json): Row {
    const role = textOf(event['role']);
    const row = this.#begin(speakers.includes(role) ? role : 'assistant', id, event);
    row.content = '';
    row.name = textOf(event['name']) || undefined;
    return row;
  }

  #thought(id: string, event: Json): Row {
    const known = this.#reasoning.get(id);
    if (known) return known;
    const row = this.#begin('reasoning', id, event);
    row.content = '';
    return row;
  }

  // The id of a chunk: its own, or that of the chunk before it in its lane.
  #chunkId(event: Json, member: string): string {
    const lane = `${textOf(event['type'])} ${textOf(event['subagentRunId'])}`;
    const id = textOf(event[member]) || (this.#chunks.get(lane) ?? '');
    this.#chunks.set(lane, id);
    return id;
  }

  #onEncrypted(event: Json): void {
    const id = textOf(event['entityId']);
    const entity =
      event['subtype'] === 'tool-call'
        ? (this.#callOf(id) ?? this.#waitingFor(id))
        : // Reasoning may have a value and no text.
          ((this.#reasoning.has(id) ? undefined : this.#messages.get(id)) ??
          this.#thought(id, event));
    entity.encryptedValue = textOf(event['encryptedValue']);
  }

  // --- tool calls

  #callOf(id: unknown): Call | undefined {
    return this.#calls.get(textOf(id))?.call;
  }

  // The assistant message named as parent, or one whose id is the call's.
  #ownerOf(callId: string, event: Json): Row {
    for (const id of [textOf(event['parentMessageId']), callId]) {
      const known = this.#messages.get(id);
      if (id && !known) return this.#begin('assistant', id, event);
      if (id && known?.role === 'assistant') return known;
    }
    return this.#begin('assistant', callId, event);
  }

  #startCall(id: string, event: Json): Call {
    let call = this.#callOf(id);
    if (!call) {
      const owner = this.#ownerOf(id, event);
      call = newCall(id);
      owner.toolCalls.push(call);
      setNew(this.#calls, id, { owner, call });
      this.#settle(id, call);
    }
    call.function.name = textOf(event['toolCallName']) || call.function.name;
    merge(call, event['metadata']);
    return call;
  }

  #onArguments(call: Call | undefined, event: Json): void {
    if (call) call.function.arguments += textOf(event['delta']);
    merge(call, event['metadata']);
  }

  #onResult(event: Json): void {
    const callId = textOf(event['toolCallId']);
    let row = this.#results.get(callId);
    if (!row) {
      row = newRow('tool', textOf(event['messageId']));
      row.toolCallId = callId;
      this.#add(row, this.#placeOfResult(callId));
    }
    const { content, error, isError } = event;
    const parts = Array.isArray(content) && content;
    row.content = parts || textOf(content);
    row.error = textOf(error) || undefined;
    if (isError === true) row.error ??= parts ? JSON.stringify(parts) : textOf(content);
    row.subagentRunId = textOf(event['subagentRunId']) || row.subagentRunId;
    merge(row, event['metadata']);
  }

  // Behind the message that holds the call and its other results, else the end.
  #placeOfResult(callId: string): number {
    const rows = this.#rows;
    const owner = this.#calls.get(callId)?.owner;
    if (!owner) return rows.length;
    const isOther = ({ role, toolCallId }: Row): boolean =>
      role !== 'tool' || this.#calls.get(toolCallId)?.owner !== owner;
    const begin = rows.lastIndexOf(owner) + 1;
    const end = rows.slice(begin).findIndex(isOther);
    return end === -1 ? rows.length : begin + end;
  }

  // --- activities

  #onActivity(event: Json): void {
    const id = textOf(event['messageId']);
    const known = this.#messages.get(id);
    const { content } = event;
    if (!isRecord(content)) return;
    if (known && (known.role !== 'activity' || event['replace'] === false)) return;
    this.#setActivity(known ?? this.#begin('activity', id, event), content, event);
  }

  #setActivity(row: Row, content: unknown, event: Json): void {
    row.content = content;
    row.activityType = textOf(event['activityType']);
    merge(row, event['metadata']);
  }

  // --- the whole conversation

  #onSnapshot(messages: unknown): void {
    if (!Array.isArray(messages)) return;
    const rows = readRows(messages);
    const fresh = new Map(rows.map((row) => [row.id, row]));
    const before = this.#rows;
    this.#rows = [];
    for (const row of before) {
      const next = fresh.get(row.id);
      if (next) {
        carry(next, row);
        this.#add(next);
        fresh.delete(row.id);
      } else if (isBesides(row) && !rows.some(({ role }) => role === row.role)) {
        this.#rows.push(row);
      }
    }
    fresh.forEach((row) => this.#add(row));
    this.#step = [];
    this.#indexAll();
  }

  // --- events of this package

  #onCustom(name: unknown, value: Json): void {
    const { state, citation, messageIds } = value;
    if (name === 'millrace.provider_state' && isThere(state)) {
      this.#entityOf(textOf(value['entityId'])).metadata.states.push(stateOf(value));
    } else if (name === 'millrace.citation' && isThere(citation)) {
      this.#entityOf(textOf(value['messageId'])).metadata.citations.push(citation);
    } else if (name === 'millrace.reset') {
      this.#onReset(messageIds);
    }
  }

  // The messages named, or all since the step began, are void and come again.
  #onReset(ids: unknown): void {
    const isVoid = (row: Row): boolean => !Array.isArray(ids) || ids.map(textOf).includes(row.id);
    const gone = this.#step.filter(isVoid);
    const stays = (row: Row): boolean => !gone.includes(row);
    this.#step = this.#step.filter(stays);
    this.#rows = this.#rows.filter(stays);
    this.#waiting.clear();
    this.#chunks.clear();
    this.#indexAll();
  }

  #waitingFor(id: string): Entity {
    const waiting = this.#waiting.get(id) ?? newEntity();
    this.#waiting.set(id, waiting);
    return waiting;
  }

  // The call, message or reasoning of this id; without an id, the latest answer. What comes before its entity waits for
  // it.
  #entityOf(id: string): Entity {
    const last = this.#rows.at(-1);
    if (!id && (last?.role === 'assistant' || last?.role === 'reasoning')) return last;
    const [call, ...rows] = [this.#callOf(id), this.#messages, this.#reasoning, this.#results];
    return call ?? rows.map((map) => map.get(id)).find(isThere) ?? this.#waitingFor(id);
  }
}

const isThere = <T>(value: T): value is NonNullable<T> => value !== undefined && value !== null;

// Snapshots need not hold what clients keep beside the conversation.
const isBesides = ({ role }: Row): boolean => role === 'reasoning' || role === 'activity';

function setNew<T>(map: Map<unknown, T>, key: unknown, value: T): void {
  if (!map.has(key)) map.set(key, value);
}

// Content that is no text keeps what it is.
function append(row: Row, { delta }: Json): void {
  if (typeof (row.content ?? '') === 'string' && typeof delta === 'string') {
    row.content = `${(row.content ?? '') as string}${delta}`;
  }
}

// Keeps what the next turn needs when a snapshot, which may not know it, replaces a message or call.
function carry(to: Entity & { toolCalls?: Call[] }, from: Entity & { toolCalls?: Call[] }): void {
  if (to.metadata.states.length === 0) to.metadata.states = from.metadata.states;
  if (to.metadata.citations.length === 0) to.metadata.citations = from.metadata.citations;
  to.encryptedValue ??= from.encryptedValue;
  for (const call of to.toolCalls ?? []) {
    const before = from.toolCalls?.find(({ id }) => id === call.id);
    if (before) carry(call, before);
  }
}

// As text whose order is that of the engine's index.
const bytesOf = (id: string): string => String.fromCharCode(...new TextEncoder().encode(id));
