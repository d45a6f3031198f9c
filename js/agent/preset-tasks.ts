// Small tasks of a chat application outside of an agent's loop: titles, tags, translations, answers from
// a search. One model call each, one more when the answer breaks its rule.
import type { ChatFinishContext, ChatMessageError, ChatStreamChunk } from '../../types/chat-stream';
import type { ChatMessage, ChatStreamPayload } from '../../types/model';
import { MillraceError } from '../errors';
import { fetchSSE } from '../model/fetch-sse';
import { ModelRuntime } from '../model/runtime';
import { callback, checkArgument, checkMember, text as aString } from '../value-checks';
import { engineAnswer } from '../tool/engine-answer';
import type { BuiltinToolResult, Citation } from '../tool/builtin-tools';
import type { PresetTask, PresetTaskInput, PresetTaskName } from './preset-prompts';
import { presetTasks, supportedLocales } from './preset-prompts';

type Params = Partial<ChatStreamPayload> & {
  messages: ChatStreamPayload['messages'];
  /** The model where neither `runtime` nor `url` names one. */
  provider?: string;
  /** LobeHub's, of no meaning to a call without tools. */
  plugins?: readonly string[];
};

/** What answers chats: a model runtime of `createModelRuntime`, or the like. */
export interface ChatSource {
  chat(
    payload: ChatStreamPayload,
    options: { protocol: 'lobe'; signal: AbortSignal; metadata?: unknown },
  ): Promise<Response>;
}

interface PresetTaskSource {
  /** Answers the request; or `url` names LobeHub's chat route. `params.provider` when both are absent. */
  runtime?: ChatSource;
  url?: string;
  abortController?: AbortController | undefined;
  /** Handed to the runtime as metadata, or to the route as its trace header. */
  trace?: Record<string, unknown>;
}

export interface FetchPresetTaskOptions extends PresetTaskSource {
  /** Members of the chat payload. */
  params: Params;
  onLoadingChange?: (loading: boolean) => void;
  onMessageHandle?: (chunk: ChatStreamChunk) => void;
  onFinish?: (text: string, context: ChatFinishContext) => void | Promise<void>;
  /** Not called for a call that was aborted. */
  onError?: (error: Error, raw: ChatMessageError) => void;
}

/**
 * Asks a model once, outside of any agent. Resolves when the answer has ended, whatever it was;
 * rejects for wrong options and with what a callback throws.
 */
export async function fetchPresetTaskResult(options: FetchPresetTaskOptions): Promise<void> {
  const { url, trace } = options;
  const { provider, plugins: _plugins, ...params } = options.params;
  const runtime = sourceOf(options, provider);
  const abort = options.abortController ?? new AbortController();
  options.onLoadingChange?.(true);
  try {
    const payload = { ...params, ...lightContext(params) } as ChatStreamPayload;
    const metadata = trace === undefined ? {} : { metadata: trace };
    await fetchSSE(url ?? 'preset:task', {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(trace && { 'X-lobe-trace': Buffer.from(JSON.stringify(trace)).toString('base64') }),
      },
      body: JSON.stringify(payload),
      signal: abort.signal,
      responseAnimation: 'none',
      requestContext: { model: payload.model },
      ...(runtime && {
        fetcher: () =>
          runtime.chat(payload, { protocol: 'lobe', signal: abort.signal, ...metadata }),
      }),
      onMessageHandle: options.onMessageHandle,
      onErrorHandle: (raw) => {
        if (!abort.signal.aborted) options.onError?.(new Error(raw.message, { cause: raw }), raw);
      },
      onAbort: () => undefined,
      onFinish: options.onFinish,
    });
  } finally {
    options.onLoadingChange?.(false);
  }
}

// Undefined: the route at `url` answers.
function sourceOf(
  { runtime, url }: PresetTaskSource,
  provider: string | undefined,
): ChatSource | undefined {
  if (runtime !== undefined && url !== undefined) {
    throw new MillraceError('invalid_option', 'fetchPresetTaskResult: give either runtime or url.');
  }
  if (runtime ?? url) return runtime;
  if (provider) return new ModelRuntime(provider, { temperatureScale: 'lobe' });
  throw new MillraceError(
    'invalid_option',
    'fetchPresetTaskResult needs a model: give runtime, url, or params.provider.',
  );
}

// The conversation as providers take it: no configuration, no tools.
function lightContext({ messages }: Params): { messages: ChatStreamPayload['messages'] } {
  type Built = { payload: { messages: ChatStreamPayload['messages'] } };
  return { messages: engineAnswer<Built>('buildContext', { messages }).payload.messages };
}

