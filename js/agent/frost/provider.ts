// A provider of OpenAI's chat completions, whole answers.
import { MillraceError } from '../../errors';
import type { ChatProvider, ChatResponse } from './types';

const again = { retryable: true };

/** Asks `{baseURL}/chat/completions`; an answer has to be there within `timeoutMs`. */
export function chatCompletionsProvider(
  baseURL: string,
  apiKey: string | undefined,
  timeoutMs: number,
): ChatProvider {
  return {
    async chat(request, { signal }) {
      if (!baseURL) throw new MillraceError('invalid_option', 'The engine needs a baseURL.');
      const late = AbortSignal.timeout(timeoutMs);
      let response: Response;
      let text: string;
      try {
        response = await fetch(`${baseURL.replace(/\/+$/, '')}/chat/completions`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            ...(apiKey && { authorization: `Bearer ${apiKey}` }),
          },
          body: JSON.stringify(request),
          signal: AbortSignal.any([signal, late]),
        });
        text = await response.text();
      } catch (error) {
        if (late.aborted) {
          throw new MillraceError('total_timeout', `No answer within ${timeoutMs} ms.`, again);
        }
        throw new MillraceError('connect_failed', causeOf(error), again);
      }
      return completionOf(response.ok, response.status, text);
    },
  };
}

/** The first message of a whole answer of chat completions; throws what is wrong with it. */
export function completionOf(ok: boolean, status: number, text: string): ChatResponse {
  if (!ok) {
    throw new MillraceError(
      'provider_error',
      `API error (status ${status}): ${text.slice(0, 500)}`,
      { status, retryable: status >= 500 || status === 429 },
    );
  }
  return firstChoice(parse(text));
}

/** The first message of a completion; throws the provider's error, or that there is none. */
export function firstChoice(body: Body): ChatResponse {
  if (body?.error) {
    const { error } = body;
    const told = typeof error === 'string' ? error : (error.message ?? '');
    throw new MillraceError('provider_error', `API returned error: ${told}`);
  }
  const message = body?.choices?.[0]?.message;
  if (!message) throw new MillraceError('provider_error', 'no choices in response');
  return { message, ...(body?.usage && { usage: body.usage }) };
}

/** A whole answer of chat completions. */
export type Body = {
  error?: { message?: string } | string;
  choices?: ChatResponse[];
  usage?: NonNullable<ChatResponse['usage']>;
} | null;

function parse(text: string): Body {
  try {
    return JSON.parse(text) as Body;
  } catch {
    throw new MillraceError('provider_error', 'The answer of the provider is not JSON.');
  }
}

// fetch says only that it failed; why stands in the cause.
function causeOf(error: unknown): string {
  const { message, cause } = error as { message?: string; cause?: { message?: string } };
  return cause?.message || message || String(error);
}
