// What calls of tools in LobeHub's shape share: arguments as models and hosts give them, and failures as
// records.
import { MillraceError } from '../errors';
import { shown } from '../shown';
import { messageOf } from '../thrown';
import { engineAnswer } from './engine-answer';
import { resultText } from './http-tools';
import { errorRecord } from '../serialize';

/** The payload of a call; throws for what is none. */
export function checkedPayload<Payload>(payload: Payload): Payload & object {
  if (typeof payload === 'object' && payload !== null) return payload;
  throw new MillraceError(
    'invalid_argument',
    `The payload of a tool call must be an object, not ${shown(payload)}.`,
  );
}

/** The arguments of a call: JSON text, mostly; hosts give objects, too, and models nothing at all. */
export function payloadArguments(given: unknown): object {
  const value = (typeof given === 'string' ? parsed(given) : given) ?? {};
  if (typeof value === 'object' && !Array.isArray(value)) return value;
  throw new MillraceError(
    'invalid_argument',
    `The arguments of a tool must be a JSON object, not ${shown(value)}.`,
  );
}

// What is nearly JSON is the object that it means, as for agents.
function parsed(text: string): unknown {
  const repaired = () => engineAnswer<object | null>('repairArguments', { text });
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return typeof value === 'string' ? (repaired() ?? value) : value;
  } catch (error) {
    const object = repaired();
    if (object) return object;
    const why = messageOf(error);
    throw new MillraceError('invalid_json', `The arguments are not valid JSON: ${why}`);
  }
}

/** What a record tells of a failure; its text is safe for a model to read. */
export interface ToolFailure {
  content: string;
  success: false;
  error: { type: string; message: string; body?: unknown };
}

/** The record of a call that failed; `cancelled` when its signal has ended it. */
export function toolFailure(thrown: unknown, signal: AbortSignal | undefined): ToolFailure {
  const record = errorRecord(thrown);
  const { cause } = (thrown ?? {}) as { cause?: unknown };
  const known = record.type === 'AgentRuntimeError' ? 'tool_failed' : record.type;
  const message = resultText(record.message);
  const error = {
    type: signal?.aborted === true ? 'cancelled' : known,
    message,
    ...(MillraceError.is(thrown) && cause ? { body: cause } : {}),
  };
  return { content: message, success: false, error };
}
