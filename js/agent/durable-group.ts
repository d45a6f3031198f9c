// The durable runs of a group: each is a job whose rounds are rows of the ledger. What the supervisor decided and what its
// executors gave is not done again by a process that comes later; members are runs of their own.
import type { AgentState } from '../../types/agent';
import type { RunInfo } from '../../types/runtime';
import { onAbort } from '../abort';
import { MillraceError } from '../errors';
import { type AgentErrorRecord, reviveError, toJson } from '../serialize';
import { type DurableJobRuntime, jobInternals, type OwnJobContext } from './durable-jobs';
import type {
  CallGroupAgent,
  GroupExecutorOutput,
  GroupInstruction,
  GroupResult,
  GroupSupervisor,
} from './group-types';
import { outcomeOf, valueOf } from './outcome';
import { type StateDelta, deltaOf, stateAfter } from './state-delta';
import { emit } from './step-driver';

export interface GroupInput {
  state: AgentState;
  groupId?: string | undefined;
}

/** Where the parts of a round record what they gave. */
export interface RoundLedger {
  readonly signal: AbortSignal;
  decision(make: () => Promise<GroupInstruction>): Promise<GroupInstruction>;
  /** What an executor gave, which is not done again. */
  execution(
    type: string,
    state: AgentState,
    make: () => Promise<GroupExecutorOutput>,
  ): Promise<GroupExecutorOutput>;
  /** What a member gave, which is not done again. */
  answer(agentId: string, make: () => unknown): Promise<unknown>;
  /** Has an agent of the runtime work as a member. */
  readonly member: CallGroupAgent;
}

/** How the rounds of a group are carried out. */
export interface RoundCarrier {
  name: string;
  runtime: DurableJobRuntime;
  version: string | undefined;
  unknown: 'report' | 'retry' | undefined;
  supervisor: GroupSupervisor;
  /** One round; never rejects. */
  round(state: AgentState, input: GroupResult, ledger: RoundLedger): Promise<GroupExecutorOutput>;
  onEvent: ((event: object) => void) | undefined;
}

interface RoundRow {
  delta: StateDelta;
  events: object[];
  result?: GroupResult | undefined;
  /** Of the supervisor, behind the round. */
  memory?: unknown;
}

/** Begins the durable runs of a group, and carries them out. */
export class DurableGroup {
  readonly #carrier: RoundCarrier;

  constructor(carrier: RoundCarrier) {
    this.#carrier = carrier;
    const { name, runtime, version, unknown } = carrier;
    if (typeof name !== 'string' || name === '') {
      throw new MillraceError(
        'invalid_option',
        'A group with a runtime needs a `name`, by which its runs are found after a restart.',
      );
    }
    const job = (context: unknown, input: GroupInput): Promise<AgentState> =>
      new Rounds(carrier, context as OwnJobContext).run(input);
    runtime.register(name, {
      ...{ planJson: '', tools: new Map(), version, unknown },
      work: { job },
    });
  }

  /** Begins a run, or finds the one of its key, and waits for its end. */
  async run(input: GroupInput, idempotencyKey?: string): Promise<AgentState> {
    const run = this.#begin(input, idempotencyKey);
    const { status, value, error } = await run.result;
    if (error) throw error;
    const state = value as AgentState;
    if (status !== 'completed') return { ...input.state, status: 'done' };
    if (state.error) state.error = reviveError(state.error as AgentErrorRecord);
    return state;
  }

  /** Begins a run and resolves when it is stored. */
  async start(input: GroupInput, idempotencyKey?: string): Promise<RunInfo> {
    const run = this.#begin(input, idempotencyKey);
    await run.started;
    run.leave();
    return this.#carrier.runtime.ask<RunInfo>('get', { run: run.id });
  }

  #begin(input: GroupInput, idempotencyKey?: string): ReturnType<DurableJobRuntime['beginJob']> {
    const { runtime, name } = this.#carrier;
    // A caller that was cut makes its state again, with other times.
    const { operationId, messages } = input.state;
    const known = { ...input, state: { operationId, messages } };
    return runtime.beginJob(name, input, { idempotencyKey }, known);
  }
}

// One entry of a run's job.
class Rounds {
  readonly #carrier: RoundCarrier;
  readonly #job: OwnJobContext;
  // What the supervisor remembers of this run.
  #memory: unknown;

