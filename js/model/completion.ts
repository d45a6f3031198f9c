// A whole answer as one chat completion, as OpenAI's API writes it.
import type { AnswerAlternative } from '../../types/events';
import type { ChatCallbacks } from '../../types/model';
import { AnswerText, isRefusal } from './answer-text';
import { CallbackDriver } from './callbacks';
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

/** Rejects with the error of the call. */
export async function completionOf(
  run: ModelRun,
  callback: ChatCallbacks | undefined,
): Promise<object> {
  const driver = callback && new CallbackDriver(callback);
  const answer = new AnswerText();
  let rejected = false;
  for await (const event of run) {
    answer.add(event);
    if (isRefusal(event)) rejected = true;
    await driver?.take([event]);
  }
  const report = await run.report;
  try {
    await run.text();
  } catch (error) {
    await driver?.end(report, error);
    throw error;
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
  };
}
