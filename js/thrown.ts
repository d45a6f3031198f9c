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
  const own = memberOf(thrown, 'message');
  if (typeof own === 'string') return own;
  const inner = memberOf(memberOf(thrown, 'error'), 'message');
  if (typeof inner === 'string') return inner;
  if (typeof thrown === 'string') return thrown;
  try {
    return JSON.stringify(thrown) ?? String(thrown);
  } catch {
    return textOf(thrown);
  }
}

// What JSON cannot hold: big numbers, and objects that hold themselves.
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'Something was thrown that cannot be read.';
  }
}
