// What one row of the table of error codes is, and how a failure is read.
import type { ErrorCode } from '../../../types/errors';

/** A failure as callers, events and HTTP answers give it; of the last two only an answer has the fix. */
export interface Failure {
  code: string;
  message: string;
  fix?: string;
}

/** `provoke` throws, rejects or gives the failure; its message `says` the wrong value, or the name of the thing. */
export interface Provoked {
  provoke: () => unknown;
  says: string | RegExp;
}

/** What only the engine can be brought to: a file below test/native, and the test in it. */
export interface Native {
  native: readonly [file: string, test: `${string}.${string}`];
}

export type Row = Provoked | Native;
export type Rows = Readonly<Partial<Record<ErrorCode, Row>>>;

const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' && value !== null && 'code' in value && 'message' in value;

/** What `provoke` fails with. */
export async function failureOf(provoke: () => unknown): Promise<Failure> {
  let given: unknown;
  try {
    given = await provoke();
  } catch (thrown) {
    given = thrown;
  }
  if (isFailure(given)) return given;
  throw new Error(`no failure with a code and a message: ${String(given)}`);
}

/** Reads to the end; gives the failure that an event tells, where none is thrown. */
export async function endOf(events: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const event of events) {
    if ((event as { type?: string }).type === 'RUN_ERROR') last = event;
  }
  return last;
}
