// Reads the events of a run, from the first on, whether they are kept already or still to come.
import type { RunEvent } from '../../types/events';
import type { EventCursor } from './replay-events';

/** A run, as its readers see it. */
export interface ReadRun {
  open(): EventCursor;
  close(cursor: EventCursor): void;
  isOver(): boolean;
  /** What the run could not be read for. */
  error(): { value: unknown } | undefined;
  /** Calls `wake` once, when something came or the run is over. */
  wait(wake: () => void): void;
  /** A reader went on. */
  took?(): void;
}

type Result = IteratorResult<RunEvent, undefined>;

interface Waiting {
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

export class RunReader implements AsyncIterableIterator<RunEvent> {
  readonly #run: ReadRun;
  readonly #cursor: EventCursor;
  #waiting: Waiting | undefined;
  // Who asks again before the answer is here is answered after it.
  #later: Waiting[] = [];
  #done = false;

  constructor(run: ReadRun) {
    this.#run = run;
    this.#cursor = run.open();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#waiting) {
        this.#later.push({ resolve, reject });
        return;
      }
      this.#waiting = { resolve, reject };
      this.#goOn();
    });
  }

  async return(): Promise<Result> {
    this.#leave();
    return { value: undefined, done: true };
  }

  // Answers those who wait, in their order, as far as there is something.
  readonly #goOn = (): void => {
    for (let waiting = this.#waiting; waiting; waiting = this.#waiting) {
      try {
        const result = this.#step();
        if (!result) return this.#run.wait(this.#goOn);
        waiting.resolve(result);
      } catch (error) {
        waiting.reject(error);
      }
      this.#waiting = this.#later.length > 0 ? this.#later.shift() : undefined;
    }
  };

  // The next event, or the end; undefined when it is still to come.
  #step(): Result | undefined {
    if (!this.#done) {
      const value = this.#cursor.next();
      this.#run.took?.();
      if (value) return { value: value as RunEvent, done: false };
      if (!this.#run.isOver()) return undefined;
      this.#leave();
      const error = this.#run.error();
      if (error) throw error.value;
    }
    return { value: undefined, done: true };
  }

  #leave(): void {
    if (this.#done) return;
    this.#done = true;
    this.#run.close(this.#cursor);
  }
}
