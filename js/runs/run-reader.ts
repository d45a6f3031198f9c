// Reads the events of a run, from the first on, whether they are kept already or still to come.
import type { AGUIEvent } from '../../types/events';
import type { EventCursor } from './kept-events';

/** A run, as its readers see it. */
export interface ReadRun {
  open(): EventCursor;
  close(cursor: EventCursor): void;
  isOver(): boolean;
  /** What the run could not be read for. */
  error(): { value: unknown } | undefined;
  /** Resolves when something came, or the run is over. */
  wait(): Promise<void>;
  /** A reader went on. */
  took?(): void;
}

export class RunReader implements AsyncIterableIterator<AGUIEvent> {
  readonly #run: ReadRun;
  readonly #cursor: EventCursor;
  #done = false;

  constructor(run: ReadRun) {
    this.#run = run;
    this.#cursor = run.open();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<AGUIEvent, undefined>> {
    while (!this.#done) {
      const event = this.#cursor.next();
      this.#run.took?.();
      if (event) return { value: event, done: false };
      if (this.#run.isOver()) {
        this.#leave();
        const error = this.#run.error();
        if (error) throw error.value;
      } else {
        await this.#run.wait();
      }
    }
    return { value: undefined, done: true };
  }

  async return(): Promise<IteratorResult<AGUIEvent, undefined>> {
    this.#leave();
    return { value: undefined, done: true };
  }

  #leave(): void {
    if (this.#done) return;
    this.#done = true;
    this.#run.close(this.#cursor);
  }
}
