// What an Engine is made with: its tools and its provider, in all the shapes that they have.
import type { AgentToolContext } from '../../../types/agent';
import { MillraceError } from '../../errors';
import { limitOf } from '../../limits';
import { ModelRuntime } from '../../model/runtime';
import {
  anything,
  atLeast,
  type Check,
  checkValues,
  count,
  having,
  text,
} from '../../value-checks';
import { rejectTwo, toolsIn } from '../../tool/tool-list';
import { answerOf } from '../../tool/tool-result';
import { checkedInput, inputSchemaOf, policyOf, rejectVendorTool } from '../../tool/tool';
import type { HostTool } from '../../tool/types';
import { type Body, completionOf, firstChoice } from './provider';
import { SessionManager } from './sessions';
import type {
  ChatProvider,
  ChatRequest,
  ChatResponse,
  EngineOptions,
  EngineTool,
  EngineTools,
  ToolChoice,
} from './types';

const checks: Record<keyof EngineOptions, Check> = {
  maxIterations: count,
  tools: anything,
  toolRegistry: anything,
  provider: anything,
  baseURL: text,
  apiKey: text,
  model: text,
  systemPrompt: text,
  sessionManager: having('a SessionManager', 'run', 'snapshot', 'trim'),
  runtime: having('a runtime of createRuntime()', 'register', 'ask'),
  name: text,
  dispatcher: having('a Dispatcher', 'dispatch'),
  startedAt: having('a Date', 'getTime'),
  version: text,
  maxTokens: count,
  temperature: ['a number', Number.isFinite],
  toolChoice: [
    'a string or an object',
    (value) => typeof value === 'string' || typeof value === 'object',
  ],
  parallelTools: [
    'true, false or a whole number of at least 1',
    (value) => typeof value === 'boolean' || count[1](value),
  ],
  toolTimeoutMs: atLeast(0),
  requestTimeoutMs: atLeast(0),
  maxContextTokens: atLeast(1),
};

// Names that other versions of FrostAgent have for what is elsewhere here.
const elsewhere: Record<string, string> = {
  sendHook: 'give `onMessage` to each run',
  modelName: 'it is called `model`',
  baseUrl: 'it is called `baseURL`',
};

function rejectOption(sentence: string): never {
  throw new MillraceError('invalid_option', sentence);
}

/** The members that are set. */
export function present<T extends object>(options: T | null | undefined): T {
  const given = Object.entries(options ?? {});
  return Object.fromEntries(given.filter(([, value]) => (value ?? undefined) !== undefined)) as T;
}

/** The options of an Engine without those that are missing; throws for members that no Engine has, and for wrong ones. */
export function engineOptions(given: EngineOptions): EngineOptions {
  if (typeof given !== 'object') rejectOption('The options of an Engine have to be an object.');
  const options = present(given);
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(checks, name)) continue;
    const hint = elsewhere[name] ?? `it has ${Object.keys(checks).join(', ')}`;
    rejectOption(`An Engine has no option '${name}': ${hint}.`);
  }
  checkValues('An Engine', options, checks);
  if (options.runtime && !options.name) {
    rejectOption('An Engine with a runtime needs a `name`, by which its sessions are found again.');
  }
  const { toolChoice } = options;
  return { ...options, ...(toolChoice !== undefined && { toolChoice: choiceOf(toolChoice) }) };
}

// FrostAgent names a tool by its name alone.
function choiceOf(given: NonNullable<EngineOptions['toolChoice']>): ToolChoice {
  if (typeof given !== 'string' || isMode(given)) return given;
  return { type: 'function', function: { name: given } };
}

const isMode = (choice: string): choice is Extract<ToolChoice, string> =>
  ['none', 'auto', 'required'].includes(choice);

/** The settings of an Engine in the environment. */
export function environment(): EngineOptions {
  const { UPSTREAM_ENDPOINT, UPSTREAM_API_KEY, MODEL_NAME, SYSTEM_PROMPT, MAX_CONTEXT_MESSAGES } =
    process.env;
  // FrostAgent passes over a number of messages that is too low to talk with.
  const most = Number(MAX_CONTEXT_MESSAGES);
  const maxHistory = Number.isInteger(most) && most >= 4 ? most : undefined;
  return present({
    baseURL: UPSTREAM_ENDPOINT,
    apiKey: UPSTREAM_API_KEY,
    model: MODEL_NAME,
    systemPrompt: SYSTEM_PROMPT,
    sessionManager: maxHistory && new SessionManager({ maxHistory }),
  }) as EngineOptions;
}

