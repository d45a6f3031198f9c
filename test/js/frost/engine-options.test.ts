// What an Engine can be made with: its tools, its provider and its hooks in every shape that they have.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { builtinTools, createModelRuntime, Engine, sendMessageTool, tool } from 'millrace';

import { startModel } from '../../support/scripted-model';
import { resultsOf, scripted, toolCall } from '../../support/scripted-provider';

const plus = tool<{ a: number; b: number }>({
  name: 'plus',
  description: 'Adds.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  run: ({ a, b }) => a + b,
});
const plain = { name: 'plain', description: 'd', parameters: {}, execute: () => 'p' };

describe('tools of an Engine', () => {
  it.each<[string, object]>([
    ['a list', { tools: [plus, plain] }],
    ['a record', { tools: { plus, plain: { ...plain, name: undefined } } }],
    ['a map', { tools: new Map<string, any>([['plus', { ...plus, name: 'other' }], ['plain', plain]]) }], // prettier-ignore
    ['a registry', { tools: [plain], toolRegistry: new Map([['plus', plus]]) }],
  ])('come as %s, of both kinds', async (_name, options) => {
    const provider = scripted({
      tool_calls: [toolCall('plus', '{"a":2,"b":3}'), toolCall('plus', '{"a":2}', 'x'), toolCall('plain')], // prettier-ignore
    });
    const engine = new Engine({ provider, ...options });
    expect([...engine.toolRegistry.keys()]).toEqual(['plain', 'plus']);
    const results = resultsOf(await engine.run('hi'));
    expect(results[0]).toBe('5');
    expect(results[1]).toMatch(/Invalid arguments/);
    expect(results[2]).toBe('p');
    expect(provider.asked[0].tools[1].function).toEqual({
      name: 'plus',
      description: 'Adds.',
      parameters: plus.input,
    });
  });

  it.each([
    ['plain', { type: 'function', function: { name: 'plain' } }],
    ['required', 'required'],
  ])('are chosen by their name: %s', async (toolChoice, sent) => {
    const provider = scripted({ content: 'done' });
    await new Engine({ provider, tools: [plain], toolChoice }).run('hi');
    expect(provider.asked[0].tool_choice).toEqual(sent);
  });

  it('learn of their call, and report when they failed', async () => {
    const learned: any[] = [];
    const one = tool({ name: 'one', timeoutMs: 10, run: (_input, context) => (learned.push(context), new Promise(() => undefined)) }); // prettier-ignore
    const two = tool({ name: 'two', run: () => ({ content: 'no such file', success: false }) });
    const three = tool({ name: 'three', run: () => new Response('x') });
    const four = { ...plain, name: 'four', execute: (() => new Map()) as never };
    const calls = ['one', 'two', 'three', 'four'].map((name) => toolCall(name, '', `${name}-id`));
    const provider = scripted({ tool_calls: calls });
    const run = await new Engine({ provider, tools: [one, two, three, four] }).run('hi');
    const results = resultsOf(run);
    expect(results[0]).toMatch(/执行失败.*within 10 ms/);
    expect(learned[0]).toMatchObject({ toolCallId: 'one-id', idempotencyKey: 'one-id' });
    expect(learned[0].signal.aborted).toBe(true);
    expect(results[1]).toBe('FrostAgent错误：工具执行失败: no such file');
    expect(results[2]).toMatch(/执行失败.*returned a Response/);
    expect(results[3]).toMatch(/执行失败.*returned a Map/);
  });

  it('may be the engine’s own', async () => {
    const provider = scripted({ tool_calls: [toolCall('calculator', '{"expression":"6*7"}')] });
    const engine = new Engine({ provider, tools: builtinTools({ calculator: true }) });
    expect(resultsOf(await engine.run('hi'))).toEqual(['42']);
  });

  it.each<[string, any, string]>([
    ['no name', { execute: () => '' }, 'needs a name'],
    ['no function', { name: 'f' }, 'needs a function'],
    ['a need for approval', { name: 'f', approval: true, run: () => 1 }, 'needs approval'],
    ['nothing in them', null, 'needs a name'],
  ])('with %s are refused', (_name, one, sentence) => {
    expect(() => new Engine({ tools: [one] })).toThrow(sentence);
    expect(() => new Engine().registerTool(one)).toThrow(sentence);
  });
});

