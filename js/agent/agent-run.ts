// AgentRun: an agent's run as its user holds it. The run goes on in the engine whether or not it is
// read.
import { AsyncResource } from 'node:async_hooks';

import type { RunCheckpoint } from '../../types/agent-run';
import type { AGUIEvent, ResumeEntry, RunEvent } from '../../types/events';
import type { UserMessage } from '../../types/messages';
import { onAbort } from '../abort';
import { EngineEventReader } from '../adapters/engine-events';
import { errorFromNative, MillraceError } from '../errors';
import type { AgentCall } from '../model/call';
import { nextTurn } from '../real-timers';
import { toAGUIResponse } from '../runs/ag-ui';
import { rememberBytes } from '../runs/engine-bytes';
import { eventsIn, eventsOf, isEvent } from '../runs/engine-items';
import { ReplayEvents } from '../runs/replay-events';
import type { ReadRun } from '../runs/run-reader';
import { RunReader } from '../runs/run-reader';
import type { RunOptions } from '../runs/run-source';
import { Wakes } from '../runs/wakes';
import { itemsOf } from '../transport/batches';
import { rememberSuspended } from './suspended-tools';
import type { AgentResult } from './agent-result';
import type { DurablePart } from './durable-types';
import { type AgentDecisions, answersOf, checkDecisions } from './decisions';
import { HostCalls } from './host-calls';
import { HostFetches } from './host-fetches';
import { asError, resultOf, textOf } from './run-end';
import type { ResumeOptions, RunHost } from './run-host';
import type { Begun, Item, ReportedResult } from './run-items';
import { RunByteReaders } from './run-byte-readers';
import { Commit, ReaderLag } from './run-waits';
import { SentMessages } from './sent-messages';

/**
 * A run of an agent.
 *
 * - `for await (const event of run)` gives the events of an AG-UI run. A second loop gives them again.
 * - `result`, `text()` and `state` wait for the end.
 * - `response()` is an AG-UI response.
 *
 * Leaving the last loop or response stops the run, unless `result` or `text()` waits for it.
 */
export class AgentRun implements AsyncIterable<RunEvent> {
  readonly threadId: string;
  readonly runId: string;
  /** `protocolVersion` of the client's input, which decides what its responses may hold. */
  readonly protocolVersion: string | undefined;
  readonly #host: RunHost<AgentRun>;
  readonly #call: AgentCall;
  readonly #calls: HostCalls;
  readonly #fetches: HostFetches | undefined;
  readonly #scope = new AsyncResource('MillraceAgentRun');
  readonly #reader = new EngineEventReader({ extended: true, logSkipped: false });
  #done: Promise<AgentResult>;
  readonly #events: ReplayEvents;
  readonly #byteReaders: RunByteReaders;
  // What it is read as is known when the code that made it is done.
  #reads: 'nothing' | 'events' | 'bytes' = 'nothing';
  #over = false;
  // Of a request, whose response alone is read.
  #isAnswer = false;
  // What the engine asked for before it heard of the stop is not begun.
  #isStopped = false;
  #waiters = 0;
  #otherReaders = 0;
  #isWatched = true;
  readonly #wakes = new Wakes();
  readonly #messages: SentMessages;
  readonly #lag: ReaderLag;
  #failure: MillraceError | undefined;
  #result: ReportedResult | undefined;
  #saved: RunCheckpoint | undefined;
  #seq = 0;
  readonly #commit: Commit;
  readonly #inputRead: Promise<void> | undefined;

