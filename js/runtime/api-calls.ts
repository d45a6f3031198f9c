// What the routes of a runtime have JavaScript do: list and call tools, make titles and objects.
import type { AgentToolContext } from '../../types/agent';
import type { AgentFunction } from '../../types/runtime';
import { MillraceError } from '../errors';
import { toJson } from '../serialize';
import { messageOf } from '../thrown';
import { isAtServer } from '../tool/engine-tools';
import { checkArguments, inputSchemaOf, rejectVendorTool, toolList } from '../tool/tool';
import { answerOf } from '../tool/tool-result';
import type { HostTool, HostTools } from '../tool/types';
import { Commands } from './commands';
import { Pipelines } from './pipelines';
import type { RuntimeSkills } from './runtime-skills';
import type { ApiOptions, ObjectRequest } from './runtime-options';

/** A call from outside, as its tool gets it in the context beside the other members. */
export interface ToolCaller {
  /** `api` where the caller gives none. */
  request_type: string;
  group_id: number | null;
  user_id: number | null;
  sender_id: number | null;
}

interface ToolCall {
  name: string;
  args: object;
  context: Record<string, unknown>;
}

interface InvokeRequest extends ToolCall {
  id: string;
}

/** What a call goes on with. */
interface CallScope {
  id: string;
  signal: AbortSignal;
  progress: (value: unknown) => void;
}

/** The name of the agent whose runs are calls that go on without their request. */
export const toolAgent = 'millrace:tool';

const usualTimeoutMs = 120_000;

/** An agent that can be called like a tool. */
export interface CallableAgent {
  name: string;
  description: string;
  run(prompt: string, signal: AbortSignal): Promise<string>;
}

type Answer = (value: never) => unknown;

/** The calls of one runtime. */
export class ApiCalls {
  readonly #options: ApiOptions;
  readonly #skills: RuntimeSkills | undefined;
  readonly #tools = new Map<string, HostTool>();
  readonly #agents = new Map<string, CallableAgent>();
  readonly #open = new Map<string, AbortController>();
  readonly commands: Commands = new Commands();
  readonly pipelines: Pipelines = new Pipelines();

  constructor(options: ApiOptions = {}, skills?: RuntimeSkills) {
    this.#options = options;
    this.#skills = skills;
  }

  addTools(tools: HostTools): void {
    for (const tool of toolList(tools)) {
      if (typeof tool === 'string') throw notHere(tool);
      rejectVendorTool(tool, 'a client of the routes');
      this.#tools.set(tool.name, tool);
    }
  }

  addAgent(agent: CallableAgent): void {
    this.#agents.set(agent.name, agent);
  }

  readonly #kinds: Record<string, Answer> = {
    tools: () => ({
      tools: [...this.#tools.values()].map(schemaOf),
      remote: [...this.#tools.values()].filter(isAtServer).map(({ name }) => name),
      agents: [...this.#agents.values()].map(agentSchemaOf),
      commands: this.commands.list(),
      pipelines: this.pipelines.list(),
      skills: this.#skills?.list().map(({ name }) => ({ name })),
    }),
    invoke: (request: InvokeRequest) => this.#invoke(request),
    invoke_cancel: (id: string) => void this.#open.get(id)?.abort(),
    callback_failed: (reason: string) =>
      process.emitWarning(`The callback of a tool has not arrived: ${reason}`, {
        code: 'MILLRACE_RUNTIME',
      }),
    media_lost: ({ run, reason }: { run: string; reason: string }) =>
      process.emitWarning(
        `A medium in the text of the run ${run} is not stored, and readers get 404 for it: ${reason}`,
        { code: 'MILLRACE_RUNTIME' },
      ),
    pipeline: (turn: Parameters<Pipelines['run']>[0]) => this.pipelines.run(turn),
    commands: (revision: number) => this.commands.declared(revision),
    object: (request: ObjectRequest) => this.#options.object?.(request),
    title: (first: { question: string; answer: string }) => this.#options.title?.(first) ?? '',
  };

  /** JSON text of { value } or { error }. */
  async answer(kind: string, value: unknown): Promise<string> {
    try {
      const answer = this.#kinds[kind] as ((value: unknown) => unknown) | undefined;
      if (!answer) throw new MillraceError('invalid_argument', `There is no call '${kind}'.`);
      return JSON.stringify({ value: (await answer(value)) ?? null });
    } catch (error) {
      const code = MillraceError.is(error) ? error.code : 'tool_failed';
      return JSON.stringify({ error: { code, message: messageOf(error) } });
    }
  }

  async #invoke({ id, ...call }: InvokeRequest): Promise<string> {
    const controller = new AbortController();
    this.#open.set(id, controller);
    try {
      return await this.#call(call, { id, signal: controller.signal, progress: () => undefined });
    } finally {
      this.#open.delete(id);
    }
  }

  async #call({ name, args, context }: ToolCall, { id, ...scope }: CallScope): Promise<string> {
    const agent = this.#agents.get(name);
    if (agent) return agent.run(promptIn(args), scope.signal);
    const tool = this.#tools.get(name);
    if (!tool) throw new MillraceError('tool_not_found', `There is no tool called ${name}.`);
    const input = await checkArguments(tool, args as never);
    const called: AgentToolContext & { request: ToolCaller } = {
      ...scope,
      ...{ toolCallId: id, idempotencyKey: id },
      request: callerIn(context),
    };
    const result = await tool.run(input, called);
    // Clients of these routes take '' for nothing.
    return result ? answerOf(result, name).content : '';
  }

