// A loopback HTTP server for one test file.
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Loopback {
  url: string;
  server: Server;
  close(): Promise<void>;
}

export async function loopback(listener: RequestListener): Promise<Loopback> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return { url, server, close };
}

/** Calls the listener of the request's path; 404 without one. */
export function routes(
  table: Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>,
): RequestListener {
  return (request, response) => {
    const path = new URL(request.url ?? '/', 'http://localhost').pathname;
    const route = table[path];
    if (route) void route(request, response);
    else response.writeHead(404).end();
  };
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  return body;
}

/** Waits until the condition holds. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  for (const end = Date.now() + 10_000; Date.now() < end;) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`it never happened: ${what}`);
}
