// Measures one side of durable runs in a file: `what` names it. Reports its figures.
import { fdatasyncSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import { median, shareOf } from '../support/medians.mjs';
import { millracePath } from '../support/packages.mjs';
import { scratch } from '../support/paths.mjs';
import { commits } from '../support/wal.mjs';
import { options, report } from '../support/worker.mjs';

// `storage` in place of a file.
const { what, address, count, storage } = options;
const { createAgent, createRuntime, tool } = createRequire(import.meta.url)(millracePath);
const folder = mkdtempSync(join(scratch, 'durable-'));
const store = join(folder, 'runs.db');
const open = () => createRuntime({ storage: storage ?? `file:${store}` });
const walBytes = () => statSync(`${store}-wal`, { throwIfNoEntry: false })?.size ?? 0;

// A model that calls a tool `turns` times, each answer in one piece.
function callingModel(turns) {
  let turn = 0;
  const frame = (delta, finish) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const server = createServer((request, response) => {
    request.resume();
    turn += 1;
    const call = {
      ...{ index: 0, id: `call_${turn}`, type: 'function' },
      function: { name: 'work', arguments: '{}' },
    };
    const answer =
      turn <= turns
        ? frame({ role: 'assistant', tool_calls: [call] }, 'tool_calls')
        : frame({ role: 'assistant', content: 'done' }, 'stop');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`${answer}data: [DONE]\n\n`);
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const agentOf = (more) =>
  createAgent({
    model: 'openai:streamed',
    provider: { baseURL: address, apiKey: 'k' },
    ...more,
  });

async function timed(work) {
  const [begin, cpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { seconds: (performance.now() - begin) / 1000, cpuSeconds: (user + system) / 1e6 };
}

// A run of a function that shows `events` events.
async function longRun(runtime, events) {
  const emitter = runtime.agent('emitter', async (_turn, context) => {
    for (let n = 0; n < events; n++) await context.emit('piece', n);
  });
  const { id } = await emitter.start('go', { principal: 'all' });
  await runtime.attach(id).result;
  return id;
}

const measurements = {
  // What the disk takes at least: a page of the file's log, and a sync.
  floor: () => {
    const file = openSync(join(folder, 'floor'), 'w');
    const page = Buffer.alloc(4120, 1);
    const times = [];
    for (let n = 0; n < count; n++) {
      const begin = performance.now();
      writeSync(file, page);
      fdatasyncSync(file);
      times.push(performance.now() - begin);
    }
    return { syncMs: median(times) };
  },

  // The same with SQLite as it comes with Node: rows of 200 events, each committed for good.
  sqlite: async () => {
    const { DatabaseSync } = await import('node:sqlite');
    const database = new DatabaseSync(join(folder, 'floor.db'));
    database.exec(
      'PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE t(n INTEGER PRIMARY KEY, page BLOB)',
    );
    const insert = database.prepare('INSERT INTO t(page) VALUES (?)');
    const page = Buffer.alloc(200 * 20, 1);
    const { cpuSeconds, seconds } = await timed(() => {
      for (let n = 0; n < count; n += 200) insert.run(page);
    });
    database.close();
    return { perSecond: count / seconds, perCpuSecond: count / cpuSeconds };
  },

  // Events of a function, all of them records.
  events: async () => {
    const runtime = open();
    await longRun(runtime, 1000);
    const { seconds, cpuSeconds } = await timed(() => longRun(runtime, count));
    await runtime.close();
    return { perSecond: count / seconds, perCpuSecond: count / cpuSeconds };
  },

  // One fast stream: pieces of a model's answer.
  stream: async () => {
    const runtime = open();
    const agent = agentOf({ runtime, name: 'streamer' });
    await agent.run('10').text();
    let most = walBytes();
    const before = most;
    const timer = setInterval(() => (most = Math.max(most, walBytes())), 5);
    const run = agent.run(String(count));
    const { seconds, cpuSeconds } = await timed(() => run.text());
    clearInterval(timer);
    const wal = Math.max(most, walBytes()) - before;
    await runtime.close();
    const inFile = storage ? {} : { wal: wal / count };
    return { perSecond: count / seconds, perCpuSecond: count / cpuSeconds, ...inFile };
  },

  // From the call to the first piece of the answer, without a runtime and with one in turns.
  first: async () => {
    const runtime = open();
    const agents = { memory: agentOf({}), durable: agentOf({ runtime, name: 'first' }) };
    const times = { memory: [], durable: [] };
    for (let n = 0; n < count + 20; n++) {
      for (const [name, agent] of Object.entries(agents)) {
        const begin = performance.now();
        const run = agent.run('10');
        for await (const { type } of run) {
          if (type !== 'TEXT_MESSAGE_CONTENT') continue;
          if (n >= 20) times[name].push(performance.now() - begin);
          break;
        }
        await run.result;
      }
    }
    await runtime.close();
    return { memoryMs: median(times.memory), durableMs: median(times.durable) };
  },

  // Steps of one job, one after the other.
  steps: async () => {
    const runtime = open();
    const times = [];
    const job = runtime.job('steps', async (self) => {
      for (let n = 0; n < count; n++) {
        const begin = performance.now();
        await self.step('step', () => n);
        times.push(performance.now() - begin);
      }
    });
    await job.run(null);
    await runtime.close();
    // Of neighbours, since one sync is as long as the disk likes.
    const around = Math.min(200, Math.floor(count / 10));
    return {
      firstMs: median(times.slice(5, 5 + around)),
      lastMs: median(times.slice(-around)),
      worstMs: shareOf(times, 0.99),
    };
  },

  // How many syncs a step takes: of a job, and of an agent (a turn of the model and its call of a tool), and how long
  // the latter takes.
  syncs: async () => {
    const runtime = open();
    let before;
    let job;
    const steps = runtime.job('steps', async (self) => {
      await self.step('first', () => 0);
      before = commits(store);
      for (let n = 0; n < count; n++) await self.step('step', () => n);
      job = (commits(store) - before) / count;
    });
    await steps.run(null);
    const marks = [];
    const begun = [];
    const work = tool({
      name: 'work',
      run: () => {
        marks.push(commits(store));
        begun.push(performance.now());
        return 'ok';
      },
    });
    const server = await callingModel(count);
    const agent = createAgent({
      ...{ model: 'openai:calling', tools: [work], runtime, name: 'calls' },
      provider: { baseURL: `http://127.0.0.1:${server.address().port}/v1`, apiKey: 'k' },
      limits: { maxSteps: count + 1, maxRepeats: count + 1 },
    });
    await agent.run('go').result;
    await runtime.close();
    server.closeAllConnections();
    server.close();
    if (marks.length !== count) throw new Error(`the tool was called ${marks.length} times`);
    const times = begun.slice(1).map((time, step) => time - begun[step]);
    const each = (marks.at(-1) - marks[0]) / times.length;
    return { job, agent: each, agentMs: median(times) };
  },

  // Readers of a run that ended.
  readers: async () => {
    const runtime = open();
    const id = await longRun(runtime, count);
    const { lastSeq } = await runtime.get(id);
    const agent = agentOf({
      ...{ runtime, name: 'reader', authorize: () => ({ principal: 'all' }) },
    });
    const read = async (after) => {
      const begin = performance.now();
      const response = await runtimeResponse(agent, id, after);
      let [bytes, firstMs] = [0, 0];
      for await (const piece of response.body) {
        firstMs ||= performance.now() - begin;
        bytes += piece.length;
      }
      return { bytes, firstMs, seconds: (performance.now() - begin) / 1000 };
    };
    const rounds = 5;
    const [wholes, ends] = [[], []];
    for (let n = 0; n < rounds; n++) {
      wholes.push(await read(0));
      // The last records are facts, which no reader sees.
      ends.push(await read(lastSeq - 10));
    }
    await runtime.close();
    const { bytes } = wholes[0];
    return {
      megabytes: bytes / 1e6,
      firstMs: median(wholes.map(({ firstMs }) => firstMs)),
      lastMs: median(ends.map(({ firstMs }) => firstMs)),
      megabytesPerSecond: bytes / 1e6 / median(wholes.map(({ seconds }) => seconds)),
    };
  },
};

async function runtimeResponse(agent, id, after) {
  const request = new Request(`http://localhost/agent/runs/${id}?after=${after}`);
  const response = await agent.handler(request);
  if (response.status !== 200) throw new Error(`status ${response.status}`);
  return response;
}

try {
  report(await measurements[what]());
} finally {
  rmSync(folder, { recursive: true, force: true });
}
