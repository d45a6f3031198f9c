// The LobeHub chat stream of real calls: every event that the protocol has, each from a provider whose
// answer gives it.
import type { ChatFinish } from 'millrace';
import { createModelRuntime } from 'millrace';

import { sse } from '../support/responses';

const messages = [{ role: 'user' as const, content: 'Hi' }];
const choice = (delta: object) => ({ choices: [{ index: 0, delta }] });
const stopped = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
const image = { inlineData: { mimeType: 'image/png', data: 'AAAA' } };
const gemini = (...parts: object[]) => ({
  responseId: 'r',
  candidates: [{ content: { parts }, finishReason: 'STOP' }],
});
const block = (index: number, content_block: object) => [
  { type: 'content_block_start', index, content_block },
  { type: 'content_block_stop', index },
];

const usage = { prompt_tokens: 3, completion_tokens: 5, total_tokens: 8 };

interface Case {
  name: string;
  provider: string;
  payload?: object;
  records: object[];
  events: string[];
}

const cases: Case[] = [
  {
    name: 'a chat completion with reasoning, a source, an image, a call and its usage',
    provider: 'openrouter',
    records: [
      choice({ role: 'assistant', reasoning: 'Hm' }),
      choice({ content: 'Here', annotations: [{ url_citation: { url: 'https://a.example' } }] }),
      choice({ images: [{ image_url: { url: 'data:image/png;base64,AAAA' } }] }),
      choice({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '{}' } }] }),
      { ...stopped, usage: { prompt_tokens: 3, completion_tokens: 5 } },
    ],
    events: [
      ...['reasoning', 'text', 'base64_image', 'tool_calls', 'tool_calls'],
      ...['grounding', 'stop', 'usage', 'speed'],
    ],
  },
  {
    name: 'an error inside an answer',
    provider: 'openrouter',
    records: [choice({ content: 'Hel' }), { error: { message: 'broken', code: 'odd' } }],
    events: ['text', 'usage', 'speed', 'error'],
  },
  {
    name: "Responses' reasoning item, which goes back with the next turn",
    provider: 'openai',
    payload: { model: 'gpt-5', apiMode: 'responses' },
    records: [
      { type: 'response.created', response: { id: 'resp' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'reasoning', id: 'rs_1', summary: [] },
      },
      {
        type: 'response.reasoning_summary_part.added',
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        part: { type: 'summary_text', text: '' },
      },
      {
        type: 'response.reasoning_summary_text.delta',
        item_id: 'rs_1',
        output_index: 0,
        summary_index: 0,
        delta: 'Hm',
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: {
          type: 'reasoning',
          id: 'rs_1',
          encrypted_content: 'gAAA',
          summary: [{ type: 'summary_text', text: 'Hm' }],
        },
      },
      {
        type: 'response.completed',
        response: { id: 'resp', status: 'completed', usage: { input_tokens: 1, output_tokens: 2 } },
      },
    ],
    events: [
      ...['reasoning', 'reasoning_signature', 'reasoning_response_item'],
      ...['stop', 'data', 'data', 'usage', 'speed'],
    ],
  },
  {
    name: "Claude's hidden thought",
    provider: 'anthropic',
    payload: { model: 'claude-sonnet-4-5' },
    records: [
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
      ...block(0, { type: 'redacted_thinking', data: 'opaque' }),
      ...block(1, { type: 'text', text: 'Hi' }),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ],
    events: ['flagged_reasoning_signature', 'text', 'stop', 'usage', 'speed', 'stop'],
  },
  {
    name: "Gemini's thoughts, texts and images as parts, and code that it ran",
    provider: 'google',
    payload: { model: 'gemini-2.5-flash-image' },
    records: [
      gemini(
        { text: 'A cat', thought: true },
        { ...image, thought: true },
        { text: 'Here' },
        image,
        { executableCode: { language: 'PYTHON', code: '1' } },
      ),
    ],
    events: [
      ...['reasoning_part', 'reasoning_part', 'content_part', 'content_part'],
      // Who issued the state of the call, and the state.
      ...['tool_calls', 'tool_calls', 'data', 'data', 'stop', 'usage', 'speed'],
    ],
  },
];

/** The names of the events, one after the other. */
async function eventsOf({ provider, payload, records }: Case): Promise<string[]> {
  const runtime = createModelRuntime(provider, {
    apiKey: 'k',
    maxRetries: 0,
    fetch: async () =>
      new Response(sse(...records), {
        headers: { 'content-type': 'text/event-stream' },
      }),
  });
  const response = await runtime.chat({ model: 'm', messages, ...payload }, { protocol: 'lobe' });
  return [...(await response.text()).matchAll(/^event: (.*)$/gm)].map(([, name]) => name as string);
}

