// What the tests of pages in a browser share.

/** Throws `what` where it is not so. */
export function must(isTrue, what) {
  if (!isTrue) throw new Error(what);
}

export function same(found, wanted, what) {
  must(found === wanted, `${what}\n  found:  ${found}\n  wanted: ${wanted}`);
}

/** Records what a page must never do: an error of its own, or a request to another origin than `origins`. */
export function watch(page, origins, problems) {
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // Requests that fail are part of what is tried; what the policy turns down is a fault.
    if (/Content Security Policy|TrustedScript|TrustedHTML/.test(message.text())) {
      problems.push(message.text());
    }
  });
  page.on('request', (request) => {
    const address = new URL(request.url());
    const isOwn = origins.has(address.origin) || address.protocol === 'blob:';
    if (!isOwn) problems.push(`a request to ${address.origin}`);
  });
}
