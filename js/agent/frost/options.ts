// What an Engine is made with: its tools and its provider, in all the shapes that they have.
import type { AgentToolContext } from '../../../types/agent';
import { MillraceError } from '../../errors';
import { limitOf } from '../../limits';
import { ModelRuntime } from '../../model/runtime';
import { toolsIn } from '../tool-list';
import { answerOf } from '../tool-result';
import { checkedInput, type HostTool, inputSchemaOf, policyOf } from '../tools';
import { type Body, chatCompletionsProvider, completionOf, firstChoice } from './provider';
import type {
  ChatProvider,
  ChatRequest,
  ChatResponse,
  EngineOptions,
  EngineTool,
  EngineTools,
} from './types';

const names: Record<keyof EngineOptions, true> = {
  maxIterations: true,
  tools: true,
  toolRegistry: true,
  provider: true,
  baseURL: true,
  apiKey: true,
  model: true,
  systemPrompt: true,
  sessionManager: true,
  dispatcher: true,
  startedAt: true,
  version: true,
  maxTokens: true,
  temperature: true,
  toolChoice: true,
  parallelTools: true,
  toolTimeoutMs: true,
  requestTimeoutMs: true,
  maxContextTokens: true,
};

// Names that other versions of FrostAgent have for what is elsewhere here.
const elsewhere: Record<string, string> = {
  sendHook: 'give `onMessage` to each run',
  modelName: 'it is called `model`',
  baseUrl: 'it is called `baseURL`',
};

function refuse(sentence: string): never {
  throw new MillraceError('invalid_option', sentence);
}

/** Throws for members that no Engine has. */
export function checkEngineOptions(options: EngineOptions): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || Object.hasOwn(names, name)) continue;
    const hint = elsewhere[name] ?? `it has ${Object.keys(names).join(', ')}`;
    refuse(`An Engine has no option '${name}': ${hint}.`);
  }
}

/** The tools of a list, a map or a record, each with its name. */
export function engineTools(given: EngineTools | null | undefined): EngineTool[] {
  return toolsIn<EngineTool>(given).map(engineTool);
}

/** A tool as an Engine runs it. */
export function engineTool(given: EngineTool | HostTool): EngineTool {
  const { name, execute, run } = (given ?? {}) as Partial<EngineTool & HostTool>;
  if (typeof name !== 'string' || name === '') refuse('A tool of an Engine needs a name.');
  if (typeof execute === 'function') return given as EngineTool;
  if (typeof run === 'function') return ofHost(given as HostTool);
  return refuse(
    `The tool ${name} needs a function: \`execute(args)\`, or \`run(input)\` of tool().`,
  );
}

function ofHost(host: HostTool): EngineTool {
  const { name, description = '', timeoutMs } = host;
  if (policyOf(host.approve) !== 'never') {
    refuse(`The tool ${name} needs approval, and an Engine asks nobody: use it in createAgent().`);
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
      const input = await checkedInput(host, JSON.parse(args.trim() || '{}'));
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

/**
 * The providers that the engine itself asks: the one that `baseURL` names, and those of a runtime whose calls
 * pass through no function of the user's.
 */
export function chainOf(options: EngineOptions): object[] | undefined {
  const { provider = upstreamOf(options), model = '' } = options;
  if (!(provider instanceof ModelRuntime) || provider.sender('Engine')) return undefined;
  try {
    return provider.chain(model);
  } catch {
    // It is asked here then, with its `fetch`, its transport and its hooks.
    return undefined;
  }
}

// What names no model is asked as it is, from here.
function upstreamOf(options: EngineOptions): ModelRuntime | undefined {
  const { baseURL, apiKey, model, requestTimeoutMs: total = upstreamTimeoutMs } = options;
  if (!baseURL || !model) return undefined;
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
  const { provider, baseURL = '', apiKey, model } = options;
  const { requestTimeoutMs = upstreamTimeoutMs } = options;
  if (provider === undefined) return chatCompletionsProvider(baseURL, apiKey, requestTimeoutMs);
  if (typeof provider?.chat !== 'function') {
    refuse('`provider` needs a function `chat`: your own, or a runtime of createModelRuntime().');
  }
  if (typeof provider.stream === 'function' && !model) {
    refuse('An Engine whose provider is a model runtime needs a `model`.');
  }
  return provider;
}
