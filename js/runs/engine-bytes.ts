// The bytes of a run's AG-UI response as the engine writes them: no event becomes an object here.
import type { Output, Sink, Source } from '../transport/source';
import type { ReplayBytes } from './replay-bytes';
import { oneOf, type Taker } from './taker';

/** What of a call gives its bytes. */
interface ByteCall {
  next(taker: Taker<Output>): void;
  cancel(): void;
}

/** Undefined when the run has begun: its events are encoded here. */
type OpenBytes = (options: Record<string, unknown>) => Source | undefined;

const openers = new WeakMap<object, OpenBytes>();

/** Says how the bytes of a run are opened, for toAGUIResponse and pipeAGUI. */
export function rememberBytes(run: object, open: OpenBytes): void {
  openers.set(run, open);
}

/** The bytes of a run of the engine but its RUN_STARTED; undefined where there are events alone. */
export function bytesOf(source: object, options: Record<string, unknown>): Source | undefined {
  return openers.get(source)?.(options);
}

/** One reader's bytes. */
export class EngineBytes implements Source {
  readonly #call: ByteCall;
  // Where the events of the run may be read later on.
  readonly #retained: ReplayBytes | undefined;
  readonly #done: (left: boolean) => void;
  #sink: Sink | undefined;
  #pulling = false;
  #left = false;

  /** `done` is called once: with true when the reader left before the end. */
  constructor(call: ByteCall, retained: ReplayBytes | undefined, done: (left: boolean) => void) {
    this.#call = call;
    this.#retained = retained;
    this.#done = done;
  }

  async read(): Promise<Output | undefined> {
    const output = await oneOf<Output>((taker) => this.#call.next(taker));
    if (output === undefined) this.#end(undefined);
    else this.#retained?.add(output as Buffer);
    return output;
  }

  flow(sink: Sink): void {
    this.#sink = sink;
    this.#pull();
  }

  cancel(): Promise<void> {
    if (!this.#left) {
      this.#left = true;
      this.#sink = undefined;
      this.#done(true);
      if (this.#retained) this.#pull();
      else this.#call.cancel();
    }
    return Promise.resolve();
  }

  #pull(): void {
    if (this.#pulling) return;
    this.#pulling = true;
    this.#call.next(this.#taker);
  }

  readonly #taker: Taker<Output> = {
    take: (output) => {
      this.#pulling = false;
      this.#retained?.add(output as Buffer);
      if (this.#sink && !this.#sink.data(output)) this.#sink = undefined;
      if (this.#sink || this.#left) this.#pull();
    },
    end: () => this.#end(undefined),
    fail: (error) => this.#end({ value: error }),
  };

  #end(error: { value: unknown } | undefined): void {
    this.#pulling = false;
    this.#retained?.end();
    if (!this.#left) this.#done(false);
    this.#left = true;
    const sink = this.#sink;
    this.#sink = undefined;
    sink?.end(error);
  }
}
