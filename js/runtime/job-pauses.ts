// What a job waits for. One that does nothing but wait leaves the memory: its run goes on when the time has come.
import type { HostWork } from './host-work';

// A pause that is shorter is waited for here.
const leastPauseMs = 5000;
// A job that has done nothing but wait for this long leaves the memory. One that was entered again is most likely where
// it was; it leaves at once, so that a process that ends soon does not count against it.
const settleMs = 1000;
// How soon it is looked again whether what the job did is recorded.
const recordingMs = 20;
const longestTimer = 2 ** 31 - 1;

export class JobPauses {
  readonly #work: HostWork;
  #atWork = 0;
  // When each pause is over; Infinity: when something happens.
  readonly #pauses = new Set<{ until: number }>();
  readonly #timers = new Set<LongTimer>();
  #idle: NodeJS.Timeout | undefined;

  readonly #settleMs: number;

  constructor(work: HostWork, isEnteredAgain: boolean) {
    this.#work = work;
    this.#settleMs = isEnteredAgain ? 0 : settleMs;
    work.onLeft = () => this.leave();
  }

  /** The run stays in memory meanwhile. */
  async atWork<T>(work: () => Promise<T>): Promise<T> {
    this.#atWork += 1;
    this.#look();
    try {
      return await work();
    } finally {
      this.#atWork -= 1;
      this.#look();
    }
  }

  /** Waits for a time; never ends where there is none. */
  async until(at: number | undefined): Promise<void> {
    await this.either(at, new Promise<never>(() => undefined));
  }

  /** What happens, or undefined where a time comes first. */
  async either<T>(at: number | undefined, happens: Promise<T>): Promise<{ value: T } | undefined> {
    const { signal } = this.#work;
    signal.throwIfAborted();
    const pause = { until: at ?? Infinity };
    this.#pauses.add(pause);
    this.#look();
    let stop: () => void = () => undefined;
    const stopped = new Promise<never>((_resolve, reject) => {
      stop = () => reject(signal.reason as Error);
      signal.addEventListener('abort', stop);
    });
    const timer = new LongTimer(at);
    this.#timers.add(timer);
    try {
      const happened = happens.then((value) => ({ value }));
      return await Promise.race([happened, timer.over, stopped]);
    } finally {
      signal.removeEventListener('abort', stop);
      timer.clear();
      this.#timers.delete(timer);
      this.#pauses.delete(pause);
      this.#look();
    }
  }

  /** Something happened. */
  look(): void {
    this.#look();
  }

  /** The run goes on elsewhere. */
  leave(): void {
    clearTimeout(this.#idle);
    for (const timer of this.#timers) timer.clear();
  }

  // Whether nothing is done but waiting, for long.
  #look(atLeastMs = 0): void {
    clearTimeout(this.#idle);
    if (this.#atWork > 0 || this.#pauses.size === 0 || this.#work.isOver) return;
    this.#idle = setTimeout(() => this.#suspend(), Math.max(this.#settleMs, atLeastMs));
    this.#idle.unref();
  }

  #suspend(): void {
    if (this.#work.isOver || this.#work.signal.aborted) return;
    if (this.#work.isRecording) return this.#look(recordingMs);
    const until = Math.min(...[...this.#pauses].map((pause) => pause.until));
    if (until - Date.now() < leastPauseMs) return;
    const { seen } = this.#work;
    void this.#work.show({ event: 'idle', seen, ...(Number.isFinite(until) && { until }) });
  }
}

// The run at work keeps the process alive, not its timers. It is over after the time that was left when it began: a clock that
// is set back meanwhile makes it no longer.
class LongTimer {
  readonly over: Promise<undefined>;
  #timer: NodeJS.Timeout | undefined;
  #isCleared = false;

  constructor(at: number | undefined) {
    this.over = new Promise((resolve) => {
      if (at !== undefined) this.#start(at - Date.now(), resolve);
    });
  }

  clear(): void {
    this.#isCleared = true;
    clearTimeout(this.#timer);
  }

  #start(rest: number, resolve: (over: undefined) => void): void {
    if (this.#isCleared) return;
    if (rest <= 0) return resolve(undefined);
    const part = Math.min(rest, longestTimer);
    this.#timer = setTimeout(() => this.#start(rest - part, resolve), part).unref();
  }
}
