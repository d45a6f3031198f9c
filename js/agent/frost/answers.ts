// What an Engine makes of calls and failures, whatever providers and models make of them.
import type { ErrorCode } from '../../../types/errors';
import { onAbort } from '../../abort';
import { MillraceError } from '../../errors';
import { ask } from '../ask';
import { errorRecord } from '../serialize';
import type { EngineResult, EngineTool } from './types';
import { sendMessageTool, staySilentTool } from './tools';

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

// FrostAgent's words for answers with status 200 that hold none.
const wordsOf: Partial<Record<ErrorCode, (message: string) => string>> = {
  provider_error: (message) => `API returned error: ${message}`,
  stream_truncated: () => 'no choices in response',
  not_a_stream: () => 'The answer of the provider is not JSON.',
};

/** How a call of the upstream failed that the engine made itself, in FrostAgent's words. */
export function upstreamError(error: unknown): unknown {
  if (!MillraceError.is(error)) return error;
  const { code, status = 200, retryable, detail, message } = error;
  const refused = status >= 400;
  const words = refused
    ? `API error (status ${status}): ${(detail ?? message).slice(0, 500)}`
    : wordsOf[code]?.(message);
  return words === undefined ? error : new MillraceError(code, words, { status, retryable });
}
