// AgentRuntime: runs an agent step by step on plain state objects. The engine decides what a step
// does; what only JavaScript can do (the agent, executors, models, tools) is answered here.
import type {
  Agent,
  AgentCost,
  AgentEvent,
  AgentInstruction,
  AgentRuntimeContext,
  AgentState,
  AgentStepResult,
  AgentUsage,
  ChatToolPayload,
  HumanDecision,
  InstructionExecutor,
  OpenAIToolCall,
} from '../../types/agent';
import type { NativeAgentStep } from '../addon';
import { addon } from '../addon';
import type { RunInfo } from '../../types/runtime';
import { eitherSignal } from '../abort';
import { MillraceError } from '../errors';
import { engineAnswer } from '../tool/engine-answer';
import { DurableSteps } from './durable-steps';
import { durableRunOf, has, modelConfig } from './agent-parts';
import { declaredRetries } from './retries';
import { checkState, clone } from './run-state';
import { checkedApprovalMs, type RuntimeConfig, type StepOptions } from './runtime-config';
import { toJson } from '../serialize';
import { type ActionHandler, StepDriver, type StepHost, emit } from './step-driver';
import { stepHandlers } from './step-handlers';

const builtinTypes = [
  'call_llm',
  'call_tool',
  'call_tools_batch',
  'resolve_aborted_tools',
  'resolve_blocked_tools',
  'exec_sub_agent',
  'exec_sub_agents',
  'exec_client_sub_agent',
  'exec_client_sub_agents',
  'exec_task',
  'exec_tasks',
  'exec_client_task',
  'exec_client_tasks',
  'request_human_approve',
  'request_human_prompt',
  'request_human_select',
  'compress_context',
  'finish',
] as const;

/** Executes what an agent decides, one step at a time. */
export class AgentRuntime {
  readonly executors: Record<string, InstructionExecutor>;
  readonly #builtin = new Set<InstructionExecutor>();
  readonly #agent: Agent;
  readonly #config: RuntimeConfig;
  readonly #approvalMs: number;
  readonly #durable: DurableSteps | undefined;

