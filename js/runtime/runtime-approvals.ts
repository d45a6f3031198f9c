// What runs of a runtime wait for, and how it is decided.
import type { AgentDecision } from '../../types/agent-run';
import type { Approval, ApprovalQuery, RunInfo } from '../../types/runtime';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { shown } from '../shown';
import { checkValues, flag, text } from '../value-checks';
import type { Command } from './time-machine';

/** Approvals that runs wait for. */
export interface RuntimeApprovals {
  /** Those that are open, or all. */
  list(query?: ApprovalQuery): Promise<Approval[]>;
  /** Decides once, from whatever process; the run goes on. What a function or job asked for is answered with an object of its own. */
  decide(
    id: string,
    decision: boolean | AgentDecision | Readonly<Record<string, unknown>>,
  ): Promise<RunInfo>;
}

export function runtimeApprovals(command: Command): RuntimeApprovals {
  return {
    list: async (query = {}) => {
      checkNames('approvals.list()', query, ['run', 'principal', 'all']);
      checkValues('approvals.list()', query, { run: text, principal: text, all: flag });
      return command<Approval[]>('approvals', query);
    },
    decide: async (id, decision) => {
      const payload = typeof decision === 'boolean' ? { approved: decision } : decision;
      if (typeof payload !== 'object' || payload === null) {
        throw new MillraceError(
          'invalid_argument',
          `approvals.decide() takes true, false or a decision, not ${shown(decision)}.`,
        );
      }
      const entry = { status: 'resolved', payload };
      return command<RunInfo>('decide', { approval: id, entry });
    },
  };
}
