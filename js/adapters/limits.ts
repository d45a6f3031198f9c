// Limits of streams, as adapters take them in Node and in pages.
import { MillraceError } from '../errors';

/** Upper bounds; a stream that breaks one ends with an error of the code named. */
export interface StreamLimits {
  /** Bytes of a line, default 8 MiB; `line_too_long`. */
  lineBytes?: number;
  /** Bytes of an event, default 8 MiB; `event_too_large`. */
  eventBytes?: number;
  /** Bytes of one call's arguments, default 1 MiB; `tool_arguments_too_large`. */
  toolArgumentsBytes?: number;
}

export interface AgUIAdapterOptions {
  limits?: StreamLimits;
}

/** Throws `invalid_option` for what is no limit. */
export function checkLimits(name: string, limits: unknown): StreamLimits {
  if (limits === undefined) return {};
  if (typeof limits !== 'object' || limits === null) {
    throw new MillraceError('invalid_option', `${name}: limits must be an object.`);
  }
  for (const [key, value] of Object.entries(limits)) {
    if (Number.isSafeInteger(value) && (value as number) > 0) continue;
    throw new MillraceError('invalid_option', `${name}: limits.${key} must be a positive integer.`);
  }
  return limits;
}
