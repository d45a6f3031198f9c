// Engine: FrostAgent's loop of model calls and tools, with typed results instead of texts.
import type { AgentMessage, OpenAIToolCall } from '../../../types/agent';
import { MillraceError } from '../../errors';
import { ask } from '../ask';
import { errorRecord } from '../serialize';
import { within } from '../time-limit';
import { resultJson } from '../tool-result';
import type { HostTool } from '../tools';
import {
  callsOf,
  checkArguments,
  definition,
  failure,
  openedByUser,
  raced,
  textOf,
} from './answers';
import { Dispatcher } from './dispatcher';
import { answerTo, checkEngineOptions, engineTool, engineTools, providerOf } from './options';
import { SessionManager } from './sessions';
import { cutResult, deliveredResult, sendMessageTool, silentResult, staySilentTool } from './tools';
import type {
  ChatProvider,
  EngineCounters,
  EngineOptions,
  EngineResult,
  EngineRunContext,
  EngineRunOptions,
  EngineTool,
  EngineUsage,
} from './types';

let runs = 0;

/** Answers prompts with a model and tools. */
export class Engine {
  readonly maxIterations: number;
  readonly sessionManager: SessionManager;
  readonly dispatcher: Dispatcher;
  readonly startedAt: Date;
  readonly version: string;
  readonly baseURL: string;
  readonly model: string;
  readonly provider: ChatProvider;
  readonly counters: EngineCounters = { runs: 0, iterations: 0, toolCalls: 0, messagesSent: 0 };
  systemPrompt: string;
  readonly #options: EngineOptions;
  readonly #tools = new Map<string, EngineTool>();

  constructor(options: EngineOptions = {}) {
    checkEngineOptions(options);
    this.maxIterations = options.maxIterations ?? 5;
    if (!Number.isInteger(this.maxIterations) || this.maxIterations < 1) {
      throw new MillraceError(
        'invalid_option',
        'maxIterations must be a whole number of at least 1.',
      );
    }
    this.#options = options;
    this.baseURL = options.baseURL ?? '';
    this.model = options.model ?? '';
    this.systemPrompt = options.systemPrompt ?? '';
    this.version = options.version ?? '0.1.0';
    this.sessionManager = options.sessionManager ?? new SessionManager();
    this.dispatcher = options.dispatcher ?? new Dispatcher();
    this.startedAt = options.startedAt ?? new Date();
    this.provider = providerOf(options);
    for (const given of [options.toolRegistry, options.tools]) {
      for (const tool of engineTools(given)) this.#tools.set(tool.name, tool);
    }
  }

  /** An engine of UPSTREAM_ENDPOINT, UPSTREAM_API_KEY, MODEL_NAME and SYSTEM_PROMPT. */
  static fromEnv(options: EngineOptions = {}): Engine {
    const { UPSTREAM_ENDPOINT, UPSTREAM_API_KEY, MODEL_NAME, SYSTEM_PROMPT } = process.env;
    return new Engine({
      ...(UPSTREAM_ENDPOINT !== undefined && { baseURL: UPSTREAM_ENDPOINT }),
      ...(UPSTREAM_API_KEY !== undefined && { apiKey: UPSTREAM_API_KEY }),
      ...(MODEL_NAME !== undefined && { model: MODEL_NAME }),
      ...(SYSTEM_PROMPT !== undefined && { systemPrompt: SYSTEM_PROMPT }),
      ...options,
    });
  }

  /** The key, which no listing of the engine shows. */
  get apiKey(): string | undefined {
    return this.#options.apiKey;
  }

