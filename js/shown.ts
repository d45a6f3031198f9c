// Values as the sentence of an error shows them: short, and without what may be a secret.

const shownLength = 80;
/** What credentials begin with, as lib/base/error.cpp knows them. */
export const credential: RegExp =
  /(?<![\w.+/=~-])(sk-|[Bb]earer |gsk_|AIza|xai-|key-|hf_|AKIA|ASIA|ya29\.|mr_(?=[\w-]{21}))[\w.+/=~-]{5,}/g;
const secretName = /key|token|secret|password|passphrase|auth|credential|cookie|headers|env/i;

// eslint-disable-next-line no-control-regex
const unseen = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** A text in single quotes, shortened. */
export function shownText(text: string, most: number = shownLength): string {
  // Cut after the credentials are out, since the beginning of one is not recognized.
  const clean = text.slice(0, most * 8).replace(credential, '$1[redacted]');
  const plain = clean.replace(unseen, ' ');
  return plain.length > most ? `'${plain.slice(0, most)}...'` : `'${plain}'`;
}

/** What kind of value it is. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The value itself where it is short, else its kind, and so for an option or header whose name is a secret's. */
export function shown(value: unknown, name = ''): string {
  if (secretName.test(name)) return kindOf(value);
  if (typeof value === 'string') return shownText(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return typeof value === 'bigint' ? `${value}n` : kindOf(value);
}
