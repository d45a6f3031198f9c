// How streamed text is handed over: at once, in steps of 300 ms, or smoothly at the speed at which it
// comes. No piece ends within a surrogate pair or a joined emoji, and the pieces are the whole text.

/** How streamed text appears. */
export type TextAnimation = 'none' | 'fadeIn' | 'smooth';

const flushEveryMs = 300;
const frameMs = 16;
const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Text on its way to a reader. */
export interface TextChannel {
  push(text: string): void;
  /** Hands over what waits, as one piece, and stops every timer. */
  flush(): void;
}

/** A channel of this kind; `speed` is what `smooth` begins with, in characters a second. */
export function makeTextChannel(
  animation: TextAnimation,
  speed: number,
  give: (text: string) => void,
): TextChannel {
  if (animation === 'none') return new ImmediateChannel(give);
  return animation === 'fadeIn' ? new SteppedChannel(give) : new SmoothChannel(give, speed);
}

// What every kind shares: text that waits.
abstract class Waiting implements TextChannel {
  protected text = '';
  readonly #give: (text: string) => void;

  constructor(give: (text: string) => void) {
    this.#give = give;
  }

  push(text: string): void {
    this.text += text;
    this.arrived();
  }

  flush(): void {
    this.stop();
    this.giveUpTo(this.text.length);
  }

  protected abstract arrived(): void;
  protected abstract stop(): void;

  protected giveUpTo(end: number): void {
    if (end <= 0) return;
    const piece = this.text.slice(0, end);
    this.text = this.text.slice(end);
    this.#give(piece);
  }

  /** Behind the last character that the text to come cannot change. */
  protected get settled(): number {
    return this.text.length - openUnits(this.text);
  }
}

class ImmediateChannel extends Waiting {
  protected arrived(): void {
    this.giveUpTo(this.settled);
  }

  protected stop(): void {
    // Nothing runs.
  }
}

class SteppedChannel extends Waiting {
  #timer: NodeJS.Timeout | undefined;

  protected arrived(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.giveUpTo(this.settled);
    }, flushEveryMs);
  }

  protected stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The more waits, the faster it goes; the speed follows gradually. */
class SmoothChannel extends Waiting {
  readonly #startSpeed: number;
  #speed: number;
  #lastLength = 0;
  #lastFrame = 0;
  #creditMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(give: (text: string) => void, startSpeed: number) {
    super(give);
    this.#startSpeed = startSpeed;
    this.#speed = startSpeed;
  }

  protected arrived(): void {
    if (this.#timer) return;
    this.#lastFrame = performance.now();
    this.#creditMs = 0;
    this.#schedule();
  }

  protected stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #schedule(): void {
    this.#timer = setTimeout(() => this.#frame(), frameMs);
  }

  #frame(): void {
    this.#timer = undefined;
    const now = performance.now();
    this.#creditMs += now - this.#lastFrame;
    this.#lastFrame = now;
    const waiting = this.settled;
    const target = Math.max(this.#startSpeed, waiting);
    const rate = Math.min(1, 0.005 + 0.0008 * Math.abs(waiting - this.#lastLength));
    this.#lastLength = waiting;
    this.#speed += (target - this.#speed) * rate;
    const count = Math.min(waiting, Math.floor((this.#creditMs * this.#speed) / 1000));
    if (count > 0) {
      this.#creditMs -= (count * 1000) / this.#speed;
      this.giveUpTo(Math.min(waiting, graphemeEnd(this.text, count)));
    }
    if (this.settled > 0) this.#schedule();
  }
}

/** The end of the grapheme in which the first `count` units end. */
function graphemeEnd(text: string, count: number): number {
  const segment = segmenter.segment(text).containing(count - 1);
  return segment ? segment.index + segment.segment.length : count;
}

// Units at the end that form one character together with what follows: half of a surrogate pair, a
// joiner with what stands before it, or half of a flag.
function openUnits(text: string): number {
  const last = text.charCodeAt(text.length - 1);
  if (Number.isNaN(last) || last < 0x200d) return 0;
  if (last >= 0xd800 && last < 0xdc00) return 1 + openUnits(text.slice(0, -1));
  if (last === 0x200d) return text.length - lastSegment(text, text.length).index;
  const segment = lastSegment(text, text.length);
  return isHalfFlag(segment.segment) ? segment.segment.length : 0;
}

function lastSegment(text: string, end: number): Intl.SegmentData {
  // A grapheme is short; a long text is not taken apart for it.
  const from = Math.max(0, end - 64);
  const tail = text.slice(from, end);
  const segment = segmenter.segment(tail).containing(tail.length - 1) as Intl.SegmentData;
  return { ...segment, index: from + segment.index };
}

function isHalfFlag(grapheme: string): boolean {
  const point = grapheme.codePointAt(0) ?? 0;
  return grapheme.length === 2 && point >= 0x1f1e6 && point <= 0x1f1ff;
}
