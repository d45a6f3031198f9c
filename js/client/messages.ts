// Canonical messages as the fold of a page builds them: as they are sent, but for `metadata`, and with every member that
// a message may have. The engine's (lib/message) decide what is read and written; a test compares both.
import type { Message } from '../../types/messages';
import { defined, filled, isRecord } from '../plain-values';

export type Json = Record<string, unknown>;

/** The text of a member, or "" for what is no text. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const isThere = <T>(value: T): value is NonNullable<T> =>
  value !== undefined && value !== null;
export const objectOf = (value: unknown): Json => (isRecord(value) ? value : {});

/** The open object `metadata` of a message or a call. */
interface Metadata {
  states: Json[];
  citations: unknown[];
  /** Further members of `millrace`. */
  own: Json;
  others: Json;
}

/** What a message and a call have in common, and what is known of one that has not begun. */
export interface Entity {
  metadata: Metadata;
  encryptedValue?: string | undefined;
}

export interface Call extends Entity {
  id: string;
  function: { name: string; arguments: string };
}

export interface FoldedMessage extends Entity {
  id: string;
  role: string;
  activityType?: string | undefined;
  content?: unknown;
  toolCalls: Call[];
  toolCallId?: string | undefined;
  name?: string | undefined;
  error?: string | undefined;
  subagentRunId?: string | undefined;
}

// --- metadata

export const newEntity = (): Entity => ({
  metadata: { states: [], citations: [], own: {}, others: {} },
});

export const stateOf = ({ provider, kind, state }: Json): Json =>
  defined({ provider: textOf(provider), kind: textOf(kind), state });

/** Sets the members of an event's `metadata`; one that is there is replaced as a whole. */
export function merge(to: Entity | undefined, members: unknown): void {
  if (!to || !isRecord(members)) return;
  const { millrace, ...others } = defined(members);
  const { metadata } = to;
  if (isRecord(millrace)) {
    const { providerState, citations, ...own } = millrace;
    metadata.states = listOf(providerState).map((one) => stateOf(objectOf(one)));
    metadata.citations = [...listOf(citations)];
    metadata.own = own;
  } else if (millrace !== undefined) {
    others['millrace'] = millrace;
  }
  metadata.others = { ...metadata.others, ...others };
}

/** Adds what came before a message or call began. */
export function gather(to: Entity, { metadata }: Entity): void {
  to.metadata.states.push(...metadata.states);
  to.metadata.citations.push(...metadata.citations);
}

/** Keeps what the next turn needs when a snapshot, which may not know it, replaces a message or call. */
export function carry(
  to: Entity & { toolCalls?: Call[] },
  from: Entity & { toolCalls?: Call[] },
): void {
  const [{ metadata }, { metadata: before }] = [to, from];
  if (metadata.states.length === 0) metadata.states = before.states;
  if (metadata.citations.length === 0) metadata.citations = before.citations;
  metadata.own = { ...before.own, ...metadata.own };
  to.encryptedValue ??= from.encryptedValue;
  for (const call of to.toolCalls ?? []) {
    const same = from.toolCalls?.find(({ id }) => id === call.id);
    if (same) carry(call, same);
  }
}

function shownMetadata({ states, citations, own, others }: Metadata): Json | undefined {
  const all = { providerState: filled(states), citations: filled(citations), ...own };
  const millrace = filled(defined(all));
  return filled(millrace ? { ...others, millrace } : others);
}

// --- messages and calls

export const newCall = (id: string): Call =>
  ({
    id,
    type: 'function',
    function: { name: '', arguments: '' },
    encryptedValue: undefined,
    ...newEntity(),
  }) as Call;

/** Its members are in AG-UI's order. */
export const newRow = (role: string, id: string): FoldedMessage => ({
  id,
  role,
  activityType: undefined,
  content: undefined,
  toolCalls: [],
  toolCallId: undefined,
  name: undefined,
  error: undefined,
  encryptedValue: undefined,
  subagentRunId: undefined,
  ...newEntity(),
});

/** Adds the piece of an event; content that is no text stays as it is. */
export function append(message: FoldedMessage, { delta }: Json): void {
  if (typeof (message.content ?? '') === 'string' && typeof delta === 'string') {
    message.content = `${(message.content ?? '') as string}${delta}`;
  }
}

/** Snapshots need not hold what clients keep beside the conversation. */
export const isBesides = ({ role }: FoldedMessage): boolean =>
  role === 'reasoning' || role === 'activity';

const shownCall = (call: Call): Json =>
  defined({ ...call, metadata: shownMetadata(call.metadata) });

/** The message, without the members that it has not. */
export function shown(message: FoldedMessage): Message {
  const { id, role, activityType, toolCalls, toolCallId, metadata } = message;
  return defined({
    ...message,
    id: id || undefined,
    activityType: activityType || undefined,
    toolCalls: filled(toolCalls.map(shownCall)),
    toolCallId: role === 'tool' ? toolCallId : toolCallId || undefined,
    metadata: shownMetadata(metadata),
  }) as unknown as Message;
}

// --- what came whole

const roles = ['user', 'assistant', 'system', 'developer', 'tool', 'reasoning', 'activity'];
const texts = ['toolCallId', 'activityType', 'name', 'error', 'encryptedValue', 'subagentRunId'];

// A member that is null is none.
const isTextOrNothing = (value: unknown): boolean => typeof (value ?? '') === 'string';

/** The messages among the items of a list. */
export const readRows = (list: unknown): FoldedMessage[] =>
  listOf(list)
    .map(readMessage)
    .filter((message) => message !== undefined);

function readMessage(value: unknown): FoldedMessage | undefined {
  if (!isRecord(value)) return undefined;
  const { id, role, content, toolCalls, toolCallId, metadata } = value;
  const calls = (toolCalls ?? []) as unknown[];
  const isRight =
    roles.includes(role as string) &&
    [id, ...texts.map((name) => value[name])].every(isTextOrNothing) &&
    (role !== 'tool' || typeof toolCallId === 'string') &&
    isRecord(metadata ?? {}) &&
    (role === 'activity'
      ? isRecord(content ?? {})
      : isTextOrNothing(content) || Array.isArray(content)) &&
    Array.isArray(calls);
  const read = isRight ? calls.map(readCall) : [undefined];
  if (read.includes(undefined)) return undefined;
  const message = {
    ...newRow(role as string, ''),
    ...defined(value),
    id: textOf(id),
    content: content ?? undefined,
    toolCalls: read as Call[],
    ...newEntity(),
  };
  for (const name of texts) message[name as 'name'] = (value[name] ?? undefined) as undefined;
  merge(message, metadata);
  return message;
}

function readCall(value: unknown): Call | undefined {
  if (!isRecord(value) || !isRecord(value['function'])) return undefined;
  const { id, function: called, encryptedValue, metadata } = value;
  const { name, arguments: text } = called;
  const isRight =
    [id, name, encryptedValue].every(isTextOrNothing) &&
    (isTextOrNothing(text) || isRecord(text)) &&
    isRecord(metadata ?? {});
  if (!isRight) return undefined;
  const call = {
    ...newCall(''),
    ...defined(value),
    id: textOf(id),
    type: 'function',
    function: {
      ...defined(called),
      name: textOf(name),
      arguments: isRecord(text) ? JSON.stringify(text) : textOf(text),
    },
    encryptedValue: (encryptedValue ?? undefined) as string | undefined,
    ...newEntity(),
  };
  merge(call, metadata);
  return call;
}
