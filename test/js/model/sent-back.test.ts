// Members of answers and histories that reach readers, and go back to the provider that gave them.
import { HttpAgent as Agent1 } from '@ag-ui/client';
import { HttpAgent as Agent0 } from 'ag-ui-client-0.0';
import {
  createModelRuntime,
  foldEvents,
  MillraceError,
  openAIAdapter,
  toAGUIResponse,
  agUIAdapter,
} from 'millrace';

import { all, responseOf, sse } from '../support/responses';
import { loopback } from '../support/server';

const question = { id: 'q', role: 'user' as const, content: 'Ask' };
const further = { id: 'f', role: 'user' as const, content: 'Go on' };
const usage = { input_tokens: 1, output_tokens: 2, service_tier: 'priority' };
const sseHead = { headers: { 'content-type': 'text/event-stream' } };

interface Sent {
  messages: Record<string, unknown>[];
}

// A runtime whose provider answers with these records, and what it was sent.
function answering(provider: string, ...records: unknown[]) {
  const requests: Sent[] = [];
  const runtime = createModelRuntime(provider, {
    apiKey: 'k',
    maxRetries: 0,
    circuit: false,
    baseURL: 'https://gateway.example/v1',
    fetch: async (_url, init) => {
      requests.push(JSON.parse(init?.body as string) as Sent);
      return Promise.resolve(new Response(sse(...records), sseHead));
    },
  });
  return { runtime, requests };
}

const choice = (delta: object, end: object = {}) => ({
  id: 'c1',
  choices: [{ index: 0, delta, ...end }],
});

