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
  const run = new RunBytes(source, options);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = await run.read();
        if (bytes === undefined) controller.close();
        else controller.enqueue(bytes);
      },
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
export async function pipeAGUI(
  source: RunSource,
  response: NodeResponse,
  options: RunOptions = {},
): Promise<void> {
  const run = new RunBytes(source, options);
  if (!response.headersSent) response.writeHead(200, headers);
  response.flushHeaders?.();
  let writable: (() => void) | undefined;
  const wakeUp = (): void => writable?.();
  const onClose = (): void => {
    run.cancel();
    wakeUp();
  };
  response.on('drain', wakeUp).on('close', onClose).on('error', onClose);
  try {
    while (!response.destroyed) {
      const bytes = await run.read();
      if (bytes === undefined) break;
      if (response.destroyed || response.write(bytes)) continue;
      await new Promise<void>((resolve) => {
        writable = resolve;
      });
    }
  } finally {
    run.cancel();
    response.off('drain', wakeUp).off('close', onClose);
    if (!response.destroyed) response.end();
  }
}
