// One AbortSignal, as a server's own that stops everything: any number of things may listen to it, and
// what has ended listens no more.
import { getEventListeners } from 'node:events';

import type { AGUIEvent } from 'millrace';
import {
  createAgent,
  createModelRuntime,
  createRouterRuntime,
  fetchSSE,
  toAGUIResponse,
} from 'millrace';

import type { ScriptedModel } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

let model: ScriptedModel;
let controller: AbortController;
const warnings: Error[] = [];
const hear = (warning: Error): void => void warnings.push(warning);

beforeEach(async () => {
  model = await startModel(() => ({ text: 'Hello.' }));
  controller = new AbortController();
  warnings.length = 0;
  process.on('warning', hear);
});
afterEach(async () => {
  process.off('warning', hear);
  await model.close();
});

const payload = { model: 'm', messages: [{ role: 'user' as const, content: 'x' }] };
const provider = () => ({ baseURL: model.url, apiKey: 'k' });
const runtime = () => createModelRuntime('openai', provider());

const uses: Record<string, (signal: AbortSignal) => Promise<unknown>> = {
  'runs of a model': (signal) => runtime().stream(payload, { signal }).text(),
  'answers of a model': async (signal) => (await runtime().chat(payload, { signal })).text(),
  'runs of an agent': (signal) =>
    createAgent({ model: 'openai:m', provider: provider() }).run('x', { signal }).text(),
  'AG-UI responses': (signal) => toAGUIResponse([], { signal }).text(),
  'streams of fetchSSE': (signal) =>
    fetchSSE(`${model.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(payload),
      signal,
    }),
};

it.each(Object.entries(uses))('%s let go of their signal', async (_name, use) => {
  const all = Array.from({ length: 15 }, () => use(controller.signal));
  expect(getEventListeners(controller.signal, 'abort').length).toBeGreaterThan(10);
  await Promise.all(all);
  // A warning is told in a later turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
});

describe('a signal that aborted before', () => {
  const reason = new Error('enough');
  const signal = AbortSignal.abort(reason);
  const agent = () => createAgent({ model: 'openai:m', provider: provider() });
  const router = () => {
    const Routed = createRouterRuntime({
      id: 'r',
      routers: [{ apiType: 'openai', options: provider() }],
    });
    return new Routed();
  };

  it('makes runs that are over, and nobody is asked', async () => {
    for (const run of [
      runtime().stream(payload, { signal }),
      router().stream(payload, { signal }),
      agent().run('x', { signal }),
    ]) {
      const events: AGUIEvent[] = [];
      for await (const event of run) events.push(event);
      expect(events[0]?.type).toBe('RUN_STARTED');
      expect(events.at(-1)?.type).toMatch(/^RUN_/);
      await expect(run.text()).rejects.toBe(reason);
    }
    expect((await agent().run('x', { signal }).result).status).toBe('cancelled');
    const schema = { type: 'object' };
    const object = runtime().streamObject({ ...payload, schema }, { signal });
    await expect(object.object()).rejects.toBe(reason);
    expect(model.asked).toEqual([]);
  });

  it('has to be one', () => {
    const wrong = { signal: 1 as never };
    expect(() => runtime().stream(payload, wrong)).toThrow('signal must be an AbortSignal');
    expect(() => router().stream(payload, wrong)).toThrow('signal must be an AbortSignal');
  });
});
