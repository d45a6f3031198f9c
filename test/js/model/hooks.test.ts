// User code on the way of a call that never answers, throws at once or fails as a vendor's client does.
import { type CallRetry, createModelRuntime, openaiCompatibleFactory } from 'millrace';

import { Sources } from '../../../dist/cjs/model/sources';
import { sse } from '../support/responses';

const messages = [{ role: 'user' as const, content: 'Hi' }];
const payload = { model: 'm', messages };
const never = () => new Promise<never>(() => undefined);
const answered = (async () =>
  new Response(sse({ choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] }), {
    headers: { 'content-type': 'text/event-stream' },
  })) as typeof fetch;
const rejected = (async () => Response.json({}, { status: 400 })) as typeof fetch;

type Runtime = ReturnType<typeof createModelRuntime>;
const ways: Record<string, (runtime: Runtime, signal: AbortSignal) => Promise<unknown>> = {
  text: (runtime, signal) => runtime.stream(payload, { signal }).text(),
  chat: async (runtime, signal) => {
    const reported = await (await runtime.chat(payload, { signal })).text();
    if (reported.includes('RUN_ERROR')) throw new Error('told');
  },
  generateObject: (runtime, signal) =>
    runtime.generateObject({ ...payload, schema: { type: 'object' } }, { signal }),
};

describe.each([
  ['handlePayload', answered],
  ['handleError', rejected],
  ['handleStream', answered],
])('%s that never answers', (hook, send) => {
  it.each(Object.keys(ways))('does not keep %s from being aborted', async (way) => {
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: 'http://x.test/v1',
      fetch: send,
      [hook]: never,
    });
    await expect(ways[way]?.(runtime, AbortSignal.timeout(50))).rejects.toBeDefined();
  });

  it('has the time of the call', async () => {
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: 'http://x.test/v1',
      fetch: send,
      timeouts: { total: 50 },
      [hook]: never,
    });
    await expect(runtime.stream(payload).text()).rejects.toMatchObject({
      code: hook === 'handleError' ? 'provider_bad_request' : 'total_timeout',
    });
  });
});

it.each([
  [
    'throws at once',
    () => {
      throw new Error('now');
    },
    'connection_lost',
  ],
  ['gives no Response', async () => undefined, 'invalid_option'],
])('a fetch function that %s fails the call', async (_what, send, code) => {
  const runtime = createModelRuntime('openai', {
    apiKey: 'k',
    baseURL: 'http://x.test/v1',
    maxRetries: 1,
    fetch: send as unknown as typeof fetch,
  });
  await expect(runtime.stream(payload).text()).rejects.toMatchObject({ code });
});

describe("chunks of a vendor's client without a reason to finish", () => {
  const report = async (chunks: () => unknown) => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: 'https://acme.test/v1',
      customClient: {
        createClient: () => ({}),
        createChatCompletionStream: (() => chunks()) as never,
      },
    });
    return new Acme({ apiKey: 'k', maxRetries: 0 }).stream(payload).text();
  };
  const received = (delta: object) => ({ choices: [{ index: 0, delta }] });

  it('are an answer when they end by themselves', async () => {
    const text = report(async function* () {
      yield received({ content: 'Hel' });
      yield received({ content: 'lo' });
    });
    expect(await text).toBe('Hello');
  });

  it('are none when arguments are not whole, or an error ends them', async () => {
    const made = { index: 0, id: 'c', function: { name: 'f', arguments: '{"a":' } };
    const cut = report(async function* () {
      yield received({ content: 'a', tool_calls: [made] });
    });
    await expect(cut).rejects.toMatchObject({ code: 'stream_truncated' });
    const broken = report(async function* () {
      yield received({ content: 'a' });
      throw new Error('the line broke');
    });
    await expect(broken).rejects.toMatchObject({ code: 'connection_lost' });
  });
});

