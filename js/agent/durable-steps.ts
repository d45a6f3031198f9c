// The durable runs of an AgentRuntime: each is a job whose steps and what their actions gave are rows of the ledger.
// A process that comes later takes a step that was cut from its beginning, and what is in the ledger is not done again.
import type {
  AgentEvent,
  AgentRuntimeContext,
  AgentState,
  AgentStepResult,
  HumanDecision,
} from '../../types/agent';
import type { RunInfo } from '../../types/runtime';
import { eitherSignal } from '../abort';
import { MillraceError } from '../errors';
import { messageOf } from '../thrown';
import { engineAnswer } from '../tool/engine-answer';
import { jobInternals, type DurableJobRuntime, type OwnJobContext } from './durable-jobs';
import { answersFor, decisionOf, type Question, questionsOf } from './durable-questions';
import { readSteps, type WaitingRun, waitingEvent } from './durable-step-reader';
import type { StepOptions } from './runtime-config';
import { emit, type ActionHandler } from './step-driver';
import { type StateDelta, deltaOf, stateAfter } from './state-delta';
import { ledgeredHandlers } from './step-ledger';

/** What a durable run begins with. */
export interface StepsInput {
  state: AgentState;
  context?: AgentRuntimeContext | undefined;
  /** What a person decided before the first step. */
  decision?: HumanDecision | undefined;
  /** One step, whose state its caller goes on with; else all steps to the end. */
  isOne: boolean;
}

/** How the steps of an AgentRuntime are carried out. */
export interface StepCarrier {
  name: string;
  runtime: DurableJobRuntime;
  version: string | undefined;
  unknown: 'report' | 'retry' | undefined;
  /** How long a question waits; 0 for ever. */
  approvalMs: number;
  drive(
    state: AgentState,
    context: AgentRuntimeContext | undefined,
    options: StepOptions,
    wrap: (handlers: Record<string, ActionHandler>) => Record<string, ActionHandler>,
  ): Promise<AgentStepResult>;
  onEvent: ((event: AgentEvent) => void) | undefined;
}

interface StepRow {
  delta: StateDelta;
  events: AgentEvent[];
  nextContext?: AgentRuntimeContext | undefined;
}

type Task = { context: AgentRuntimeContext | undefined } | { decision: HumanDecision };

// A question without a time limit.
const longestMs = 10 * 365 * 24 * 3600 * 1000;

// Their pieces are in `llm_result`; the state is in the result.
const brief = (events: readonly AgentEvent[]): AgentEvent[] =>
  events
    .filter(({ type }) => type !== 'llm_stream')
    .map((event) =>
      event.type === 'done' ? ({ ...event, finalState: undefined } as never) : event,
    );

// An answer that does not fit, as front ends may give one, approves nothing.
function applied(state: AgentState, decision: HumanDecision): AgentStepResult {
  const apply = (one: HumanDecision): AgentStepResult =>
    engineAnswer<AgentStepResult>('applyDecision', { state, decision: one });
  try {
    return apply(decision);
  } catch (error) {
    if (!('toolCallId' in decision) || decision.action !== 'approve') throw error;
    const { toolCallId } = decision;
    return apply({ action: 'reject_and_continue', toolCallId, reason: messageOf(error) });
  }
}

// The run that waited in the state is another one.
function withoutRun(state: AgentState): AgentState {
  if (state?.metadata?.['durableRun'] === undefined) return state;
  const { durableRun: _run, ...metadata } = state.metadata;
  return { ...state, metadata };
}

/** Begins the durable runs of an AgentRuntime, and carries them out. */
export class DurableSteps {
  readonly #carrier: StepCarrier;
  // What callers of this process gave with their runs.
  readonly #local = new Map<string, StepOptions>();

