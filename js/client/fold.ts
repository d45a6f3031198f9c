// foldEvents of pages: what a chat looks like after the events. The engine's fold (lib/message/fold.cpp) decides; a test
// gives the same events to both.
import type { AGUIEvent } from '../../types/events';
import type { Message } from '../../types/messages';
import { MillraceError } from '../errors';
import { randomId } from '../random-id';
import { patched } from './json-patch';
import type { Call, Json } from './messages';
import { Metadata, Row, isObject, listOf, newCall, readRow, textOf } from './messages';

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
  if (typeof events === 'object' && events !== null) {
    if (Symbol.asyncIterator in events) return foldStream(events);
    if (Symbol.iterator in events) {
      const folder = new Folder();
      for (const event of events) folder.feed(event);
      return folder.messages();
    }
  }
  throw new MillraceError('invalid_argument', 'foldEvents() takes an iterable of events.');
}

async function foldStream(events: AsyncIterable<AGUIEvent>): Promise<Message[]> {
  const folder = new Folder();
  for await (const event of events) folder.feed(event);
  return folder.messages();
}

// What is known of a message or call that has not begun.
interface Waiting {
  metadata: Metadata;
  encryptedValue?: string | undefined;
}

type Handler = (event: Json) => void;

const speakers = ['assistant', 'user', 'system', 'developer'];

class Folder {
  #rows: Row[] = [];
  // All but reasoning, whose ids are a world of their own.
  readonly #messages = new Map<string, Row>();
  readonly #reasoning = new Map<string, Row>();
  readonly #calls = new Map<string, { owner: Row; call: Call }>();
  readonly #results = new Map<string, Row>();
  readonly #waiting = new Map<string, Waiting>();
  readonly #chunks = new Map<string, string>();
  // Added since the step began.
  #step: Row[] = [];
  #thinkingId = '';
  readonly #handlers: Readonly<Record<string, Handler>> = this.#table();

