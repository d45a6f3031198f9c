// Values in the sentences of errors, as pages have them: stands in for js/shown.ts there (scripts/build-js.mjs).

/** What kind of value it is. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** A number, a flag or a short text, else the kind; so also for what has a name, which may be a secret's. */
export function shown(value: unknown, name?: string): string {
  const isShort = ['string', 'number', 'boolean', 'bigint'].includes(typeof value);
  const text = name === undefined && isShort ? `${value as string}` : '';
  return /^.{1,60}$/.test(text) ? `'${text}'` : kindOf(value);
}
