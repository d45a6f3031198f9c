// The iterator behind parse(): outputs of a pipe in, events out, one at a time.
import type { AGUIEvent } from '../../types/events';
import type { Output, Source } from '../transport/body';
import { leaveBody } from '../transport/body';

/** Takes outputs apart. */
export interface EventReader {
  load(output: Output): void;
  /** The next event of what was loaded; undefined when it is used up. */
  next(): AGUIEvent | undefined;
}

/**
 * An iterator written by hand: an async generator costs three times as much an event.
 * Nothing happens before the first next(). Leaving the loop cancels the body.
 */
export class EventStream implements AsyncIterableIterator<AGUIEvent> {
  readonly #response: Response;
  readonly #open: (response: Response) => Source;
  readonly #reader: EventReader;
  #source: Source | undefined;
  #done = false;
  // What loaded() met and next() has not thrown yet.
  #failure: { error: unknown } | undefined;
  // The read that is under way; calls of next() wait for it in their order.
  #reading: Promise<void> | undefined;

  constructor(response: Response, open: (response: Response) => Source, reader: EventReader) {
    this.#response = response;
    this.#open = open;
    this.#reader = reader;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<AGUIEvent, undefined>> {
    if (this.#reading) return this.#reading.then(() => this.next());
    if (this.#failure) return this.#fail(this.#failure.error);
    let event: AGUIEvent | undefined;
    try {
      event = this.#done ? undefined : this.#reader.next();
    } catch (error) {
      return this.#fail(error);
    }
    if (event) {
      // Nothing follows an error of the run.
      if (event.type === 'RUN_ERROR') this.#stop();
      return Promise.resolve({ value: event, done: false });
    }
    if (this.#done) return Promise.resolve({ value: undefined, done: true });
    return this.#fill().then(() => this.next());
  }

  /** The events that can be had without waiting. An error among them is for the next next(). */
  loaded(): AGUIEvent[] {
    const events: AGUIEvent[] = [];
    while (!this.#done && !this.#reading && !this.#failure) {
      try {
        const event = this.#reader.next();
        if (!event) break;
        events.push(event);
        if (event.type === 'RUN_ERROR') this.#stop();
      } catch (error) {
        this.#failure = { error };
      }
    }
    return events;
  }

  // Reads until there is an output, or the body ended; an error is this call's own.
  #fill(): Promise<void> {
    const filling = this.#read();
    const clear = (): void => {
      this.#reading = undefined;
    };
    this.#reading = filling.then(clear, clear);
    return filling;
  }

  async #read(): Promise<void> {
    try {
      this.#source ??= this.#open(this.#response);
      const output = await this.#source.read();
      if (output === undefined) this.#done = true;
      else if (!this.#done) this.#reader.load(output);
    } catch (error) {
      this.#done = true;
      throw error;
    }
  }

  async #fail(error: unknown): Promise<never> {
    this.#failure = undefined;
    this.#stop();
    throw error;
  }

  #stop(): void {
    this.#done = true;
    void this.#source?.cancel();
  }

  async return(value?: unknown): Promise<IteratorResult<AGUIEvent, undefined>> {
    await this.#leave();
    // As a generator: `yield*` hands on what its own return() was called with.
    return { value: (await value) as undefined, done: true };
  }

  async throw(error?: unknown): Promise<IteratorResult<AGUIEvent, undefined>> {
    await this.#leave(error);
    throw error;
  }

  async #leave(reason?: unknown): Promise<void> {
    const body = (this.#response as Response | undefined)?.body;
    const untouched = !this.#source && !this.#done;
    this.#done = true;
    if (this.#source) await this.#source.cancel(reason);
    // Left before it began: the body has no other reader.
    else if (untouched && body && !body.locked) leaveBody(body, reason);
  }
}
