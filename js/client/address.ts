// Addresses below that of an agent.

/** `path` below `url`, whose own query stays, and `query` behind that. A relative `url` stays relative. */
export function addressBelow(url: string, path: string, query?: URLSearchParams): string {
  const [, folder = '', own = ''] = /^([^?#]*)(?:\?([^#]*))?/.exec(url) ?? [];
  const whole = [own, query?.toString()].filter(Boolean).join('&');
  return `${folder.replace(/\/+$/, '')}${path}${whole && `?${whole}`}`;
}
