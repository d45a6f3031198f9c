// Durable runs as a runtime describes them.
import type { AgentRunCost, AgentUsage } from './agent';
import type { AgentInterrupt } from './agent-run';
import type { ErrorCode } from './errors';
import type { Message } from './messages';

export type RunState =
  | 'queued'
  | 'running'
  /** For an answer of the user. */
  | 'waiting'
  | 'sleeping'
  /** Nothing that has the store open can go on with it. */
  | 'parked'
  | 'completed'
  | 'failed'
  | 'cancelled'
  /** Given up, since it was recovered too often. */
  | 'dead';

/** A durable run as it is stored. Times are milliseconds since 1970. */
export interface RunInfo {
  /** `run_` and 32 hexadecimal digits. */
  id: string;
  kind: string;
  /** The name that its agent is registered under. */
  name: string;
  version?: string;
  state: RunState;
  threadId?: string;
  principal?: string;
  createdAt: number;
  endedAt?: number;
  /** The number of its last record. */
  lastSeq: number;
  step: number;
  /** How often its records could not be read when it was to go on. */
  attempts: number;
  /** How often another process or environment went on with it. */
  recoveries: number;
  stopRequested?: boolean;
  /** The job or the agent that the run works for. */
  parent?: string;
  /** Of a sub-agent: the run whose records its own are among. */
  root?: string;
  waitsFor?: {
    reason: string;
    since?: number;
    until?: number;
    owner?: string;
    /** Of a run that is queued. */
    priority?: string;
    /** Its place among the queued runs of its priority, from 1; absent behind more than 1000 runs. Of `get` alone. */
    position?: number;
    /** What a run waits for that is queued: `thread`; `runtime`, `name`, `principal` or `provider_key`, or that with `_rate`. */
    limit?: string;
  };
  /** Its records were removed after the time of `retention.recordsMs`: it cannot be read any more. */
  recordsRemoved?: boolean;
  /** What a job gave, or a function that gave no text. */
  result?: unknown;
  /** Those that are open; of `get` alone. */
  approvals?: Approval[];
}

export interface RunQuery {
  state?: RunState | undefined;
  threadId?: string | undefined;
  /** Absent: of all. */
  principal?: string | undefined;
  /** 1 to 1000; 50 when absent. */
  limit?: number | undefined;
  /** `nextCursor` of the page before. */
  cursor?: string | undefined;
  /** Also the runs of sub-agents. */
  children?: boolean | undefined;
}

/** The newest first. */
export interface RunPage {
  runs: RunInfo[];
  nextCursor?: string;
}

/** What a run waits for, as it is stored. */
export interface Approval {
  id: string;
  runId: string;
  toolCallId?: string;
  kind: string;
  expiresAt?: number;
  /** What the user is shown. */
  interrupt?: AgentInterrupt;
  decidedAt?: number;
  decidedBy?: string;
  expired?: boolean;
}

export interface ApprovalQuery {
  run?: string | undefined;
  /** Absent: of all. */
  principal?: string | undefined;
  /** With those that are decided or expired. */
  all?: boolean | undefined;
}

/** What a function gets that is an agent: one turn of a conversation. */
export interface AgentTurn {
  threadId: string;
  /** `run_` and 32 hexadecimal digits. */
  runId: string;
  /** Of the last message of the user. */
  text: string;
  messages: Message[];
  /** Members of the client's AG-UI body, where it has them. */
  state?: unknown;
  forwardedProps?: unknown;
}

/** The run of a function, as it is known in every process. */
export interface FunctionRun {
  id: string;
  threadId: string;
  principal: string;
  /** Of the options of the run; null when absent. */
  context: unknown;
  /** 1, and one more each time that it begins again. */
  attempt: number;
  /** The header of that name of the request that began the run; absent without one. */
  traceparent?: string | undefined;
}

/** What a function may do with its run. Calls after its end are ignored, with one warning. */
export interface FunctionContext {
  readonly run: FunctionRun;
  /** Aborted when the run is stopped, or its runtime is closed. */
  readonly signal: AbortSignal;
  /** Shows a whole message. Resolves when the engine has it, in the order of the calls. */
  send(text: string): Promise<void>;
  /** Shows an event of the application's own: a value of JSON. */
  emit(event: string, payload?: unknown): Promise<void>;
  /** Shows how far the run is, as the event `stage`. */
  stage(name: string, detail?: string): Promise<void>;
  /**
   * Asks a person and waits for the answer, which this resolves with. Readers get the event `requires_action`, and
   * `runtime.approvals` has the question. Rejects with `timeout` after its time limit, and with `cancelled` where the
   * person declines to answer or the run is stopped. A run that begins again gets the answers that it had.
   */
  action<T = unknown>(id: string, options?: ActionOptions): Promise<T>;
}

