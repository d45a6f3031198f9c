// Tools of the host: JavaScript functions with a checked input, as an agent's tools, definitions and
// manifests.
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
import { isStandard, jsonSchemaOf } from '../standard-schema';
import { ask } from './ask';
import { engineToolOf } from './engine-tools';
import { AgentRuntime, type RuntimeConfig, within } from './runtime';

/** What a repeated call may do: it decides whether a call is ever run again. */
export type ToolEffect = 'read' | 'idempotent' | 'keyed' | 'once';

/** A tool of the host. */
export interface HostTool<Input = never> {
  name: string;
  description?: string;
  /** JSON Schema, or a schema of a library that follows Standard Schema. */
  input?: object | StandardSchema<Input>;
  /** `once` when absent. */
  effect?: ToolEffect;
  /** Whether a person is asked before the call; never when absent. */
  approve?: boolean | HumanInterventionConfig;
  /** Milliseconds that one call may take; 5 minutes when absent, 0 for no limit. */
  timeoutMs?: number;
  /** Bytes of its result that a model is shown; 256 Ki when absent. What is longer is cut and says so. */
  resultLimit?: number;
  /**
   * How often a call is tried again whose error says `retryable: true`; 2 when absent, 5 at most. A
   * tool of effect `once` never is.
   */
  retries?: number;
  /** Calls of one turn run one after the other. */
  ordered?: boolean;
  /** So do calls whose argument of this name is equal. */
  serializeBy?: string;
  run(input: Input, context: AgentToolContext): unknown;
}

/** Declares a tool; the input's type comes from its schema where that tells it. */
export function tool<Input = Record<string, unknown>>(
  definition: HostTool<Input>,
): HostTool<Input> {
  if (!/^[\w-]{1,64}$/.test(definition.name)) {
    throw new MillraceError(
      'invalid_argument',
      `'${definition.name}' is no name for a tool: use 1 to 64 letters, digits, _ and -.`,
    );
  }
  return definition;
}

/** What an agent needs of its tools. */
export interface AgentToolsEngine {
  /** For Agent.tools. */
  tools: Record<string, AgentTool>;
  /** For AgentState.tools: what the model is told. */
  definitions: object[];
  /** For AgentState.toolManifestMap: who has to be asked. */
  toolManifestMap: Record<string, object>;
}

/** Makes an agent's tools, definitions and manifests of host tools, sorted by name. */
export function createAgentToolsEngine(options: { tools: HostTool[] }): AgentToolsEngine {
  const made: AgentToolsEngine = { tools: {}, definitions: [], toolManifestMap: {} };
  for (const host of [...options.tools].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (made.tools[host.name]) {
      throw new MillraceError('invalid_argument', `There are two tools called ${host.name}.`);
    }
    made.tools[host.name] = callable(host);
    made.definitions.push({
      type: 'function',
      function: {
        name: host.name,
        ...(host.description !== undefined && { description: host.description }),
        parameters: inputSchemaOf(host) ?? { type: 'object', properties: {} },
      },
    });
    made.toolManifestMap[host.name] = {
      identifier: host.name,
      humanIntervention: policyOf(host.approve),
      effect: host.effect ?? 'once',
    };
  }
  return made;
}

/** The engine's executors for an agent, for runtimes of the host's own. */
export function createAgentExecutors(
  agent: Agent,
  config: RuntimeConfig = {},
): Record<string, InstructionExecutor> {
  return { ...new AgentRuntime(agent, { history: 'engine', ...config }).executors };
}

function policyOf(approve: HostTool['approve']): HumanInterventionConfig {
  if (approve === undefined || approve === false) return 'never';
  return approve === true ? 'required' : approve;
}

function inputSchemaOf({ input }: HostTool): object | undefined {
  return isStandard(input) ? jsonSchemaOf(input, 'give a JSON Schema as `input`') : input;
}

function callable(host: HostTool): AgentTool {
  return async (args: never, context: AgentToolContext) => {
    const input = await checkArguments(host, args);
    const limit = host.timeoutMs ?? 0;
    const value: unknown = await within(
      host.run(input, context),
      limit,
      `The tool ${host.name} did not answer within ${limit} ms.`,
    );
    return asData(value, host.resultLimit);
  };
}

// What a model reads of a result is data, whoever gave it.
function asData(value: unknown, limit: number | undefined): unknown {
  if (typeof value === 'string') return resultText(value, limit);
  const { content } = (value ?? {}) as { content?: unknown };
  if (typeof content === 'string') {
    return { ...(value as object), content: resultText(content, limit) };
  }
  const json = JSON.stringify(value) as string | undefined;
  if (json === undefined) return value;
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
  return {
    name: agentToolName(tool),
    engine: engineToolOf(tool),
    description,
    parameters: inputSchemaOf(tool),
    effect,
    approve: policyOf(approve),
    timeoutMs,
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