  /** The tools by name, sorted; a copy. */
  get toolRegistry(): ReadonlyMap<string, EngineTool> {
    return new Map([...this.#tools].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Model calls so far; the name is FrostAgent's. */
  get totalMessagesProcessed(): number {
    return this.counters.iterations;
  }

  /** Adds a tool for runs that begin later. */
  registerTool(tool: EngineTool | HostTool): void {
    const made = engineTool(tool);
    this.#tools.set(made.name, made);
  }

  /** Takes a tool away from runs that begin later. */
  unregisterTool(name: string): boolean {
    return this.#tools.delete(name);
  }

  /** Adds send_message and stay_silent. */
  registerMessageTools(): void {
    this.registerTool(sendMessageTool);
    this.registerTool(staySilentTool);
  }

  /** Answers one prompt without a history. */
  run(prompt: string, options: EngineRunOptions = {}): Promise<EngineResult> {
    const messages: AgentMessage[] = [
      { role: 'system', content: this.systemPrompt },
      { role: 'user', content: prompt },
    ];
    return this.#loop(messages, options);
  }

  /** Answers a conversation; the system prompt is put in front unless there is one. */
  runMessages(messages: AgentMessage[], options: EngineRunOptions = {}): Promise<EngineResult> {
    return this.#loop(this.#withSystem(messages), options);
  }

  /**
   * Answers in a session; prompts of one session are answered in order. A prompt that failed or was
   * cancelled leaves the history as it was.
   */
  async runWithSession(
    sessionId: string,
    prompt: string,
    options: EngineRunOptions = {},
  ): Promise<EngineResult> {
    const { signal } = options;
    const asked = (history: AgentMessage[]): AgentMessage[] =>
      this.#withSystem([...history, { role: 'user', content: prompt }]);
    const turn = async (
      history: AgentMessage[],
    ): Promise<{ messages?: AgentMessage[]; value: EngineResult }> => {
      const messages = this.sessionManager.trim(asked(history));
      const value = await this.#loop(messages, options, sessionId);
      const kept = value.status === 'completed' || value.status === 'max_iterations';
      return kept ? { messages: value.messages, value } : { value };
    };
    try {
      return await this.sessionManager.run(sessionId, turn, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
      // It was cancelled while it waited for its turn.
      const usage: EngineUsage = { prompt: 0, completion: 0, total: 0 };
      return failure(error, signal, {
        usage,
        messages: asked(this.sessionManager.snapshot(sessionId)),
      });
    }
  }

  #withSystem(messages: AgentMessage[]): AgentMessage[] {
    if (messages[0]?.role === 'system') return [...messages];
    return [{ role: 'system', content: this.systemPrompt }, ...messages];
  }

  async #loop(
    start: AgentMessage[],
    options: EngineRunOptions,
    sessionId?: string,
  ): Promise<EngineResult> {
    this.counters.runs += 1;
    const messages = [...start];
    const usage: EngineUsage = { prompt: 0, completion: 0, total: 0 };
    const { signal = new AbortController().signal, onMessage } = options;
    let over = false;
    const context: EngineRunContext = {
      runId: `run-${++runs}`,
      signal,
      ...(sessionId !== undefined && { sessionId }),
      // The hook ends with the run.
      ...(onMessage && {
        onMessage: (message, about) =>
          over ? { delivered: false, error: 'The run is over.' } : onMessage(message, about),
      }),
    };
    try {
      return await this.#rounds(messages, context, usage);
    } finally {
      over = true;
    }
  }

  async #rounds(
    messages: AgentMessage[],
    context: EngineRunContext,
    usage: EngineUsage,
  ): Promise<EngineResult> {
    const { signal } = context;
    const tools = this.toolRegistry;
    for (let iteration = 0; iteration < this.maxIterations; ++iteration) {
      let message: AgentMessage;
      try {
        signal.throwIfAborted();
        message = await this.#ask(messages, tools, usage, signal);
      } catch (error) {
        return failure(error, signal, { usage, messages });
      }
      messages.push(message);
      const calls = message.tool_calls ?? [];
      if (calls.length === 0) {
        return { status: 'completed', text: textOf(message.content), usage, messages };
      }
      const silent = await this.#runTools(calls, tools, context, messages);
      if (silent) return { status: 'completed', text: '', silent: true, usage, messages };
      if (signal.aborted) return { status: 'cancelled', usage, messages };
    }
    return { status: 'max_iterations', usage, messages };
  }

  async #ask(
    messages: AgentMessage[],
    tools: ReadonlyMap<string, EngineTool>,
    usage: EngineUsage,
    signal: AbortSignal,
  ): Promise<AgentMessage> {
    const definitions = [...tools.values()].map(definition);
    this.#checkLength(messages, definitions);
    this.counters.iterations += 1;
    const { maxTokens, temperature, toolChoice } = this.#options;
    const answer = await raced(
      answerTo(
        this.provider,
        {
          model: this.model,
          messages: openedByUser(messages),
          ...(tools.size > 0 && { tools: definitions }),
          ...(toolChoice !== undefined && { tool_choice: toolChoice }),
          ...(maxTokens !== undefined && { max_tokens: maxTokens }),
          ...(temperature !== undefined && { temperature }),
        },
        { signal },
      ),
      signal,
    );
    if (!answer?.message) throw new MillraceError('provider_error', 'no choices in response');
    const { message, usage: reported } = answer;
    const prompt = reported?.prompt_tokens ?? 0;
    const completion = reported?.completion_tokens ?? 0;
    usage.prompt += prompt;
    usage.completion += completion;
    usage.total += reported?.total_tokens ?? prompt + completion;
    const calls = callsOf(message.tool_calls);
    const row = { ...message, role: 'assistant', content: message.content ?? '' };
    delete row.tool_calls;
    if (calls.length > 0) row.tool_calls = calls;
    return row;
  }

