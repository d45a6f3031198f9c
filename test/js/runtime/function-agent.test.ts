// Functions as agents: what they get, what readers see of them, and what becomes of them when their process ends.
import { createRuntime, type DurableRun, MillraceError, type Runtime } from 'millrace';

import { eventsOf } from '../../support/agents';
import { cleanUp, makeStore, recordsIn, startChild, textIn } from '../support/durable-child';

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

const texts = async (run: DurableRun): Promise<string[]> =>
  (await eventsOf(run)).flatMap((one) => (one.type === 'TEXT_MESSAGE_CONTENT' ? [one.delta] : []));

describe('a function as an agent', () => {
  it('gets its turn, and shows messages and events in their order', async () => {
    const runtime = runtimeOf();
    const seen: unknown[] = [];
    const agent = runtime.agent(
      'work',
      async (turn, ctx) => {
        seen.push(turn, ctx.run);
        await ctx.stage('reading', 'the file');
        void ctx.send('one');
        void ctx.emit('tool_start', { name: 'look' });
        void ctx.send('two');
        return 'three';
      },
      { version: '7' },
    );
    const messages = [
      { id: '1', role: 'user' as const, content: 'before' },
      { id: '2', role: 'assistant' as const, content: 'yes' },
      { id: '3', role: 'user' as const, content: [{ type: 'text' as const, text: 'Go.' }] },
    ];
    const input = { messages, state: { n: 1 }, forwardedProps: { page: 'home' } };
    const run = agent.run(input, {
      ...{ threadId: 't', runId: 'r', principal: 'ada', context: { locale: 'de' } },
    });
    const events = await eventsOf(run);
    expect(events.map(({ type }) => type)).toEqual([
      'RUN_STARTED',
      'CUSTOM',
      ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
      'CUSTOM',
      ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
      ...['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END'],
      'RUN_FINISHED',
    ]);
    expect(events.filter(({ type }) => type === 'CUSTOM')).toMatchObject([
      {
        name: 'millrace.stage',
        value: { name: 'stage', detail: { stage: 'reading', detail: 'the file' } },
      },
      { name: 'millrace.stage', value: { name: 'tool_start', detail: { name: 'look' } } },
    ]);
    expect(await run.result).toMatchObject({
      ...{ status: 'completed', text: 'three', threadId: 't', runId: 'r', steps: 0, turns: 0 },
    });
    expect(seen).toMatchObject([
      {
        ...{ threadId: 't', runId: run.id, text: 'Go.', state: { n: 1 } },
        messages: [{ content: 'before' }, { content: 'yes' }, { role: 'user' }],
        forwardedProps: { page: 'home' },
      },
      { id: run.id, threadId: 't', principal: 'ada', context: { locale: 'de' }, attempt: 1 },
    ]);
    expect(await runtime.get(run.id)).toMatchObject({
      ...{ kind: 'function', name: 'work', version: '7', state: 'completed', principal: 'ada' },
    });
    const { runs } = await runtime.list({ threadId: 't' });
    expect(runs.map(({ id }) => id)).toEqual([run.id]);
  });

  it('gives a value of JSON, nothing, or the error that it throws', async () => {
    const logged = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const runtime = runtimeOf();
    const ends: Record<string, () => unknown> = {
      value: () => ({ total: 3 }),
      nothing: () => undefined,
      error: () => {
        throw new Error('no disk');
      },
      ours: () => {
        throw new MillraceError('timeout', 'Too late.');
      },
      odd: () => 3n,
    };
    runtime.agent('work', ({ text }) => ends[text]?.());
    const result = (name: string) => runtime.run('work', name).result;
    expect(await result('value')).toMatchObject({ status: 'completed', value: { total: 3 } });
    expect(await result('nothing')).toMatchObject({ status: 'completed', text: '' });
    expect(await result('nothing')).not.toHaveProperty('value');
    expect(await result('error')).toMatchObject({
      ...{ status: 'error', error: { code: 'tool_failed', message: 'no disk' } },
    });
    expect(await result('ours')).toMatchObject({
      ...{ status: 'error', error: { code: 'timeout', message: 'Too late.' } },
    });
    expect(await result('odd')).toMatchObject({ error: { code: 'state_not_serializable' } });
    expect(logged).toHaveBeenCalledTimes(3);
  });

  it('is stopped by its signal, and its readers see what it showed', async () => {
    const runtime = runtimeOf();
    const agent = runtime.agent('work', async (_turn, ctx) => {
      await ctx.send('begun');
      await new Promise<void>((_resolve, reject) => {
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error));
      });
    });
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    const other = texts(runtime.attach(run.id));
    await runtime.stop(run.id);
    expect(await other).toEqual(['begun']);
    expect(await run.result).toMatchObject({ status: 'cancelled', text: 'begun' });
    expect(await runtime.get(run.id)).toMatchObject({ state: 'cancelled' });
  });

  it('keeps the order of much that is shown at once, and waits for the engine', async () => {
    const runtime = runtimeOf();
    const long = 'x'.repeat(20_000);
    const agent = runtime.agent('work', async (_turn, ctx) => {
      for (let n = 0; n < 200; n += 1) await ctx.send(`${n} ${long}`);
    });
    const shown = await texts(agent.run('go'));
    expect(shown.map((text) => parseInt(text, 10))).toEqual(
      Array.from({ length: 200 }, (_, n) => n),
    );
  });

  it('rejects what it cannot show, and warns once of what comes after its end', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const runtime = runtimeOf();
    let late = async (): Promise<void> => undefined;
    const agent = runtime.agent('work', async (_turn, ctx) => {
      late = () => ctx.send('late');
      await expect(ctx.send(3 as never)).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(ctx.emit('')).rejects.toMatchObject({ code: 'invalid_argument' });
      await expect(ctx.emit('x', 1n)).rejects.toMatchObject({ code: 'state_not_serializable' });
      await ctx.emit('bare');
    });
    const run = agent.run('go');
    expect(await run.result).toMatchObject({ status: 'completed', text: '' });
    await late();
    await late();
    expect(warned).toHaveBeenCalledTimes(1);
    expect(() => runtime.agent('', () => 1)).toThrow(/needs a name/);
    expect(() => runtime.agent('x', () => 1, { onRestart: 'again' as never })).toThrow(/onRestart/);
  });

  it('warns of a result that comes in the moment in which its run ends without it', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const runtime = runtimeOf();
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let go = (): void => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    const agent = runtime.agent('work', async () => {
      begin();
      await gone;
      // The engine gives a stopped function a tenth of a second, and it does not see that it is stopped.
      const end = performance.now() + 1000;
      while (performance.now() < end);
      return 'late';
    });
    const run = agent.run('go');
    const { result } = run;
    await begun;
    run.stop();
    go();
    expect(await result).toMatchObject({ status: 'cancelled', text: '' });
    while (warned.mock.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(warned).toHaveBeenCalledTimes(1);
    expect(warned.mock.calls[0]?.[1]).toEqual({ code: 'MILLRACE_RUN_OVER' });
  });

  it('has to end with its signal where the runtime is closed beside it', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation();
    const runtime = createRuntime({ storage: 'memory' });
    let go = (): void => undefined;
    const gone = new Promise<void>((resolve) => (go = resolve));
    const agent = runtime.agent('work', async (_turn, ctx) => {
      await gone;
      await ctx.send('late');
    });
    const run = agent.run('go');
    await run.started;
    await runtime.close();
    go();
    while (warned.mock.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    expect(String(warned.mock.calls[0]?.[0])).toContain('end the function when its signal aborts');
  });

  it('asks a person while it is at work', async () => {
    const runtime = runtimeOf();
    const agent = runtime.agent('work', async (_turn, ctx) => {
      const schema = { type: 'object', properties: { days: { type: 'number' } } };
      const answer = await ctx.action<{ days: number }>('trip', {
        ...{ kind: 'form', prompt: 'How long?', schema },
      });
      const late = ctx.action('late', { timeoutMs: 1 });
      await expect(late).rejects.toMatchObject({ code: 'timeout' });
      await expect(ctx.action('')).rejects.toMatchObject({ code: 'invalid_argument' });
      return `${answer.days} days`;
    });
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'CUSTOM') break;
    const [open] = await runtime.approvals.list({ run: run.id });
    expect(open).toMatchObject({
      ...{ id: `${run.id}.trip`, runId: run.id, kind: 'prompt' },
      interrupt: {
        ...{ reason: 'input_required', message: 'How long?' },
        responseSchema: { type: 'object' },
        metadata: { action: 'trip', kind: 'form' },
      },
    });
    await runtime.approvals.decide(open?.id as string, { days: 3 });
    expect(await run.text()).toBe('3 days');
    const again = runtime.approvals.decide(open?.id as string, true);
    await expect(again).rejects.toMatchObject({ code: 'approval_answered' });
  });

  it('leaves its questions when it is stopped', async () => {
    const runtime = runtimeOf();
    const agent = runtime.agent('work', async (_turn, ctx) => {
      await ctx.action('never');
    });
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'CUSTOM') break;
    run.stop();
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    expect(await runtime.approvals.list()).toEqual([]);
  });

  it('is an agent of createAgent, too', async () => {
    const runtime = runtimeOf();
    const agent = runtime.agent('demo', { model: 'demo:demo' });
    expect(await agent.run('Hello!').text()).not.toBe('');
    expect((await runtime.list()).runs).toMatchObject([{ kind: 'agent', name: 'demo' }]);
  });

  it('begun by start() goes on without a reader', async () => {
    const runtime = runtimeOf();
    const agent = runtime.agent('work', ({ text }) => text.toUpperCase());
    const { id } = await agent.start('go');
    expect(await runtime.attach(id).text()).toBe('GO');
    expect(await runtime.attach((await runtime.start('work', 'on')).id).text()).toBe('ON');
  });
});

