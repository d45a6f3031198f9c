// What becomes of runs that ended: their records take less room, are removed later, or are deleted.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { createRuntime, MillraceError, type Runtime, type RuntimeOptions } from 'millrace';

import { eventsOf } from '../../support/agents';
import { cleanUp, makeStore } from '../support/durable-child';

const runtimes: Runtime[] = [];
afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

function runtimeOf(
  storage: RuntimeOptions['storage'],
  more: Partial<RuntimeOptions> = {},
): Runtime {
  const runtime = createRuntime({ storage, ...more });
  runtimes.push(runtime);
  return runtime;
}

const fileStore = (): `file:${string}` => `file:${makeStore().store}`;

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const planted = 'the planted words of this run';
const question = { messages: [{ id: 'q', role: 'user' as const, content: planted }] };

/** A run that ended, in a store that is closed again. Gives its id. */
async function endedRun(storage: `file:${string}`): Promise<string> {
  const runtime = runtimeOf(storage, { retention: { compactMs: false } });
  const agent = runtime.agent('work', async (_turn, ctx) => {
    for (let at = 0; at < 20; ++at) await ctx.send(`${planted} ${at}`);
    return 'done';
  });
  const run = agent.run(question, { threadId: 't', runId: 'r', principal: 'ada' });
  await eventsOf(run);
  await runtime.close();
  return run.id;
}

/** What a reader gets behind each record. */
async function readings(runtime: Runtime, id: string): Promise<unknown[]> {
  const all: unknown[] = [];
  const run = runtime.attach(id);
  for (let after = 0; ; ++after) {
    const records = [];
    for await (const record of run.records({ after })) records.push(record);
    if (records.length === 0) return all;
    all.push(records);
  }
}

/** A runtime on the store, whose sweep has ended. */
async function swept(
  storage: RuntimeOptions['storage'],
  retention: RuntimeOptions['retention'],
): Promise<Runtime> {
  const runtime = runtimeOf(storage, { retention });
  // The sweep begins with the first agent, before a run of it is stored.
  runtime.agent('work', () => 'again');
  const first = runtime.agent('other', () => 'other').run('Hello.');
  await eventsOf(first);
  return runtime;
}

const isIn = (storage: string, text: string): boolean => {
  const folder = dirname(storage.slice('file:'.length));
  return readdirSync(folder).some((name) => readFileSync(join(folder, name)).includes(text));
};

async function errorOf(work: Promise<unknown>): Promise<MillraceError> {
  try {
    await work;
  } catch (error) {
    return error as MillraceError;
  }
  throw new Error('nothing failed');
}

describe('the records of a run that ended', () => {
  it('give the same events in less room, behind every record', async () => {
    const storage = fileStore();
    const id = await endedRun(storage);
    const whole = await readings(await swept(storage, { compactMs: false }), id);
    expect(whole.length).toBeGreaterThan(40);
    await runtimes.pop()?.close();
    const runtime = await swept(storage, { compactMs: 0 });
    expect(await readings(runtime, id)).toEqual(whole);
  });

  it('are removed; its row and messages stay', async () => {
    const storage = fileStore();
    const id = await endedRun(storage);
    const runtime = await swept(storage, { recordsMs: 0 });
    const error = await errorOf(runtime.attach(id).text());
    expect(error).toMatchObject({ code: 'run_not_found' });
    expect(error.message).toContain('removed');
    expect(await runtime.get(id)).toMatchObject({ state: 'completed', recordsRemoved: true });
    const { thread } = runtime.storage({ principal: 'ada' });
    expect((await thread.getMessages('t')).length).toBeGreaterThan(20);
    const args = ['runs', 'show', id, '--storage', storage];
    const shown = spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' });
    expect(shown).toMatchObject({ status: 0, stderr: '' });
    expect(shown.stdout).toMatch(/^ {2}state +completed$/m);
    expect(shown.stdout).toMatch(/^ {2}records +\d+, removed; /m);
    const again = spawnSync(process.execPath, [cli, 'runs', 'tail', ...args.slice(2)]);
    expect(again.status).toBe(1);
    expect(String(again.stderr)).toContain('were removed');
  });
});

describe('a run that is deleted', () => {
  it('is in no file of the store', async () => {
    const storage = fileStore();
    const id = await endedRun(storage);
    const runtime = runtimeOf(storage);
    expect(isIn(storage, planted)).toBe(true);
    await runtime.delete(id);
    expect(isIn(storage, planted)).toBe(false);
    expect(await runtime.get(id)).toBeUndefined();
    expect(await errorOf(runtime.delete(id))).toMatchObject({ code: 'run_not_found' });
    const { thread } = runtime.storage({ principal: 'ada' });
    expect(await thread.getMessages('t')).toEqual([]);
  });

  it('must be over', async () => {
    const runtime = runtimeOf('memory');
    const agent = runtime.agent('work', async (_turn, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve));
    });
    const run = agent.run('Go.');
    await run.started;
    const error = await errorOf(runtime.delete(run.id));
    expect(error).toMatchObject({ code: 'invalid_state' });
    expect(error.message).toContain('Stop it first');
    await runtime.stop(run.id);
    await eventsOf(run).catch(() => undefined);
    await runtime.delete(run.id);
    expect(await runtime.get(run.id)).toBeUndefined();
  });
});

describe('retention', () => {
  it.each([
    [5, 'an object'],
    [{ recordsMs: -1 }, 'recordsMs'],
    [{ compactMs: 'soon' }, 'compactMs'],
    [{ eventsMs: 1 }, 'eventsMs'],
  ])('is checked: %j', (retention, named) => {
    const make = (): unknown =>
      createRuntime({ storage: 'memory', retention } as unknown as RuntimeOptions);
    expect(make).toThrow(MillraceError);
    expect(make).toThrow(named);
  });
});
