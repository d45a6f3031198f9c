// What a tool of the host returned, as data that a model can read.
import { types } from 'node:util';

import { MillraceError } from '../errors';
import { messageOf } from '../thrown';
import { errorRecord } from '../serialize';

interface ToolRecord {
  content: string;
  success: boolean;
  error?: { type?: string; message?: string };
  executionTime?: number;
  [member: string]: unknown;
}

/** What a tool answered, as the engine takes it. */
export interface ToolAnswer {
  content: string;
  isError?: true;
  code?: string;
  /** The content is the JSON of a value that the engine makes a result of the vendor of. */
  json?: true;
  /** What stands beside the text. */
  extra?: Record<string, unknown>;
}

// A result longer than any limit of the engine does not cross to be refused there.
const mostCharacters = 1 << 26;

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null || Array.isArray(value);
}

// JSON says `{}` of a Response, a Map or an iterator, and nothing of a function: a model would take that
// for an answer.
function isEmptyResult(value: unknown, json: string | undefined): boolean {
  if (json === undefined) return value !== undefined;
  // A number for each byte is no answer either.
  if (ArrayBuffer.isView(value)) return true;
  return json === '{}' && !isPlain(value as object) && !('toJSON' in (value as object));
}

/**
 * JSON text of what the tool returned, `null` for nothing. Throws an error that was returned, and
 * `tool_failed` for what JSON cannot carry.
 */
export function resultJson(value: unknown, name: string): string {
  if (types.isNativeError(value) || value instanceof Error) throw value;
  const json = textOfJson(value, name);
  if (!isEmptyResult(value, json)) return json ?? 'null';
  const kind = Object.prototype.toString.call(value).slice('[object '.length, -1);
  throw new MillraceError(
    'tool_failed',
    `The tool ${name} returned ${/^[AEIO]/.test(kind) ? 'an' : 'a'} ${kind}, which JSON cannot represent. Return text or plain values.`,
  );
}

// JSON says of a BigInt, or of a circle, not whose it is.
function textOfJson(value: unknown, name: string): string | undefined {
  try {
    return JSON.stringify(value, (_key, item: unknown) =>
      item instanceof Error ? errorRecord(item) : item,
    );
  } catch (cause) {
    throw new MillraceError(
      'tool_failed',
      `The tool ${name} returned a value that JSON cannot represent: ${messageOf(cause)}. Return text or plain values.`,
      { cause },
    );
  }
}

// A record of LobeHub's shape - content, success and what it likes beside them - or any other value.
function recordOf(value: unknown): ToolRecord | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { content, success } = value as Partial<ToolRecord>;
  return typeof content === 'string' && typeof success === 'boolean'
    ? (value as ToolRecord)
    : undefined;
}

/** The answer of a tool that returned `value`, of a vendor's where `vendor` is true; throws like resultJson. */
export function answerOf(value: unknown, name: string, vendor: boolean = false): ToolAnswer {
  const record = recordOf(value);
  const answer = record ? answerOfRecord(record) : plainAnswer(value, name, vendor);
  const { length } = answer.content;
  if (length <= mostCharacters) return answer;
  return {
    content: `The tool ${name} returned ${length} characters; ${mostCharacters} are allowed.`,
    isError: true,
    code: 'tool_failed',
  };
}

function answerOfRecord(record: ToolRecord): ToolAnswer {
  const { content, success, error, executionTime: _time, ...extra } = record;
  if (success) return { content, ...(Object.keys(extra).length > 0 && { extra }) };
  const { type, message } = error ?? {};
  return {
    content: content || message || 'The tool failed.',
    isError: true,
    code: typeof type === 'string' ? type : 'tool_failed',
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function plainAnswer(value: unknown, name: string, vendor: boolean): ToolAnswer {
  return vendor
    ? { content: resultJson(value, name), json: true }
    : { content: textOf(value, name) };
}

function textOf(value: unknown, name: string): string {
  return typeof value === 'string' ? value : resultJson(value, name);
}