  constructor(agent: Agent, config: RuntimeConfig = {}) {
    if (typeof (agent as Partial<Agent> | undefined)?.runner !== 'function') {
      throw new MillraceError(
        'invalid_argument',
        'An AgentRuntime needs an agent with a function `runner`, for instance a GeneralChatAgent.',
      );
    }
    this.#agent = agent;
    this.#config = config;
    this.#approvalMs = checkedApprovalMs(config);
    const builtin: Record<string, InstructionExecutor> = {};
    for (const type of builtinTypes) {
      const executor: InstructionExecutor = (instruction, state, context) =>
        this.#execute(instruction, state, context);
      builtin[type] = executor;
      this.#builtin.add(executor);
    }
    this.executors = { ...builtin, ...config.executors, ...agent.executors };
    const { runtime, name = '', version, unknown, onEvent } = config;
    this.#durable =
      runtime &&
      new DurableSteps({
        ...{ runtime, name, version, unknown, onEvent, approvalMs: this.#approvalMs },
        drive: (state, context, { signal, ...rest }, wrap) => {
          const own = this.getAbortController()?.signal;
          const options = { ...rest, signal: eitherSignal([signal, own]) };
          return this.#take(state, context, options, wrap);
        },
      });
  }

  /** What the host keeps for this operation. */
  getContext(): Record<string, unknown> | undefined {
    return this.#operation()?.context;
  }

  /** The controller that stops this operation. */
  getAbortController(): AbortController | undefined {
    return this.#operation()?.abortController;
  }

  /** Runs one step on a copy of `state`; it never rejects for what an agent or a tool does. */
  async step(
    state: AgentState,
    context?: AgentRuntimeContext,
    options: StepOptions = {},
  ): Promise<AgentStepResult> {
    if (this.#durable) return this.#durable.run({ state, context, isOne: true }, options);
    return this.#take(state, context, options);
  }

  #take(
    state: AgentState,
    context: AgentRuntimeContext | undefined,
    options: StepOptions,
    wrap?: (handlers: Record<string, ActionHandler>) => Record<string, ActionHandler>,
  ): Promise<AgentStepResult> {
    // No state is a bad one, which the engine reports in the result.
    const stateJson = toJson(state ?? null, 'state');
    const contextJson = context === undefined ? 'null' : toJson(context, 'context');
    return this.#drive(options, (step) => step.begin(stateJson, contextJson, Date.now()), wrap);
  }

  /**
   * Runs steps until the run ends or waits for an answer. With a runtime it is one durable run, which goes on in the
   * next process; one that waits is answered by `decide`, or by `runtime.approvals`.
   */
  async run(
    state: AgentState,
    context?: AgentRuntimeContext,
    options: StepOptions = {},
  ): Promise<AgentStepResult> {
    if (this.#durable) return this.#durable.run({ state, context, isOne: false }, options);
    const events: AgentEvent[] = [];
    let result: AgentStepResult = { events, newState: state };
    let next = context;
    do {
      result = await this.step(result.newState, next, options);
      events.push(...result.events);
      next = result.nextContext;
    } while (next);
    return { ...result, events };
  }

  /** Begins a durable run and resolves when it is stored; needs a runtime. */
  async start(
    state: AgentState,
    context?: AgentRuntimeContext,
    options: StepOptions = {},
  ): Promise<RunInfo> {
    if (this.#durable) return this.#durable.start({ state, context, isOne: false }, options);
    throw new MillraceError(
      'invalid_option',
      'start() needs an AgentRuntime with a `runtime` and a `name`.',
    );
  }

  /** Marks the run as interrupted. */
  interrupt(
    state: AgentState,
    reason: string,
    canResume = true,
    metadata?: Record<string, unknown>,
  ): AgentStepResult {
    checkState(state);
    const newState = clone(state);
    const interruptedAt = new Date().toISOString();
    newState.status = 'interrupted';
    newState.lastModified = interruptedAt;
    newState.interruption = { reason, interruptedAt, canResume };
    const event: AgentEvent = { type: 'interrupted', reason, interruptedAt, canResume };
    if (metadata) event.metadata = metadata;
    return { events: [event], newState };
  }

  /**
   * Goes on after an interruption; with a context it runs a step at once. A run that waited waits
   * again, and tells for what.
   */
  async resume(
    state: AgentState,
    reason = 'User resumed execution',
    context?: AgentRuntimeContext,
    options: StepOptions = {},
  ): Promise<AgentStepResult> {
    checkState(state);
    if (state.status !== 'interrupted') {
      throw new MillraceError('invalid_state', 'Cannot resume: state is not interrupted');
    }
    if (state.interruption && !state.interruption.canResume) {
      throw new MillraceError('invalid_state', 'Cannot resume: interruption is not resumable');
    }
    const newState = clone(state);
    const resumedAt = new Date().toISOString();
    delete newState.interruption;
    const waiting = context
      ? ''
      : engineAnswer<AgentState['status'] | ''>('waitingStatus', { state });
    newState.status = waiting || 'running';
    newState.lastModified = resumedAt;
    const event: AgentEvent = {
      type: 'resumed',
      reason,
      resumedAt,
      resumedFromStep: newState.stepCount,
    };
    emit(options.onEvent ?? this.#config.onEvent, event);
    if (context || waiting) {
      const result = await this.step(newState, context, options);
      return { ...result, events: [event, ...result.events] };
    }
    return { events: [event], newState, nextContext: this.#firstContext(newState) };
  }

  /** Runs a call that a person approved. It has to be the call that was shown. */
  async approveToolCall(
    state: AgentState,
    approvedToolCall: ChatToolPayload | OpenAIToolCall,
    options: StepOptions = {},
  ): Promise<AgentStepResult> {
    checkState(state);
    const { id } = approvedToolCall ?? {};
    if (this.#durable && durableRunOf(state)) {
      const { arguments: shown } =
        'function' in approvedToolCall ? approvedToolCall.function : approvedToolCall;
      return this.decide(state, { action: 'approve', toolCallId: id, arguments: shown }, options);
    }
    const context = {
      ...this.#firstContext(state),
      phase: 'human_approved_tool' as const,
      payload: { approvedToolCall },
    };
    return this.step(state, context, options);
  }

  /** Applies a person's decision, and runs the step that follows from it. */
  async decide(
    state: AgentState,
    decision: HumanDecision,
    options: StepOptions = {},
  ): Promise<AgentStepResult> {
    const run = this.#durable && durableRunOf(state);
    if (this.#durable) {
      if (run) return this.#durable.decide(run, state, decision, options);
      return this.#durable.run({ state, decision, isOne: true }, options);
    }
    const decided = engineAnswer<AgentStepResult>('applyDecision', { state, decision });
    const onEvent = options.onEvent ?? this.#config.onEvent;
    for (const event of decided.events) emit(onEvent, event);
    if (!decided.nextContext) return decided;
    const result = await this.step(decided.newState, decided.nextContext, options);
    return { ...result, events: [...decided.events, ...result.events] };
  }

  /** A state of status idle; `partial` overrides the defaults. */
  static createInitialState(partial: Partial<AgentState> = {}): AgentState {
    return engineAnswer('initialState', { partial });
  }

  /** Usage with every count at zero. */
  static createDefaultUsage(): AgentUsage {
    return engineAnswer('defaultUsage', {});
  }

  /** Cost with every sum at zero. */
  static createDefaultCost(): AgentCost {
    return engineAnswer('defaultCost', {});
  }

  #operation(): ReturnType<NonNullable<RuntimeConfig['getOperation']>> | undefined {
    const { operationId, getOperation } = this.#config;
    return operationId === undefined ? undefined : getOperation?.(operationId);
  }

  #firstContext(state: AgentState): AgentRuntimeContext {
    const { operationId } = this.#config;
    const context = engineAnswer<AgentRuntimeContext>('firstContext', { state });
    return { ...context, ...(operationId !== undefined && { operationId }) };
  }

  // One instruction by the engine's own executor, for custom executors that build on it.
  #execute(
    instruction: AgentInstruction,
    state: AgentState,
    context?: AgentRuntimeContext,
  ): Promise<AgentStepResult> {
    const texts = [instruction, state, context ?? null].map((value) => toJson(value, 'argument'));
    const [instructionJson = '', stateJson = '', contextJson = ''] = texts;
    return this.#drive({}, (step) =>
      step.execute(instructionJson, stateJson, contextJson, Date.now()),
    );
  }

  #drive(
    options: StepOptions,
    start: (step: NativeAgentStep) => string,
    wrap = (handlers: Record<string, ActionHandler>): Record<string, ActionHandler> => handlers,
  ): Promise<AgentStepResult> {
    const agent = this.#agent;
    const config = this.#config;
    const { modelRuntime: model = config.modelRuntime } = agent;
    const step = new (addon().AgentStep)(
      JSON.stringify({
        custom: Object.keys(this.executors).filter((type) => {
          const executor = this.executors[type];
          return executor !== undefined && !this.#builtin.has(executor);
        }),
        tools: Object.keys(agent.tools ?? {}),
        retries: declaredRetries(agent.tools ?? {}),
        model: Boolean(model),
        modelRetries: typeof model === 'function' ? config.modelRetries : 0,
        usage: has(agent, 'calculateUsage'),
        cost: has(agent, 'calculateCost'),
        subAgents: Boolean(config.runSubAgent),
        history: config.history === 'engine',
        concurrency: config.concurrency,
        approvalTimeoutMs: this.#approvalMs,
        operationId: config.operationId,
        modelRuntimeConfig: modelConfig(agent),
      }),
    );
    const host: StepHost = {
      handlers: wrap(stepHandlers(agent, config, this.executors)),
      onEvent: options.onEvent ?? config.onEvent,
      signal: options.signal ?? this.getAbortController()?.signal,
    };
    return new StepDriver(step, host).run(start);
  }
}
