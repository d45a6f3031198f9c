// What createAgent() may be given: names that are none of its options, and values that it cannot use.
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { checkFallback } from '../model/call-options';
import { ModelRuntime } from '../model/runtime';
import type { DurableRuntime } from './durable-types';
import { policyChecks } from './run-policies';
import type { AgentOptionsOf, SubAgentOf } from './types';
import { shown } from '../shown';
import { checkValues, flag, group } from '../value-checks';

const ofDurable = [
  'name',
  'version',
  'unknown',
  'authorize',
  'onDisconnect',
  'approvalTimeoutMs',
] as const;

const known: readonly (keyof AgentOptionsOf<unknown>)[] = [
  'model',
  'modelName',
  'provider',
  'fallback',
  'instructions',
  'tools',
  'agents',
  'approval',
  'limits',
  'parameters',
  'compression',
  'concurrency',
  'retryAfterFirstToken',
  'runtime',
  ...ofDurable,
];

const ofSubAgent: readonly (keyof SubAgentOf<unknown>)[] = [
  'name',
  'description',
  'agent',
  'inheritMessages',
  'timeoutMs',
];

function checkAgents(agents: unknown, isAgent: (one: unknown) => boolean): void {
  if (agents === undefined) return;
  if (!Array.isArray(agents)) {
    throw new MillraceError(
      'invalid_option',
      `createAgent(): agents must be a list of { name, description, agent }, not ${shown(agents)}.`,
    );
  }
  for (const [index, one] of (agents as Partial<SubAgentOf<unknown>>[]).entries()) {
    checkNames(`agents[${index}]`, one, ofSubAgent);
    if (isAgent(one?.agent)) continue;
    throw new MillraceError(
      'invalid_option',
      `createAgent(): agents[${index}].agent must be an agent of createAgent(), not ${shown(one?.agent)}.`,
    );
  }
}

const ofCompression: readonly (keyof NonNullable<AgentOptionsOf<unknown>['compression']>)[] = [
  'enabled',
  'maxWindowToken',
  'thresholdRatio',
  'recompressionThresholdRatio',
  'driftMultiplier',
];

const policies: ReadonlySet<unknown> = new Set(['report', 'retry', 'ask']);

function checkDurable(options: Partial<AgentOptionsOf<unknown>>): void {
  const { runtime, name, version, unknown, authorize } = options;
  if (runtime === undefined) {
    const alone = ofDurable.find((member) => options[member] !== undefined);
    if (alone === undefined) return;
    throw new MillraceError(
      'invalid_option',
      `createAgent(): \`${alone}\` is of agents with a \`runtime\`; see createRuntime().`,
    );
  }
  if (typeof (runtime as Partial<DurableRuntime> | null)?.register !== 'function') {
    throw new MillraceError(
      'invalid_option',
      `createAgent(): runtime must be one of createRuntime(), not ${shown(runtime)}.`,
    );
  }
  if (typeof name !== 'string' || name === '') {
    throw new MillraceError(
      'invalid_option',
      'createAgent(): an agent with a `runtime` needs a `name`, by which its runs find it after a restart.',
    );
  }
  checkValues('createAgent()', options, policyChecks);
  const wanted: [string, unknown, boolean][] = [
    ['authorize must be a function', authorize, typeof authorize === 'function'],
    ['version must be a string', version, typeof version === 'string'],
    ["unknown must be 'report', 'retry' or 'ask'", unknown, policies.has(unknown)],
  ];
  for (const [sentence, value, isRight] of wanted) {
    if (value === undefined || isRight) continue;
    throw new MillraceError('invalid_option', `createAgent(): ${sentence}, not ${shown(value)}.`);
  }
}

// As AI SDK, OpenAI Agents and Mastra call them.
const otherWords = {
  approve: 'approval',
  system: 'instructions',
  stopWhen: 'limits',
  maxSteps: 'limits: { maxSteps }',
  maxTurns: 'limits: { maxSteps }',
  handoffs: 'agents',
};

/** Throws for what createAgent() cannot make an agent of; `isAgent` knows one that it made. */
export function checkOptions<Agent>(
  options: unknown,
  isAgent: (one: unknown) => boolean,
): asserts options is AgentOptionsOf<Agent> {
  const given = (options ?? {}) as Partial<AgentOptionsOf<unknown>>;
  const { model, agents, compression, concurrency, fallback, instructions } = given;
  const { limits, parameters, retryAfterFirstToken } = given;
  checkNames('createAgent()', options ?? {}, known, otherWords);
  checkNames('compression', compression ?? {}, ofCompression);
  checkValues(
    'createAgent()',
    { limits, parameters, compression, retryAfterFirstToken },
    { limits: group, parameters: group, compression: group, retryAfterFirstToken: flag },
  );
  if (concurrency !== undefined && !(Number.isInteger(concurrency) && concurrency >= 1)) {
    throw new MillraceError(
      'invalid_option',
      `\`concurrency\` must be a whole number of at least 1, not ${shown(concurrency)}.`,
    );
  }
  checkDurable(options ?? {});
  checkFallback('createAgent', fallback);
  checkAgents(agents, isAgent);
  if (instructions !== undefined && typeof instructions !== 'string') {
    throw new MillraceError(
      'invalid_option',
      `createAgent(): instructions must be a string, not ${shown(instructions)}.`,
    );
  }
  if (typeof model !== 'string' && !(model instanceof ModelRuntime)) {
    throw new MillraceError(
      'invalid_option',
      `createAgent() needs a model: 'provider:name' or a ModelRuntime, not ${shown(model)}.`,
    );
  }
}
