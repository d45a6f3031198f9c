// Which transport a channel uses: the engine's own, or a fetch function.
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import type { Timeouts } from './engine';
import { engineFetch } from './engine';
import type { Transport } from './request';
import { shown } from '../shown';

export type { ChannelRequest, Transport } from './request';

/** Options of everything that sends requests. */
export interface TransportOptions {
  /** Sends through this function. */
  fetch?: typeof fetch | undefined;
  /**
   * `engine` is the engine's own transport, `fetch` the global function. Default: the engine, unless
   * `fetch` is given or the global fetch is not Node's own, as under mocks and instrumentation.
   */
  transport?: 'engine' | 'fetch' | undefined;
  /** What a relative URL is relative to. A function given as `fetch`, or a mock, takes relative ones, too. */
  origin?: string | undefined;
  /** Limits in time, for the engine's transport. */
  timeouts?: Timeouts | undefined;
}

/**
 * Chooses once, when a channel is made.
 * `urlOption` names the option that holds the URL, for errors.
 */
export function chooseTransport(
  owner: string,
  urlOption: string,
  url: string,
  options: TransportOptions,
): Transport {
  const { fetch: given, origin, timeouts } = options;
  const send = chooseFetch(owner, options);
  checkOrigin(owner, origin);
  if (send) {
    if (URL.canParse(url)) return throughFetch(send, undefined);
    const takesRelative = given !== undefined || isFetchReplaced();
    return throughFetch(send, takesRelative ? origin : baseOf(owner, urlOption, url, origin));
  }
  const base = baseOf(owner, urlOption, url, origin);
  checkTimeouts(owner, timeouts);
  return (target, request) =>
    engineFetch({
      method: request.method ?? 'GET',
      url: new URL(target, base).href,
      headers: Object.entries(request.headers),
      body: request.body,
      signal: request.signal,
      timeouts,
    });
}

/** The function to send through; undefined for the engine's own transport. */
export function chooseFetch(owner: string, options: TransportOptions): typeof fetch | undefined {
  const { fetch: given, transport } = options;
  if (given !== undefined && typeof given !== 'function') {
    throw new MillraceError(
      'invalid_option',
      `${owner}: fetch must be a function, not ${shown(given)}.`,
    );
  }
  if (transport !== undefined && transport !== 'engine' && transport !== 'fetch') {
    throw new MillraceError(
      'invalid_option',
      `${owner}: transport must be 'engine' or 'fetch', not ${shown(transport)}.`,
    );
  }
  if (given) return given;
  if (transport !== 'fetch' && (transport !== undefined || !isFetchReplaced())) return undefined;
  if (typeof globalThis.fetch === 'function') return globalFetch();
  throw new MillraceError(
    'invalid_option',
    `${owner}: transport is 'fetch', and there is no global fetch. Give the option fetch.`,
  );
}

let bound: { of: typeof fetch; to: typeof fetch } | undefined;

// One function for as long as the global one is the same.
function globalFetch(): typeof fetch {
  const { fetch: of } = globalThis;
  if (bound?.of !== of) bound = { of, to: of.bind(globalThis) };
  return bound.to;
}

// Members that are absent stay absent: tests of users compare what their fetch is called with.
function throughFetch(send: typeof fetch, base: string | undefined): Transport {
  return (url, request) => {
    const init: RequestInit = {};
    if (request.method !== undefined) init.method = request.method;
    init.headers = request.headers;
    if (request.body !== undefined) init.body = request.body;
    if (request.signal !== undefined) init.signal = request.signal;
    return send(base === undefined ? url : new URL(url, base).href, init);
  };
}

function checkOrigin(owner: string, origin: unknown): void {
  if (origin === undefined || (typeof origin === 'string' && isHttp(origin))) return;
  throw new MillraceError(
    'invalid_option',
    `${owner}: origin must be an http or https URL, not ${shown(origin)}.`,
  );
}

// The base for relative URLs; undefined when the URL is absolute.
function baseOf(
  owner: string,
  urlOption: string,
  url: string,
  origin: string | undefined,
): string | undefined {
  if (isHttp(url)) return undefined;
  if (/^[a-z][a-z0-9+.-]*:/i.test(url)) {
    throw new MillraceError(
      'invalid_url',
      `${owner}: ${urlOption} must be an http or https URL, not one of ${new URL(url).protocol}.`,
    );
  }
  if (origin !== undefined) return origin;
  throw new MillraceError(
    'invalid_option',
    `${owner}: the ${urlOption} '${url}' is relative. Give the option origin, for instance ` +
      "'http://localhost:3000', or an absolute URL, or your own fetch.",
  );
}

function isHttp(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol } = new URL(url);
  return protocol === 'http:' || protocol === 'https:';
}

export function checkTimeouts(owner: string, timeouts: unknown): void {
  if (timeouts === undefined) return;
  if (typeof timeouts !== 'object' || timeouts === null) {
    throw new MillraceError(
      'invalid_option',
      `${owner}: timeouts must be an object, not ${shown(timeouts)}.`,
    );
  }
  checkNames(`${owner}: timeouts`, timeouts, timeoutNames);
  for (const [name, value] of Object.entries(timeouts)) {
    if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0)) continue;
    throw new MillraceError(
      'invalid_option',
      `${owner}: timeouts.${name} must be a number of milliseconds, 0 or more, not ${shown(value)}.`,
    );
  }
}

const timeoutNames = ['connect', 'firstByte', 'idle', 'total'];

/**
 * Whether the global fetch is a mock or an instrumented one. Node's own fetch loads undici lazily; another one has another source
 * text, whenever and in whatever realm it was installed. Mocks of undici itself show in its global dispatcher.
 */
export function isFetchReplaced(): boolean {
  const { fetch: current } = globalThis;
  if (typeof current !== 'function' || isOfNext(current)) return false;
  const source = Function.prototype.toString.call(current);
  if (!source.includes('internal/deps/undici/undici')) return true;
  const global = globalThis as Record<symbol, unknown>;
  return dispatcherSlots.some((slot) => isForeignDispatcher(global[slot]));
}

// Next.js replaces the global fetch in production, for its cache of pages. That is no wish of the program's.
// Source: Next.js 16.4.6, server/lib/patch-fetch.
const isOfNext = (current: object): boolean =>
  (current as { __nextPatched?: unknown }).__nextPatched === true;

// Where the copies of undici keep their global dispatcher, older and newer ones.
const dispatcherSlots = ['1', '2'].map((version) =>
  Symbol.for(`undici.globalDispatcher.${version}`),
);

// Node's own agent, and what newer ones put into the older slot beside it.
const ownDispatchers = new Set(['Agent', 'Dispatcher1Wrapper']);

function isForeignDispatcher(dispatcher: unknown): boolean {
  if (typeof dispatcher !== 'object' || dispatcher === null) return false;
  return !ownDispatchers.has(dispatcher.constructor.name);
}
