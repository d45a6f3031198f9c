// Durable runs in a file: what the journal takes, beside what the disk and SQLite take at least.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { measure, start } from '../support/children.mjs';
import { busyStreams, idleReaders, stalledReaders } from '../support/durable-serve.mjs';
import { atLeast, atMost } from '../support/goals.mjs';
import { root, scratch } from '../support/paths.mjs';

export const name = 'durable';
export const title = 'Durable runs in a file, durability full';
export const columns = [
  { key: 'label', title: 'what' },
  { key: 'perSecond', title: 'events/s', digits: 0 },
  { key: 'perCpuSecond', title: 'events a CPU s', digits: 0 },
  { key: 'wal', title: 'WAL bytes an event', digits: 0 },
  { key: 'ms', title: 'ms', digits: 2 },
  { key: 'megabytesPerSecond', title: 'MB/s', digits: 0 },
  { key: 'stepsPerSecond', title: 'steps/s', digits: 0 },
  { key: 'syncs', title: 'syncs', digits: 2 },
  { key: 'bytesEach', title: 'bytes a run', digits: 0 },
  { key: 'kilobytes', title: 'KB each', digits: 1 },
  { key: 'megabytes', title: 'RSS MB', digits: 0 },
  { key: 'cpuUs', title: 'CPU µs', digits: 1 },
];
export const notes = [
  'A sync: 4 KB and fdatasync, without anything else. SQLite: node:sqlite with WAL and synchronous=FULL, 200 events a ' +
    'row and commit, without records, ledgers and readers. Events of a function are records each; pieces of a model are ' +
    'counted before they are merged. The CPU is that of all threads of the process, JavaScript and the reading of the ' +
    'model’s HTTP answer included.',
  'The first piece: from run() to the first piece of a model that answers at once, the median. Steps: of a job, one after ' +
    'the other, the median of 200 neighbours. Syncs are commits, which ' +
    'SQLite counts; a step of an agent is a turn of the model and its call of a tool of effect once. A run that ended is read as an AG-UI response.',
  'In memory: the same with storage memory. Streams at 50 deltas a second are those of the table "streams", through millrace serve ' +
    'without --storage and with it: the CPU is that of a delta, ms the 99th percentile from the provider’s write to the ' +
    'reader’s read, WAL bytes with all that a run writes. Readers read /agent/runs of a fresh millrace serve: those that read ' +
    'nothing of answers of 600 KB (RSS MB of them all), and those of a run whose model is silent.',
  'Runs in parallel: 1,000 of ten steps each that do nothing, with commits that reach the disk: of LangGraph with its SQLite saver ' +
    '(on node:sqlite, durability sync) and of Mastra’s workflows on libSQL (synchronous=FULL). DBOS is missing: its package for ' +
    'TypeScript (@dbos-inc/dbos-sdk 5.3.0) needs a PostgreSQL server.',
  'The chain of hashes: what a page of 1 and of 200 events takes on the thread of the store, one and 50 of them in a commit, and ' +
    'the hash of that page alone, which is part of it (bench/native/store_bench).',
  'Sleeping runs: copies of a job that sleeps for a year, in one file; bytes beside their journal. It is opened in a fresh ' +
    'process, until a list of one run is there; RSS half a second later. Those that are due within one second are jobs of that file; ' +
    'late is from the time to the function, which is behind the committed claim. Runs that were cut: jobs in a step, killed all ' +
    'at once; from the opening to the moment when each is in its step again.',
];

const fullSleepers = { runs: 1_000_000, due: 10_000, seconds: 30, cut: 1000 };
// A sleep leaves the memory where it is longer than five seconds, which the bounded sample does not have.
const quickSleepers = { runs: 20_000, due: 0, cut: 200 };

const worker = (what, count, more = {}) =>
  measure('workers/durable.mjs', { what, count, ...more }, { seconds: 300 });

// What runs in memory take: the same measurements without a file.
async function inMemory(isQuick, records, address) {
  const more = { address, storage: 'memory' };
  return {
    events: await worker('events', records, more),
    stream: await worker('stream', isQuick ? 10_000 : 50_000, more),
    first: await worker('first', isQuick ? 30 : 200, more),
  };
}

// A store of many runs outlives the processes that use it.
async function sleepers({ runs, due, seconds, cut }) {
  const folder = mkdtempSync(join(scratch, 'sleepers-'));
  const other = mkdtempSync(join(scratch, 'cut-'));
  const part = (what, more) =>
    measure('workers/sleepers.mjs', { what, folder, ...more }, { seconds: 600 });
  try {
    const fill = await part('fill', { count: runs });
    const opened = await part('start');
    const woken = due > 0 ? await part('wake', { near: due, seconds }) : {};
    const crash = { folder: other, count: cut };
    await part('crash', crash).catch((error) => {
      if (!error.message.includes('SIGKILL')) throw error;
    });
    const goesOn = await part('goOn', crash);
    return { runs, due, cut, ...fill, ...opened, ...woken, goOnMs: goesOn.ms };
  } finally {
    for (const one of [folder, other]) rmSync(one, { recursive: true, force: true });
  }
}

