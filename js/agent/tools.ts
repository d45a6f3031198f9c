// Tools of the host: JavaScript functions with a checked input, as an agent's tools, definitions and
// manifests.
import type { ChatTool } from '../../types/model';
import { randomUUID } from 'node:crypto';

import type {
  Agent,
  AgentTool,
  AgentToolContext,
  HumanInterventionConfig,
  InstructionExecutor,
} from '../../types/agent';
import type { StandardSchema } from '../../types/objects';
import { addon } from '../addon';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { limitOf } from '../limits';
import { isStandard, jsonSchemaOf } from '../standard-schema';
import { ask } from './ask';
import { engineToolOf } from './engine-tools';
import { withRetries } from './retries';
import { AgentRuntime } from './runtime';
import type { RuntimeConfig } from './runtime-config';
import { within } from './time-limit';
import { refuseSource, refuseTwo, toolsIn } from './tool-list';
import { resultJson } from './tool-result';

/** What a repeated call may do: it decides whether a call is ever run again. */
export type ToolEffect = 'read' | 'idempotent' | 'keyed' | 'once';

/** A tool of the host. */
export interface HostTool<Input = never> {
  name: string;
  description?: string | undefined;
  /** JSON Schema, or a schema of a library that follows Standard Schema. */
  input?: object | StandardSchema<Input> | undefined;
  /** `once` when absent. */
  effect?: ToolEffect | undefined;
  /** Whether a person is asked before the call; never when absent. */
  approve?: boolean | HumanInterventionConfig | undefined;
  /** Milliseconds that one call may take; 5 minutes when absent, 0 for no limit. */
  timeoutMs?: number | undefined;
  /** Bytes of its result that a model is shown; 256 Ki when absent. What is longer is cut and says so. */
  resultLimit?: number | undefined;
  /**
   * How often a call is tried again whose error says `retryable: true`; 2 when absent, 5 at most. A
   * tool of effect `once` never is.
   */
  retries?: number | undefined;
  /** Calls of one turn run one after the other. */
  ordered?: boolean | undefined;
  /** So do calls whose argument of this name is equal. */
  serializeBy?: string | undefined;
  run(input: Input, context: AgentToolContext): unknown;
}

/** A tool that can be called by itself, too: `run(input)`. */
export interface RunnableTool<Input = never, Output = unknown> extends HostTool<Input> {
  run(input: Input, context?: Partial<AgentToolContext>): Output;
}

/** A tool whose name is its key in a record of tools. */
export type NamelessTool<Input = never> = Omit<HostTool<Input>, 'name'> & { name?: undefined };

/** Tools as they are given: a list, or a record or map, whose keys are the names. */
export type HostTools =
  | readonly (HostTool | string)[]
  | Readonly<Record<string, HostTool | NamelessTool>>
  | ReadonlyMap<string, HostTool | NamelessTool>;

/** Milliseconds that a call may take of a tool that says nothing of it. */
export const defaultTimeoutMs: number = 5 * 60 * 1000;

/** Declares a tool; the input's type comes from its schema where that tells it. */
export function tool<Input = Record<string, unknown>>(
  definition: HostTool<Input>,
): RunnableTool<Input>;
/** Declares a tool for a record of tools, where its key names it. */
export function tool<Input = Record<string, unknown>>(
  definition: NamelessTool<Input>,
): NamelessTool<Input> & Pick<RunnableTool<Input>, 'run'>;
export function tool<Input>(definition: HostTool<Input> | NamelessTool<Input>): unknown {
  checkTool(definition);
  if (definition.name !== undefined) checkName(definition.name);
  // What the engine runs is known by its function, and instances of a class are more than their members.
  const isEngines = engineToolOf(definition as HostTool) !== undefined;
  if (isEngines || Object.getPrototypeOf(definition) !== Object.prototype) return definition;
  return { ...definition, run: runOf(definition) };
}

type Runnable = Pick<HostTool, 'run'>;
type Run = (input: never, context?: Partial<AgentToolContext>) => unknown;

// By definition: agents that call each other may each have made a tool of the same one.
const runs = new WeakMap<Runnable, Run>();

function runOf(definition: Runnable): Run {
  const made = runs.get(definition);
  if (made) return made;
  const run: Run = (input, context) => definition.run(input, wholeContext(context));
  runs.set(definition, run);
  return run;
}

const isWhole = (context: Partial<AgentToolContext> | undefined): context is AgentToolContext =>
  context?.signal !== undefined && context.progress !== undefined;

// A tool that is called by itself belongs to no run.
function wholeContext(context: Partial<AgentToolContext> | undefined): AgentToolContext {
  if (isWhole(context)) return context;
  const toolCallId = context?.toolCallId ?? randomUUID();
  return {
    ...context,
    signal: context?.signal ?? new AbortController().signal,
    toolCallId,
    idempotencyKey: context?.idempotencyKey ?? toolCallId,
    progress: context?.progress ?? (() => undefined),
  };
}

