// createRuntime: durable runs. The engine records them in a store and goes on with those that a process left.
import type { ResumeEntry } from '../../types/events';
import type {
  AgentFunction,
  CommandDeclaration,
  ExportRunOptions,
  ForkOptions,
  FunctionOptions,
  JobFunction,
  JobOptions,
  JobStartOptions,
  ReplayOptions,
  PipelineFunction,
  PipelineOptions,
  RunInfo,
  RunPage,
  RunQuery,
} from '../../types/runtime';
import { createAgent, type CreateAgentOptions, type DurableAgent } from '../agent/create-agent';
import type { DurableJobRuntime } from '../agent/durable-jobs';
import type { DurableRun } from '../agent/durable-run';
import type {
  DurablePart,
  DurableTarget,
  InnerRun,
  RegisteredAgent,
  RunResponse,
  RunTexts,
} from '../agent/durable-types';
import type { ResumeOptions } from '../agent/run-host';
import type { NodeRequest } from '../agent/agent-node-route';
import { usualApprovalMs } from '../agent/run-policies';
import { durableRun } from '../agent/start-durable';
import type { AgentInput, DurableRunOptions } from '../agent/types';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import type { NodeResponse } from '../runs/ag-ui';
import { type AgentCall, startDurableCall } from '../model/call';
import { isPageBuild } from '../page-build';
import type { SkillFolder } from '../tool/skill-folder';
import type { HostTools } from '../tool/types';
import { checkValues, milliseconds } from '../value-checks';
import { FunctionAgent, registeredFunction, rejectAgentRuntime } from './registered-function';
import { childrenOf, DurableJob, jobRun, registeredJob } from './registered-job';
import { checkRuntimeOptions, type RuntimeOptions } from './runtime-options';
import { ApiCalls, toolAgent } from './api-calls';
import { commandAgent } from './commands';
import {
  askRoute,
  type FetchOptions,
  fetchRoute,
  listenOn,
  type ListenOptions,
  type RuntimeServer,
} from './api';
import { LobeServer, type LobeServerOptions } from './lobe-server';
import { runtimeAttachments, type RuntimeAttachments } from './runtime-attachments';
import { type AttachOptions, attachedRun } from './attached-run';
import { answerNodeRoute } from './node-route';
import { respond } from './run-response';
import { type RuntimeApprovals, runtimeApprovals } from './runtime-approvals';
import { runtimeStorage, type RuntimeStorage, type RuntimeStorageOptions } from './runtime-storage';
import { pipelineAgent, replyOf } from './pipelines';
import { RuntimeSkills, type SkillOptions } from './runtime-skills';
import { RuntimeStream } from './runtime-stream';
import { storedRun, storedRuns } from './stored-runs';
import { checkExport, forkRun, replayedRun, runFile } from './time-machine';
import { eventOf, notRegistered, optionsJson } from './runtime-texts';

/** Durable runs of this process and of those before it. Opens its store with the first use. */
export class Runtime implements DurableJobRuntime {
  /** @internal */
  readonly approvalTimeoutMs: number;
  readonly #options: RuntimeOptions;
  readonly #agents = new Map<string, RegisteredAgent>();
  #stream: RuntimeStream | undefined;
  #closing: Promise<void> | undefined;
  readonly #calls: ApiCalls;
  readonly #skills = new RuntimeSkills();
  readonly #reader = (): number => this.#openForRoutes().forReader();
  readonly #command = <T>(name: string, options: object): Promise<T> =>
    this.#open().command<T>(name, options);

  constructor(options: RuntimeOptions) {
    checkRuntimeOptions(options);
    this.#options = options;
    this.#calls = new ApiCalls(options.api, this.#skills);
    this.approvalTimeoutMs = options.approvalTimeoutMs ?? usualApprovalMs;
  }

