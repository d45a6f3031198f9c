// What came of an action, as a ledger has it: a value of JSON, or what was thrown.
import { type AgentErrorRecord, errorRecord, reviveError } from '../serialize';

export interface Outcome<T> {
  value?: T;
  error?: AgentErrorRecord;
}

/** Never rejects; `record` is what is kept of an error. */
export async function outcomeOf<T>(
  work: () => T | Promise<T>,
  record: (thrown: unknown) => AgentErrorRecord = errorRecord,
): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    return { error: record(thrown) };
  }
}

/** Throws the error of an outcome that has one. */
export function valueOf<T>({ value, error }: Outcome<T>): T {
  if (error) throw reviveError(error);
  return value as T;
}
