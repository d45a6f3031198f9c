// Engine: FrostAgent's loop of model calls and tools, with typed results instead of texts. The loop is the
// C++ engine's; providers and tools of the user's run here.
import type { AgentMessage } from '../../../types/agent';
import type { ChatMessage } from '../../../types/model';
import { throwIfAborted } from '../../abort';
import { MillraceError } from '../../errors';
import type { ToolRequest } from '../host-calls';
import { errorRecord, toJson } from '../../serialize';
import { resultJson } from '../../tool/tool-result';
import type { HostTool } from '../../tool/types';
import {
  checkAnswer,
  checkConversation,
  checkPrompt,
  failure,
  readArguments,
  runOptions,
  spoken,
  unreported,
  upstreamError,
} from './answers';
import { Dispatcher } from './dispatcher';
import {
  answerTo,
  chainOf,
  engineOptions,
  engineTool,
  engineTools,
  environment,
  present,
  providerOf,
} from './options';
import { calledName, definition, planOf } from './plan';
import { runRounds } from './run';
import { sessionStore } from './session-store';
import { checkSession, SessionManager, type TurnEnd } from './sessions';
import { cutResult, deliveredResult, sendMessageTool, staySilentTool } from './tools';
import type {
  ChatProvider,
  ChatResponse,
  EngineCounters,
  EngineOptions,
  EngineResult,
  EngineRunContext,
  EngineRunOptions,
  EngineTool,
  EngineUsage,
} from './types';

let runs = 0;
const nothing: EngineUsage = { prompt: 0, completion: 0, total: 0 };

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

  constructor(given: EngineOptions = {}) {
    const options = engineOptions(given);
    this.maxIterations = options.maxIterations ?? 5;
    this.#options = options;
    this.baseURL = options.baseURL ?? '';
    this.model = options.model ?? '';
    this.systemPrompt = options.systemPrompt ?? '';
    this.version = options.version ?? '0.1.0';
    this.sessionManager = options.sessionManager ?? new SessionManager();
    const { runtime, name } = options;
    if (runtime && name) this.sessionManager.useStore(sessionStore(runtime, name));
    this.dispatcher = options.dispatcher ?? new Dispatcher();
    this.startedAt = options.startedAt ?? new Date();
    this.provider = providerOf(options);
    for (const given of [options.toolRegistry, options.tools]) {
      for (const tool of engineTools(given)) this.#tools.set(tool.name, tool);
    }
  }

  /** An engine of UPSTREAM_ENDPOINT, UPSTREAM_API_KEY, MODEL_NAME, SYSTEM_PROMPT and MAX_CONTEXT_MESSAGES. */
  static fromEnv(options: EngineOptions = {}): Engine {
    return new Engine({ ...environment(), ...present(options) });
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
    return this.#loop(() => {
      checkPrompt(prompt);
      return [
        { role: 'system', content: this.systemPrompt },
        { role: 'user', content: prompt },
      ];
    }, options);
  }

  /** Answers a conversation; the system prompt is put in front unless there is one. */
  runMessages(messages: AgentMessage[], options: EngineRunOptions = {}): Promise<EngineResult> {
    return this.#loop(() => {
      checkConversation(messages, this.systemPrompt);
      return this.#withSystem(messages);
    }, options);
  }

  /**
   * Answers in a session; prompts of one session are answered in order. What the tools and the model of a
   * prompt gave before it failed or was cancelled is stored as well, so that the next one need not repeat
   * it; listSessions() reports such a turn. One that gave nothing leaves the history as it was.
   */
  async runWithSession(
    sessionId: string,
    prompt: string,
    options: EngineRunOptions = {},
  ): Promise<EngineResult> {
    let sentMessages = (): AgentMessage[] => [];
    let signal: AbortSignal | undefined;
    const turn = async (history: AgentMessage[]): Promise<TurnEnd<EngineResult>> => {
      let given = 0;
      const begin = (): AgentMessage[] => {
        const messages = this.sessionManager.trim(this.#history(history, prompt));
        given = messages.length;
        return messages;
      };
      return turnEnd(await this.#loop(begin, options, sessionId), given);
    };
    try {
      checkSession(sessionId);
      checkPrompt(prompt);
      signal = runOptions(options).signal;
      sentMessages = () => this.#history(this.sessionManager.snapshot(sessionId), prompt);
      return await this.sessionManager.run(sessionId, turn, signal);
    } catch (error) {
      // It cannot be asked, could not wait for its turn, or was cancelled while it waited.
      return failure(error, signal, { usage: { ...nothing }, messages: sentMessages() });
    }
  }

  #history(history: AgentMessage[], prompt: string): AgentMessage[] {
    return this.#withSystem([...history, { role: 'user', content: prompt }]);
  }

  #withSystem(messages: AgentMessage[]): AgentMessage[] {
    if (messages[0]?.role === 'system') return [...messages];
    return [{ role: 'system', content: this.systemPrompt }, ...messages];
  }

  async #loop(
    begin: () => AgentMessage[],
    options: EngineRunOptions,
    sessionId?: string,
  ): Promise<EngineResult> {
    this.counters.runs += 1;
    let start: AgentMessage[] = [];
    let signal: AbortSignal | undefined;
    let over = false;
    try {
      const { onMessage, onRetry, ...given } = runOptions(options);
      signal = given.signal ?? new AbortController().signal;
      start = begin();
      throwIfAborted(signal);
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
      return await this.#rounds(start, context, onRetry);
    } catch (error) {
      return failure(error, signal, { usage: { ...nothing }, messages: [...start] });
    } finally {
      over = true;
    }
  }

  async #rounds(
    start: AgentMessage[],
    context: EngineRunContext,
    onRetry: EngineRunOptions['onRetry'],
  ): Promise<EngineResult> {
    const { signal } = context;
    const tools = this.toolRegistry;
    const called = new Map([...tools.values()].map((tool) => [calledName(tool), tool]));
    const definitions = [...tools.values()].map(definition);
    const chain = chainOf(this.provider, this.model);
    let executed = 0;
    let reported = true;
    const end = await runRounds({
      planJson: toJson(planOf(tools.values(), this.#options, chain), 'engine'),
      messages: start,
      signal,
      onRound: () => (this.counters.iterations += 1),
      onRetry,
      ask: async (messages, inner) => {
        const answer = await this.#callModel(messages, definitions, inner);
        reported &&= !unreported(answer);
        return answer;
      },
      call: (question, inner) => {
        executed += 1;
        this.counters.toolCalls += 1;
        return this.#call(question, called, { ...context, signal: inner });
      },
    });
    const { tokens, source: doubt } = end.usage.llm;
    const source = reported ? doubt : 'unknown';
    const usage: EngineUsage = {
      prompt: tokens.input,
      completion: tokens.output,
      total: tokens.total,
      ...(source !== undefined && { source }),
    };
    // Calls of no tool and with arguments that no tool takes are calls as well.
    this.counters.toolCalls += Math.max(0, end.usage.tools.totalCalls - executed);
    const { notes, answers, answersLeftOut } = end;
    const rest = {
      usage,
      messages: [...start, ...end.messages],
      ...(notes && { notes }),
      ...(answers && { answers }),
      ...(answersLeftOut !== undefined && { answersLeftOut }),
    };
    if (end.status === 'cancelled') return { status: 'cancelled', ...rest };
    if (end.status === 'error') {
      const isOurs = this.#options.provider === undefined;
      const failed = failure(isOurs ? upstreamError(end.error) : end.error, signal, rest);
      const { role, content } = end.messages.at(-1) ?? {};
      const isCut = failed.error?.code === 'output_limit_reached' && role === 'assistant';
      return isCut && typeof content === 'string' ? { ...failed, text: content } : failed;
    }
    if (end.reason === 'max_iterations') return { status: 'max_iterations', ...rest };
    if (end.reason === 'tool_call_repeat_limit')
      return { status: 'error', error: repeated(end.text), ...rest };
    if (end.reason === 'silent') return { status: 'completed', text: '', silent: true, ...rest };
    return { status: 'completed', text: end.text, ...rest };
  }

  async #callModel(
    messages: AgentMessage[],
    tools: object[],
    signal: AbortSignal,
  ): Promise<ChatResponse> {
    const { maxTokens, temperature, toolChoice } = this.#options;
    const answer = await answerTo(
      this.provider,
      {
        model: this.model,
        messages: messages as ChatMessage[],
        ...(tools.length > 0 && { tools }),
        ...(toolChoice !== undefined && { tool_choice: toolChoice }),
        ...(maxTokens !== undefined && { max_tokens: maxTokens }),
        ...(temperature !== undefined && { temperature }),
      },
      { signal },
    );
    if (!answer?.message) throw new MillraceError('provider_error', 'no choices in response');
    checkAnswer(answer.message);
    return { message: spoken(answer.message), ...(answer.usage && { usage: answer.usage }) };
  }

  async #call(
    { name, toolCallId, arguments: args }: ToolRequest,
    tools: ReadonlyMap<string, EngineTool>,
    context: EngineRunContext,
  ): Promise<object> {
    try {
      const tool = tools.get(name);
      if (!tool) throw new MillraceError('tool_not_found', `There is no tool called ${name}.`);
      const input = readArguments(tool, args);
      const result: unknown = await tool.execute(input, { ...context, toolCallId });
      if (tool === sendMessageTool && result === deliveredResult) this.counters.messagesSent += 1;
      const text = typeof result === 'string' ? result : resultJson(result, name);
      return { content: result === undefined ? '' : cutResult(text) };
    } catch (error) {
      return { content: errorRecord(error).message, isError: true, code: 'tool_failed' };
    }
  }
}