  /** Approvals that runs wait for. */
  readonly approvals: RuntimeApprovals = runtimeApprovals(this.#command);

  /** Makes a function the agent of this name. Its runs are recorded and read as those of other agents. */
  agent(name: string, work: AgentFunction, options?: FunctionOptions): FunctionAgent;
  /** The agent that `createAgent` makes of the options, with this runtime and name. */
  agent(name: string, options: Omit<CreateAgentOptions, 'runtime' | 'name'>): DurableAgent;
  agent(
    name: string,
    given: AgentFunction | Omit<CreateAgentOptions, 'runtime' | 'name'>,
    options: FunctionOptions = {},
  ): FunctionAgent | DurableAgent {
    rejectAgentRuntime(name, given);
    if (typeof given !== 'function') return createAgent({ ...given, runtime: this, name });
    const agent = registeredFunction(name, given, options);
    this.register(name, agent);
    const { description } = options;
    if (description !== undefined) {
      this.#calls.addAgent({
        ...{ name, description },
        run: (prompt, signal) => this.run(name, prompt, { signal }).text(),
      });
    }
    return new FunctionAgent({ runtime: this, name, agent });
  }

  /** Files that belong to conversations. */
  readonly attachments: RuntimeAttachments = runtimeAttachments(this.#command);

  /**
   * Makes a function the job of this name. It is entered again after a crash, and the steps that ended give what they
   * gave before.
   */
  job<Input = unknown, Result = unknown>(
    name: string,
    run: JobFunction<Input, Result>,
    options: JobOptions = {},
  ): DurableJob<Input, Result> {
    this.register(name, registeredJob(name, run, options));
    return new DurableJob<Input, Result>(this, name);
  }

  /** Gives a job an event, a value of JSON, which is kept until the job waits for it. */
  async send(run: string, event: string, payload?: unknown): Promise<void> {
    await this.#open().command<void>('send', { run, ...eventOf(event, payload) });
  }

  /** Begins a run of the agent with this name, and reads it. */
  run(name: string, input: AgentInput, options: DurableRunOptions = {}): DurableRun {
    return this.#run(name, input, options, {});
  }

  /** @internal */
  runInner(
    name: string,
    input: AgentInput,
    options: DurableRunOptions,
    inner: InnerRun,
  ): DurableRun {
    return this.#run(name, input, options, { inner });
  }

  /** Begins a run and resolves when it is stored. */
  start(name: string, input: AgentInput, options?: DurableRunOptions): Promise<RunInfo>;
  /** The same for a job, whose input is a value of JSON. */
  start(name: string, input: unknown, options?: JobStartOptions): Promise<RunInfo>;
  async start(
    name: string,
    input: unknown,
    options: DurableRunOptions & JobStartOptions = {},
  ): Promise<RunInfo> {
    const { work } = this.#agents.get(name) ?? {};
    const run =
      work && 'job' in work
        ? jobRun(this, name, input, options, { isUnread: true })
        : this.#run(name, input as AgentInput, options, { isUnread: true });
    await run.started;
    run.leave();
    return this.#open().command<RunInfo>('get', { run: run.id });
  }

  /** Reads a run from a record on: what is stored, then what comes. */
  attach(id: string, options: AttachOptions = {}): DurableRun {
    return attachedRun(this, id, options, (durable, resume, more) =>
      this.#goOn(durable, resume, more),
    );
  }

  /** Stops a run, here or when it is gone on with. */
  async stop(id: string, reason?: string): Promise<RunInfo> {
    return this.#open().command<RunInfo>('stop', { run: id, reason });
  }

  /**
   * Deletes a run that is over, with its records, its sub-agents' runs and the messages that it wrote: afterwards
   * they are in no file of the store.
   */
  async delete(id: string): Promise<void> {
    await this.#open().command<unknown>('delete', { run: id });
  }

  /** Undefined where there is no such run. */
  get(id: string): Promise<RunInfo | undefined> {
    return storedRun(this.#command, id);
  }

  list(query: RunQuery = {}): Promise<RunPage> {
    return storedRuns(this.#command, query);
  }

  /**
   * The run as a file in pieces: a page that plays it offline, or its records as lines of JSON. Values of arguments that
   * a tool's schema declares as `writeOnly` or `format: 'password'`, and of names such as `apiKey`, are left out.
   */
  export(id: string, options: ExportRunOptions = {}): AsyncGenerator<Uint8Array, undefined> {
    checkExport(options);
    return runFile(this.#command, id, options, (name) => this.#agents.get(name)?.planJson ?? '');
  }

  /**
   * Begins a new run from a record of another one, with a result or a message edited. What was over by that record is
   * not done again. Resolves when the new run is stored.
   */
  async fork(id: string, options: ForkOptions): Promise<RunInfo> {
    return forkRun(this.#command, id, options);
  }

  /**
   * The response of a run that is over, once more from its journal: the bytes that its readers got. No model and no
   * tool is called.
   */
  replay(id: string, options: ReplayOptions & { as: 'ag_ui_proto' }): Promise<Uint8Array>;
  /** The same as text. */
  replay(id: string, options?: ReplayOptions): Promise<string>;
  replay(id: string, options: ReplayOptions = {}): Promise<string | Uint8Array> {
    return replayedRun(this.#command, id, options);
  }

  /** The threads that runs of a principal write, and their artifacts. */
  storage(options: RuntimeStorageOptions = {}): RuntimeStorage {
    return runtimeStorage(this.#command, options);
  }

  /** Closes the store. Runs at work have so many milliseconds to end; what is left goes on where the store is opened next. */
  close(options: { drainMs?: number | undefined } = {}): Promise<void> {
    checkNames('close()', options, ['drainMs']);
    checkValues('close()', options, { drainMs: milliseconds });
    this.#skills.close();
    this.#closing ??= this.#stream
      ? this.#stream.command<void>('close', options).then(() => undefined)
      : Promise.resolve();
    return this.#closing;
  }

  /** Tools that can be called from outside, by the routes of the runtime; `api.tools` decides which. */
  tools(tools: HostTools): void {
    this.#calls.addTools(tools);
  }

  /** A slash command of conversations: a message `/name ...` is for it, not for the agent. */
  command(command: CommandDeclaration): void {
    this.#calls.commands.add(command);
  }

  /**
   * A function that sees each message of the conversations before a turn begins: it may change or annotate it, answer
   * itself, or reject it. One with a known name takes its place.
   */
  pipeline(name: string, run: PipelineFunction, options: PipelineOptions = {}): void {
    this.#calls.pipelines.add(name, run, options);
    if (this.#stream) this.#announcePipelines(this.#stream);
  }

  /**
   * Folders with a file SKILL.md, below this one: agents read their names and descriptions, and load the rest when they
   * need it. The folder is read again when it changes; runs at work keep what they began with.
   */
  skills(dir: string, options: SkillOptions = {}): SkillFolder {
    const folder = this.#skills.add(dir, options, this.#agents, () => this.#renewAgents());
    this.#renewAgents();
    return folder;
  }

  /** Operations as LobeHub's server has them, as plain functions: docs/lobehub.md. */
  lobe(options: LobeServerOptions = {}): LobeServer {
    return new LobeServer(
      (request, principal) => askRoute(this.#openForRoutes().forReader(), request, principal),
      options,
    );
  }

  /** Answers a request by the routes of the runtime: docs/runtime-api.md. */
  readonly fetch = (request: Request, options: FetchOptions = {}): Promise<Response> =>
    fetchRoute(this.#reader, request, options);

  /**
   * The same for a Node server or Express: `app.use(runtime.nodeHandler)`. A client that leaves ends the reading.
   * Resolves when the answer is written or the client is gone; never rejects.
   */
  readonly nodeHandler = (request: NodeRequest, response: NodeResponse): Promise<void> =>
    answerNodeRoute(this.#reader, request, response, this.#options.api?.readerStallMs);

  /** Serves the routes of the runtime by the engine, beside the main thread. */
  listen(options: ListenOptions = {}): Promise<RuntimeServer> {
    return listenOn(this.#openForRoutes(), options, () => this.#closing !== undefined);
  }

  /** @internal */
  register(name: string, agent: RegisteredAgent): void {
    if (this.#options.role === 'reader') {
      throw new MillraceError(
        'invalid_option',
        "A runtime with role: 'reader' runs nothing: give the agent one that owns its store.",
      );
    }
    this.#skills.apply(name, agent);
    const before = this.#agents.get(name);
    this.#agents.set(name, agent);
    try {
      if (this.#stream) this.#stream.register(name, agent);
      else if (!isPageBuild()) this.#open();
    } catch (error) {
      // What was refused must not be registered again at each opening.
      if (before) this.#agents.set(name, before);
      else this.#agents.delete(name);
      throw error;
    }
  }

  /** @internal */
  openRun({ plan, input, options }: RunTexts): AgentCall {
    const id = this.#open().forReader();
    return startDurableCall((native, deliver) =>
      native.startRun(id, plan, input, JSON.stringify(options), deliver),
    );
  }

  /** @internal */
  respond(texts: RunTexts): Promise<RunResponse> {
    return respond(this.#open().forReader(), texts);
  }

  /** @internal */
  ask<T>(command: string, options: object): Promise<T> {
    return this.#open().command<T>(command, options);
  }

  /** @internal */
  beginJob(name: string, input: unknown, options: JobStartOptions, known?: unknown): DurableRun {
    return jobRun(this, name, input, options, { isUnread: true, known });
  }

  #run(
    name: string,
    input: AgentInput,
    options: DurableRunOptions,
    how: Pick<DurableTarget, 'isUnread' | 'inner'>,
  ): DurableRun {
    const agent = this.#agents.get(name);
    if (!agent) throw notRegistered(name);
    return durableRun({ runtime: this, name, agent, ...how }, input, options);
  }

  #goOn(
    { id, name, principal }: DurablePart,
    resume: ResumeEntry[],
    { signal }: ResumeOptions,
  ): DurableRun {
    const agent = this.#agents.get(name);
    if (!agent) throw notRegistered(name);
    const options = { resume, principal, signal: signal ?? undefined };
    return durableRun({ runtime: this, name, agent }, [], options, id);
  }

  #renewAgents(): void {
    if (this.#closing) return;
    for (const [name, agent] of this.#agents) {
      if (this.#skills.apply(name, agent)) this.#stream?.register(name, agent);
    }
  }

  #openForRoutes(): RuntimeStream {
    if (!this.#agents.has(commandAgent)) this.agent(commandAgent, this.#calls.commands.run);
    if (!this.#agents.has(toolAgent)) this.agent(toolAgent, this.#calls.runTool);
    if (!this.#agents.has(pipelineAgent)) {
      this.agent(pipelineAgent, replyOf, { onRestart: 'rerun' });
    }
    return this.#open();
  }

  #open(): RuntimeStream {
    if (this.#closing) throw new MillraceError('engine_closed', 'The runtime is closed.');
    this.#stream ??= new RuntimeStream(optionsJson(this.#options), {
      agents: this.#agents,
      defaults: this.#options,
      calls: this.#calls,
      startChild: childrenOf(this),
      // The next use tries again.
      onEnd: () => (this.#stream = undefined),
    });
    if (this.#calls.pipelines.count > 0) this.#announcePipelines(this.#stream);
    return this.#stream;
  }

  // The engine asks for them only where there are some. Why the store cannot be opened is reported elsewhere.
  #announcePipelines(stream: RuntimeStream): void {
    const { count } = this.#calls.pipelines;
    stream.command('pipelines', { count }).catch(() => undefined);
  }
}

/** Makes a runtime: `createAgent({ ..., runtime, name })` records the runs of the agent in its store. */
export function createRuntime(options: RuntimeOptions): Runtime {
  return new Runtime(options);
}
