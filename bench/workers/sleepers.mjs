// Runs that sleep, and runs that a crash cut: `what` names the part. `folder` has the store, which outlives each part.
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { residentBytes } from '../support/cpu.mjs';
import { shareOf } from '../support/medians.mjs';
import { millracePath } from '../support/packages.mjs';
import { options, report } from '../support/worker.mjs';

const { what, folder, count, near, seconds } = options;
const { createRuntime } = createRequire(import.meta.url)(millracePath);
const store = join(folder, 'sleepers.db');
const open = () => createRuntime({ storage: `file:${store}` });
const far = 365 * 24 * 3600 * 1000;
const night = (runtime, name, more) =>
  runtime.job(name, async (job, input) => {
    await job.sleep('night', new Date(input.until));
    more?.(input);
  });

async function untilNone(runtime, state) {
  while ((await runtime.list({ state, limit: 1 })).runs.length > 0) await sleep(100);
}

// Rows of the one run that sleeps, again under other ids. Their records are never read here.
async function multiply(times) {
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(store);
  const columnsOf = (table) =>
    database
      .prepare('SELECT name FROM pragma_table_info(?)')
      .all(table)
      .map(({ name }) => name);
  const insert = (table, changed) => {
    const columns = columnsOf(table);
    const values = columns.map((name) => changed[name] ?? `t.${name}`);
    database.exec(
      `WITH RECURSIVE copies(k) AS (SELECT 1 UNION ALL SELECT k+1 FROM copies WHERE k<${times})` +
        ` INSERT INTO ${table}(${columns.join(', ')})` +
        ` SELECT ${values.join(', ')} FROM copies, ${table} t WHERE ${changed.where}`,
    );
  };
  const { no } = database.prepare('SELECT no FROM runs').get();
  database.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-64000; BEGIN');
  insert('runs', { no: `${no}+k`, id: 'randomblob(16)', where: `t.no=${no}` });
  insert('segments', {
    run: `${no}+k`,
    ag_ui_run: 'lower(hex(randomblob(16)))',
    where: `t.run=${no}`,
  });
  for (const table of ['journal', 'calls', 'checkpoints']) {
    const number = columnsOf(table).includes('n') ? { n: 'NULL' } : {};
    insert(table, { ...number, run: `${no}+k`, where: `t.run=${no}` });
  }
  database.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  const { content } = database
    .prepare('SELECT coalesce(sum(length(page)), 0) AS content FROM journal WHERE run=?')
    .get(no);
  database.close();
  return { runs: times + 1, content };
}

const parts = {
  // A store with `count` runs that sleep for a year.
  fill: async () => {
    const runtime = open();
    night(runtime, 'far');
    await runtime.start('far', { until: Date.now() + far });
    await untilNone(runtime, 'running');
    await runtime.close();
    const { runs, content } = await multiply(count - 1);
    return { bytesEach: statSync(store).size / runs - content, content };
  },

  // Opening it in a process that has done nothing else.
  start: async () => {
    const begun = performance.now();
    const runtime = open();
    night(runtime, 'far');
    const { runs } = await runtime.list({ limit: 1 });
    const startMs = performance.now() - begun;
    await sleep(500);
    const megabytes = residentBytes() / 2 ** 20;
    if (runs[0].state !== 'sleeping') throw new Error(`a run is ${runs[0].state}`);
    const closing = performance.now();
    await runtime.close();
    return { startMs, megabytes, closeMs: performance.now() - closing };
  },

  // `near` more of them, all due within one second.
  wake: async () => {
    const runtime = open();
    const late = [];
    const woken = new Map();
    let isOver;
    const over = new Promise((resolve) => (isOver = resolve));
    night(runtime, 'far');
    night(runtime, 'near', ({ until, n }) => {
      late.push(Date.now() - until);
      woken.set(n, (woken.get(n) ?? 0) + 1);
      if (woken.size === near) isOver();
    });
    const due = Date.now() + seconds * 1000;
    const inputs = Array.from({ length: near }, (_, n) => ({ n, until: due + (n % 1000) }));
    await Promise.all(inputs.map((input) => runtime.start('near', input)));
    const spare = due - Date.now();
    await over;
    await untilNone(runtime, 'running');
    await runtime.close();
    const twice = [...woken.values()].filter((times) => times !== 1).length;
    if (twice > 0) throw new Error(`${twice} runs woke more than once`);
    return { late50: shareOf(late, 0.5), late99: shareOf(late, 0.99), spare };
  },

  // `count` runs in the middle of a step, which a crash cuts.
  crash: async () => {
    const runtime = open();
    let begun = 0;
    runtime.job('cut', async (job) => {
      await job.step('half', () => {
        begun += 1;
        if (begun === count) process.kill(process.pid, 'SIGKILL');
        return new Promise(() => undefined);
      });
    });
    for (let n = 0; n < count; n += 100) {
      await Promise.all(Array.from({ length: 100 }, () => runtime.start('cut', null)));
    }
    await new Promise(() => undefined);
  },

  // From the opening to the moment when all of them are at work again.
  goOn: async () => {
    const begun = performance.now();
    const runtime = open();
    let entered = 0;
    const ms = await new Promise((resolve) => {
      runtime.job('cut', (job) =>
        job.step('half', () => {
          entered += 1;
          if (entered === count) resolve(performance.now() - begun);
        }),
      );
      runtime.list({ limit: 1 });
    });
    await untilNone(runtime, 'running');
    await runtime.close();
    return { ms };
  },
};

report(await parts[what]());
