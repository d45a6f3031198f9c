// One streamed answer, from the building of its request to its end, beside the SDKs that do the same.
import { measure } from '../support/children.mjs';
import { madeFiles } from '../support/data.mjs';
import { atLeast } from '../support/goals.mjs';
import { startProvider } from '../support/traffic.mjs';

const deltas = 200;
const perSecond = 50;
const rowsOf = [
  { client: 'millraceRun', label: 'millrace, events of a run (ModelRuntime.stream)' },
  { client: 'millraceChat', label: 'millrace, AG-UI bytes (ModelRuntime.chat)' },
  { client: 'floor', label: 'JS floor: http.request, eventsource-parser, JSON.parse' },
  { client: 'openai', label: 'openai SDK, chunks' },
  { client: 'aiParts', label: 'AI SDK, streamText, parts of the full stream' },
];

export const name = 'answers';
export const title = 'One streamed answer of a chat model, microseconds of the JavaScript thread';
export const columns = [
  { key: 'label', title: 'reader' },
  { key: 'unpaced', title: 'unpaced', digits: 0 },
  { key: 'unpacedRatio', title: 'x millrace', digits: 1 },
  { key: 'first', title: 'first event us', digits: 0 },
  { key: 'paced', title: `at ${perSecond}/s`, digits: 0 },
  { key: 'pacedRatio', title: 'x millrace', digits: 1 },
];
export const notes = [
  `Answers of ${deltas} text deltas, one after the other, asked for and read whole through each library's own interface. ` +
    'Unpaced: as fast as the socket takes them, with the time from the call to its first event. Paced: one answer at a ' +
    'time, a delta every 20 ms; a bounded sample reads 50 of them. The timer is what waking the thread costs whoever reads.',
];

export async function run({ seconds, quick }) {
  const provider = await startProvider(madeFiles('openai_chat', { count: 2, deltas, plain: true }));
  const rows = [];
  const paced = quick ? 50 : deltas;
  try {
    for (const { client, label } of rowsOf) {
      const spent = await measure('workers/answers.mjs', {
        client,
        url: provider.url,
        seconds: seconds(4, 0.6),
        paced: `[paced ${paced} ${perSecond}]`,
        pacedAnswers: quick ? 1 : 3,
      });
      if (!(spent.letters > deltas && spent.pacedLetters > paced)) {
        throw new Error(`${label}: an answer came back with ${spent.letters} letters`);
      }
      rows.push({ label, ...spent });
    }
  } finally {
    await provider.stop();
  }
  const [openai, ai] = rows.slice(-2);
  const wakes = await measure('workers/ticks.mjs', { ticks: paced, every: 1000 / perSecond });
  rows.push({ label: 'a timer that does nothing, as many times', ...wakes });
  const [millrace] = rows;
  for (const row of rows) {
    if (row.unpaced) row.unpacedRatio = row.unpaced / millrace.unpaced;
    row.pacedRatio = row.paced / millrace.paced;
  }
  return {
    rows,
    goals: [
      atLeast('unpaced, JS thread of the openai SDK over a run', openai.unpacedRatio, 5, 'x'),
      atLeast('unpaced, JS thread of AI SDK over a run', ai.unpacedRatio, 15, 'x'),
      atLeast('paced, JS thread of the openai SDK over a run', openai.pacedRatio, 2, 'x'),
      atLeast('paced, JS thread of AI SDK over a run', ai.pacedRatio, 10, 'x'),
    ],
  };
}
