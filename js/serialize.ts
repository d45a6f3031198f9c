// Plain values to JSON text: what JSON cannot carry is refused by name, never dropped in silence.
import { MillraceError } from './errors';
import { messageOf } from './thrown';

/** An error as a state holds it. */
export interface AgentErrorRecord {
  type: string;
  message: string;
  body?: unknown;
}

/** `{type, message, body}` of anything that can be thrown. */
export function errorRecord(thrown: unknown): AgentErrorRecord {
  try {
    return recordOf(thrown);
  } catch {
    return { type: 'AgentRuntimeError', message: 'Something was thrown that cannot be read.' };
  }
}

function recordOf(thrown: unknown): AgentErrorRecord {
  if (typeof thrown !== 'object' || thrown === null) {
    return { type: 'AgentRuntimeError', message: messageOf(thrown) };
  }
  const { type, code, errorType, name, body } = thrown as Record<string, unknown>;
  const kind = [type, code, errorType, name === 'Error' ? undefined : name].find(
    (candidate) => typeof candidate === 'string' || typeof candidate === 'number',
  );
  const record: AgentErrorRecord = {
    type: kind === undefined ? 'AgentRuntimeError' : String(kind),
    message: messageOf(thrown),
  };
  const retained = body ?? payloadOf(thrown);
  if (retained !== undefined && isJson(retained)) record.body = retained;
  return record;
}

// LobeHub's runtimes throw `{ errorType, error, provider, ... }`; it is what the body of an answer holds.
function payloadOf(thrown: object): object | undefined {
  if (thrown instanceof Error || !('errorType' in thrown)) return undefined;
  const rest = Object.entries(thrown).filter(
    ([name]) => name !== 'errorType' && name !== 'message',
  );
  return rest.length === 0 ? undefined : Object.fromEntries(rest);
}

function isJson(value: unknown): boolean {
  try {
    toJson(value, 'body');
    return true;
  } catch {
    return false;
  }
}

/**
 * The error of a record, for callers that expect one: an Error whose type, message and body are
 * also plain members, so that JSON carries it unchanged.
 */
export function reviveError(record: AgentErrorRecord): Error & AgentErrorRecord {
  const error = new Error(record.message);
  for (const [key, value] of Object.entries(record)) {
    Object.defineProperty(error, key, {
      value: value as unknown,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return error as Error & AgentErrorRecord;
}

function rejectValue(path: string, what: string): never {
  throw new MillraceError(
    'state_not_serializable',
    `${path} is ${what}, which JSON cannot represent. Keep plain values only.`,
  );
}

// One level; the way down is for the path of the message.
function check(value: unknown, path: string, above: Set<object>): void {
  if (typeof value === 'object') {
    if (value !== null) checkObject(value, path, above);
  } else if (typeof value === 'number') {
    if (!Number.isFinite(value)) rejectValue(path, String(value));
  } else if (['bigint', 'function', 'symbol'].includes(typeof value)) {
    rejectValue(path, `a ${typeof value}`);
  }
}

function checkObject(value: object, path: string, above: Set<object>): void {
  if (above.has(value)) rejectValue(path, 'a reference to a value that holds it');
  if (value instanceof Error || typeof (value as { toJSON?: unknown }).toJSON === 'function')
    return;
  if (value instanceof Map || value instanceof Set || ArrayBuffer.isView(value)) {
    rejectValue(path, `a ${value.constructor.name}`);
  }
  above.add(value);
  if (Array.isArray(value)) {
    value.forEach((item, index) => check(item, `${path}[${index}]`, above));
  } else {
    for (const [key, item] of Object.entries(value)) check(item, `${path}.${key}`, above);
  }
  above.delete(value);
}

/** JSON text of `value`; errors inside become `{type, message, body}`. */
export function toJson(value: unknown, name: string): string {
  try {
    return textOf(value, name);
  } catch (error) {
    // JSON.stringify goes no deeper than the stack, and makes no longer text than a string may be.
    if (error instanceof RangeError) {
      const isLong = error.message.includes('string length');
      rejectValue(name, isLong ? 'too long for one text' : 'nested too deep');
    }
    throw error;
  }
}

function textOf(value: unknown, name: string): string {
  check(value, name, new Set());
  const json = JSON.stringify(value, (_key, item: unknown) =>
    item instanceof Error ? errorRecord(item) : item,
  ) as string | undefined;
  return json ?? rejectValue(name, 'undefined');
}
