// A model call on its way: of the engine, or driven here through a fetch function.
import { neverSent } from '../abort';
import type { Addon, Deliver, ModelCallStep, NativeModelCallPipe } from '../addon';
import { addon } from '../addon';
import { errorFromNative, MillraceError, rethrow } from '../errors';
import type { Taker } from '../runs/taker';
import { oneOf } from '../runs/taker';
import { engine } from '../transport/engine';
import type { Output } from '../transport/source';
import { FetchTransfer, type HostRequest, type TransferSink } from './fetch-transfer';

/** The three JSON texts that a call is made of; see read_model_call in lib/host/model_stream.hpp. */
export interface CallTexts {
  chain: string;
  payload: string;
  options: string;
}

/** One output after the other. Reading is what moves a call on when its reader was slow. */
export interface Call {
  /** A provider took the call. */
  readonly opened: boolean;
  /** Resolves when a provider took the call; rejects when none did, where the output is bytes. */
  open(): Promise<void>;
  /** The next output; undefined at the end. One call at a time. */
  read(): Promise<Output | undefined>;
  /** Gives the next output, as read() does. */
  next(taker: Taker<Output>): void;
  /** Answers a question to user code; "" leaves things as they are. */
  complete(question: number, json: string): void;
  /** Ends the call as cancelled; what it has to say about that still comes. */
  stop(): void;
  /** The reader is gone: closes the connection, nothing more comes. */
  cancel(): void;
}

export function startCall(texts: CallTexts, send: typeof fetch | undefined): Call {
  if (send) return new FetchCall(texts, send);
  const { chain, payload, options } = texts;
  return startEngineCall((native, deliver) =>
    native.startModelCall(chain, payload, options, deliver),
  );
}

/** A stream of the engine that user code answers questions of: a model call, an agent's run. */
export function startEngineCall(start: (native: Addon, deliver: Deliver) => number): Call {
  return new EngineCall(start);
}

/** What is read of a run besides its bytes: all items, those without events, or no text of the result either. */
export type RunReads = 'items' | 'bytes' | 'response';

/** An agent's run. It waits for beginRun(), so that bytes can be asked for before its first event. */
export interface AgentCall extends Call {
  /** The bytes of the run's AG-UI response but its RUN_STARTED. */
  bytes(options: Record<string, unknown>): Call;
  /** Starts the run. */
  beginRun(reads: RunReads): void;
  /** Whether what comes has a reader, which counts for a run that outlives its readers. */
  watch(isWatched: boolean): void;
  /** Gives a run that is not recorded a message of the user, its content as JSON; an `@sent` item answers it. */
  message(command: 'send' | 'interrupt', id: number, contentJson: string): void;
}

export function startAgentCall(start: (native: Addon, deliver: Deliver) => number): AgentCall {
  return new EngineAgentCall(start);
}

/** A reader of a durable run, which begins by itself and whose bytes are made of its events. */
export function startDurableCall(start: (native: Addon, deliver: Deliver) => number): AgentCall {
  return new DurableCall(start);
}

/** What both kinds share: outputs that wait for their reader, a head, an end. */
abstract class WaitingOutputs {
  #outputs: Output[] = [];
  #size = 0;
  // Waits for an output.
  #taker: Taker<Output> | undefined;
  // Waits for the head, and asks again after whatever comes before it.
  #wake: (() => void) | undefined;
  #opened = false;
  #ended = false;
  #error: { value: unknown } | undefined;

  get opened(): boolean {
    return this.#opened;
  }

  /** What waits for the reader, in characters or bytes. */
  protected get waiting(): number {
    return this.#size;
  }

  protected get ended(): boolean {
    return this.#ended;
  }

  protected get isAwaited(): boolean {
    return this.#taker !== undefined;
  }

  /** The reader waits: something may be asked for. */
  protected abstract want(): void;

