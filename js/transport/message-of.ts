// The sentence in an error that a server answered with.

const limit = 2048;

/** The message in a JSON body: `error` (text), `error.message` or `message`; shortened. */
export function messageIn(
  body: string,
  pageIn: (text: string) => string | undefined,
): string | undefined {
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
