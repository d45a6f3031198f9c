// The attempts of a job's step.
import { setMaxListeners } from 'node:events';

import type { StepContext, StepOptions } from '../../types/runtime';
import { MillraceError } from '../errors';
import { checkNames } from '../known-names';
import { pause } from '../pause';
import { shown } from '../shown';
import { checkValues, milliseconds, text } from '../value-checks';

const effects = ['once', 'keyed', 'idempotent', 'read'] as const;
export type Effect = (typeof effects)[number];

/** The one that allows less. */
export function stricter(one: Effect, other: Effect): Effect {
  return effects[Math.min(effects.indexOf(one), effects.indexOf(other))] ?? 'once';
}

const whole = ['a whole number, 0 or more', isWhole] as const;

function isWhole(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function checkStepOptions(options: StepOptions): void {
  checkNames('step()', options, ['key', 'retries', 'backoff', 'timeoutMs', 'effect']);
  const { backoff, effect, ...others } = options;
  checkValues('step()', others, { key: text, retries: whole, timeoutMs: milliseconds });
  if (backoff !== undefined && !isWhole(backoff) && typeof backoff !== 'function') {
    throw new MillraceError(
      'invalid_option',
      `step(): backoff must be milliseconds or a function, not ${shown(backoff)}.`,
    );
  }
  if (effect !== undefined && !effects.includes(effect)) {
    throw new MillraceError(
      'invalid_option',
      `step(): effect must be ${effects.map((one) => `'${one}'`).join(', ')}, not ${shown(effect)}.`,
    );
  }
}

/** Calls the function until it gives something, or has failed too often. */
export async function attempts<T>(
  fn: (step: StepContext) => T | Promise<T>,
  { retries = 0, backoff = usualBackoff, timeoutMs }: StepOptions,
  key: string,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await limited(fn, { attempt, key }, timeoutMs, signal);
    } catch (thrown) {
      if (attempt > retries || signal.aborted) throw thrown;
      await pause(typeof backoff === 'function' ? backoff(attempt) : backoff, signal);
    }
  }
}

const usualBackoff = (attempt: number): number => Math.min(500 * 2 ** (attempt - 1), 60_000);

// The function sees the stop of the run and its own limit in one signal.
async function limited<T>(
  fn: (step: StepContext) => T | Promise<T>,
  about: Omit<StepContext, 'signal'>,
  timeoutMs: number | undefined,
  outer: AbortSignal,
): Promise<T> {
  const controller = new AbortController();
  const stop = (): void => controller.abort(outer.reason);
  // Many steps may be at work at once.
  setMaxListeners(0, outer);
  outer.addEventListener('abort', stop);
  let timer: NodeJS.Timeout | undefined;
  const cut = new Promise<never>((_resolve, reject) => {
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
    if (timeoutMs === undefined) return;
    const late = new MillraceError('timeout', `The step did not end within ${timeoutMs} ms.`);
    timer = setTimeout(() => controller.abort(late), timeoutMs);
  });
  cut.catch(() => undefined);
  try {
    return await Promise.race([fn({ ...about, signal: controller.signal }), cut]);
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', stop);
  }
}