  feed(event: unknown): void {
    if (!isObject(event)) return;
    const type = textOf(event['type']);
    if (Object.hasOwn(this.#handlers, type)) this.#handlers[type]?.(event);
  }

  #table(): Record<string, Handler> {
    const endThought = (): void => void (this.#thinkingId = '');
    return {
      TEXT_MESSAGE_START: (event) =>
        this.#say(this.#text(textOf(event['messageId']), event), event),
      TEXT_MESSAGE_CONTENT: (event) =>
        this.#say(this.#text(textOf(event['messageId']), event), event),
      TEXT_MESSAGE_END: (event) => merge(this.#messages.get(textOf(event['messageId'])), event),
      TEXT_MESSAGE_CHUNK: (event) => {
        const id = this.#chunkId(event, 'messageId');
        if (id !== '') this.#say(this.#text(id, event), event);
      },
      REASONING_MESSAGE_START: (event) => this.#think(textOf(event['messageId']), event),
      REASONING_MESSAGE_CONTENT: (event) => this.#think(textOf(event['messageId']), event),
      REASONING_MESSAGE_END: (event) =>
        merge(this.#reasoning.get(textOf(event['messageId'])), event),
      REASONING_MESSAGE_CHUNK: (event) => {
        const id = this.#chunkId(event, 'messageId');
        if (id !== '') this.#think(id, event);
      },
      THINKING_TEXT_MESSAGE_START: endThought,
      THINKING_TEXT_MESSAGE_END: endThought,
      THINKING_TEXT_MESSAGE_CONTENT: (event) => {
        this.#thinkingId ||= randomId();
        append(this.#thought(this.#thinkingId, event), event['delta']);
      },
      REASONING_ENCRYPTED_VALUE: (event) => this.#onEncrypted(event),
      TOOL_CALL_START: (event) => void this.#startCall(textOf(event['toolCallId']), event),
      TOOL_CALL_ARGS: (event) => this.#onArguments(event),
      TOOL_CALL_END: (event) => merge(this.#callOf(event), event),
      TOOL_CALL_CHUNK: (event) => {
        const id = this.#chunkId(event, 'toolCallId');
        if (id !== '') this.#startCall(id, event).arguments += textOf(event['delta']);
      },
      TOOL_CALL_RESULT: (event) => this.#onResult(event),
      ACTIVITY_SNAPSHOT: (event) => this.#onActivity(event),
      ACTIVITY_DELTA: (event) => this.#onActivityDelta(event),
      MESSAGES_SNAPSHOT: (event) => this.#onSnapshot(event),
      RUN_STARTED: (event) => this.#onRunStarted(event),
      STEP_STARTED: () => void (this.#step = []),
      CUSTOM: (event) => this.#onCustom(event),
    };
  }

  messages(): Message[] {
    const rows = [...this.#rows];
    const rest = [...this.#waiting].sort(([a], [b]) => compareBytes(a, b));
    const opaque = rest.find(([id, { metadata }]) => id !== '' && metadata.states.length > 0);
    const last = rows.findLast(({ role }) => role === 'user' || role === 'assistant');
    // An answer that has nothing but such things is a message of its own, lest it seem to be part of the one before the
    // question.
    if (opaque && last?.role !== 'assistant') rows.push(new Row('assistant', opaque[0]));
    const shown = rows.map((row) => row.shown());
    const at = rows.findLastIndex(({ role }) => role === 'assistant');
    if (at === -1 || rest.length === 0) return shown;
    const answer = rows[at] as Row;
    const { states, citations } = answer.metadata;
    answer.metadata.states = [...states, ...rest.flatMap(([, { metadata }]) => metadata.states)];
    answer.metadata.citations = [
      ...citations,
      ...rest.flatMap(([, { metadata }]) => metadata.citations),
    ];
    shown[at] = answer.shown();
    Object.assign(answer.metadata, { states, citations });
    return shown;
  }

  // --- places

  #add(row: Row, at = this.#rows.length): Row {
    this.#rows.splice(at, 0, row);
    this.#index(row);
    this.#step.push(row);
    this.#settle(row.id, row);
    return row;
  }

  #index(row: Row): void {
    setNew(row.role === 'reasoning' ? this.#reasoning : this.#messages, row.id, row);
    for (const call of row.calls) setNew(this.#calls, call.id, { owner: row, call });
    if (row.role === 'tool') setNew(this.#results, row.toolCallId, row);
  }

  #indexAll(): void {
    for (const map of [this.#messages, this.#reasoning, this.#calls, this.#results]) map.clear();
    this.#rows.forEach((row) => this.#index(row));
  }

  // Gives a message or call that begins what came before it.
  #settle(id: string, to: Row | Call): void {
    const early = this.#waiting.get(id);
    if (!early) return;
    to.metadata.states.push(...early.metadata.states);
    to.metadata.citations.push(...early.metadata.citations);
    if (early.encryptedValue !== undefined) to.encryptedValue = early.encryptedValue;
    this.#waiting.delete(id);
  }

  #begin(role: string, id: string, event: Json): Row {
    const row = new Row(role, id);
    row.subagentRunId = textOf(event['subagentRunId']) || undefined;
    return this.#add(row);
  }

  #text(id: string, event: Json): Row {
    const known = this.#messages.get(id);
    if (known) return known;
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

  #say(row: Row, event: Json): void {
    if (event['type'] !== 'TEXT_MESSAGE_START') append(row, event['delta']);
    merge(row, event);
  }

  #think(id: string, event: Json): void {
    const row = this.#thought(id, event);
    if (event['type'] !== 'REASONING_MESSAGE_START') append(row, event['delta']);
    merge(row, event);
  }

  // The id of a chunk: its own, or that of the chunk before it in its lane.
  #chunkId(event: Json, member: string): string {
    const lane = `${textOf(event['type'])} ${textOf(event['subagentRunId'])}`;
    const id = textOf(event[member]) || (this.#chunks.get(lane) ?? '');
    this.#chunks.set(lane, id);
    return id;
  }

  // --- tool calls

  #callOf(event: Json): Call | undefined {
    return this.#calls.get(textOf(event['toolCallId']))?.call;
  }

  // The assistant message named as parent, or one whose id is the call's.
  #ownerOf(callId: string, event: Json): Row {
    for (const id of [textOf(event['parentMessageId']), callId]) {
      if (id === '') continue;
      const known = this.#messages.get(id);
      if (!known) return this.#begin('assistant', id, event);
      if (known.role === 'assistant') return known;
    }
    return this.#begin('assistant', callId, event);
  }

  #startCall(id: string, event: Json): Call {
    let call = this.#calls.get(id)?.call;
    if (!call) {
      const owner = this.#ownerOf(id, event);
      call = newCall(id);
      owner.calls.push(call);
      setNew(this.#calls, id, { owner, call });
      this.#settle(id, call);
    }
    call.name = textOf(event['toolCallName']) || call.name;
    call.metadata.merge(event['metadata']);
    return call;
  }

  #onArguments(event: Json): void {
    const call = this.#callOf(event);
    if (call) call.arguments += textOf(event['delta']);
    merge(call, event);
  }

  #onResult(event: Json): void {
    const callId = textOf(event['toolCallId']);
    let row = this.#results.get(callId);
    if (!row) {
      row = new Row('tool', textOf(event['messageId']));
      row.toolCallId = callId;
      this.#add(row, this.#placeOfResult(callId));
    }
    const { content, error, isError } = event;
    row.content = Array.isArray(content) ? content : textOf(content);
    row.error = textOf(error) || undefined;
    if (row.error === undefined && isError === true) {
      row.error = Array.isArray(content) ? JSON.stringify(content) : textOf(content);
    }
    row.subagentRunId = textOf(event['subagentRunId']) || row.subagentRunId;
    merge(row, event);
  }

  // Behind the message that holds the call and its other results, else the end.
  #placeOfResult(callId: string): number {
    const owner = this.#calls.get(callId)?.owner;
    if (!owner) return this.#rows.length;
    let at = this.#rows.lastIndexOf(owner) + 1;
    for (; at < this.#rows.length; at += 1) {
      const { role, toolCallId } = this.#rows[at] as Row;
      if (role !== 'tool' || this.#calls.get(toolCallId)?.owner !== owner) break;
    }
    return at;
  }

  #onEncrypted(event: Json): void {
    const id = textOf(event['entityId']);
    const value = textOf(event['encryptedValue']);
    if (event['subtype'] === 'tool-call') {
      (this.#calls.get(id)?.call ?? this.#waitingFor(id)).encryptedValue = value;
      return;
    }
    const message = this.#reasoning.has(id) ? undefined : this.#messages.get(id);
    // Reasoning may have a value and no text.
    (message ?? this.#thought(id, event)).encryptedValue = value;
  }

  // --- activities

  #onActivity(event: Json): void {
    const id = textOf(event['messageId']);
    const known = this.#messages.get(id);
    const { content } = event;
    if (!isObject(content) || (known && known.role !== 'activity')) return;
    if (known && event['replace'] === false) return;
    const row = known ?? this.#begin('activity', id, event);
    row.content = content;
    row.activityType = textOf(event['activityType']);
    merge(row, event);
  }

  #onActivityDelta(event: Json): void {
    const row = this.#messages.get(textOf(event['messageId']));
    if (row?.role !== 'activity') return;
    const content = patched(row.content, event['patch']);
    if (content === undefined) return;
    row.content = content;
    row.activityType = textOf(event['activityType']);
    merge(row, event);
  }

  // --- the whole conversation

  #onSnapshot(event: Json): void {
    if (!Array.isArray(event['messages'])) return;
    const fresh = new Map<string, Row>();
    let hasReasoning = false;
    let hasActivity = false;
    for (const item of event['messages']) {
      const row = readRow(item);
      if (!row) continue;
      hasReasoning ||= row.role === 'reasoning';
      hasActivity ||= row.role === 'activity';
      fresh.set(row.id, row);
    }
    const before = this.#rows;
    this.#rows = [];
    for (const row of before) {
      const { role, id } = row;
      const next = fresh.get(id);
      if (next) {
        carryState(next, row);
        this.#add(next);
        fresh.delete(id);
      } else if ((role === 'reasoning' && !hasReasoning) || (role === 'activity' && !hasActivity)) {
        this.#rows.push(row);
      }
    }
    for (const row of fresh.values()) this.#add(row);
    this.#step = [];
    this.#indexAll();
  }

  #onRunStarted(event: Json): void {
    const { messages } = isObject(event['input']) ? event['input'] : ({} as Json);
    for (const item of listOf(messages)) {
      const row = readRow(item);
      if (!row) continue;
      const known = row.role === 'reasoning' ? this.#reasoning : this.#messages;
      if (!known.has(row.id)) this.#add(row);
    }
    this.#step = [];
  }

