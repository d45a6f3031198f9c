// What a capability is asked with, checked before the engine reads it.
import { MillraceError } from '../errors';

/** Throws for what the engine could not be asked about; what it says of a member's value it says better. */
export function checkPayload(method: string, payload: unknown, member?: string): void {
  if (typeof payload !== 'object' || payload === null) {
    throw wrongPayload(method, 'an object is wanted');
  }
  const { model } = payload as { model?: unknown };
  if (typeof model !== 'string' || model === '') {
    throw wrongPayload(method, '`model` must be the name of a model');
  }
  if (member !== undefined && (payload as Record<string, unknown>)[member] == null) {
    throw wrongPayload(method, `\`${member}\` is missing`);
  }
}

/** The error of a payload that is not sent. */
export function wrongPayload(method: string, why: string): MillraceError {
  return new MillraceError(
    'invalid_argument',
    `The payload of ${method}() cannot be sent: ${why}.`,
  );
}

/** The payload as JSON. */
export function textOf(payload: object): string {
  try {
    return JSON.stringify(payload);
  } catch (cause) {
    throw new MillraceError('invalid_argument', 'The payload must be plain JSON.', { cause });
  }
}
