// One adapter's parse() on bodies that come in reads of one size; the consumer looks at each event's type and delta.
import { readFileSync } from 'node:fs';

import { importMillrace } from '../support/packages.mjs';
import { bestPass, options, report } from '../support/worker.mjs';

const { from, adapter, files, readSize, seconds } = options;
const library =
  from === 'millrace' ? await importMillrace() : await import('@openuidev/react-headless');
const { parse } = library[adapter]();
const bodies = files.map((file) => new Uint8Array(readFileSync(file)));

function responseOf(body) {
  let at = 0;
  const stream = new ReadableStream({
    pull(controller) {
      if (at >= body.length) return controller.close();
      controller.enqueue(body.slice(at, at + readSize));
      at += readSize;
    },
  });
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

let events = 0;
let letters = 0;
const best = await bestPass(seconds, async () => {
  events = 0;
  letters = 0;
  for (const body of bodies) {
    for await (const event of parse(responseOf(body))) {
      events++;
      if (event.type === 'TEXT_MESSAGE_CONTENT') letters += event.delta.length;
    }
  }
});
report({ eventsPerSecond: events / best, events, letters });