describe('a function whose process is killed', () => {
  const begin = async (more: object) => {
    const { store, log, logged } = makeStore();
    const options = { store, log, ...more };
    const first = startChild({ ...options, do: 'run', hang: true }, 'function-child');
    await first.until(({ event }) => event?.type === 'TEXT_MESSAGE_CONTENT');
    await first.kill();
    const { id } = first.lines.find((line) => line['id']) as { id: string };
    const again = (after: number) =>
      startChild({ ...options, do: 'attach', id, after }, 'function-child').ended();
    return { first, again, logged };
  };

  it('is interrupted', async () => {
    const { first, again, logged } = await begin({});
    const lines = await again(0);
    expect(lines.at(-1)).toMatchObject({ status: 'error', text: '', code: 'interrupted' });
    expect(textIn(lines)).toBe('attempt 1');
    expect(logged()).toEqual(['1 it']);
    expect(recordsIn(lines).slice(0, recordsIn(first.lines).length)).toEqual(
      recordsIn(first.lines),
    );
  });

  it('begins again where it may', async () => {
    const { first, again, logged } = await begin({ onRestart: 'rerun' });
    const after = recordsIn(first.lines).at(-1)?.['seq'] as number;
    const rest = await again(after);
    expect(rest.at(-1)).toMatchObject({ status: 'completed', text: 'done with it' });
    expect(textIn([...first.lines, ...rest])).toBe('attempt 2done with it');
    expect(logged()).toEqual(['1 it', '2 it']);
    expect(recordsIn(await again(0))).toEqual([...recordsIn(first.lines), ...recordsIn(rest)]);
  });

  it('begins again in another thread when its own is terminated', async () => {
    const { store, log, logged } = makeStore();
    const options = { store, log, onRestart: 'rerun', do: 'worker' };
    const lines = await startChild(options, 'function-child').ended();
    expect(lines.at(-1)).toMatchObject({ status: 'completed', text: 'done with it' });
    expect(logged()).toEqual(['1 it', '2 it']);
  });
});
