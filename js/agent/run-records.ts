// The events of a durable run with the numbers of their records.
import type { AGUIEvent } from '../../types/events';
import { onAbort } from '../abort';
import { EngineEventReader } from '../adapters/engine-events';
import { errorFromNative } from '../errors';
import { isEvent } from '../runs/engine-items';
import { itemsOf } from '../transport/batches';
import type { DurablePart, RunRecord } from './durable-types';

type Item =
  | AGUIEvent
  | string
  | { type: '@seq'; seq: number }
  | { type: '@failed'; error: object }
  | { type: '@run' | '@result' | '@checkpoint' };

/**
 * Reads what is behind a record; at the end of the run, where it waits for the user, or when its readers are to leave,
 * that is all.
 */
export async function* recordsOf(
  { runtime, id, leaves }: DurablePart,
  after: number,
): AsyncGenerator<RunRecord, undefined> {
  const call = runtime.openRun({ plan: '', input: '', options: { run: id, after, seqs: true } });
  const forget = onAbort(leaves, () => call.cancel());
  if (leaves?.aborted) call.cancel();
  const reader = new EngineEventReader({ extended: true, logSkipped: false });
  let events: AGUIEvent[] = [];
  let hasResult = false;
  try {
    for (let output = await call.read(); output; output = await call.read()) {
      for (const item of itemsOf<Item>(output)) {
        if (isEvent(item)) {
          const event = reader.read(item);
          if (event) events.push(event);
        } else if (item.type === '@seq') {
          const { seq } = item;
          for (const event of events) yield { seq, event };
          events = [];
        } else if (item.type === '@result') {
          hasResult = true;
        } else if (item.type === '@failed' && !hasResult) {
          throw errorFromNative(JSON.stringify(item.error));
        }
      }
    }
  } finally {
    forget();
    call.cancel();
  }
  return undefined;
}
