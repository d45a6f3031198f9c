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
  let text = '';
  let timer: ReturnType<typeof setTimeout> | undefined;
  const giveUpTo = (end: number): void => {
    const piece = text.slice(0, end);
    text = text.slice(end);
    if (piece) give(piece);
  };
  const settled = (): number => text.length - openUnits(text);
  const giveSettled = (): void => giveUpTo(settled());
  const later = (work: () => void, ms: number): void => {
    timer ??= setTimeout(() => {
      timer = undefined;
      work();
    }, ms);
  };

  // Of `smooth`: the more waits, the faster it goes; the speed follows gradually.
  let speedNow = speed;
  let lastLength = 0;
  let lastFrame = 0;
  let creditMs = 0;
  const frame = (): void => {
    const now = performance.now();
    creditMs += now - lastFrame;
    lastFrame = now;
    const waiting = settled();
    const rate = Math.min(1, 0.005 + 0.0008 * Math.abs(waiting - lastLength));
    lastLength = waiting;
    speedNow += (Math.max(speed, waiting) - speedNow) * rate;
    const count = Math.min(waiting, Math.floor((creditMs * speedNow) / 1000));
    if (count > 0) {
      creditMs -= (count * 1000) / speedNow;
      giveUpTo(Math.min(waiting, graphemeEnd(text, count)));
    }
    if (settled() > 0) later(frame, frameMs);
  };

  return {
    push(piece) {
      text += piece;
      if (animation === 'none') return giveSettled();
      if (animation === 'fadeIn') return later(giveSettled, flushEveryMs);
      if (timer) return;
      lastFrame = performance.now();
      creditMs = 0;
      later(frame, frameMs);
    },
    flush() {
      clearTimeout(timer);
      timer = undefined;
      giveUpTo(text.length);
    },
  };
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
  if (!(last >= 0x200d)) return 0;
  if (last >= 0xd800 && last < 0xdc00) return 1 + openUnits(text.slice(0, -1));
  // A grapheme is short; a long text is not taken apart for it.
  const tail = text.slice(-64);
  const { segment = '' } = segmenter.segment(tail).containing(tail.length - 1) ?? {};
  return last === 0x200d || /^[\u{1f1e6}-\u{1f1ff}]$/u.test(segment) ? segment.length : 0;
}