  // --- events of this package

  #onCustom({ name, value: given }: Json): void {
    const value: Json = isObject(given) ? given : {};
    if (name === 'millrace.provider_state') {
      if (value['state'] === undefined || value['state'] === null) return;
      const metadata = this.#metadataOf(textOf(value['entityId']));
      metadata.addState(value['provider'], value['kind'], value['state']);
    } else if (name === 'millrace.citation') {
      if (value['citation'] === undefined || value['citation'] === null) return;
      this.#metadataOf(textOf(value['messageId'])).citations.push(value['citation']);
    } else if (name === 'millrace.reset') {
      this.#onReset(value['messageIds']);
    }
  }

  // The messages named, or all since the step began, are void and come again.
  #onReset(ids: unknown): void {
    const isVoid = (row: Row): boolean => !Array.isArray(ids) || ids.map(textOf).includes(row.id);
    const gone = new Set(this.#step.filter(isVoid));
    this.#step = this.#step.filter((row) => !gone.has(row));
    this.#rows = this.#rows.filter((row) => !gone.has(row));
    this.#waiting.clear();
    this.#chunks.clear();
    this.#indexAll();
  }

  #waitingFor(id: string): Waiting {
    const known = this.#waiting.get(id);
    if (known) return known;
    const waiting = { metadata: new Metadata() };
    this.#waiting.set(id, waiting);
    return waiting;
  }

  // Of the call, message or reasoning of this id; without an id, of the latest answer. What comes before its entity
  // waits for it.
  #metadataOf(id: string): Metadata {
    const last = this.#rows.at(-1);
    if (id === '' && (last?.role === 'assistant' || last?.role === 'reasoning')) {
      return last.metadata;
    }
    const known =
      this.#calls.get(id)?.call ??
      this.#messages.get(id) ??
      this.#reasoning.get(id) ??
      this.#results.get(id);
    return (known ?? this.#waitingFor(id)).metadata;
  }
}

