// What the options of an Engine and of a SessionManager may be, in words and as a function.
import { MillraceError } from '../../errors';

/** What a value must be. */
export type Check = readonly [words: string, isRight: (value: never) => boolean];

const isText = (value: unknown): boolean => typeof value === 'string';
const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) > 0;

export const anything: Check = ['', () => true];
export const text: Check = ['a string', isText];
export const number: Check = ['a number', Number.isFinite];
export const count: Check = ['a whole number of at least 1', isCount];
export const callback: Check = ['a function', (value: unknown) => typeof value === 'function'];
export const textOrObject: Check = [
  'a string or an object',
  (value: unknown) => isText(value) || typeof value === 'object',
];
export const flagOrCount: Check = [
  'true, false or a whole number of at least 1',
  (value: unknown) => typeof value === 'boolean' || isCount(value),
];

export function atLeast(least: number): Check {
  return [
    `a number of at least ${least}`,
    (value: unknown) => typeof value === 'number' && value >= least,
  ];
}

/** An object of whatever class that has these functions. */
export function having(what: string, ...functions: readonly string[]): Check {
  return [
    what,
    (value: Record<string, unknown>) =>
      functions.every((name) => typeof value[name] === 'function'),
  ];
}

/** Throws `invalid_option` for a value that is not what it must be; what says nothing is let through. */
export function checkValues<Options extends object>(
  options: Options,
  checks: Record<keyof Options, Check>,
): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    const [words, isRight] = checks[name as keyof Options];
    if (!isRight(value as never)) {
      throw new MillraceError('invalid_option', `${name} must be ${words}.`);
    }
  }
}