describe('an answer of chat completions', () => {
  const payload = { model: 'gpt-4o', apiMode: 'chatCompletion' as const };

  it.each(['openai', 'mistral', 'deepseek'])(
    'has its text behind a call in front of the result: %s',
    async (provider) => {
      const called = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
      const { runtime, requests } = answering(
        provider,
        choice({ role: 'assistant', content: 'Let me look.' }),
        choice({ tool_calls: [{ index: 0, ...called }] }),
        choice({ content: ' Soon.' }),
        choice({}, { finish_reason: 'tool_calls' }),
      );
      const folded = foldEvents(await all(runtime.stream({ ...payload, messages: [question] })));
      const result = { id: 't', role: 'tool' as const, toolCallId: 'call_1', content: 'Done' };
      const messages = [question, ...folded, result];
      await all(runtime.stream({ ...payload, messages, format: 'canonical' }));
      const sent = requests[1]?.messages ?? [];
      expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
      expect(sent[1]).toMatchObject({ content: 'Let me look. Soon.' });
    },
  );

  it('goes back with what signs its reasoning and the words of it, to its own server alone', async () => {
    const called = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const { runtime, requests } = answering(
      'openai',
      choice({ role: 'assistant', content: null, reasoning_text: 'I won' }),
      choice({ reasoning_text: 'der.' }),
      choice({ reasoning_opaque: 'b3BhcXVl', tool_calls: [{ index: 0, ...called }] }),
      choice({}, { finish_reason: 'tool_calls' }),
    );
    const run = runtime.stream({ ...payload, messages: [question] });
    const folded = foldEvents(await all(run));
    expect(JSON.stringify(await run.report)).not.toContain('unknownMembers');
    const result = { id: 't', role: 'tool' as const, toolCallId: 'call_1', content: 'Done' };
    const messages = [question, ...folded, result];
    await all(runtime.stream({ ...payload, messages, format: 'canonical' }));
    expect(requests[1]?.messages[1]).toMatchObject({
      role: 'assistant',
      tool_calls: [called],
      reasoning_text: 'I wonder.',
      reasoning_opaque: 'b3BhcXVl',
    });
    const other = answering('groq', choice({ role: 'assistant', content: 'Hi' }));
    await all(other.runtime.stream({ ...payload, messages, format: 'canonical' }));
    expect(JSON.stringify(other.requests[0])).not.toContain('b3BhcXVl');
  });

  it('goes back as the refusal that it was, to its own server alone', async () => {
    const { runtime, requests } = answering(
      'openai',
      choice({ role: 'assistant', content: null, refusal: '' }),
      choice({ refusal: 'No.' }),
      choice({}, { finish_reason: 'stop' }),
    );
    const folded = foldEvents(await all(runtime.stream({ ...payload, messages: [question] })));
    const messages = [question, ...folded, further];
    await all(runtime.stream({ ...payload, messages, format: 'canonical' }));
    expect(requests[1]?.messages[1]).toEqual({ role: 'assistant', content: null, refusal: 'No.' });
    // Without a format they are known by what was folded.
    await all(runtime.stream({ ...payload, messages }));
    expect(requests[2]?.messages).toEqual(requests[1]?.messages);
    const other = answering('groq', choice({ content: 'x' }, { finish_reason: 'stop' }));
    await all(other.runtime.stream({ model: 'm', messages, format: 'canonical' }));
    expect(other.requests[0]?.messages[1]).toEqual({ role: 'assistant', content: 'No.' });
  });

  it.each([
    ['mistral', { content: [{ type: 'document_url', document_url: 'https://d.example/a.pdf' }] }],
    [
      'mistral',
      { content: [{ type: 'image_url', image_url: { url: 'https://d.example/a.png' }, zz: 1 }] },
    ],
    [
      'openrouter',
      {
        images: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' }, index: 0 },
          {
            type: 'image_url',
            image_url: { url: 'https://i.example/b.png', detail: 'low' },
            zz: 1,
          },
        ],
      },
    ],
  ])('goes back to %s where it is no text, with and without a format', async (provider, given) => {
    const { runtime, requests } = answering(
      provider,
      choice({ role: 'assistant', ...given }),
      choice({}, { finish_reason: 'stop' }),
    );
    const folded = foldEvents(await all(runtime.stream({ model: 'm', messages: [question] })));
    const messages = [question, ...folded, further];
    await all(runtime.stream({ model: 'm', messages, format: 'canonical' }));
    await all(runtime.stream({ model: 'm', messages }));
    expect(requests[1]?.messages[1]).toMatchObject({ role: 'assistant', ...given });
    expect(requests[2]?.messages).toEqual(requests[1]?.messages);
  });

  it.each(['pieces', 'one message'])(
    'goes back with the blocks of LiteLLM, in %s',
    async (form) => {
      const block = (thinking: string, signature: string | null) => ({
        type: 'thinking',
        thinking,
        signature,
      });
      const redacted = { type: 'redacted_thinking', data: 'd' };
      const pieces = [
        choice({
          role: 'assistant',
          reasoning_content: 'Let ',
          thinking_blocks: [block('Let ', '')],
        }),
        choice({ reasoning_content: 'me.', thinking_blocks: [block('me.', null)] }),
        choice({ reasoning_content: '', thinking_blocks: [block('', 's1')] }),
        choice({ thinking_blocks: [redacted] }),
        choice({ content: 'Yes.' }),
        choice({}, { finish_reason: 'stop' }),
      ];
      const message = { role: 'assistant', content: 'Yes.', reasoning_content: 'Let me.' };
      const thinking_blocks = [block('Let me.', 's1'), redacted];
      const whole = {
        choices: [{ index: 0, message: { ...message, thinking_blocks }, finish_reason: 'stop' }],
      };
      const records = form === 'pieces' ? pieces : [whole];
      const { runtime, requests } = answering('openai', ...records);
      const folded = foldEvents(await all(runtime.stream({ ...payload, messages: [question] })));
      expect(folded.map(({ content }) => content)).toEqual(['Let me.', 'Yes.']);
      // A page keeps the encrypted values and no state.
      const stored = folded.map((one) => ({ ...one, metadata: undefined }));
      for (const back of [folded, stored]) {
        await all(runtime.stream({ ...payload, messages: [question, ...back, further] }));
        expect(requests.at(-1)?.messages[1]).toMatchObject({ content: 'Yes.', thinking_blocks });
      }
      const other = answering('groq', choice({ content: 'x' }, { finish_reason: 'stop' }));
      await all(other.runtime.stream({ model: 'm', messages: [question, ...folded, further] }));
      expect(other.requests[0]?.messages[1]).not.toHaveProperty('thinking_blocks');
    },
  );

  it('goes back in the form before tool calls, with the result in that form', async () => {
    const { runtime, requests } = answering(
      'openai',
      choice({ role: 'assistant', content: null, function_call: { name: 'look', arguments: '' } }),
      choice({ function_call: { arguments: '{"a"' } }),
      choice({ function_call: { arguments: ':1}' } }),
      choice({}, { finish_reason: 'function_call' }),
    );
    const folded = foldEvents(await all(runtime.stream({ ...payload, messages: [question] })));
    const [call] = folded.flatMap((message) =>
      'toolCalls' in message ? (message.toolCalls ?? []) : [],
    );
    const result = { id: 't', role: 'tool' as const, toolCallId: call?.id ?? '', content: 'Seen' };
    const messages = [question, ...folded, result, further];
    await all(runtime.stream({ ...payload, messages }));
    expect(requests[1]?.messages.slice(1, 3)).toEqual([
      { role: 'assistant', content: null, function_call: { name: 'look', arguments: '{"a":1}' } },
      { role: 'function', content: 'Seen', name: 'look' },
    ]);
    const other = answering('groq', choice({ content: 'x' }, { finish_reason: 'stop' }));
    await all(other.runtime.stream({ model: 'm', messages }));
    expect(other.requests[0]?.messages[2]).toMatchObject({ role: 'tool', tool_call_id: call?.id });
  });

  it('sends the state of a call without an id back with that call', async () => {
    const extra_content = { google: { thought_signature: 'sig' } };
    const entry = { index: 0, type: 'function', function: { name: 'look', arguments: '{}' } };
    const { runtime } = answering(
      'openai',
      choice({ tool_calls: [{ ...entry, extra_content }] }),
      choice({}, { finish_reason: 'tool_calls' }),
    );
    const events = await all(runtime.stream({ ...payload, messages: [question] }));
    const start = events.find(({ type }) => type === 'TOOL_CALL_START');
    expect(events.find(({ type }) => type === 'REASONING_ENCRYPTED_VALUE')).toMatchObject({
      entityId: (start as { toolCallId?: string } | undefined)?.toolCallId,
    });
  });

  it('gives sources that a list gets while it is repeated', async () => {
    const record = (content: string, citations: string[], end: object = {}) => ({
      ...choice({ content }, end),
      citations,
    });
    const { runtime } = answering(
      'perplexity',
      record('a', ['https://a.example', 'https://b.example']),
      record('b', ['https://a.example', 'https://b.example']),
      record('c', ['https://a.example', 'https://b.example', 'https://c.example'], {
        finish_reason: 'stop',
      }),
    );
    const events = await all(runtime.stream({ model: 'sonar', messages: [question] }));
    const cited = events.flatMap((event) =>
      event.type === 'CUSTOM' && event.name === 'millrace.citation'
        ? [(event.value as { citation: unknown }).citation]
        : [],
    );
    expect(cited).toEqual([['https://a.example', 'https://b.example'], ['https://c.example']]);
  });

  it('reports of itself also where another answer follows in its body', async () => {
    const answer = (id: string, queue: number) => [
      { id, model: 'm', choices: [{ index: 0, delta: { content: id } }] },
      {
        ...{ id, model: 'm', time_info: { queue } },
        choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
      },
    ];
    const body = sse(...answer('a', 1), ...answer('b', 2));
    const events = await all(openAIAdapter({ extended: true }).parse(responseOf([body])));
    const facts = events.flatMap((event) =>
      event.type === 'CUSTOM' && event.name === 'millrace.response' ? [event.value] : [],
    );
    expect(facts).toEqual([
      { id: 'a', model: 'm', details: { time_info: { queue: 1 } } },
      { id: 'b', model: 'm', details: { time_info: { queue: 2 } } },
    ]);
  });
});

