// Group orchestration: a supervisor decides, in the engine, which member of a group does what next;
// executors do it. Both shapes of LobeHub's runtime are served: supervisors that decide on results,
// and older ones with a runner that reads a context.
import type { AgentState, AgentStepResult } from '../../types/agent';
import { onAbort } from '../abort';
import { MillraceError } from '../errors';
import { engineAnswer } from '../tool/engine-answer';
import { type Speak, failures, memberExecutors } from './group-members';
import type {
  GroupContext,
  GroupExecutor,
  GroupExecutorOutput,
  GroupInstruction,
  GroupOrchestrationRuntimeConfig,
  GroupOrchestrationSupervisorConfig,
  GroupResult,
  GroupSupervisor,
} from './group-types';
import { AgentRuntime } from './runtime';
import { errorRecord, toJson } from '../serialize';
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
}

class Aborted extends Error {}

/** Alternates a supervisor's decisions and the executors that carry them out. */
export class GroupOrchestrationRuntime {
  readonly #supervisor: GroupSupervisor;
  readonly #config: GroupOrchestrationRuntimeConfig;

  constructor(supervisor: GroupSupervisor, config: GroupOrchestrationRuntimeConfig = {}) {
    this.#supervisor = supervisor;
    this.#config = config;
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
   * supervisor throws, and when it answers with something that is no instruction.
   */
  async step(
    state: AgentState,
    input: GroupResult | GroupContext,
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
    const instruction = await this.#decide(input, newState);
    const output = await this.#execute(instruction, newState);
    return { ...output, newState: { ...output.newState, stepCount, lastModified } };
  }

  /**
   * Runs from the beginning until the supervisor finishes, fails, or the run is stopped; the last state. A
   * failure of the supervisor is an `error` event and a state of status `error`.
   */
  async run(state: AgentState, groupId?: string): Promise<AgentState> {
    const { onEvent } = this.#config;
    let current: AgentState = { ...state, status: 'running' };
    let input: GroupResult | undefined = { type: 'init', payload: groupId ? { groupId } : {} };
    while (input) {
      let output: GroupExecutorOutput;
      try {
        if (this.#signal()?.aborted) throw new Aborted();
        output = await this.step(current, input);
      } catch (error) {
        output = error instanceof Aborted ? stopped(current) : failed(error, current);
      }
      for (const event of output.events) emit(onEvent, event);
      current = output.newState;
      input = ['done', 'error'].includes(current.status) ? undefined : output.result;
    }
    return current;
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

  async #execute(instruction: GroupInstruction, state: AgentState): Promise<GroupExecutorOutput> {
    const { type } = instruction;
    const given = this.#config.executors?.[type];
    // An own one has the time limit of each member it calls.
    const executor = given ?? this.#ownExecutor(type);
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
      const output = await this.#guard((signal) => executor(instruction, state, { signal }), limit);
      if (typeof output?.newState === 'object') return output;
      throw new MillraceError('invalid_state', `The executor of ${type} gave no newState.`);
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
  async #guard<T>(work: (signal: AbortSignal) => Promise<T> | T, limit = 0): Promise<T> {
    const outer = this.#signal();
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

  #ownExecutor(type: string): GroupExecutor | undefined {
    const call = this.#config.callAgent;
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

  #signal(): AbortSignal | undefined {
    return this.#config.signal ?? this.getAbortController()?.signal;
  }
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
