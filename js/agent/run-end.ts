// How an agent's run ended, for those who wait for it.
import type { AgentInterrupt } from '../../types/agent-run';
import { errorFromNative, MillraceError } from '../errors';
import type { AgentResult, AgentResultBase, LimitedResult } from './agent-result';
import type { ReportedResult } from './run-items';

const noResult: ReportedResult = { status: 'error', reason: 'error', text: '', steps: 0, turns: 0 };

/** The result of a run; `failure` is why it failed, or could not be read. */
export function resultOf(
  ids: Pick<AgentResultBase, 'threadId' | 'runId'>,
  given: ReportedResult | undefined,
  failure: MillraceError | undefined,
): AgentResult {
  const { status, interrupts = [], limit, ...reported } = given ?? noResult;
  const base: AgentResultBase = { ...reported, ...ids };
  if (failure) return { ...base, status: 'error', error: failure };
  if (status === 'interrupted') return { ...base, status, interrupts };
  if (status === 'limited') {
    const reason = base.reason as LimitedResult['reason'];
    return { ...base, status, reason, error: errorFromNative(JSON.stringify(limit)) };
  }
  if (status !== 'error') return { ...base, status };
  const error = new MillraceError('internal', 'The run ended without a result.');
  return { ...base, status, error };
}

/** The last answer of a run, or why there is none. */
export function textOf(result: AgentResult, signal: AbortSignal | undefined): string {
  const { status, text } = result;
  if (result.error) throw result.error;
  if (status === 'interrupted') throw openInterrupt(result.interrupts);
  if (status !== 'cancelled') return text;
  if (signal?.aborted) throw signal.reason;
  throw new MillraceError('cancelled', 'The run was stopped.');
}

export function asError(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  return new MillraceError('internal', 'The run could not be read.', { cause: error });
}

// `send_mail waits for approval`, or the question that the model asked.
function openInterrupt(interrupts: readonly AgentInterrupt[]): MillraceError {
  const open = interrupts.map((one) =>
    one.reason === 'tool_call'
      ? `${one.metadata.toolName} is waiting for approval`
      : `the agent asks "${one.message}"`,
  );
  return new MillraceError(
    'run_interrupted',
    `The run has no answer yet: ${open.join(', ')}. Read \`interrupts\` of \`result\` and continue with resume().`,
  );
}
