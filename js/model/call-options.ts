// What calls of models are given beside their payloads, checked before anything is sent.
import type { ChatCallbacks } from '../../types/model';
import { checkSignal } from '../abort';
import { MillraceError } from '../errors';
import { checkSpelling } from '../known-names';
import { checkRetries } from '../limits';
import { shown } from '../shown';
import { checkTimeouts } from '../transport/choose';
import {
  anything,
  atLeast,
  callback,
  type Check,
  checkHeaders,
  checkValues,
  flag,
  givenHeaders,
  group,
  isRecord,
  milliseconds,
  text,
} from '../value-checks';

const checks: Readonly<Record<string, Check>> = {
  signal: anything,
  requestHeaders: anything,
  headers: anything,
  callback: anything,
  fallback: anything,
  maxRetries: anything,
  timeouts: anything,
  replayBufferSize: atLeast(0),
  keepAliveMs: atLeast(0),
  throttleMs: milliseconds,
  user: text,
  threadId: text,
  runId: text,
  parentRunId: text,
  protocol: text,
  protocolVersion: text,
  thinkTags: flag,
  fromClient: flag,
  retryAfterFirstToken: flag,
  pricingContext: group,
  onUsage: callback,
  onNotes: callback,
};

/** Throws `invalid_option` for options of a call that cannot be what they are; `owner` is the call's name. */
export function checkCallOptions(owner: string, options: object): void {
  checkValues(owner, options, checks);
  const given = options as Record<keyof typeof checks, unknown>;
  checkSignal(owner, given['signal']);
  checkHeaders(owner, givenHeaders(given['requestHeaders']), 'requestHeaders');
  checkHeaders(owner, givenHeaders(given['headers']));
  checkTimeouts(owner, given['timeouts'] ?? undefined);
  checkRetries('maxRetries', given['maxRetries'] ?? undefined);
  checkFallback(owner, given['fallback'] ?? undefined);
  checkCallbacks(owner, given['callback'] ?? undefined);
}

/** Throws for fallbacks that are no list of models. */
export function checkFallback(owner: string, fallback: unknown): void {
  if (fallback === undefined) return;
  const isModel = (one: unknown): boolean =>
    typeof one === 'string' ||
    (isRecord(one) && typeof one['provider'] === 'string' && typeof one['model'] === 'string');
  const isList = Array.isArray(fallback);
  const at = isList ? fallback.findIndex((one) => !isModel(one)) : 0;
  if (at < 0) return;
  const wrong = isList
    ? `fallback[${at}] must be a model, 'openai:gpt-5-mini' or { provider: 'openai', model: 'gpt-5-mini' }, not ${shown(fallback[at])}`
    : `fallback must be a list of models, for instance ['openai:gpt-5-mini'], not ${shown(fallback)}`;
  throw new MillraceError('invalid_option', `${owner}: ${wrong}.`);
}

const callbackNames: readonly (keyof ChatCallbacks)[] = [
  ...(['onStart', 'onReset', 'onText', 'onThinking', 'onToolsCalling', 'onBase64Image'] as const),
  ...(['onContentPart', 'onReasoningPart', 'onGrounding', 'onUsage', 'onError'] as const),
  ...(['onCompletion', 'onFinal'] as const),
];

function checkCallbacks(owner: string, callback: unknown): void {
  if (callback === undefined) return;
  if (!isRecord(callback)) {
    throw new MillraceError(
      'invalid_option',
      `${owner}: callback must be an object of functions, not ${shown(callback)}.`,
    );
  }
  checkSpelling(`${owner}: callback`, callback, callbackNames);
  for (const name of callbackNames) {
    const value = callback[name] ?? undefined;
    if (value === undefined || typeof value === 'function') continue;
    throw new MillraceError(
      'invalid_option',
      `${owner}: callback.${name} must be a function, not ${shown(value)}.`,
    );
  }
}
