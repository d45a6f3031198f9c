// Server-sent events in pages: bytes in, records out, by the rules of the WHATWG HTML standard. The engine's framing
// (lib/framing/sse.cpp) decides what is read; a test gives the same bytes to both.
import { MillraceError } from '../errors';

export interface SseLimits {
  lineBytes: number;
  eventBytes: number;
}

export interface SseRecord {
  event: string;
  id: string;
  data: string;
}

const sizeOf = (text: string): number => new TextEncoder().encode(text).length;

/**
 * Gives the records that end in each text. Throws `line_too_long` and `event_too_large`; nothing may be fed after that.
 * With `completeJson` a first data line that is a complete JSON document is given at its own line end, since some
 * servers end a record with a single line feed.
 */
export function sseFraming(
  limits: SseLimits,
  completeJson: boolean,
): (text: string) => Generator<SseRecord, void> {
  let line = '';
  let lineBytes = 0;
  let isAfterReturn = false;
  let [event, id] = ['', ''];
  let data: string | undefined;
  let dataBytes = 0;
  // Takes the line; true where a record ends with it.
  const endsRecord = (): boolean => {
    const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') event = value;
    if (name === 'id' && !value.includes('\0')) id = value;
    if (name !== 'data') return line === '' && data !== undefined;
    const isFirst = data === undefined;
    data = isFirst ? value : `${data}\n${value}`;
    dataBytes = sizeOf(value) + (isFirst ? 0 : dataBytes + 1);
    check(dataBytes, limits.eventBytes, 'event_too_large', 'An event', 'larger');
    return isFirst && completeJson && looksComplete(value);
  };
  return function* feed(text) {
    const isSecondHalf = isAfterReturn && text.startsWith('\n');
    if (text) isAfterReturn = text.endsWith('\r');
    const pieces = text.slice(Number(isSecondHalf)).split(/\r\n|\r|\n/);
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) {
        if (endsRecord()) {
          yield { event, id, data: data as string };
          data = undefined;
        }
        if (line === '') event = '';
        line = '';
        lineBytes = 0;
      }
      line += piece;
      lineBytes += sizeOf(piece);
      check(lineBytes, limits.lineBytes, 'line_too_long', 'A line', 'longer');
    }
  };
}

function check(
  bytes: number,
  limit: number,
  code: 'line_too_long' | 'event_too_large',
  what: string,
  how: string,
): void {
  if (bytes <= limit) return;
  throw new MillraceError(code, `${what} of the stream is ${how} than ${limit} bytes.`);
}

// True for an object or an array of JSON whose last bracket is the end of the text.
function looksComplete(given: string): boolean {
  const text = given.trim();
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at] as string;
    if (inString && letter === '\\') at += 1;
    else if (letter === '"') inString = !inString;
    else if (!inString && '[{'.includes(letter)) depth += 1;
    else if (!inString && ']}'.includes(letter)) depth -= 1;
    if (depth === 0) return at > 0 && at + 1 === text.length;
  }
  return false;
}
