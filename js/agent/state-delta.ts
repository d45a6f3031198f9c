// What a step changed of a state: a durable run stores that instead of the whole state after each step.
import type { AgentState } from '../../types/agent';

/** What differs between two states. */
export interface StateDelta {
  /** Members that are new or changed, without the messages. */
  set: Record<string, unknown>;
  /** Members that are gone. */
  drop: string[];
  /** How many of the first messages are as they were. */
  keep?: number;
  /** The messages behind them. */
  rows?: unknown[];
}

const isSame = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

/** What leads from one state to the other. Both are plain JSON. */
export function deltaOf(before: AgentState | null | undefined, after: AgentState): StateDelta {
  const old: Record<string, unknown> = before ?? {};
  const { messages, ...members } = after as Record<string, unknown>;
  const { messages: oldMessages } = old;
  const delta: StateDelta = { set: {}, drop: [] };
  for (const [name, value] of Object.entries(members)) {
    if (!(name in old) || !isSame(old[name], value)) delta.set[name] = value;
  }
  delta.drop = Object.keys(old).filter((name) => !(name in after));
  if (!Array.isArray(messages)) {
    if (messages !== undefined) delta.set['messages'] = messages;
    return delta;
  }
  const rows = messages as unknown[];
  const oldRows: unknown[] = Array.isArray(oldMessages) ? oldMessages : [];
  const firstNew = rows.findIndex((row, at) => at >= oldRows.length || !isSame(row, oldRows[at]));
  delta.keep = firstNew < 0 ? rows.length : firstNew;
  delta.rows = rows.slice(delta.keep);
  return delta;
}

/** The state after a step. */
export function stateAfter(before: AgentState | null | undefined, delta: StateDelta): AgentState {
  const state: Record<string, unknown> = { ...before, ...delta.set };
  for (const name of delta.drop) delete state[name];
  if (delta.keep !== undefined) {
    const first = ((before?.messages ?? []) as unknown[]).slice(0, delta.keep);
    state['messages'] = [...first, ...(delta.rows ?? [])];
  }
  return state as unknown as AgentState;
}
