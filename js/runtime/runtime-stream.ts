// The stream of an open runtime: commands to the engine and their answers, and the calls of tools that runs ask for.
import { AsyncResource } from 'node:async_hooks';

import type { RegisteredAgent } from '../agent/durable-types';
import { HostCalls, type ToolRequest } from '../agent/host-calls';
import { errorFromNative, MillraceError, rethrow } from '../errors';
import { messageOf } from '../thrown';
import { engine } from '../transport/engine';
import type { ApiCalls } from './api-calls';
import { type FunctionRequest, runFunction } from './function-agent';
import { type HostNotice, HostWork } from './host-work';
import type { StartChild } from './job-children';
import { type JobRequest, runJob } from './job-work';

type Item =
  | { type: '@opened' | '@registered' }
  | { type: '@busy'; runs: number }
  | { type: '@tool' | '@model'; id: number; run: string; agent: string; value: ToolRequest }
  | { type: '@ask'; id: number; kind: string; value: unknown }
  | {
      type: '@function';
      id: number;
      run: string;
      agent: string;
      value: FunctionRequest | JobRequest;
    }
  | { type: '@notice'; id: number; value: HostNotice }
  | { type: '@withdraw'; id: number }
  | { type: '@answer'; id: number; value: unknown }
  | { type: '@refused'; id: number; error: object }
  | {
      type: '@problem';
      run?: string;
      what?: string;
      error: { code: string; message: string; detail?: string };
    };

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

export interface StreamHost {
  agents: ReadonlyMap<string, RegisteredAgent>;
  /** What agents are registered with that have no other. */
  defaults: Pick<RegisteredAgent, 'onDisconnect' | 'approvalTimeoutMs'>;
  calls: ApiCalls;
  /** Begins what jobs have other runs do. */
  startChild: StartChild;
  /** The store could not be opened, or was closed. */
  onEnd(error: MillraceError | undefined): void;
}

// A withdrawal is on its way for a moment only.
const mostEnded = 64;

/** One opening of a store. */
export class RuntimeStream {
  readonly #host: StreamHost;
  readonly #native = engine();
  readonly #scope = new AsyncResource('MillraceRuntime');
  readonly #id: number;
  readonly #commands = new Map<number, Waiting>();
  readonly #calls = new Map<string, HostCalls>();
  readonly #callOf = new Map<number, HostCalls>();
  readonly #functions = new Map<number, HostWork>();
  // The latest that have ended, the oldest first.
  readonly #ended = new Map<number, HostWork>();
  #lastCommand = 0;
  #isOver = false;
  // Why it could not be opened has reached a caller.
  #isReported = false;
  // Registrations whose runs are still to be taken over, and runs at work: they keep the process alive.
  #registering = 0;
  #busy = 0;
  #holders = 0;

  constructor(optionsJson: string, host: StreamHost) {
    this.#host = host;
    try {
      this.#id = this.#native.startRuntime(optionsJson, this.#deliver);
    } catch (error) {
      rethrow(error);
    }
    for (const [name, agent] of host.agents) this.register(name, agent);
  }

  /** For a reader, who gets why the store cannot be opened. */
  forReader(): number {
    this.#isReported = true;
    return this.#id;
  }

  /** Keeps the process alive until the function that it gives is called. */
  hold(): () => void {
    this.#holders += 1;
    this.#settle();
    return () => {
      this.#holders -= 1;
      this.#settle();
    };
  }

  register(name: string, { planJson, work, ...agent }: RegisteredAgent): void {
    const { defaults } = this.#host;
    const settings = JSON.stringify({
      unknown: agent.unknown,
      // What a job does is not for a reader to end.
      onDisconnect:
        work && 'job' in work ? 'continue' : (agent.onDisconnect ?? defaults.onDisconnect),
      approvalTimeoutMs: agent.approvalTimeoutMs ?? defaults.approvalTimeoutMs,
    });
    const version = agent.version ?? '';
    this.#registering += 1;
    this.#calls.delete(name);
    try {
      if (work) {
        const onRestart = 'job' in work ? 'enter' : (work.onRestart ?? '');
        this.#native.runtimeFunction(this.#id, name, onRestart, version, settings);
      } else this.#native.runtimeAgent(this.#id, name, planJson, version, settings);
    } catch (error) {
      this.#registering -= 1;
      rethrow(error);
    }
    this.#settle();
  }

