// One value of a sequence at a time, given to its taker without a promise: a delta that goes through
// a promise at each of its stations takes more time, and more memory, for the promises than for itself.

/** Waits for one thing: exactly one of these is called, once for each time that it asked, at once or later. */
export interface Taker<T> {
  take(value: T): void;
  /** There is nothing more. */
  end(): void;
  fail(error: unknown): void;
}

/** What a taker would be given, as a promise; undefined at the end. */
export function oneOf<T>(request: (taker: Taker<T>) => void): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    request({ take: resolve, end: () => resolve(undefined), fail: reject });
  });
}
