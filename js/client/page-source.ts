// The records of a Response's body in a page: what the engine's pipes "payloads" and "records" give in Node.
import { errorRecordOf } from '../adapters/payload-events';
import { MillraceError } from '../errors';
import { jsonOf } from '../plain-values';
import { leaveBody } from '../transport/body';
import type { SseLimits, SseRecord } from './server-sent-events';
import { sseFraming } from './server-sent-events';

type Reader = ReadableStreamDefaultReader<Uint8Array>;

const defaultBytes = 8 * 1024 * 1024;
// Of a body without a record, to find an error that is plain JSON.
const headBytes = 64 * 1024;

/**
 * The records that say something, then what a body without a record is: an error, or with `isNamed` a record of text.
 * Leaves the body when it is left.
 */
export async function* recordsOf(
  reader: Reader,
  isNamed: boolean,
  limits: Partial<SseLimits> = {},
): AsyncGenerator<SseRecord, void> {
  const bounds = { lineBytes: defaultBytes, eventBytes: defaultBytes, ...limits };
  const feed = sseFraming(bounds, !isNamed);
  const decoder = new TextDecoder();
  // The body for as long as no record was found in it.
  let head: string | undefined = '';
  let bytes = 0;
  try {
    for (let done = false; !done;) {
      const result = await reader.read();
      done = result.done;
      const { value: chunk = new Uint8Array() } = result;
      checkChunk(chunk);
      const text = decoder.decode(chunk, { stream: !done });
      if (head !== undefined) head += text;
      // What is not terminated when the stream ends is a record, too.
      for (const record of feed(done ? `${text}\n\n` : text)) {
        head = undefined;
        const data = record.data.trim();
        if (data !== '' && data !== '[DONE]') yield { ...record, data };
      }
      bytes += chunk.length;
      if (isNamed && head !== undefined && bytes >= defaultBytes) {
        const sentence = `A body without a record is larger than ${defaultBytes} bytes.`;
        throw new MillraceError('event_too_large', sentence);
      }
      if (!isNamed && bytes > headBytes) head = undefined;
    }
    const data = head === undefined ? undefined : (isNamed ? textIn : errorIn)(head);
    if (data !== undefined) yield { event: 'text', id: '', data };
  } finally {
    leaveBody(reader);
  }
}

function checkChunk(chunk: unknown): void {
  if (chunk instanceof Uint8Array) return;
  const sentence = 'The response body must give Uint8Array chunks.';
  throw new MillraceError('invalid_argument', sentence);
}

// A body of comments alone says nothing.
const textIn = (head: string): string | undefined =>
  head.trim() === '' || head.startsWith(':') ? undefined : JSON.stringify(head);

const errorIn = (head: string): string | undefined => {
  const value = jsonOf(head.trim());
  return errorRecordOf(value) && JSON.stringify(value);
};