const members: readonly (keyof HostTool)[] = [
  ...(['name', 'description', 'input', 'effect', 'approve', 'timeoutMs', 'resultLimit'] as const),
  ...(['retries', 'ordered', 'serializeBy', 'run'] as const),
];

// As AI SDK, OpenAI Agents, Mastra and LobeHub call them.
const otherWords = {
  execute: 'run',
  invoke: 'run',
  parameters: 'input',
  inputSchema: 'input',
  needsApproval: 'approve',
  requireApproval: 'approve',
  humanIntervention: 'approve',
};

function checkTool(given: HostTool | NamelessTool | undefined): void {
  const named = typeof given?.name === 'string' ? `The tool '${String(given.name)}'` : 'A tool';
  if (typeof given !== 'object' || given === null) {
    throw new MillraceError(
      'invalid_argument',
      'A tool has to be an object with a function `run`; tool() makes one.',
    );
  }
  // An instance of a class may have members of its own.
  const prototype = Object.getPrototypeOf(given) as unknown;
  if (prototype === Object.prototype || prototype === null) {
    checkNames(named, given, members, otherWords);
  }
  if (typeof given.run !== 'function') {
    throw new MillraceError('invalid_argument', `${named} needs a function \`run\`.`);
  }
  const { input, effect } = given;
  if (input !== undefined && (input === null || !/^(object|function)$/.test(typeof input))) {
    throw new MillraceError(
      'invalid_option',
      `${named}: \`input\` must be a JSON Schema or a Standard Schema validator.`,
    );
  }
  const { type } = (isStandard(input) ? {} : (input ?? {})) as { type?: unknown };
  if (type !== undefined && ![type].flat().includes('object')) {
    throw new MillraceError(
      'invalid_option',
      `${named}: \`input\` must describe an object; a model gives arguments by name.`,
    );
  }
  if (effect !== undefined && !effects.includes(effect)) {
    throw new MillraceError(
      'invalid_option',
      `${named}: \`effect\` must be one of ${effects.join(', ')}.`,
    );
  }
  checkApprove(named, given.approve);
  limitOf('resultLimit', given.resultLimit);
}

const effects: readonly ToolEffect[] = ['read', 'idempotent', 'keyed', 'once'];

const policies: ReadonlySet<unknown> = new Set([
  true,
  false,
  undefined,
  'never',
  'required',
  'always',
]);

// What cannot be understood must not come to mean that nobody is asked.
function checkApprove(owner: string, approve: unknown): void {
  const { dynamic } = (approve ?? {}) as { dynamic?: unknown };
  if (policies.has(approve) || Array.isArray(approve) || typeof dynamic === 'object') return;
  throw new MillraceError(
    'invalid_option',
    `${owner}: \`approve\` must be true, false, 'never', 'required', 'always' or a list of rules.`,
  );
}

function checkName(name: string): void {
  if (typeof name === 'string' && /^[\w-]{1,64}$/.test(name)) return;
  throw new MillraceError(
    'invalid_argument',
    `'${String(name)}' is no name for a tool: use 1 to 64 letters, digits, _ and -.`,
  );
}

/** The tools of a list, a map or a record, each with its name; strings name tools of the engine. */
export function toolList(given: HostTools | null | undefined): (HostTool | string)[] {
  const list = toolsIn<HostTool>(given) as (HostTool | string)[];
  for (const one of list) {
    if (typeof one === 'string') continue;
    refuseSource(one);
    checkTool(one);
    if (typeof one.name !== 'string' || one.name === '') {
      throw new MillraceError(
        'invalid_argument',
        'A tool in a list needs a name; in a record its key is the name.',
      );
    }
    if (!Array.isArray(given)) checkName(one.name);
  }
  return list;
}

/** What an agent needs of its tools. */
export interface AgentToolsEngine {
  /** For Agent.tools. */
  tools: Record<string, AgentTool>;
  /** For AgentState.tools: what the model is told. */
  definitions: ChatTool[];
  /** For AgentState.toolManifestMap: who has to be asked. */
  toolManifestMap: Record<string, object>;
}

/** Makes an agent's tools, definitions and manifests of host tools, sorted by name. */
export function createAgentToolsEngine(options: {
  tools: Exclude<HostTools, readonly unknown[]> | readonly HostTool[];
}): AgentToolsEngine {
  const made: AgentToolsEngine = { tools: {}, definitions: [], toolManifestMap: {} };
  const hosts = toolList(options?.tools).map((one) => {
    if (typeof one !== 'string') return one;
    throw new MillraceError(
      'invalid_option',
      `'${one}' names a tool of the engine: take it from builtinTools().`,
    );
  });
  for (const host of hosts.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (made.tools[host.name]) refuseTwo(host.name);
    made.tools[host.name] = withRetries(callable(host), host.retries);
    made.definitions.push({
      type: 'function',
      function: {
        name: host.name,
        ...(host.description !== undefined && { description: host.description }),
        parameters: inputSchemaOf(host) ?? { type: 'object', properties: {} },
      },
    });
    addManifest(made.toolManifestMap as Record<string, Manifest>, host);
  }
  return made;
}

