// Reads the log of a job to its end, across lost connections and restarts of the server.
import { api, ApiError } from './api';
import { isLast } from './fold';
import { EventFrames } from './sse';
import type { JobEvent } from './types';

export interface JobReading {
  job: string;
  /** The place that the reader has. */
  after: string;
  signal: AbortSignal;
  onEvents: (events: readonly JobEvent[]) => void;
  /** Whether the server is reached. */
  onConnection: (isLive: boolean) => void;
}

const firstPauseMs = 300;
const longestPauseMs = 5000;
// The server sends something every second while a job works, and at least every ten seconds.
const silenceMs = 30_000;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });

const isPassing = (status: number): boolean => status === 0 || status === 429 || status >= 500;

/** Resolves at the end of the job, or once the signal is aborted. Throws where the job cannot be read. */
export async function readJob(reading: JobReading): Promise<void> {
  const { signal } = reading;
  let after = reading.after;
  let pauseMs = firstPauseMs;
  while (!signal.aborted) {
    try {
      const end = await readOnce({ ...reading, after }, (events) => {
        after = events.at(-1)?.id || after;
        pauseMs = firstPauseMs;
      });
      if (end) return;
    } catch (error) {
      if (signal.aborted) return;
      // The server, or a proxy before it, may be back soon; other refusals stay.
      if (error instanceof ApiError && !isPassing(error.status)) throw error;
    }
    reading.onConnection(false);
    await pause(pauseMs, signal);
    pauseMs = Math.min(pauseMs * 2, longestPauseMs);
  }
}

// True once the last event was read.
async function readOnce(
  { job, after, signal, onEvents, onConnection }: JobReading,
  onPlace: (events: readonly JobEvent[]) => void,
): Promise<boolean> {
  const silence = new AbortController();
  const both = AbortSignal.any([signal, silence.signal]);
  const stall = (): void => silence.abort();
  let timer = setTimeout(stall, silenceMs);
  try {
    const { body } = await api.stream(job, after, both);
    if (!body) return false;
    onConnection(true);
    const frames = new EventFrames();
    const decoder = new TextDecoder();
    const reader = body.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(stall, silenceMs);
      const events = frames.feed(decoder.decode(value, { stream: true }));
      if (events.length === 0) continue;
      onPlace(events);
      onEvents(events);
      if (events.some(isLast)) return true;
    }
  } finally {
    clearTimeout(timer);
  }
}
