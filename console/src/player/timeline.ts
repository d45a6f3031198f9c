// The records of a run on its own time, and what is shown at any moment of it.
import { View } from './fold';
import type { GivenMessage, RunRecord } from './run-record';

interface Entry {
  at: number;
  record?: RunRecord;
  message?: GivenMessage;
}

export class Timeline {
  readonly end: number;
  readonly #entries: Entry[];
  #view = new View();
  #next = 0;

  constructor(records: readonly RunRecord[], messages: readonly GivenMessage[]) {
    const begin = records[0]?.at ?? 0;
    const entries: Entry[] = records.map((record) => ({ at: record.at - begin, record }));
    const sent = new Set(
      records.map(({ fact }) => (fact?.type === 'MessageSent' ? fact['id'] : undefined)),
    );
    const given = messages
      .filter(({ id }) => id === undefined || !sent.has(id))
      .map((message) => ({ at: Math.max((message.createdAt ?? begin) - begin, 0), message }));
    // Messages come before the records of the same moment; the order is else that of the journal.
    this.#entries = [...given, ...entries].sort((a, b) => a.at - b.at);
    this.end = this.#entries.at(-1)?.at ?? 0;
  }

  /** What is shown at this time; the same object while time goes on, another after a step back. */
  at(time: number): View {
    const before = this.#entries[this.#next - 1];
    if (before && before.at > time) {
      this.#view = new View();
      this.#next = 0;
    }
    for (let entry = this.#entries[this.#next]; entry && entry.at <= time;) {
      if (entry.message) this.#view.given(entry.message);
      if (entry.record) this.#view.apply(entry.record);
      entry = this.#entries[++this.#next];
    }
    return this.#view;
  }

  /** The number of the last record that is shown. */
  get seq(): number {
    for (let at = this.#next - 1; at >= 0; at -= 1) {
      const record = this.#entries[at]?.record;
      if (record) return record.seq;
    }
    return 0;
  }

  /** When the next thing happens; undefined at the end. */
  get nextAt(): number | undefined {
    return this.#entries[this.#next]?.at;
  }
}
