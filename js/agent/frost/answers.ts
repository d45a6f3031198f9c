// What an Engine reads of answers and calls, whatever providers and models make of them.
import { randomUUID } from 'node:crypto';

import type { AgentMessage, OpenAIToolCall } from '../../../types/agent';
import { onAbort } from '../../abort';
import { MillraceError } from '../../errors';
import { ask } from '../ask';
import { errorRecord } from '../serialize';
import type { EngineResult, EngineTool } from './types';
import { sendMessageTool, staySilentTool } from './tools';

/** A tool as the provider is told of it. */
export function definition({ name, description, parameters }: EngineTool): object {
  return { type: 'function', function: { name, description, parameters } };
}

/** The calls of an answer with a name, arguments as text and an id of their own. */
export function callsOf(given: unknown): OpenAIToolCall[] {
  const seen = new Set<string>();
  const calls: OpenAIToolCall[] = [];
  for (const one of Array.isArray(given) ? (given as Partial<OpenAIToolCall>[]) : []) {
    const { name, arguments: args }: { name?: unknown; arguments?: unknown } = one?.function ?? {};
    if (typeof name !== 'string') continue;
    let { id } = one;
    if (typeof id !== 'string' || id === '' || seen.has(id)) id = `call_${randomUUID()}`;
    seen.add(id);
    const text = typeof args === 'string' ? args : JSON.stringify(args ?? {});
    calls.push({ ...one, id, type: 'function', function: { name, arguments: text } });
  }
  return calls;
}

/** Throws when the arguments break the schema; those that are no JSON are the tool's to refuse. */
export function checkArguments({ name, parameters }: EngineTool, args: string): void {
  if (name === sendMessageTool.name || name === staySilentTool.name) return;
  let value: unknown;
  try {
    value = JSON.parse(args.trim() || '{}');
  } catch {
    return;
  }
  const wrong = ask<string>('checkSchema', { schema: parameters ?? {}, value });
  if (wrong !== '') throw new MillraceError('invalid_argument', `Invalid arguments: ${wrong}`);
}

/** The conversation as every provider takes it: a person begins it, also when its beginning was trimmed away. */
export function openedByUser(messages: readonly AgentMessage[]): AgentMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  if (messages[first]?.role !== 'assistant') return [...messages];
  const opening = { role: 'user', content: '(The beginning of the conversation is missing.)' };
  return [...messages.slice(0, first), opening, ...messages.slice(first)];
}

/** The text of an answer, also of one in parts. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return (content as ({ text?: unknown } | null)[])
    .map((part) => (typeof part?.text === 'string' ? part.text : ''))
    .join('');
}

/** Lets go of `work` when the run is cancelled. */
export function raced<T>(work: Promise<T> | T, signal: AbortSignal | undefined): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = (): void => reject(signal?.reason as Error);
    if (signal?.aborted) stop();
    Promise.resolve(work).then(resolve, reject).finally(onAbort(signal, stop));
  });
}

/** What a failed call of the model ends the run with. */
export function failure(
  error: unknown,
  signal: AbortSignal,
  rest: Pick<EngineResult, 'usage' | 'messages'>,
): EngineResult {
  if (signal.aborted) return { status: 'cancelled', ...rest };
  const known = MillraceError.is(error);
  const { message } = errorRecord(error);
  return {
    status: 'error',
    error: {
      code: known ? error.code : 'provider_error',
      message,
      retryable: known ? error.retryable : false,
    },
    ...rest,
  };
}
