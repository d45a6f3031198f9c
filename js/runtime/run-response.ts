// Responses that the engine makes: a head, then bytes as fast as they are read.
import { noListener, onAbort, reasonOf } from '../abort';
import type { RunResponse, RunTexts } from '../agent/durable-types';
import type { Deliver } from '../addon';
import { errorFromNative, rethrow } from '../errors';
import { engine } from '../transport/engine';

/** The head as the engine gives it, and the body. */
export interface EngineResponse<Head> {
  head: Head;
  body: ReadableStream<Uint8Array>;
}

/** The AG-UI response of a durable run. Resolves when the run is found or begun; rejects with what is wrong before. */
export async function respond(
  runtime: number,
  { plan, input, options }: RunTexts,
): Promise<RunResponse> {
  const json = JSON.stringify(options);
  const { head, body } = await engineResponse<Omit<RunResponse, 'body'>>((deliver) =>
    engine().runBytes(runtime, plan, input, json, deliver),
  );
  return { ...head, body };
}

/** What a response knows of its request. */
export interface ResponseOptions {
  /** Ends the response when it aborts. */
  signal?: AbortSignal | undefined;
  /** Called whenever a piece of the body of the request may come. */
  onRoom?: () => void;
}

/** Resolves with the head of the stream that `start` begins; rejects with its end before that. */
export function engineResponse<Head>(
  start: (deliver: Deliver) => number,
  options: ResponseOptions = {},
): Promise<EngineResponse<Head>> {
  return new Promise(
    (resolve, reject) => new ResponseReader<Head>(start, resolve, reject, options),
  );
}

// As the engine writes it; see lib/host/fetch_stream.hpp.
const roomHead = '{"hasRoom":true}';

class ResponseReader<Head> {
  readonly #native = engine();
  readonly #id: number;
  readonly #resolve: (response: EngineResponse<Head>) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onRoom: (() => void) | undefined;
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #hasHead = false;
  #isOver = false;
  // The engine calls when something comes.
  #isAwaited = true;
  #endListening = noListener;

  constructor(
    start: (deliver: Deliver) => number,
    resolve: (response: EngineResponse<Head>) => void,
    reject: (error: unknown) => void,
    { onRoom, signal }: ResponseOptions,
  ) {
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onRoom = onRoom;
    try {
      this.#id = start(this.#deliver);
    } catch (error) {
      rethrow(error);
    }
    if (this.#isOver) return;
    this.#endListening = onAbort(signal, () => this.#leave(reasonOf(signal)));
    if (signal?.aborted) this.#leave(reasonOf(signal));
  }

  readonly #deliver = (head?: string, data?: string | Buffer, end?: string): boolean => {
    this.#isAwaited = false;
    if (head === roomHead) this.#onRoom?.();
    else if (head !== undefined) this.#open(JSON.parse(head) as Head);
    if (data !== undefined && !this.#isOver) this.#controller.enqueue(data as Buffer);
    if (end !== undefined) this.#end(end);
    this.#isAwaited = !this.#isOver && (!this.#hasHead || (this.#controller.desiredSize ?? 0) > 0);
    return this.#isAwaited;
  };

  #open(head: Head): void {
    this.#hasHead = true;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => void (this.#controller = controller),
        pull: () => this.#pull(),
        cancel: () => this.#cancel(),
      },
      { highWaterMark: 0 },
    );
    this.#resolve({ head, body });
  }

  #pull(): void {
    if (this.#isAwaited || this.#isOver) return;
    this.#isAwaited = true;
    this.#native.take(this.#id);
  }

  #cancel(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#native.cancel(this.#id);
  }

  #leave(reason: Error): void {
    if (this.#isOver) return;
    this.#cancel();
    if (this.#hasHead) this.#controller.error(reason);
    else this.#reject(reason);
  }

  #finish(): void {
    this.#isOver = true;
    this.#endListening();
  }

  #end(error: string): void {
    if (!this.#hasHead) this.#reject(errorFromNative(error));
    else if (!this.#isOver && error === '') this.#controller.close();
    else if (!this.#isOver) this.#controller.error(errorFromNative(error));
    this.#finish();
  }
}
