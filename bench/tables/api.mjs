// Chat jobs over HTTP that are recorded: the Runtime API beside the servers of frameworks and one by hand.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { measure, start } from '../support/children.mjs';
import { protocols } from '../support/chat-protocols.mjs';
import { residentBytes } from '../support/cpu.mjs';
import { atLeast, atMost } from '../support/goals.mjs';
import { openLane } from '../support/http-lane.mjs';
import { scratch } from '../support/paths.mjs';
import { startProvider } from '../support/traffic.mjs';

const full = {
  lanes: 64,
  jobs: 8000,
  seconds: 5,
  streams: 200,
  deltas: 100,
  idle: [50, 300],
  readers: [50, 1000],
};
const quick = {
  lanes: 16,
  jobs: 160,
  seconds: 0.5,
  streams: 20,
  deltas: 25,
  idle: [10, 40],
  readers: [5, 20],
};
const perSecond = 50;
const rest = 300;
const last = 'the last piece';

const subjects = [
  {
    key: 'millrace',
    label: 'millrace, Runtime API',
    file: 'chat-millrace',
    protocol: 'jobs',
    isInSample: true,
  },
  {
    key: 'hand',
    label: 'Express and node:sqlite',
    file: 'chat-express',
    protocol: 'jobs',
    isInSample: true,
  },
  { key: 'mastra', label: 'Mastra’s server, libSQL', file: 'chat-mastra', protocol: 'mastra' },
  {
    key: 'langgraph',
    label: 'LangGraph’s server, in memory',
    file: 'chat-langgraph',
    protocol: 'langgraph',
  },
];

export const name = 'api';
export const title = 'Recorded chat jobs over HTTP';
export const columns = [
  { key: 'label', title: 'server' },
  { key: 'perSecond', title: 'jobs/s', digits: 0 },
  { key: 'cpuMs', title: 'CPU ms/job', digits: 2 },
  { key: 'cpuEach', title: 'CPU us/delta', digits: 1 },
  { key: 'first50', title: 'first event p50 ms', digits: 1 },
  { key: 'first99', title: 'first event p99 ms', digits: 1 },
  { key: 'idleKb', title: 'KB/stream', digits: 1 },
  { key: 'readerKb', title: 'KB/reader', digits: 1 },
];
export const notes = [
  `Jobs: ${full.lanes} clients at a time, each with one answer of 20 pieces after the other, each in a conversation of its own. ` +
    `Deltas and first events: ${full.streams} answers of ${full.deltas} pieces at ${perSecond} a second; the CPU is that of all threads of ` +
    'the server, from the request to the end. First event: from the request for the job to the first event of its stream. KB a ' +
    `stream: slope of resident memory from ${full.idle[0]} to ${full.idle[1]} open answers. KB a reader: the same slope from ${full.readers[0]} to ` +
    `${full.readers[1]} readers of the events of one answer, which has no more for them.`,
  'Durability is the same in the first three: what counts as stored is on the disk. The first two commit at most 10 ms after an ' +
    'event and show it then; Mastra stores messages and no events, here with synchronous=FULL; LangGraph’s own server stores ' +
    'nothing before it answers, and has as many workers as there are clients.',
];

export async function run({ quick: isQuick }) {
  const plan = isQuick ? quick : full;
  mkdirSync(scratch, { recursive: true });
  const provider = await startProvider([shortAnswer()]);
  const rows = [];
  try {
    for (const subject of subjects) {
      if (!isQuick || subject.isInSample) rows.push(await measureSubject(subject, provider, plan));
    }
  } finally {
    await provider.stop();
  }
  return { rows, failures: [], goals: goalsOf(rows) };
}

