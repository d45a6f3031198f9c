// What is the model of an AgentRuntime as the chunks that a step reads: a ModelRuntime, or a function.
import type {
  AgentMessage,
  AgentStreamingRuntime,
  ModelChunk,
  OpenAIToolCall,
  TurnReports,
} from '../../types/agent';
import type { ErrorCode } from '../../types/errors';
import type { AGUIEvent } from '../../types/events';
import type { CallReport } from '../../types/model';
import { errorTypes } from '../error-types';
import { MillraceError } from '../errors';
import { AnswerText } from '../model/answer-text';
import { type Wait, waitByTimer } from './retries';

// Members of a row that a provider reads; the others are the host's.
const sent = ['role', 'content', 'name', 'tool_calls', 'tool_call_id', 'reasoning'] as const;
// Members of an instruction's payload that are the loop's.
const own = new Set([
  'provider',
  'parentMessageId',
  'assistantMessageId',
  'createAssistantMessage',
  'isFirstMessage',
  'message',
  'allowedToolNames',
  'additionalContexts',
  'purpose',
]);

function rowOf(message: AgentMessage): object {
  return Object.fromEntries(
    sent.flatMap((member) => (message[member] === undefined ? [] : [[member, message[member]]])),
  );
}

function requestOf(payload: Record<string, unknown>): never {
  const retained = Object.entries(payload).filter(([name]) => !own.has(name));
  const messages = (payload['messages'] as AgentMessage[]).map(rowOf);
  return { ...Object.fromEntries(retained), messages } as never;
}

// What an answer holds beside its text and thoughts, which the next request has to bring back.
function restOf(answer: AnswerText): ModelChunk {
  const { thinking, signature, responseItems, openCalls, grounding, images } = answer;
  const reasoning = {
    ...(thinking === '' ? {} : { content: thinking }),
    ...(signature === undefined ? {} : { signature }),
    ...(responseItems.length === 0 ? {} : { responseItems }),
  };
  return {
    tool_calls: openCalls as OpenAIToolCall[],
    ...(Object.keys(reasoning).length === 0 ? {} : { reasoning }),
    ...(grounding ? { grounding } : {}),
    ...(images.length === 0 ? {} : { images }),
  };
}

// What the state of the run has of the call's report.
function turnReport(report: CallReport): TurnReports {
  const { provider, model, finishReason, response, incomplete, alternatives, notes } = report;
  const answer = {
    provider,
    model,
    ...(finishReason && { finishReason }),
    ...(response && { response }),
    ...(incomplete && { incomplete }),
    ...(alternatives && { alternatives }),
  };
  return { ...(notes.length > 0 && { notes }), answers: [answer] };
}

// What a call tells of its failed attempts: another one begins, and what was shown is void.
function ofAttempt(event: AGUIEvent, answer: AnswerText): ModelChunk | undefined {
  if (event.type !== 'CUSTOM') return undefined;
  if (event.name === 'millrace.reset') return { reset: true, content: answer.text };
  if (event.name !== 'millrace.retry') return undefined;
  const { attempt, waitMs, code } = event.value as Record<string, number | string>;
  const errorType = errorTypes[code as ErrorCode] ?? code;
  return { retry: { attempt, delayMs: waitMs, errorType, kind: 'retry' } };
}

/** Asks the runtime; an answer that fails throws its error. */
export async function* chunksOf(
  runtime: AgentStreamingRuntime,
  payload: Record<string, unknown>,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk> {
  const run = runtime.stream(requestOf(payload), { signal });
  const answer = new AnswerText();
  for await (const event of run) {
    answer.add(event);
    if (answer.tooLarge) throw answer.tooLarge;
    if (event.type === 'TEXT_MESSAGE_CONTENT') yield { content: event.delta };
    else if (event.type === 'REASONING_MESSAGE_CONTENT') yield { reasoning: event.delta };
    const reported = ofAttempt(event, answer);
    if (reported) yield reported;
  }
  await run.text();
  const report = await run.report;
  const { usage, finishReason } = report;
  yield {
    ...restOf(answer),
    usage,
    ...(finishReason && { finishReason }),
    report: turnReport(report),
  };
}

const defaultRetries = 5;
const firstPauseMs = 1000;
const longestPauseMs = 30_000;

// LobeHub's classes of failures that pass; the first has two names.
const passing = new Set([
  ...['RateLimitExceeded', 'QuotaLimitReached'],
  ...['ProviderServiceUnavailable', 'ProviderNetworkError'],
]);

// The class of a failure that passes. The package's own runtimes have tried again themselves.
function passingType(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || MillraceError.is(error)) return undefined;
  const { errorType, type, retryable } = error as Record<string, unknown>;
  const name = [errorType, type].find((one) => typeof one === 'string');
  if (retryable === true) return name ?? 'ProviderBizError';
  return name !== undefined && passing.has(name) ? name : undefined;
}

/** The chunks of a function; one that fails in passing before it gave any is called again. */
export async function* retriedChunks(
  engineAnswer: () => AsyncIterable<ModelChunk>,
  {
    retries = defaultRetries,
    wait = waitByTimer,
    signal,
  }: { retries?: number | undefined; wait?: Wait | undefined; signal: AbortSignal },
): AsyncGenerator<ModelChunk> {
  for (let attempt = 1; ; attempt += 1) {
    let began = false;
    try {
      for await (const chunk of engineAnswer()) {
        began = true;
        yield chunk;
      }
      return;
    } catch (error) {
      const errorType = passingType(error);
      if (errorType === undefined || began || signal.aborted || attempt > retries) throw error;
      const delayMs = Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs);
      yield { retry: { attempt, delayMs, errorType, kind: 'retry', maxAttempts: retries + 1 } };
      await wait(delayMs, { signal });
      if (signal.aborted) throw error;
    }
  }
}
