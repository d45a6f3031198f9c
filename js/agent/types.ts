// What createAgent() and the runs of its agents are given.
import type { AgentLimits } from '../../types/agent';
import type { AgentCapabilities, RunCheckpoint } from '../../types/agent-run';
import type { ResumeEntry, RunAgentInput, Tool } from '../../types/events';
import type { MessageInput } from '../../types/messages';
import type { ModelId } from '../../types/model';
import type { RunPriority } from '../../types/runtime';
import type { VendorToolDefinition } from '../../types/vendor-tools';
import type { ModelRuntime } from '../model/runtime';
import type { Fallback, ModelRuntimeOptions } from '../model/runtime-options';
import type { ProviderSettings } from '../model/settings';
import type { HostTools } from '../tool/types';
import type { AgentRun } from './agent-run';
import type {
  Authorized,
  DurableRoutes,
  DurableRuntime,
  OnDisconnect,
  UnknownPolicy,
} from './durable-types';

/** Who is asked before tools run. The security blacklist asks in any case. */
export type ApprovalPolicy =
  /** Each tool as it declares; the default. */
  | 'tools'
  /** As they declare, and whatever is neither `read` nor `idempotent`. */
  | 'risky'
  | 'always'
  /** `always`. */
  | true
  | 'never'
  /** `never`. */
  | false;

/** Another agent that the model may give work to. */
export interface SubAgentOf<Agent> {
  name: string;
  description: string;
  agent: Agent;
  /** Whether it sees the conversation so far. */
  inheritMessages?: boolean | undefined;
  /** 30 minutes when absent. */
  timeoutMs?: number | undefined;
}

/** What an agent is made with; `Agent` is what its sub-agents are. */
export interface AgentOptionsOf<Agent> {
  /** `provider:model`, or a runtime together with `modelName`. `demo:demo` needs no key. */
  model: ModelId | ModelRuntime;
  modelName?: string | undefined;
  /** Settings of the provider, where `model` is a name; `fetch` and `transport` as a runtime has them. */
  provider?: (ProviderSettings & Pick<ModelRuntimeOptions, 'fetch' | 'transport'>) | undefined;
  /** Who is asked when the model fails before it has shown anything. */
  fallback?: readonly Fallback[] | undefined;
  instructions?: string | undefined;
  /**
   * Functions of the host, tools of builtinTools() and MCP clients, and names of the engine's own tools:
   * `time`, `calculator`, `http_fetch`, and `ask_user`, by which the model asks a person and waits for
   * the answer. In a record the keys are the names.
   */
  tools?: HostTools | undefined;
  agents?: readonly SubAgentOf<Agent>[] | undefined;
  approval?: ApprovalPolicy | undefined;
  limits?:
    | (Pick<AgentLimits, 'maxTokens' | 'maxDurationMs' | 'maxRepeats' | 'maxCallsPerStep'> & {
        /** Turns of the model with tools; one last answer follows. 32 when absent, 0 for no limit. */
        maxSteps?: number | undefined;
        /** US dollars; rejected where the price of a model is not known. */
        maxCost?: number | undefined;
      })
    | undefined;
  /** Further members of every request: temperature, max_tokens ... */
  parameters?: Record<string, unknown> | undefined;
  compression?:
    | {
        enabled?: boolean | undefined;
        maxWindowToken?: number | undefined;
        thresholdRatio?: number | undefined;
        /** The same once the conversation has a summary; 0.65 when absent, or `thresholdRatio` if that is more. */
        recompressionThresholdRatio?: number | undefined;
        driftMultiplier?: number | undefined;
      }
    | undefined;
  /** Calls of tools at a time; 8 when absent. */
  concurrency?: number | undefined;
  retryAfterFirstToken?: boolean | undefined;
  /** Records the runs, so that they outlive their readers and this process; see createRuntime(). */
  runtime?: DurableRuntime | undefined;
  /** What the runtime knows the agent by: runs of an earlier process go on with the agent of their name. */
  name?: string | undefined;
  /** Of the agent, as `get` and `list` of the runtime give it. */
  version?: string | undefined;
  /**
   * Who sends a request to the handlers: without it they only begin runs. Null, undefined or false, or what it throws,
   * turns the request down. It gets the Request, or the Node request of nodeHandler.
   */
  authorize?: ((request: never) => AuthorizedOrNot | Promise<AuthorizedOrNot>) | undefined;
  /** What is done with a call that a crash cut and that must not run twice; `report` when absent. */
  unknown?: UnknownPolicy | undefined;
  /** What the leaving of a run's last reader does, unless the run has it otherwise: as the runtime has it when absent. */
  onDisconnect?: OnDisconnect | undefined;
  /** How long the user has for an answer, 1 ms to ten years: as the runtime has it when absent. */
  approvalTimeoutMs?: number | undefined;
}

export interface AgentRunOptions {
  signal?: AbortSignal | undefined;
  threadId?: string | undefined;
  runId?: string | undefined;
  /** Tools that the client runs: called without a result, the run ends as `delegated`. */
  clientTools?: readonly (Tool | VendorToolDefinition)[] | undefined;
  /** Answers to the questions of the thread's run that was interrupted. */
  resume?: readonly ResumeEntry[] | undefined;
  /** The shape of the messages where it is no canonical one: `openai`, `anthropic`, `langgraph` ... */
  format?: string | undefined;
  /** Keeps `state` up to date. */
  checkpoint?: boolean | undefined;
  /** Called after each step with what is needed to go on from there. */
  onCheckpoint?: ((saved: RunCheckpoint) => void) | undefined;
  /** Characters of events that are kept for a second reading; default 16 Mi. */
  replayBufferSize?: number | undefined;
  /** As of a runtime's calls: how long pieces of a text may wait for those that follow; default 50, 0 for none. */
  throttleMs?: number | undefined;
}

/** Of an agent with a runtime. */
export interface DurableRunOptions extends Omit<AgentRunOptions, 'onCheckpoint'> {
  /** The same key gives the run that it began, and is an error with another input. */
  idempotencyKey?: string | undefined;
  /** What its tools get as `run.context`, in every process: a value of JSON. */
  context?: unknown;
  /** Whose run it is; "" when absent. */
  principal?: string | undefined;
  /** What the leaving of its last reader does: the run goes on, or is stopped. As the agent has it when absent. */
  onDisconnect?: OnDisconnect | undefined;
  /** What happens while another run is at work in the thread: an error (`reject`, the default), or it waits for its turn. */
  busy?: 'reject' | 'queue' | undefined;
  /** Which runs begin first where not all can be at work at once; `normal` when absent. */
  priority?: RunPriority | undefined;
}

/** What a run begins with: a question, a conversation, or the body that an AG-UI client sends. */
export type AgentInput =
  | string
  | readonly MessageInput[]
  | (Partial<Omit<RunAgentInput, 'messages'>> & { messages?: readonly MessageInput[] | undefined });

/** What `authorize` of an agent gives. */
export type AuthorizedOrNot = Authorized | null | undefined | false;

/** An agent, as its routes and stored threads use it. */
export interface RunnableAgent {
  readonly capabilities: AgentCapabilities;
  run(input: AgentInput, options?: AgentRunOptions): AgentRun;
  /** @internal */
  readonly durable?: DurableRoutes | undefined;
}
