// What every payload needs before it goes anywhere.
import { MillraceError } from '../errors';

// Members of a chat or an object that are not the vendor's own, as lib/model/payload.cpp reads them.
const members = new Set([
  ...[
    'model',
    'messages',
    'format',
    'provider',
    'responseMode',
    'responseApi',
    'apiMode',
    'stream',
  ],
  ...['deploymentName', 'user', 'temperature', 'top_p', 'top_k', 'frequency_penalty', 'seed', 'n'],
  ...['presence_penalty', 'max_tokens', 'max_completion_tokens', 'max_output_tokens', 'logprobs'],
  ...['top_logprobs', 'stop', 'verbosity', 'truncation', 'imageAspectRatio', 'imageResolution'],
  ...['preserveThinking', 'enabledContextCaching', 'enabledSearch', 'urlContext', 'tools'],
  ...['tool_choice', 'parallel_tool_calls', 'response_format', 'thinking', 'thinkingBudget'],
  ...['thinkingLevel', 'reasoning', 'reasoning_effort', 'effort', 'text', 'mockResponse'],
  ...['mockChunks', 'mockDelayMs', 'fallback', 'protocol', 'schema', 'mode', 'name'],
]);

/** False for what only one vendor knows. */
export function isPayloadMember(name: string): boolean {
  return members.has(name);
}

/** Throws for a payload that names no model. */
export function checkModel(payload: unknown): void {
  const { model } = (payload ?? {}) as { model?: unknown };
  if (typeof model !== 'string' || model === '') {
    throw new MillraceError('invalid_argument', 'The payload needs a model: `model`, a string.');
  }
}

/** Throws for a chat without a model or messages. */
export function checkPayload(payload: unknown): void {
  checkModel(payload);
  const { messages } = payload as { messages?: unknown };
  if (!Array.isArray(messages)) {
    throw new MillraceError(
      'invalid_argument',
      'The payload of a chat needs an array of messages.',
    );
  }
}
