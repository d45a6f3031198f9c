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

const lineFeed = 10;
const carriageReturn = 13;
const byteOrderMark = [0xef, 0xbb, 0xbf];

export interface SseOptions extends SseLimits {
  /**
   * A first data line that is a complete JSON document is given at its own line end, since some servers end a record
   * with a single line feed.
   */
  completeJson: boolean;
  give(record: SseRecord): void;
}

/** Throws `line_too_long` and `event_too_large`; nothing may be fed after that. */
export class SseFraming {
  readonly #options: SseOptions;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  // Pieces of a line that is not complete.
  #carry: Uint8Array[] = [];
  #carryBytes = 0;
  #isFirstLine = true;
  #skipLineFeed = false;
  #event = '';
  #id = '';
  #data: string[] = [];
  #dataBytes = 0;

  constructor(options: SseOptions) {
    this.#options = options;
  }

  feed(bytes: Uint8Array): void {
    let at = this.#skipLineFeed && bytes[0] === lineFeed ? 1 : 0;
    if (bytes.length > 0) this.#skipLineFeed = false;
    // Where the next of each kind is, so that none is searched for twice.
    let feedAt = bytes.indexOf(lineFeed, at);
    let returnAt = bytes.indexOf(carriageReturn, at);
    while (feedAt !== -1 || returnAt !== -1) {
      const isReturn = returnAt !== -1 && (feedAt === -1 || returnAt < feedAt);
      const end = isReturn ? returnAt : feedAt;
      const line = this.#line(bytes.subarray(at, end));
      at = end + 1;
      if (isReturn && at === bytes.length) this.#skipLineFeed = true;
      else if (isReturn && bytes[at] === lineFeed) at += 1;
      const next = bytes[at];
      this.#take(line, next === lineFeed || next === carriageReturn);
      if (feedAt !== -1 && feedAt < at) feedAt = bytes.indexOf(lineFeed, at);
      if (returnAt !== -1 && returnAt < at) returnAt = bytes.indexOf(carriageReturn, at);
    }
    // A copy: the chunk is the stream's, which may use its memory again.
    if (at < bytes.length) this.#keep(bytes.slice(at));
  }

  /** The stream has ended: what is not terminated is given, too. */
  finish(): void {
    const line = this.#line(new Uint8Array());
    if (line.length > 0) this.#take(line, false);
    this.#giveHeld();
  }

  #keep(piece: Uint8Array): void {
    this.#carryBytes += piece.length;
    this.#checkLine(this.#carryBytes);
    this.#carry.push(piece);
  }

  #checkLine(bytes: number): void {
    const { lineBytes } = this.#options;
    if (bytes <= lineBytes) return;
    throw new MillraceError(
      'line_too_long',
      `A line of the stream is longer than ${lineBytes} bytes.`,
    );
  }

  #line(end: Uint8Array): Uint8Array {
    let line = end;
    if (this.#carryBytes > 0) {
      this.#keep(end);
      line = new Uint8Array(this.#carryBytes);
      let at = 0;
      for (const piece of this.#carry) {
        line.set(piece, at);
        at += piece.length;
      }
      this.#carry = [];
      this.#carryBytes = 0;
    } else {
      this.#checkLine(end.length);
    }
    if (!this.#isFirstLine) return line;
    this.#isFirstLine = false;
    return byteOrderMark.every((byte, at) => line[at] === byte) ? line.subarray(3) : line;
  }

  #take(bytes: Uint8Array, blankFollows: boolean): void {
    if (bytes.length === 0) {
      this.#giveHeld();
      this.#event = '';
      return;
    }
    const line = this.#decoder.decode(bytes);
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') {
      // What stands before the value is ASCII.
      this.#takeData(value, bytes.length - (line.length - value.length), blankFollows);
    } else if (name === 'event') {
      this.#event = value;
    } else if (name === 'id' && !value.includes('\0')) {
      this.#id = value;
    }
  }

  #takeData(value: string, bytes: number, blankFollows: boolean): void {
    const { eventBytes, completeJson } = this.#options;
    const isFirst = this.#data.length === 0;
    this.#dataBytes += bytes + (isFirst ? 0 : 1);
    if (this.#dataBytes > eventBytes) {
      throw new MillraceError(
        'event_too_large',
        `An event of the stream is larger than ${eventBytes} bytes.`,
      );
    }
    this.#data.push(value);
    if (isFirst && (blankFollows || (completeJson && looksComplete(value)))) {
      this.#data = [];
      this.#dataBytes = 0;
      this.#options.give({ event: this.#event, id: this.#id, data: value });
    }
  }

  #giveHeld(): void {
    if (this.#data.length === 0) return;
    const data = this.#data.join('\n');
    this.#data = [];
    this.#dataBytes = 0;
    this.#options.give({ event: this.#event, id: this.#id, data });
  }
}

// True for an object or an array of JSON whose last bracket is the end of the text.
function looksComplete(given: string): boolean {
  const text = given.trim();
  if (text.length < 2 || (text[0] !== '{' && text[0] !== '[')) return false;
  let depth = 0;
  let inString = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (inString) {
      if (letter === '\\') at += 1;
      else if (letter === '"') inString = false;
    } else if (letter === '"') {
      inString = true;
    } else if (letter === '{' || letter === '[') {
      depth += 1;
    } else if (letter === '}' || letter === ']') {
      depth -= 1;
      if (depth <= 0) return depth === 0 && at + 1 === text.length;
    }
  }
  return false;
}