const stepPeers = [
  { who: 'langgraph', label: 'LangGraph' },
  { who: 'mastra', label: 'Mastra' },
];

// Gives { millrace, langgraph, mastra }: steps a second.
async function stepsInParallel(isQuick) {
  const found = {};
  const runs = isQuick ? 100 : 1000;
  for (const who of ['millrace', ...(isQuick ? [] : stepPeers.map((peer) => peer.who))]) {
    const options = { who, runs, steps: 10 };
    const { perSecond } = await measure('workers/durable-steps.mjs', options, { seconds: 600 });
    found[who] = perSecond;
  }
  return found;
}

function parallelRows(found) {
  const all = [{ who: 'millrace', label: 'millrace' }, ...stepPeers];
  return all
    .filter(({ who }) => found[who] !== undefined)
    .map(({ who, label }) => ({
      label: `${label}, runs in parallel`,
      stepsPerSecond: found[who],
    }));
}

// The CPU of a page in a commit and of its hash alone: {events, pages, commit, hash} each.
function chain(commits) {
  const program = join(root, 'build/release/bench/native/store_bench');
  const folder = mkdtempSync(join(scratch, 'chain-'));
  try {
    const args = [folder, String(commits)];
    return JSON.parse(execFileSync(program, args, { encoding: 'utf8', timeout: 300_000 }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const chainRows = (found) =>
  found.flatMap(({ events, pages, commit, hash }) => [
    { label: `a page of ${events}, ${pages} in a commit`, cpuUs: commit },
    { label: 'its hash', cpuUs: hash },
  ]);

// Of a commit with one page, and of an event as a run writes it.
const chainGoals = (found, events) => [
  ...found
    .filter(({ pages }) => pages === 1)
    .map(({ events: count, commit, hash }) =>
      atMost(`the hash of ${count} events in a commit`, (100 * hash) / commit, 3, '%'),
    ),
  atMost(
    'the hash in a journaled event',
    (100 * (found.at(-1).hash / found.at(-1).events) * events.perCpuSecond) / 1e6,
    3,
    '%',
  ),
];

const parallelGoals = (found) =>
  stepPeers
    .filter(({ who }) => found[who] !== undefined)
    .map(({ who, label }) =>
      atLeast(`steps in parallel, times ${label}`, found.millrace / found[who], 10, 'x'),
    );

function sleepingRows({ runs, due, cut, startMs, bytesEach, megabytes, late99, goOnMs }) {
  return [
    { label: `opening ${runs} sleeping runs`, ms: startMs, bytesEach, megabytes },
    ...(due > 0 ? [{ label: `${due} due in one second: late, p99`, ms: late99 }] : []),
    { label: `${cut} runs that were cut, at work again`, ms: goOnMs },
  ];
}

const busyRows = ({ streams, memory, durable }) =>
  Object.entries({ 'without a store': memory, durable }).map(([how, seen]) => ({
    label: `${streams} streams at 50 a second, ${how}`,
    ...{ perSecond: seen.delivered, wal: seen.wal, ms: seen.latencyP99, cpuUs: seen.allEach },
  }));

const busyGoals = ({ streams, due, memory, durable }, isQuick) => [
  atLeast(`deltas of ${streams} streams delivered of those due`, durable.delivered / due, 0.98),
  atMost('CPU a delta, times that without a store', durable.allEach / memory.allEach, 1.6, 'x'),
  atMost(
    'delta p99, beyond that without a store',
    durable.latencyP99 - memory.latencyP99,
    25,
    'ms',
  ),
  // Few share a commit where there are few.
  ...(isQuick ? [] : [atMost('WAL of many streams', durable.wal, 600, 'bytes an event')]),
];

function rowsOf({
  floor,
  sqlite,
  events,
  stream,
  first,
  steps,
  stepCount,
  syncs,
  readers,
  memory,
  busy,
  stalled,
  idle,
  parallel,
  sleeping,
  chained,
}) {
  return [
    { label: 'a sync', ms: floor.syncMs },
    { label: 'SQLite, 200 events a commit', ...sqlite },
    { label: 'events of a function', ...events },
    { label: 'events of a function, in memory', ...memory.events },
    { label: 'pieces of a model', ...stream },
    { label: 'pieces of a model, in memory', ...memory.stream },
    { label: 'first piece, without a runtime', ms: first.memoryMs },
    { label: 'first piece, in memory', ms: memory.first.durableMs },
    { label: 'first piece, durable', ms: first.durableMs },
    ...busyRows(busy),
    { label: 'step 10 of a job', ms: steps.firstMs },
    { label: `step ${stepCount}`, ms: steps.lastMs },
    { label: 'a step of a job', syncs: syncs.job },
    { label: 'a step of an agent that calls a tool', syncs: syncs.agent, ms: syncs.agentMs },
    {
      label: `a run of ${readers.megabytes.toFixed(0)} MB: first byte`,
      ...{ ms: readers.firstMs, megabytesPerSecond: readers.megabytesPerSecond },
    },
    { label: 'its last record', ms: readers.lastMs },
    { label: `${stalled.readers} readers of a run that read nothing`, megabytes: stalled.ofOne },
    { label: `${stalled.runs} runs, each with such a reader`, megabytes: stalled.ofMany },
    { label: `a reader that waits, of ${idle.readers}`, kilobytes: idle.each },
    ...parallelRows(parallel),
    ...sleepingRows(sleeping),
    ...chainRows(chained),
  ];
}

export async function run({ quick }) {
  mkdirSync(scratch, { recursive: true });
  const stepCount = quick ? 1000 : 10_000;
  const records = quick ? 20_000 : 100_000;
  const model = start('servers/streamed-model.mjs', {}, { seconds: 600 });
  try {
    const address = await model.answer();
    const found = {
      stepCount,
      floor: await worker('floor', quick ? 100 : 500),
      sqlite: await worker('sqlite', records),
      events: await worker('events', records),
      stream: await worker('stream', quick ? 10_000 : 50_000, { address }),
      first: await worker('first', quick ? 30 : 200, { address }),
      steps: await worker('steps', stepCount),
      syncs: await worker('syncs', quick ? 50 : 200),
      readers: await worker('readers', records, { address }),
      memory: await inMemory(quick, records, address),
      busy: await busyStreams(quick),
      stalled: await stalledReaders(quick),
      idle: await idleReaders(quick),
      parallel: await stepsInParallel(quick),
      sleeping: await sleepers(quick ? quickSleepers : fullSleepers),
      chained: chain(quick ? 50 : 300),
    };
    const failures = [found.busy.memory, found.busy.durable].flatMap((seen) => seen.failures);
    return { rows: rowsOf(found), goals: goalsOf(found, quick), failures };
  } finally {
    await model.stop();
  }
}

function goalsOf(found, isQuick) {
  const { floor, events, stream, first, steps, stepCount, readers, parallel, sleeping } = found;
  const { syncs, stalled, idle } = found;
  const [durable, sync] = [first.durableMs, floor.syncMs];
  return [
    atLeast('journaled events on one core', events.perCpuSecond, 100_000, 'a second'),
    atMost('WAL of one fast stream', stream.wal, 300, 'bytes an event'),
    atMost('first piece, beyond two syncs', durable - 2 * sync, 2, 'ms'),
    atMost(`step ${stepCount}, times step 10`, steps.lastMs / steps.firstMs, 1.1),
    atMost('a step, beyond one sync', steps.lastMs - sync, 1, 'ms'),
    atMost('syncs of a step of a job', syncs.job, 1),
    atMost('syncs of a step of an agent', syncs.agent, 2),
    atMost('a step of an agent, beyond its syncs', syncs.agentMs - syncs.agent * sync, 1, 'ms'),
    ...busyGoals(found.busy, isQuick),
    atMost('first byte of a long run', readers.firstMs, 20, 'ms'),
    atMost('its last record', readers.lastMs, 150, 'ms'),
    atLeast('a long run, whole', readers.megabytesPerSecond, 100, 'MB/s'),
    atMost('readers of a run that read nothing', stalled.ofOne, 64, 'MiB'),
    atMost('runs, each with such a reader', stalled.ofMany, 64, 'MiB'),
    atMost('a reader that waits', idle.each, 12, 'KB'),
    ...parallelGoals(parallel),
    atMost('a sleeping run, beside its journal', sleeping.bytesEach, 1024, 'bytes'),
    atMost('opening them', sleeping.startMs, 500, 'ms'),
    atMost('opening them, memory', sleeping.megabytes, 80, 'MB'),
    ...(sleeping.due > 0 ? [atMost('due to claimed, p99', sleeping.late99, 100, 'ms')] : []),
    atMost('cut runs at work again', sleeping.goOnMs, 2000, 'ms'),
    ...chainGoals(found.chained, events),
  ];
}