  constructor(carrier: StepCarrier) {
    this.#carrier = carrier;
    const { name, runtime, version, unknown } = carrier;
    if (typeof name !== 'string' || name === '') {
      throw new MillraceError(
        'invalid_option',
        'An AgentRuntime with a runtime needs a `name`, by which its runs are found after a restart.',
      );
    }
    const job = (context: unknown, input: StepsInput): Promise<AgentStepResult> =>
      new StepsWork(carrier, context as OwnJobContext, input, this.#local).run();
    runtime.register(name, {
      ...{ planJson: '', tools: new Map(), version, unknown },
      work: { job },
    });
  }

  /** Begins a run, or finds the one of its key, and waits until it ends or waits for the user. */
  async run(input: StepsInput, options: StepOptions): Promise<AgentStepResult> {
    const { run, id } = await this.#begin(input, options);
    try {
      return await readSteps(this.#carrier.runtime, id, run, 0);
    } finally {
      this.#local.delete(id);
    }
  }

  /** Begins a run and resolves when it is stored. */
  async start(input: StepsInput, options: StepOptions): Promise<RunInfo> {
    const { run, id } = await this.#begin(input, options);
    void run.result.catch(() => undefined).finally(() => this.#local.delete(id));
    return this.#carrier.runtime.ask<RunInfo>('get', { run: id });
  }

  /** Answers what a run waits for, and waits until it ends or waits again. */
  async decide(
    { id, events }: WaitingRun,
    state: AgentState,
    decision: HumanDecision,
    { signal, onEvent }: StepOptions,
  ): Promise<AgentStepResult> {
    const { runtime } = this.#carrier;
    // Throws for what does not fit, before anything is decided.
    engineAnswer<AgentStepResult>('applyDecision', { state, decision });
    const open = await runtime.approvals.list({ run: id });
    const answers = answersFor(open, state, decision);
    const { lastSeq } = await runtime.ask<RunInfo>('get', { run: id });
    this.#local.set(id, { ...(signal && { signal }), ...(onEvent && { onEvent }) });
    try {
      for (const { approval, payload } of answers) {
        await runtime.approvals.decide(approval, payload as never);
      }
      const run = runtime.attach(id, { after: lastSeq });
      const result = await readSteps(runtime, id, run, lastSeq);
      return { ...result, events: result.events.slice(events) };
    } finally {
      this.#local.delete(id);
    }
  }

  async #begin(
    input: StepsInput,
    { idempotencyKey, principal, threadId, ...local }: StepOptions,
  ): Promise<{ run: ReturnType<DurableJobRuntime['beginJob']>; id: string }> {
    const { runtime, name } = this.#carrier;
    // A caller that was cut makes its state again, with other times.
    const { operationId, messages, stepCount } = input.state ?? {};
    const known = { ...input, state: { operationId, messages, stepCount } };
    const given = { ...input, state: withoutRun(input.state) };
    const run = runtime.beginJob(name, given, { idempotencyKey, principal, threadId }, known);
    const first = run.id;
    this.#local.set(first, local);
    try {
      await run.started;
    } catch (error) {
      this.#local.delete(first);
      throw error;
    }
    if (run.id !== first) this.#local.delete(first);
    return { run, id: run.id };
  }
}

// One entry of a run's job.
class StepsWork {
  readonly #carrier: StepCarrier;
  readonly #job: OwnJobContext;
  readonly #input: StepsInput;
  readonly #local: ReadonlyMap<string, StepOptions>;
  readonly #answers = new Map<string, Promise<unknown>>();
  readonly #events: AgentEvent[] = [];

  constructor(
    carrier: StepCarrier,
    job: OwnJobContext,
    input: StepsInput,
    local: ReadonlyMap<string, StepOptions>,
  ) {
    this.#carrier = carrier;
    this.#job = job;
    this.#input = input;
    this.#local = local;
    job[jobInternals].expectUnused();
  }

  // What the caller gave that waits for the run at this time.
  get #options(): StepOptions {
    const { signal, onEvent = this.#carrier.onEvent } = this.#local.get(this.#job.runId) ?? {};
    return {
      signal: eitherSignal([signal, this.#job.signal]),
      ...(onEvent && { onEvent }),
    };
  }

  async run(): Promise<AgentStepResult> {
    const { context, decision, isOne } = this.#input;
    let { state } = this.#input;
    let task: Task = decision ? { decision } : { context };
    let open: Question[] = [];
    for (let index = 1; ; index += 1) {
      const [before, from] = [state, open];
      const row = await this.#job.step(String(index), () => this.#take(index, before, task, from));
      state = stateAfter(before, row.delta);
      open = questionsOf(state, from, index);
      this.#events.push(...row.events);
      const { nextContext } = row;
      if (isOne || (!nextContext && open.length === 0)) {
        return { events: this.#events, newState: state, ...(nextContext && { nextContext }) };
      }
      if (nextContext) task = { context: nextContext };
      else task = await this.#answered(open);
    }
  }

  // What becomes the row of the ledger.
  async #take(
    index: number,
    state: AgentState,
    task: Task,
    open: readonly Question[],
  ): Promise<StepRow> {
    const made = await this.#step(String(index), state, task);
    this.#job.signal.throwIfAborted();
    const { events, newState, nextContext } = made;
    // As the store gives it, so that this process goes on with what another one would.
    const plain = JSON.parse(JSON.stringify(newState)) as AgentState;
    const row: StepRow = { delta: deltaOf(state, plain), events: brief(events), nextContext };
    await this.#show(row, plain, nextContext ? [] : questionsOf(plain, open, index));
    return row;
  }

  async #step(place: string, state: AgentState, task: Task): Promise<AgentStepResult> {
    const options = this.#options;
    const drive = (
      from: AgentState,
      context: AgentRuntimeContext | undefined,
    ): Promise<AgentStepResult> =>
      this.#carrier.drive(from, context, options, (handlers) =>
        ledgeredHandlers(handlers, this.#job, place),
      );
    if (!('decision' in task)) return drive(state, task.context);
    const decided = applied(state, task.decision);
    for (const event of decided.events) emit(options.onEvent, event);
    if (!decided.nextContext) return decided;
    const result = await drive(decided.newState, decided.nextContext);
    return { ...result, events: [...decided.events, ...result.events] };
  }

  // Readers get the texts, and the questions before the state that waits for their answers.
  async #show(row: StepRow, newState: AgentState, open: readonly Question[]): Promise<void> {
    const own = this.#job[jobInternals];
    for (const event of row.events) {
      if (event.type === 'llm_result' && event.result.content) await own.send(event.result.content);
    }
    if (this.#input.isOne || open.length === 0) return;
    this.#ask(open);
    await own.emit(waitingEvent, { events: [...this.#events, ...row.events], newState });
  }

  #ask(open: readonly Question[]): void {
    for (const { name, options } of open) {
      if (this.#answers.has(name)) continue;
      const timeoutMs = this.#carrier.approvalMs || longestMs;
      const answer = this.#job[jobInternals].ask(name, { ...options, timeoutMs });
      answer.catch(() => undefined);
      this.#answers.set(name, answer);
    }
  }

  // The first answer that comes: the other questions stay open.
  async #answered(open: readonly Question[]): Promise<Task> {
    this.#ask(open);
    const answers = open.map(async (question): Promise<Task> => {
      try {
        return { decision: decisionOf(question, await this.#answers.get(question.name)) };
      } catch (error) {
        this.#job.signal.throwIfAborted();
        return { decision: decisionOf(question, undefined, error) };
      }
    });
    return Promise.race(answers);
  }
}
