// Reads JSON whose end is missing.

// What may be missing behind the last character, within a string, a name, a value or a literal.
const missing: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => `${text}:null`,
  (text) => `${text}null`,
  (text) => text.replace(/,\s*$/, ''),
  (text) => text.replace(/[\w.+-]+$/, 'null'),
];

/** The value with what was there before the cut; undefined where the text is no beginning of JSON. */
export function completedJson(text: string): unknown {
  const { isString, closing } = openIn(text);
  // An escape may be cut as well.
  const whole = isString ? `${withoutCutEscape(text)}"` : text;
  for (const complete of missing) {
    try {
      return JSON.parse(complete(whole) + closing) as unknown;
    } catch {
      // The next form may be the right one.
    }
  }
  return undefined;
}

function openIn(text: string): { isString: boolean; closing: string } {
  const open: string[] = [];
  let isString = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (isString && sign === '\\') at += 1;
    else if (sign === '"') isString = !isString;
    else if (isString) continue;
    else if (sign === '{') open.push('}');
    else if (sign === '[') open.push(']');
    else if (sign === '}' || sign === ']') open.pop();
  }
  return { isString, closing: open.reverse().join('') };
}

function withoutCutEscape(text: string): string {
  const [escape = ''] = /\\(u[\da-f]{0,3})?$/i.exec(text) ?? [];
  const before = /\\*$/.exec(text.slice(0, text.length - escape.length))?.[0].length ?? 0;
  // An even number of them before is of escapes that are whole.
  return escape !== '' && before % 2 === 0 ? text.slice(0, text.length - escape.length) : text;
}
