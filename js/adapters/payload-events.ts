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

  load(output: Output): void {
    this.#payloads = textsOf(output);
    this.#next = 0;
  }

  next(): AGUIEvent | undefined {
    while (this.#next < this.#payloads.length) {
      throwError(this.#payloads, this.#next);
      const payload = this.#payloads[this.#next++] as string;
      const event = this.#read(payload);
      if (event) return event;
    }
    return undefined;
  }

  #read(payload: string): AGUIEvent | undefined {
    let value: unknown;
    try {
      value = JSON.parse(payload);
    } catch (error) {
      if (!this.#separate(payload)) console.error(skippedText, error);
      return undefined;
    }
    if (isEvent(value)) return value;
    const failed = errorRecordOf(value);
    if (failed) return failed;
    console.error(foreignText, value);
    return undefined;
  }

  // Several records between which the server wrote no blank line are read one by one.
  #separate(payload: string): boolean {
    if (!payload.includes('\n')) return false;
    const lines = payload.split('\n').map((line) => line.trim());
    const records = lines.filter((line) => line !== '' && line !== sentinel);
    this.#payloads.splice(this.#next, 0, ...records);
    return true;
  }
}

function isEvent(value: unknown): value is AGUIEvent {
  if (typeof value !== 'object' || value === null) return false;
  const { type } = value as { type?: unknown };
  return typeof type === 'string' && type !== '';
}

// `{"error": ...}` without a type: a non-empty string, or an object with a message or a code.
export function errorRecordOf(value: unknown): AGUIEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { error } = value as { error?: unknown };
  if (typeof error === 'string' && error !== '') return { type: 'RUN_ERROR', message: error };
  if (typeof error !== 'object' || error === null) return undefined;
  const { message, code } = error as { message?: unknown; code?: unknown };
  const hasCode =
    (typeof code === 'string' && code !== '') || (typeof code === 'number' && code !== 0);
  const hasMessage = typeof message === 'string' && message !== '';
  if (!hasMessage && !hasCode) return undefined;
  const event = {
    type: 'RUN_ERROR' as const,
    message: hasMessage ? message : 'Stream error',
  };
  return hasCode ? { ...event, code: String(code) } : event;
}