export interface PresetTaskOptions<Name extends PresetTaskName = PresetTaskName>
  extends PresetTaskSource, Pick<FetchPresetTaskOptions, 'onLoadingChange' | 'onMessageHandle'> {
  task: Name;
  input: PresetTaskInput;
  /** Members of the chat payload besides the messages: model, temperature. */
  params?: Partial<Params>;
  /** Those that `langDetect` may answer with; `supportedLocales` when absent. */
  locales?: readonly string[];
}

/**
 * Runs one of the preset tasks and reads its answer. An answer that breaks the task's rule is asked
 * for once more; after that the value stays as it was: `input.previous`, or undefined. Rejects with
 * the provider's error, and with the signal's reason.
 */
export async function runPresetTask(options: PresetTaskOptions): Promise<string | undefined> {
  checkArgument('runPresetTask()', options);
  const task: PresetTask = presetTasks[options.task];
  if ((task as PresetTask | undefined) === undefined) {
    throw new MillraceError(
      'invalid_option',
      `There is no preset task '${options.task}'; use one of ${Object.keys(presetTasks).join(', ')}.`,
    );
  }
  checkArgument('runPresetTask()', options.input, 'input');
  const locales = options.locales ?? supportedLocales;
  const messages: ChatMessage[] = [
    { role: 'system', content: task.system },
    { role: 'user', content: task.user(options.input) },
  ];
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const answer = await answerTo(options, task, messages);
    const value = task.parse(withoutReasoning(answer), locales);
    if (value !== undefined) return value;
    messages.push(
      { role: 'assistant', content: answer || '(no answer)' },
      { role: 'user', content: `That is not what was asked for. ${task.rule}` },
    );
  }
  return options.input.previous;
}

async function answerTo(
  options: PresetTaskOptions,
  { temperature }: PresetTask,
  messages: ChatMessage[],
): Promise<string> {
  const { runtime, url, trace, onLoadingChange, onMessageHandle } = options;
  const abortController = options.abortController ?? new AbortController();
  let answer = '';
  let failure: Error | undefined;
  await fetchPresetTaskResult({
    ...(runtime && { runtime }),
    ...(url !== undefined && { url }),
    ...(trace && { trace }),
    ...(onLoadingChange && { onLoadingChange }),
    ...(onMessageHandle && { onMessageHandle }),
    abortController,
    params: { ...(temperature !== undefined && { temperature }), ...options.params, messages },
    onFinish: (text) => {
      answer = text;
    },
    onError: (error) => {
      failure = error;
    },
  });
  abortController.signal.throwIfAborted();
  if (failure) throw failure;
  return answer;
}

// Models that think aloud do so in front of their answer.
function withoutReasoning(answer: string): string {
  return answer.replace(/^\s*<think>[\s\S]*?<\/think>/, '');
}

export interface SearchFallbackOptions extends PresetTaskSource {
  question: string;
  /** The conversation before the question. */
  messages?: PresetTaskInput['messages'];
  locale?: string;
  params?: Partial<Params>;
  /** Answers a query: results, or what the builtin tool `web_search` gives. */
  search: (
    query: string,
    context: { signal: AbortSignal },
  ) => Promise<Citation[] | Pick<BuiltinToolResult, 'citations' | 'content' | 'success'>>;
  onMessageHandle?: (chunk: ChatStreamChunk) => void;
}

export interface SearchFallbackResult {
  text: string;
  query: string;
  citations: Citation[];
}

/**
 * For models without tools: rewrites the question as a query, searches, and has the model answer from
 * what was found.
 */
export async function answerWithSearch(
  options: SearchFallbackOptions,
): Promise<SearchFallbackResult> {
  checkArgument('answerWithSearch()', options);
  checkMember('answerWithSearch()', 'question', options.question, aString);
  checkMember('answerWithSearch()', 'search', options.search, callback);
  const { question, messages = [], search, onMessageHandle, locale, ...requesting } = options;
  const abortController = requesting.abortController ?? new AbortController();
  const common = { ...requesting, abortController };
  const language = locale === undefined ? {} : { locale };
  const query =
    (await runPresetTask({
      ...common,
      task: 'rewriteQuery',
      input: { text: question, messages, ...language },
    })) ?? question;
  const found = await search(query, { signal: abortController.signal });
  abortController.signal.throwIfAborted();
  const citations = Array.isArray(found) ? found : (found.citations ?? []);
  const passages = citations.map(({ title, url, snippet = '' }) => ({
    title,
    url,
    content: snippet,
  }));
  const text = await runPresetTask({
    ...common,
    ...(onMessageHandle && { onMessageHandle }),
    task: 'answerWithContext',
    input: { text: question, passages, ...language },
  });
  return { text: text ?? '', query, citations };
}
