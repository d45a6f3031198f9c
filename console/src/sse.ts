// Server-sent events of the job routes: text in, events out.
import type { JobEvent } from './types';

/** Takes pieces of a stream, cut anywhere. The server ends lines with a line feed alone. */
export class EventFrames {
  #rest = '';

  /** The events that end in this piece. */
  feed(piece: string): JobEvent[] {
    const blocks = (this.#rest + piece).split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.flatMap(eventIn);
  }
}

function eventIn(block: string): JobEvent[] {
  const fields = new Map(
    block.split('\n').map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
    }),
  );
  const data = fields.get('data');
  if (data === undefined) return [];
  const payload = JSON.parse(data) as Record<string, unknown>;
  return [{ id: fields.get('id') ?? '', event: fields.get('event') ?? '', payload }];
}
