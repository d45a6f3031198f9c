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
    (resolve, reject) => new ResponseReader<Head>(start, { resolve, reject }, options),
  );
}

// As the engine writes it; see lib/host/fetch_stream.hpp.
const roomHead = '{"hasRoom":true}';

// Ends the engine's stream of a body that was collected unread.
const unread = new FinalizationRegistry<() => void>((leave) => leave());

interface Opening<Head> {
  resolve(response: EngineResponse<Head>): void;
  reject(error: unknown): void;
}

type Controller = ReadableStreamDefaultController<Uint8Array>;

class ResponseReader<Head> {
  readonly #native = engine();
  readonly #id: number;
  // Until there is a head. Behind it, it would hold the body as what its promise gave.
  #opening: Opening<Head> | undefined;
  readonly #onRoom: (() => void) | undefined;
  // The engine holds this. A body that is not being read is held by its reader alone, so that it can be collected.
  #read: Controller | undefined;
  #unread: WeakRef<Controller> | undefined;
  #isOver = false;
  // The engine calls when something comes.
  #isAwaited = true;
  #endListening = noListener;

  constructor(
    start: (deliver: Deliver) => number,
    opening: Opening<Head>,
    { onRoom, signal }: ResponseOptions,
  ) {
    this.#opening = opening;
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
    if (data !== undefined && !this.#isOver) this.#controller()?.enqueue(data as Buffer);
    if (end !== undefined) this.#end(end);
    // A reader that waits for more has asked for it meanwhile.
    if (this.#opening && !this.#isOver) this.#isAwaited = true;
    if (!this.#isAwaited) this.#read = undefined;
    return this.#isAwaited;
  };

  #open(head: Head): void {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#unread = new WeakRef(controller);
        },
        pull: (controller) => this.#pull(controller),
        cancel: () => this.#cancel(),
      },
      { highWaterMark: 0 },
    );
    unread.register(body, () => this.#cancel(), this);
    this.#opening?.resolve({ head, body });
    this.#opening = undefined;
  }

  #controller(): Controller | undefined {
    return this.#read ?? this.#unread?.deref();
  }

  #pull(controller: Controller): void {
    if (this.#isAwaited || this.#isOver) return;
    this.#isAwaited = true;
    this.#read = controller;
    this.#native.take(this.#id);
  }

  #cancel(): void {
    if (this.#isOver) return;
    this.#finish();
    this.#native.cancel(this.#id);
  }

  #leave(reason: Error): void {
    if (this.#isOver) return;
    const controller = this.#controller();
    this.#cancel();
    if (this.#opening) this.#opening.reject(reason);
    else controller?.error(reason);
  }

  #finish(): void {
    this.#isOver = true;
    this.#read = undefined;
    this.#endListening();
    unread.unregister(this);
  }

  #end(error: string): void {
    const controller = this.#controller();
    if (this.#opening) this.#opening.reject(errorFromNative(error));
    else if (!this.#isOver && error === '') controller?.close();
    else if (!this.#isOver) controller?.error(errorFromNative(error));
    this.#finish();
  }
}