/** A question of a function to a person. */
export interface ActionOptions {
  kind?: string | undefined;
  /** What the person is asked. */
  prompt?: string | undefined;
  /** JSON Schema of the answer, for the client that shows the question. */
  schema?: object | undefined;
  /** `approvalTimeoutMs` of the function or job when absent. */
  timeoutMs?: number | undefined;
}

/** A returned text is the last message of the run; another value of JSON is the `value` of its result. */
export type AgentFunction = (turn: AgentTurn, context: FunctionContext) => unknown;

export interface FunctionOptions {
  /** What the agent does; with it, the agent can be called like a tool from outside (`api.tools`). */
  description?: string | undefined;
  /** Stored with the runs. */
  version?: string | undefined;
  /**
   * `rerun`: a run whose process ended begins again from the top, behind a reset. Else it fails with
   * `interrupted`.
   */
  onRestart?: 'rerun' | undefined;
  /** What the leaving of a run's last reader does, unless the run has it otherwise: as the runtime has it when absent. */
  onDisconnect?: 'continue' | 'stop' | undefined;
  /** How long the user has for an answer, 1 ms to ten years: as the runtime has it when absent. */
  approvalTimeoutMs?: number | undefined;
}

/** A slash command: its declaration, and what it does. */
export interface CommandDeclaration {
  name: string;
  description?: string | undefined;
  usage?: string | undefined;
  example?: string | undefined;
  help_footer?: string[] | undefined;
  /** Who may use it; `public` when absent. */
  permission?: 'public' | 'admin' | 'superadmin' | undefined;
  /** Whether it can be used in a conversation with one person; false when absent. */
  allow_in_private?: boolean | undefined;
  /**
   * Seconds between two uses of one principal, by permission; `none` is no limit, and `stats` an hour for users. Chats
   * of the Runtime API have the permission `superadmin`, which no command limits unless it says so.
   */
  rate_limit?:
    { user?: number; admin?: number; superadmin?: number } | 'none' | 'stats' | undefined;
  show_in_help?: boolean | undefined;
  order?: number | undefined;
  aliases?: string[] | undefined;
  subcommands?: Record<string, object> | undefined;
  /** Which subcommand is meant where none is named. */
  inference?: object | undefined;
  /** A returned text is the answer. */
  run(call: CommandCall): unknown;
}

/** One use of a slash command. */
export interface CommandCall {
  name: string;
  /** "" is none. */
  subcommand: string;
  /** Begin with the subcommand. */
  args: string[];
  /** The whole message. */
  text: string;
  threadId: string;
  context: FunctionContext;
}

/** A turn of a conversation that is about to begin, as a pipeline sees it. */
export interface PipelineTurn {
  /** Of the message, as the pipelines before this one left it. */
  text: string;
  conversationId: string;
  principal: string;
  /** The run that the turn will be. */
  runId: string;
  attachments: { uid: string; kind: string; media_type: string; display_name: string }[];
  references: { kind: string; source_message_id?: string; selected_text?: string }[];
  /** The message is stored already and is answered again: only `reply` and `reject` count. */
  isRegenerated: boolean;
  /** Aborted when the time of the pipeline is over. */
  signal: AbortSignal;
}

/** What becomes of a turn; nothing leaves it as it is. */
export interface PipelineResult {
  /** Takes the place of the text, in the history as well. */
  text?: string | undefined;
  /** What the model reads behind the message, and histories do not show. */
  note?: string | undefined;
  /** Answers the turn: no agent is called. */
  reply?: string | undefined;
  /** No turn begins: the client gets the message, with the status of the code; `permission_denied` when absent. */
  reject?: string | { code?: ErrorCode | undefined; message: string } | undefined;
}

export type PipelineFunction = (
  turn: PipelineTurn,
) => PipelineResult | undefined | void | Promise<PipelineResult | undefined | void>;

export interface PipelineOptions {
  /** Those with lower numbers run first; 100 when absent. */
  order?: number | undefined;
  /** For probes. */
  description?: string | undefined;
  /** 5,000 when absent. */
  timeoutMs?: number | undefined;
  /** Whether a turn begins without this pipeline when it fails or takes too long; `reject` when absent. */
  onError?: 'reject' | 'skip' | undefined;
}

