// Jobs: steps that answer from the ledger, what a job waits for, and what becomes of it when its process is killed.
import { createRuntime, type JobContext, type Runtime } from 'millrace';

import { cleanUp, makeStore, startChild } from '../support/durable-child';

const runtimes: Runtime[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

function runtimeOf(): Runtime {
  const runtime = createRuntime({ storage: 'memory' });
  runtimes.push(runtime);
  return runtime;
}

const silent = () => jest.spyOn(console, 'error').mockImplementation(() => undefined);

describe('a job', () => {
  it('sleeps no longer where the clock is set back meanwhile', async () => {
    const runtime = runtimeOf();
    const job = runtime.job('sleeper', async (self: JobContext) => {
      const slept = self.sleep('short', 700);
      await self.step('set back', async () => {
        await new Promise((resolve) => setTimeout(resolve, 200));
        const now = Date.now.bind(Date);
        jest.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
      });
      await slept;
      return 'woke';
    });
    expect(await job.run(null)).toBe('woke');
  });

  it('gets its input, does its steps and gives a result', async () => {
    const runtime = runtimeOf();
    const job = runtime.job(
      'sum',
      async (self: JobContext, { numbers }: { numbers: number[] }) => {
        const doubled = await Promise.all(
          numbers.map((n) => self.step('double', ({ key }) => ({ n: n * 2, key }))),
        );
        await self.progress({ done: doubled.length });
        return doubled;
      },
      { version: '3' },
    );
    const { id } = await job.start({ numbers: [1, 2] }, { principal: 'ada' });
    const events = [];
    for await (const event of runtime.attach(id)) events.push(event);
    expect(events).toMatchObject([
      { type: 'RUN_STARTED', threadId: id },
      { type: 'CUSTOM', value: { name: 'progress', detail: { done: 2 } } },
      { type: 'RUN_FINISHED', result: { reason: 'completed' } },
    ]);
    const result = [
      { n: 2, key: `${id}/double#1` },
      { n: 4, key: `${id}/double#2` },
    ];
    expect(await runtime.get(id)).toMatchObject({
      ...{ kind: 'job', name: 'sum', version: '3', state: 'completed', principal: 'ada', result },
    });
    expect(await runtime.attach(id).result).toMatchObject({ status: 'completed', value: result });
    expect(await job.run({ numbers: [3] })).toMatchObject([{ n: 6 }]);
  });

  it('is begun once by its key', async () => {
    const runtime = runtimeOf();
    let entered = 0;
    const job = runtime.job('once', () => (entered += 1));
    const options = { idempotencyKey: 'k' };
    const [one, other] = [await job.start(1, options), await job.start(1, options)];
    expect(other.id).toBe(one.id);
    await expect(job.start(2, options)).rejects.toMatchObject({ code: 'run_conflict' });
    expect(await runtime.attach(one.id).result).toMatchObject({ value: 1 });
  });

  it('tries a step again, within its time', async () => {
    silent();
    const runtime = runtimeOf();
    const seen: number[] = [];
    const job = runtime.job('retry', async (self) => {
      const third = await self.step(
        'flaky',
        ({ attempt }) => {
          seen.push(attempt);
          if (attempt < 3) throw new Error('not yet');
          return 'third';
        },
        { retries: 5, backoff: (attempt) => attempt },
      );
      const late = await self
        .step('slow', () => new Promise(() => undefined), { timeoutMs: 5 })
        .catch((error: unknown) => (error as { code: string }).code);
      const odd = await self
        .step('odd', () => 1n)
        .catch((error: unknown) => (error as { code: string }).code);
      return [third, late, odd];
    });
    expect(await job.run(null)).toEqual(['third', 'timeout', 'state_not_serializable']);
    expect(seen).toEqual([1, 2, 3]);
  });

  it('fails with what it threw, and rejects names that it cannot have', async () => {
    silent();
    const runtime = runtimeOf();
    const job = runtime.job('bad', (self, name: string) => self.step(name, () => 1));
    await expect(job.run('')).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(job.run('event:x')).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(() => runtime.job('', () => 1)).toThrow(/needs a name/);
    expect(() => runtime.job('x', 3 as never)).toThrow(/needs a function/);
    await expect(runtime.send('run_0', 'x')).rejects.toMatchObject({ code: 'run_not_found' });
  });

  it('does nothing more once it has ended', async () => {
    const runtime = runtimeOf();
    const did: string[] = [];
    runtime.job('child', () => did.push('child'));
    let late: Promise<unknown[]> | undefined;
    let go = (): void => undefined;
    const ended = new Promise<void>((resolve) => (go = resolve));
    const job = runtime.job('early', async (self) => {
      late = ended.then(() => {
        const tried = [
          self.step('late', () => did.push('step')),
          self.sleep('nap', 1),
          self.wait('news', { timeoutMs: 1 }),
          self.run('child', null),
          self.agent('nobody', 'Hello'),
        ];
        const codes = tried.map((one) => one.catch(({ code }: { code: string }) => code));
        return Promise.all<unknown>(codes);
      });
      return 'early';
    });
    expect(await job.run(null)).toBe('early');
    go();
    expect(await late).toEqual(Array.from({ length: 5 }, () => 'invalid_state'));
    expect(did).toEqual([]);
    expect((await runtime.list()).runs.map(({ name }) => name)).toEqual(['early']);
  });

  it('stores the error of a result that is too long, and not the result', async () => {
    silent();
    const runtime = runtimeOf();
    let made = 0;
    const long = 'x'.repeat((1 << 26) + 1);
    const job = runtime.job('long', async (self, whole) => {
      const caught = await self
        .step('all', () => {
          made += 1;
          return long;
        })
        .catch(({ code, message }: { code: string; message: string }) => ({ code, message }));
      return whole === true ? long : caught;
    });
    expect(await job.run(false)).toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(
        /^The result of all#1 has 67108865 characters; 67108864 are/,
      ) as string,
    });
    expect(made).toBe(1);
    await expect(job.run(true)).rejects.toMatchObject({
      code: 'tool_failed',
      message: expect.stringMatching(/^The result of long has 67108865 characters/) as string,
    });
    const { id } = await job.start(false);
    await expect(runtime.send(id, 'paid', long)).rejects.toMatchObject({ code: 'tool_failed' });
  });

  it('takes events in their order, also those that came before', async () => {
    const runtime = runtimeOf();
    let ready: () => void = () => undefined;
    const isReady = new Promise<void>((resolve) => (ready = resolve));
    const job = runtime.job('events', async (self) => {
      await isReady;
      const [first, second] = [await self.wait('paid'), await self.wait('paid')];
      const late = await self
        .wait('never', { timeoutMs: 5 })
        .catch((error: unknown) => (error as { code: string }).code);
      return [first, second, late];
    });
    const { id } = await job.start(null);
    await runtime.send(id, 'paid', { n: 1 });
    ready();
    await runtime.send(id, 'paid', { n: 2 });
    expect(await runtime.attach(id).result).toMatchObject({
      value: [{ n: 1 }, { n: 2 }, 'timeout'],
    });
  });

  it('is stopped with its step, and with the runs that work for it', async () => {
    const runtime = runtimeOf();
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => (begun = resolve));
    const aborted: string[] = [];
    runtime.job('child', (self) =>
      self.step('hang', ({ signal }) => {
        begun();
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            aborted.push('child');
            reject(signal.reason as Error);
          });
        });
      }),
    );
    const job = runtime.job('parent', (self) => self.run('child'));
    const { id } = await job.start(null);
    await isBegun;
    await runtime.stop(id);
    expect(await runtime.attach(id).result).toMatchObject({ status: 'cancelled' });
    const { runs } = await runtime.list();
    for (const { id: one } of runs) await runtime.attach(one).result;
    expect(aborted).toEqual(['child']);
    expect((await runtime.list()).runs.map(({ state }) => state)).toEqual([
      ...['cancelled', 'cancelled'],
    ]);
  });
});

