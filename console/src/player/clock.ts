// Time of a run: it goes on at a speed while it plays.

export class Clock {
  /** Milliseconds since the first record. */
  time: number;
  speed = 1;
  isPlaying = false;
  readonly #end: number;
  #seen = 0;

  constructor(end: number) {
    this.#end = end;
    this.time = end;
  }

  get isAtEnd(): boolean {
    return this.time >= this.#end;
  }

  /** From the beginning where it stands at the end. */
  play(now: number): void {
    if (this.isAtEnd) this.time = 0;
    this.isPlaying = true;
    this.#seen = now;
  }

  pause(): void {
    this.isPlaying = false;
  }

  seek(time: number): void {
    this.time = Math.min(Math.max(time, 0), this.#end);
  }

  /** `now` is any clock's milliseconds. */
  tick(now: number): void {
    if (!this.isPlaying) return;
    this.seek(this.time + (now - this.#seen) * this.speed);
    this.#seen = now;
    if (this.isAtEnd) this.isPlaying = false;
  }
}

/** `1:02:03.4`, with tenths of a second. */
export function timeText(ms: number): string {
  const tenths = Math.floor(ms / 100);
  const seconds = Math.floor(tenths / 10);
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60];
  const hours = Math.floor(seconds / 3600);
  const text = (hours > 0 ? [hours, ...parts] : parts)
    .map((part, at) => (at === 0 ? String(part) : String(part).padStart(2, '0')))
    .join(':');
  return `${text}.${tenths % 10}`;
}
