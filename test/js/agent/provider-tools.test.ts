// Tools that a provider runs itself: for an agent they are history, not work.
import { AgentRuntime, createAgent, createModelRuntime, GeneralChatAgent, tool } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';

let provider: Provider;
let requested: Record<string, unknown>[];

/** Answers each request with the next list of records, named after their type where `named`. */
async function start(answers: object[][], named: boolean): Promise<void> {
  requested = [];
  provider = await startProvider();
  provider.answer = async (response, call) => {
    requested.push(JSON.parse(call.body) as Record<string, unknown>);
    const records = answers[requested.length - 1] ?? [];
    const lines = records.map((record) => {
      const name = named ? `event: ${(record as { type: string }).type}\n` : '';
      return `${name}data: ${JSON.stringify(record)}\n\n`;
    });
    return stream(lines)(response, call);
  };
}
afterEach(() => provider.close());

const messageStart = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    role: 'assistant',
    content: [],
    usage: { input_tokens: 10, output_tokens: 1 },
  },
};
const block = (index: number, content_block: object, ...deltas: object[]): object[] => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const messageEnd = (stop_reason: string): object[] => [
  { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
];
const text = (index: number, words: string): object[] =>
  block(index, { type: 'text', text: '' }, { type: 'text_delta', text: words });
const search = block(
  0,
  { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} },
  { type: 'input_json_delta', partial_json: '{"query":"x"}' },
);
const found = block(1, {
  type: 'web_search_tool_result',
  tool_use_id: 'srv_1',
  content: [{ type: 'web_search_result', title: 'T', url: 'https://a.example' }],
});

const wires: [
  name: string,
  provider: string,
  parameters: Record<string, unknown>,
  records: object[],
][] = [
  [
    'anthropic',
    'anthropic',
    {},
    [messageStart, ...search, ...found, ...text(2, 'It rains.'), ...messageEnd('end_turn')],
  ],
  [
    'gemini',
    'google',
    {},
    [
      {
        candidates: [
          {
            index: 0,
            finishReason: 'STOP',
            content: {
              role: 'model',
              parts: [
                { executableCode: { language: 'PYTHON', code: '1+1' } },
                { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '2' } },
                { text: 'It rains.' },
              ],
            },
          },
        ],
        usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
      },
    ],
  ],
  [
    'openai responses',
    'openai',
    { apiMode: 'responses' },
    [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          type: 'mcp_call',
          id: 'mcp_1',
          name: 'web_search',
          server_label: 's',
          arguments: '{"query":"x"}',
          output: 'rain',
        },
      },
      {
        type: 'response.output_item.done',
        output_index: 1,
        item: {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'It rains.', annotations: [] }],
        },
      },
      {
        type: 'response.completed',
        response: {
          id: 'resp_1',
          status: 'completed',
          usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
        },
      },
    ],
  ],
];

const settings = () => ({ baseURL: provider.url, apiKey: 'k', maxRetries: 0 });

/** Tools of the names that the providers use, which must not run. */
function localTools(ran: unknown[]) {
  const make = (name: string) =>
    tool({
      name,
      input: { type: 'object' },
      run: (input) => {
        ran.push([name, input]);
        return 'ran here';
      },
    });
  return [make('web_search'), make('code_execution')];
}

describe.each(wires)('a call that %s answered itself', (_name, id, parameters, records) => {
  const named = id !== 'google';

  it('is no call of an agent', async () => {
    await start([records, []], named);
    const ran: unknown[] = [];
    const model = createModelRuntime(id, settings());
    const agent = createAgent({
      model,
      modelName: 'm',
      parameters,
      tools: localTools(ran),
      limits: { maxSteps: 3 },
    });
    const run = agent.run('How is the weather?');
    const results: string[] = [];
    for await (const event of run) {
      if (event.type === 'TOOL_CALL_RESULT') results.push(event.toolCallId);
    }
    expect((await run.result).status).toBe('completed');
    expect(await run.text()).toBe('It rains.');
    expect(requested).toHaveLength(1);
    expect(results).toHaveLength(1);
    expect(ran).toEqual([]);
  });

  it('is no call of an AgentRuntime', async () => {
    await start([records, []], named);
    const ran: unknown[] = [];
    const note = (args: unknown): string => {
      ran.push(args);
      return 'ran here';
    };
    const agent = Object.assign(new GeneralChatAgent({}), {
      tools: { web_search: note, code_execution: note },
    });
    const model = createModelRuntime(id, settings());
    const modelRuntime: typeof model = Object.assign(Object.create(model) as typeof model, {
      stream: (...[payload, options]: Parameters<typeof model.stream>) =>
        model.stream({ ...payload, ...parameters }, options),
    });
    const runtime = new AgentRuntime(agent, { modelRuntime, history: 'engine' });
    const free = { humanIntervention: 'never' as const };
    const state = AgentRuntime.createInitialState({
      messages: [{ id: 'u1', role: 'user', content: 'How is the weather?' }],
      modelRuntimeConfig: { model: 'm', provider: id },
      toolManifestMap: {
        web_search: { identifier: 'web_search', ...free },
        code_execution: { identifier: 'code_execution', ...free },
      },
    });
    const { newState } = await runtime.run(state);
    expect(newState.status).toBe('done');
    expect(newState.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'How is the weather?'],
      ['assistant', 'It rains.'],
    ]);
    expect(requested).toHaveLength(1);
    expect(ran).toEqual([]);
  });
});

