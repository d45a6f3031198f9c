// Many streams at once: a thousand readers, each of a provider's answer at fifty deltas a second, through one server
// process. Provider, server and readers are three processes on this machine.
import { setTimeout as sleep } from 'node:timers/promises';

import { measureBusy, perSecond } from '../support/busy-streams.mjs';
import { residentBytes } from '../support/cpu.mjs';
import { atLeast, atMost } from '../support/goals.mjs';
import { subjects } from '../support/subjects.mjs';
import { startLoad, startProvider } from '../support/traffic.mjs';

const full = { streams: 1000, deltas: 200, window: 12_000, idle: [100, 1000], rest: 500 };
const quick = { streams: 60, deltas: 25, window: 800, idle: [50, 250], rest: 150 };

export const name = 'streams';
export const title = 'Many streams at 50 deltas a second through one process';
export const columns = [
  { key: 'label', title: 'server' },
  { key: 'streams', title: 'streams' },
  { key: 'delivered', title: 'deltas/s' },
  { key: 'mainEach', title: 'JS thread us/delta', digits: 2 },
  { key: 'allEach', title: 'process us/delta', digits: 2 },
  { key: 'main', title: 'JS thread %', digits: 1 },
  { key: 'loopDelay', title: 'loop delay p99 ms', digits: 1 },
  { key: 'latencyP50', title: 'delta p50 ms', digits: 1 },
  { key: 'latencyP99', title: 'delta p99 ms', digits: 1 },
  { key: 'firstByte', title: 'first byte p99 ms', digits: 0 },
  { key: 'idleKb', title: 'idle KB/stream', digits: 1 },
  { key: 'failed', title: 'failed' },
];
export const notes = [
  'The goals for CPU and delay are for a thousand streams, in the full run. Each stream is followed by another on ' +
    'the same connection. Delta: from the write of the provider to the read of the reader. Idle: slope of resident memory ' +
    'between two numbers of idle streams (100 and 1,000 in full), in Node after V8 was told to give back what it ' +
    'can, as it does by itself after some quiet seconds. Every delta of every stream is counted.',
];

export async function run({ quick: isQuick }) {
  const plan = isQuick ? quick : full;
  const rows = [];
  for (const subject of subjects) {
    if (!isQuick || subject.isInSample) rows.push(await measureSubject(subject, plan));
  }
  const failures = rows.flatMap((row) => row.failures.map((text) => `${row.label}: ${text}`));
  return {
    rows,
    failures,
    goals: goalsOf(Object.fromEntries(rows.map((row) => [row.key, row])), isQuick),
  };
}

async function measureSubject({ key, label, isIdle, start }, plan) {
  const provider = await startProvider();
  const server = await start(provider);
  try {
    // Idle first: memory that busy streams have left behind would hide what idle ones take.
    const idleKb = await measureIdle(server, plan);
    if (isIdle) return { key, label, streams: plan.idle[1], idleKb, failures: [] };
    const busy = await measureBusy(server, plan);
    return { key, label, streams: plan.streams, ...busy, idleKb };
  } finally {
    await server.stop();
    await provider.stop();
  }
}

async function measureIdle(server, { idle: [few, many], rest }) {
  const load = await startLoad(server.port, server.path);
  const settle = async () => {
    await sleep(rest);
    await server.ask?.({ collect: true });
    return residentBytes(server.pid);
  };
  await hold(load, few);
  const before = await settle();
  await hold(load, many - few);
  const after = await settle();
  await load.ask('release');
  await load.stop();
  await sleep(rest);
  return (after - before) / 1024 / (many - few);
}

async function hold(load, count) {
  const answer = await load.ask(`hold ${count}`);
  if (answer.failure) throw new Error(answer.failure);
}

function goalsOf({ serve, pipe, web, javascript }, isQuick) {
  const always = [
    atMost('serve, JS thread', serve.main, 1, '%'),
    atMost('serve, idle stream', serve.idleKb, 25, 'KB'),
    atMost('pipeAGUI, idle stream', pipe.idleKb, 45, 'KB'),
    atMost('failed streams of millrace', serve.failed + pipe.failed + (web?.failed ?? 0), 0),
    atLeast(
      'serve, deltas delivered of those due',
      serve.delivered / (serve.streams * perSecond),
      0.95,
    ),
  ];
  if (isQuick) return always;
  const beside = pipe.mainEach / javascript.mainEach;
  return [
    ...always,
    atMost('pipeAGUI, JS thread beside the JavaScript proxy', beside, 0.5, 'x'),
    atMost('pipeAGUI, loop delay p99', pipe.loopDelay, 10, 'ms'),
    atMost('web Response, loop delay p99', web.loopDelay, 50, 'ms'),
  ];
}
