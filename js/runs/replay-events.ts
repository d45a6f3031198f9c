// The events of a run, for readers at their own pace. What was read once is kept as the text it came
// as, a tenth of what its events weigh, and only so much of it.
import type { AGUIEvent } from '../../types/events';
import type { ReaderMark } from '../adapters/engine-events';
import { MillraceError } from '../errors';
import { GrowingText } from '../growing-text';
import { readAgain } from './engine-items';

/** Events that came at once. */
export interface ReplayBatch {
  /** The keeper's own from then on. */
  readonly events: AGUIEvent[];
  /** The text that they came as; it is what is kept. */
  readonly output: string;
  /** Where their reader stood before. */
  readonly mark: ReaderMark;
}

/** Some outputs of a run, at least so many events. */
interface Chunk {
  readonly number: number;
  /** Small ones stand together, a line each: by themselves they would weigh more than their text. */
  outputs: (string | GrowingText)[];
  /** Where the reader stood before the first of them. */
  mark: ReaderMark | undefined;
  count: number;
  /** Of the newest chunk while it has a reader: all readers have the same list. */
  events: AGUIEvent[] | undefined;
  /** Events that went from the beginning of the list, since each of its readers had them. */
  gone: number;
  size: number;
  next: Chunk | undefined;
  dropped: boolean;
}

export class ReplayEvents {
  /** Characters. */
  readonly #limit: number;
  readonly #waits: boolean;
  #cursors: readonly EventCursor[] = [];
  #first = newChunk(0);
  #last = this.#first;
  #size = 0;

  /** With `waits` nothing goes that a reader has not seen: the writer looks at `lag`. */
  constructor(limit: number, { waits = false }: { waits?: boolean } = {}) {
    this.#limit = limit;
    this.#waits = waits;
  }

  get readers(): number {
    return this.#cursors.length;
  }

  /** How far the slowest reader is behind, in characters; of the chunk that it reads, all. */
  get lag(): number {
    let first: Chunk | undefined;
    for (const cursor of this.#cursors) {
      const unread = cursor.unread;
      if (unread && (!first || unread.number < first.number)) first = unread;
    }
    let lag = 0;
    for (let chunk = first; chunk; chunk = chunk.next) lag += chunk.size;
    return lag;
  }

