// States of runs as callers hand them in.
import type { AgentRuntimeContext, AgentState } from '../../types/agent';
import { MillraceError } from '../errors';
import { toJson } from '../serialize';
import { shown } from '../shown';

/** Refuses what is no state at all. */
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

/** The context that a step without one begins with. */
export function firstContext(state: AgentState): AgentRuntimeContext {
  const messages = state.messages ?? [];
  const message = messages[messages.length - 1];
  const session = {
    sessionId: state.operationId,
    messageCount: messages.length,
    status: state.status,
    stepCount: state.stepCount,
  };
  if (message?.role !== 'user') return { phase: 'init', session };
  return {
    phase: 'user_input',
    payload: { message, isFirstMessage: messages.length === 1 },
    session,
  };
}
