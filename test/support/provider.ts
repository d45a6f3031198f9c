// A loopback model provider that is told what to answer, over real HTTP.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the provider received it. */
export interface Call {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
  /** Resolves when the connection of this call is closed. */
  readonly closed: Promise<void>;
}

type Answer = (response: ServerResponse, call: Call) => void | Promise<void>;

/** A provider on a free port. */
export interface Provider {
  readonly url: string;
  readonly calls: Call[];
  answer: Answer;
  close(): Promise<void>;
}

/** Answers with server-sent events in pieces. */
export function stream(pieces: Iterable<Uint8Array | string>, type = 'text/event-stream'): Answer {
  return async (response) => {
    response.writeHead(200, { 'content-type': type });
    for (const piece of pieces) {
      if (!response.write(piece)) await new Promise((resolve) => response.once('drain', resolve));
    }
    response.end();
  };
}

/** Starts a provider. */
export async function startProvider(answer: Answer = stream([])): Promise<Provider> {
  const calls: Call[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const call: Call = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
        closed: new Promise((resolve) => response.once('close', resolve)),
      };
      calls.push(call);
      void provider.answer(response, call);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const provider: Provider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    answer,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return provider;
}
