// Group orchestration: a supervisor decides, in the engine, which member of a group does what next;
// executors do it. Both shapes of LobeHub's runtime are served: supervisors that decide on results,
// and older ones with a runner that reads a context.
import type { AgentState, AgentStepResult } from '../../types/agent';
import type { RunInfo } from '../../types/runtime';
import { eitherSignal, onAbort } from '../abort';
import { MillraceError } from '../errors';
import { engineAnswer } from '../tool/engine-answer';
import { type Speak, failures, memberExecutors } from './group-members';
import type {
  CallGroupAgent,
  GroupContext,
  GroupExecutor,
  GroupExecutorOutput,
  GroupInstruction,
  GroupOrchestrationRuntimeConfig,
  GroupOrchestrationSupervisorConfig,
  GroupResult,
  GroupRunOptions,
  GroupSupervisor,
} from './group-types';
import { AgentRuntime } from './runtime';
import { DurableGroup, type RoundLedger } from './durable-group';
import { durableChecks } from './runtime-config';
import { errorRecord, toJson } from '../serialize';
import { checkValues } from '../value-checks';
import { emit } from './step-driver';
import { within } from '../tool/time-limit';

/** Decides by rules: each result leads to one instruction. */
export class GroupOrchestrationSupervisor implements GroupSupervisor {
  readonly #config: GroupOrchestrationSupervisorConfig;
  #memory: object = {};

  constructor(config: GroupOrchestrationSupervisorConfig) {
    this.#config = config;
  }

  decide(result: GroupResult, _state?: AgentState): Promise<GroupInstruction> {
    const decided = engineAnswer<{ instruction: GroupInstruction; memory: object }>('decideGroup', {
      config: this.#config,
      memory: this.#memory,
      result,
    });
    this.#memory = decided.memory;
    return Promise.resolve(decided.instruction);
  }

  /** What it remembers of the run. */
  save(): object {
    return this.#memory;
  }

  restore(memory: unknown): void {
    this.#memory = memory ?? {};
  }
}

class Aborted extends Error {}

/** Alternates a supervisor's decisions and the executors that carry them out. */
export class GroupOrchestrationRuntime {
  readonly #supervisor: GroupSupervisor;
  readonly #config: GroupOrchestrationRuntimeConfig;
  readonly #durable: DurableGroup | undefined;

  constructor(supervisor: GroupSupervisor, config: GroupOrchestrationRuntimeConfig = {}) {
    this.#supervisor = supervisor;
    this.#config = config;
    const { runtime, name = '', version, unknown, onEvent } = config;
    checkValues('A group', { runtime, name, version, unknown }, durableChecks);
    this.#durable =
      runtime &&
      new DurableGroup({
        ...{ runtime, name, version, unknown, supervisor, onEvent },
        round: (state, input, ledger) => this.#settled(state, input, ledger),
      });
  }

  getContext(): Record<string, unknown> | undefined {
    return this.#operation()?.context;
  }

  getAbortController(): AbortController | undefined {
    return this.#operation()?.abortController;
  }

  /** The state that a group begins with. */
  static createInitialState(partial: Partial<AgentState> = {}): AgentState {
    return AgentRuntime.createInitialState(partial);
  }

  /**
   * One decision and its execution, from a result or an older runner's context. Rejects with what the
   * supervisor throws, and when it answers with something that is no instruction. A step alone is not recorded.
   */
  step(
    state: AgentState,
    input: GroupResult | GroupContext,
  ): Promise<GroupExecutorOutput & Pick<AgentStepResult, 'newState'>> {
    return this.#round(state, input);
  }

