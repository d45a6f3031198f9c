// How pages send requests: through fetch.
import type { ChannelPlatform } from '../channels/platform';
import type { Transport } from '../transport/request';
import { defined } from '../plain-values';
import { checkOption } from '../value-checks';
import { htmlPage } from './html-page';

/** Options of everything in a page that sends requests. */
export interface PageTransportOptions {
  /** Sends through this function; default: the page's own. */
  fetch?: typeof fetch | undefined;
  /** There is no other one in a page. */
  transport?: 'fetch' | undefined;
}

export function pageTransport(
  owner: string,
  _urlOption: string,
  _url: string,
  options: PageTransportOptions,
): Transport {
  const { fetch: given, transport = 'fetch' } = options;
  const isFunction = given === undefined || typeof given === 'function';
  checkOption(isFunction, owner, 'fetch must be a function.');
  checkOption(transport === 'fetch', owner, "transport must be 'fetch' in a page.");
  // What the engine's transport has in Node, and a page has not.
  const { origin, timeouts } = options as Record<string, unknown>;
  const sentence = 'origin and timeouts are of Node.js. In a page give relative URLs and a signal.';
  checkOption((origin ?? timeouts) === undefined, owner, sentence);
  return (url, request) => (given ?? globalThis.fetch)(url, defined(request) as RequestInit);
}

export const pagePlatform: ChannelPlatform<PageTransportOptions> = {
  transport: pageTransport,
  toApiJson: (format, messages) => JSON.stringify(format.toApi(messages)),
  pageIn: htmlPage,
};