it.each<[string, any, string]>([
  ['tools', 'time', 'a list, a map or a record'],
  ['provider', {}, 'needs a function `chat`'],
  ['provider', createModelRuntime('demo'), 'needs a `model`'],
  ['sendHook', () => undefined, 'give `onMessage` to each run'],
  ['modelName', 'm', 'it is called `model`'],
  ['temprature', 1, 'maxIterations, tools'],
])('an Engine refuses a wrong option %s', (name, value, sentence) => {
  const make = () => new Engine({ [name]: value });
  expect(make).toThrow(sentence);
  expect(make).toThrow(expect.objectContaining({ code: 'invalid_option' }) as Error);
});

it.each<[string, any, object]>([
  ['a completion', { choices: [{ message: { content: 'yes' } }] }, { text: 'yes' }],
  ['a Response', Response.json({ choices: [{ message: { content: 'yes' } }] }), { text: 'yes' }],
  ['an error in one', { error: { message: 'no quota' } }, { error: /no quota/ }],
  ['a refusal', new Response('slow down', { status: 429 }), { error: /status 429.*slow down/ }],
  ['a page', new Response('<html>'), { error: /not JSON/ }],
])('a provider of one’s own may answer with %s', async (_name, answer, expected: any) => {
  const engine = new Engine({ provider: { chat: async () => answer } });
  const { status, text, error } = await engine.run('hi');
  if (expected.text) expect({ status, text }).toEqual({ status: 'completed', text: 'yes' });
  else expect(String((error as any)?.message ?? error)).toMatch(expected.error);
});

it('an Engine asks a model runtime', async () => {
  const model = await startModel([
    { calls: [{ id: 'c1', name: 'plus', args: { a: 2, b: 3 } }] },
    { text: 'It is five.' },
  ]);
  try {
    const provider = createModelRuntime('openai', { baseURL: model.url, apiKey: 'k' });
    const engine = new Engine({ provider, model: 'scripted', tools: [plus], temperature: 0.5 });
    const { status, text, usage, messages } = await engine.run('2 + 3?');
    expect({ status, text }).toEqual({ status: 'completed', text: 'It is five.' });
    expect(usage.total).toBe(usage.prompt + usage.completion);
    expect(usage.total).toBeGreaterThan(0);
    expect(resultsOf({ messages })).toEqual(['5']);
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool', 'assistant']); // prettier-ignore
    expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'It is five.' });
    expect(engine.counters).toMatchObject({ runs: 1, iterations: 2, toolCalls: 1 });
    expect(model.asked[1]).toMatchObject({ model: 'scripted', temperature: 0.5 });
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '5' });
  } finally {
    await model.close();
  }
});

it('an Engine asks a runtime with a fetch of its own through that', async () => {
  const urls: string[] = [];
  const body = {
    choices: [{ message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }],
  };
  const provider = createModelRuntime('openai', {
    apiKey: 'k',
    fetch: (url) => (urls.push(url as string), Promise.resolve(Response.json(body))),
  });
  const { status, text } = await new Engine({ provider, model: 'm' }).run('hi');
  expect({ status, text }).toEqual({ status: 'completed', text: 'yes' });
  expect(urls).toHaveLength(1);
});

it('an Engine tells what a runtime failed with, in a history that it may go on from', async () => {
  const provider = createModelRuntime('openai', { baseURL: 'http://127.0.0.1:9', apiKey: 'k', maxRetries: 0 }); // prettier-ignore
  const { status, error, messages } = await new Engine({ provider, model: 'm' }).run('hi');
  expect({ status, error }).toMatchObject({ status: 'error', error: { code: 'connect_failed', retryable: true } }); // prettier-ignore
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
});

it.each<[any, string]>([
  [true, '消息已发送'],
  [undefined, '消息已发送'],
  [{ message_id: 1 }, '消息已发送'],
  ['sent', '消息已发送'],
  [{ delivered: true }, '消息已发送'],
  [{ delivered: false, error: 'closed' }, 'FrostAgent错误：工具执行失败: 消息发送失败: closed'],
])('a hook that answers %p has said what became of the message', async (answer, reported) => {
  const payload = JSON.stringify({ messages: [{ type: 'plain', text: 'x' }] });
  const provider = scripted({ tool_calls: [toolCall('send_message', payload)] });
  const engine = new Engine({ provider, tools: [sendMessageTool] });
  expect(resultsOf(await engine.run('hi', { onMessage: () => answer }))).toEqual([reported]);
});
