// Canonical messages as the fold of a page builds them. The engine's (lib/message) decide what is read and written; a
// test compares both.
import type { Message } from '../../types/messages';

export type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** The text of a member, or "" for what is no text. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const isNothing = (value: unknown): boolean => value === undefined || value === null;

const roles = ['user', 'assistant', 'system', 'developer', 'tool', 'reasoning', 'activity'];

/** The open object `metadata` of a message or a call. */
export class Metadata {
  states: Json[] = [];
  citations: unknown[] = [];
  #own: [string, unknown][] = [];
  readonly #others = new Map<string, unknown>();

  addState(provider: unknown, kind: unknown, state: unknown): void {
    const named = { provider: textOf(provider), kind: textOf(kind) };
    this.states.push(state === undefined ? named : { ...named, state });
  }

  /** Sets the members of an event's `metadata`; one that is there is replaced as a whole. */
  merge(members: unknown): void {
    if (!isObject(members)) return;
    for (const [name, value] of Object.entries(members)) {
      if (value === undefined) continue;
      if (name === 'millrace' && isObject(value)) this.#readOwn(value);
      else this.#others.set(name, value);
    }
  }

  #readOwn({ providerState, citations, ...own }: Json): void {
    this.states = [];
    for (const one of listOf(providerState)) {
      const { provider, kind, state } = isObject(one) ? one : ({} as Json);
      this.addState(provider, kind, state);
    }
    this.citations = [...listOf(citations)];
    this.#own = Object.entries(own);
  }

  shown(): Json | undefined {
    const own: [string, unknown][] = [];
    if (this.states.length > 0) own.push(['providerState', this.states]);
    if (this.citations.length > 0) own.push(['citations', this.citations]);
    own.push(...this.#own);
    const all: [string, unknown][] = [...this.#others];
    if (own.length > 0) all.push(['millrace', Object.fromEntries(own)]);
    return all.length > 0 ? Object.fromEntries(all) : undefined;
  }
}

export interface Call {
  id: string;
  name: string;
  arguments: string;
  encryptedValue?: string | undefined;
  readonly metadata: Metadata;
  functionExtra: Json;
  extra: Json;
}

export function newCall(id: string): Call {
  const metadata = new Metadata();
  return { id, name: '', arguments: '', metadata, functionExtra: {}, extra: {} };
}

/** Members that were absent stay absent. */
export class Row {
  readonly role: string;
  id: string;
  content: unknown;
  calls: Call[] = [];
  toolCallId = '';
  activityType = '';
  name?: string | undefined;
  error?: string | undefined;
  encryptedValue?: string | undefined;
  subagentRunId?: string | undefined;
  readonly metadata: Metadata = new Metadata();
  extra: Json = {};

  constructor(role: string, id: string) {
    this.role = role;
    this.id = id;
  }

  /** The message, its members in AG-UI's order. */
  shown(): Message {
    const out: Json = {};
    const put = (name: string, value: unknown, isThere = value !== undefined): void => {
      if (isThere) out[name] = value;
    };
    put('id', this.id, this.id !== '');
    put('role', this.role);
    put('activityType', this.activityType, this.activityType !== '');
    put('content', this.content);
    put('toolCalls', this.calls.map(shownCall), this.calls.length > 0);
    put('toolCallId', this.toolCallId, this.role === 'tool' || this.toolCallId !== '');
    put('name', this.name);
    put('error', this.error);
    put('encryptedValue', this.encryptedValue);
    put('subagentRunId', this.subagentRunId);
    put('metadata', this.metadata.shown());
    return { ...out, ...this.extra } as unknown as Message;
  }
}

function shownCall(call: Call): Json {
  const { id, name, arguments: text, encryptedValue, functionExtra, extra } = call;
  const metadata = call.metadata.shown();
  return {
    id,
    type: 'function',
    function: { name, arguments: text, ...functionExtra },
    ...(encryptedValue === undefined ? {} : { encryptedValue }),
    ...(metadata === undefined ? {} : { metadata }),
    ...extra,
  };
}

/** A message that came whole; undefined for what is none. */
export function readRow(value: unknown): Row | undefined {
  if (!isObject(value)) return undefined;
  const { role, id, content, toolCalls, toolCallId, activityType, metadata, ...rest } = value;
  const { name, error, encryptedValue, subagentRunId, ...extra } = rest;
  const texts = [id, toolCallId, activityType, name, error, encryptedValue, subagentRunId];
  if (!roles.includes(role as string) || !texts.every(isTextOrNothing)) return undefined;
  if (role === 'tool' && isNothing(toolCallId)) return undefined;
  if (!isNothing(metadata) && !isObject(metadata)) return undefined;
  if (!isContent(role, content)) return undefined;
  const calls = readCalls(toolCalls);
  if (!calls) return undefined;
  const row = new Row(role as string, textOf(id));
  row.content = content ?? undefined;
  row.calls = calls;
  row.toolCallId = textOf(toolCallId);
  row.activityType = textOf(activityType);
  Object.assign(row, given({ name, error, encryptedValue, subagentRunId }));
  row.metadata.merge(metadata);
  row.extra = given(extra, true);
  return row;
}

const isTextOrNothing = (value: unknown): boolean => isNothing(value) || typeof value === 'string';

// Without members that are undefined, as JSON has it, and without null where that says as much.
function given(members: Json, keepNull = false): Json {
  const isGiven = ([, value]: [string, unknown]): boolean =>
    value !== undefined && (keepNull || value !== null);
  return Object.fromEntries(Object.entries(members).filter(isGiven));
}

function isContent(role: unknown, content: unknown): boolean {
  if (isNothing(content)) return true;
  return role === 'activity'
    ? isObject(content)
    : typeof content === 'string' || Array.isArray(content);
}

function readCalls(value: unknown): Call[] | undefined {
  if (isNothing(value)) return [];
  if (!Array.isArray(value)) return undefined;
  const calls = value.map(readCall);
  return calls.includes(undefined) ? undefined : (calls as Call[]);
}

function readCall(value: unknown): Call | undefined {
  if (!isObject(value) || !isObject(value['function'])) return undefined;
  const { id, function: called, encryptedValue, metadata, type: _type, ...extra } = value;
  const { name, arguments: text, ...functionExtra } = called;
  const isRight = [id, name, encryptedValue].every(isTextOrNothing);
  if (!isRight || !(isTextOrNothing(text) || isObject(text))) return undefined;
  if (!isNothing(metadata) && !isObject(metadata)) return undefined;
  const call = newCall(textOf(id));
  call.name = textOf(name);
  call.arguments = isObject(text) ? JSON.stringify(text) : textOf(text);
  if (typeof encryptedValue === 'string') call.encryptedValue = encryptedValue;
  call.metadata.merge(metadata);
  call.functionExtra = given(functionExtra, true);
  call.extra = given(extra, true);
  return call;
}
