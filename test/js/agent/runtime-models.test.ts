// What a step keeps of the answers of models: those of runtimes that createModelRuntime made, and of
// functions.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { AgentRuntime, createModelRuntime, GeneralChatAgent } from 'millrace';

type Records = object[];

const body = (records: Records): string =>
  records
    .map((record: any) => {
      const { event, ...data } = record;
      return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
    })
    .join('');

const answered = (records: Records): Response =>
  new Response(body(records), { headers: { 'content-type': 'text/event-stream' } });

const named = (records: Records): Records =>
  records.map((record: any) => ({ event: record.type, ...record }));

// Runs an agent with one tool against answers of a provider; gives the requests and the result.
async function ran(provider: string, model: string, answers: Records[]) {
  const requested: any[] = [];
  const modelRuntime = createModelRuntime(provider, {
    apiKey: 'k',
    maxRetries: 0,
    fetch: async (_url, init) => {
      requested.push(JSON.parse(init?.body as string));
      return answered(answers[requested.length - 1] ?? []);
    },
  });
  const agent = Object.assign(new GeneralChatAgent({}), {
    tools: { f: () => 'made' },
    modelRuntime,
  });
  const state = AgentRuntime.createInitialState({
    messages: [{ role: 'user', content: 'hi' }],
    modelRuntimeConfig: { model, provider },
    toolManifestMap: { f: { identifier: 'f', humanIntervention: 'never' } },
    tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
  });
  const result = await new AgentRuntime(agent, { history: 'engine' }).run(state);
  return { asked: requested, ...result };
}

describe('a runtime as the model of an agent', () => {
  it('gets the signature of its thoughts back with the results of its calls', async () => {
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: 'm', type: 'message', role: 'assistant', content: [], model: 'c', usage };
    const block = (index: number, content_block: object, ...deltas: object[]) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const turn = (reason: string, ...blocks: Records[]) =>
      named([
        { type: 'message_start', message },
        ...blocks.flat(),
        { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
        { type: 'message_stop' },
      ]);
    const thought = [
      { type: 'thinking_delta', thinking: 'Hm.' },
      { type: 'signature_delta', signature: 'SIG' },
    ];
    const { asked: requested, newState } = await ran('anthropic', 'claude-sonnet-4-5', [
      turn(
        'tool_use',
        block(0, { type: 'thinking', thinking: '' }, ...thought),
        block(1, { type: 'tool_use', id: 'c1', name: 'f', input: {} }),
      ),
      turn('end_turn', block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Done' })),
    ]);
    expect(newState.status).toBe('done');
    expect(requested[1].messages[1].content).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 'SIG' },
      { type: 'tool_use', id: 'c1', name: 'f', input: {} },
    ]);
  });

  it('gets the signature of a call back', async () => {
    const parts = [{ functionCall: { name: 'f', args: {} }, thoughtSignature: 'TS' }];
    const candidate = (content: object) => [{ candidates: [{ content, finishReason: 'STOP' }] }];
    const { asked: requested } = await ran('google', 'gemini-3-pro-preview', [
      candidate({ role: 'model', parts }),
      candidate({ role: 'model', parts: [{ text: 'Done', thoughtSignature: 'OWN' }] }),
    ]);
    expect(requested[1].contents[1]).toEqual({ role: 'model', parts });
  });
});

// Asks a model that is a function, with the engine's history.
async function reported(modelRuntime: any, state: object = {}, config: object = {}) {
  const agent = Object.assign(new GeneralChatAgent({}), {
    tools: { f: () => 'made' },
    modelRuntime,
  });
  const messages = [{ role: 'user', content: 'hi' }];
  const whole = AgentRuntime.createInitialState({
    messages,
    toolManifestMap: { f: { identifier: 'f', humanIntervention: 'never' } },
    ...state,
  });
  return new AgentRuntime(agent, { history: 'engine', ...config }).run(whole);
}

const call = (id: string, name: string, args: string) => ({
  id,
  type: 'function',
  function: { name, arguments: args },
});

it.each([
  ['', '{}'],
  ['{"x":"a', '{"x":"a"}'],
  ['[1]', '{}'],
  ['nonsense', '{}'],
  ['{"x": 1}', '{"x": 1}'],
])('sends arguments %j back as %j, and keeps what was said', async (given, sent) => {
  const requested: any[] = [];
  const { newState } = await reported(async function* ({ messages }: any) {
    requested.push(messages);
    yield requested.length === 1 ? { tool_calls: [call('1', 'f', given)] } : { content: 'Done' };
  });
  expect(requested[1][1].tool_calls[0].function.arguments).toBe(sent);
  expect((newState.messages[1] as any).tool_calls[0].function.arguments).toBe(given);
});

