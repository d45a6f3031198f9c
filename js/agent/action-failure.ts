// What the engine learns of an action that failed: the error as a state holds it, and what shows that it may pass. The
// engine decides whether a tool or a model is called again (lib/agent/step).
import { MillraceError } from '../errors';
import { type AgentErrorRecord, errorRecord } from '../serialize';
import { isPassing } from './retries';

export interface ActionFailure extends AgentErrorRecord {
  /** It may pass. */
  retry?: true;
  /** LobeHub's class of a model's failure. */
  errorType?: string;
}

/** A failure that was recorded, thrown again. */
export class RecordedFailure extends Error {
  constructor(readonly failure: ActionFailure) {
    super(failure.message);
  }
}

export function actionFailure(kind: string, thrown: unknown): ActionFailure {
  if (thrown instanceof RecordedFailure) return thrown.failure;
  const record = errorRecord(thrown);
  if (kind === 'tool' && isPassing(thrown)) return { ...record, retry: true };
  return kind === 'model' ? { ...record, ...classOf(thrown) } : record;
}

// The package's own runtimes have tried again themselves.
function classOf(thrown: unknown): Pick<ActionFailure, 'retry' | 'errorType'> {
  if (MillraceError.is(thrown)) return {};
  try {
    const { errorType, type, retryable } = Object(thrown) as Record<string, unknown>;
    const named = [errorType, type].find((one) => typeof one === 'string');
    return {
      ...(retryable === true && { retry: true as const }),
      ...(named !== undefined && { errorType: named }),
    };
  } catch {
    // Something was thrown that cannot be read.
    return {};
  }
}
