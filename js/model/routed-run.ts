// A run in front of several channels: the next one is asked when one fails before anything was shown.
import type { ModelUsage } from '../../types/chat-stream';
import type { AGUIEvent } from '../../types/events';
import type { CallReport } from '../../types/model';
import { MillraceError } from '../errors';
import type { Taker } from '../runs/taker';
import { oneOf } from '../runs/taker';
import type { CallBatch } from './call-items';
import type { RunCall, RunItems } from './run';

/** One channel that may be asked. */
export interface RoutedChannel {
  /** Sends the request. */
  start(): RunCall;
  /** How it went. */
  report(failed?: { error: unknown }): void;
  /** True when no other channel is called after this error. */
  stops(error: unknown): Promise<boolean>;
}

/** The outputs of the first channel that shows something, or of the last one. */
export class RoutedItems implements RunItems {
  readonly #channels: Promise<readonly RoutedChannel[]>;
  readonly #signal: AbortSignal | null | undefined;
  readonly #earlier: CallReport[] = [];
  #at = 0;
  #call: RunCall | undefined;
  // What came before anything was shown.
  #held: CallBatch[] = [];
  #reported = false;
  #settled = false;
  #stopped = false;
  failure: MillraceError | undefined;

  constructor(channels: Promise<readonly RoutedChannel[]>, signal: AbortSignal | null | undefined) {
    this.#signal = signal;
    // The request is sent at once, with or without a reader.
    this.#channels = channels.then((list) => {
      if (this.#stopped || !list[0]) return list;
      try {
        this.#call = list[0].start();
      } catch {
        // It fails once more when it is read, where another channel may follow.
      }
      return list;
    });
    this.#channels.catch(() => undefined);
  }

  get report(): CallReport | undefined {
    const report = this.#call?.items.report;
    return report && this.#earlier.reduceRight(joined, report);
  }

  stop(): void {
    this.#stopped = true;
    this.#call?.stop();
  }

  done(): void {
    this.#call?.done();
  }

  /** It has no reader any more. */
  leave(): void {
    this.#stopped = true;
    this.#call?.leave();
  }

  next(taker: Taker<CallBatch>): void {
    this.#next().then(
      (batch) => (batch ? taker.take(batch) : taker.end()),
      (error: unknown) => taker.fail(error),
    );
  }

  async #next(): Promise<CallBatch | undefined> {
    const channels = await this.#channels;
    for (;;) {
      if (this.#settled && this.#held.length > 0) return this.#held.shift();
      const channel = channels[this.#at];
      if (!channel || (this.#stopped && !this.#call)) {
        this.failure = new MillraceError('cancelled', 'The run was stopped.');
        return undefined;
      }
      const isOver = await this.#step(channel, this.#at === channels.length - 1);
      if (isOver) return this.#held.shift();
    }
  }

  /** Takes one batch, or the end of the channel; true when nothing more comes. */
  async #step(channel: RoutedChannel, isLast: boolean): Promise<boolean> {
    let thrown: { value: unknown } | undefined;
    try {
      this.#call ??= channel.start();
      const { items } = this.#call;
      const batch = await oneOf<CallBatch>((taker) => items.next(taker));
      if (batch) {
        this.#held.push(batch);
        if (!this.#settled && batch.events.some(shows)) this.#settle(channel);
        return false;
      }
    } catch (error) {
      thrown = { value: error };
    }
    const failure = this.#call?.items.failure;
    const failed = thrown ? { error: thrown.value } : failure && { error: failure };
    const goesOn = failed !== undefined && !this.#settled && !this.#isLeft();
    this.#settle(channel, failed);
    if (goesOn && !isLast && !(await channel.stops(failed.error))) {
      this.#goOn();
      return false;
    }
    this.failure = failure;
    if (thrown && this.#held.length === 0) throw thrown.value;
    return true;
  }

  #isLeft(): boolean {
    return this.#stopped || this.#signal?.aborted === true;
  }

  // From here on the answer is this channel's.
  #settle(channel: RoutedChannel, failed?: { error: unknown }): void {
    this.#settled = true;
    if (this.#reported) return;
    this.#reported = true;
    channel.report(failed);
  }

  #goOn(): void {
    const report = this.#call?.items.report;
    if (report) this.#earlier.push(report);
    this.#call?.done();
    this.#call = undefined;
    this.#held = [];
    this.#reported = this.#settled = false;
    this.#at += 1;
  }
}

// What begins a run, and what went wrong so far, is nothing that a reader would miss.
const unseen = new Set<string>(['RUN_STARTED', 'RUN_ERROR', 'CUSTOM', 'RAW']);

/** Whether the channel after this one may still be asked without anybody noticing. */
export function isUnseen(type: string): boolean {
  return unseen.has(type);
}

function shows({ type }: AGUIEvent): boolean {
  return !isUnseen(type);
}

// A channel that was left is in the books of the one that answered.
function joined(report: CallReport, earlier: CallReport): CallReport {
  return {
    ...report,
    attempts: [...earlier.attempts, ...report.attempts],
    usage: sumOf(earlier.usage, report.usage),
  };
}

function sumOf(a: ModelUsage, b: ModelUsage): ModelUsage {
  if (a.source === 'unknown') return b;
  const sum = { ...a, ...b };
  const numbers = sum as Record<string, unknown>;
  for (const [name, value] of Object.entries(a)) {
    const other = (b as unknown as Record<string, unknown>)[name];
    if (typeof value === 'number' && typeof other === 'number') numbers[name] = value + other;
  }
  if (a.source === 'estimated') sum.source = 'estimated';
  return sum;
}
