// Limits of streams, as adapters take them in Node and in pages.
import { isRecord } from '../plain-values';
import { checkOption } from '../value-checks';

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
  limits?: StreamLimits | undefined;
}

/** Throws `invalid_option` for what is no limit. */
export function checkLimits(name: string, limits: unknown = {}): StreamLimits {
  checkOption(isRecord(limits), name, 'limits must be an object.');
  for (const [key, value] of Object.entries(limits)) {
    const isLimit = Number.isSafeInteger(value) && (value as number) > 0;
    checkOption(isLimit, name, `limits.${key} must be a positive integer.`);
  }
  return limits;
}
