// States of runs as callers hand them in.
import type { AgentState } from '../../types/agent';
import { MillraceError } from '../errors';
import { toJson } from '../serialize';
import { shown } from '../shown';

/** Rejects what is no state at all. */
export function checkState(state: unknown): void {
  if (typeof state === 'object' && state !== null && !Array.isArray(state)) return;
  throw new MillraceError(
    'invalid_state',
    `The state of the run must be an object, not ${shown(state)}.`,
  );
}

/** A copy that shares nothing with the state. */
export function clone(state: AgentState): AgentState {
  return JSON.parse(toJson(state, 'state')) as AgentState;
}
