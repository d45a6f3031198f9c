// What came of an action, as a ledger has it: a value of JSON, or what was thrown.
import { type AgentErrorRecord, errorRecord, reviveError } from '../serialize';

export interface Outcome<T> {
  value?: T;
  error?: AgentErrorRecord;
}

/** Never rejects. */
export async function outcomeOf<T>(work: () => T | Promise<T>): Promise<Outcome<T>> {
  try {
    return { value: await work() };
  } catch (thrown) {
    return { error: errorRecord(thrown) };
  }
}

/** Throws the error of an outcome that has one. */
export function valueOf<T>({ value, error }: Outcome<T>): T {
  if (error) throw reviveError(error);
  return value as T;
}