it('sends empty and broken arguments of a payload to OpenAI as objects', async () => {
  const requested: any[] = [];
  const runtime = createModelRuntime('openai', {
    apiKey: 'k',
    fetch: async (_url, init) => {
      requested.push(JSON.parse(init?.body as string));
      return answered([
        { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] },
      ]);
    },
  });
  const results = ['1', '2'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'made' }));
  const calls = [call('1', 'f', ''), call('2', 'f', '{"x":"a')];
  const assistant = { role: 'assistant', content: '', tool_calls: calls };
  const messages = [{ role: 'user', content: 'hi' }, assistant, ...results] as never;
  await runtime.stream({ model: 'gpt-4o', messages }).text();
  const sent = requested[0].messages[1].tool_calls;
  expect(sent.map((one: any) => one.function.arguments)).toEqual(['{}', '{"x":"a"}']);
});

it('drops calls without a name', async () => {
  let turn = 0;
  const { newState } = await reported(async function* () {
    turn += 1;
    const calls = [call('1', '', '{}'), call('2', 'f', '{}'), null, {}];
    yield turn === 1 ? { tool_calls: calls } : { content: 'Done' };
  });
  expect(newState.status).toBe('done');
  expect((newState.messages[1] as any).tool_calls).toHaveLength(1);
});

it('keeps sources and images of an answer with its row', async () => {
  const grounding = { citations: [{ url: 'https://a.example' }] };
  const images = [{ id: 'i', data: 'data:image/png;base64,AA==', isBase64: true }];
  const { newState, events } = await reported(async function* () {
    yield { content: 'See.', grounding, images };
  });
  expect(newState.messages[1]).toMatchObject({ grounding, images });
  expect(events.find(({ type }) => type === 'llm_result')).toMatchObject({
    result: { grounding, images },
  });
});

it('calls a function again that failed in passing, and tells of it', async () => {
  let tries = 0;
  const busy = { errorType: 'ProviderServiceUnavailable', error: { message: 'busy' } };
  const { newState, events } = await reported(async function* () {
    tries += 1;
    if (tries === 1) throw busy;
    yield { content: 'Done' };
  });
  expect(newState.messages[1]).toMatchObject({ content: 'Done' });
  expect(events.filter(({ type }) => type === 'stream_retry')).toEqual([
    {
      type: 'stream_retry',
      data: {
        attempt: 1,
        delayMs: 1000,
        errorType: 'ProviderServiceUnavailable',
        kind: 'retry',
        maxAttempts: 6,
      },
    },
  ]);
});

it.each([NaN, '2', -1, 1.5, 101, Infinity, null])('refuses modelRetries of %p', (given) => {
  const config: any = { modelRetries: given };
  expect(() => new AgentRuntime(new GeneralChatAgent(), config)).toThrow(
    expect.objectContaining({
      code: 'invalid_option',
      message: expect.stringContaining('modelRetries'),
    }),
  );
});

it('keeps the payload that a runtime of LobeHub throws', async () => {
  const thrown = {
    errorType: 'ProviderServiceUnavailable',
    error: { message: 'm' },
    provider: 'p',
  };
  const failing = async function* () {
    yield* [];
    throw thrown;
  };
  const { newState } = await reported(failing, {}, { modelRetries: 0 });
  expect(newState.error).toMatchObject({
    type: 'ProviderServiceUnavailable',
    message: 'm',
    body: { error: { message: 'm' }, provider: 'p' },
  });
});

it('tells of the tries of a runtime', async () => {
  let tries = 0;
  const modelRuntime = createModelRuntime('openai', {
    apiKey: 'k',
    maxRetries: 1,
    fetch: async () => {
      tries += 1;
      if (tries === 1) return Response.json({ error: { message: 'busy' } }, { status: 503 });
      return answered([
        { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] },
      ]);
    },
  });
  const config = { modelRuntimeConfig: { model: 'gpt-4o', provider: 'openai' } };
  const { events, newState } = await reported(modelRuntime, config);
  expect(newState.messages[1]).toMatchObject({ content: 'x' });
  expect(events.filter(({ type }) => type === 'stream_retry')).toMatchObject([
    { data: { attempt: 1, errorType: 'ProviderServiceUnavailable' } },
  ]);
});

