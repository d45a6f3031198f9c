// What a store knows of its runs.
import type { RunInfo, RunPage, RunQuery } from '../../types/runtime';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { checkValues, text } from '../value-checks';
import type { Command } from './time-machine';

/** Undefined where there is no such run. */
export async function storedRun(command: Command, run: string): Promise<RunInfo | undefined> {
  try {
    return await command<RunInfo>('get', { run });
  } catch (error) {
    if (MillraceError.is(error) && error.code === 'run_not_found') return undefined;
    throw error;
  }
}

export async function storedRuns(command: Command, query: RunQuery): Promise<RunPage> {
  const names = ['state', 'threadId', 'principal', 'limit', 'cursor', 'children'];
  checkNames('list()', query, names);
  // A principal that was left out for its type would give the runs of all.
  checkValues('list()', query, { state: text, threadId: text, principal: text, cursor: text });
  return command<RunPage>('list', query);
}