  /** Makes the call that the context of the run names, within the time limit of tools. */
  readonly runTool: AgentFunction = (_turn, context) => {
    const { run, signal: stop } = context;
    const call = run.context as ToolCall;
    const { timeoutMs = usualTimeoutMs } = this.#options.tools ?? {};
    const progress = (value: unknown): void => void context.stage('tool_progress', detailOf(value));
    return withinTime(this.#agents.has(call.name) ? 0 : timeoutMs, stop, (signal) =>
      this.#call(call, { id: run.id, signal, progress }),
    );
  };
}

function detailOf(value: unknown): string {
  return typeof value === 'string' ? value : toJson(value ?? null, 'The progress of a tool');
}

/** Gives the work a signal that ends with `stop` or after the limit; 0 is none. */
async function withinTime<T>(
  limitMs: number,
  stop: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    if (limitMs === 0) return;
    timer = setTimeout(() => {
      const text = `Execution timed out after ${limitMs / 1000}s`;
      reject(new MillraceError('timeout', text));
      ending.abort();
    }, limitMs);
  });
  try {
    return await Promise.race([work(AbortSignal.any([stop, ending.signal])), late]);
  } finally {
    clearTimeout(timer);
  }
}

function notHere(name: string): MillraceError {
  return new MillraceError(
    'invalid_option',
    `runtime.tools() takes tools, not the name '${name}': builtinTools() gives those of the engine.`,
  );
}

function schemaOf(tool: HostTool): object {
  const { name, description = '' } = tool;
  const parameters = inputSchemaOf(tool) ?? { type: 'object', properties: {} };
  return { type: 'function', function: { name, description, parameters } };
}

const promptParameters = {
  type: 'object',
  properties: { prompt: { type: 'string', description: 'What the agent is to do.' } },
  required: ['prompt'],
};

function agentSchemaOf({ name, description }: CallableAgent): object {
  return { type: 'function', function: { name, description, parameters: promptParameters } };
}

function promptIn(args: object): string {
  const { prompt, message, text } = args as Record<string, unknown>;
  const given = prompt ?? message ?? text;
  return typeof given === 'string' ? given : JSON.stringify(args);
}

function callerIn({ request_type: type, ...ids }: Record<string, unknown>): ToolCaller {
  const [group_id = null, user_id = null, sender_id = null] = [
    'group_id',
    'user_id',
    'sender_id',
  ].map((name) => numberIn(name, ids[name]));
  return { request_type: typeof type === 'string' ? type : 'api', group_id, user_id, sender_id };
}

const digits = /^\s*[+-]?\d+\s*$/;

function numberIn(name: string, value: unknown): number | null {
  if (value === undefined || value === null) return null;
  const isNumber = typeof value === 'number' || (typeof value === 'string' && digits.test(value));
  const number = isNumber ? Number(value) : NaN;
  // A larger one would be rounded, and name another one.
  if (Number.isSafeInteger(number)) return number;
  throw new MillraceError(
    'invalid_argument',
    `context.${name} must be an integer, and at most ${Number.MAX_SAFE_INTEGER}.`,
  );
}
