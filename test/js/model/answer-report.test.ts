// What an answer reports of itself, over a loopback server.
import type { ServerResponse } from 'node:http';

import { createModelRuntime, foldEvents, openAIResponsesAdapter } from 'millrace';

import { all, responseOf, sse } from '../support/responses';
import type { Loopback } from '../support/server';
import { bodyOf, loopback } from '../support/server';

const messages = [{ role: 'user' as const, content: 'Hello' }];

describe('the report of a call', () => {
  let provider: Loopback;
  let answer: (response: ServerResponse) => void = () => undefined;
  let requests: string[] = [];

  beforeAll(async () => {
    provider = await loopback((request, response) => {
      void bodyOf(request).then((body) => {
        requests.push(body);
        answer(response);
      });
    });
  });
  afterAll(() => provider.close());
  beforeEach(() => {
    requests = [];
  });

  const runtime = (id: string) =>
    createModelRuntime(id, {
      apiKey: 'k',
      baseURL: `${provider.url}/v1`,
      circuit: false,
      maxRetries: 0,
    });

  function streamed(headers: Record<string, string>, ...records: unknown[]) {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', ...headers });
      response.end(sse(...records));
    };
  }

  it('has who answered, on which terms, and the limits of its head', async () => {
    streamed(
      {
        'x-request-id': 'req_1',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '1s',
        'set-cookie': 'secret=1',
      },
      {
        id: 'c1',
        created: 7,
        model: 'gpt-5-2026',
        system_fingerprint: 'fp',
        choices: [{ index: 0, delta: { content: 'Hi' } }],
      },
      {
        id: 'c1',
        created: 7,
        model: 'gpt-5-2026',
        service_tier: 'flex',
        provider: 'Somewhere',
        choices: [{ index: 0, delta: {}, finish_reason: 'stop', native_finish_reason: 'end' }],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      },
    );
    const run = runtime('openai').stream({ model: 'gpt-5', apiMode: 'chat', messages });
    const events = await all(run);
    const { response, usage } = await run.report;
    expect(response).toEqual({
      id: 'c1',
      created: 7,
      model: 'gpt-5-2026',
      serviceTier: 'flex',
      fingerprint: 'fp',
      details: { provider: 'Somewhere', native_finish_reason: 'end' },
      requestId: 'req_1',
      rateLimits: { requests: { remaining: 59, reset: '1s' } },
      headers: {
        'x-request-id': 'req_1',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-requests': '1s',
      },
    });
    expect(usage.unpriced).toEqual(['service_tier']);
    // It is the report's alone.
    expect(events.filter(({ type }) => type === 'CUSTOM')).toHaveLength(2);
  });

  it('names the tools that the provider ran for a price', async () => {
    const item = (type: string) => ({ type, id: `${type}_1`, status: 'completed', action: {} });
    const items = ['web_search_call', 'code_interpreter_call', 'web_search_call', 'mcp_call'];
    streamed(
      {},
      ...items.map((type, output_index) => ({
        type: 'response.output_item.done',
        output_index,
        item: { ...item(type), id: `${type}_${output_index}` },
      })),
      {
        type: 'response.completed',
        response: { id: 'r', status: 'completed', usage: { input_tokens: 9, output_tokens: 1 } },
      },
    );
    const run = runtime('openai').stream({ model: 'gpt-5', apiMode: 'responses', messages });
    await all(run);
    const { cost, unpriced } = await run.usage;
    expect(cost).toBeGreaterThan(0);
    expect(unpriced).toEqual(['web_search_call', 'code_interpreter_call']);
  });

  it.each([true, false])("has Anthropic's diagnostics (stream: %j)", async (isStreamed) => {
    const diagnostics = {
      cache_miss_reason: { type: 'model_changed', cache_missed_input_tokens: 9 },
    };
    const message = { id: 'm', type: 'message', role: 'assistant', content: [], diagnostics };
    if (isStreamed) {
      streamed(
        {},
        { type: 'message_start', message },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'a' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      );
    } else {
      const whole = { ...message, content: [{ type: 'text', text: 'a' }], stop_reason: 'end_turn' };
      answer = (response) =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
    }
    const model = 'claude-sonnet-4-5';
    const run = runtime('anthropic').stream({ model, messages, stream: isStreamed });
    expect(await run.text()).toBe('a');
    expect((await run.report).response?.details).toEqual({ diagnostics });
  });

  it('has the head of an answer that failed', async () => {
    answer = (response) =>
      response
        .writeHead(429, { 'anthropic-ratelimit-input-tokens-limit': '10', 'request-id': 'r' })
        .end('{"error":{"type":"rate_limit_error","message":"Slow down"}}');
    const run = runtime('anthropic').stream({ model: 'claude-sonnet-5-5', messages });
    await expect(run.text()).rejects.toMatchObject({ code: 'rate_limited' });
    expect((await run.report).response).toMatchObject({
      requestId: 'r',
      rateLimits: { inputTokens: { limit: 10 } },
    });
  });

  it('names members of pieces that nobody knows, each once', async () => {
    const vendors = { channel: 'final', token_id: 7, prefix: true };
    const piece = { content: 'a', brand_new: 1, none: null, ...vendors };
    streamed(
      {},
      { id: 'c', choices: [{ index: 0, delta: piece }] },
      { id: 'c', choices: [{ index: 0, delta: piece }] },
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    );
    const chat = runtime('openai').stream({ model: 'gpt-4o', apiMode: 'chat', messages });
    expect(await chat.text()).toBe('aa');
    expect((await chat.report).response?.details).toEqual({ unknownMembers: ['delta.brand_new'] });
    streamed(
      {},
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'a', other: 1, estimated_tokens: 3 },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    );
    const claude = runtime('anthropic').stream({ model: 'claude-sonnet-4-5', messages });
    expect(await claude.text()).toBe('a');
    expect((await claude.report).response?.details).toEqual({ unknownMembers: ['delta.other'] });
  });

  it.each<[string, string, object[]]>([
    [
      'openai',
      'gpt-5',
      [
        { type: 'response.created', response: { id: 'r', output: [] } },
        { type: 'response.brand_new.delta', delta: 'x' },
        { type: 'response.content_part.added', part: { type: 'output_text' } },
        { type: 'response.output_text.delta', item_id: 'm', content_index: 0, delta: 'a' },
        { type: 'response.brand_new.delta', delta: 'y' },
        { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
      ],
    ],
    [
      'anthropic',
      'claude-sonnet-4-5',
      [
        { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
        { type: 'ping' },
        { type: 'response.brand_new.delta', index: 0 },
        { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
        { type: 'content_block_stop', index: 0 },
        { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
        { type: 'message_stop' },
      ],
    ],
    [
      'cohere',
      'command-a-03-2025',
      [
        { type: 'message-start', id: 'm', delta: { message: { role: 'assistant' } } },
        { type: 'response.brand_new.delta' },
        { type: 'content-delta', index: 0, delta: { message: { content: { text: 'a' } } } },
        { type: 'message-end', delta: { finish_reason: 'COMPLETE' } },
      ],
    ],
  ])('names events that nobody knows, each once (%s)', async (provider, model, records) => {
    streamed({}, ...records);
    const apiMode = provider === 'openai' ? { apiMode: 'responses' as const } : {};
    const run = runtime(provider).stream({ model, messages, ...apiMode });
    expect(await run.text()).toBe('a');
    const { details } = (await run.report).response ?? {};
    expect(details).toMatchObject({ unknownEvents: ['response.brand_new.delta'] });
  });

  it('has a text of 8 MiB in two records, and names the limit of one', async () => {
    const half = 'x'.repeat(4 << 20);
    const piece = (content: string) => ({ id: 'c', choices: [{ index: 0, delta: { content } }] });
    const end = { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
    const payload = { model: 'gpt-4o', apiMode: 'chat' as const, messages };
    streamed({}, piece(half), piece(half), end);
    const long = (await all(runtime('openai').stream(payload))).map((event) =>
      event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta.length : 0,
    );
    expect(long.reduce((sum, size) => sum + size)).toBe(8 << 20);
    // A record beyond the limit of a line is no quiet loss.
    streamed({}, piece(half + half), end);
    await expect(runtime('openai').stream(payload).text()).rejects.toMatchObject({
      code: 'line_too_long',
    });
  });

  it('has 10,000 parts that go back, and names the limit where there are more', async () => {
    const parts = Array.from({ length: 10_000 }, (_, at) =>
      at % 2 ? { text: `${at}` } : { inlineData: { mimeType: 'image/png', data: 'QUJD' } },
    );
    const answered = (given: unknown[]) =>
      streamed({}, { candidates: [{ content: { parts: given }, finishReason: 'STOP' }] });
    const payload = { model: 'gemini-3-flash', format: 'canonical' as const };
    const question = { id: 'u', role: 'user' as const, content: 'Hello' };
    answered(parts);
    const run = runtime('google').stream({ ...payload, messages: [question] });
    const history = [question, ...foldEvents(await all(run)), { ...question, id: 'f' }];
    answered([...parts, ...parts]);
    const next = runtime('google').stream({ ...payload, messages: history });
    await expect(next.text()).rejects.toMatchObject({ code: 'too_many_parts' });
    const { contents } = JSON.parse(requests[1] ?? '') as { contents: { parts: unknown[] }[] };
    expect(contents[1]?.parts).toEqual(parts);
  });

  it('has further answers, and the probabilities that were asked for are events', async () => {
    const logprobs = { content: [{ token: 'a', logprob: -1, top_logprobs: [] }] };
    streamed(
      {},
      { id: 'c', choices: [{ index: 0, delta: { content: 'a' }, logprobs }] },
      { id: 'c', choices: [{ index: 1, delta: { role: 'assistant', content: 'b' } }] },
      { id: 'c', choices: [{ index: 1, delta: { content: 'c' } }] },
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { id: 'c', choices: [{ index: 1, delta: {}, finish_reason: 'length' }] },
    );
    const payload = { model: 'gpt-4o', apiMode: 'chat' as const, messages, n: 2 };
    const run = runtime('openai').stream({ ...payload, logprobs: true });
    const events = await all(run);
    expect(events).toContainEqual({
      type: 'CUSTOM',
      name: 'millrace.logprobs',
      value: { messageId: expect.any(String) as string, logprobs },
    });
    expect(await run.text()).toBe('a');
    expect((await run.report).alternatives).toEqual([
      { index: 1, message: { role: 'assistant', content: 'bc' }, finishReason: 'length' },
    ]);
    const without = runtime('openai').stream(payload);
    expect(JSON.stringify(await all(without))).not.toContain('logprob');
  });

  it('says how an answer goes on, and the next request says so to the provider', async () => {
    streamed(
      {},
      {
        responseId: 'g1',
        modelVersion: 'gemini-3',
        candidates: [
          {
            content: { role: 'model', parts: [{ text: 'Half' }] },
            finishReason: 'CONTINUATION',
            continuationToken: 'dG9rZW4=',
            safetyRatings: [{ category: 'C', probability: 'LOW' }],
          },
        ],
        usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
      },
    );
    const payload = { model: 'gemini-3-flash', messages };
    const run = runtime('google').stream(payload);
    const events = await all(run);
    const { incomplete, response } = await run.report;
    const expected = { reason: 'CONTINUATION', continue: { continuationToken: 'dG9rZW4=' } };
    expect(incomplete).toEqual(expected);
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      metadata: { millrace: { incomplete: expected } },
    });
    expect(response?.details).toMatchObject({
      safetyRatings: [{ category: 'C', probability: 'LOW' }],
    });
    await runtime('google')
      .stream({ ...payload, ...incomplete?.continue })
      .text();
    expect(JSON.parse(requests[1] ?? '')).toMatchObject({ continuationToken: 'dG9rZW4=' });
  });

  it('calls a policy of OpenAI a filter, and an image that it does not take a bad request', async () => {
    for (const [code, expected] of [
      ['bio_policy', 'content_filtered'],
      ['misalignment_policy_violation', 'content_filtered'],
      ['invalid_image_url', 'provider_bad_request'],
      ['empty_image_file', 'provider_bad_request'],
    ] as const) {
      requests = [];
      streamed(
        {},
        {
          type: 'response.failed',
          response: { id: 'r', status: 'failed', error: { code, message: 'No.', param: 'input' } },
        },
      );
      const run = createModelRuntime('openai', {
        apiKey: 'k',
        baseURL: `${provider.url}/v1`,
        circuit: false,
      }).stream({ model: 'gpt-5.2', apiMode: 'responses', messages });
      await expect(run.text()).rejects.toMatchObject({ code: expected });
      expect(requests).toHaveLength(1);
      expect((await run.report).response?.details).toEqual({
        error: { code, message: 'No.', param: 'input' },
      });
    }
  });

  it('is beside the events of a drop-in adapter that gives everything', async () => {
    const states: unknown[] = [];
    const body = sse(
      { type: 'response.created', response: { id: 'r', model: 'm', status: 'in_progress' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { id: 'ig', type: 'image_generation_call', status: 'in_progress' },
      },
      {
        type: 'response.image_generation_call.partial_image',
        item_id: 'ig',
        output_index: 0,
        partial_image_index: 0,
        partial_image_b64: 'cGFydA==',
        size: '1024x1024',
      },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { id: 'ig', type: 'image_generation_call', status: 'completed', result: 'd2hvbGU=' },
      },
      { type: 'response.completed', response: { id: 'r', model: 'm', status: 'completed' } },
    );
    const adapter = openAIResponsesAdapter({ extended: true, onState: (one) => states.push(one) });
    const events = await all(adapter.parse(responseOf([body])));
    expect(events).toContainEqual({
      type: 'CUSTOM',
      name: 'millrace.partial_image',
      value: {
        toolCallId: 'ig',
        image: { partial_image_index: 0, partial_image_b64: 'cGFydA==', size: '1024x1024' },
      },
    });
    expect(events).toContainEqual({
      type: 'CUSTOM',
      name: 'millrace.response',
      value: { id: 'r', model: 'm', status: 'completed' },
    });
    expect(JSON.stringify(states)).toContain('data:image/png;base64,d2hvbGU=');
    const plain = await all(openAIResponsesAdapter().parse(responseOf([body])));
    expect(plain.filter(({ type }) => type === 'CUSTOM')).toEqual([]);
  });
});
