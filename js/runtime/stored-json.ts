// What functions of a runtime give to be stored, as JSON text.
import { MillraceError } from '../errors';
import { toJson } from '../serialize';

// As for results of tools. Until it is stored, a value takes many times its size of memory.
const mostCharacters = 1 << 26;

/** JSON text of `value`. Throws where it has none, or one that is too long. */
export function storedJson(value: unknown, what: string): string {
  // The text of a longer one is not made.
  if (typeof value === 'string') checkLength(value.length, what);
  const json = toJson(value, what);
  checkLength(json.length, what);
  return json;
}

function checkLength(length: number, what: string): void {
  if (length <= mostCharacters) return;
  throw new MillraceError(
    'tool_failed',
    `${what} has ${length} characters; ${mostCharacters} are allowed. Store it elsewhere, for example as an attachment, and give its name.`,
  );
}
