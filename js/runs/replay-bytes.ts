// The bytes of a run's response, for readers of its events later on.
import { MillraceError } from '../errors';
import { tooLong } from './replay-events';
import { Wakes } from './wakes';

export class ReplayBytes {
  readonly #limit: number;
  #chunks: Buffer[] | undefined = [];
  #size = 0;
  #ended = false;
  readonly #wakes = new Wakes();

  /** More bytes than `limit` are not kept: none of them are. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  add(bytes: Buffer): void {
    if (!this.#chunks) return;
    this.#size += bytes.length;
    // A copy: their reader may take the memory of the bytes over.
    if (this.#size <= this.#limit) this.#chunks.push(Buffer.from(bytes));
    else this.#chunks = undefined;
    this.#wakes.call();
  }

  end(): void {
    this.#ended = true;
    this.#wakes.call();
  }

  /** All from the first on; rejects with `replay_unavailable`. */
  async *read(): AsyncGenerator<Buffer, undefined> {
    for (let at = 0; ;) {
      if (!this.#chunks) throw new MillraceError('replay_unavailable', tooLong);
      const chunk = this.#chunks[at];
      if (chunk) {
        at += 1;
        yield chunk;
      } else if (this.#ended) {
        return undefined;
      } else {
        await new Promise<void>((wake) => this.#wakes.add(wake));
      }
    }
  }
}
