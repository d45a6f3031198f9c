// Text that comes in small pieces. V8 keeps a sum of strings as a tree of all its pieces, which weigh
// several times their text, and copies them when it collects: characters in a buffer cost neither. A buffer that is
// full becomes a string of its own: one that grew on would stand there twice whenever it moves.

/** Characters of one byte for as long as there are no others. */
export class GrowingText {
  // The beginning.
  #blocks: string[] | undefined;
  #before = 0;
  // What is behind the blocks.
  #units: Uint8Array | Uint16Array = none;
  #length = 0;
  // What was looked at last, until more comes.
  #text: string | undefined;

  constructor(text = '') {
    if (text !== '') this.add(text);
  }

  add(piece: string): void {
    const { length } = piece;
    const end = this.#length + length;
    if (this.#units.BYTES_PER_ELEMENT === 1 && isWide(piece)) this.#widen();
    if (end > this.#units.length) this.#grow(end);
    if (length > mostLooped) this.#write(piece);
    else this.#copy(piece);
    this.#length = end;
    this.#text = undefined;
    if (end >= blockLength) this.#beginBlock();
  }

  get length(): number {
    return this.#before + this.#length;
  }

  get text(): string {
    return (this.#text ??= this.from(0));
  }

  /** What is behind so many characters. */
  from(start: number): string {
    let text = '';
    let before = 0;
    for (const block of this.#blocks ?? []) {
      if (start < before + block.length) text += block.slice(Math.max(0, start - before));
      before += block.length;
    }
    return text + this.#behind(Math.max(0, start - before));
  }

  #behind(start: number): string {
    const { BYTES_PER_ELEMENT: bytes } = this.#units;
    return this.#bytes.toString(this.#encoding, start * bytes, this.#length * bytes);
  }

  #beginBlock(): void {
    (this.#blocks ??= []).push(this.#behind(0));
    this.#before += this.#length;
    this.#length = 0;
    // A wide or a long one is seldom needed again.
    const { BYTES_PER_ELEMENT: bytes, length } = this.#units;
    if (bytes > 1 || length > 2 * blockLength) this.#units = none;
  }

  get #encoding(): 'latin1' | 'utf16le' {
    return this.#units.BYTES_PER_ELEMENT === 1 ? 'latin1' : 'utf16le';
  }

  get #bytes(): Buffer {
    return Buffer.from(this.#units.buffer, 0, this.#units.byteLength);
  }

  #write(piece: string): void {
    this.#bytes.write(piece, this.#length * this.#units.BYTES_PER_ELEMENT, this.#encoding);
  }

  #copy(piece: string): void {
    const units = this.#units;
    for (let at = 0; at < piece.length; at += 1) units[this.#length + at] = piece.charCodeAt(at);
  }

  #widen(): void {
    const units = new Uint16Array(this.#units.length);
    units.set(this.#units.subarray(0, this.#length));
    this.#units = units;
  }

  #grow(least: number): void {
    const room = Math.max(least, leastRoom, Math.ceil(this.#length * 1.5));
    const isNarrow = this.#units.BYTES_PER_ELEMENT === 1;
    const units = isNarrow ? new Uint8Array(room) : new Uint16Array(room);
    units.set(this.#units.subarray(0, this.#length));
    this.#units = units;
  }
}

function isWide(piece: string): boolean {
  if (piece.length > mostLooped) return wide.test(piece);
  for (let at = 0; at < piece.length; at += 1) if (piece.charCodeAt(at) > 0xff) return true;
  return false;
}

const none = new Uint8Array(0);
const blockLength = 1 << 16;
const wide = /[^\0-\xff]/;
const leastRoom = 64;
// Characters that are read sooner one by one than by a call.
const mostLooped = 48;
