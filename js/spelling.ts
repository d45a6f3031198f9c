// Options whose names are misspelt: what they were to say would be passed over in silence.
import { MillraceError } from './errors';

function isLike(name: string): (known: string) => boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/[-_]/g, '');
  return (known) => {
    const [a, b] = [plain(known), plain(name)];
    return a === b || (a.length > 5 && isOneEditAway(a, b));
  };
}

// One letter more, less or other.
function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  let same = 0;
  while (same < a.length && a[same] === b[same]) same += 1;
  const [longer, shorter] = a.length >= b.length ? [a, b] : [b, a];
  return longer.slice(same + 1) === shorter.slice(same + (a.length === b.length ? 1 : 0));
}

// The known name that an unknown one is like.
function meantBy(name: string, known: readonly string[]): string | undefined {
  return known.includes(name) ? undefined : known.find(isLike(name));
}

/** Throws `invalid_option` for a name that is a known one but for its spelling. */
export function checkSpelling(owner: string, options: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(options)) {
    const meant = value === undefined ? undefined : meantBy(name, known);
    if (meant === undefined) continue;
    throw new MillraceError(
      'invalid_option',
      `${owner}: there is no option '${name}'. Did you mean '${meant}'?`,
    );
  }
}
