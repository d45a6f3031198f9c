// How pages send requests: through fetch.
import type { ChannelPlatform } from '../channels/platform';
import type { Transport } from '../transport/request';
import { MillraceError } from '../errors';
import { htmlPage } from './html-page';

/** Options of everything in a page that sends requests. */
export interface PageTransportOptions {
  /** Sends through this function; default: the page's own. */
  fetch?: typeof fetch | undefined;
  /** There is no other one in a page. */
  transport?: 'fetch' | undefined;
}

// What the engine's transport has in Node, and a page has not.
const nodeOptions: Readonly<Record<string, string>> = {
  origin: 'a URL of a page is relative to the page',
  timeouts: 'give a signal, for instance AbortSignal.timeout(60000)',
};

export function pageTransport(
  owner: string,
  _urlOption: string,
  _url: string,
  options: PageTransportOptions,
): Transport {
  const fail = (sentence: string): never => {
    throw new MillraceError('invalid_option', `${owner}: ${sentence}`);
  };
  const { fetch: given, transport } = options;
  if (given !== undefined && typeof given !== 'function') fail('fetch must be a function.');
  if (transport !== undefined && transport !== 'fetch') {
    fail("transport must be 'fetch' in a page.");
  }
  for (const [name, instead] of Object.entries(nodeOptions)) {
    if ((options as Record<string, unknown>)[name] === undefined) continue;
    fail(`the option ${name} is of Node.js; in a page ${instead}.`);
  }
  return (url, { method, headers, body, signal }) => {
    const init: RequestInit = { headers };
    if (method !== undefined) init.method = method;
    if (body !== undefined) init.body = body;
    if (signal !== undefined) init.signal = signal;
    return given ? given(url, init) : globalThis.fetch(url, init);
  };
}

export const pagePlatform: ChannelPlatform<PageTransportOptions> = {
  transport: pageTransport,
  toApiJson: (format, messages) => JSON.stringify(format.toApi(messages)),
  pageIn: htmlPage,
};
