// createAgent: an agent that works inside the engine. JavaScript runs only its tools.
import { checkSignal, neverSent } from '../abort';
import type { AgentCapabilities, RunCheckpoint } from '../../types/agent-run';
import type { ResumeEntry, RunAgentInput } from '../../types/events';
import { MillraceError, rethrow } from '../errors';
import { checkNames } from '../known-names';
import { startAgentCall } from '../model/call';
import { ModelRuntime } from '../model/runtime';
import { splitModel } from '../model/settings';
import { shown } from '../shown';
import { engine } from '../transport/engine';
import type { NodeResponse } from '../runs/ag-ui';
import { checkValues, milliseconds } from '../value-checks';
import { version } from '../version';
import { checkOptions } from './agent-options';
import { answerRequest, checkRequest } from './agent-route';
import { answerNode, checkNodePair, type NodeRequest } from './agent-node-route';
import { AgentRun } from './agent-run';
import type { ResumeOptions } from './run-host';
import type { DurableRun } from './durable-run';
import type { DurableRoutes, DurableRuntime } from './durable-types';
import { inputOf, isFromClient } from './run-input';
import { durableRun } from './start-durable';
import { engineToolOf } from '../tool/engine-tools';
import { suspendedTools } from './suspended-tools';
import type { SendMessageOptions, SentMessage } from './send-message';
import { sendMessage } from './send-message';
import { toJson } from '../serialize';
import { agentToolName, toolList, toolPlan } from '../tool/tool';
import type { HostTool } from '../tool/types';
import type {
  AgentInput,
  AgentOptionsOf,
  AgentRunOptions,
  DurableRunOptions,
  SubAgentOf,
} from './types';

/** Another agent that the model may give work to. */
export type SubAgentOptions = SubAgentOf<EngineAgent>;

export type CreateAgentOptions = AgentOptionsOf<EngineAgent>;

/** An agent with a runtime, whose runs are recorded. */
export interface DurableAgent extends EngineAgent {
  run(input: AgentInput, options?: DurableRunOptions): DurableRun;
}

const defaultReplayBufferSize = 1 << 24;
/** Characters of an input from which on it is read beside this thread: `large_input_bytes` of lib/host/input_reading.hpp. */
const largeInput = 1 << 17;

const ofRun: readonly (keyof AgentRunOptions)[] = [
  'signal',
  'threadId',
  'runId',
  'clientTools',
  'resume',
  'format',
  'checkpoint',
  'onCheckpoint',
  'replayBufferSize',
  'throttleMs',
];

/** An agent. Safe to be used for many runs at a time. */
export class EngineAgent {
  readonly #plan: object;
  readonly #planJson: string;
  readonly #tools = new Map<string, HostTool>();
  readonly #runtime: ModelRuntime;
  readonly #called: EngineAgent[] = [];
  readonly #durable: DurableRoutes | undefined;

