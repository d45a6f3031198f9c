// Readers of recorded runs that read little: what is ahead of them stays in the store.
import { createRuntime, type Runtime } from 'millrace';

import { cleanUp, makeStore } from '../support/durable-child';

const pieces = 4000;
const text = 'word '.repeat(40);
const runtimes: Runtime[] = [];

afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

// A run that has ended, of about a megabyte.
async function longRun(): Promise<{ runtime: Runtime; id: string; last: number }> {
  const { store } = makeStore();
  const runtime = createRuntime({ storage: `file:${store}` });
  runtimes.push(runtime);
  const agent = runtime.agent('work', async (_turn, context) => {
    for (let piece = 0; piece < pieces; piece++) await context.emit('piece', text);
  });
  const { id } = await agent.start('Go.');
  const run = runtime.attach(id);
  await run.result;
  return { runtime, id, last: run.lastSeq };
}

// Until nothing more is read.
async function atRest(seq: () => number): Promise<number> {
  for (let before = -1; ;) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const now = seq();
    if (now === before) return now;
    before = now;
  }
}

describe('a loop that stops reading', () => {
  it('has a small part of the run in memory, and gets the rest when it goes on', async () => {
    const { runtime, id, last } = await longRun();
    const run = runtime.attach(id);
    const events = run[Symbol.asyncIterator]();
    await events.next();
    expect(await atRest(() => run.lastSeq)).toBeLessThan(last / 10);
    const types: string[] = [];
    for await (const { type } of { [Symbol.asyncIterator]: () => events }) types.push(type);
    expect(types.filter((type) => type === 'CUSTOM')).toHaveLength(pieces);
    expect(run.lastSeq).toBe(last);
  });

  it('does not hold up who waits for the end', async () => {
    const { runtime, id, last } = await longRun();
    const run = runtime.attach(id);
    const events = run[Symbol.asyncIterator]();
    await events.next();
    await atRest(() => run.lastSeq);
    expect((await run.result).status).toBe('completed');
    expect(run.lastSeq).toBe(last);
    await events.return?.();
  });
});
