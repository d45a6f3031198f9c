// What an Engine makes of calls and failures, whatever providers and models make of them.
import type { AgentMessage } from '../../../types/agent';
import type { ErrorCode } from '../../../types/errors';
import { checkSignal } from '../../abort';
import { MillraceError } from '../../errors';
import { checkNames } from '../../known-names';
import { shown } from '../../shown';
import { messageOf } from '../../thrown';
import { engineAnswer } from '../../tool/engine-answer';
import { errorRecord } from '../../serialize';
import { refusalWords } from './provider';
import type { ChatResponse, EngineResult, EngineRunOptions, EngineTool } from './types';
import { sendMessageTool, staySilentTool } from './tools';

/** The arguments of a call; throws when they are no object of the schema. FrostAgent's own tools check theirs. */
export function readArguments(
  { name, parameters }: EngineTool,
  text: string,
): Record<string, unknown> {
  const isOwn = name === sendMessageTool.name || name === staySilentTool.name;
  let value: unknown;
  try {
    value = JSON.parse(text.trim() || '{}');
  } catch (error) {
    if (isOwn) throw new Error(`${name} 参数不是合法 JSON: ${messageOf(error)}`);
    rejectArguments(`they are not valid JSON: ${messageOf(error)}`);
  }
  if (isOwn) return value as Record<string, unknown>;
  const wrong = engineAnswer<string>('checkSchema', { schema: parameters ?? {}, value });
  if (wrong !== '') rejectArguments(wrong);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    rejectArguments('they must be a JSON object.');
  }
  return value as Record<string, unknown>;
}

function rejectArguments(why: string): never {
  throw new MillraceError('invalid_argument', `Invalid arguments: ${why}`);
}

// The engine passes over calls without a function: they can be neither run nor answered.
function isCall(call: unknown): boolean {
  const { function: called } = (call ?? {}) as { function?: unknown };
  return typeof called === 'object' && called !== null;
}

/** Throws for a message without content: it would end the run as one that was answered. */
export function checkAnswer(message: AgentMessage): void {
  const {
    content,
    refusal,
    tool_calls: made,
  } = message as {
    content?: unknown;
    refusal?: unknown;
    tool_calls?: unknown;
  };
  const isText = typeof content === 'string' || Array.isArray(content);
  if (!isText && (content ?? undefined) !== undefined) {
    throw new MillraceError(
      'provider_error',
      `The \`content\` of the provider's answer must be a string or a list of parts, not ${shown(content)}.`,
    );
  }
  const calls: unknown[] = Array.isArray(made) ? made : [];
  // An empty answer has the member all the same.
  const isNothing = content !== undefined && calls.length === 0;
  const hasContent = content || typeof refusal === 'string' || calls.some(isCall);
  if (hasContent || isNothing) return;
  throw new MillraceError(
    'provider_error',
    'The answer of the provider has neither a text nor a valid tool call.',
  );
}

/** Throws when a prompt is no text. */
export function checkPrompt(prompt: unknown): void {
  if (typeof prompt === 'string') return;
  throw new MillraceError('invalid_argument', `A prompt must be a string, not ${shown(prompt)}.`);
}

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

// An assistant may have nothing but its calls.
function isMessage(row: unknown): boolean {
  const { role, content } = (row ?? {}) as { role?: string; content?: unknown };
  if (!roles.includes(role ?? '')) return false;
  return role === 'assistant' || typeof content === 'string' || Array.isArray(content);
}

const ofRun = ['signal', 'onMessage', 'onRetry'];

