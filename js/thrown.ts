// What was thrown may be anything - `null`, text, an object whose members throw - and whoever caught it still
// has to say what went wrong. Nothing in here throws.

/** A member of what was thrown; undefined when it has none, or none that can be read. */
export function memberOf(thrown: unknown, name: string): unknown {
  try {
    return (thrown as Record<string, unknown> | null | undefined)?.[name];
  } catch {
    return undefined;
  }
}

/** The sentence of what was thrown: its message, its error's, or itself. */
export function messageOf(thrown: unknown): string {
  try {
    const { message, error } = (thrown ?? {}) as { message?: unknown; error?: unknown };
    const inner = (error as { message?: unknown } | null | undefined)?.message;
    return [message, inner].find((text) => typeof text === 'string') ?? textOf(thrown);
  } catch {
    return 'Something was thrown that cannot be read.';
  }
}

function textOf(thrown: unknown): string {
  if (typeof thrown === 'string') return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    // JSON holds no BigInt, and no object that holds itself.
    return String(thrown);
  }
}
