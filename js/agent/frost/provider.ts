// A provider of OpenAI's chat completions, whole answers.
import { MillraceError } from '../../errors';
import type { ChatProvider, ChatResponse } from './engine';

/** Asks `{baseURL}/chat/completions`. */
export function chatCompletionsProvider(baseURL: string, apiKey?: string): ChatProvider {
  return {
    async chat(request, { signal }) {
      if (!baseURL) throw new MillraceError('invalid_option', 'The engine needs a baseURL.');
      const response = await fetch(`${baseURL.replace(/\/+$/, '')}/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(apiKey && { authorization: `Bearer ${apiKey}` }),
        },
        body: JSON.stringify(request),
        signal,
      });
      const text = await response.text();
      if (!response.ok) {
        throw new MillraceError(
          'provider_error',
          `API error (status ${response.status}): ${text.slice(0, 500)}`,
          { status: response.status, retryable: response.status >= 500 || response.status === 429 },
        );
      }
      const body = JSON.parse(text) as {
        error?: { message?: string };
        choices?: ChatResponse[];
        usage?: NonNullable<ChatResponse['usage']>;
      };
      if (body.error) {
        throw new MillraceError(
          'provider_error',
          `API returned error: ${body.error.message ?? ''}`,
        );
      }
      const message = body.choices?.[0]?.message;
      if (!message) throw new MillraceError('provider_error', 'no choices in response');
      return { message, ...(body.usage && { usage: body.usage }) };
    },
  };
}
