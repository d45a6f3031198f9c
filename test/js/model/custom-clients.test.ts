// A vendor's own client in the place of HTTP.
import { anthropicCompatibleFactory, openaiCompatibleFactory } from 'millrace';

import { sse } from '../support/responses';

const messages = [{ role: 'user' as const, content: 'Hi' }];
const payload = { model: 'm', messages };
const vendor = { provider: 'acme', baseURL: 'https://acme.test/v1', apiKey: 'k' };
const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };

describe('a client that sends chats', () => {
  const requested: unknown[] = [];
  const sent: string[] = [];
  const Acme = openaiCompatibleFactory({
    ...vendor,
    chatCompletion: { handleTransformResponseToStream: () => [chunk] },
    customClient: {
      createClient: () => ({}),
      createChatCompletionStream: (_client, body) => {
        requested.push(body['messages']);
        return [chunk];
      },
    },
  });
  const answers: Record<string, () => Response> = {
    '/v1/embeddings': () => Response.json({ data: [{ index: 0, embedding: [1, 2] }] }),
    '/v1/images/generations': () => Response.json({ data: [{ b64_json: 'AAAA' }] }),
    '/v1/audio/speech': () => new Response('sound', { headers: { 'content-type': 'audio/mpeg' } }),
    '/v1/models': () => Response.json({ data: [{ id: 'm1' }] }),
  };
  const runtime = new Acme({
    maxRetries: 0,
    fetch: (async (url: string) => {
      const { pathname } = new URL(url);
      sent.push(pathname);
      return answers[pathname]?.() ?? new Response(null, { status: 404 });
    }) as typeof fetch,
  });
  beforeEach(() => {
    requested.length = sent.length = 0;
  });

  it.each<[string, () => Promise<unknown>, unknown, string]>([
    [
      'embeddings',
      () => runtime.embeddings({ model: 'e', input: ['a'] }),
      [[1, 2]],
      '/v1/embeddings',
    ],
    [
      'images',
      () => runtime.createImage({ model: 'gpt-image-1', params: { prompt: 'cat' } }),
      expect.objectContaining({ imageUrl: 'data:image/png;base64,AAAA' }),
      '/v1/images/generations',
    ],
    [
      'speech',
      async () =>
        Buffer.from(
          await runtime.textToSpeech({ model: 'tts', input: 'a', voice: 'v' }),
        ).toString(),
      'sound',
      '/v1/audio/speech',
    ],
    ['models', async () => (await runtime.models()).map(({ id }) => id), ['m1'], '/v1/models'],
  ])('is not asked for %s', async (_what, request, answer, path) => {
    expect(await request()).toEqual(answer);
    expect(sent).toEqual([path]);
    expect(requested).toEqual([]);
  });

  it('is asked for chats and objects', async () => {
    expect(await runtime.stream(payload).text()).toBe('Hi');
    await runtime.generateObject({ ...payload, schema: { type: 'object' } }).catch(() => undefined);
    expect(requested.length).toBeGreaterThan(1);
    expect(sent).toEqual([]);
  });
});

test('a fallback of another vendor is not asked by the client', async () => {
  const sent: string[] = [];
  let requested = 0;
  const Acme = openaiCompatibleFactory({
    ...vendor,
    customClient: {
      createClient: () => ({}),
      createChatCompletionStream: () => {
        requested += 1;
        throw Object.assign(new Error('down'), { status: 503 });
      },
    },
  });
  const runtime = new Acme({
    maxRetries: 0,
    fallback: [{ provider: 'groq', model: 'g', apiKey: 'k2' }],
    fetch: (async (url: string) => {
      sent.push(url);
      return new Response(sse(chunk), { headers: { 'content-type': 'text/event-stream' } });
    }) as typeof fetch,
  });
  expect(await runtime.stream(payload).text()).toBe('Hi');
  expect([requested, sent]).toEqual([1, ['https://api.groq.com/openai/v1/chat/completions']]);
});