/** What a job's function may do. Its steps answer from the ledger when it is entered again. */
export interface JobContext {
  readonly runId: string;
  readonly principal: string;
  /** Of the options of the run; null when absent. */
  readonly context: unknown;
  /** 1, and one more each time that the function is entered again. */
  readonly attempt: number;
  /** Aborted when the run is stopped, or its runtime is closed. */
  readonly signal: AbortSignal;
  /**
   * Does something once: its result, a value of JSON, is stored before this resolves, and is given again when the
   * function is entered again. A step is known by its name and how often the name was used before.
   */
  step<T>(
    name: string,
    fn: (step: StepContext) => T | Promise<T>,
    options?: StepOptions,
  ): Promise<Awaited<T>>;
  /** Waits so many milliseconds or until a date, also across restarts. */
  sleep(name: string, until: number | Date): Promise<void>;
  /** The next event of this name that `runtime.send` brought, which is kept until it is taken. */
  wait<T = unknown>(event: string, options?: { timeoutMs?: number | undefined }): Promise<T>;
  /** Whether a person approves. */
  approve(
    question: string,
    options?: Pick<ActionOptions, 'schema' | 'timeoutMs'>,
  ): Promise<boolean>;
  /** Runs an agent of the runtime to its end. The run works for the job: it is stopped and deleted with it. */
  agent(name: string, input: string): Promise<ChildResult>;
  /** Runs another job to its end in the same way, and gives its result. */
  run<T = unknown>(job: string | { readonly name: string }, input?: unknown): Promise<T>;
  /** Shows how far the job is, as the event `progress`: a value of JSON. */
  progress(value: unknown): Promise<void>;
}

export type JobFunction<Input = never, Result = unknown> = (
  job: JobContext,
  input: Input,
) => Result | Promise<Result>;

/** What a step gets that is at work. */
export interface StepContext {
  /** From 1. */
  attempt: number;
  /** The same for each attempt and after each restart: for services that know repeated requests by a key. */
  key: string;
  /** Aborted when the run is stopped or the step's time is over. */
  signal: AbortSignal;
}

export interface StepOptions {
  /** Of the step's context; made of the run, the name and its number when absent. */
  key?: string | undefined;
  /** How often it is tried again after it failed; 0 when absent. */
  retries?: number | undefined;
  /** Milliseconds before the next attempt; 500, doubled each time, when absent. */
  backoff?: number | ((attempt: number) => number) | undefined;
  timeoutMs?: number | undefined;
  /**
   * What becomes of a step that was cut by a crash: one that is `once` never runs again and fails as `interrupted`,
   * others do; `keyed` when absent.
   */
  effect?: 'once' | 'keyed' | 'idempotent' | 'read' | undefined;
}

/** How a run ended that worked for a job. */
export interface ChildResult {
  runId: string;
  /** The last answer of an agent. */
  text: string;
  /** What a function or job gave. */
  value?: unknown;
  /** Of the run and those that worked for it; they count for the job as well. */
  usage?: AgentUsage;
  cost?: AgentRunCost;
  /** What was left out or changed because a provider does not take it: those of `AgentResult`. */
  notes?: string[];
}

export interface JobOptions {
  /** Stored with the runs. */
  version?: string | undefined;
  /** What is done with a step of effect `once` that a crash cut: it fails (`report`, the default), or runs again. */
  unknown?: 'report' | 'retry' | undefined;
  /** How long the user has for an answer, 1 ms to ten years: as the runtime has it when absent. */
  approvalTimeoutMs?: number | undefined;
}

/** How a job begins. */
/** Of eight runs that begin while all wait, five are `high`, two `normal` and one `low`. */
export type RunPriority = 'high' | 'normal' | 'low';

export interface JobStartOptions {
  /** One run at a time works in a thread; none when absent. */
  threadId?: string | undefined;
  /** The same key gives the run that it began, and is an error with another input. */
  idempotencyKey?: string | undefined;
  /** What the job gets as `context`, in every process: a value of JSON. */
  context?: unknown;
  /** Whose run it is; "" when absent. */
  principal?: string | undefined;
  /** What happens while another run is at work in the thread: an error (`reject`, the default), or it waits for its turn. */
  busy?: 'reject' | 'queue' | undefined;
  /** Which runs begin first where not all can be at work at once; `normal` when absent. */
  priority?: RunPriority | undefined;
}

/** How a run becomes a file. */
export interface ExportRunOptions {
  /** A page that plays the run (default), or its records as lines of JSON. */
  format?: 'html' | 'jsonl' | undefined;
  /** Further names of arguments whose values are left out. */
  secrets?: readonly string[] | undefined;
  /** Only a run of this principal. */
  principal?: string | undefined;
}

/** Where a new run begins, and what is different there. */
export interface ForkOptions {
  /** The number of the last record of the other run that counts. */
  at: number;
  /** Other results of calls that were over by then, by the ids of the calls. */
  results?: Readonly<Record<string, string>> | undefined;
  /** Takes the place of the last message of the user. */
  message?: string | undefined;
  /** Of the new run, which has a thread of its own; made when absent. */
  threadId?: string | undefined;
  /** Only a run of this principal. */
  principal?: string | undefined;
}

/** What a run is replayed as. */
export interface ReplayOptions {
  /** AG-UI (default), AG-UI in protobuf, or the stream of LobeHub's operations. */
  as?: 'ag_ui' | 'ag_ui_proto' | 'lobe' | undefined;
  /** Of the AG-UI client; that of the one which began the run when absent. */
  protocolVersion?: string | undefined;
  /** Only a run of this principal. */
  principal?: string | undefined;
}
