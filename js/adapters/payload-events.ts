// Reads the outputs of a "payloads" pipe, the texts of SSE records: each is parsed here, by V8, so
// that every value is exactly what JSON.parse makes of it.
import type { AGUIEvent } from '../../types/events';
import { textsOf, throwError } from '../transport/batches';
import type { Output } from '../transport/body';
import type { EventReader } from './event-stream';

const sentinel = '[DONE]';
const skippedText = 'Failed to parse SSE event';
const foreignText = 'Skipping SSE record without an AG-UI event type';

export class PayloadEventReader implements EventReader {
  #payloads: string[] = [];
  #next = 0;
  // Of one payload that holds several.
  #events: AGUIEvent[] = [];

  load(output: Output): void {
    this.#payloads = textsOf(output);
    this.#next = 0;
  }

  next(): AGUIEvent | undefined {
    while (this.#events.length === 0 && this.#next < this.#payloads.length) {
      throwError(this.#payloads, this.#next);
      this.#events = eventsOfPayload(this.#payloads[this.#next++] as string);
    }
    return this.#events.shift();
  }
}

/** The event of a payload, or none; several where the server wrote no blank line between its records. */
export function eventsOfPayload(payload: string): AGUIEvent[] {
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch (error) {
    if (payload.includes('\n')) return payload.split('\n').flatMap(eventsOfLine);
    console.error(skippedText, error);
    return [];
  }
  const event = isEvent(value) ? value : errorRecordOf(value);
  if (!event) console.error(foreignText, value);
  return event ? [event] : [];
}

function eventsOfLine(line: string): AGUIEvent[] {
  const record = line.trim();
  return record === '' || record === sentinel ? [] : eventsOfPayload(record);
}

function isEvent(value: unknown): value is AGUIEvent {
  const { type } = (value ?? {}) as { type?: unknown };
  return typeof value === 'object' && typeof type === 'string' && type !== '';
}

// `{"error": ...}` without a type: a non-empty string, or an object with a message or a code.
export function errorRecordOf(value: unknown): AGUIEvent | undefined {
  const { error } = Object(value) as { error?: unknown };
  const { message, code } = Object(typeof error === 'string' ? { message: error } : error) as Json;
  const isText = typeof message === 'string' && message !== '';
  const isCode = (typeof code === 'string' || typeof code === 'number') && Boolean(code);
  if (!isText && !isCode) return undefined;
  const event = { type: 'RUN_ERROR' as const, message: isText ? message : 'Stream error' };
  return isCode ? { ...event, code: String(code) } : event;
}

type Json = Record<string, unknown>;
