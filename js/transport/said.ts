// What a server says about a request that failed.

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
  return (said as string | undefined)?.slice(0, limit);
}