function setNew<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key)) map.set(key, value);
}

function merge(to: Row | Call | undefined, event: Json): void {
  to?.metadata.merge(event['metadata']);
}

// Content that is no text keeps what it is.
function append(row: Row, delta: unknown): void {
  if (typeof delta !== 'string') return;
  if (row.content === undefined) row.content = delta;
  else if (typeof row.content === 'string') row.content += delta;
}

// Keeps what the next turn needs when a snapshot, which may not know it, replaces a message.
function carryState(to: Row, from: Row): void {
  carry(to, from);
  for (const call of to.calls) {
    const before = from.calls.find(({ id }) => id === call.id);
    if (before) carry(call, before);
  }
}

function carry(to: Row | Call, from: Row | Call): void {
  if (to.metadata.states.length === 0) to.metadata.states = from.metadata.states;
  if (to.metadata.citations.length === 0) to.metadata.citations = from.metadata.citations;
  to.encryptedValue ??= from.encryptedValue;
}

// The order of the engine's index.
function compareBytes(a: string, b: string): number {
  const [left, right] = [new TextEncoder().encode(a), new TextEncoder().encode(b)];
  const at = left.findIndex((byte, index) => byte !== right[index]);
  if (at === -1) return left.length - right.length;
  return (left[at] as number) - (right[at] ?? -1);
}
