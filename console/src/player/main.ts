// The page of an exported run: plays it at its own timing.
import { Clock, timeText } from './clock';
import { Drawing } from './draw';
import { readHead, readRecords } from './records';
import type { RunHead } from './run-record';
import { Timeline } from './timeline';

// A wait that is longer can be skipped.
const longWaitMs = 2_000;

const element = <T extends HTMLElement>(id: string): T => document.getElementById(id) as T;

function begin(head: RunHead, timeline: Timeline): void {
  const clock = new Clock(timeline.end);
  const drawing = new Drawing(element('blocks'));
  const play = element<HTMLButtonElement>('play');
  const skip = element<HTMLButtonElement>('skip');
  const seek = element<HTMLInputElement>('seek');
  const speed = element<HTMLSelectElement>('speed');

  const show = (): void => {
    const isAtBottom = innerHeight + scrollY >= document.body.scrollHeight - 40;
    const view = timeline.at(clock.time);
    drawing.draw(view);
    play.textContent = clock.isPlaying ? 'Pause' : clock.isAtEnd ? 'Play again' : 'Play';
    seek.value = String(Math.round(clock.time));
    const time = `${timeText(clock.time)} of ${timeText(timeline.end)}`;
    element('time').textContent = time;
    seek.setAttribute('aria-valuetext', time);
    element('seq').textContent = `record ${timeline.seq}`;
    element('status').textContent = view.status;
    skip.disabled = (timeline.nextAt ?? 0) - clock.time <= longWaitMs;
    if (clock.isPlaying && isAtBottom) scrollTo(0, document.body.scrollHeight);
  };
  const frame = (now: number): void => {
    clock.tick(now);
    show();
    if (clock.isPlaying) requestAnimationFrame(frame);
  };
  const toggle = (): void => {
    if (clock.isPlaying) clock.pause();
    else clock.play(performance.now());
    requestAnimationFrame(frame);
  };

  play.addEventListener('click', toggle);
  seek.max = String(timeline.end);
  seek.addEventListener('input', () => {
    clock.seek(Number(seek.value));
    show();
  });
  speed.addEventListener('change', () => {
    clock.tick(performance.now());
    clock.speed = Number(speed.value);
  });
  skip.addEventListener('click', () => {
    clock.seek(timeline.nextAt ?? timeline.end);
    show();
  });
  addEventListener('keydown', (event) => {
    if (event.key !== ' ' || event.target !== document.body) return;
    event.preventDefault();
    toggle();
  });
  element('name').textContent = head.run.name;
  element('run').textContent = head.run.id;
  show();
}

async function start(): Promise<void> {
  const head = readHead();
  begin(head, new Timeline(await readRecords(), head.messages));
}

start().catch((error: unknown) => {
  const what = error instanceof Error ? error.message : String(error);
  element('status').textContent = `The run cannot be shown: ${what}`;
});
