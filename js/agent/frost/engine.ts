// Engine: FrostAgent's loop of model calls and tools, with typed results instead of texts.
import type { AgentMessage, OpenAIToolCall } from '../../../types/agent';
import { MillraceError } from '../../errors';
import { errorRecord } from '../serialize';
import { Dispatcher } from './dispatcher';
import { chatCompletionsProvider } from './provider';
import { SessionManager } from './sessions';
import {
  type MessageHook,
  cutResult,
  sendMessageTool,
  silentResult,
  staySilentTool,
} from './tools';

/** A tool of an Engine. `execute` gets JSON text and gives what the model reads. */
export interface EngineTool {
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  parameters: object;
  execute(args: string, context: EngineRunContext): Promise<string> | string;
}

/** What a tool learns of its run. */
export interface EngineRunContext {
  runId: string;
  sessionId?: string;
  signal: AbortSignal;
  onMessage?: MessageHook;
}

export interface EngineUsage {
  prompt: number;
  completion: number;
  total: number;
}

export interface ChatRequest {
  model: string;
  messages: AgentMessage[];
  tools?: object[];
  tool_choice?: unknown;
  max_tokens?: number;
  temperature?: number;
}

export interface ChatResponse {
  message: AgentMessage;
  usage?: { prompt_tokens?: number; completion_tokens?: number; total_tokens?: number };
}

/** Who answers chats. */
export interface ChatProvider {
  chat(request: ChatRequest, options: { signal: AbortSignal }): Promise<ChatResponse>;
}

export interface EngineOptions {
  /** Rounds of a model call and its tools; 5 when absent. */
  maxIterations?: number;
  tools?: EngineTool[];
  provider?: ChatProvider;
  baseURL?: string;
  apiKey?: string;
  model?: string;
  systemPrompt?: string;
  sessionManager?: SessionManager;
  dispatcher?: Dispatcher;
  version?: string;
  maxTokens?: number;
  temperature?: number;
  toolChoice?: unknown;
  /** Runs the calls of one turn side by side; one after the other when absent. */
  parallelTools?: boolean;
}

export interface EngineRunOptions {
  signal?: AbortSignal;
  /** Takes over what send_message says; the model is told what became of it. */
  onMessage?: MessageHook;
}

export interface EngineResult {
  status: 'completed' | 'max_iterations' | 'error' | 'cancelled';
  text?: string;
  error?: { code: string; message: string; retryable: boolean };
  usage: EngineUsage;
  /** True when the model chose to say nothing. */
  silent?: boolean;
  /** The whole conversation of this run. */
  messages: AgentMessage[];
}

/** Counters that mean what their names say. */
export interface EngineCounters {
  runs: number;
  iterations: number;
  toolCalls: number;
  messagesSent: number;
}

let runs = 0;

/** Answers prompts with a model and tools. */
export class Engine {
  readonly maxIterations: number;
  readonly sessionManager: SessionManager;
  readonly dispatcher: Dispatcher;
  readonly startedAt: Date = new Date();
  readonly version: string;
  readonly baseURL: string;
  readonly model: string;
  readonly counters: EngineCounters = { runs: 0, iterations: 0, toolCalls: 0, messagesSent: 0 };
  systemPrompt: string;
  readonly #options: EngineOptions;
  readonly #provider: ChatProvider;
  readonly #tools = new Map<string, EngineTool>();

