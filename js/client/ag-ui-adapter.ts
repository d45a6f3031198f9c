// agUIAdapter of pages.
import type { StreamAdapter } from '../../types/channels';
import { EventStream } from '../adapters/event-stream';
import type { AgUIAdapterOptions } from '../adapters/limits';
import { checkLimits } from '../adapters/limits';
import { PayloadEventReader } from '../adapters/payload-events';
import { MillraceError } from '../errors';
import { openPayloads } from './page-source';

/** Reads AG-UI events; each is what JSON.parse makes of its record, unchanged. */
export function agUIAdapter(options: AgUIAdapterOptions = {}): StreamAdapter {
  if (typeof options !== 'object' || (options as unknown) === null) {
    const sentence = 'agUIAdapter() takes an object of options, or nothing.';
    throw new MillraceError('invalid_option', sentence);
  }
  const limits = checkLimits('agUIAdapter', options.limits);
  const adapter = {
    parse: (response: Response) =>
      new EventStream(response, (body) => openPayloads(body, limits), new PayloadEventReader()),
  };
  // parse<Event> only renames the events' type; see StreamAdapter.
  return adapter as StreamAdapter;
}