  #checkLength(messages: AgentMessage[], tools: object[]): void {
    const most = this.#options.maxContextTokens ?? 128_000;
    const { currentTokenCount } = ask<{ currentTokenCount: number }>('checkCompression', {
      messages,
      options: { tools },
    });
    if (currentTokenCount <= most) return;
    throw new MillraceError(
      'context_window_exceeded',
      `The conversation has about ${currentTokenCount} tokens; ${most} are allowed.`,
    );
  }

  // Appends one result for each call; true when the model chose silence.
  async #runTools(
    calls: OpenAIToolCall[],
    tools: ReadonlyMap<string, EngineTool>,
    context: EngineRunContext,
    messages: AgentMessage[],
  ): Promise<boolean> {
    const names = calls.map((call) => call.function.name);
    const conflict = calls.length > 1 && names.includes(staySilentTool.name);
    const results: string[] = [];
    if (conflict) {
      calls.forEach(() => results.push('stay_silent 不能与其他工具同时调用，所有工具均未执行'));
    } else {
      const { parallelTools: given } = this.#options;
      const lanes = typeof given === 'number' ? given : given ? 8 : 1;
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let index = next++; index < calls.length; index = next++) {
          results[index] = await this.#call(calls[index] as OpenAIToolCall, tools, context);
        }
      };
      await Promise.all(Array.from({ length: Math.max(1, lanes) }, lane));
    }
    calls.forEach(({ id }, index) => {
      messages.push({ role: 'tool', content: results[index] ?? '', tool_call_id: id });
    });
    return !conflict && names[0] === staySilentTool.name && results[0] === silentResult;
  }

  async #call(
    { id, function: { name, arguments: args } }: OpenAIToolCall,
    tools: ReadonlyMap<string, EngineTool>,
    context: EngineRunContext,
  ): Promise<string> {
    this.counters.toolCalls += 1;
    const tool = tools.get(name);
    if (!tool) return 'FrostAgent错误：工具未找到';
    const limit = tool.timeoutMs ?? this.#options.toolTimeoutMs ?? 0;
    try {
      context.signal.throwIfAborted();
      checkArguments(tool, args);
      const result = await within<unknown>(
        (signal) => tool.execute(args, { ...context, signal, toolCallId: id }),
        limit,
        `The tool ${name} did not answer within ${limit} ms.`,
        context.signal,
      );
      if (tool === sendMessageTool && result === deliveredResult) this.counters.messagesSent += 1;
      if (result === undefined) return '';
      return cutResult(typeof result === 'string' ? result : resultJson(result, name));
    } catch (error) {
      return `FrostAgent错误：工具执行失败: ${errorRecord(error).message}`;
    }
  }
}

/** A result as FrostAgent's text interface gives it. */
export function engineText(result: EngineResult): string {
  if (result.status === 'completed') return result.text ?? '';
  if (result.status === 'max_iterations') {
    return 'FrostAgent错误：达到最大迭代次数，未能得出最终答案';
  }
  if (result.error?.code === 'context_window_exceeded') {
    return 'FrostAgent错误：对话上下文过长，超出模型处理上限。';
  }
  const reason = result.status === 'cancelled' ? 'cancelled' : (result.error?.message ?? '');
  return `FrostAgent错误：LLM调用失败: ${reason}`;
}