// A conversation that is too long would stay so with each prompt that follows.
function turnEnd(value: EngineResult, given: number): TurnEnd<EngineResult> {
  const { status, messages, error, usage } = value;
  const turn = { at: Date.now(), status, usage };
  if (status === 'completed' || status === 'max_iterations') return { messages, turn, value };
  const isRetained = messages.length > given && error?.code !== 'context_window_exceeded';
  return isRetained ? { messages, unfinished: status, turn, value } : { turn, value };
}

// The engine's own words about the call that the model repeated end the last row.
function repeated(text: string): NonNullable<EngineResult['error']> {
  const message = text.slice(text.lastIndexOf('Stopped: '));
  return { code: 'tool_call_repeat_limit', message, retryable: false };
}

/** A result as FrostAgent's text interface gives it. */
export function engineText(result: EngineResult): string {
  const isCut = result.error?.code === 'output_limit_reached';
  if (result.status === 'completed' || (isCut && result.text)) return result.text ?? '';
  if (result.status === 'max_iterations') {
    return 'FrostAgent错误：达到最大迭代次数，未能得出最终答案';
  }
  if (result.error?.code === 'context_window_exceeded') {
    return 'FrostAgent错误：对话上下文过长，超出模型处理上限。';
  }
  if (result.error?.code === 'tool_call_repeat_limit')
    return `FrostAgent错误：${result.error.message}`;
  const reason = result.status === 'cancelled' ? 'cancelled' : (result.error?.message ?? '');
  return `FrostAgent错误：LLM调用失败: ${reason}`;
}
