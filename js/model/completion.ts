// A whole answer as one chat completion, as OpenAI's API writes it.
import type { AnswerAlternative, RunEvent } from '../../types/events';
import type { CallReport } from '../../types/model';
import { MillraceError } from '../errors';
import { AnswerText, isRefusal } from './answer-text';
import type { CallbackDriver } from './callbacks';
import type { ModelRun } from './run';

// A further answer, of a provider whose messages are those of a completion or lists of parts.
function choiceOf({ index, message = {}, finishReason, logprobs }: AnswerAlternative) {
  const given = message['parts'];
  const parts = Array.isArray(given)
    ? (given as { text?: string; thought?: boolean }[])
    : undefined;
  const text = parts?.map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
  return {
    index,
    message: parts ? { role: 'assistant', content: text } : { role: 'assistant', ...message },
    finish_reason: finishReason ?? 'stop',
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}

// Events that a completion has no member for, though a next request may need them, or a reader.
const customBeside = new Set([
  'millrace.provider_state',
  'millrace.citation',
  'millrace.usage',
  'millrace.partial_image',
]);
// Those with starts of messages have the ids that others of these events name.
const typesBeside = new Set([
  'REASONING_ENCRYPTED_VALUE',
  'TEXT_MESSAGE_START',
  'REASONING_MESSAGE_START',
]);

class EventsBeside {
  // What was left out of the request counts for each attempt.
  readonly #warnings: RunEvent[] = [];
  #events: RunEvent[] = [];

  add(event: RunEvent): void {
    if (event.type === 'CUSTOM') {
      if (event.name === 'millrace.warning') this.#warnings.push(event);
      if (event.name === 'millrace.reset') this.#events = [];
      if (customBeside.has(event.name)) this.#events.push(event);
    } else if (typesBeside.has(event.type) || event.type.startsWith('TOOL_CALL_')) {
      this.#events.push(event);
    }
  }

  // Without the calls that the completion shows.
  members(openCalls: readonly { id: string }[]): { millrace?: { events: RunEvent[] } } {
    const shown = new Set(openCalls.map(({ id }) => id));
    const events = [...this.#warnings, ...this.#events].filter(
      (event) => !('toolCallId' in event) || !shown.has(String(event.toolCallId)),
    );
    return events.length === 0 ? {} : { millrace: { events } };
  }
}

// An answer that failed was paid for: its error has what is known of it, which no log shows.
function withReport(error: unknown, report: CallReport): unknown {
  if (MillraceError.is(error)) Object.defineProperty(error, 'report', { value: report });
  return error;
}

/** Rejects with the error of the call, whose `report` is that of the call. */
export async function completionOf(
  run: ModelRun,
  driver: CallbackDriver | undefined,
  signal: AbortSignal | null | undefined,
): Promise<object> {
  const answer = new AnswerText();
  const beside = new EventsBeside();
  let rejected = false;
  for await (const event of run) {
    answer.add(event);
    beside.add(event);
    if (isRefusal(event)) rejected = true;
    await driver?.take([event]);
  }
  const report = await run.report;
  try {
    await run.text();
  } catch (error) {
    const stopped = signal?.aborted === true && error === signal.reason;
    await driver?.end(report, error, stopped || undefined);
    throw withReport(error, report);
  }
  if (answer.tooLarge) throw answer.tooLarge;
  await driver?.end(report, undefined);
  const { text, thinking, openCalls } = answer;
  const { usage } = report;
  return {
    id: run.runId,
    object: 'chat.completion',
    created: Math.floor(Date.now() / 1000),
    provider: report.provider,
    model: report.model,
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: text === '' && openCalls.length > 0 ? null : text,
          ...(rejected ? { refusal: text } : {}),
          ...(thinking === '' ? {} : { reasoning_content: thinking }),
          ...(openCalls.length === 0 ? {} : { tool_calls: openCalls }),
        },
        finish_reason: report.finishReason ?? 'stop',
      },
      ...(report.alternatives ?? []).map(choiceOf),
    ],
    usage: {
      prompt_tokens: usage.totalInputTokens,
      completion_tokens: usage.totalOutputTokens,
      total_tokens: usage.totalTokens,
    },
    modelUsage: usage,
    ...beside.members(openCalls),
  };
}