/** The tools of a list, a map or a record, each with its name. */
export function engineTools(given: EngineTools | null | undefined): EngineTool[] {
  const tools = toolsIn<EngineTool>(given).map(engineTool);
  const names = new Set<string>();
  for (const { name } of tools) {
    if (names.has(name)) rejectTwo(name);
    names.add(name);
  }
  return tools;
}

/** A tool as an Engine runs it. */
export function engineTool(given: EngineTool | HostTool): EngineTool {
  const { name, execute, run } = (given ?? {}) as Partial<EngineTool & HostTool>;
  if (typeof name !== 'string' || name === '') rejectOption('A tool of an Engine needs a name.');
  if (typeof execute === 'function') return given as EngineTool;
  if (typeof run === 'function') return ofHost(given as HostTool);
  return rejectOption(
    `The tool ${name} needs a function: \`execute(args)\`, or \`run(input)\` of tool().`,
  );
}

function ofHost(host: HostTool): EngineTool {
  const { name, description = '', timeoutMs } = host;
  rejectVendorTool(host, 'an Engine');
  if (policyOf(host.approval) !== 'never') {
    rejectOption(
      `The tool ${name} needs approval, and an Engine asks nobody: use it in createAgent().`,
    );
  }
  return {
    name,
    description,
    parameters: inputSchemaOf(host) ?? { type: 'object', properties: {} },
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: async (args, { signal, toolCallId = '' }) => {
      const context: AgentToolContext = {
        signal,
        toolCallId,
        idempotencyKey: toolCallId,
        progress: () => undefined,
      };
      const input = await checkedInput(host, args);
      const { content, isError } = answerOf(await host.run(input, context), name);
      if (isError) throw new MillraceError('tool_failed', content);
      return content;
    },
  };
}

/** The answer of a provider, also where it is a completion of OpenAI's shape in a Response. */
export async function answerTo(
  provider: ChatProvider,
  request: ChatRequest,
  options: { signal: AbortSignal },
): Promise<ChatResponse | undefined> {
  const isRuntime = typeof provider.stream === 'function';
  const whole = { ...request, ...(isRuntime && { responseMode: 'json' }) };
  const answer: ChatResponse | Body | Response | undefined = await provider.chat(whole, options);
  if (isResponse(answer)) return completionOf(answer.ok, answer.status, await answer.text());
  if (typeof answer !== 'object' || answer === null || 'message' in answer) return answer;
  return firstChoice(answer);
}

// Of whatever realm or library.
function isResponse(answer: unknown): answer is Response {
  const { status, text } = (answer ?? {}) as Partial<Response>;
  return typeof status === 'number' && typeof text === 'function';
}

/** The providers that the engine itself asks: those of a runtime whose calls pass through no function of the user's. */
export function chainOf(provider: ChatProvider, model: string): object[] | undefined {
  if (!(provider instanceof ModelRuntime) || provider.sender('Engine')) return undefined;
  try {
    return provider.chain(model);
  } catch {
    // It is asked here then, with its `fetch`, its transport and its hooks.
    return undefined;
  }
}

// OpenAI's chat completions, whole answers.
function upstreamOf(options: EngineOptions): ChatProvider {
  const { baseURL, apiKey, model, requestTimeoutMs: total = upstreamTimeoutMs } = options;
  if (!baseURL || !model) {
    const [option, variable] = baseURL ? ['model', 'MODEL_NAME'] : ['baseURL', 'UPSTREAM_ENDPOINT'];
    const missing = new MillraceError(
      'invalid_option',
      `The engine needs a ${option}: give \`${option}\` or a \`provider\`, or set ${variable} ` +
        'for Engine.fromEnv().',
    );
    return { chat: () => Promise.reject(missing) };
  }
  return new ModelRuntime(upstreamName, {
    baseURL,
    timeouts: { total: limitOf('requestTimeoutMs', total) ?? 0 },
    ...(apiKey && { apiKey }),
    custom: { name: upstreamName, dialect: 'openai_chat', auth: apiKey ? 'bearer' : 'none' },
  });
}

const upstreamName = 'upstream';
const upstreamTimeoutMs = 120_000;

/** Who answers the chats of an Engine with these options. */
export function providerOf(options: EngineOptions): ChatProvider {
  const { provider = upstreamOf(options), model } = options;
  if (typeof provider?.chat !== 'function') {
    rejectOption(
      '`provider` needs a function `chat`: your own, or a runtime of createModelRuntime().',
    );
  }
  if (typeof provider.stream === 'function' && !model) {
    rejectOption('An Engine whose provider is a model runtime needs a `model`.');
  }
  return provider;
}
