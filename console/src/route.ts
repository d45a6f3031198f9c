// What the page shows, by its address behind the `#`.
import { useSyncExternalStore } from 'react';

export type Route = { view: 'runs' } | { view: 'chat'; id: string | undefined };

const chatPrefix = '#/c/';

export function routeOf(hash: string): Route {
  if (hash === '#/runs') return { view: 'runs' };
  const id = hash.startsWith(chatPrefix) ? hash.slice(chatPrefix.length) : '';
  try {
    return { view: 'chat', id: decodeURIComponent(id) || undefined };
  } catch {
    return { view: 'chat', id: undefined };
  }
}

export const hashOf = (id: string | undefined): string =>
  id === undefined ? '#/' : chatPrefix + encodeURIComponent(id);

function subscribe(listener: () => void): () => void {
  window.addEventListener('hashchange', listener);
  return () => window.removeEventListener('hashchange', listener);
}

/** The present address; the same text gives the same route. */
export function useHash(): string {
  return useSyncExternalStore(subscribe, () => location.hash);
}