// What the provider replays: twenty pieces.
function shortAnswer() {
  const file = join(scratch, 'short-answer.bin');
  const record = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'example' },
      choices: [{ index: 0, delta, finish_reason }],
    })}\n\n`;
  const pieces = Array.from({ length: 19 }, (_, n) => record({ content: `piece ${n} ` }));
  const first = record({ role: 'assistant', content: '' });
  const end = `${record({ content: last })}${record({}, 'stop')}data: [DONE]\n\n`;
  writeFileSync(file, `${first}${pieces.join('')}${end}`);
  return file;
}

async function measureSubject({ key, label, file, protocol }, provider, plan) {
  const { lanes, jobs, seconds, streams, deltas } = plan;
  const load = (port, pid, how, more) =>
    measure('workers/chat-load.mjs', { how, protocol, port, pid, ...more }, { seconds: 200 });
  const idleKb = await withServer(file, provider, plan, (server) =>
    measureIdle(server, protocols[protocol], plan),
  );
  const readerKb = await withServer(file, provider, plan, (server) =>
    measureReaders(server, protocols[protocol], plan),
  );
  const paced = await withServer(file, provider, plan, async ({ port, pid }) => {
    const message = (count) => `[paced ${count} ${perSecond}]`;
    // Compiled before it is measured.
    await load(port, pid, 'paced', { lanes: 10, deltas: 10, message: message(10) });
    return load(port, pid, 'paced', { lanes: streams, deltas, message: message(deltas) });
  });
  const short = await withServer(file, provider, plan, ({ port, pid }) =>
    load(port, pid, 'jobs', { lanes, jobs, seconds, message: '[replay]', last }),
  );
  return { key, label, ...short, ...paced, idleKb, readerKb };
}

async function withServer(file, provider, plan, work) {
  const folder = mkdtempSync(join(scratch, `${file}-`));
  const atOnce = Math.max(plan.lanes, plan.streams, plan.idle[1]);
  const options = { provider: provider.url, folder, atOnce };
  const server = start(`servers/${file}.mjs`, options, {
    seconds: 300,
    env: { LOG_LEVEL: 'error' },
  });
  try {
    const { port } = await server.answer();
    return await work({ ...server, port });
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

// Bytes of resident memory that each lane costs, as KB: the slope between two counts of them. `open` opens one.
// The server is stopped with the streams: their answers never end.
async function slopeOf(server, [few, many], open) {
  const lanes = [];
  const hold = async (count) => {
    for (let opened = 0; opened < count; opened += 10) {
      const more = Array.from({ length: Math.min(10, count - opened) }, async () => {
        const lane = await openLane(server.port);
        lanes.push(lane);
        await open(lane);
      });
      await Promise.all(more);
    }
    await sleep(rest);
    await server.ask({ collect: true });
    return residentBytes(server.pid);
  };
  const before = await hold(few);
  const after = await hold(many - few);
  for (const lane of lanes) lane.close();
  return (after - before) / 1024 / (many - few);
}

// Resolves with the first event; only the end of the connection ends what goes on, which is wanted.
const firstOf = (begin) =>
  new Promise((resolve, reject) => {
    begin(resolve).catch(reject);
  });

function measureIdle(server, protocol, { idle }) {
  return slopeOf(server, idle, async (lane) => {
    const conversation = await protocol.conversation(lane);
    await firstOf((onFirst) => protocol.turn(lane, conversation, '[hold]', onFirst));
  });
}

// Readers of one answer that has stopped for the time being; undefined where the protocol lets nobody join.
async function measureReaders(server, protocol, { readers }) {
  if (!protocol.begin) return undefined;
  const lane = await openLane(server.port);
  const job = await protocol.begin(lane, await protocol.conversation(lane), '[hold]');
  try {
    return await slopeOf(server, readers, (reader) =>
      firstOf((onFirst) => protocol.read(reader, job, onFirst)),
    );
  } finally {
    lane.close();
  }
}

function goalsOf(rows) {
  const { millrace, hand, mastra, langgraph } = Object.fromEntries(
    rows.map((row) => [row.key, row]),
  );
  const beside = (text, other, times) =>
    other === undefined
      ? []
      : [
          atLeast(`jobs/s, times ${text}`, millrace.perSecond / other.perSecond, times, 'x'),
          atLeast(`CPU a delta, of ${text}`, other.cpuEach / millrace.cpuEach, times, 'x'),
        ];
  return [
    atMost('KB an idle reader', millrace.readerKb, 12, 'KB'),
    ...beside('the server by hand', hand, 3),
    ...beside('Mastra', mastra, 10),
    ...beside('LangGraph', langgraph, 10),
  ];
}
