// Tools of durable runs that never return: their time limits, stops, the close of a runtime, the end of a process.
import { once } from 'node:events';

import { createAgent, createRuntime, type Runtime, tool } from 'millrace';

import { cleanUp, makeStore, startChild } from '../support/durable-child';
import { type ScriptedModel, startModel } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  await cleanUp();
});

type Effect = 'read' | 'once';

async function agentOf(timeoutMs?: number, effect: Effect = 'read') {
  const model = await startModel([
    { calls: [{ id: 'c1', name: 'hang', args: {} }] },
    { text: 'ok' },
  ]);
  const runtime = createRuntime({ storage: 'memory' });
  open.push(model, runtime);
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const hang = tool({
    ...{ name: 'hang', input: { type: 'object' }, effect, timeoutMs },
    // Nor does it look at its signal.
    run: () => {
      begin();
      return new Promise(() => undefined);
    },
  });
  const provider = { apiKey: 'k', baseURL: model.url };
  const agent = createAgent({
    model: 'openai:m',
    provider,
    tools: [hang],
    runtime,
    name: 'hanging',
  });
  return { agent, runtime, model, begun };
}

const stateOf = async (runtime: Runtime, id: string) => (await runtime.get(id))?.state;

it('end at their limit, and the model gets the error', async () => {
  const { agent, runtime, model } = await agentOf(60);
  const run = agent.run('go');
  await expect(run.text()).resolves.toBe('ok');
  expect(JSON.stringify(model.chatBodies[1])).toMatch(/did not (answer|end|return) within 60 ms/);
  expect(await stateOf(runtime, run.id)).toBe('completed');
});

it('do not keep a run from being stopped', async () => {
  const { agent, runtime, begun } = await agentOf();
  const run = agent.run('go');
  await begun;
  const began = performance.now();
  await runtime.stop(run.id);
  expect(await run.result).toMatchObject({ status: 'cancelled' });
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(await stateOf(runtime, run.id)).toBe('cancelled');
});

it('do not keep a runtime from being closed', async () => {
  const { agent, runtime, begun } = await agentOf();
  const run = agent.run('go');
  const failed = run.result.catch((error: unknown) => error);
  await begun;
  const began = performance.now();
  await runtime.close({ drainMs: 100 });
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(performance.now() - began).toBeGreaterThan(90);
  expect(await failed).toMatchObject({ error: { code: 'engine_closed' } });
});

it.each<Effect>(['read', 'once'])(
  'do not keep a process from ending at SIGTERM; the next one goes on, with effect %s',
  async (effect) => {
    const model: ScriptedModel = await startModel(({ messages }) =>
      messages.some(({ role }) => role === 'tool')
        ? { text: 'done' }
        : { calls: [{ id: 'c1', name: `do_${effect}`, args: {} }] },
    );
    open.push(model);
    const { store, log, logged } = makeStore();
    const options = { store, log, model: model.url };
    const first = startChild({ ...options, do: 'deployed', hang: true });
    const { id } = await first.until((line) => line['id'] !== undefined);
    await first.until((line) => line['tool'] === effect);
    const gone = once(first.process, 'exit');
    const began = performance.now();
    first.process.kill('SIGTERM');
    expect(await gone).toEqual([0, null]);
    expect(performance.now() - began).toBeLessThan(10_000);
    const second = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    expect(second.at(-1)).toMatchObject({ status: 'completed', text: 'done' });
    // What must not run twice does not, and the model gets that as an error.
    expect(logged()).toHaveLength(effect === 'once' ? 1 : 2);
    const request = JSON.stringify(model.chatBodies.at(-1));
    expect(request.includes('had an effect is unknown')).toBe(effect === 'once');
  },
);