interface Manifest {
  identifier: string;
  humanIntervention: HumanInterventionConfig;
  effect: ToolEffect;
  api: object[];
}

// A call of `identifier____api` finds its manifest by the identifier, as tools of plugins are named.
function addManifest(manifests: Record<string, Manifest>, host: HostTool): void {
  const [identifier = '', name = identifier] = host.name.split('____');
  const { effect = 'once', ordered, serializeBy } = host;
  const humanIntervention = policyOf(host.approve);
  const manifest = (manifests[identifier] ??= { identifier, humanIntervention, effect, api: [] });
  if (manifest.effect !== effect) manifest.effect = 'once';
  manifest.api.push({
    name,
    humanIntervention,
    ...(ordered !== undefined && { ordered }),
    ...(serializeBy !== undefined && { serializeBy }),
  });
}

/** The engine's executors for an agent, for runtimes of the host's own. */
export function createAgentExecutors(
  agent: Agent,
  config: RuntimeConfig = {},
): Record<string, InstructionExecutor> {
  return { ...new AgentRuntime(agent, { history: 'engine', ...config }).executors };
}

/** When a person is asked before the tool runs. */
export function policyOf(approve: HostTool['approve']): HumanInterventionConfig {
  if (approve === undefined || approve === false) return 'never';
  return approve === true ? 'required' : approve;
}

/** JSON Schema of the input, where it is known. */
export function inputSchemaOf({ input }: HostTool): object | undefined {
  return isStandard(input) ? jsonSchemaOf(input, 'give a JSON Schema as `input`') : input;
}

function callable(host: HostTool): AgentTool {
  const { name } = host;
  const limit = limitOf('timeoutMs', host.timeoutMs) ?? defaultTimeoutMs;
  return async (args: never, context: AgentToolContext) => {
    const input = await checkArguments(host, args);
    const value: unknown = await within(
      (signal) => host.run(input, { ...context, signal }),
      limit,
      `The tool ${name} did not answer within ${limit} ms.`,
      context?.signal,
    );
    return asData(value, host);
  };
}

// What a model reads of a result is data, whoever gave it.
function asData(value: unknown, { name, resultLimit: limit }: HostTool): unknown {
  if (typeof value === 'string') return resultText(value, limit);
  const { content } = (value ?? {}) as { content?: unknown };
  if (typeof content === 'string') {
    return { ...(value as object), content: resultText(content, limit) };
  }
  if (value === undefined) return value;
  const json = resultJson(value, name);
  const safe = resultText(json, limit);
  return safe === json ? value : safe;
}

function resultText(text: string, limit?: number): string {
  return addon().resultText(text, limit);
}

/** The input as the tool takes it; throws what is wrong with it. JSON Schemas are the engine's. */
export async function checkedInput(tool: HostTool, args: unknown): Promise<never> {
  return isStandard(tool.input) ? checkArguments(tool, args as never) : (args as never);
}

/**
 * The name of a tool in an agent. Names that plugins have in LobeHub (`identifier____function`) stand for two
 * things there, and for one here.
 */
export function agentToolName({ name }: HostTool): string {
  return name.replace(/_{4,}/g, '__');
}

/** A tool as an agent's plan describes it. */
export function toolPlan(tool: HostTool): object {
  const { description, effect, approve, timeoutMs, resultLimit, retries } = tool;
  const { ordered, serializeBy } = tool;
  const engine = engineToolOf(tool);
  // The client of a server limits its calls itself, and lets them rest while a person answers the server.
  const ownLimit = engine !== undefined && 'stream' in engine ? 0 : undefined;
  return {
    name: agentToolName(tool),
    engine,
    description,
    parameters: inputSchemaOf(tool),
    effect,
    approve: policyOf(approve),
    timeoutMs: limitOf('timeoutMs', timeoutMs) ?? ownLimit,
    resultLimit,
    retries,
    ordered,
    serializeBy,
    checked: isStandard(tool.input) ? 'host' : undefined,
  };
}

/** The input as the tool takes it; throws what is wrong with it. */
export async function checkArguments({ name, input }: HostTool, args: never): Promise<never> {
  let wrong = '';
  if (isStandard(input)) {
    const verdict = await input['~standard'].validate(args);
    if (!verdict.issues) return verdict.value;
    wrong = verdict.issues.map(({ message }) => message).join('; ');
  } else if (input) {
    wrong = ask<string>('checkSchema', { schema: input, value: args });
  }
  if (wrong === '') return args;
  throw new MillraceError('invalid_argument', `The arguments of ${name} are not valid: ${wrong}`);
}
