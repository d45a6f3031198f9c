// Replay: answers that come as fast as the socket gives them, read whole. What counts is what is left for the
// JavaScript thread to do.
import { measure } from '../support/children.mjs';
import { madeFiles } from '../support/data.mjs';
import { atMost } from '../support/goals.mjs';
import { startProvider } from '../support/traffic.mjs';

const deltas = 20_000;
const rowsOf = [
  { client: 'millraceBytes', label: 'millrace, AG-UI bytes (toAGUIResponse)' },
  { client: 'millraceAgent', label: 'millrace, AG-UI bytes of an agent (agent.handler)' },
  { client: 'millraceObjects', label: 'millrace, event objects (parse)' },
  { client: 'floor', label: 'JS floor: http.request, eventsource-parser, JSON.parse' },
  { client: 'openui', label: 'fetch, OpenUI adapter, @ag-ui/encoder' },
  { client: 'converter', label: 'JS converter: floor and hand-written AG-UI frames' },
  { client: 'openai', label: 'openai SDK, chunks' },
  { client: 'ai', label: 'AI SDK, streamText to UI message stream bytes' },
];

export const name = 'replay';
export const title = 'Replay over loopback HTTP, microseconds of CPU an event';
export const columns = [
  { key: 'label', title: 'reader' },
  { key: 'main', title: 'JS thread', digits: 3 },
  { key: 'all', title: 'process', digits: 3 },
  { key: 'wall', title: 'wall', digits: 3 },
  { key: 'ratio', title: 'JS thread, x millrace bytes', digits: 1 },
];
export const notes = [
  `Answers of ${deltas} text deltas, one after the other, from a provider in another process; an event is a delta. ` +
    'Process: all threads, the engine thread included. Counted once a reader is warm.',
];

export async function run({ seconds, quick }) {
  const provider = await startProvider(madeFiles('openai_chat', { count: 2, deltas, plain: true }));
  const rows = [];
  try {
    for (const { client, label } of quick ? rowsOf.slice(0, 5) : rowsOf) {
      const settings = {
        client,
        url: provider.url,
        seconds: seconds(5, 0.5),
        warmSeconds: seconds(10, 1),
      };
      const spent = await measure('workers/replay.mjs', settings);
      if (!(spent.letters > deltas))
        throw new Error(`${label}: the answer came back with ${spent.letters} letters`);
      const events = spent.answers * deltas;
      const each = (time) => time / events;
      rows.push({ label, main: each(spent.main), all: each(spent.all), wall: each(spent.wall) });
    }
  } finally {
    await provider.stop();
  }
  for (const row of rows) row.ratio = row.main / rows[0].main;
  return {
    rows,
    goals: [
      atMost('bytes, JS thread CPU an event', rows[0].main, 0.15, 'us'),
      atMost('bytes of an agent, JS thread CPU an event', rows[1].main, 0.06, 'us'),
    ],
  };
}