  async open(): Promise<void> {
    while (!this.#opened && !this.#ended) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.want();
      });
    }
    if (this.#error) throw this.#error.value;
  }

  read(): Promise<Output | undefined> {
    return oneOf<Output>((taker) => this.next(taker));
  }

  next(taker: Taker<Output>): void {
    const output = this.#outputs.shift();
    if (output !== undefined) {
      this.#size -= output.length;
      // A list that was filled keeps its room.
      if (this.#outputs.length === 0) this.#outputs = [];
      taker.take(output);
    } else if (this.#error) {
      taker.fail(this.#error.value);
    } else if (this.#ended) {
      taker.end();
    } else {
      this.#taker = taker;
      this.want();
    }
  }

  protected give(output: Output): void {
    const taker = this.#taker;
    if (taker) {
      this.#taker = undefined;
      taker.take(output);
      return;
    }
    this.#outputs.push(output);
    this.#size += output.length;
    this.#goOn();
  }

  protected begin(): void {
    this.#opened = true;
    this.#goOn();
  }

  /** Nothing comes behind the last output. */
  protected end(error?: { value: unknown }, last?: Output): void {
    this.#ended = true;
    this.#error = error;
    if (last !== undefined) this.give(last);
    const taker = this.#taker;
    this.#taker = undefined;
    if (taker) this.next(taker);
    this.#goOn();
  }

  #goOn(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}

class EngineCall extends WaitingOutputs implements Call {
  readonly #native = engine();
  readonly #id: number;
  // The first delivery comes without being asked for.
  #requested = true;

  constructor(start: (native: Addon, deliver: Deliver) => number) {
    super();
    try {
      this.#id = start(this.#native, this.#deliver);
    } catch (error) {
      rethrow(error);
    }
  }

  protected get id(): number {
    return this.#id;
  }

  readonly #deliver = (head?: string, data?: Output, end?: string): boolean => {
    this.#requested = false;
    if (head !== undefined) this.begin();
    if (end !== undefined) this.end(end === '' ? undefined : { value: errorFromNative(end) }, data);
    else if (data !== undefined) this.give(data);
    // A head alone is no output.
    if (!this.#requested && this.isAwaited) return (this.#requested = true);
    return false;
  };

  protected want(): void {
    if (this.#requested || this.ended) return;
    this.#requested = true;
    this.#native.take(this.#id);
  }

  complete(question: number, json: string): void {
    if (!this.ended) this.#native.completeHook(this.#id, question, json);
  }

  stop(): void {
    if (!this.ended) this.#native.stopModelCall(this.#id);
  }

  cancel(): void {
    if (this.ended) return;
    this.#native.cancel(this.#id);
    this.end();
  }
}

class EngineAgentCall extends EngineCall implements AgentCall {
  bytes(options: Record<string, unknown>): Call {
    const json = JSON.stringify(options);
    return new EngineCall((native, deliver) => native.agentBytes(this.id, json, deliver));
  }

  beginRun(reads: RunReads): void {
    if (!this.ended) engine().command(this.id, 'begin', 0, reads, '');
  }

  watch(): void {
    // It ends with its last reader.
  }

  message(command: 'send' | 'interrupt', id: number, text: string): void {
    if (!this.ended) engine().command(this.id, command, id, text, '');
  }
}

class DurableCall extends EngineCall implements AgentCall {
  bytes(): Call {
    throw new MillraceError('internal', 'A durable run has no bytes of its own.');
  }

  beginRun(): void {
    // It did when it was opened.
  }

  message(): void {
    throw new MillraceError('internal', 'A durable run takes messages by its runtime.');
  }

  watch(isWatched: boolean): void {
    if (!this.ended) engine().command(this.id, 'watch', 0, isWatched ? '1' : '', '');
  }
}

type CallRequest =
  | ({ do: 'send' | 'dispatch' } & HostRequest)
  | { do: 'abandon' | 'open' | 'pause' }
  | { do: 'wait'; ms: number }
  | { do: 'end'; error: string };

/** The same call with a fetch function for its transport: bytes go through this thread. */
class FetchCall extends WaitingOutputs implements Call {
  readonly #pipe: NativeModelCallPipe;
  readonly #send: typeof fetch;
  // The transfer that runs; what comes of another is dropped.
  #transfer: FetchTransfer | undefined;
  #timer: NodeJS.Timeout | undefined;
  // User code has events: no more may come meanwhile.
  #paused = false;
  #goOn: (() => void) | undefined;

  constructor({ chain, payload, options }: CallTexts, send: typeof fetch) {
    super();
    this.#send = send;
    try {
      this.#pipe = new (addon().ModelCallPipe)(chain, payload, options);
      this.#follow(this.#pipe.start());
    } catch (error) {
      rethrow(error);
    }
  }

  // What runs here runs by itself, until too much waits.
  protected want(): void {
    this.#goOn?.();
  }

  complete(question: number, json: string): void {
    if (this.ended) return;
    this.#paused = false;
    this.#follow(this.#pipe.complete(question, json));
    this.#goOn?.();
  }

  stop(): void {
    if (this.ended) return;
    clearTimeout(this.#timer);
    this.#follow(this.#pipe.stop(this.#send !== neverSent));
    this.#goOn?.();
  }

  cancel(): void {
    if (this.ended) return;
    this.stop();
    this.end();
  }

  #follow([requests, output]: ModelCallStep): void {
    if (output !== undefined) this.give(output);
    if (requests === undefined) return;
    for (const request of JSON.parse(requests) as CallRequest[]) {
      // A reader may have ended the call on the way: what runs is left, and nothing else begun.
      const isLast = request.do === 'abandon' || request.do === 'dispatch';
      if (!this.ended || isLast) this.#do(request);
    }
  }

  #do(request: CallRequest): void {
    switch (request.do) {
      case 'send':
        this.#transfer = this.#transferOf(request);
        break;
      case 'dispatch':
        new FetchTransfer(this.#send, request, unread);
        break;
      case 'abandon':
        this.#transfer?.abort();
        this.#transfer = undefined;
        break;
      case 'wait':
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.#follow(this.#pipe.timer()), request.ms);
        break;
      case 'open':
        this.begin();
        break;
      case 'pause':
        this.#paused = true;
        break;
      case 'end':
        clearTimeout(this.#timer);
        this.end(request.error ? { value: errorFromNative(request.error) } : undefined);
        break;
    }
  }

  #transferOf(request: HostRequest): FetchTransfer {
    const transfer: FetchTransfer = new FetchTransfer(this.#send, request, {
      head: (json) => this.#follow(this.#pipe.head(json)),
      data: (bytes) => this.#follow(this.#pipe.data(bytes)),
      done: (code, message) => {
        if (this.#transfer === transfer) this.#transfer = undefined;
        this.#follow(this.#pipe.done(code, message));
        this.#goOn?.();
      },
      room: () => this.#room(),
    });
    return transfer;
  }

  // While its reader lags behind, a transfer waits.
  #room(): Promise<void> | undefined {
    if (!this.#paused && this.waiting <= mostWaiting) return undefined;
    return new Promise<void>((resolve) => {
      this.#goOn = () => {
        this.#goOn = undefined;
        resolve();
      };
    });
  }
}

// Of a transfer whose answer has no reader.
const unread: TransferSink = {
  head: () => undefined,
  data: () => undefined,
  done: () => undefined,
  room: () => undefined,
};

// Characters or bytes that wait for a reader before no more is fetched.
const mostWaiting = 1 << 16;
