// One AbortSignal, as a server's own that stops everything: any number of things may listen to it, and
// what has ended listens no more.
import { getEventListeners } from 'node:events';

import { createAgent, createModelRuntime, fetchSSE, toAGUIResponse } from 'millrace';

import type { ScriptedModel } from '../support/scripted-model';
import { startModel } from '../support/scripted-model';

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
