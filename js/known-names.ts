// Groups of options whose names are all known: one that nobody reads would leave its author without
// what was asked for, a limit or an approval for instance.
import { MillraceError } from './errors';

/**
 * Throws for a member that a group of options has not got. `others` are words of other libraries for
 * members that it has.
 */
export function checkNames(
  group: string,
  given: unknown,
  names: readonly string[],
  others: Readonly<Record<string, string>> = {},
): void {
  if (typeof given !== 'object' || given === null) return;
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || names.includes(name)) continue;
    const meant = Object.hasOwn(others, name) ? others[name] : undefined;
    throw new MillraceError(
      'invalid_option',
      `${group} has no member '${name}'. ` +
        (meant ? `It is called \`${meant}\` here.` : `There are ${names.join(', ')}.`),
    );
  }
}
