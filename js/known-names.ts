// Names of options: one that is not read would leave its author without what was asked for, a limit or
// an approval for instance.
import { MillraceError } from './errors';
import { shown } from './shown';

// From how many letters on another letter is a slip: where other names are allowed as well, a short one is likely to
// be one of them. lib/base/spelling.hpp judges by the same rule.
const slipLetters = 4;
const slipLettersAmongOthers = 6;

function isLike(name: string, letters: number): (known: string) => boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/[-_]/g, '');
  return (known) => {
    const [a, b] = [plain(known), plain(name)];
    return a === b || (a.length >= letters && isOneEditAway(a, b));
  };
}

// One letter more, less or other, or two in the other order.
function isOneEditAway(a: string, b: string): boolean {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same += 1;
  const [left, right] = [a.slice(same), b.slice(same)];
  const [first = '', second = ''] = left;
  const others = [left.slice(1), second + first + left.slice(2)];
  return others.includes(right) || [left, left.slice(1)].includes(right.slice(1));
}

/** The known name that an unknown one is like. */
export function meantBy(
  name: string,
  known: readonly string[],
  letters: number = slipLetters,
): string | undefined {
  return known.includes(name) ? undefined : known.find(isLike(name, letters));
}

/** Throws for a name that is a known one but for its spelling, where options may have others too. */
export function checkSpelling(owner: string, options: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(options)) {
    const meant = value === undefined ? undefined : meantBy(name, known, slipLettersAmongOthers);
    if (meant === undefined) continue;
    throw new MillraceError(
      'invalid_option',
      `${owner}: there is no option '${name}'. Did you mean '${meant}'?`,
    );
  }
}

/**
 * Throws for what is no group of options, and for a member that it has not got, where all are known. `others` are words of other libraries for
 * members that it has.
 */
export function checkNames(
  group: string,
  given: unknown,
  names: readonly string[],
  others: Readonly<Record<string, string>> = {},
): void {
  if (given === undefined || given === null) return;
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw new MillraceError(
      'invalid_option',
      `${group}: the options must be an object, not ${shown(given)}.`,
    );
  }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || names.includes(name)) continue;
    const other = Object.hasOwn(others, name) ? others[name] : undefined;
    const meant = meantBy(name, names);
    const reported = meant ? `Did you mean '${meant}'?` : `There are ${names.join(', ')}.`;
    throw new MillraceError(
      'invalid_option',
      `${group} has no member '${name}'. ${other ? `It is called \`${other}\` here.` : reported}`,
    );
  }
}
