// A thousand chats at a time on one engine thread: how much later than at the socket their first token is seen.
import { measure } from '../support/children.mjs';
import { atMost } from '../support/goals.mjs';
import { subjects } from '../support/subjects.mjs';
import { readBare, startProvider, startRelay } from '../support/traffic.mjs';

const full = { chats: 1000, spread: 5000, deltas: 120, rate: 20 };
const quick = { chats: 100, spread: 500, deltas: 6, rate: 20 };

export const name = 'chats';
export const title = 'First tokens of many chats at a time, milliseconds';
export const columns = [
  { key: 'label', title: 'reader' },
  { key: 'chats', title: 'chats' },
  { key: 'p50', title: 'spread, p50', digits: 2 },
  { key: 'p99', title: 'spread, p99', digits: 2 },
  { key: 'burst50', title: 'burst, p50', digits: 0 },
  { key: 'burst99', title: 'burst, p99', digits: 0 },
];
export const notes = [
  `Spread: ${full.chats} chats of ${full.deltas} deltas at ${full.rate} a second begin evenly over ${full.spread / 1000} s, so ` +
    'that all run at a time; from the write of the provider to the first token in user code (the bare reader: to its ' +
    'arrival at an epoll loop; with `serve` between the two it is what the engine thread adds, and one more socket; a relay that copies bytes and does nothing else is that one more socket alone). Burst: all begin at once; from the call to its first token.',
];

export async function run({ quick: isQuick }) {
  const plan = isQuick ? quick : full;
  const provider = await startProvider();
  const rows = [];
  try {
    rows.push({ label: 'bare epoll reader', ...(await readBare(provider, plan)) });
    rows.push({
      label: 'bare epoll reader behind a relay of bytes',
      ...(await readBehind(await startRelay(provider), plan)),
    });
    rows.push({
      label: 'bare epoll reader behind millrace serve',
      ...(await readBehind(await serveOf(provider), plan)),
    });
    for (const [client, label] of [
      ['millraceRun', 'millrace, events of a run'],
      ['aiParts', 'AI SDK, parts of the full stream'],
    ]) {
      const spread = await measure('workers/chats.mjs', { client, url: provider.url, ...plan });
      const burst = await measure('workers/chats.mjs', {
        client,
        url: provider.url,
        ...plan,
        spread: 0,
        deltas: Math.min(10, plan.deltas),
      });
      rows.push({ label, ...spread, burst50: burst.begun50, burst99: burst.begun99 });
    }
  } finally {
    await provider.stop();
  }
  const [bare, , served, millrace, ai] = rows;
  const failures = rows
    .filter(({ chats }) => chats !== plan.chats)
    .map(({ label, chats }) => `${label}: ${chats} of ${plan.chats} chats had a first token`);
  const goals = [
    atMost('spread, first token behind serve, p50', served.p50, 1, 'ms'),
    atMost('spread, behind serve, p99 over the bare reader', served.p99 / bare.p99, 2, 'x'),
    atMost('spread, first token of a run, p50', millrace.p50, 1, 'ms'),
    atMost('spread, of a run, p99 over the bare reader', millrace.p99 / bare.p99, 2, 'x'),
    atMost('burst, p50 beside AI SDK', millrace.burst50 / ai.burst50, 0.2, 'x'),
  ];
  return { rows, failures, goals: isQuick ? [] : goals };
}

const serveOf = (provider) => subjects.find(({ key }) => key === 'serve').start(provider);

async function readBehind(server, plan) {
  try {
    return await readBare(server, plan);
  } finally {
    await server.stop();
  }
}