  command<T>(name: string, options: object): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const json = commandText(name, options);
      const id = (this.#lastCommand += 1);
      this.#commands.set(id, { resolve: resolve as Waiting['resolve'], reject });
      this.#native.command(this.#id, name, id, '', json);
      this.#settle();
    });
  }

  readonly #deliver = (_head?: string, data?: string | Buffer, end?: string): boolean => {
    if (data !== undefined) {
      for (const item of JSON.parse(data as string) as Item[]) this.#take(item);
    }
    if (end !== undefined) this.#end(end === '' ? undefined : errorFromNative(end));
    this.#settle();
    return end === undefined;
  };

  #take(item: Item): void {
    switch (item.type) {
      case '@opened':
        break;
      case '@registered':
        this.#registering -= 1;
        break;
      case '@busy':
        this.#busy = item.runs;
        break;
      case '@tool':
        this.#callsOf(item.agent, item.id).start(item.id, item.value);
        break;
      case '@model':
        this.#native.completeHook(this.#id, item.id, noModel);
        break;
      case '@ask':
        void this.#scope.runInAsyncScope(() => this.#answer(item));
        break;
      case '@function':
        this.#startFunction(item.agent, item.id, item.value);
        break;
      case '@notice':
        this.#functions.get(item.id)?.notice(item.value);
        break;
      case '@withdraw':
        this.#functions.get(item.id)?.withdraw();
        this.#functions.delete(item.id);
        this.#ended.get(item.id)?.lost();
        this.#ended.delete(item.id);
        this.#callOf.get(item.id)?.withdraw(item.id);
        this.#callOf.delete(item.id);
        break;
      case '@answer':
        this.#settleCommand(item.id)?.resolve(item.value);
        break;
      case '@refused':
        this.#isReported = true;
        this.#settleCommand(item.id)?.reject(errorFromNative(JSON.stringify(item.error)));
        break;
      case '@problem': {
        const { run, what, error } = item;
        const left = run === undefined ? 'Runs cannot be taken over' : `The run ${run} is parked`;
        process.emitWarning(`createRuntime(): ${what ?? left}: ${inFull(error)}`, {
          code: 'MILLRACE_RUNTIME',
        });
        break;
      }
    }
  }

  async #answer({ id, kind, value }: { id: number; kind: string; value: unknown }): Promise<void> {
    const json = await this.#host.calls.answer(kind, value);
    if (!this.#isOver) this.#native.completeHook(this.#id, id, json);
  }

  #settleCommand(id: number): Waiting | undefined {
    const waiting = this.#commands.get(id);
    this.#commands.delete(id);
    return waiting;
  }

  // Tools run in the scope in which the runtime was opened: a recovered run has no other.
  #callsOf(agent: string, id: number): HostCalls {
    let calls = this.#calls.get(agent);
    if (!calls) {
      const tools = this.#host.agents.get(agent)?.tools ?? new Map<string, never>();
      const complete = (question: number, json: string): void => {
        if (!json.startsWith('{"progress"')) this.#callOf.delete(question);
        if (!this.#isOver) this.#native.completeHook(this.#id, question, json);
      };
      calls = new HostCalls({ tools }, { complete }, this.#scope);
      this.#calls.set(agent, calls);
    }
    this.#callOf.set(id, calls);
    return calls;
  }

  // As a tool, in the scope of the runtime.
  #startFunction(agent: string, id: number, request: FunctionRequest | JobRequest): void {
    const complete = (json: string): void => {
      if (!json.startsWith('{"progress"')) this.#hasEnded(id);
      if (!this.#isOver) this.#native.completeHook(this.#id, id, json);
    };
    const { work, unknown = 'report' } = this.#host.agents.get(agent) ?? {};
    if (!work) return complete(noFunction);
    const running = new HostWork(agent, complete);
    this.#functions.set(id, running);
    const { startChild } = this.#host;
    void this.#scope.runInAsyncScope(() =>
      'job' in work
        ? runJob(running, work.job, request as JobRequest, { unknown, startChild })
        : runFunction(running, work.run, request as FunctionRequest),
    );
  }

  // A withdrawal that was on its way says that the engine had gone on without it.
  #hasEnded(id: number): void {
    const work = this.#functions.get(id);
    if (!work) return;
    this.#functions.delete(id);
    this.#ended.set(id, work);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > mostEnded && oldest !== undefined) this.#ended.delete(oldest);
  }

  #end(error: MillraceError | undefined): void {
    this.#isOver = true;
    for (const work of this.#functions.values()) work.withdraw();
    this.#functions.clear();
    for (const calls of this.#calls.values()) calls.end();
    const closed = error ?? new MillraceError('engine_closed', 'The runtime is closed.');
    for (const { reject } of this.#commands.values()) reject(closed);
    this.#isReported ||= this.#commands.size > 0;
    this.#commands.clear();
    if (error && !this.#isReported) {
      process.emitWarning(`createRuntime(): the store could not be opened: ${inFull(error)}`, {
        code: 'MILLRACE_RUNTIME',
      });
    }
    this.#host.onEnd(error);
  }

  // The process lives on for as long as something is at work.
  #settle(): void {
    if (this.#isOver) return;
    const isOn = this.#commands.size + this.#registering + this.#busy + this.#holders > 0;
    this.#native.keepAlive(this.#id, isOn);
  }
}

const noModel = JSON.stringify({
  type: 'error',
  error: { code: 'invalid_state', message: 'An agent with a runtime has a model of its own.' },
});

const noFunction = JSON.stringify({
  error: { code: 'agent_not_registered', message: 'The function is not registered any more.' },
});

function commandText(name: string, options: object): string {
  try {
    return JSON.stringify(options);
  } catch (error) {
    throw new MillraceError(
      'invalid_argument',
      `${name}(): the arguments cannot be written as JSON: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

// The detail has the paths of this machine, which messages for clients have not.
function inFull({ message, detail }: { message: string; detail?: string }): string {
  return detail === undefined ? message : `${message} (${detail})`;
}
