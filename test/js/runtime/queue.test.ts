// Runs that wait for their turn: behind the run of their thread, for a limit, in lanes.
import { createAgent, createRuntime, type Runtime, type RunInfo } from 'millrace';

import { startModel } from '../../support/agents';
import { type Line, makeStore, startChild } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

// A job whose runs end when the test lets them.
function gatedJob(runtime: Runtime, name = 'work') {
  const begun: string[] = [];
  const open = new Map<string, () => void>();
  let most = 0;
  let wake: () => void = () => undefined;
  const job = runtime.job(name, async (_self, input: string) => {
    begun.push(input);
    await new Promise<void>((resolve) => {
      open.set(input, resolve);
      most = Math.max(most, open.size);
      wake();
    });
    return input;
  });
  const until = async (isMet: () => boolean): Promise<void> => {
    while (!isMet()) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { job, begun, open, until, most: () => most };
}

const ended = (runtime: Runtime, runs: RunInfo[]) =>
  Promise.all(runs.map(({ id }) => runtime.attach(id).result));

describe('limits of runs at work', () => {
  it('let the others wait, in lanes of which none waits for ever', async () => {
    const runtime = runtimeOf({ concurrency: 2 });
    const { job, begun, open, until, most } = gatedJob(runtime);
    const runs: RunInfo[] = [];
    for (const priority of ['low', 'normal', 'high'] as const) {
      for (let n = 0; n < 4; n += 1) {
        runs.push(await job.start(`${priority}${n}`, { priority }));
        // The first two begin before there are others.
        await until(() => open.size === Math.min(2, runs.length));
      }
    }
    const waiting = await runtime.get((runs.at(-1) as RunInfo).id);
    expect(waiting).toMatchObject({
      state: 'queued',
      waitsFor: { reason: 'queue', priority: 'high', limit: 'runtime', position: 4 },
    });
    // The first two of the lane are at work.
    expect((await runtime.get((runs[3] as RunInfo).id))?.waitsFor?.position).toBe(2);
    for (let left = runs.length; left > 0; left -= 1) {
      await until(() => open.size === Math.min(2, left));
      const [input, go] = [...open][0] as [string, () => void];
      open.delete(input);
      go();
    }
    const results = await ended(runtime, runs);
    expect(results.map(({ status }) => status)).toEqual(runs.map(() => 'completed'));
    expect(most()).toBe(2);
    expect(begun.slice(0, 2)).toEqual(['low0', 'low1']);
    const inLane = (lane: string) => begun.filter((one) => one.startsWith(lane));
    for (const lane of ['low', 'normal', 'high']) {
      expect(inLane(lane)).toEqual([0, 1, 2, 3].map((n) => `${lane}${n}`));
    }
    expect(begun.indexOf('high3')).toBeLessThan(begun.indexOf('normal3'));
    expect(begun.indexOf('normal0')).toBeLessThan(begun.indexOf('high3'));
  });

  it('are counted for each principal and name, and free while a run sleeps', async () => {
    const runtime = runtimeOf({ concurrency: { perPrincipal: 1, names: { nap: 1 } } });
    const { job, open, until } = gatedJob(runtime);
    const one = await job.start('one', { principal: 'ada' });
    const two = await job.start('two', { principal: 'ada' });
    const three = await job.start('three', { principal: 'bob' });
    await until(() => open.has('one') && open.has('three'));
    expect((await runtime.get(two.id))?.waitsFor).toMatchObject({ limit: 'principal' });
    for (const name of ['one', 'three']) {
      open.get(name)?.();
      open.delete(name);
    }
    await until(() => open.has('two'));
    open.get('two')?.();
    await ended(runtime, [one, two, three]);

    const nap = runtime.job('nap', async (self, input: string) => {
      if (input === 'long') await self.sleep('night', 3_600_000);
      return input;
    });
    const long = await nap.start('long', { principal: 'x' });
    expect(await nap.run('short', { principal: 'y' })).toBe('short');
    expect((await runtime.get(long.id))?.state).toBe('sleeping');
  });

  it('do not hold back the runs that work for a job', async () => {
    const runtime = runtimeOf({ concurrency: 1 });
    runtime.job('child', (_self, n: number) => Promise.resolve(n + 1));
    const parent = runtime.job('parent', (self) => self.run('child', 4));
    expect(await parent.run(null)).toBe(5);
  });

  it('count starts in a time', async () => {
    const runtime = runtimeOf({ rate: { starts: 2, perMs: 300 } });
    const before = performance.now();
    const times: number[] = [];
    const job = runtime.job('tick', () => Promise.resolve(times.push(performance.now())));
    const runs: RunInfo[] = [];
    for (let n = 0; n < 5; n += 1) runs.push(await job.start(n));
    await ended(runtime, runs);
    expect(times).toHaveLength(5);
    // They cannot be earlier, however slow the machine is.
    expect((times[2] as number) - before).toBeGreaterThanOrEqual(290);
    expect((times[4] as number) - before).toBeGreaterThanOrEqual(590);
  });

  it('count starts for all runtimes of a store', async () => {
    const rate = { starts: 2, perMs: 600_000 };
    const storage = `file:${makeStore().store}` as const;
    const [one, other] = [runtimeOf({ storage, rate }), runtimeOf({ storage, rate })];
    const first = one.job('first', () => Promise.resolve(1));
    const second = other.job('second', () => Promise.resolve(2));
    await ended(one, [await first.start(null), await first.start(null)]);
    const { id } = await second.start(null);
    // What would begin it is behind its start and before this.
    expect(await other.get(id)).toMatchObject({
      state: 'queued',
      waitsFor: { limit: 'runtime_rate', position: 1 },
    });
  });

  it('count what a runtime without rates begins', async () => {
    const rate = { starts: 2, perMs: 600_000 };
    const storage = `file:${makeStore().store}` as const;
    const [plain, rated] = [runtimeOf({ storage }), runtimeOf({ storage, rate })];
    const second = rated.job('second', () => Promise.resolve(2));
    await rated.list();
    const first = plain.job('first', () => Promise.resolve(1));
    await ended(plain, [await first.start(null), await first.start(null)]);
    const { id } = await second.start(null);
    expect(await rated.get(id)).toMatchObject({
      state: 'queued',
      waitsFor: { limit: 'runtime_rate', position: 1 },
    });
  });

  it('count starts for each principal, name and provider key', async () => {
    const rate = { starts: 1, perMs: 600_000 };
    const runtime = runtimeOf({ rate: { perPrincipal: rate, names: { once: rate } } });
    const work = runtime.job('work', (_self, n: number) => Promise.resolve(n));
    const once = runtime.job('once', (_self, n: number) => Promise.resolve(n));
    expect(await work.run(1, { principal: 'ada' })).toBe(1);
    expect(await work.run(2, { principal: 'bob' })).toBe(2);
    const waitsFor = async (started: Promise<RunInfo>) => {
      const { id } = await started;
      const info = await runtime.get(id);
      await runtime.stop(id);
      return info?.waitsFor?.limit;
    };
    expect(await waitsFor(work.start(3, { principal: 'ada' }))).toBe('principal_rate');
    expect(await once.run(4, { principal: 'eve' })).toBe(4);
    expect(await waitsFor(once.start(5, { principal: 'joe' }))).toBe('name_rate');

    const model = await startModel(() => ({ text: 'answer' }));
    const keyed = runtimeOf({ rate: { perProviderKey: rate } });
    const agentOf = (name: string, apiKey: string) =>
      createAgent({
        model: 'openai:scripted',
        provider: { baseURL: model.url, apiKey, maxRetries: 0 },
        runtime: keyed,
        name,
      });
    const [one, same, other] = [agentOf('one', 'k'), agentOf('same', 'k'), agentOf('other', 'l')];
    expect(await one.run('Go.').text()).toBe('answer');
    expect(await other.run('Go.').text()).toBe('answer');
    const waiting = same.run('Go.');
    await waiting.started;
    expect((await keyed.get(waiting.id))?.waitsFor?.limit).toBe('provider_key_rate');
  });

  it('begin what a rate has held back when its time is over', async () => {
    const runtime = runtimeOf({ rate: { names: { tick: { starts: 1, perMs: 300 } } } });
    const times: number[] = [];
    const job = runtime.job('tick', () => Promise.resolve(times.push(performance.now())));
    const before = performance.now();
    await ended(runtime, [await job.start(0), await job.start(1), await job.start(2)]);
    expect((times[2] as number) - before).toBeGreaterThanOrEqual(590);
  });

  it('count starts of the process before, and none of runs that work for a job', async () => {
    const rate = { starts: 1, perMs: 600_000 };
    const storage = `file:${makeStore().store}` as const;
    const open = () => {
      const runtime = runtimeOf({ storage, rate });
      runtime.job('child', (_self, n: number) => Promise.resolve(n + 1));
      return { runtime, parent: runtime.job('parent', (self) => self.run('child', 4)) };
    };
    const first = open();
    expect(await first.parent.run(null)).toBe(5);
    await first.runtime.close();
    const second = open();
    const { id } = await second.parent.start(null);
    expect(await second.runtime.get(id)).toMatchObject({
      state: 'queued',
      waitsFor: { limit: 'runtime_rate' },
    });
  });

  it('are checked', () => {
    for (const wrong of [
      { concurrency: 0 },
      { concurrency: { totl: 1 } },
      { rate: {} },
      { rate: { names: { x: 1 } } },
      { rate: { starts: 1, perPrincipal: { starts: 0 } } },
      { rate: { totl: { starts: 1 } } },
    ]) {
      const runtime = createRuntime({ storage: 'memory', ...wrong } as never);
      expect(() => runtime.job('x', () => Promise.resolve(1))).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });

  // MILLRACE_QUEUE_RUNS: how many runs; a kill for each hundred of them, and four at least.
  const queued = Number(process.env['MILLRACE_QUEUE_RUNS'] ?? 80);
  it(
    'hold when the process is killed',
    async () => {
      const { store, log, logged } = makeStore();
      const options = { store, log, runs: queued, limit: 8 };
      const kills = Math.max(4, queued / 100);
      // The last runs to end may be cut before that is stored: each process is to end others as well, for a run that six
      // processes end with is given up.
      const enough = queued > 80 ? 24 : 6;
      const lines: Line[] = [];
      for (let kill = 0; kill < kills; kill += 1) {
        const child = startChild({ ...options, do: kill === 0 ? 'start' : 'go on' }, 'queue-child');
        const line = await child.until(({ started, ended, states }) =>
          kill === 0 ? started === true : (ended as number) >= enough || states !== undefined,
        );
        // A machine that is slow to kill may have let them all end.
        if (line['states']) expect(kill).toBeGreaterThan(kills / 4);
        await child.kill();
        lines.push(...child.lines);
      }
      lines.push(...(await startChild({ ...options, do: 'go on' }, 'queue-child').ended()));
      expect(lines.at(-1)).toEqual({ states: { completed: queued } });
      const open = lines.flatMap((line) => (line['open'] as number | undefined) ?? []);
      expect(Math.max(...open)).toBe(8);
      expect(new Set(logged()).size).toBe(queued);
    },
    60_000 + queued * 100,
  );
});

describe('a thread that is busy', () => {
  async function chat(runtime: Runtime) {
    let end: () => void = () => undefined;
    const waits = new Promise<void>((resolve) => (end = resolve));
    const model = await startModel((_body, index) => ({
      text: `answer ${index}`,
      ...(index === 0 && { waits }),
    }));
    const agent = createAgent({
      model: 'openai:scripted',
      provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
      runtime,
      name: 'helper',
    });
    return { agent, model, end };
  }

  it('rejects another run, or lets it wait and answers with the conversation as it is then', async () => {
    const runtime = runtimeOf();
    const { agent, model, end } = await chat(runtime);
    const message = (id: string, content: string) => ({ id, role: 'user' as const, content });
    const first = agent.run({ messages: [message('u1', 'one')] }, { threadId: 't' });
    await first.started;
    const body = { messages: [message('u1', 'one'), message('u2', 'two')] };
    const rejected = agent.run(body, { threadId: 't' });
    expect(await rejected.result).toMatchObject({ error: { code: 'run_conflict' } });
    const second = agent.run(body, { threadId: 't', busy: 'queue' });
    await second.started;
    expect(await runtime.get(second.id)).toMatchObject({
      state: 'queued',
      waitsFor: { reason: 'queue', limit: 'thread' },
    });
    end();
    expect(await first.text()).toBe('answer 0');
    expect(await second.text()).toBe('answer 1');
    const sent = model.chatBodies[1]?.messages.map(({ role, content }) => [role, content]);
    expect(sent).toEqual([
      ['user', 'one'],
      ['assistant', 'answer 0'],
      ['user', 'two'],
    ]);
    const rows = await runtime.storage({ principal: '' }).thread.getMessages('t');
    expect(rows.map(({ content }) => content)).toEqual(['one', 'answer 0', 'two', 'answer 1']);
  });

  it('begins runs of one turn in their order, also behind an input that is read for long', async () => {
    const runtime = runtimeOf();
    const { agent, end } = await chat(runtime);
    const large = 'x'.repeat(400_000);
    const first = agent.run(large, { threadId: 't', busy: 'queue' });
    const second = agent.run('two', { threadId: 't', busy: 'queue' });
    await Promise.all([first.started, second.started]);
    expect(await runtime.get(second.id)).toMatchObject({ state: 'queued' });
    end();
    expect(await first.text()).toBe('answer 0');
    expect(await second.text()).toBe('answer 1');
  });

  it('gives the stream of a run that waits from its first record on', async () => {
    const runtime = runtimeOf();
    const { agent, end } = await chat(runtime);
    const first = agent.run('one', { threadId: 't' });
    await first.started;
    const second = agent.run('two', { threadId: 't', busy: 'queue' });
    const types: string[] = [];
    for await (const { type } of second) {
      types.push(type);
      if (type === 'RUN_STARTED') end();
    }
    expect(types.filter((type) => type === 'RUN_STARTED')).toHaveLength(1);
    expect(types.at(-1)).toBe('RUN_FINISHED');
    const again = runtime.attach(second.id);
    const replayed: string[] = [];
    for await (const { type } of again) replayed.push(type);
    expect(replayed).toEqual(types);
  });

  it('lets a run be stopped that waits', async () => {
    const runtime = runtimeOf();
    const { agent, end } = await chat(runtime);
    const first = agent.run('one', { threadId: 't' });
    await first.started;
    const second = agent.run('two', { threadId: 't', busy: 'queue' });
    await second.started;
    await runtime.stop(second.id);
    expect(await runtime.attach(second.id).result).toMatchObject({
      status: 'cancelled',
      reason: 'user_aborted',
    });
    end();
    expect(await first.text()).toBe('answer 0');
    const third = agent.run('three', { threadId: 't' });
    expect(await third.text()).toBe('answer 1');
  });
});