it.each(['caller', 'engine'] as const)('sends media of rows (%s history)', async (history) => {
  const sent: any[] = [];
  const modelRuntime = createModelRuntime('openai', {
    apiKey: 'k',
    fetch: async (_url, init) => {
      sent.push(...JSON.parse(init?.body as string).messages);
      return answered([
        { choices: [{ index: 0, delta: { content: 'x' }, finish_reason: 'stop' }] },
      ]);
    },
  });
  const url = 'https://files.example/a.png';
  const state = AgentRuntime.createInitialState({
    messages: [
      { role: 'user', content: 'Look', imageList: [{ id: 'i', url }] },
      { role: 'assistant', content: 'Nice.', imageList: [] },
      { role: 'user', content: 'Read', fileList: [{ name: 'c.md', content: '# C' }] },
    ],
    modelRuntimeConfig: { model: 'gpt-4o', provider: 'openai' },
  });
  const agent = Object.assign(new GeneralChatAgent({}), { modelRuntime });
  await new AgentRuntime(agent, { history }).run(state);
  expect(sent.map(({ content }) => content)).toEqual([
    [
      { type: 'text', text: 'Look' },
      { type: 'image_url', image_url: { url, detail: 'auto' } },
    ],
    'Nice.',
    'Read\n\n<file name="c.md">\n# C\n</file>',
  ]);
});

it('waits before another try by the clock that it is given', async () => {
  const waits: number[] = [];
  const wait = async (ms: number) => void waits.push(ms);
  let requested = 0;
  const model = async function* () {
    requested += 1;
    if (requested < 4) throw Object.assign(new Error('busy'), { retryable: true });
    yield { content: 'x' };
  };
  const { newState } = await reported(model, {}, { wait });
  expect(newState.messages[1]).toMatchObject({ content: 'x' });
  expect(waits).toEqual([1000, 2000, 4000]);
  const rejected: any = { wait: 5 };
  expect(() => new AgentRuntime(new GeneralChatAgent(), rejected)).toThrow(
    expect.objectContaining({ code: 'invalid_option' }),
  );
});

it('puts the prompt of the state before messages that have none', async () => {
  const requested: any[] = [];
  const model = async function* ({ messages }: any) {
    requested.push(messages.map(({ role, content }: any) => [role, content]));
    yield { content: 'Done' };
  };
  const system = ['system', 'Be kind.'];
  await reported(model, { systemRole: 'Be kind.' });
  const messages = [
    { role: 'system', content: 'Be kind.' },
    { role: 'user', content: 'hi' },
  ];
  await reported(model, { systemRole: 'Be cruel.', messages });
  expect(requested).toEqual(Array.from({ length: 2 }, () => [system, ['user', 'hi']]));
});

it('asks nobody with system messages alone', async () => {
  const { newState } = await reported(
    async function* () {
      yield { content: 'x' };
    },
    { messages: [{ role: 'system', content: 'Be kind.' }] },
  );
  expect(newState).toMatchObject({ status: 'error', error: { type: 'invalid_messages' } });
});

it.each([
  ['a client', { operationToolSet: { sourceMap: { f: 'client' } } }, 'client_tool_execution'],
  ['later', {}, 'async_tool'],
])('tells what is answered by %s', async (_who, state, reason) => {
  const model = async function* () {
    yield { tool_calls: [call('1', 'f', '{}')] };
  };
  const agent = Object.assign(new GeneralChatAgent({}), {
    tools: { f: () => ({ deferred: true }) },
    modelRuntime: model,
  });
  const whole = AgentRuntime.createInitialState({
    messages: [{ role: 'user', content: 'hi' }],
    toolManifestMap: { f: { identifier: 'f', humanIntervention: 'never' } },
    ...state,
  });
  const { events, newState } = await new AgentRuntime(agent as never, { history: 'engine' }).run(
    whole,
  );
  expect(newState.status).toBe('waiting_for_async_tool');
  expect(events.filter(({ type }) => type === 'tool_pending')).toMatchObject([
    { reason, toolCalls: [{ id: '1', apiName: 'f' }] },
  ]);
});

