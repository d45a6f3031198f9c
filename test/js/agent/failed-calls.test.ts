// Calls of tools that failed: their providers are told so, in the run, in one that goes on, and after the messages were read
// again.
import { createAgent, tool } from 'millrace';

import { runtimeOf } from '../support/runtimes';
import { startProvider } from '../../support/provider';
import { vendorAnswer } from '../../support/vendor-answers';
import { at, startClaude, type VendorBody } from '../../support/vendor-models';

const look = tool({
  name: 'look',
  input: { type: 'object', properties: {} },
  run: () => {
    throw new Error('It is closed.');
  },
});
const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} } as const;
const failed = { type: 'tool_result', tool_use_id: 'toolu_1', is_error: true };

const results = (body: VendorBody | undefined): unknown[] =>
  (body?.messages ?? []).flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter(({ type }) => type === 'tool_result'),
  );

beforeEach(() => void jest.spyOn(console, 'error').mockImplementation(() => undefined));
afterEach(() => jest.restoreAllMocks());

it('are failures for Anthropic', async () => {
  const model = await startClaude([call]);
  const agent = createAgent({ model: 'anthropic:claude-x', provider: at(model), tools: [look] });
  expect(await agent.run('Look.').text()).toBe('done');
  expect(results(model.bodies[1])).toMatchObject([failed]);
  expect(JSON.stringify(results(model.bodies[1]))).toContain('It is closed.');
});

it.each([
  [
    'bedrock',
    'bedrock_converse',
    { accessKeyId: 'AKIA', secretAccessKey: 's' },
    '"status":"error"',
  ],
  ['google', 'gemini', { apiKey: 'k' }, '"response":{"error":'],
])('are failures for %s', async (name, wire, keys, marked) => {
  const scripted = [{ call: { name: 'look', arguments: {} } }, { text: 'done' }];
  const provider = await startProvider();
  provider.answer = (response) => {
    const { type, body } = vendorAnswer(wire, scripted[provider.calls.length - 1] ?? {});
    response.writeHead(200, { 'content-type': type }).end(body);
  };
  const settings = { baseURL: provider.url, maxRetries: 0, ...keys };
  const agent = createAgent({ model: `${name}:m`, provider: settings, tools: [look] });
  expect(await agent.run('Look.').text()).toBe('done');
  expect(provider.calls[0]?.body).not.toContain(marked);
  expect(provider.calls[1]?.body).toContain(marked);
  expect(provider.calls[1]?.body).toContain('It is closed.');
  await provider.close();
});

it('stay failures in a thread, in a fork and for the next run', async () => {
  const model = await startClaude([call]);
  const runtime = runtimeOf();
  const base = { model: 'anthropic:claude-x', provider: at(model), tools: [look] };
  const agent = createAgent({ ...base, runtime, name: 'helper' });
  const run = agent.run('Look.', { threadId: 't' });
  let seen = 0;
  for await (const { seq, event } of run.records()) {
    if (event.type === 'TOOL_CALL_RESULT') seen = seq;
  }
  const fork = await runtime.fork(run.id, { at: seen });
  expect(await runtime.attach(fork.id).text()).toBe('done');
  expect(results(model.bodies[2])).toEqual(results(model.bodies[1]));
  expect(results(model.bodies[2])).toMatchObject([failed]);

  const messages = await runtime.storage().thread.getMessages('t');
  expect(messages.find(({ role }) => role === 'tool')).toMatchObject({ error: 'It is closed.' });
  const next = [...messages, { id: 'm2', role: 'user' as const, content: 'Again.' }];
  await agent.run(next, { threadId: 't' }).text();
  expect(results(model.bodies[3])).toMatchObject([failed]);
});
