// What the durable runs of an AgentRuntime and of a group need of a runtime: each is a job.
import type {
  ActionOptions,
  Approval,
  ApprovalQuery,
  ChildResult,
  JobContext,
  JobStartOptions,
  StepOptions,
} from '../../types/runtime';
import type { DurableRun } from './durable-run';
import type { DurableRuntime } from './durable-types';

/** A runtime as an AgentRuntime and a group use it. */
export interface DurableJobRuntime extends DurableRuntime {
  /** @internal */
  beginJob(name: string, input: unknown, options: JobStartOptions, known?: unknown): DurableRun;
  attach(id: string, options?: { after?: number }): DurableRun;
  readonly approvals: {
    list(query?: ApprovalQuery): Promise<Approval[]>;
    decide(id: string, decision: never): Promise<unknown>;
  };
}

/** What the package's own jobs may do beside others. */
export const jobInternals: unique symbol = Symbol('millrace.jobInternals');

export interface JobInternals {
  /** A step whose result is recorded, but not waited for: whatever is stored later is stored behind it. */
  later: <T>(
    name: string,
    fn: () => Promise<T>,
    effect?: StepOptions['effect'],
  ) => Promise<Awaited<T>>;
  /** Asks the user, as FunctionContext.action. */
  ask: (name: string, options: ActionOptions) => Promise<unknown>;
  /** Shows a whole message. */
  send: (text: string) => Promise<void>;
  emit: (name: string, payload: unknown) => Promise<void>;
  /** Runs an agent, as JobContext.agent, by a name of its own in the ledger; the signal stops it. */
  child: (place: string, name: string, input: string, stopped: AbortSignal) => Promise<ChildResult>;
  /** The job does not come to all rows of its ledger. */
  expectUnused: () => void;
}

export type OwnJobContext = JobContext & { readonly [jobInternals]: JobInternals };
