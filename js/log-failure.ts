// The log line of what a function of the host threw, for those who run the server.
import { inspect } from 'node:util';

import { credential } from './shown';

const mostCharacters = 1 << 16;
// What moves a terminal's cursor or clears its screen. Line breaks and tabs belong to stacks.
// eslint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

function inspected(thrown: unknown): string | undefined {
  try {
    return inspect(thrown);
  } catch {
    return undefined;
  }
}

/**
 * Logs `what` and the value that was thrown. A text that is too long, moves a terminal's cursor or holds a credential is
 * logged without that.
 * Errors: never throws, whatever was thrown.
 */
export function logFailure(what: string, thrown: unknown): void {
  const text = inspected(thrown);
  if (text === undefined) return console.error(what, 'Something was thrown that cannot be shown.');
  // Cut last, since the beginning of a credential is not recognized.
  const clean = text.replace(credential, '$1[redacted]').replace(control, '\ufffd');
  const left = clean.length - mostCharacters;
  const shown = left > 0 ? `${clean.slice(0, mostCharacters)}... (${left} more characters)` : clean;
  console.error(what, shown === text ? thrown : shown);
}
