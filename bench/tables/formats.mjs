// Message formats: canonical messages to OpenAI's chat shape. Between objects JavaScript is faster, since ours go
// through JSON text; where text is wanted anyway the difference is small. No goal: what is true is printed.
import { measure } from '../support/children.mjs';

export const name = 'formats';
export const title = "Message history to OpenAI's chat shape, microseconds a history";
export const columns = [
  { key: 'messages', title: 'messages' },
  { key: 'kilobytes', title: 'KB', digits: 1 },
  { key: 'way', title: 'from, to' },
  { key: 'millrace', title: 'millrace', digits: 1 },
  { key: 'byHand', title: 'JS by hand', digits: 1 },
  { key: 'openui', title: 'OpenUI', digits: 1 },
  { key: 'ratio', title: 'millrace / by hand', digits: 1 },
];
export const notes = [
  'Objects to body: what fetchLLM does with a message format. Text to body: what the server does, off the ' +
    'JavaScript thread; measured here on it.',
];

export async function run({ seconds, quick }) {
  const rows = [];
  for (const count of quick ? [20] : [3, 20, 200]) {
    const times = await measure('workers/formats.mjs', { count, seconds: seconds(0.7, 0.15) });
    const add = (way, millrace, byHand, openui) => {
      const size = { messages: count, kilobytes: times.bytes / 1e3 };
      rows.push({ ...size, way, millrace, byHand, openui, ratio: millrace / byHand });
    };
    add('objects, objects', times.objectsOurs, times.objectsByHand, times.objectsOpenui);
    add('objects, body text', times.bodyOurs, times.bodyByHand);
    add('text, body text', times.textOurs, times.textByHand);
  }
  return { rows, goals: [] };
}