  constructor(options: CreateAgentOptions) {
    checkOptions<EngineAgent>(options, (one) => one instanceof EngineAgent);
    const tools = toolList(options.tools);
    for (const one of tools) {
      if (typeof one !== 'string') this.#tools.set(agentToolName(one), one);
    }
    this.#runtime = runtimeOf(options);
    this.#plan = planOf(options, this.#runtime, tools);
    for (const { agent } of options.agents ?? []) {
      this.#called.push(agent);
      for (const [name, one] of agent.#tools) this.#addTool(name, one);
    }
    this.#planJson = toJson(this.#plan, 'agent');
    warnOfMissingKeys(this.#planJson);
    const { runtime, name = '', version: ofAgent, unknown, authorize } = options;
    if (!runtime) return;
    this.#checkEngineSends();
    const { onDisconnect, approvalTimeoutMs } = options;
    const agent = {
      ...{ planJson: this.#planJson, tools: this.#tools, version: ofAgent, unknown },
      ...{ onDisconnect, approvalTimeoutMs },
    };
    this.#durable = { runtime, name, agent, authorize };
    runtime.register(name, agent);
  }

  // The engine names a tool only: one name is one function in an agent and those it calls. What
  // runs in the engine is distinguished by the plan of each agent.
  #addTool(name: string, one: HostTool): void {
    const known = this.#tools.get(name);
    if (known !== undefined && engineToolOf(one)) return;
    if (known !== undefined && engineToolOf(known)) {
      this.#tools.set(name, one);
      return;
    }
    // A record of tools is copied for each agent that it is given to.
    if (known !== undefined && known !== one && known.run !== one.run) {
      throw new MillraceError(
        'invalid_option',
        `The agent and its sub-agents have two different tools with the name '${name}'; rename one.`,
      );
    }
    this.#tools.set(name, one);
  }

  /** What the agent can do, as AG-UI's AgentCapabilities: also `GET .../capabilities` of its handler. */
  get capabilities(): AgentCapabilities {
    return JSON.parse(
      engine().agentCapabilities(this.#durable?.agent.planJson ?? this.#planJson, version()),
    ) as AgentCapabilities;
  }

  /** @internal */
  get plan(): object {
    return this.#plan;
  }

  /** @internal */
  get durable(): DurableRoutes | undefined {
    return this.#durable;
  }

  /** Starts a run. It goes on whether or not it is read. */
  run(input: AgentInput, options: AgentRunOptions = {}): AgentRun {
    if (this.#durable) return durableRun(this.#durable, input, options);
    return this.#start(inputOf(input, options), options, {}, isFromClient(input));
  }

  /** Goes on from a saved step, in this process or another one. */
  continue(saved: RunCheckpoint, options: AgentRunOptions = {}): AgentRun {
    if (this.#durable) {
      throw new MillraceError(
        'invalid_option',
        'continue() is of agents without a `runtime`: with one, runs go on by themselves.',
      );
    }
    const { state, context } = (saved ?? {}) as Partial<RunCheckpoint>;
    if (typeof state !== 'object' || state === null) {
      throw new MillraceError(
        'invalid_argument',
        `continue() takes what \`state\` or \`onCheckpoint\` of an earlier run gave, but its state is ${shown(state)}.`,
      );
    }
    return this.#start(inputOf([], options), options, { state, context: context ?? null });
  }

  /**
   * Answers an AG-UI client: takes a Request whose body is a RunAgentInput, gives an AG-UI response. The
   * client's leaving stops the run, with a runtime as `onDisconnect` has it. `?format=openai` and the like say what shape the messages have, and
   * GET of a path that ends in `/capabilities` gives `capabilities`.
   */
  readonly handler = (request: Request): Promise<Response> => {
    checkRequest(request);
    return answerRequest(this, request);
  };

  /**
   * The same for a Node server or Express: `app.use('/agent', agent.nodeHandler)`. A body that Express has parsed is
   * taken as it is. Resolves when the answer is written or the client is gone; never rejects.
   */
  readonly nodeHandler = (request: NodeRequest, response: NodeResponse): Promise<void> => {
    checkNodePair('agent', request, response);
    return answerNode(this, request, response);
  };

  /** Runs in a stored thread: the user's row and an empty answer are stored before the model is asked. */
  sendMessage(options: SendMessageOptions): Promise<SentMessage> {
    return sendMessage(this, options);
  }

  #start(
    input: RunAgentInput,
    options: AgentRunOptions,
    more: Partial<RunCheckpoint>,
    fromClient = false,
  ): AgentRun {
    const {
      signal,
      format,
      checkpoint,
      onCheckpoint,
      replayBufferSize = defaultReplayBufferSize,
      throttleMs,
    } = options;
    checkNames('A run', options, ofRun, { abortSignal: 'signal' });
    checkSignal('A run', signal);
    if (onCheckpoint !== undefined && typeof onCheckpoint !== 'function') {
      throw new MillraceError(
        'invalid_option',
        `A run: onCheckpoint must be a function, not ${shown(onCheckpoint)}.`,
      );
    }
    checkValues('A run', { throttleMs }, { throttleMs: milliseconds });
    const inputJson = toJson(input, 'input');
    const readsLater = inputJson.length >= largeInput;
    const { threadId, runId, protocolVersion } = input;
    const send = signal?.aborted ? neverSent : this.#sender();
    const optionsJson = toJson(
      {
        ...more,
        format,
        fromClient,
        checkpoint: checkpoint ?? onCheckpoint !== undefined,
        fetch: send !== undefined,
        stopped: signal?.aborted === true,
        throttleMs,
        waits: true,
        ...(readsLater && { readsLater, threadId, runId }),
      },
      'options',
    );
    const call = startAgentCall((native, deliver) =>
      native.startAgent(this.#planJson, inputJson, optionsJson, deliver),
    );
    const answers = more.state === undefined && (input.resume ?? []).length > 0;
    return new AgentRun(call, {
      threadId,
      runId,
      protocolVersion: typeof protocolVersion === 'string' ? protocolVersion : undefined,
      tools: this.#tools,
      send,
      suspended: answers ? suspendedTools(threadId) : undefined,
      signal,
      onCheckpoint,
      replayBufferSize,
      readsLater,
      goOn: this.#nextRun(options, threadId),
    });
  }

  // One function for a run: the agents that it calls are asked through the same.
  #sender(): typeof fetch | undefined {
    const send = this.#runtime.sender('createAgent()');
    for (const agent of this.#called) agent.#checkSender(send);
    return send;
  }

  // Runs of a runtime go on without this process. A global fetch that was replaced is no option of the agent.
  #checkEngineSends(): void {
    const sends = this.#sender() !== undefined;
    const chosen = [this, ...this.#called].some((agent) => agent.#runtime.choosesSender);
    if (sends && chosen) {
      throw new MillraceError(
        'invalid_option',
        'createAgent(): the engine sends the requests of an agent with a `runtime`, as its runs go on without this ' +
          'process: leave out `fetch` and `transport`.',
      );
    }
    if (sends) warnOfReplacedFetch();
  }

  // A key must not go where its agent's options do not send it.
  #checkSender(send: typeof fetch | undefined): void {
    if (this.#runtime.choosesSender && this.#runtime.sender('createAgent()') !== send) {
      throw new MillraceError(
        'invalid_option',
        'An agent and its sub-agents must send through the same function: give them the same `fetch` ' +
          'or `transport`.',
      );
    }
    for (const agent of this.#called) agent.#checkSender(send);
  }

  // Made where the input is out of reach: the run holds it for as long as it lives.
  #nextRun(
    options: AgentRunOptions,
    threadId: string,
  ): (resume: ResumeEntry[], more: ResumeOptions) => AgentRun {
    const { runId: _runId, format: _format, signal: first, ...rest } = options;
    return (resume, { signal = first }) =>
      this.run([], { ...rest, threadId, resume, signal: signal ?? undefined });
  }
}

/** Makes an agent whose loop, model calls and limits are the engine's. */
export function createAgent(
  options: CreateAgentOptions & { runtime: DurableRuntime; name: string },
): DurableAgent;
export function createAgent(options: CreateAgentOptions): EngineAgent;
export function createAgent(options: CreateAgentOptions): EngineAgent {
  return new EngineAgent(options);
}

// A run fails for want of a key, or a fallback does when it is needed: better to hear of it at once.
let hasWarnedOfFetch = false;

function warnOfReplacedFetch(): void {
  if (hasWarnedOfFetch) return;
  hasWarnedOfFetch = true;
  process.emitWarning(
    'createAgent(): the global fetch is not that of Node. The engine sends the requests of an agent with a `runtime`, and does ' +
      'not use it: point `provider.baseURL` at a mock server in tests.',
    { code: 'MILLRACE_FETCH_NOT_USED' },
  );
}

function warnOfMissingKeys(planJson: string): void {
  let missing: string[];
  try {
    missing = JSON.parse(engine().checkAgent(planJson)) as string[];
  } catch (error) {
    rethrow(error);
  }
  for (const sentence of missing) {
    process.emitWarning(`createAgent(): ${sentence}`, { code: 'MILLRACE_MISSING_API_KEY' });
  }
}

function planOf(
  options: CreateAgentOptions,
  runtime: ModelRuntime,
  tools: readonly (HostTool | string)[],
): object {
  const { instructions, approval, limits, parameters, compression, concurrency } = options;
  const { agents = [], retryAfterFirstToken } = options;
  return {
    chain: runtime.chain(modelOf(options), options.fallback),
    payload: parameters,
    instructions,
    approval,
    limits: finite(limits),
    compression,
    concurrency,
    retryAfterFirstToken,
    builtin: tools.filter((one) => typeof one === 'string'),
    tools: tools.filter((one) => typeof one !== 'string').map(toolPlan),
    agents: agents.map(({ name, description, agent, inheritMessages, timeoutMs }) => ({
      name,
      description,
      inheritMessages,
      timeoutMs,
      plan: agent.plan,
    })),
  };
}

// JSON has no word for what never ends.
function finite(limits: CreateAgentOptions['limits']): object | undefined {
  if (typeof limits !== 'object' || limits === null) return limits;
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]) => [
      name,
      value === Infinity ? Number.MAX_SAFE_INTEGER : value,
    ]),
  );
}

function runtimeOf({ model, provider }: CreateAgentOptions): ModelRuntime {
  if (typeof model !== 'string') return model;
  return new ModelRuntime(splitModel(model).provider, provider, 'createAgent(): provider');
}

function modelOf({ model, modelName }: CreateAgentOptions): string {
  if (typeof model === 'string') return splitModel(model).model;
  if (modelName) return modelName;
  throw new MillraceError('invalid_option', 'An agent with a runtime needs a modelName.');
}
