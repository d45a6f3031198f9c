// Two waits of a run: of the engine's output for its readers, and of callers for its record.
import type { MillraceError } from '../errors';
import type { ReplayEvents } from '../runs/replay-events';

// Characters that a reader may lag behind before the run waits for it.
const mostLag = 1 << 22;
// The same where the store has what follows, and the end is not waited for.
const mostStoredLag = 1 << 13;

/** How far the readers of a run are behind it. */
export class ReaderLag {
  readonly #events: ReplayEvents;
  #wake: (() => void) | undefined;

  constructor(events: ReplayEvents) {
    this.#events = events;
  }

  /** `isStored`: the store has what follows, and the end is not waited for. */
  isTooLong(isStored: boolean): boolean {
    return this.#events.lag > (isStored ? mostStoredLag : mostLag);
  }

  /** Resolves with the next `changed`. */
  change(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  /** A reader took something or left, or a caller waits for the end. */
  changed(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

/** When a run that is recorded is stored, or why it could not be. */
export class Commit {
  readonly done: Promise<void>;
  settle: (error?: MillraceError) => void = () => undefined;

  constructor(isRecorded: boolean) {
    this.done = new Promise((resolve, reject) => {
      if (isRecorded) this.settle = (error) => (error ? reject(error) : resolve());
      else resolve();
    });
    // The result of the run reports it as well.
    this.done.catch(() => undefined);
  }
}
