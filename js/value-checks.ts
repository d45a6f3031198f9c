// Values of options, checked before anything is done with them: programs without types would hear of a
// wrong one too late, or never.
import { MillraceError } from './errors';
import { checkSpelling } from './known-names';
import { isRecord } from './plain-values';
import { shown } from './shown';

export { isRecord } from './plain-values';

/** What a value has to be, in words, and whether it is. */
export type Check = readonly [wanted: string, isRight: (value: unknown) => boolean];

export const text: Check = ['a string', (value) => typeof value === 'string'];
export const flag: Check = ['true or false', (value) => typeof value === 'boolean'];
export const group: Check = ['an object', isRecord];
export const list: Check = ['a list', Array.isArray];
export const callback: Check = ['a function', (value) => typeof value === 'function'];
export const count: Check = [
  'a whole number of at least 1',
  (value) => Number.isInteger(value) && (value as number) >= 1,
];
export const wholeNumber: Check = [
  'a whole number, 0 or more',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
];
/** The number of a record, or 0 for the place before the first. */
export const cursor: Check = wholeNumber;
export const milliseconds: Check = [
  'a whole number of milliseconds, 0 or more',
  (value) => Number.isSafeInteger(value) && (value as number) >= 0,
];
/** It is checked elsewhere. */
export const anything: Check = ['', () => true];

export function atLeast(least: number): Check {
  return [`a number of at least ${least}`, (value) => typeof value === 'number' && value >= least];
}

/** An object of whatever class that has these functions. */
export function having(what: string, ...functions: readonly string[]): Check {
  const holds = (value: unknown, name: string): boolean =>
    typeof (value as Record<string, unknown>)[name] === 'function';
  return [what, (value) => functions.every((name) => holds(value, name))];
}

/**
 * Throws for a value that is not what it has to be, and for a name that is one of the table's but for its spelling.
 * Others are let through; null and undefined are none.
 */
export function checkValues(
  owner: string,
  options: unknown,
  checks: Readonly<Record<string, Check>>,
): void {
  if (options === undefined || options === null) return;
  if (!isRecord(options))
    throw new MillraceError(
      'invalid_option',
      `${owner}: the options must be an object, not ${shown(options)}.`,
    );
  checkSpelling(owner, options, Object.keys(checks));
  for (const [name, [wanted, isRight]] of Object.entries(checks)) {
    const value = options[name] ?? undefined;
    if (value === undefined || isRight(value)) continue;
    throw new MillraceError(
      'invalid_option',
      `${owner}: ${name} must be ${wanted}, not ${shown(value, name)}.`,
    );
  }
}

/** Throws for an argument that is no object. */
export function checkArgument(owner: string, value: unknown, name = 'the argument'): void {
  if (!isRecord(value))
    throw new MillraceError(
      'invalid_argument',
      `${owner}: ${name} must be an object, not ${shown(value, name)}.`,
    );
}

/** Throws for an argument that is not what it has to be. */
export function checkMember(
  owner: string,
  name: string,
  value: unknown,
  [wanted, isRight]: Check,
): void {
  if (!isRight(value))
    throw new MillraceError(
      'invalid_argument',
      `${owner}: ${name} must be ${wanted}, not ${shown(value, name)}.`,
    );
}

/** Throws `invalid_option` with the sentence when an option of `owner` is not right. */
export function checkOption(isRight: unknown, owner: string, sentence: string): asserts isRight {
  if (!isRight) throw new MillraceError('invalid_option', `${owner}: ${sentence}`);
}

/** Throws for headers that are no object of strings. */
export function checkHeaders(owner: string, headers: unknown = {}, name = 'headers'): void {
  // The pairs of a Headers or of a list would be lost without a word.
  const isGroup = isRecord(headers) && !(Symbol.iterator in headers);
  checkOption(isGroup, owner, `${name} must be an object of strings.`);
  for (const [header, value] of Object.entries(headers)) {
    checkOption(typeof value === 'string', owner, `the header ${header} must be a string.`);
  }
}

/** Headers without those that are undefined, which are not sent. */
export function givenHeaders(headers: unknown): unknown {
  if (!isRecord(headers) || Symbol.iterator in headers) return headers ?? undefined;
  return Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
}

/** Throws `invalid_option` for a value that is not one of `choices`; `what` names the owner of the option. */
export function checkChoice(
  what: string,
  name: string,
  value: unknown,
  choices: readonly string[],
): void {
  if (value === undefined || choices.includes(value as string)) return;
  const wanted = choices.map((one) => `'${one}'`).join(' or ');
  throw new MillraceError(
    'invalid_option',
    `${what}: ${name} must be ${wanted}, not ${shown(value)}.`,
  );
}