describe('a context that a compression did not make shorter', () => {
  const window = 1000;
  const long = 'word '.repeat(9000);
  const rows: [string, object[], object | undefined][] = [
    ['of old turns', [{ role: 'user', content: long }, { role: 'assistant', content: long }, { role: 'user', content: 'now' }], undefined], // prettier-ignore
    ['of one question', [{ role: 'user', content: long }], undefined],
  ];
  const ways = rows.flatMap(([name, messages]) => [
    { name, messages, inList: false },
    { name, messages, inList: true },
  ]);
  it.each(ways)('is cut: $name, in a list: $inList', async ({ messages, inList }) => {
    const sizes: number[] = [];
    const brain = new GeneralChatAgent({
      compressionConfig: { enabled: true, maxWindowToken: window },
    });
    const agent = Object.assign(Object.create(brain) as GeneralChatAgent, {
      runner: async (...given: Parameters<typeof brain.runner>) => {
        const decided = await brain.runner(...given);
        return inList ? [decided].flat() : decided;
      },
      modelRuntime: async function* ({ messages: sent, purpose }: any) {
        if (purpose === 'compression') throw new Error('no summary');
        sizes.push(JSON.stringify(sent).length);
        yield { content: 'Done' };
      },
    });
    const state = AgentRuntime.createInitialState({ messages } as never);
    const runtime = new AgentRuntime(agent, { history: 'engine' });
    const { newState } = await runtime.run(state);
    expect(newState.status).toBe('done');
    expect(sizes).toHaveLength(1);
    expect(sizes[0]).toBeLessThan(window * 8);
  });
});

describe("the agent's own modelRuntimeConfig", () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const chunk = (delta: object, finish_reason?: string) => ({
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason }],
    ...(finish_reason && { usage }),
  });
  const call = { index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
  const turns = [
    [chunk({ tool_calls: [call] }, 'tool_calls')],
    [chunk({ content: 'done' }, 'stop')],
  ];
  const own = { model: 'gpt-4o', provider: 'openai' };
  const start = (more: object = {}) =>
    AgentRuntime.createInitialState({
      messages: [{ role: 'user', content: 'hi' }],
      toolManifestMap: { f: { identifier: 'f', humanIntervention: 'never' } },
      ...more,
    });

  it.each([
    ['without another', {}],
    ["before the state's", { modelRuntimeConfig: { model: 'gpt-5', provider: 'azure' } }],
  ])('holds from the first turn on, %s', async (_name, more) => {
    const requested: unknown[] = [];
    const modelRuntime = createModelRuntime('openai', {
      apiKey: 'k',
      fetch: async (_url, init) => {
        requested.push(JSON.parse(init?.body as string).model);
        return answered(turns[requested.length - 1] ?? []);
      },
    });
    const agent = Object.assign(new GeneralChatAgent({ modelRuntimeConfig: own }), {
      tools: { f: () => 'made' },
      modelRuntime,
    });
    const { newState } = await new AgentRuntime(agent, { history: 'engine' }).run(start(more));
    expect(newState.error).toBeUndefined();
    expect(requested).toEqual(['gpt-4o', 'gpt-4o']);
    expect(newState.cost.llm.byModel).toMatchObject([{ id: 'openai/gpt-4o', ...own }]);
  });

  it('gives way to the instruction, and counts its compression', async () => {
    const requested: unknown[] = [];
    const modelRuntime = async function* ({ model, provider }: any) {
      requested.push(`${provider}/${model}`);
      yield { content: 'x', usage: { totalTokens: 2, cost: 0.5 } };
    };
    const runner = jest.fn().mockResolvedValue({ type: 'finish', reason: 'completed' });
    const small = { model: 'small', provider: 'openai' };
    const config = { modelRuntimeConfig: { ...own, compressionModel: small } };
    const agent: any = { config, modelRuntime, runner };
    const messages = Array.from({ length: 6 }, (_value, index) => ({
      role: index % 2 ? 'assistant' : 'user',
      content: 'many words of a long conversation '.repeat(20),
    }));
    runner.mockResolvedValueOnce([
      { type: 'compress_context', payload: {} },
      { type: 'call_llm', payload: { model: 'other', provider: 'acme' } },
    ]);
    const { newState } = await new AgentRuntime(agent).step(start({ messages }));
    expect(requested).toEqual(['openai/small', 'acme/other']);
    expect(newState.cost.llm.byModel.map(({ id }) => id)).toEqual(requested);
  });
});
