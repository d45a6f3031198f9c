// ModelRun: one model call as its user holds it, to be read as often as wanted.
import type { ModelUsage } from '../../types/chat-stream';
import type { RunEvent } from '../../types/events';
import type { CallAttempt, CallReport } from '../../types/model';
import { MillraceError } from '../errors';
import { toAGUIResponse } from '../runs/ag-ui';
import { ReplayEvents } from '../runs/replay-events';
import type { RunOptions } from '../runs/run-source';
import type { ReadRun } from '../runs/run-reader';
import { RunReader } from '../runs/run-reader';
import type { Taker } from '../runs/taker';
import { Wakes } from '../runs/wakes';
import { shown } from '../shown';
import { messageOf } from '../thrown';
import type { CallBatch } from './call-items';
import { AnswerText, mostAnswer } from './answer-text';

/** The outputs of a call, one batch after the other. */
export interface RunItems {
  /** Known at the end. */
  readonly report: CallReport | undefined;
  readonly failure: MillraceError | undefined;
  /** Gives the next batch. */
  next(taker: Taker<CallBatch>): void;
}

/** What a run needs of the call behind it. */
export interface RunCall {
  readonly items: RunItems;
  stop(): void;
  /** Why it was stopped, when a signal did. */
  abortReason(): { value: unknown } | undefined;
  /** The call is over. */
  done(): void;
  /** It has no reader any more: closes the connection. */
  leave(): void;
  readonly threadId: string;
  readonly runId: string;
  /** Characters of output that are kept for a second reading. */
  readonly replayBufferSize: number;
}

// The reader of a run begins its call; without a reader it ends.
const unread = new FinalizationRegistry<RunCall>((call) => {
  call.done();
  call.leave();
});

/**
 * An answer on its way. The model is asked once, when the run is made, whatever is read of it and
 * how often:
 *
 * - `for await (const event of run)` gives the events of an AG-UI run, RUN_STARTED to RUN_FINISHED or
 *   RUN_ERROR. A second loop gives the same events again from memory.
 * - `text()`, `object()`, `usage` and `report` wait for the end.
 *
 * Who reads slowly slows the provider down; who reads nothing holds up nothing but the call. A reader
 * that lags behind others by more than is kept gets `replay_unavailable`. Leaving
 * a loop stops the call when it has no other reader: no other loop, no `text()`, `object()`, `usage` or
 * `report` that waits. A run that the program holds no longer ends as well.
 */
export class ModelRun implements AsyncIterable<RunEvent> {
  readonly #call: RunCall;
  readonly #answer: AnswerText;
  readonly #events: ReplayEvents;
  #waiters = 0;
  #pulling = false;
  readonly #wakes = new Wakes();
  #over = false;
  #error: { value: unknown } | undefined;

  constructor(call: RunCall) {
    this.#call = call;
    this.#answer = new AnswerText(Math.max(call.replayBufferSize, mostAnswer));
    this.#events = new ReplayEvents(call.replayBufferSize);
    unread.register(this, call, call);
  }