  constructor(carrier: RoundCarrier, job: OwnJobContext) {
    this.#carrier = carrier;
    this.#job = job;
    job[jobInternals].expectUnused();
  }

  async run({ state: first, groupId }: GroupInput): Promise<AgentState> {
    const { onEvent } = this.#carrier;
    let state: AgentState = { ...first, status: 'running' };
    let input: GroupResult | undefined = { type: 'init', payload: groupId ? { groupId } : {} };
    for (let index = 1; input; index += 1) {
      const [before, given]: [AgentState, GroupResult] = [state, input];
      let isLive = false;
      const row: RoundRow = await this.#job.step(String(index), () => {
        isLive = true;
        return this.#take(String(index), before, given);
      });
      this.#memory = row.memory;
      if (isLive) for (const event of row.events) emit(onEvent, event);
      state = stateAfter(before, row.delta);
      input = ['done', 'error'].includes(state.status) ? undefined : row.result;
    }
    return state;
  }

  async #take(place: string, state: AgentState, input: GroupResult): Promise<RoundRow> {
    const ledger = this.#ledger(place);
    const { events, newState, result } = await this.#carrier.round(state, input, ledger);
    this.#job.signal.throwIfAborted();
    // As the store gives it, so that this process goes on with what another one would.
    const plain = plainState(newState);
    await this.#job[jobInternals].emit('round', { round: Number(place), events });
    return { delta: deltaOf(state, plain), events, result, memory: this.#memory };
  }

  #ledger(place: string): RoundLedger {
    const { later, child } = this.#job[jobInternals];
    return {
      signal: this.#job.signal,
      decision: (make) => this.#decide(place, make),
      execution: async (type, state, make) => {
        const row = await later(
          `${place}.execute.${type}`,
          () =>
            outcomeOf(async () => {
              const { newState, ...output } = await make();
              return { ...output, delta: deltaOf(state, plainState(newState)) };
            }),
          'once',
        );
        const { delta, ...output } = valueOf(row);
        return { ...output, newState: stateAfter(state, delta) };
      },
      answer: async (agentId, make) =>
        valueOf(await later(`${place}.agent.${agentId}`, () => outcomeOf(make), 'once')),
      member: async (agentId, options) => {
        const at = `${place}.${agentId}`;
        const made = await child(at, agentId, promptOf(options), options.signal);
        return made.value ?? made.text;
      },
    };
  }

  // One supervisor may decide for several runs at a time.
  async #decide(place: string, make: () => Promise<GroupInstruction>): Promise<GroupInstruction> {
    const { supervisor } = this.#carrier;
    const { memory, ...outcome } = await this.#job.step(`${place}.decide`, ({ signal }) =>
      inTurn(supervisor, signal, async () => {
        supervisor.restore?.(this.#memory);
        const made = await outcomeOf(make);
        return { ...made, memory: supervisor.save?.() };
      }),
    );
    this.#memory = memory;
    return valueOf(outcome);
  }
}

const turns = new WeakMap<GroupSupervisor, Promise<void>>();

// A supervisor that remembers decides for one run at a time: what it saves is of the run that it decided for.
// A run that is stopped leaves its turn to the others.
function inTurn<Value>(
  supervisor: GroupSupervisor,
  signal: AbortSignal,
  work: () => Promise<Value>,
): Promise<Value> {
  if (!supervisor.save) return work();
  const turn = (turns.get(supervisor) ?? Promise.resolve()).then(work);
  const isOver = new Promise<void>((resolve) => {
    const leave = onAbort(signal, resolve);
    const end = (): void => {
      leave();
      resolve();
    };
    turn.then(end, end);
  });
  turns.set(supervisor, isOver);
  return turn;
}

function plainState(state: AgentState): AgentState {
  return JSON.parse(toJson(state, 'newState')) as AgentState;
}

// What a member is to do: its instruction, its task, or the last message of the user.
function promptOf({ instruction, task, state }: Parameters<CallGroupAgent>[1]): string {
  if (typeof instruction === 'string' && instruction !== '') return instruction;
  if (typeof task === 'string') return task;
  const given = (task as { instruction?: unknown } | null | undefined)?.instruction;
  if (typeof given === 'string') return given;
  const content = state.messages.findLast(({ role }) => role === 'user')?.content;
  return typeof content === 'string' ? content : JSON.stringify(task ?? content ?? '');
}