  constructor(options: EngineOptions = {}) {
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
    this.#provider = options.provider ?? chatCompletionsProvider(this.baseURL, options.apiKey);
    for (const tool of options.tools ?? []) this.registerTool(tool);
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

  /** Model calls so far; the name is FrostAgent's. */
  get totalMessagesProcessed(): number {
    return this.counters.iterations;
  }

  /** Adds a tool for runs that begin later. */
  registerTool(tool: EngineTool): void {
    this.#tools.set(tool.name, tool);
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

  /** Answers in a session; prompts of one session are answered in order. */
  runWithSession(
    sessionId: string,
    prompt: string,
    options: EngineRunOptions = {},
  ): Promise<EngineResult> {
    return this.sessionManager.run(sessionId, async (history) => {
      const messages = this.#withSystem([...history, { role: 'user', content: prompt }]);
      const value = await this.#loop(this.sessionManager.trim(messages), options, sessionId);
      const kept = value.status === 'completed' || value.status === 'max_iterations';
      return kept ? { messages: value.messages, value } : { value };
    });
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
    const context: EngineRunContext = {
      runId: `run-${++runs}`,
      signal,
      ...(sessionId !== undefined && { sessionId }),
      ...(onMessage && { onMessage }),
    };
    const tools = new Map([...this.#tools].sort(([a], [b]) => (a < b ? -1 : 1)));
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
    tools: Map<string, EngineTool>,
    usage: EngineUsage,
    signal: AbortSignal,
  ): Promise<AgentMessage> {
    this.counters.iterations += 1;
    const { maxTokens, temperature, toolChoice } = this.#options;
    const { message, usage: reported } = await raced(
      this.#provider.chat(
        {
          model: this.model,
          messages: [...messages],
          ...(tools.size > 0 && { tools: [...tools.values()].map(definition) }),
          ...(toolChoice !== undefined && { tool_choice: toolChoice }),
          ...(maxTokens !== undefined && { max_tokens: maxTokens }),
          ...(temperature !== undefined && { temperature }),
        },
        { signal },
      ),
      signal,
    );
    const prompt = reported?.prompt_tokens ?? 0;
    const completion = reported?.completion_tokens ?? 0;
    usage.prompt += prompt;
    usage.completion += completion;
    usage.total += reported?.total_tokens ?? prompt + completion;
    return { ...message, role: 'assistant', content: message.content ?? '' };
  }

  // Appends one result for each call; true when the model chose silence.
  async #runTools(
    calls: OpenAIToolCall[],
    tools: Map<string, EngineTool>,
    context: EngineRunContext,
    messages: AgentMessage[],
  ): Promise<boolean> {
    const names = calls.map((call) => call.function.name);
    const conflict = calls.length > 1 && names.includes(staySilentTool.name);
    const results: string[] = [];
    if (conflict) {
      calls.forEach(() => results.push('stay_silent 不能与其他工具同时调用，所有工具均未执行'));
    } else if (this.#options.parallelTools) {
      results.push(...(await Promise.all(calls.map((call) => this.#call(call, tools, context)))));
    } else {
      for (const call of calls) results.push(await this.#call(call, tools, context));
    }
    calls.forEach(({ id }, index) => {
      messages.push({ role: 'tool', content: results[index] ?? '', tool_call_id: id });
    });
    return !conflict && names[0] === staySilentTool.name && results[0] === silentResult;
  }

  async #call(
    call: OpenAIToolCall,
    tools: Map<string, EngineTool>,
    context: EngineRunContext,
  ): Promise<string> {
    this.counters.toolCalls += 1;
    const tool = tools.get(call.function.name);
    if (!tool) return 'FrostAgent错误：工具未找到';
    try {
      context.signal.throwIfAborted();
      const work = Promise.resolve(tool.execute(call.function.arguments, context));
      const result = await raced(work, context.signal);
      if (tool === sendMessageTool) this.counters.messagesSent += 1;
      return cutResult(String(result));
    } catch (error) {
      return `FrostAgent错误：工具执行失败: ${errorRecord(error).message}`;
    }
  }
}

function definition({ name, description, parameters }: EngineTool): object {
  return { type: 'function', function: { name, description, parameters } };
}

// The text of an answer, also of one in parts.
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as { text?: unknown }[])
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('');
}

// Lets go of `work` when the run is cancelled.
function raced<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}

function failure(
  error: unknown,
  signal: AbortSignal,
  rest: Pick<EngineResult, 'usage' | 'messages'>,
): EngineResult {
  if (signal.aborted) return { status: 'cancelled', ...rest };
  const known = MillraceError.is(error);
  const { message } = errorRecord(error);
  return {
    status: 'error',
    error: {
      code: known ? error.code : 'provider_error',
      message,
      retryable: known ? error.retryable : false,
    },
    ...rest,
  };
}

/** A result as FrostAgent's text interface gives it. */
export function engineText(result: EngineResult): string {
  if (result.status === 'completed') return result.text ?? '';
  if (result.status === 'max_iterations') {
    return 'FrostAgent错误：达到最大迭代次数，未能得出最终答案';
  }
  const reason = result.status === 'cancelled' ? 'cancelled' : (result.error?.message ?? '');
  return `FrostAgent错误：LLM调用失败: ${reason}`;
}