  async #round(
    state: AgentState,
    input: GroupResult | GroupContext,
    ledger?: RoundLedger,
  ): Promise<GroupExecutorOutput & Pick<AgentStepResult, 'newState'>> {
    const newState = JSON.parse(toJson(state, 'state')) as AgentState;
    newState.stepCount += 1;
    newState.lastModified = new Date().toISOString();
    if (newState.maxSteps && newState.stepCount > newState.maxSteps) {
      newState.status = 'done';
      const reason = `Maximum steps exceeded: ${newState.maxSteps}`;
      return { events: [{ type: 'done', reason }], newState };
    }
    const { stepCount, lastModified } = newState;
    const decide = (): Promise<GroupInstruction> => this.#decide(input, newState);
    const instruction = await (ledger ? ledger.decision(decide) : decide());
    const output = await this.#execute(instruction, newState, ledger);
    return { ...output, newState: { ...output.newState, stepCount, lastModified } };
  }

  /**
   * Runs from the beginning until the supervisor finishes, fails, or the run is stopped; the last state. A
   * failure of the supervisor is an `error` event and a state of status `error`. With a runtime the run is recorded, and
   * goes on in the next process.
   */
  async run(
    state: AgentState,
    groupId?: string,
    { idempotencyKey }: GroupRunOptions = {},
  ): Promise<AgentState> {
    if (this.#durable) return this.#durable.run({ state, groupId }, idempotencyKey);
    const { onEvent } = this.#config;
    let current: AgentState = { ...state, status: 'running' };
    let input: GroupResult | undefined = { type: 'init', payload: groupId ? { groupId } : {} };
    while (input) {
      const output = await this.#settled(current, input);
      for (const event of output.events) emit(onEvent, event);
      current = output.newState;
      input = ['done', 'error'].includes(current.status) ? undefined : output.result;
    }
    return current;
  }

  /** Begins a durable run and resolves when it is stored; needs a runtime. */
  async start(
    state: AgentState,
    groupId?: string,
    { idempotencyKey }: GroupRunOptions = {},
  ): Promise<RunInfo> {
    if (this.#durable) return this.#durable.start({ state, groupId }, idempotencyKey);
    throw new MillraceError(
      'invalid_option',
      'start() needs a group with a `runtime` and a `name`.',
    );
  }

  async #settled(
    state: AgentState,
    input: GroupResult,
    ledger?: RoundLedger,
  ): Promise<GroupExecutorOutput> {
    try {
      if (this.#signal(ledger)?.aborted) throw new Aborted();
      return await this.#round(state, input, ledger);
    } catch (error) {
      return error instanceof Aborted ? stopped(state) : failed(error, state);
    }
  }

  async #decide(input: GroupResult | GroupContext, state: AgentState): Promise<GroupInstruction> {
    const supervisor = this.#supervisor;
    let instruction: GroupInstruction;
    if ('phase' in input && supervisor.runner) {
      instruction = await supervisor.runner(input, state);
    } else if (supervisor.decide) {
      instruction = await supervisor.decide(input as GroupResult, state);
    } else {
      throw new MillraceError(
        'invalid_argument',
        'The supervisor needs a function `decide` or `runner`.',
      );
    }
    if (typeof instruction?.type === 'string') return instruction;
    throw new MillraceError(
      'invalid_instruction',
      'The supervisor did not return an instruction; return an object with a `type`.',
    );
  }

  async #execute(
    instruction: GroupInstruction,
    state: AgentState,
    ledger?: RoundLedger,
  ): Promise<GroupExecutorOutput> {
    const { type } = instruction;
    const given = this.#config.executors?.[type];
    // An own one has the time limit of each member it calls.
    const executor = given ?? this.#ownExecutor(type, ledger);
    const limit = given ? this.#config.agentTimeoutMs : 0;
    if (!executor) {
      if (type === 'finish') return finished(instruction.reason ?? 'finished', state);
      throw new MillraceError(
        'unknown_instruction',
        `No executor found for instruction type: ${type}`,
      );
    }
    const decides = this.#supervisor.decide !== undefined;
    const failure = failures[type];
    try {
      return await this.#guard(
        (signal) => {
          const execute = async (): Promise<GroupExecutorOutput> => {
            const output = await executor(instruction, state, { signal });
            if (typeof output?.newState === 'object') return output;
            throw new MillraceError('invalid_state', `The executor of ${type} gave no newState.`);
          };
          return given && ledger ? ledger.execution(type, state, execute) : execute();
        },
        limit,
        ledger,
      );
    } catch (error) {
      if (error instanceof Aborted || !decides) throw error;
      const record = errorRecord(error);
      if (!failure) return failed(error, state);
      return {
        events: [{ type: 'error', error: record }],
        newState: state,
        result: failure(instruction.payload ?? {}, record.message),
      };
    }
  }

  // Runs `work` with a time limit, and lets go of it when the run is stopped.
  async #guard<T>(
    work: (signal: AbortSignal) => Promise<T> | T,
    limit = 0,
    ledger?: RoundLedger,
  ): Promise<T> {
    const outer = this.#signal(ledger);
    let stop: () => void = () => undefined;
    const halted = new Promise<never>((_resolve, reject) => {
      stop = () => reject(new Aborted());
      if (outer?.aborted) stop();
    });
    halted.catch(() => undefined);
    const settled = onAbort(outer, stop);
    try {
      const message = `No answer within ${limit} ms.`;
      return await Promise.race([halted, within(work, limit, message, outer)]);
    } finally {
      settled();
    }
  }

  #ownExecutor(type: string, ledger?: RoundLedger): GroupExecutor | undefined {
    const call = recordedCall(this.#config.callAgent, ledger);
    if (!call) return undefined;
    const speak: Speak = (payload, state) =>
      this.#guard(
        (signal) =>
          call(String(payload.agentId), {
            ...(payload as { instruction?: string; task?: unknown; disableTools?: boolean }),
            state,
            signal,
          }),
        typeof payload.timeout === 'number' ? payload.timeout : this.#config.agentTimeoutMs,
        ledger,
      );
    return memberExecutors(speak, (items, work) => this.#each(items, work))[type];
  }

  // At most `concurrency` at a time; a failure is a result.
  async #each<T>(
    items: T[],
    work: (item: T) => Promise<unknown>,
  ): Promise<{ success: boolean; result?: unknown; error?: string }[]> {
    const results: { success: boolean; result?: unknown; error?: string }[] = [];
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let index = next++; index < items.length; index = next++) {
        try {
          results[index] = { success: true, result: await work(items[index] as T) };
        } catch (error) {
          if (error instanceof Aborted) throw error;
          results[index] = { success: false, error: errorRecord(error).message };
        }
      }
    };
    const workers = Math.min(this.#config.concurrency ?? 4, items.length);
    await Promise.all(Array.from({ length: workers }, worker));
    return results;
  }

  #operation():
    ReturnType<NonNullable<GroupOrchestrationRuntimeConfig['getOperation']>> | undefined {
    const { operationId, getOperation } = this.#config;
    return operationId === undefined ? undefined : getOperation?.(operationId);
  }

  #signal(ledger?: RoundLedger): AbortSignal | undefined {
    const own = this.#config.signal ?? this.getAbortController()?.signal;
    return own && ledger ? eitherSignal([own, ledger.signal]) : (ledger?.signal ?? own);
  }
}

// Members are the caller's function, or the agents of the runtime.
function recordedCall(
  call: CallGroupAgent | undefined,
  ledger: RoundLedger | undefined,
): CallGroupAgent | undefined {
  if (!ledger) return call;
  return call
    ? (agentId, options) => ledger.answer(agentId, () => call(agentId, options))
    : ledger.member;
}

function failed(thrown: unknown, state: AgentState): GroupExecutorOutput {
  const error = errorRecord(thrown);
  return { events: [{ type: 'error', error }], newState: { ...state, status: 'error', error } };
}

function stopped(state: AgentState): GroupExecutorOutput {
  return {
    events: [{ type: 'done', reason: 'aborted' }],
    newState: { ...state, status: 'done' },
  };
}

function finished(reason: string, state: AgentState): GroupExecutorOutput {
  const limit = reason === 'max_rounds_exceeded';
  return {
    events: [
      ...(limit ? [{ type: 'max_rounds_exceeded' }] : [{ type: 'supervisor_finished', reason }]),
      { type: 'done', reason },
    ],
    newState: { ...state, status: 'done' },
  };
}
