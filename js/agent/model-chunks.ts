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
import { AnswerText } from '../model/answer-text';
import { engineAnswer } from '../tool/engine-answer';
import { isRecord } from '../value-checks';
import { withContexts } from './additional-contexts';

// Members of a row that a provider reads; the others are the host's.
const sent = ['role', 'content', 'name', 'tool_calls', 'tool_call_id', 'reasoning'] as const;
// Media and files of a row that a provider reads as parts.
const lists = ['imageList', 'videoList', 'audioList', 'fileList'] as const;
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

// What a row of LobeHub has beside its text, as parts of its content.
function withParts(message: AgentMessage): AgentMessage {
  const isListed = lists.some((member) => {
    const list = message[member];
    return Array.isArray(list) && list.length > 0;
  });
  const isStored = [message.metadata, message.reasoning].some(
    (holder) => isRecord(holder) && holder['isMultimodal'] === true,
  );
  if (!isListed && !isStored) return message;
  return engineAnswer<AgentMessage>('listedParts', { row: message });
}

function rowOf(given: AgentMessage): object {
  const message = withParts(given);
  return Object.fromEntries(
    sent.flatMap((member) => (message[member] === undefined ? [] : [[member, message[member]]])),
  );
}

function requestOf(payload: Record<string, unknown>): never {
  const retained = Object.entries(payload).filter(([name]) => !own.has(name));
  const rows = (payload['messages'] as AgentMessage[]).map(rowOf);
  const messages = withContexts(rows, payload['additionalContexts']);
  return { ...Object.fromEntries(retained), messages } as never;
}

// What an answer holds beside its text and reasoning, which the next request has to bring back.
function restOf(answer: AnswerText): ModelChunk {
  const { reasoning, openCalls, grounding, images } = answer;
  return {
    tool_calls: openCalls as OpenAIToolCall[],
    ...(reasoning === undefined ? {} : { reasoning }),
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

// What a call reports of its failed attempts: another one begins, and what was shown is void.
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
