// toAGUIResponse and pipeAGUI: answers of a server that AG-UI clients read.
import type { OutgoingHttpHeaders } from 'node:http';
import type { Writable } from 'node:stream';

import type { RunOptions, RunSource } from './run-bytes';
import { RunBytes } from './run-bytes';

const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
};

/**
 * Answers with one AG-UI run as server-sent events: RUN_STARTED at once, everything closed, one
 * RUN_FINISHED or RUN_ERROR, a comment every 15 s of silence. Leaving the response cancels the
 * source.
 */
export function toAGUIResponse(source: RunSource, options: RunOptions = {}): Response {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const run = new RunBytes(source, options, {
    write(bytes) {
      controller.enqueue(bytes);
      // One read, one piece: the next is fetched when it is asked for.
      return false;
    },
    end: () => controller.close(),
  });
  const body = new ReadableStream<Uint8Array>(
    {
      start: (made) => void (controller = made),
      pull: () => run.resume(),
      cancel: (reason) => run.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers });
}

/** What pipeAGUI needs of a response of `node:http`, `node:http2` or a framework on top of them. */
export interface NodeResponse extends Writable {
  headersSent: boolean;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  flushHeaders?(): void;
}

/**
 * As toAGUIResponse, into a Node response. Resolves when the run is written or the client is gone;
 * never rejects for what the source does.
 */
export function pipeAGUI(
  source: RunSource,
  response: NodeResponse,
  options: RunOptions = {},
): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      response.off('drain', resume).off('close', leave);
      if (!response.destroyed) response.end();
      resolve();
    };
    const write = (bytes: Uint8Array): boolean => !response.destroyed && response.write(bytes);
    const run = new RunBytes(source, options, { write, end });
    const resume = (): void => run.resume();
    const leave = (): void => {
      run.cancel();
      end();
    };
    if (!response.headersSent) response.writeHead(200, headers);
    response.flushHeaders?.();
    response.on('drain', resume).on('close', leave).on('error', leave);
    if (response.destroyed) leave();
    else resume();
  });
}
