// The message formats: canonical messages to one API's messages and back. Each is implemented once,
// in the engine; the messages cross as JSON text.
import type { MessageFormat } from '../../types/channels';
import type { Message } from '../../types/messages';
import { addon } from '../addon';
import { MillraceError, rethrow } from '../errors';
import { messageOf } from '../thrown';

export { identityMessageFormat } from './platform';

// Engine's name of each format made here.
const names = new WeakMap<MessageFormat, string>();

function engineFormat(name: string): MessageFormat {
  const format: MessageFormat = {
    toApi: (messages) => JSON.parse(convert(name, 'toApi', messages)) as unknown,
    fromApi: (data) => JSON.parse(convert(name, 'fromApi', data)) as Message[],
  };
  names.set(format, name);
  return format;
}

function convert(name: string, direction: 'toApi' | 'fromApi', value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new MillraceError(
      'invalid_messages',
      `${direction} of the format '${name}' needs messages that JSON can hold: ${messageOf(cause)}`,
      { cause },
    );
  }
  if (text === undefined) {
    throw new MillraceError(
      'invalid_messages',
      `${direction} of the format '${name}' needs a list of messages, not ${typeof value}.`,
    );
  }
  try {
    return addon()[direction](name, text);
  } catch (error) {
    rethrow(error);
  }
}

/** The JSON text of what `format.toApi(messages)` gives; undefined when that is undefined. */
export function toApiJson(format: MessageFormat, messages: Message[]): string | undefined {
  const name = names.get(format);
  if (name !== undefined) return convert(name, 'toApi', messages);
  return JSON.stringify(format.toApi(messages));
}

/** OpenAI Chat Completions. */
export const openAIMessageFormat: MessageFormat = engineFormat('openai');

/** Items of the OpenAI Responses and Conversations APIs. */
export const openAIConversationMessageFormat: MessageFormat = engineFormat('openai_conversation');

/** LangChain and LangGraph messages. */
export const langGraphMessageFormat: MessageFormat = engineFormat('langgraph');

/** Anthropic Messages. */
export const anthropicMessageFormat: MessageFormat = engineFormat('anthropic');

/** Contents of Gemini's generateContent: `{ systemInstruction?, contents }`. */
export const geminiMessageFormat: MessageFormat = engineFormat('gemini');