describe('an answer in one piece', () => {
  const message = { role: 'assistant', content: 'whole' };
  const whole = {
    model: 'm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  };
  const odd = { reply: 'odd' };
  const made = (answer: unknown, toStream = false) =>
    new (openaiCompatibleFactory({
      ...vendor,
      ...(toStream
        ? {
            chatCompletion: {
              handleTransformResponseToStream: (given) => [
                { choices: [{ index: 0, delta: { content: (given as typeof odd).reply } }] },
              ],
            },
          }
        : {}),
      customClient: {
        createClient: () => ({}),
        createChatCompletionStream: async () => answer as object,
      },
    }))({ maxRetries: 0 });

  it.each([true, false])('of a client is the answer (stream: %s)', async (stream) => {
    const run = made(whole).stream({ ...payload, stream });
    expect(await run.text()).toBe('whole');
    expect(await run.usage).toMatchObject({ totalInputTokens: 3, source: 'reported' });
  });

  it('may be a message of Anthropic', async () => {
    const Acme = anthropicCompatibleFactory({
      ...vendor,
      customClient: {
        createClient: () => ({}),
        createChatCompletionStream: () => ({
          type: 'message',
          role: 'assistant',
          model: 'c',
          content: [{ type: 'text', text: 'Bonjour' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 2, output_tokens: 1 },
        }),
      },
    });
    const run = new Acme({ maxRetries: 0 }).stream({ ...payload, stream: false });
    expect(await run.text()).toBe('Bonjour');
  });

  it.each([
    ['an object', () => odd],
    ['a response', () => Response.json(odd)],
  ])("is changed by the factory's function: %s", async (_what, answer) => {
    expect(await made(answer(), true).stream(payload).text()).toBe('odd');
  });

  it.each([undefined, null, 'text'])('is no %j', async (answer) => {
    const reported = made(answer).stream(payload).text();
    await expect(reported).rejects.toMatchObject({ code: 'invalid_option' });
  });
});

const openaiError = (status: number, code: string, headers?: unknown): Error =>
  Object.assign(new Error(`${status} said`), {
    status,
    code,
    headers,
    error: { message: 'said', code },
  });

it.each([
  [
    openaiError(429, 'rate_limit_exceeded', new Headers({ 'retry-after': '7' })),
    'rate_limited',
    429,
    7000,
  ],
  [openaiError(429, 'rate_limit_exceeded', { 'retry-after': '7' }), 'rate_limited', 429, 7000],
  [openaiError(401, 'invalid_api_key'), 'authentication_failed', 401, undefined],
  [openaiError(400, 'context_length_exceeded'), 'context_window_exceeded', 400, undefined],
  [
    { errorType: 'PermissionDenied', error: { message: 'no' } },
    'permission_denied',
    403,
    undefined,
  ],
  [new Error('the line broke'), 'connection_lost', undefined, undefined],
])("reads what a vendor's client throws: %#", async (thrown, code, status, retryAfterMs) => {
  let judged: { code?: string } = {};
  const Acme = openaiCompatibleFactory({
    ...vendor,
    chatCompletion: { handleError: (error) => void (judged = error) },
    customClient: {
      createClient: () => ({}),
      createChatCompletionStream: async () => {
        throw thrown;
      },
    },
  });
  const runtime = new Acme({ maxRetries: 0 });
  const call = runtime.chat(payload);
  await expect(call).rejects.toMatchObject({ code });
  const error = (await call.catch((each: unknown) => each)) as {
    status?: number;
    retryAfterMs?: number;
  };
  expect([error.status, error.retryAfterMs]).toEqual([status, retryAfterMs]);
  expect(judged.code).toBe(code);
});

// As the clients of OpenAI and Anthropic make them of a record of an answer: without a status, Anthropic's with the
// whole body.
const received = (error: Record<string, unknown>, more = {}): Error =>
  Object.assign(new Error(JSON.stringify(error)), { status: undefined, error, ...more });
const openaiReceived = (code: string, message: string): Error =>
  received({ code, type: code, message }, { code, type: code });
const anthropicReceived = (type: string, message: string): Error =>
  received({ type: 'error', error: { type, message } }, { type });

type Made = typeof openaiCompatibleFactory | typeof anthropicCompatibleFactory;
const failing = (factory: Made, create: () => never, more = {}) => {
  let requested = 0;
  const Acme = (factory as typeof openaiCompatibleFactory)({
    ...vendor,
    ...more,
    customClient: {
      createClient: () => ({}),
      createChatCompletionStream: () => {
        requested += 1;
        return create();
      },
    },
  });
  const runtime = new Acme({ maxRetries: 1 });
  return {
    ask: async (apiMode?: string) =>
      runtime
        .stream({ ...payload, ...(apiMode === undefined ? {} : { apiMode }) })
        .text()
        .catch((error: unknown) => error),
    asked: () => requested,
  };
};
const first = { choices: [{ index: 0, delta: { content: 'Hi' } }] };
const startOfClaude = {
  type: 'message_start',
  message: { role: 'assistant', model: 'c', content: [], usage: { input_tokens: 3 } },
};

describe('an error inside the answer of a client', () => {
  const openai = openaiCompatibleFactory;
  const claude = anthropicCompatibleFactory;
  const quota = openaiReceived('insufficient_quota', 'You exceeded your current quota');
  it.each<[Made, Error | object, object[], string, number, string | undefined]>([
    [openai, quota, [], 'insufficient_quota', 1, undefined],
    [openai, quota, [], 'insufficient_quota', 1, 'responses'],
    [openai, quota, [first], 'insufficient_quota', 1, undefined],
    [
      openai,
      openaiReceived('context_length_exceeded', 'no'),
      [],
      'context_window_exceeded',
      1,
      undefined,
    ],
    [
      openai,
      received({ message: 'The server had an error', code: 'server_error' }),
      [],
      'provider_error',
      2,
      undefined,
    ],
    [
      openai,
      Object.assign(new Error('slow'), { status: 429 }),
      [first],
      'rate_limited',
      1,
      undefined,
    ],
    [openai, new Error('the line broke'), [], 'connection_lost', 2, undefined],
    [
      claude,
      anthropicReceived('overloaded_error', 'no'),
      [startOfClaude],
      'provider_overloaded',
      2,
      undefined,
    ],
    [
      claude,
      anthropicReceived('invalid_request_error', 'prompt is too long'),
      [],
      'context_window_exceeded',
      1,
      undefined,
    ],
  ])('%# keeps its class', async (factory, thrown, chunks, code, times, apiMode) => {
    const { ask: request, asked: requested } = failing(
      factory,
      () =>
        (async function* () {
          yield* chunks;
          throw thrown as Error;
        })() as never,
    );
    expect(await request(apiMode)).toMatchObject({ code });
    expect(requested()).toBe(times);
  });

  it('may come at once', async () => {
    const { ask: request, asked: requested } = failing(openaiCompatibleFactory, () => {
      throw Object.assign(openaiReceived('insufficient_quota', 'no'), { requestID: 'req_1' });
    });
    expect(await request()).toMatchObject({ code: 'insufficient_quota', requestId: 'req_1' });
    expect(requested()).toBe(1);
  });
});

it.each<[string, object]>([
  ['OpenAI', { headers: new Headers({ 'x-request-id': 'req_1', 'content-length': '7' }) }],
  ['Anthropic', { headers: { 'Request-Id': 'req_1', 'bad name': 'x', odd: 'a\nb', none: null } }],
  ['a client without headers', { requestID: 'req_1' }],
])('the name of a refused request is kept: %s', async (_who, more) => {
  const { ask: request } = failing(openaiCompatibleFactory, () => {
    throw Object.assign(
      anthropicReceived('invalid_request_error', 'no such thing'),
      { status: 400 },
      more,
    );
  });
  expect(await request()).toMatchObject({
    code: 'provider_bad_request',
    requestId: 'req_1',
    message: expect.stringMatching(/: no such thing$/) as string,
  });
});

it('a refusal that says so is not asked again', async () => {
  const { ask: request, asked: requested } = failing(openaiCompatibleFactory, () => {
    throw Object.assign(new Error('no'), { status: 503, headers: { 'x-should-retry': 'false' } });
  });
  expect(await request()).toMatchObject({ status: 503 });
  expect(requested()).toBe(1);
});

describe('a mistake of the code that was given', () => {
  const mistake = (): never => (undefined as unknown as () => never)();
  const reported = {
    code: 'invalid_option',
    message: expect.stringContaining('TypeError') as string,
  };
  const chatCompletion = { handleTransformResponseToStream: mistake };
  it.each<[string, () => unknown, object]>([
    ['function', mistake, {}],
    ['chunks', () => ({ [Symbol.asyncIterator]: () => ({ next: mistake }) }), {}],
    ['handleTransformResponseToStream', () => ({ odd: true }), { chatCompletion }],
  ])('is made once: %s', async (_what, create, more) => {
    const { ask: request, asked: requested } = failing(
      openaiCompatibleFactory,
      create as () => never,
      more,
    );
    expect(await request()).toMatchObject(reported);
    expect(requested()).toBe(1);
  });

  it('is none when fetch says it of the line', async () => {
    const { ask: request, asked: requested } = failing(openaiCompatibleFactory, () => {
      throw new TypeError('fetch failed');
    });
    expect(await request()).toMatchObject({ code: 'connection_lost' });
    expect(requested()).toBe(2);
  });
});
