// Tools of the host: JavaScript functions with a checked input, and what an agent's plan says of them.
import type {
  AgentToolContext,
  DynamicIntervention,
  HumanInterventionConfig,
} from '../../types/agent';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { limitOf } from '../limits';
import { randomUUID } from '../node-crypto';
import { shown } from '../shown';
import { isStandard, jsonSchemaOf } from '../standard-schema';
import { engineAnswer } from './engine-answer';
import { engineToolOf } from './engine-tools';
import { rejectSource, toolsIn, withName } from './tool-list';
import { checkValues, text, wholeNumber } from '../value-checks';
import type { ObjectJsonSchema, ValueOf } from '../../types/json-schema';
import type { VendorToolDefinition, VendorToolInput } from '../../types/vendor-tools';
import type {
  DescribedTool,
  HostTool,
  HostTools,
  RunnableTool,
  ToolEffect,
  UnnamedTool,
  VendorHostTool,
} from './types';

/** Milliseconds that a call may take of a tool that says nothing of it. */
export const defaultTimeoutMs: number = 5 * 60 * 1000;

/** Declares a tool that a vendor defines and the host runs: its name and its input are the vendor's. */
export function tool<const Vendor extends VendorToolDefinition>(
  definition: VendorHostTool<Vendor>,
): RunnableTool<VendorToolInput<Vendor>>;
/** Declares a tool whose input has the type that its JSON Schema describes. */
export function tool<const Schema extends ObjectJsonSchema>(
  definition: DescribedTool<Schema>,
): RunnableTool<ValueOf<Schema>>;
/** Declares such a tool for a record of tools, where its key names it. */
export function tool<const Schema extends ObjectJsonSchema>(
  definition: Omit<DescribedTool<Schema>, 'name'> & { name?: undefined },
): UnnamedTool<ValueOf<Schema>> & Pick<RunnableTool<ValueOf<Schema>>, 'run'>;
/** Declares a tool; the input's type comes from its validator. */
export function tool<Input = Record<string, unknown>>(
  definition: HostTool<Input>,
): RunnableTool<Input>;
/** Declares a tool for a record of tools, where its key names it. */
export function tool<Input = Record<string, unknown>>(
  definition: UnnamedTool<Input>,
): UnnamedTool<Input> & Pick<RunnableTool<Input>, 'run'>;
export function tool(given: object): unknown {
  checkTool(given as HostTool);
  const definition = withVendorName(given as HostTool);
  if (definition.name !== undefined) checkName(definition.name);
  // What the engine runs is known by its function, and instances of a class are more than their members.
  const isEngines = engineToolOf(definition) !== undefined;
  if (isEngines || Object.getPrototypeOf(definition) !== Object.prototype) return definition;
  return { ...definition, run: runOf(given as Runnable) };
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
  context?.progress !== undefined && hasSignal(context);

// Without looking at it: the signal of a run is made when its tool asks for it.
function hasSignal(context: object): boolean {
  const signal = Object.getOwnPropertyDescriptor(context, 'signal');
  return signal ? (signal.get ?? signal.value) !== undefined : 'signal' in context;
}

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
  ...([
    'name',
    'description',
    'input',
    'vendor',
    'effect',
    'approval',
    'timeoutMs',
    'resultLimit',
  ] as const),
  ...(['retries', 'ordered', 'serializeBy', 'run'] as const),
];

// As AI SDK, OpenAI Agents, Mastra and LobeHub call them.
const otherWords = {
  execute: 'run',
  invoke: 'run',
  parameters: 'input',
  inputSchema: 'input',
  approve: 'approval',
  needsApproval: 'approval',
  requireApproval: 'approval',
  humanIntervention: 'approval',
};

function checkTool(given: HostTool | UnnamedTool | undefined): void {
  const named = typeof given?.name === 'string' ? `The tool '${String(given.name)}'` : 'A tool';
  if (typeof given !== 'object' || given === null) {
    throw new MillraceError(
      'invalid_argument',
      `A tool must be an object with a function \`run\`, as tool() makes it, not ${shown(given)}.`,
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
      `${named}: \`input\` must be a JSON Schema or a Standard Schema validator, not ${shown(input)}.`,
    );
  }
  if (given.vendor !== undefined) checkVendor(named, given);
  const { type } = (isStandard(input) ? {} : (input ?? {})) as { type?: unknown };
  if (type !== undefined && ![type].flat().includes('object')) {
    throw new MillraceError(
      'invalid_option',
      `${named}: \`input\` must have the type object, not ${shown(type)}; a model gives arguments by name.`,
    );
  }
  if (effect !== undefined && !effects.includes(effect)) {
    throw new MillraceError(
      'invalid_option',
      `${named}: \`effect\` must be one of ${effects.join(', ')}, not ${shown(effect)}.`,
    );
  }
  const { description, retries } = given;
  checkValues(named, { description, retries }, { description: text, retries: wholeNumber });
  checkApprove(named, given.approval);
  limitOf('resultLimit', given.resultLimit);
}