describe('a job whose process is killed', () => {
  const begin = (job: string, more: object = {}) => {
    const { store, log, logged } = makeStore();
    const options = { store, log, job };
    const child = startChild({ ...options, ...more, do: 'run' }, 'job-child');
    const again = (scene: object) => startChild({ ...options, ...scene }, 'job-child');
    return { child, again, logged };
  };
  const idOf = async (child: ReturnType<typeof startChild>): Promise<string> =>
    (await child.until((line) => line['id'] !== undefined))['id'] as string;

  it.each([
    ['first', ['first', 'left', 'right', 'pay', 'first'], 'pay it'],
    ['left', ['left', 'pay', 'first'], 'pay it'],
    ['pay', ['first'], 'interrupted'],
  ])('in its step %s does what is left', async (hang, later, paid) => {
    const { child, again, logged } = begin('steps', { hang });
    const id = await idOf(child);
    await child.until(({ step }) => step === hang);
    if (hang === 'left') await child.until(({ done }) => done === 'right');
    await child.kill();
    const before = logged();
    const lines = await again({ do: 'attach', id }).ended();
    const result = ['first it', 'left it', 'right it', paid, 'first it'];
    expect(lines.at(-1)).toEqual({
      status: 'completed',
      value: result,
      state: 'completed',
      result,
    });
    const names = logged()
      .slice(before.length)
      .map((line) => line.split(' ')[0]);
    expect(names).toEqual(later);
    // The same key in each process.
    const keys = logged().map((line) => line.split(' ')[1] ?? '');
    expect(keys[0]).toBe(`${id}/first#1`);
    expect(new Set(keys).size).toBe(new Set(logged()).size);
  });

  it('in a short sleep, wakes up when its time has come', async () => {
    const { child, again } = begin('nap');
    const id = await idOf(child);
    await child.until(({ napping }) => napping === true);
    await child.kill();
    const lines = await again({ do: 'attach', id }).ended();
    expect(lines.at(-1)).toMatchObject({ state: 'completed', result: true });
  });

  it('sleeps long outside the memory, and wakes up in another process', async () => {
    const { child, again } = begin('long');
    const id = await idOf(child);
    const reader = again({ do: 'attach', id });
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await child.kill();
    expect((await reader.ended()).at(-1)).toMatchObject({ state: 'completed', result: 'awake' });
  });

  it('keeps what was sent to it', async () => {
    const { child, again } = begin('wait');
    const id = await idOf(child);
    await child.kill();
    await again({ do: 'send', id, sum: 1 }).ended();
    const lines = await again({ do: 'send', id, sum: 2, last: true }).ended();
    const result = [{ sum: 1 }, { sum: 2 }, 'timeout'];
    expect(lines.at(-1)).toMatchObject({ state: 'completed', result });
  });

  it('while it waits for the user, is approved in another process', async () => {
    const { child, again } = begin('ask');
    const id = await idOf(child);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await child.kill();
    const lines = await again({ do: 'approve', id }).ended();
    expect(lines.at(-1)).toMatchObject({ state: 'completed', result: 'paid' });
  });

  it('goes on with the runs that worked for it', async () => {
    const { child, again } = begin('parent', { hang: 'child' });
    const id = await idOf(child);
    await child.until((line) => line['child'] === true);
    await child.kill();
    const lines = await again({ do: 'attach', id }).ended();
    expect(lines.at(-1)).toMatchObject({ state: 'completed', result: [{ hello: 'ada' }, 5] });
  });
});
