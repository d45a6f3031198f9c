// Where a browser comes back to after an authorization: a listener on this machine's loopback address.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A port that waits for one person. */
export interface CallbackListener {
  /** The address to come back to. */
  readonly url: string;
  /** Resolves to the address that the browser came to with this state. */
  arrival(state: string): Promise<string>;
  close(): void;
}

const path = '/callback';
const origin = 'http://127.0.0.1';
const page = (text: string): string =>
  `<!doctype html><meta charset="utf-8"><title>Millrace</title><p>${text}</p>\n`;

/** Listens on the port, or on a free one for 0; rejects when the port is taken. */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const arrivals = new Map<string, (url: string) => void>();
  const server = createServer((request, response) => {
    const { url: requested = '/' } = request;
    // A program with the port may request anything, also what is no address.
    const address = new URL(URL.canParse(requested, origin) ? requested : '/', origin);
    const state = address.searchParams.get('state') ?? '';
    const arrived = address.pathname === path ? arrivals.get(state) : undefined;
    // A request without the state is not that of the user who was sent.
    response.writeHead(arrived ? 200 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(
      page(arrived ? 'You can close this window and go back to the terminal.' : 'Nothing is here.'),
    );
    arrived?.(`${url}${address.search}`);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  return {
    url,
    arrival: (state) => new Promise((resolve) => arrivals.set(state, resolve)),
    close: () => {
      server.close();
      // The page is on its way to the browser.
      setTimeout(() => server.closeAllConnections(), 1000).unref();
    },
  };
}