  add(batch: ReplayBatch): void {
    if (this.#last.count >= chunkEvents) this.#beginChunk();
    const chunk = this.#last;
    const { events, output, mark } = batch;
    chunk.mark ??= mark;
    keep(chunk, output);
    chunk.count += events.length;
    if (this.#cursors.length === 0) forgetEvents(chunk);
    if (chunk.events && !this.#replace(chunk, chunk.events, events)) {
      for (const event of events) chunk.events.push(event);
    }
    chunk.size += output.length;
    this.#size += output.length;
    this.#drop();
  }

  /** A reader from the beginning. */
  open(): EventCursor {
    const cursor = new EventCursor(this.#first, this.#eventsOf);
    this.#cursors = [...this.#cursors, cursor];
    return cursor;
  }

  close(cursor: EventCursor): void {
    this.#cursors = this.#cursors.filter((one) => one !== cursor);
  }

  // What every reader has read goes: objects that live no longer than that are all but free.
  #replace(chunk: Chunk, events: AGUIEvent[], newer: AGUIEvent[]): boolean {
    for (const cursor of this.#cursors) if (!cursor.isAtEndOf(events)) return false;
    chunk.gone += events.length;
    chunk.events = newer;
    for (const cursor of this.#cursors) cursor.goOnIn(newer);
    return true;
  }

  // For a reader that begins with the chunk.
  readonly #eventsOf = (chunk: Chunk): AGUIEvent[] => {
    if (chunk.dropped) throw new MillraceError('replay_unavailable', tooLong);
    if (chunk.events && chunk.gone === 0) return chunk.events;
    const all = chunk.mark ? readAgain(textsOf(chunk), chunk.mark) : [];
    if (chunk.next) return all;
    if (chunk.events) {
      for (const cursor of this.#cursors) cursor.shift(chunk.events, all, chunk.gone);
    }
    chunk.gone = 0;
    return (chunk.events = all);
  };

  #beginChunk(): void {
    const chunk = newChunk(this.#last.number + 1);
    forgetEvents(this.#last);
    this.#last.next = chunk;
    this.#last = chunk;
  }

  // What is too much to be kept and was seen by every reader goes; a reader that lags far behind
  // loses it, too.
  #drop(): void {
    if (this.#size <= this.#limit) return;
    let needed = this.#last.number;
    for (const cursor of this.#cursors) needed = Math.min(needed, cursor.chunk);
    const most = this.#waits ? Infinity : Math.max(this.#limit, leastLag);
    while (this.#first.next && (this.#first.number < needed || this.#size > most)) {
      this.#size -= this.#first.size;
      this.#first.outputs = [];
      this.#first.events = undefined;
      this.#first.dropped = true;
      this.#first = this.#first.next;
      if (this.#size <= this.#limit) return;
    }
  }
}

/** Where one reader stands. */
export class EventCursor {
  #chunk: Chunk;
  #events: AGUIEvent[] | undefined;
  #at = 0;
  readonly #eventsOf: (chunk: Chunk) => AGUIEvent[];

  constructor(first: Chunk, eventsOf: (chunk: Chunk) => AGUIEvent[]) {
    this.#eventsOf = eventsOf;
    // The beginning of the run went with the chunks before.
    this.#chunk = first.number === 0 ? first : { ...newChunk(first.number), ...dropped };
  }

  /** The first chunk that it needs. */
  get chunk(): number {
    const { number, next } = this.#chunk;
    return next && this.#events && this.#at === this.#events.length ? number + 1 : number;
  }

  /** The chunk that it has not read to its end, if there is one. */
  get unread(): Chunk | undefined {
    const { next, mark } = this.#chunk;
    const at = this.#events ? this.#events.length : mark === undefined ? 0 : Infinity;
    return this.#at < at ? this.#chunk : next;
  }

  /** It has read all of a list. */
  isAtEndOf(events: AGUIEvent[]): boolean {
    return this.#events === events && this.#at === events.length;
  }

  /** The list that it has read is followed by another. */
  goOnIn(events: AGUIEvent[]): void {
    this.#events = events;
    this.#at = 0;
  }

  /** A list that it reads has become another, with so many events before. */
  shift(from: AGUIEvent[], to: AGUIEvent[], before: number): void {
    if (this.#events !== from) return;
    this.#events = to;
    this.#at += before;
  }

  /** The next event; undefined when none has come yet. */
  next(): AGUIEvent | undefined {
    for (;;) {
      this.#events ??= this.#eventsOf(this.#chunk);
      const event = this.#events[this.#at];
      if (event) {
        this.#at += 1;
        return event;
      }
      if (!this.#chunk.next) return undefined;
      this.#chunk = this.#chunk.next;
      this.#events = undefined;
      this.#at = 0;
    }
  }
}

const chunkEvents = 512;
// What a reader may lag behind, however little is kept, in characters.
const leastLag = 1 << 20;
export const tooLong: string =
  'The run is longer than its replay buffer, so its beginning is gone. Read it once and as fast as others do, ' +
  'or raise `replayBufferSize`.';

const dropped = { events: undefined, dropped: true };

function newChunk(number: number): Chunk {
  return {
    number,
    outputs: [],
    mark: undefined,
    count: 0,
    events: undefined,
    gone: 0,
    size: 0,
    next: undefined,
    dropped: false,
  };
}

function keep({ outputs }: Chunk, output: string): void {
  if (output.length > mostSmall || output.includes('\n')) {
    outputs.push(output);
    return;
  }
  let lines = outputs.at(-1);
  if (!(lines instanceof GrowingText)) outputs.push((lines = new GrowingText()));
  lines.add(output);
  lines.add('\n');
}

function textsOf({ outputs }: Chunk): string[] {
  return outputs.flatMap((output) =>
    typeof output === 'string' ? output : output.text.split('\n').slice(0, -1),
  );
}

const mostSmall = 128;

function forgetEvents(chunk: Chunk): void {
  chunk.events = undefined;
  chunk.gone = 0;
}
