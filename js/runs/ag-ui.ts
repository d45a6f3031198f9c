// toAGUIResponse and pipeAGUI: answers of a server that AG-UI clients read.
import type { OutgoingHttpHeaders } from 'node:http';
import type { Writable } from 'node:stream';

import { MillraceError } from '../errors';
import type { RunOut } from './run-bytes';
import { RunBytes } from './run-bytes';
import type { RunOptions, RunSource } from './run-source';
import { shown } from '../shown';
import { endOf, roomIn, stallOf } from './response-room';

const headersOf = (run: RunBytes): Record<string, string> => ({
  'Content-Type': run.contentType,
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
});

/**
 * Answers with one AG-UI run as server-sent events: RUN_STARTED at once, everything closed, one
 * RUN_FINISHED or RUN_ERROR, a comment every 15 s of silence. Leaving the response cancels the
 * source.
 */
export function toAGUIResponse(source: RunSource, options: RunOptions = {}): Response {
  return acceptedResponse(source, options, undefined);
}

/** The same for a client that sent this header `Accept`: frames of protobuf where it prefers them. */
export function acceptedResponse(
  source: RunSource,
  options: RunOptions,
  accept: string | undefined,
): Response {
  const out = new BodyOut();
  const run = new RunBytes(source, options, out, accept);
  const body = new ReadableStream<Uint8Array>(
    {
      start: (controller) => out.start(controller),
      pull: (controller) => {
        out.read(controller);
        run.resume();
      },
      cancel: (reason) => run.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  unread.register(body, run);
  return new Response(body, { headers: headersOf(run) });
}

// Ends the run of a body that was garbage-collected before its end, since it can no longer be read.
const unread = new FinalizationRegistry<RunBytes>((run) => run.cancel());

type Controller = ReadableStreamDefaultController<Uint8Array>;

// What a run knows of the body that it fills. A body that is not being read is held by its reader alone, so that it can be
// collected.
class BodyOut implements RunOut {
  #unread: WeakRef<Controller> | undefined;
  #read: Controller | undefined;

  start(controller: Controller): void {
    this.#unread = new WeakRef(controller);
  }

  /** A piece was asked for. */
  read(controller: Controller): void {
    this.#read = controller;
  }

  write(bytes: Uint8Array): boolean {
    this.#take()?.enqueue(bytes);
    // One read, one piece: the next is fetched when it is asked for.
    return false;
  }

  end(): void {
    this.#take()?.close();
  }

  #take(): Controller | undefined {
    const controller = this.#read ?? this.#unread?.deref();
    this.#read = undefined;
    return controller;
  }
}

/** What pipeAGUI needs of a response of `node:http`, `node:http2` or a framework on top of them. */
export interface NodeResponse extends Writable {
  headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  flushHeaders?(): void;
  /** Of `node:http2`. */
  readonly stream?: { readonly destroyed: boolean } | undefined;
}

/**
 * As toAGUIResponse, into a Node response. A client that takes less than 16 KB in a minute is disconnected. Resolves when
 * the run is written or the client is gone; never rejects for what the source does.
 */
export function pipeAGUI(
  source: RunSource,
  response: NodeResponse,
  options: RunOptions = {},
): Promise<void> {
  return pipeAccepted(source, response, options, undefined);
}

/** The same for a client that sent this header `Accept`. */
export function pipeAccepted(
  source: RunSource,
  response: NodeResponse,
  options: RunOptions,
  accept: string | undefined,
): Promise<void> {
  return new Promise((resolve) => {
    checkResponse(response);
    const out = new NodeOut(response, resolve);
    out.start(new RunBytes(source, options, out, accept));
  });
}

function checkResponse(response: unknown): void {
  const { writeHead, write, end, on } = (response ?? {}) as Record<string, unknown>;
  if ([writeHead, write, end, on].every((method) => typeof method === 'function')) return;
  throw new MillraceError(
    'invalid_argument',
    `pipeAGUI() writes into a Node response of node:http, not ${shown(response)}; for a web Response use toAGUIResponse().`,
  );
}

// What a run knows of the response that it is written to.
class NodeOut implements RunOut {
  readonly #response: NodeResponse;
  readonly #resolve: () => void;
  #run: RunBytes | undefined;

  constructor(response: NodeResponse, resolve: () => void) {
    this.#response = response;
    this.#resolve = resolve;
  }

  start(run: RunBytes): void {
    const response = this.#response;
    this.#run = run;
    if (!response.headersSent) response.writeHead(200, headersOf(run));
    response.flushHeaders?.();
    response.on('close', this.#leave).on('error', this.#leave);
    if (this.#isGone()) this.#leave();
    else run.resume();
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isGone()) return false;
    if (this.#response.write(bytes)) return true;
    void roomIn(this.#response, stallOf(this.#response)).then(() => {
      if (!this.#isGone()) this.#run?.resume();
    });
    return false;
  }

  end(): void {
    this.#response.off('close', this.#leave);
    if (!this.#isGone()) endOf(this.#response, stallOf(this.#response));
    this.#resolve();
  }

  // A response of node:http2 knows it of its stream alone.
  #isGone(): boolean {
    const { destroyed, stream } = this.#response;
    return destroyed === true || stream?.destroyed === true;
  }

  readonly #leave = (): void => {
    this.#run?.cancel();
    this.end();
  };
}
