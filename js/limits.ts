// Limits of time and number that users give, as the engine and timers take them.
import { MillraceError } from './errors';
import { shown } from './shown';

/** The longest time that a timer of Node waits, in milliseconds; a longer one would end at once. */
export const longestTimer: number = 2 ** 31 - 1;

/** Whole milliseconds since a moment of `performance.now()`, which no setting of the clock changes. */
export function millisecondsSince(moment: number): number {
  return Math.round(performance.now() - moment);
}

const mostRetries = 100;

/** A limit in whole milliseconds, 0 for none; throws `invalid_option` for what is no limit. */
export function limitOf(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (value === Infinity) return 0;
  if (typeof value === 'number' && value >= 0) return Math.ceil(value);
  throw new MillraceError(
    'invalid_option',
    `\`${name}\` must be a number of at least 0, not ${shown(value)}.`,
  );
}

/** Throws `invalid_option` for what does not say how often something is tried again. */
export function checkRetries(name: string, value: unknown): void {
  if (value === undefined) return;
  if (Number.isInteger(value) && Number(value) >= 0 && Number(value) <= mostRetries) return;
  throw new MillraceError(
    'invalid_option',
    `\`${name}\` must be a whole number from 0 to ${mostRetries}, not ${shown(value)}.`,
  );
}