describe('the LobeHub chat stream', () => {
  it.each(cases)('tells of $name', async (one) => {
    expect(await eventsOf(one)).toEqual(one.events);
  });

  it('has every event of the protocol among these', () => {
    expect([...new Set(cases.flatMap(({ events }) => events))].sort()).toEqual([
      ...['base64_image', 'content_part', 'data', 'error', 'flagged_reasoning_signature'],
      ...['grounding', 'reasoning', 'reasoning_part', 'reasoning_response_item'],
      ...['reasoning_signature', 'speed', 'stop', 'text', 'tool_calls', 'usage'],
    ]);
  });
});

describe('the ids and ends of the LobeHub chat stream', () => {
  const framesOf = async (
    provider: string,
    records: object[],
    apiMode: 'chatCompletion' | 'responses' = 'chatCompletion',
  ): Promise<[string, string, string][]> => {
    const isOllama = provider === 'ollama';
    const lines = records.map((record) => `${JSON.stringify(record)}\n`).join('');
    const type = isOllama ? 'application/x-ndjson' : 'text/event-stream';
    const runtime = createModelRuntime(provider, {
      apiKey: 'k',
      maxRetries: 0,
      fetch: async () =>
        new Response(isOllama ? lines : sse(...records), { headers: { 'content-type': type } }),
    });
    const payload = { model: 'claude-sonnet-4-5', apiMode, messages };
    const text = await (await runtime.chat(payload, { protocol: 'lobe' })).text();
    return [...text.matchAll(/^id: (.*)\nevent: (.*)\ndata: (.*)$/gm)].map(
      ([, id = '', event = '', data = '']) => [id, event, data],
    );
  };
  const reported = async (provider: string, ...records: object[]): Promise<string[]> => {
    const frames = await framesOf(provider, records);
    const shown = frames.filter(([, event]) => ['text', 'tool_calls', 'stop'].includes(event));
    return shown.map((frame) => frame.join(' '));
  };
  const idsOf = async (...args: Parameters<typeof framesOf>): Promise<string[]> => {
    const frames = await framesOf(...args);
    const ids = frames.flatMap(([id, event]) => (event === 'speed' ? [] : [id]));
    return [...new Set(ids)];
  };

  it('are those of the answer in every frame: reasoning, sources, the end', async () => {
    const chunk = (delta: object, rest = {}): object => ({
      id: 'chatcmpl-7',
      choices: [{ index: 0, delta, ...rest }],
    });
    const source = { url_citation: { url: 'https://a.example', title: 'A' } };
    const reasoned = [
      chunk({ reasoning_content: 'Hm' }),
      chunk({ content: 'Hi', annotations: [source] }),
      chunk({ reasoning_content: 'So' }),
      chunk({}, { finish_reason: 'stop' }),
    ];
    expect(await idsOf('deepseek', reasoned)).toEqual(['chatcmpl-7']);
    const silent = [chunk({ annotations: [source] }, { finish_reason: 'stop' })];
    expect(await idsOf('openai', silent)).toEqual(['chatcmpl-7']);
    const searched = [
      { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [] } },
      ...block(0, { type: 'thinking', thinking: 'Hm', signature: 'c2ln' }),
      ...block(1, { type: 'server_tool_use', id: 'srv_1', name: 'web_search', input: {} }),
      ...block(2, { type: 'web_search_tool_result', tool_use_id: 'srv_1', content: [] }),
      ...block(3, { type: 'text', text: 'Hi' }),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ];
    expect(await idsOf('anthropic', searched)).toEqual(['msg_1']);
    const planned = [
      { type: 'message-start', id: 'co_1', delta: { message: { role: 'assistant' } } },
      { type: 'tool-plan-delta', delta: { message: { tool_plan: 'Hm' } } },
      { type: 'content-start', index: 0, delta: { message: { content: { type: 'text' } } } },
      { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Hi' } } } },
      { type: 'content-end', index: 0 },
      { type: 'message-end', delta: { finish_reason: 'COMPLETE' } },
    ];
    expect(await idsOf('cohere', planned)).toEqual(['co_1']);
  });

  it('are one where the vendor has no name for the answer', async () => {
    const record = (message: object, done = false) => ({ model: 'm', message, done });
    const thinking = JSON.parse('{"thinking":"Hm"}') as object;
    const records = [record(thinking), record({ content: 'Hi' }), record({ content: '' }, true)];
    const ids = await idsOf('ollama', records);
    expect(ids).toHaveLength(1);
    expect(ids[0]).not.toBe('');
  });

  it("are those of items for what the Responses API's items hold", async () => {
    const part = (summary_index: number, delta: string): object => ({
      type: 'response.reasoning_summary_text.delta',
      ...{ item_id: 'rs_1', output_index: 0, summary_index, delta },
    });
    const records = [
      { type: 'response.created', response: { id: 'resp_1' } },
      part(0, 'One'),
      part(1, 'Two'),
      {
        type: 'response.output_text.delta',
        ...{ item_id: 'msg_1', output_index: 1, content_index: 0, delta: 'Hi' },
      },
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed' } },
    ];
    const frames = await framesOf('openai', records, 'responses');
    const shown = frames.filter(([, event]) => !['speed', 'usage', 'data'].includes(event));
    expect(shown.map(([id, event]) => `${id} ${event}`)).toEqual([
      ...['rs_1 reasoning', 'rs_1 reasoning', 'rs_1 reasoning'],
      ...['msg_1 text', 'resp_1 stop'],
    ]);
  });

  it("are those of a chat completion's chunks", async () => {
    const chunk = (delta: object, rest = {}): object => ({
      id: 'chatcmpl-7',
      choices: [{ index: 0, delta, ...rest }],
    });
    const call = { index: 0, id: 'c', function: { name: 'f', arguments: '{}' } };
    const lines = await reported(
      'openai',
      chunk({ role: 'assistant', content: 'Hi' }),
      chunk({ tool_calls: [call] }),
      chunk({}, { finish_reason: 'tool_calls' }),
    );
    expect(lines.map((line) => line.split(' ', 2).join(' '))).toEqual([
      'chatcmpl-7 text',
      'chatcmpl-7 tool_calls',
      'chatcmpl-7 tool_calls',
      'chatcmpl-7 stop',
    ]);
  });

  it('end each message of an answer that has two', async () => {
    const message = (id: string, text: string): object[] => [
      { type: 'message_start', message: { id, role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ];
    expect(await reported('anthropic', ...message('m1', 'A'), ...message('m2', 'B'))).toEqual([
      'm1 text "A"',
      'm1 stop "end_turn"',
      'm2 text "B"',
      'm2 stop "end_turn"',
      'm2 stop "message_stop"',
    ]);
  });
});

it('tells the tokens of all attempts in one usage, which clients keep', async () => {
  const answers = [
    sse(choice({ content: 'Half an answer' })),
    sse(choice({ content: 'whole' }), { ...stopped, usage }),
  ];
  const runtime = createModelRuntime('openrouter', {
    apiKey: 'k',
    maxRetries: 0,
    fallback: ['groq:m'],
    providers: { groq: { apiKey: 'k' } },
    fetch: async () =>
      new Response(answers.shift(), { headers: { 'content-type': 'text/event-stream' } }),
  });
  let final: ChatFinish | undefined;
  const response = await runtime.chat(
    { model: 'm', messages },
    { protocol: 'lobe', callback: { onFinal: (data) => void (final = data) } },
  );
  const reported = [...(await response.text()).matchAll(/event: usage\ndata: (.*)/g)];
  expect(reported).toHaveLength(1);
  const sum = JSON.parse(reported[0]?.[1] ?? '{}') as { totalTokens: number };
  expect(sum.totalTokens).toBeGreaterThan(usage.total_tokens);
  expect(final?.usage).toEqual(sum);
  expect(final).not.toHaveProperty('usageMissingDiagnostics');
});

it.each([undefined, 'json'] as const)(
  'headers of the caller replace ours (%s)',
  async (responseMode) => {
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      fetch: async () =>
        new Response(sse(choice({ content: 'Hi' }), stopped), {
          headers: { 'content-type': 'text/event-stream' },
        }),
    });
    const { headers } = await runtime.chat(
      { model: 'm', messages, responseMode },
      { headers: { 'content-type': 'text/x', 'CACHE-CONTROL': 'no-store', 'x-own': '1' } },
    );
    const names = ['content-type', 'cache-control', 'x-own'];
    expect(names.map((name) => headers.get(name))).toEqual(['text/x', 'no-store', '1']);
  },
);