  /**
   * The call behind a run without a reader, for the run that is read in its place.
   * @internal
   */
  static callOf(run: ModelRun): RunCall {
    unread.unregister(run.#call);
    return run.#call;
  }

  get threadId(): string {
    return this.#call.threadId;
  }

  get runId(): string {
    return this.#call.runId;
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RunEvent> {
    return new RunReader(this.#handle);
  }

  /** An AG-UI response of the run, as toAGUIResponse makes it. */
  response(options: Omit<RunOptions, 'adapter'> = {}): Response {
    const { threadId, runId } = this.#call;
    const { protocol = 'ag-ui' } = options as { protocol?: unknown };
    if (protocol !== 'ag-ui') {
      throw new MillraceError(
        'invalid_option',
        `response() has no protocol ${shown(protocol)}, only 'ag-ui'; chat(payload, { protocol: 'lobe' }) gives LobeHub's stream.`,
      );
    }
    return toAGUIResponse(this, { threadId, runId, ...options });
  }

  /**
   * The text of the answer; a part that was taken back by a reset is not in it. Rejects with the
   * error of the call, with `response_too_large` for more than 2 Mi characters (or `replayBufferSize`). An
   * answer that was cut at the limit of its tokens is given as it is; `report` tells why it ended.
   */
  async text(): Promise<string> {
    await this.#finish();
    this.#throwIfFailed();
    return this.#answer.text;
  }

  /** The answer read as JSON: its text, or the arguments of its only tool call. */
  async object<T = unknown>(): Promise<T> {
    await this.#finish();
    this.#throwIfFailed();
    const [call, ...more] = this.#answer.toolCalls;
    const text = this.#answer.text.trim();
    const json = text === '' && call && more.length === 0 ? call.function.arguments : text;
    try {
      return JSON.parse(withoutFence(json)) as T;
    } catch (cause) {
      throw new MillraceError(
        'invalid_json',
        `The answer of the model is not JSON: ${messageOf(cause)}`,
        {
          detail: json.slice(0, shownLength),
          cause,
        },
      );
    }
  }

  /** Tokens of all attempts, known at the end of the call, however it ends; never rejects. */
  get usage(): Promise<ModelUsage> {
    return this.report.then(({ usage }) => usage);
  }

  /** What is known of the call at its end; never rejects. */
  get report(): Promise<CallReport> {
    return this.#finish().then(() => this.#call.items.report ?? noReport);
  }

  /** The requests that were sent, known at the end of the call. */
  get attempts(): Promise<CallAttempt[]> {
    return this.report.then(({ attempts }) => attempts);
  }

  /** Ends the call as cancelled; what has come stays readable. */
  stop(): void {
    if (!this.#over) this.#call.stop();
  }

  // What its readers may do.
  readonly #handle: ReadRun = {
    open: () => this.#events.open(),
    close: (cursor) => {
      this.#events.close(cursor);
      if (this.#events.readers === 0 && this.#waiters === 0) this.stop();
    },
    isOver: () => this.#over,
    error: () => this.#error,
    wait: (wake) => this.#pull(wake),
  };

  async #finish(): Promise<void> {
    this.#waiters += 1;
    try {
      while (!this.#over) await new Promise<void>((resolve) => this.#pull(resolve));
    } finally {
      this.#waiters -= 1;
    }
  }

  // Reads one batch for all who wait.
  #pull(wake: () => void): void {
    this.#wakes.add(wake);
    if (this.#pulling) return;
    this.#pulling = true;
    this.#call.items.next(this.#taker);
  }

  readonly #taker: Taker<CallBatch> = {
    take: (batch) => {
      try {
        this.#keep(batch);
      } catch (error) {
        // Of events that a hook gave and that have no reader. The caller waits for no answer.
        this.#fail(error);
        return;
      }
      this.#wakeAll();
    },
    end: () => {
      this.#end();
      this.#wakeAll();
    },
    fail: (error) => this.#fail(error),
  };

  // What the call still has to say is not read any more.
  #fail(error: unknown): void {
    this.#error = { value: error };
    this.#end();
    this.#call.leave();
    this.#wakeAll();
  }

  #wakeAll(): void {
    this.#pulling = false;
    this.#wakes.call();
  }

  #end(): void {
    this.#over = true;
    unread.unregister(this.#call);
    this.#call.done();
  }

  #keep(batch: CallBatch): void {
    for (const event of batch.events) this.#answer.add(event);
    this.#events.add(batch);
    // There is no reader to take it.
    if (this.#answer.tooLarge && this.#events.readers === 0) this.stop();
  }

  #throwIfFailed(): void {
    if (this.#error) throw this.#error.value;
    if (this.#answer.tooLarge) throw this.#answer.tooLarge;
    const { failure } = this.#call.items;
    if (!failure || failure.code === 'output_limit_reached') return;
    const aborted = failure.code === 'cancelled' ? this.#call.abortReason() : undefined;
    throw aborted ? aborted.value : failure;
  }
}

const shownLength = 512;
const noReport: CallReport = {
  provider: '',
  model: '',
  attempts: [],
  usage: { source: 'unknown' },
  notes: [],
};

// Models like to wrap JSON as Markdown does code.
function withoutFence(text: string): string {
  return /^```(?:json)?\s*\n([\s\S]*?)\n?```$/.exec(text)?.[1] ?? text;
}
