// Recorded runs behind `millrace serve`: many streams at a pace, readers that read nothing, readers that wait.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { measureBusy, perSecond } from './busy-streams.mjs';
import { residentBytes } from './cpu.mjs';
import { openLane } from './http-lane.mjs';
import { scratch } from './paths.mjs';
import { startServe } from './subjects.mjs';
import { startLoad, startProvider } from './traffic.mjs';
import { watchLog } from './wal.mjs';

const full = {
  busy: { streams: 1000, deltas: 200, window: 12_000 },
  stalled: { readers: 1000, runs: 1000 },
  idle: [1000, 10_000],
};
const quick = {
  busy: { streams: 60, deltas: 100, window: 1000 },
  stalled: { readers: 100, runs: 20 },
  idle: [50, 250],
};
// More than the sockets of a reader that asks for little hold.
const answerBytes = 600_000;
const pieceBytes = 100;

// With a store in a folder of its own, whose servers come one after the other.
async function withStore(files, work) {
  const folder = mkdtempSync(join(scratch, 'serve-'));
  const provider = await startProvider(files);
  const store = join(folder, 'runs.db');
  const serve = async (part) => {
    const server = await startServe(provider, ['--storage', `file:${store}`]);
    try {
      return await part(server);
    } finally {
      await server.stop();
    }
  };
  try {
    return await work(serve, store, folder);
  } finally {
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inMemory(plan) {
  const provider = await startProvider();
  const server = await startServe(provider);
  try {
    return await measureBusy(server, plan);
  } finally {
    await server.stop();
    await provider.stop();
  }
}

/** Gives what measureBusy does without a store and with one, there with `wal`: bytes of the log for each delta. */
export async function busyStreams(isQuick) {
  const plan = (isQuick ? quick : full).busy;
  const memory = await inMemory(plan);
  const durable = await withStore([], (serve, store) =>
    serve(async (server) => {
      const written = watchLog(store);
      const seen = await measureBusy(server, plan, { merged: true });
      return { ...seen, wal: written() / (seen.finished * plan.deltas) };
    }),
  );
  return { streams: plan.streams, due: plan.streams * perSecond, memory, durable };
}

function longAnswer(folder) {
  const file = join(folder, 'long-answer.bin');
  const record = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({
      ...{ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'example' },
      choices: [{ index: 0, delta, finish_reason }],
    })}\n\n`;
  const piece = record({ content: 'word '.repeat(pieceBytes / 5) });
  const first = record({ role: 'assistant', content: '' });
  writeFileSync(
    file,
    `${first}${piece.repeat(answerBytes / pieceBytes)}${record({}, 'stop')}data: [DONE]\n\n`,
  );
  return file;
}

const begin = (lane, id, content, onBody) => {
  const messages = [{ id: 'm', role: 'user', content }];
  const body = {
    threadId: id,
    runId: id,
    messages,
    tools: [],
    context: [],
    state: {},
    forwardedProps: {},
  };
  return lane.ask(
    { method: 'POST', path: '/agent', headers: { accept: 'text/event-stream' }, body },
    onBody,
  );
};

async function makeRuns({ port }, count) {
  const lanes = await Promise.all(Array.from({ length: 8 }, () => openLane(port)));
  let made = 0;
  await Promise.all(
    lanes.map(async (lane) => {
      for (let number = made++; number < count; number = made++) {
        const { status } = await begin(lane, `run-${number}`, '[replay]');
        if (status !== 200) throw new Error(`the answer of a run: ${status}`);
      }
    }),
  );
  for (const lane of lanes) lane.close();
}

// Resident memory once it stays as it is.
async function settled(pid) {
  const [least, looks] = [1 << 20, 40];
  let [last, calm] = [residentBytes(pid), 0];
  for (let look = 0; look < looks && calm < 4; look++) {
    await sleep(250);
    const now = residentBytes(pid);
    calm = Math.abs(now - last) < least ? calm + 1 : 0;
    last = now;
  }
  return last;
}

// MB of so many readers that ask for `path` and read nothing.
async function stalledAt(server, readers, path) {
  const lane = await openLane(server.port);
  await lane.ask({ method: 'GET', path: '/agent/runs/run-0?after=0' });
  lane.close();
  const load = await startLoad(server.port, server.path);
  const before = await settled(server.pid);
  await load.ask(`stall ${readers} ${path}`);
  const after = await settled(server.pid);
  await load.stop();
  return (after - before) / 2 ** 20;
}

/** Gives the MB of readers that read nothing: all of one run, and one each of many. */
export function stalledReaders(isQuick) {
  const { readers, runs } = (isQuick ? quick : full).stalled;
  const folder = mkdtempSync(join(scratch, 'answer-'));
  const work = withStore([longAnswer(folder)], async (serve) => {
    await serve((server) => makeRuns(server, runs));
    const ofOne = await serve((server) => stalledAt(server, readers, '/agent/runs/run-0?after=0'));
    const ofMany = await serve((server) => stalledAt(server, runs, '/agent/runs/run-%?after=0'));
    return { readers, runs, ofOne, ofMany };
  });
  return work.finally(() => rmSync(folder, { recursive: true, force: true }));
}

/** Gives the KB of a reader of one run whose model is silent: the slope between two numbers of them. */
export function idleReaders(isQuick) {
  const [few, many] = (isQuick ? quick : full).idle;
  return withStore([], (serve) =>
    serve(async (server) => {
      const lane = await openLane(server.port);
      await new Promise((resolve, reject) => {
        begin(lane, 'held', '[hold]', resolve).catch(reject);
      });
      // The run goes on.
      lane.close();
      const load = await startLoad(server.port, server.path);
      const attach = async (count) => {
        const { failure } = await load.ask(`attach ${count} /agent/runs/held?after=0`);
        if (failure) throw new Error(failure);
        return settled(server.pid);
      };
      const before = await attach(few);
      const after = await attach(many - few);
      await load.stop();
      return { readers: many, each: (after - before) / 1024 / (many - few) };
    }),
  );
}