describe('handleRetry', () => {
  // Refuses twice with what a gateway says under status 200.
  const failing = (sent: number[]) =>
    (async () => {
      sent.push(performance.now());
      if (sent.length < 3) return Response.json({ error: { message: 'busy' } });
      return new Response(sse({ choices: [{ delta: { content: '{}' }, finish_reason: 'stop' }] }), {
        headers: { 'content-type': 'text/event-stream' },
      });
    }) as typeof fetch;
  const runtimeWith = (sent: number[], handleRetry: (retry: CallRetry) => unknown) =>
    createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: 'http://x.test/v1',
      fetch: failing(sent),
      handleRetry,
    });

  it.each(Object.keys(ways))(
    'is told of each further attempt of %s, and is its clock',
    async (way) => {
      const reported: CallRetry[] = [];
      const sent: number[] = [];
      let clock = 0;
      const runtime = runtimeWith(sent, async (retry) => {
        reported.push(retry);
        clock += retry.waitMs;
        await Promise.resolve();
        return { waitMs: 0 };
      });
      await ways[way]?.(runtime, new AbortController().signal);
      expect(
        reported.map(({ provider, model, attempt, error }) => [
          provider,
          model,
          attempt,
          error.message,
        ]),
      ).toEqual([
        // prettier-ignore
        ['openai', 'm', 1, 'busy'],
        ['openai', 'm', 2, 'busy'],
      ]);
      expect(sent).toHaveLength(3);
      expect(clock).toBe(reported.reduce((sum, { waitMs }) => sum + waitMs, 0));
    },
  );

  it('is told of a fallback, and of what is no chat', async () => {
    const reported: CallRetry[] = [];
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: 'http://x.test/v1',
      maxRetries: 0,
      fallback: [{ provider: 'groq', model: 'b', apiKey: 'k' }],
      fetch: rejectedOnce(),
      handleRetry: (retry) => void reported.push(retry),
    });
    expect(await runtime.stream(payload).text()).toBe('Hi');
    expect(reported).toMatchObject([
      { provider: 'openai', attempt: 1, waitMs: 0, fallback: 'groq' },
    ]);
    const sent: number[] = [];
    const others = runtimeWith(sent, (retry) => (reported.push(retry), { waitMs: 0 }));
    await others.embeddings({ model: 'e', input: 'x' }).catch(() => undefined);
    expect(reported.slice(1)).toMatchObject([
      { provider: 'openai', model: 'e', attempt: 1, error: { message: 'busy', retry: 'yes' } },
      { provider: 'openai', model: 'e', attempt: 2 },
    ]);
    expect(sent).toHaveLength(3);
  });

  it('fails the call with what it throws, and waits no longer than the call', async () => {
    const sent: number[] = [];
    const thrown = runtimeWith(sent, () => {
      throw new Error('mine');
    });
    await expect(thrown.stream(payload).text()).rejects.toThrow('mine');
    expect(sent).toHaveLength(1);
    const stuck = createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: 'http://x.test/v1',
      fetch: failing([]),
      timeouts: { total: 2000 },
      handleRetry: never,
    });
    await expect(stuck.stream(payload).text()).rejects.toMatchObject({ code: 'provider_error' });
  });
});

function rejectedOnce(): typeof fetch {
  let first = true;
  return async () => {
    if (!first) return answered('http://x.test');
    first = false;
    return Response.json({ error: { message: 'busy' } }, { status: 503 });
  };
}

test.each([
  [
    { citations: ['https://a.example', 'https://a.example'] },
    [{ title: 'https://a.example', url: 'https://a.example' }],
  ],
  [
    { search_results: [{ title: 'T', url: 'https://b.example' }] },
    [{ title: 'T', url: 'https://b.example' }],
  ],
  [
    {
      choices: [
        {
          delta: {
            content: 'x',
            annotations: [
              { type: 'url_citation', url_citation: { title: 'U', url: 'https://c.example' } },
            ],
          },
        },
      ],
    },
    [{ title: 'U', url: 'https://c.example' }],
  ],
])('tells the sources of an answer in one shape: %j', async (more, citations) => {
  const reported: unknown[] = [];
  const first = { choices: [{ delta: { content: 'x' } }], ...more };
  const runtime = createModelRuntime('perplexity', {
    apiKey: 'k',
    fetch: async () =>
      new Response(sse(first, { choices: [{ delta: {}, finish_reason: 'stop' }], ...more }), {
        headers: { 'content-type': 'text/event-stream' },
      }),
  });
  const callback = {
    onGrounding: (grounding: unknown) => void reported.push(grounding),
    onFinal: ({ grounding }: { grounding?: unknown }) => void reported.push(grounding),
  };
  await (await runtime.chat(payload, { callback })).text();
  expect(reported).toEqual([{ citations }, { citations }]);
});

test('tells the sources that the engine reads, of Bedrock as well', () => {
  const sources = new Sources();
  sources.add('{"title":"T","location":{"web":{"url":"https://b.example","domain":"b"}}}');
  const { grounding } = sources;
  expect(grounding).toEqual({ citations: [{ title: 'T', url: 'https://b.example' }] });
  for (const nothing of ['null', '{"title":"T"}', '["https://b.example"]', '5']) {
    sources.add(nothing);
  }
  expect(sources.grounding).toBe(grounding);
});

test('tells what was searched for', async () => {
  const reported: unknown[] = [];
  const groundingChunks = [
    { web: { uri: 'https://google.example/r/1', title: 'D', domain: 'd.example' } },
    { web: { uri: 'https://google.example/r/2', title: 'e.example' } },
    { maps: { uri: 'https://m.example', title: 'A place' } },
  ];
  const web = { webSearchQueries: ['q'], groundingChunks };
  const content = { role: 'model', parts: [{ text: 'x' }] };
  const runtime = createModelRuntime('google', {
    apiKey: 'k',
    fetch: async () =>
      new Response(
        sse({ candidates: [{ content, finishReason: 'STOP', groundingMetadata: web }] }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  });
  const callback = { onGrounding: (grounding: unknown) => void reported.push(grounding) };
  await (await runtime.chat({ ...payload, model: 'gemini-2.5-flash' }, { callback })).text();
  const citations = [
    { title: 'D', url: 'https://google.example/r/1', favicon: 'd.example' },
    { title: 'e.example', url: 'https://google.example/r/2', favicon: 'e.example' },
    { title: 'A place', url: 'https://m.example' },
  ];
  expect(reported).toEqual([{ citations, searchQueries: ['q'] }]);
});
