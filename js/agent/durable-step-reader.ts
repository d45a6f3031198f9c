// How callers read the durable runs of an AgentRuntime.
import type { AgentState, AgentStepResult } from '../../types/agent';
import { MillraceError } from '../errors';
import { type AgentErrorRecord, reviveError } from '../serialize';
import type { DurableRun } from './durable-run';
import type { DurableJobRuntime } from './durable-jobs';
import { withErrors } from './step-driver';

/** The event by which readers get the state of a run that waits for the user. */
export const waitingEvent = 'agent_waiting';

// How long between two looks at a run whose reading ended before it.
const lookEveryMs = 200;

/** What is in the metadata of a state in which a run waits. */
export interface WaitingRun {
  id: string;
  /** How many events the run had until then. */
  events: number;
}

/** The end of a run, or the state in which it waits for the user; behind a record. */
export async function readSteps(
  runtime: DurableJobRuntime,
  id: string,
  first: DurableRun,
  after: number,
): Promise<AgentStepResult> {
  let run = first;
  for (let last = after; ; run = runtime.attach(id, { after: last })) {
    for await (const { seq, event } of run.records({ after: last })) {
      last = seq;
      const { name, detail } = stageOf(event);
      if (name !== waitingEvent || !(await isWaiting(runtime, id))) continue;
      run.leave();
      return resultOf(detail as AgentStepResult, id, true);
    }
    const { status, value, error } = await run.result;
    if (error) throw error;
    if (status === 'cancelled') {
      throw new MillraceError('cancelled', `The run ${id} was stopped.`);
    }
    if (status === 'completed') return resultOf(value as AgentStepResult, id, false);
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}

function stageOf(event: { type: string }): { name?: string; detail?: unknown } {
  const { name, value } = event as { name?: string; value?: { name?: string; detail?: unknown } };
  return event.type === 'CUSTOM' && name === 'millrace.stage' ? (value ?? {}) : {};
}

// What was answered meanwhile is not waited for.
async function isWaiting(runtime: DurableJobRuntime, id: string): Promise<boolean> {
  return (await runtime.approvals.list({ run: id })).length > 0;
}

function resultOf(stored: AgentStepResult, runId: string, waits: boolean): AgentStepResult {
  const { nextContext } = stored;
  const newState: AgentState = waits
    ? {
        ...stored.newState,
        metadata: {
          ...stored.newState.metadata,
          durableRun: { id: runId, events: stored.events.length } satisfies WaitingRun,
        },
      }
    : stored.newState;
  if (newState.error) newState.error = reviveError(newState.error as AgentErrorRecord);
  const events = stored.events.map((event) =>
    withErrors(event.type === 'done' ? { ...event, finalState: newState } : event),
  );
  return { events, newState, ...(nextContext && { nextContext }), runId };
}
