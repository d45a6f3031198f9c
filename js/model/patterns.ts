// Regular expressions of the host's own.

/** Whether a pattern is in a text, from its beginning also where the pattern remembers a place (`g`, `y`). */
export function fits(pattern: RegExp, text: string): boolean {
  return text.search(pattern) >= 0;
}
