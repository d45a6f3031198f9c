// The sentence in an error that a server answered with.
import { jsonOf } from '../plain-values';

const limit = 2048;

/** The message in a JSON body: `error` (text), `error.message` or `message`; shortened. */
export function messageIn(
  body: string,
  pageIn: (text: string) => string | undefined,
): string | undefined {
  const { error, message } = (jsonOf(body) ?? {}) as { error?: unknown; message?: unknown };
  const inner = (error as { message?: unknown } | null | undefined)?.message;
  const received = [error, inner, message].find((text) => typeof text === 'string' && text.trim());
  const text = received as string | undefined;
  return text && (pageIn(text) ?? text.slice(0, limit));
}
