// A provider of OpenAI's chat completions, whole answers, over the engine's own transport.
import { MillraceError } from '../../errors';
import { engineFetch } from '../../transport/engine';
import { proxyFromEnvironment } from '../../transport/route';
import type { ChatProvider, ChatResponse } from './types';

/** Asks `{baseURL}/chat/completions`; an answer has to be there within `timeoutMs`. */
export function chatCompletionsProvider(
  baseURL: string,
  apiKey: string | undefined,
  timeoutMs: number,
): ChatProvider {
  return {
    async chat(request, { signal }) {
      if (!baseURL) throw new MillraceError('invalid_option', 'The engine needs a baseURL.');
      const proxy = proxyFromEnvironment();
      const response = await engineFetch({
        method: 'POST',
        url: `${baseURL.replace(/\/+$/, '')}/chat/completions`,
        headers: [
          ['content-type', 'application/json'],
          ...(apiKey ? [['authorization', `Bearer ${apiKey}`] as [string, string]] : []),
        ],
        body: JSON.stringify(request),
        signal,
        timeouts: { total: timeoutMs },
        sameOrigin: true,
        ...(proxy && { proxy }),
      });
      const text = await response.text();
      return completionOf(response.ok, response.status, response.ok ? text : without(apiKey, text));
    },
  };
}

// A provider may repeat in its refusal what it was sent.
function without(secret: string | undefined, text: string): string {
  return secret && secret.length >= 8 ? text.replaceAll(secret, '[redacted]') : text;
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
