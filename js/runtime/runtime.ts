// createRuntime: durable runs. The engine records them in a store and goes on with those that a process left.
import type { AgentDecision } from '../../types/agent-run';
import type { ResumeEntry } from '../../types/events';
import type { Approval, ApprovalQuery, RunInfo, RunPage, RunQuery } from '../../types/runtime';
import { checkSignal } from '../abort';
import { DurableRun } from '../agent/durable-run';
import type {
  DurablePart,
  DurableRuntime,
  RegisteredAgent,
  RunResponse,
  RunTexts,
} from '../agent/durable-types';
import type { ResumeOptions } from '../agent/agent-run';
import { defaultReplaySize, durableRun } from '../agent/start-durable';
import type { AgentInput, DurableRunOptions } from '../agent/types';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { type AgentCall, startDurableCall } from '../model/call';
import { shown } from '../shown';
import { checkValues, cursor, milliseconds } from '../value-checks';
import { checkRuntimeOptions, type RuntimeOptions } from './runtime-options';
import { respond } from './run-response';
import { RuntimeStream } from './runtime-stream';

/** How a run is read again. */
export interface AttachOptions {
  /** The number of the last record that the reader has; 0 when absent. */
  after?: number | undefined;
  /** Ends the reading; the run goes on. */
  signal?: AbortSignal | undefined;
}

/** Durable runs of this process and of those before it. Opens its store with the first use. */
export class Runtime implements DurableRuntime {
  readonly #optionsJson: string;
  readonly #isReader: boolean;
  readonly #agents = new Map<string, RegisteredAgent>();
  #stream: RuntimeStream | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: RuntimeOptions) {
    checkRuntimeOptions(options);
    this.#optionsJson = JSON.stringify(options);
    this.#isReader = options.role === 'reader';
  }

  /** Approvals that runs wait for. */
  readonly approvals = {
    /** Those that are open, or all. */
    list: (query: ApprovalQuery = {}): Promise<Approval[]> => {
      checkNames('approvals.list()', query, ['run', 'principal', 'all']);
      return this.#open().command<Approval[]>('approvals', query);
    },
    /** Decides once, from whatever process; the run goes on. */
    decide: async (id: string, decision: boolean | AgentDecision): Promise<RunInfo> => {
      const payload = typeof decision === 'boolean' ? { approved: decision } : decision;
      if (typeof payload !== 'object' || payload === null) {
        throw new MillraceError(
          'invalid_argument',
          `approvals.decide() takes true, false or a decision, not ${shown(decision)}.`,
        );
      }
      const entry = { status: 'resolved', payload };
      return this.#open().command<RunInfo>('decide', { approval: id, entry });
    },
  };

  /** Begins a run of the agent with this name, and reads it. */
  run(name: string, input: AgentInput, options: DurableRunOptions = {}): DurableRun {
    const agent = this.#agents.get(name);
    if (!agent) throw notRegistered(name);
    return durableRun({ runtime: this, name, agent }, input, options);
  }

  /** Begins a run and resolves when it is stored. */
  async start(name: string, input: AgentInput, options: DurableRunOptions = {}): Promise<RunInfo> {
    const run = this.run(name, input, options);
    await run.started;
    run.leave();
    return this.#open().command<RunInfo>('get', { run: run.id });
  }

  /** Reads a run from a record on: what is stored, then what comes. */
  attach(id: string, options: AttachOptions = {}): DurableRun {
    checkNames('attach()', options, ['after', 'signal']);
    const { after = 0, signal } = options;
    checkSignal('attach()', signal);
    checkValues('attach()', { after }, { after: cursor });
    const run = String(id);
    const call = this.openRun({ plan: '', input: '', options: { run, after } });
    const durable: DurablePart = {
      ...{ id: run, name: '', principal: undefined, runtime: this },
      ...{ stopsUnread: false, leaves: signal },
    };
    return new DurableRun(call, {
      // Both are known with the first item.
      ...{ threadId: '', runId: run, durable },
      protocolVersion: undefined,
      tools: new Map(),
      send: undefined,
      suspended: undefined,
      signal: undefined,
      onCheckpoint: undefined,
      replayBufferSize: defaultReplaySize,
      goOn: (resume, more) => this.#goOn(durable, resume, more),
    });
  }

  /** Stops a run, here or when it is gone on with. */
  stop(id: string, reason?: string): Promise<RunInfo> {
    return this.#open().command<RunInfo>('stop', { run: id, reason });
  }

  /** Undefined where there is no such run. */
  async get(id: string): Promise<RunInfo | undefined> {
    try {
      return await this.#open().command<RunInfo>('get', { run: id });
    } catch (error) {
      if (MillraceError.is(error) && error.code === 'run_not_found') return undefined;
      throw error;
    }
  }

  list(query: RunQuery = {}): Promise<RunPage> {
    const names = ['state', 'threadId', 'principal', 'limit', 'cursor', 'children'];
    checkNames('list()', query, names);
    return this.#open().command<RunPage>('list', query);
  }

  /**
   * Closes the store. Runs that are at work have so many milliseconds to end; then they are left as they are, and
   * go on where the store is opened next.
   */
  close(options: { drainMs?: number | undefined } = {}): Promise<void> {
    checkNames('close()', options, ['drainMs']);
    checkValues('close()', options, { drainMs: milliseconds });
    this.#closing ??= this.#stream
      ? this.#stream.command<void>('close', options).then(() => undefined)
      : Promise.resolve();
    return this.#closing;
  }

  /** @internal */
  register(name: string, agent: RegisteredAgent): void {
    if (this.#isReader) {
      throw new MillraceError(
        'invalid_option',
        "A runtime with role: 'reader' runs nothing: give the agent one that owns its store.",
      );
    }
    this.#agents.set(name, agent);
    if (this.#stream) this.#stream.register(name, agent);
    else this.#open();
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

  #open(): RuntimeStream {
    if (this.#closing) throw new MillraceError('engine_closed', 'The runtime is closed.');
    this.#stream ??= new RuntimeStream(this.#optionsJson, {
      agents: this.#agents,
      // The next use tries again.
      onEnd: () => (this.#stream = undefined),
    });
    return this.#stream;
  }
}

/** Makes a runtime: `createAgent({ ..., runtime, name })` records the runs of the agent in its store. */
export function createRuntime(options: RuntimeOptions): Runtime {
  return new Runtime(options);
}

function notRegistered(name: unknown): MillraceError {
  return new MillraceError(
    'agent_not_registered',
    `The runtime has no agent ${shown(name)}: give the agent the runtime and this name in createAgent().`,
  );
}
