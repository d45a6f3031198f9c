// What a chat looks like after events, in pages. The engine's fold (lib/message/fold.cpp) decides; a test gives the same
// events to both.
import type { Message } from '../../types/messages';
import { isRecord } from '../plain-values';
import { randomId } from '../random-id';
import { patched } from './json-patch';
import type { Call, Entity, Json, FoldedMessage } from './messages';
import {
  append,
  carry,
  gather,
  isBesides,
  isThere,
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
import { AnswerOrder } from './order';
import { SignedParts } from './signed';
import { bytesOf } from './text-hash';

type Handler = (event: Json) => void;

const pieces = /^(TEXT|REASONING)_MESSAGE_(START|CONTENT|END|CHUNK)$/;
const speakers = ['assistant', 'user', 'system', 'developer'];

/** Takes events one by one. */
export class Folder {
  #folded: FoldedMessage[] = [];
  // All but reasoning, whose ids are a world of their own.
  readonly #messages = new Map<unknown, FoldedMessage>();
  readonly #reasoning = new Map<unknown, FoldedMessage>();
  readonly #calls = new Map<unknown, { owner: FoldedMessage; call: Call }>();
  readonly #results = new Map<unknown, FoldedMessage>();
  // What is known of messages and calls that have not begun.
  readonly #waiting = new Map<string, Entity>();
  readonly #chunks = new Map<string, string>();
  // Added since the step began.
  #step: FoldedMessage[] = [];
  readonly #order = new AnswerOrder();
  readonly #signed = new SignedParts();
  #thinkingId = '';
  // By the event before the one at work.
  #isReset = false;

  feed(event: unknown): void {
    const isBehindReset = this.#isReset;
    this.#isReset = false;
    if (!isRecord(event)) return;
    const type = textOf(event['type']);
    const [, kind, piece] = pieces.exec(type) ?? [];
    // Behind a reset it is for clients that know no resets: the conversation before what was taken back.
    if (isBehindReset && type === 'MESSAGES_SNAPSHOT') return;
    if (kind) this.#onPiece(kind === 'TEXT', piece, event);
    else if (Object.hasOwn(this.#handlers, type)) this.#handlers[type]?.(event);
  }

  readonly #handlers: Readonly<Record<string, Handler>> = {
    THINKING_TEXT_MESSAGE_START: () => void (this.#thinkingId = ''),
    THINKING_TEXT_MESSAGE_END: () => void (this.#thinkingId = ''),
    THINKING_TEXT_MESSAGE_CONTENT: (event) => {
      this.#thinkingId ||= randomId();
      append(this.#reasoningMessage(this.#thinkingId, event), event);
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
      const message = this.#messages.get(textOf(event['messageId']));
      if (message?.role !== 'activity') return;
      const content = patched(message.content, event['patch']);
      if (content !== undefined) this.#setActivity(message, content, event);
    },
    MESSAGES_SNAPSHOT: (event) => this.#onSnapshot(event['messages']),
    RUN_STARTED: (event) => {
      this.#closeAnswer();
      for (const message of readRows(objectOf(event['input'])['messages'])) {
        if (!this.#byRole(message.role).has(message.id)) this.#add(message);
      }
      this.#step = [];
    },
    STEP_STARTED: () => {
      this.#closeAnswer();
      this.#step = [];
    },
    CUSTOM: ({ name, value }) => this.#onCustom(name, objectOf(value)),
  };

  // Called once, at the end.
  messages(): Message[] {
    this.#closeAnswer();
    const folded = this.#folded;
    this.#signed.record(folded);
    const rest = [...this.#waiting].sort(([a], [b]) => (bytesOf(a) < bytesOf(b) ? -1 : 1));
    const opaque = rest.find(([id, { metadata }]) => id && metadata.states.length > 0);
    const last = folded.findLast(({ role }) => role === 'user' || role === 'assistant');
    // An answer that has nothing but such things is a message of its own, so that it is not taken for a part of the
    // one before the question.
    if (opaque && last?.role !== 'assistant') folded.push(newRow('assistant', opaque[0]));
    const answer = folded.findLast(({ role }) => role === 'assistant');
    if (answer) rest.forEach(([, early]) => gather(answer, early));
    return folded.map(shown);
  }

  // --- places

  #byRole(role: string): Map<unknown, FoldedMessage> {
    return role === 'reasoning' ? this.#reasoning : this.#messages;
  }

  #add(message: FoldedMessage, at = this.#folded.length): FoldedMessage {
    this.#folded.splice(at, 0, message);
    this.#index(message);
    this.#step.push(message);
    const states = message.metadata.states.length;
    this.#settle(message.id, message);
    this.#order.place(message.id, message, states);
    return message;
  }

  #index(message: FoldedMessage): void {
    setNew(this.#byRole(message.role), message.id, message);
    for (const call of message.toolCalls) setNew(this.#calls, call.id, { owner: message, call });
    if (message.role === 'tool') setNew(this.#results, message.toolCallId, message);
  }

  #indexAll(): void {
    for (const map of [this.#messages, this.#reasoning, this.#calls, this.#results]) map.clear();
    this.#folded.forEach((message) => this.#index(message));
  }

  // Gives a message or call that begins what came before it.
  #settle(id: string, to: Entity): void {
    const early = this.#waiting.get(id);
    if (!early) return;
    gather(to, early);
    to.encryptedValue = early.encryptedValue ?? to.encryptedValue;
    this.#waiting.delete(id);
  }

  #begin(role: string, id: string, event: Json): FoldedMessage {
    const message = newRow(role, id);
    message.subagentRunId = textOf(event['subagentRunId']) || undefined;
    const isPart = role === 'assistant' || role === 'reasoning';
    if (isPart && !message.subagentRunId) {
      this.#order.begin(message);
      this.#signed.begin(message, role === 'assistant');
    }
    return this.#add(message);
  }

  // --- texts

  // One of the events of a text or of reasoning.
  #onPiece(isText: boolean, piece: string | undefined, event: Json): void {
    const isChunk = piece === 'CHUNK';
    const id = isChunk ? this.#chunkId(event, 'messageId') : textOf(event['messageId']);
    if (isChunk && !id) return;
    const isEnd = piece === 'END';
    const known = this.#byRole(isText ? '' : 'reasoning').get(id);
    const message = isEnd
      ? known
      : (known ?? (isText ? this.#text(id, event) : this.#reasoningMessage(id, event)));
    if (message && !isEnd && piece !== 'START') {
      if (isText && textOf(event['delta'])) this.#order.noteText(message);
      append(message, event);
    }
    merge(message, event['metadata']);
  }

  #text(id: string, event: Json): FoldedMessage {
    const named = textOf(event['role']);
    const role = speakers.includes(named) ? named : 'assistant';
    if (role !== 'assistant') this.#closeAnswer();
    const message = this.#begin(role, id, event);
    message.content = '';
    message.name = textOf(event['name']) || undefined;
    return message;
  }

  #reasoningMessage(id: string, event: Json): FoldedMessage {
    const known = this.#reasoning.get(id);
    if (known) return known;
    const message = this.#begin('reasoning', id, event);
    message.content = '';
    this.#order.note('reasoning', message);
    return message;
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
    const isOfCall = event['subtype'] === 'tool-call';
    const entity = isOfCall
      ? (this.#callOf(id) ?? this.#waitingFor(id))
      : // Reasoning may have a value and no text.
        ((this.#reasoning.has(id) ? undefined : this.#messages.get(id)) ??
        this.#reasoningMessage(id, event));
    entity.encryptedValue = textOf(event['encryptedValue']);
    this.#signed.sign(id, isOfCall ? undefined : this.#reasoning.get(id));
  }

  // --- tool calls

  #callOf(id: unknown): Call | undefined {
    return this.#calls.get(textOf(id))?.call;
  }

  // The assistant message named as parent, or one whose id is the call's.
  #ownerOf(callId: string, event: Json): FoldedMessage {
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
      this.#order.place(id, undefined, 0);
      this.#order.note('call', owner, owner.toolCalls.length - 1);
      this.#signed.beginCall(id, owner);
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
    let message = this.#results.get(callId);
    if (!message) {
      message = newRow('tool', textOf(event['messageId']));
      message.toolCallId = callId;
      this.#add(message, this.#placeOfResult(callId));
      const { owner, call } = this.#calls.get(callId) ?? {};
      if (owner && call) this.#order.note('result', owner, owner.toolCalls.indexOf(call));
    }
    const { content, error, isError } = event;
    const parts = Array.isArray(content) && content;
    message.content = parts || textOf(content);
    message.error = textOf(error) || undefined;
    if (isError === true) message.error ??= parts ? JSON.stringify(parts) : textOf(content);
    message.subagentRunId = textOf(event['subagentRunId']) || message.subagentRunId;
    merge(message, event['metadata']);
  }

  // Behind the message that holds the call and its other results, else the end.
  #placeOfResult(callId: string): number {
    const folded = this.#folded;
    const owner = this.#calls.get(callId)?.owner;
    if (!owner) return folded.length;
    const isOther = ({ role, toolCallId }: FoldedMessage): boolean =>
      role !== 'tool' || this.#calls.get(toolCallId)?.owner !== owner;
    const begin = folded.lastIndexOf(owner) + 1;
    const end = folded.slice(begin).findIndex(isOther);
    return end === -1 ? folded.length : begin + end;
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

  #setActivity(message: FoldedMessage, content: unknown, event: Json): void {
    message.content = content;
    message.activityType = textOf(event['activityType']);
    merge(message, event['metadata']);
  }

  // --- the whole conversation

  #onSnapshot(messages: unknown): void {
    if (!Array.isArray(messages)) return;
    const folded = readRows(messages);
    const fresh = new Map(folded.map((message) => [message.id, message]));
    const before = this.#folded;
    this.#signed.record(before);
    this.#folded = [];
    for (const message of before) {
      const next = fresh.get(message.id);
      if (next) {
        carry(next, message);
        this.#add(next);
        fresh.delete(message.id);
      } else if (isBesides(message) && !folded.some(({ role }) => role === message.role)) {
        this.#folded.push(message);
      }
    }
    fresh.forEach((message) => this.#add(message));
    this.#order.start();
    this.#signed.endAnswer();
    this.#step = [];
    this.#indexAll();
  }

  // --- events of this package

  #onCustom(name: unknown, value: Json): void {
    const { state, citation, messageIds } = value;
    if (name === 'millrace.provider_state' && isThere(state)) {
      this.#onState(textOf(value['entityId']), stateOf(value));
    } else if (name === 'millrace.citation' && isThere(citation)) {
      this.#entityOf(textOf(value['messageId'])).metadata.citations.push(citation);
    } else if (name === 'millrace.reset') {
      this.#onReset(messageIds);
    }
  }

  #onState(id: string, state: Json): void {
    const holder = this.#entityOf(id);
    holder.metadata.states.push(state);
    this.#order.noteState(state, holder, id, this.#waiting.get(id) === holder);
  }

  #closeAnswer(): void {
    const made = this.#order.close(this.#waiting);
    this.#order.start();
    this.#signed.endAnswer();
    if (made) this.#add(made);
  }

  // The messages named, or all since the step began, are void and come again.
  #onReset(ids: unknown): void {
    this.#isReset = true;
    const isVoid = (message: FoldedMessage): boolean =>
      !Array.isArray(ids) || ids.map(textOf).includes(message.id);
    this.#order.drop(isVoid, !Array.isArray(ids), (id) => this.#results.get(id));
    const gone = this.#step.filter(isVoid);
    this.#signed.drop(gone);
    const stays = (message: FoldedMessage): boolean => !gone.includes(message);
    this.#step = this.#step.filter(stays);
    this.#folded = this.#folded.filter(stays);
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
    const last = this.#folded.at(-1);
    if (!id && (last?.role === 'assistant' || last?.role === 'reasoning')) return last;
    return (
      this.#callOf(id) ??
      this.#messages.get(id) ??
      this.#reasoning.get(id) ??
      this.#results.get(id) ??
      this.#waitingFor(id)
    );
  }
}

function setNew<T>(map: Map<unknown, T>, key: unknown, value: T): void {
  if (!map.has(key)) map.set(key, value);
}
