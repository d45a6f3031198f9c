// What every payload needs before it goes anywhere.
import { addon } from '../addon';
import { MillraceError } from '../errors';
import { shown } from '../shown';

// Members of objects, and a word of LobeHub's, that a chat's payload has not.
const others = new Set(['schema', 'mode', 'name', 'responseApi']);

/** False for what only one vendor knows. */
export function isPayloadMember(name: string): boolean {
  return others.has(name) || addon().isPayloadMember(name);
}

/** Throws for a payload that names no model. */
export function checkModel(payload: unknown): void {
  const { model } = (payload ?? {}) as { model?: unknown };
  if (typeof model !== 'string' || model === '') {
    throw new MillraceError(
      'invalid_argument',
      `\`model\` of the payload must be the name of a model, not ${shown(model)}.`,
    );
  }
}

/** Throws for a chat without a model or messages. */
export function checkPayload(payload: unknown): void {
  checkModel(payload);
  const { messages, responseMode } = payload as { messages?: unknown; responseMode?: unknown };
  if (!Array.isArray(messages)) {
    throw new MillraceError(
      'invalid_argument',
      `\`messages\` of the payload must be a list, not ${shown(messages)}.`,
    );
  }
  if (responseMode === undefined || responseMode === 'stream' || responseMode === 'json') return;
  throw new MillraceError(
    'invalid_argument',
    `responseMode must be 'stream' or 'json', not ${shown(responseMode)}.`,
  );
}
