// What a server says about a request that failed.
import { addon } from '../addon';

const limit = 2048;

/** The message in a JSON body: `error` (text), `error.message` or `message`; shortened. */
export function messageOf(body: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { error, message } = (value ?? {}) as { error?: unknown; message?: unknown };
  const inner = (error as { message?: unknown } | null | undefined)?.message;
  const said = [error, inner, message].find((text) => typeof text === 'string' && text.trim());
  const text = said as string | undefined;
  return text && (pageIn(text) ?? text.slice(0, limit));
}

/** What to call a body that is a gateway's HTML page, which nobody wants to read in an error; undefined for any other. */
export function pageIn(body: string): string | undefined {
  return addon().htmlPage(body) || undefined;
}
