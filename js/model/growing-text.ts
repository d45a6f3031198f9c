// Text that comes in small pieces. V8 keeps a sum of strings as a tree, 32 bytes a piece, until
// somebody looks at its characters: many pieces weigh several times their text.

export class GrowingText {
  #text: string;
  #pieces = 0;
  // What looking at a character gave; written so that the look is not optimised away.
  #seen = 0;

  constructor(text = '') {
    this.#text = text;
  }

  add(piece: string): void {
    this.#text += piece;
    this.#pieces += 1;
    // Flattening copies all of the text: the longer it is, the more pieces wait for it.
    if (this.#pieces < leastPieces || this.#pieces * pieceBytes < this.#text.length) return;
    this.#pieces = 0;
    this.#seen = this.#text.charCodeAt(this.#seen % 2);
  }

  get length(): number {
    return this.#text.length;
  }

  get text(): string {
    return this.#text;
  }
}

const leastPieces = 1024;
const pieceBytes = 32;
