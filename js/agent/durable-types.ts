// What agents and their runs need of a runtime, which is a room above theirs.
import type { AGUIEvent } from '../../types/events';
import type { AgentFunction, JobFunction } from '../../types/runtime';
import type { AgentCall } from '../model/call';
import type { HostTool } from '../tool/types';

/** An agent as a runtime goes on with its runs. */
export interface RegisteredAgent {
  /** "" for a function. */
  planJson: string;
  work?: { run: AgentFunction; onRestart: 'rerun' | undefined } | { job: JobFunction } | undefined;
  tools: ReadonlyMap<string, HostTool>;
  version?: string | undefined;
  unknown?: UnknownPolicy | undefined;
  /** Those of its runtime where they are absent. */
  onDisconnect?: OnDisconnect | undefined;
  approvalTimeoutMs?: number | undefined;
}

/** What the leaving of a run's last reader does: the run goes on, or is stopped. */
export type OnDisconnect = 'continue' | 'stop';

/** What is done with a call of a tool that was cut by a crash and must not run twice. */
export type UnknownPolicy =
  /** The model gets an error, that the outcome is unknown; the default. */
  | 'report'
  /** It runs again. */
  | 'retry'
  /** The user decides whether it had its effect: `{ value: 'ran' | 'did_not_run' | 'stop' }` answers the interrupt. */
  | 'ask';

/** The texts that a run begins with; see read_run_spec in lib/host/run_stream.hpp. */
export interface RunTexts {
  plan: string;
  input: string;
  options: Record<string, unknown>;
}

/** The AG-UI response of a run. */
export interface RunResponse {
  run: string;
  /** 204 where nothing follows. */
  status: number;
  /** Of the content. */
  type: string;
  body: ReadableStream<Uint8Array>;
}

/** What a caller of a handler may do: begin runs, read them, stop them, answer what they wait for. */
export type RunScope = 'start' | 'read' | 'stop' | 'approve';

/** Who calls a handler. */
export interface Authorized {
  /** Not empty; runs of other principals are not found. */
  principal: string;
  /** All when absent. */
  scopes?: readonly RunScope[] | undefined;
  /** Of the run that the request begins or answers; what the request sets, then the agent, where absent. */
  onDisconnect?: OnDisconnect | undefined;
}

/** A runtime as agents use it. */
export interface DurableRuntime {
  /**
   * Milliseconds that the user has for an answer.
   * @internal
   */
  readonly approvalTimeoutMs: number;
  /** @internal */
  register(name: string, agent: RegisteredAgent): void;
  /** @internal */
  openRun(texts: RunTexts): AgentCall;
  /** @internal */
  respond(texts: RunTexts): Promise<RunResponse>;
  /** @internal */
  ask<T>(command: string, options: object): Promise<T>;
}

/** What a durable run has beside others. */
export interface DurablePart {
  id: string;
  /** Of its agent; known with its first item where the run is attached to, as is `principal`. */
  name: string;
  principal: string | undefined;
  runtime: DurableRuntime;
  /** Ends the reading of a run that is attached to. */
  leaves?: AbortSignal | undefined;
}

/** One event of a durable run with the number of the record that it is from. */
export interface RunRecord {
  seq: number;
  event: AGUIEvent;
}

/** An agent as a runtime has it. */
export interface DurableTarget {
  runtime: DurableRuntime;
  name: string;
  agent: RegisteredAgent;
  /** The run is begun without a reader, so it has no deadline for runs that their readers left. */
  isUnread?: boolean;
  inner?: InnerRun | undefined;
}

/** A run that works for a job, so that it waits for no limit. */
export interface InnerRun {
  id: string;
  /** The job, and what its ledger calls the run. */
  parent: string;
  call: string;
}

/** What a handler needs of an agent with a runtime. */
export interface DurableRoutes extends DurableTarget {
  authorize: ((request: never) => unknown) | undefined;
}
