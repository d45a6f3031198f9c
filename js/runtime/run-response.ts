// The AG-UI response of a durable run: bytes as the engine makes them of its records.
import type { RunResponse, RunTexts } from '../agent/durable-types';
import { errorFromNative, rethrow } from '../errors';
import { engine } from '../transport/engine';

interface Head {
  run: string;
  status: number;
}

/** Resolves when the run is found or begun; rejects with what is wrong before that. */
export function respond(runtime: number, texts: RunTexts): Promise<RunResponse> {
  return new Promise((resolve, reject) => new RunBody(runtime, texts, resolve, reject));
}

class RunBody {
  readonly #native = engine();
  readonly #id: number;
  readonly #resolve: (response: RunResponse) => void;
  readonly #reject: (error: unknown) => void;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #hasHead = false;
  #isOver = false;
  // The engine calls when something comes.
  #isAwaited = true;

  constructor(
    runtime: number,
    { plan, input, options }: RunTexts,
    resolve: (response: RunResponse) => void,
    reject: (error: unknown) => void,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    try {
      const json = JSON.stringify(options);
      this.#id = this.#native.runBytes(runtime, plan, input, json, this.#deliver);
    } catch (error) {
      rethrow(error);
    }
  }

  readonly #deliver = (head?: string, data?: string | Buffer, end?: string): boolean => {
    this.#isAwaited = false;
    if (head !== undefined) this.#open(JSON.parse(head) as Head);
    if (data !== undefined && !this.#isOver) this.#controller.enqueue(data as Buffer);
    if (end !== undefined) this.#end(end);
    this.#isAwaited = !this.#isOver && (!this.#hasHead || (this.#controller.desiredSize ?? 0) > 0);
    return this.#isAwaited;
  };

  #open({ run, status }: Head): void {
    this.#hasHead = true;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#cancel(),
      },
      { highWaterMark: 1 },
    );
    this.#resolve({ run, status, body });
  }

  #pull(): void {
    if (this.#isAwaited || this.#isOver) return;
    this.#isAwaited = true;
    this.#native.take(this.#id);
  }

  #cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#native.cancel(this.#id);
  }

  #end(error: string): void {
    if (!this.#hasHead) this.#reject(errorFromNative(error));
    else if (!this.#isOver && error === '') this.#controller.close();
    else if (!this.#isOver) this.#controller.error(errorFromNative(error));
    this.#isOver = true;
  }
}
