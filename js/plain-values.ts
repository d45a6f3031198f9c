// Plain values: members that are absent stay absent, since one that is undefined is another thing to `in`, to spreads
// and to tests.

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The members without those that are undefined. */
export function defined<T extends object>(members: T): T {
  return Object.fromEntries(
    Object.entries(members).filter(([, value]) => value !== undefined),
  ) as T;
}

/** The list or the object; undefined for one that is empty. */
export const filled = <T extends object>(value: T): T | undefined =>
  Object.keys(value).length > 0 ? value : undefined;

/** What the text is as JSON; undefined for what is none, a proxy's page for instance. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
