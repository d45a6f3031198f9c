// parse(): the adapters as drop-in replacements for @openuidev/react-headless, objects out, on the JavaScript thread.
import { measure } from '../support/children.mjs';
import { madeFiles } from '../support/data.mjs';
import { atLeast } from '../support/goals.mjs';

const readSize = 16384;
const adapters = [
  { adapter: 'openAIAdapter', wire: 'openai_chat' },
  { adapter: 'openAIReadableStreamAdapter', wire: 'openai_chat_ndjson' },
  { adapter: 'openAIResponsesAdapter', wire: 'openai_responses' },
  { adapter: 'langGraphAdapter', wire: 'langgraph' },
  { adapter: 'agUIAdapter', wire: 'ag_ui' },
];

export const name = 'parse';
export const title = 'parse(response) to event objects, reads of 16 KB, thousand events a second';
export const columns = [
  { key: 'adapter', title: 'adapter' },
  { key: 'events', title: 'events' },
  { key: 'millrace', title: 'millrace', digits: 0 },
  { key: 'openui', title: '@openuidev/react-headless', digits: 0 },
  { key: 'ratio', title: 'ratio', digits: 2 },
];
export const notes = [
  'Best pass of each. Streams of text alone, so that both give the same events. The Response is any other than the ' +
    "engine's own: its bytes are decoded on the JavaScript thread.",
];

export async function run({ seconds, quick }) {
  const rows = [];
  for (const { adapter, wire } of quick ? adapters.slice(0, 1) : adapters) {
    const files = madeFiles(wire, { plain: true });
    const one = (from) =>
      measure('workers/parse.mjs', { from, adapter, files, readSize, seconds: seconds(3, 0.6) });
    const millrace = await one('millrace');
    const openui = await one('@openuidev/react-headless');
    if (millrace.letters !== openui.letters) {
      throw new Error(`${adapter}: ${millrace.letters} letters beside ${openui.letters}`);
    }
    rows.push({
      adapter,
      events: millrace.events,
      millrace: millrace.eventsPerSecond / 1e3,
      openui: openui.eventsPerSecond / 1e3,
      ratio: millrace.eventsPerSecond / openui.eventsPerSecond,
    });
  }
  return { rows, goals: [atLeast('openAIAdapter().parse over OpenUI', rows[0].ratio, 2.5, 'x')] };
}
