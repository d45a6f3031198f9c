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

/** Throws `line_too_long` and `event_too_large`; nothing may be fed after that. */
export class SseFraming {
  readonly #limits: SseLimits;
  /**
   * A first data line that is a complete JSON document is given at its own line end, since some servers end a record
   * with a single line feed.
   */
  readonly #completeJson: boolean;
  #line = '';
  #lineBytes = 0;
  #isAfterReturn = false;
  #event = '';
  #id = '';
  #data: string | undefined;
  #dataBytes = 0;

  constructor(limits: SseLimits, completeJson: boolean) {
    this.#limits = limits;
    this.#completeJson = completeJson;
  }

  /** The records that end in this text. */
  *feed(text: string): Generator<SseRecord, void> {
    const isSecondHalf = this.#isAfterReturn && text.startsWith('\n');
    if (text) this.#isAfterReturn = text.endsWith('\r');
    const pieces = text.slice(Number(isSecondHalf)).split(/\r\n|\r|\n/);
    for (const [at, piece] of pieces.entries()) {
      if (at > 0) {
        const line = this.#line;
        this.#line = '';
        this.#lineBytes = 0;
        if (this.#endsRecord(line)) {
          const data = this.#data as string;
          this.#data = undefined;
          yield { event: this.#event, id: this.#id, data };
        }
        if (line === '') this.#event = '';
      }
      this.#line += piece;
      this.#lineBytes += sizeOf(piece);
      check(this.#lineBytes, this.#limits.lineBytes, 'line_too_long', 'A line', 'longer');
    }
  }

  #endsRecord(line: string): boolean {
    const [, name, value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? [];
    if (name === 'event') this.#event = value;
    if (name === 'id' && !value.includes('\0')) this.#id = value;
    if (name !== 'data') return line === '' && this.#data !== undefined;
    const isFirst = this.#data === undefined;
    this.#data = isFirst ? value : `${this.#data}\n${value}`;
    this.#dataBytes = sizeOf(value) + (isFirst ? 0 : this.#dataBytes + 1);
    check(this.#dataBytes, this.#limits.eventBytes, 'event_too_large', 'An event', 'larger');
    return isFirst && this.#completeJson && looksComplete(value);
  }
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
