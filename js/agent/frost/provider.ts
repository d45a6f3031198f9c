// Whole answers of OpenAI's chat completions, as a provider of the user's may give them.
import { MillraceError } from '../../errors';
import { pageIn } from '../../transport/message-in-body';
import type { ChatResponse } from './types';

/** The first message of a whole answer of chat completions; throws what is wrong with it. */
export function completionOf(ok: boolean, status: number, text: string): ChatResponse {
  if (!ok) {
    const retryable = status >= 500 || status === 429;
    throw new MillraceError('provider_error', refusalWords(status, text), { status, retryable });
  }
  return firstChoice(parse(text));
}

/** FrostAgent's words for an answer with a bad status. */
export function refusalWords(status: number, text: string): string {
  return `API error (status ${status}): ${pageIn(text) ?? text.slice(0, 500)}`;
}

/** The first message of a completion; throws the provider's error, or that there is none. */
export function firstChoice(body: Body): ChatResponse {
  if (body?.error) {
    const { error } = body;
    const reported = typeof error === 'string' ? error : (error.message ?? '');
    throw new MillraceError(
      'provider_error',
      `API returned error: ${pageIn(reported) ?? reported}`,
    );
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