/** What a run was given; throws for what is none of its options. */
export function runOptions(given: unknown): EngineRunOptions {
  if (given === undefined || given === null) return {};
  if (typeof given !== 'object') {
    throw new MillraceError(
      'invalid_option',
      `The options of a run must be an object, not ${shown(given)}.`,
    );
  }
  checkNames('A run', given, ofRun, { abortSignal: 'signal', sendHook: 'onMessage' });
  const { signal, onMessage, onRetry } = given as EngineRunOptions;
  checkSignal('A run', signal);
  for (const [name, hook] of Object.entries({ onMessage, onRetry })) {
    if (!hook || typeof hook === 'function') continue;
    throw new MillraceError(
      'invalid_option',
      `\`${name}\` must be a function, not ${shown(hook)}.`,
    );
  }
  return {
    ...(signal && { signal }),
    ...(onMessage && { onMessage }),
    ...(onRetry && { onRetry }),
  };
}

/** Throws for what is no conversation, and for one that asks nothing. */
export function checkConversation(messages: unknown, systemPrompt: string): void {
  if (!Array.isArray(messages)) {
    throw new MillraceError(
      'invalid_messages',
      `runMessages() takes a list of messages, not ${shown(messages)}; run() takes a text.`,
    );
  }
  const wrong = messages.findIndex((row: unknown) => !isMessage(row));
  if (wrong >= 0) {
    throw new MillraceError(
      'invalid_messages',
      `messages[${wrong}] is not a message: it needs a role (${roles.join(', ')}) and content.`,
    );
  }
  // FrostAgent lets a model speak to its system prompt alone.
  if (messages.length > 0 || systemPrompt !== '') return;
  throw new MillraceError(
    'invalid_messages',
    'The list of messages is empty and there is no system prompt; give one of them.',
  );
}

/** A message whose content is its refusal. */
export function spoken(message: AgentMessage): AgentMessage {
  const { refusal, ...received } = message as AgentMessage & { refusal?: unknown };
  const content: unknown = received.content ?? '';
  if (typeof refusal !== 'string' || typeof content !== 'string') return message;
  return { ...received, content: content + refusal };
}

/** Whether a provider did not report what its answer cost. */
export function unreported({ usage }: ChatResponse): boolean {
  const { prompt_tokens, completion_tokens, total_tokens } = usage ?? {};
  return ![prompt_tokens, completion_tokens, total_tokens].some(
    (count) => Number.isFinite(count) && Number(count) >= 0,
  );
}

/** What a failed call of the model ends the run with. */
export function failure(
  error: unknown,
  signal: AbortSignal | undefined,
  rest: Pick<EngineResult, 'usage' | 'messages'>,
): EngineResult {
  if (signal?.aborted) return { status: 'cancelled', ...rest };
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

// The engine's error for a conversation that it does not send.
const notSent = /^The conversation has about \d+ tokens;/;
const returned = (message: string): string =>
  notSent.test(message) ? message : `API returned error: ${message}`;

// Its error for a body that is JSON without an answer.
const isOtherJson = /^The body is JSON,/;

// FrostAgent's words for answers with status 200 that hold none. All but the last two are what a provider's
// error is known as.
const wordsOf: Partial<Record<ErrorCode, (message: string) => string>> = {
  provider_error: returned,
  provider_bad_request: returned,
  authentication_failed: returned,
  permission_denied: returned,
  model_not_found: returned,
  rate_limited: returned,
  insufficient_quota: returned,
  account_deactivated: returned,
  location_not_supported: returned,
  no_available_channel: returned,
  context_window_exceeded: returned,
  tool_limit_exceeded: returned,
  provider_overloaded: returned,
  stream_truncated: () => 'no choices in response',
  not_a_stream: (message) =>
    isOtherJson.test(message)
      ? 'no choices in response'
      : 'The answer of the provider is not JSON.',
};

/** How a call of the upstream failed that the engine made itself, in FrostAgent's words. */
export function upstreamError(error: unknown): unknown {
  if (!MillraceError.is(error)) return error;
  const { code, status = 200, retryable, detail, message } = error;
  const rejected = status >= 400;
  const words = rejected ? refusalWords(status, detail ?? message) : wordsOf[code]?.(message);
  return words === undefined ? error : new MillraceError(code, words, { status, retryable });
}