  constructor(call: AgentCall, host: RunHost<AgentRun>) {
    this.threadId = host.threadId;
    this.runId = host.runId;
    this.protocolVersion = host.protocolVersion;
    this.#call = call;
    this.#host = host;
    this.#events = new ReplayEvents(host.replayBufferSize, { waits: true });
    this.#lag = new ReaderLag(this.#events);
    this.#messages = new SentMessages({
      ...{ call, durable: host.durable },
      ready: () => this.#whenReady(),
      isOver: () => this.#over,
    });
    this.#byteReaders = new RunByteReaders(call, host.replayBufferSize, () => this.#stopUnread());
    this.#calls = new HostCalls(host, call, this.#scope);
    if (host.send) this.#fetches = new HostFetches(call, this.#scope, host.send);
    this.#commit = new Commit(host.durable !== undefined);
    this.#done = this.#read();
    if (host.signal) {
      const leave = onAbort(host.signal, () => this.stop());
      this.#done = this.#done.finally(leave);
      if (host.signal.aborted) this.stop();
    }
    if (!host.durable) {
      rememberBytes(this, (options) =>
        this.#reads === 'nothing' ? this.#byteReaders.open(options) : undefined,
      );
    }
    if (host.readsLater) {
      this.#inputRead = this.#whenRead();
      // Behind those who wait for it and then ask for bytes.
      const begin = (): void => void nextTurn().then(() => this.#begin());
      this.#inputRead.then(begin, begin);
    } else {
      queueMicrotask(() => this.#begin());
    }
  }

  /**
   * Of a large input: when it is read, or why it cannot be. What is wrong with others is thrown before there is a run.
   * @internal
   */
  get inputRead(): Promise<void> | undefined {
    return this.#inputRead;
  }

  async #whenRead(): Promise<void> {
    await this.#call.open();
    // What is wrong came before.
    await nextTurn();
    if (this.#failure) throw this.#failure;
  }

  #begin(): void {
    const asBytes = this.#byteReaders.count > 0 && this.#events.readers === 0;
    this.#reads = asBytes ? 'bytes' : 'events';
    const reads = this.#isAnswer && this.#waiters === 0 ? 'response' : 'bytes';
    this.#call.beginRun(asBytes ? reads : 'items');
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<RunEvent> {
    const { threadId, runId } = this;
    if (this.#reads === 'bytes') {
      return this.#byteReaders.events({ type: 'RUN_STARTED', threadId, runId });
    }
    return new RunReader(this.#handle());
  }

  /**
   * The response of the run is all that is read: its result needs no text.
   * @internal
   */
  answers(): void {
    this.#isAnswer = true;
  }

  /** @internal */
  protected get durable(): DurablePart {
    return this.#host.durable as DurablePart;
  }

  /**
   * Ends the reading; the run goes on.
   * @internal
   */
  leave(): void {
    if (this.#over) return;
    this.#failure = new MillraceError('cancelled', 'The run is not read any more; it goes on.');
    this.#call.cancel();
  }

  /** @internal */
  protected get seq(): number {
    return this.#seq;
  }

  /** @internal */
  protected get committed(): Promise<void> {
    return this.#commit.done;
  }

  /**
   * Counts a reader that reads past this object; gives what ends that.
   * @internal
   */
  protected readsElsewhere(): () => void {
    this.#otherReaders += 1;
    this.#watch(true);
    return () => {
      this.#otherReaders -= 1;
      this.#stopUnread();
    };
  }

  // The last reader left. The engine knows whether a run that is recorded goes on.
  #stopUnread(): void {
    const readers = this.#events.readers + this.#byteReaders.count + this.#otherReaders;
    if (readers + this.#waiters > 0) return;
    if (this.#host.durable) this.#watch(false);
    else this.stop();
  }

  #watch(isWatched: boolean): void {
    if (this.#isWatched === isWatched) return;
    this.#isWatched = isWatched;
    this.#call.watch(isWatched);
  }

  /** How the run ended; never rejects. */
  get result(): Promise<AgentResult> {
    this.#waiters += 1;
    this.#watch(true);
    this.#lag.changed();
    return this.#done;
  }

  /**
   * The same for this package, which is no reader.
   * @internal
   */
  protected get ended(): Promise<AgentResult> {
    return this.#done;
  }

  /**
   * The last answer. Rejects when there is none: the run failed, was stopped, was ended by a limit (with the
   * reason as the code), or waits for a person (`run_interrupted`).
   */
  text(): Promise<string> {
    return this.result.then((result) => textOf(result, this.#host.signal));
  }

  /** The state after the last step, for runs that were started with `checkpoint` or `onCheckpoint`. */
  get state(): Promise<RunCheckpoint | undefined> {
    return this.result.then(() => this.#saved);
  }

  /** An AG-UI response of the run. */
  response(options: Omit<RunOptions, 'adapter' | 'threadId' | 'runId'> = {}): Response {
    const { threadId, runId } = this;
    return toAGUIResponse(this, { threadId, runId, ...options });
  }

  /**
   * Gives the run a message of the user, which the model gets with its next request. An answer that would have been the
   * last is followed by another one. The content is that of a user message: a text, or parts with media. Rejects with
   * `invalid_state` when the run is over, and without a runtime also when it waits.
   */
  send(content: UserMessage['content']): Promise<void> {
    return this.#messages.send('send', content);
  }

  /** The same at once: the answer is cut, what was shown of it is kept, and the calls at work are aborted. */
  interrupt(content: UserMessage['content']): Promise<void> {
    return this.#messages.send('interrupt', content);
  }

  // When it can be given a message.
  async #whenReady(): Promise<void> {
    await this.#commit.done;
    if (!this.#inputRead || this.#host.durable) return;
    await this.#inputRead;
    // It begins now.
    await nextTurn();
  }

  /** Ends the run: the model's connection, every tool, every other agent. */
  stop(): void {
    if (this.#over) return;
    this.#isStopped = true;
    this.#call.stop();
  }

  /**
   * Answers the questions of a run that was interrupted and goes on: true or false for all of them, or
   * a decision by the id of the question or of its tool call. The run that goes on has the signal of this
   * one unless it is given another, or null for none; where that was aborted, the questions stay open.
   */
  async resume(
    decisions: AgentDecisions | ResumeEntry[],
    options: ResumeOptions = {},
  ): Promise<AgentRun> {
    checkDecisions(decisions);
    const { interrupts = [] } = await this.result;
    return this.#host.goOn(answersOf(interrupts, decisions), options);
  }

  // What its readers may do. A failure is reported by an event and by `text`, not by a loop.
  #handle(): ReadRun {
    return {
      open: () => {
        this.#watch(true);
        return this.#events.open();
      },
      close: (cursor) => {
        this.#events.close(cursor);
        this.#lag.changed();
        this.#stopUnread();
      },
      isOver: () => this.#over,
      error: () => undefined,
      wait: (wake) => this.#wakes.add(wake),
      took: () => this.#lag.changed(),
    };
  }

  async #read(): Promise<AgentResult> {
    try {
      for (let output = await this.#call.read(); output; output = await this.#call.read()) {
        this.#take(output as string);
        while (this.#lag.isTooLong(this.#isStoredOnly)) await this.#lag.change();
      }
    } catch (error) {
      this.#failure = asError(error);
    }
    this.#over = true;
    // Whatever was stored has been reported before.
    this.#commit.settle(
      this.#failure ?? new MillraceError('cancelled', 'The run was stopped before it began.'),
    );
    this.#calls.end();
    this.#messages.end();
    this.#fetches?.end();
    this.#wakes.call();
    const { threadId, runId } = this;
    return resultOf({ threadId, runId }, this.#result, this.#failure);
  }

  // The store has what follows, and the end is not waited for.
  get #isStoredOnly(): boolean {
    return this.#host.durable !== undefined && this.#waiters === 0;
  }

  #take(output: string): void {
    const mark = this.#reader.mark;
    const items = itemsOf<Item>(output);
    // What the run alone needs is not retained for its readers.
    const replayed = eventsIn(items, output);
    const events = eventsOf(items, this.#reader);
    for (const item of items) if (!isEvent(item)) this.#takeOwn(item);
    if (replayed !== undefined) this.#events.add({ events, output: replayed, mark });
    this.#wakes.call();
  }

  #takeOwn(item: Exclude<Item, AGUIEvent | string>): void {
    switch (item.type) {
      case '@tool':
        if (!this.#isStopped) this.#calls.start(item.id, item.value);
        break;
      case '@withdraw':
        if (!this.#fetches?.withdraw(item.id)) this.#calls.withdraw(item.id);
        break;
      case '@fetch':
        if (!this.#isStopped) this.#fetches?.start(item.id, item.value);
        break;
      case '@fetched':
        this.#fetches?.taken(item.id);
        break;
      case '@checkpoint':
        this.#save({ state: item.state, context: item.context });
        break;
      case '@failed':
        this.#failure = errorFromNative(JSON.stringify(item.error));
        break;
      case '@run':
        this.#begins(item);
        break;
      case '@seq':
        this.#seq = item.seq;
        break;
      case '@sent':
        this.#messages.answered(item);
        break;
      case '@result': {
        const { type: _type, ...result } = item;
        this.#result = result;
        // Answers that were rejected leave the interrupts open.
        if (result.status !== 'error' && !this.#host.durable) {
          const { tools, suspended: requested } = this.#host;
          rememberSuspended(this.threadId, result.interrupts ?? [], tools, requested);
        }
        break;
      }
    }
  }

  // Of a run that was attached to, or has a key that was used before, the ids are known only now.
  #begins({ id, name, threadId, principal }: Begun): void {
    const { durable } = this.#host;
    if (durable) Object.assign(durable, { id, name, principal });
    (this as { threadId: string }).threadId = threadId;
    this.#commit.settle();
  }

  // A failure of the caller's own code is the caller's.
  #save(saved: RunCheckpoint): void {
    this.#saved = saved;
    const { onCheckpoint } = this.#host;
    if (onCheckpoint) this.#scope.runInAsyncScope(() => queueMicrotask(() => onCheckpoint(saved)));
  }
}