describe('a further answer of Gemini', () => {
  it('has a text in one part, with the members that its last piece brought', async () => {
    const record = (index: number, part: object, more: object = {}) => ({
      candidates: [{ index, content: { role: 'model', parts: [part] }, ...more }],
    });
    const { runtime } = answering(
      'google',
      record(0, { text: 'First' }, { finishReason: 'STOP' }),
      record(1, { text: 'Sec' }),
      record(1, { text: 'ond', thoughtSignature: 'c2ln', partMetadata: { a: 1 } }),
      record(1, { text: ' and more' }, { finishReason: 'STOP' }),
    );
    const run = runtime.stream({ model: 'gemini-3-flash', messages: [question] });
    await run.text();
    expect((await run.report).alternatives?.[0]?.message).toEqual({
      role: 'model',
      parts: [
        { text: 'Second', thoughtSignature: 'c2ln', partMetadata: { a: 1 } },
        { text: ' and more' },
      ],
    });
  });
});

describe('a message of Ollama', () => {
  it('has the name of a tool again, whoever wrote it', async () => {
    const { runtime, requests } = answering('ollama', {
      ...{ model: 'm', done: true, done_reason: 'stop' },
      message: { role: 'assistant', content: 'x' },
    });
    const messages = [
      { role: 'user', content: 'Ask' },
      { role: 'assistant', content: 'Told', tool_name: 'a' },
      { role: 'user', content: 'Go on', tool_name: 'c' },
    ];
    await all(runtime.stream({ model: 'm', format: 'ollama', messages: messages as never }));
    expect(requests[0]?.messages.map(({ tool_name }) => tool_name)).toEqual([
      ...[undefined, 'a', 'c'],
    ]);
  });
});

