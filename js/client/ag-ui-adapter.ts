// agUIAdapter of pages.
import type { StreamAdapter } from '../../types/channels';
import type { AGUIEvent } from '../../types/events';
import type { AgUIAdapterOptions, StreamLimits } from '../adapters/limits';
import { checkLimits } from '../adapters/limits';
import { eventsOfPayload } from '../adapters/payload-events';
import { isRecord } from '../plain-values';
import { bodyOf, leaveBody } from '../transport/body';
import { checkOption } from '../value-checks';
import { recordsOf } from './page-source';

const owner = 'agUIAdapter';

/** Reads AG-UI events; each is what JSON.parse makes of its record, unchanged. */
export function agUIAdapter(options: AgUIAdapterOptions = {}): StreamAdapter {
  checkOption(isRecord(options), owner, 'it takes an object of options, or nothing.');
  const limits = checkLimits(owner, options.limits);
  const adapter = { parse: (response: Response) => eventsOf(response, limits) };
  // parse<Event> only renames the events' type; see StreamAdapter.
  return adapter as StreamAdapter;
}

// Nothing happens before the first next(). Leaving the loop cancels the body, also while it is read.
function eventsOf(response: Response, limits: StreamLimits): AsyncIterableIterator<AGUIEvent> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  let isLeft = false;
  async function* read(): AsyncGenerator<AGUIEvent, undefined> {
    reader = bodyOf(response).getReader();
    for await (const { data } of recordsOf(reader, false, limits)) {
      // A body that is cancelled ends in the middle of a record.
      if (isLeft) return undefined;
      for (const event of eventsOfPayload(data)) {
        // Nothing follows an error of the run.
        const isLast = event.type === 'RUN_ERROR';
        if (isLast) leaveBody(reader);
        yield event;
        if (isLast) return undefined;
      }
    }
    return undefined;
  }
  const events = read();
  const leave = (reason?: unknown): void => {
    isLeft = true;
    const body = (response as Response | undefined)?.body;
    // Left before it began: the body has no other reader.
    if (reader) leaveBody(reader, reason);
    else if (body && !body.locked) leaveBody(body, reason);
  };
  const [end, fail] = [events.return.bind(events), events.throw.bind(events)];
  return Object.assign(events, {
    return(value: undefined) {
      leave();
      return end(value);
    },
    throw(error: unknown) {
      leave(error);
      return fail(error);
    },
  });
}