// The vendor has told its models what the tool is.
function checkVendor(named: string, given: HostTool | UnnamedTool): void {
  const own = (['description', 'input'] as const).find((member) => given[member] !== undefined);
  if (own === undefined) return;
  throw new MillraceError(
    'invalid_option',
    `${named} is defined by its vendor, which describes it to the model: leave out \`${own}\`.`,
  );
}

/** The tool with the name that its vendor gives it. */
function withVendorName<Tool extends Pick<HostTool, 'vendor'> & { name?: string | undefined }>(
  given: Tool,
): Tool {
  const { vendor, name: own } = given;
  if (vendor === undefined) return given;
  const name = engineAnswer<string>('vendorToolName', { vendor });
  if (own === name) return given;
  if (own === undefined) return withName([name, given]);
  throw new MillraceError(
    'invalid_option',
    `The tool '${own}' must be called '${name}', as the calls of its vendor are.`,
  );
}

/** Refuses a tool that a vendor defines where results have no shape of the vendor's. */
export function rejectVendorTool({ name, vendor }: HostTool, where: string): void {
  if (vendor === undefined) return;
  throw new MillraceError(
    'invalid_option',
    `The tool '${name}' is defined by its vendor, which ${where} cannot call: give it to createAgent().`,
  );
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

// What cannot be read must not come to mean that no approval is needed.
function checkApprove(owner: string, approval: unknown): void {
  const { dynamic } = (approval ?? {}) as { dynamic?: unknown };
  if (policies.has(approval) || Array.isArray(approval) || typeof dynamic === 'object') return;
  throw new MillraceError(
    'invalid_option',
    `${owner}: \`approval\` must be true, false, 'never', 'required', 'always', a list of rules or { dynamic }, not ${shown(approval)}.`,
  );
}

// An agent has no resolvers. Without a default, the user decides.
function decided(policy: HumanInterventionConfig | DynamicIntervention): unknown {
  const { dynamic } = policy as Partial<DynamicIntervention>;
  return dynamic ? { dynamic: { ...dynamic, default: dynamic.default ?? 'required' } } : policy;
}

function checkName(name: string): void {
  if (typeof name === 'string' && /^[\w.-]{1,64}$/.test(name)) return;
  throw new MillraceError(
    'invalid_argument',
    `'${String(name)}' is not a valid tool name; use 1 to 64 letters, digits, _, - and dots.`,
  );
}

/** The tools of a list, a map or a record, each with its name; strings name tools of the engine. */
export function toolList(given: HostTools | null | undefined): (HostTool | string)[] {
  const list = toolsIn<HostTool>(given) as (HostTool | string)[];
  for (const [at, given] of list.entries()) {
    if (typeof given === 'string') continue;
    rejectSource(given);
    checkTool(given);
    const one = withVendorName(given);
    list[at] = one;
    if (typeof one.name !== 'string' || one.name === '') {
      throw new MillraceError(
        'invalid_argument',
        `A tool in a list needs a \`name\`, not ${shown(one.name)}; in a record its key is the name.`,
      );
    }
    if (!Array.isArray(given)) checkName(one.name);
  }
  return list;
}

/** When a person is asked before the tool runs. */
export function policyOf(approval: HostTool['approval']): HumanInterventionConfig {
  if (approval === undefined || approval === false) return 'never';
  return approval === true ? 'required' : approval;
}

/** JSON Schema of the input, where it is known. */
export function inputSchemaOf({ input }: HostTool): object | undefined {
  return isStandard(input) ? jsonSchemaOf(input, 'give a JSON Schema as `input`') : input;
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
  const { description, vendor, effect, approval, timeoutMs, resultLimit, retries } = tool;
  const { ordered, serializeBy } = tool;
  const engine = engineToolOf(tool);
  // The client of a server limits its calls itself, and lets them rest while a person answers the server.
  const ownLimit = engine !== undefined && 'stream' in engine ? 0 : undefined;
  return {
    name: agentToolName(tool),
    engine,
    description,
    parameters: inputSchemaOf(tool),
    vendor,
    effect,
    approval: decided(policyOf(approval)),
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
    wrong = engineAnswer<string>('checkSchema', { schema: input, value: args });
  }
  if (wrong === '') return args;
  throw new MillraceError('invalid_argument', `The arguments of ${name} are not valid: ${wrong}`);
}