describe('a completion', () => {
  const gemini = (candidate: object) => ({
    responseId: 'g1',
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, ...candidate }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, trafficType: 'ON_DEMAND' },
  });
  const payload = { model: 'gemini-3-flash', messages: [question], responseMode: 'json' as const };

  it('has the usage as the provider reported it', async () => {
    const { runtime } = answering('google', gemini({ finishReason: 'STOP' }));
    const completion = (await (await runtime.chat(payload)).json()) as {
      millrace?: { events: { name?: string; value?: { reported?: unknown } }[] };
    };
    const usage = completion.millrace?.events.find(({ name }) => name === 'millrace.usage');
    expect(usage?.value?.reported).toMatchObject({ trafficType: 'ON_DEMAND' });
  });

  it('that failed has the report of what was paid for', async () => {
    const { runtime } = answering('google', gemini({ finishReason: 'SAFETY' }));
    const error: unknown = await runtime.chat(payload).catch((reason: unknown) => reason);
    expect(MillraceError.is(error) && error.report).toMatchObject({
      response: { id: 'g1' },
      usage: { totalInputTokens: 3, totalOutputTokens: 4 },
    });
    expect(JSON.stringify(error)).not.toContain('g1');
  });
});

describe('a run that is written for AG-UI clients', () => {
  const run = { threadId: 'their-thread', runId: 'their-run' };
  const written = async (records: object[], options: object = {}) => {
    const source = responseOf([sse(...records)]);
    const response = toAGUIResponse(source, { adapter: agUIAdapter(), ...options });
    return [...(await response.text()).matchAll(/^data: (.*)$/gm)].map(
      ([, json]) => JSON.parse(json ?? '') as Record<string, unknown>,
    );
  };

  it('names the run of its source, with its input, and when that ended', async () => {
    const started = {
      ...{ type: 'RUN_STARTED', ...run, parentRunId: 'p', timestamp: 1, metadata: { a: 1 } },
      input: { ...run, messages: [], tools: [], context: [], state: {}, forwardedProps: { b: 2 } },
    };
    const ended = { type: 'RUN_FINISHED', ...run, timestamp: 2 };
    const events = await written([started, ended], { protocolVersion: '1.0' });
    expect(events[1]).toEqual({ type: 'CUSTOM', name: 'millrace.source_run', value: started });
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED', timestamp: 2 });
  });

  it('does not name a source of the same ids', async () => {
    const events = await written(
      [
        { type: 'RUN_STARTED', ...run },
        { type: 'RUN_FINISHED', ...run },
      ],
      run,
    );
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
  });

  it('ends with the reason of the provider and its usage, to clients of each version', async () => {
    const { runtime } = answering(
      'anthropic',
      ...[
        { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], usage } },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'stop_sequence' }, usage },
        { type: 'message_stop' },
      ],
    );
    const warned = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    for (const [protocolVersion, Agent] of [
      ['1.0', Agent1],
      ['', Agent0],
    ] as const) {
      const server = await loopback((_request, response) => {
        const run = runtime.stream({ model: 'claude-sonnet-4-5', messages: [question] });
        const ids = { threadId: 't', runId: 'r' };
        void toAGUIResponse(run, { ...ids, ...(protocolVersion && { protocolVersion }) })
          .text()
          .then((body) => response.writeHead(200, sseHead.headers).end(body));
      });
      const finished: unknown[] = [];
      await new Agent({ url: server.url, threadId: 't' }).runAgent(
        { runId: 'r' },
        { onRunFinishedEvent: ({ event }: { event: unknown }) => void finished.push(event) },
      );
      await server.close();
      expect(finished).toEqual([
        expect.objectContaining({
          metadata: {
            millrace: {
              finishReason: 'stop_sequence',
              reportedUsage: [expect.objectContaining(usage)],
            },
          },
        }),
      ]);
    }
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });
});

describe('reasoning that its provider signed', () => {
  const block = (content_block: object, ...deltas: object[]) => [
    { type: 'content_block_start', index: 0, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index: 0, delta })),
    { type: 'content_block_stop', index: 0 },
  ];

  it('goes without its signature where it was edited after foldEvents', async () => {
    const model = 'claude-sonnet-4-5';
    const { runtime, requests } = answering(
      'anthropic',
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], model } },
      ...block(
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'Hm.' },
        { type: 'signature_delta', signature: 'SIG' },
      ),
      ...block({ type: 'text', text: '' }, { type: 'text_delta', text: 'Yes.' }),
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    );
    const payload = { model, max_tokens: 100 };
    const folded = foldEvents(await all(runtime.stream({ ...payload, messages: [question] })));
    for (const edited of [false, true]) {
      if (edited) Object.assign(folded[0] as object, { content: 'Something else.' });
      const messages = [question, ...folded, further];
      await all(runtime.stream({ ...payload, messages, format: 'canonical' }));
      expect(JSON.stringify(requests.at(-1)).includes('SIG')).toBe(!edited);
    }
  });
});