it('keeps what the provider ran in the history of the next turn', async () => {
  const call = block(
    3,
    { type: 'tool_use', id: 'toolu_1', name: 'code_execution', input: {} },
    { type: 'input_json_delta', partial_json: '{}' },
  );
  const first = [messageStart, ...search, ...found, ...text(2, 'Wait.'), ...call];
  const second = { ...messageStart, message: { ...messageStart.message, id: 'msg_2' } };
  await start(
    [
      [...first, ...messageEnd('tool_use')],
      [second, ...text(0, 'It rains.'), ...messageEnd('end_turn')],
    ],
    true,
  );
  const ran: unknown[] = [];
  const model = createModelRuntime('anthropic', settings());
  const agent = createAgent({ model, modelName: 'm', tools: localTools(ran) });
  expect(await agent.run('How is the weather?').text()).toContain('It rains.');
  expect(ran).toEqual([['code_execution', {}]]);
  const { messages } = requested[1] as {
    messages: { role: string; content: { type: string }[] }[];
  };
  expect(messages.slice(1).map(({ role, content }) => [role, content.map((c) => c.type)])).toEqual([
    ['assistant', ['server_tool_use', 'web_search_tool_result', 'text', 'tool_use']],
    ['user', ['tool_result']],
  ]);
});

it('asks again when the provider paused its turn, with the turn as it was', async () => {
  const second = { ...messageStart, message: { ...messageStart.message, id: 'msg_2' } };
  await start(
    [
      [messageStart, ...search, ...messageEnd('pause_turn')],
      [second, ...found, ...text(2, 'It rains.'), ...messageEnd('end_turn')],
    ],
    true,
  );
  const ran: unknown[] = [];
  const model = createModelRuntime('anthropic', settings());
  const agent = createAgent({ model, modelName: 'm', tools: localTools(ran) });
  const run = agent.run('How is the weather?');
  const results: string[] = [];
  for await (const event of run) {
    if (event.type === 'TOOL_CALL_RESULT') results.push(event.toolCallId);
  }
  expect((await run.result).status).toBe('completed');
  expect(results).toEqual(['srv_1']);
  expect(ran).toEqual([]);
  expect(requested).toHaveLength(2);
  const { messages } = requested[1] as { messages: { role: string; content: unknown }[] };
  expect(messages.at(-1)).toMatchObject({
    role: 'assistant',
    content: [{ type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: { query: 'x' } }],
  });
});

it('gives back the result of a paused turn in every later request', async () => {
  const later = (id: string) => ({ ...messageStart, message: { ...messageStart.message, id } });
  const call = block(
    3,
    { type: 'tool_use', id: 'toolu_1', name: 'code_execution', input: {} },
    { type: 'input_json_delta', partial_json: '{}' },
  );
  await start(
    [
      [messageStart, ...search, ...messageEnd('pause_turn')],
      [later('msg_2'), ...found, ...text(2, 'Wait.'), ...call, ...messageEnd('tool_use')],
      [later('msg_3'), ...text(0, 'It rains.'), ...messageEnd('end_turn')],
    ],
    true,
  );
  const model = createModelRuntime('anthropic', settings());
  const agent = createAgent({ model, modelName: 'm', tools: localTools([]) });
  expect(await agent.run('How is the weather?').text()).toContain('It rains.');
  const { messages } = requested[2] as { messages: { role: string; content: object[] }[] };
  expect(messages.slice(1)).toMatchObject([
    {
      role: 'assistant',
      content: [
        { type: 'server_tool_use', id: 'srv_1' },
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srv_1',
          content: [{ type: 'web_search_result', title: 'T', url: 'https://a.example' }],
        },
        { type: 'text', text: 'Wait.' },
        { type: 'tool_use', id: 'toolu_1' },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
  ]);
});
