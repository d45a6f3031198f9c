// The options of the factories, one by one, and the callbacks of images and parts.
import type { ChatFinish, ChatPart, ObjectSchema } from 'millrace';
import {
  MillraceError,
  anthropicCompatibleFactory,
  createModelRuntime,
  openaiCompatibleFactory,
} from 'millrace';
import { z } from 'zod';

import * as engine from '../../../dist/cjs/transport/engine';
import { sse } from '../support/responses';

type Body = Record<string, unknown>;
const messages = [{ role: 'user' as const, content: 'Hi' }];
const headers = { 'content-type': 'text/event-stream' };
const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const end = { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };

/** Answers with these records, and keeps the bodies that were sent. */
function fake(...records: object[]) {
  const bodies: Body[] = [];
  const send = (async (_: unknown, init?: RequestInit) => {
    if (init?.body) bodies.push(JSON.parse(Buffer.from(init.body as Buffer).toString()) as Body);
    return new Response(sse(...records), { headers });
  }) as typeof fetch;
  return { bodies, send };
}

const vendor = { provider: 'acme', baseURL: 'https://api.acme.example/v1', apiKey: 'k' };
async function codeOf(work: () => unknown): Promise<string> {
  try {
    await work();
    return 'ok';
  } catch (error) {
    return MillraceError.is(error) ? error.code : String(error);
  }
}

describe('a factory', () => {
  const chat = (options: object) => ({ chatCompletion: options });
  const object = (options: object) => ({ generateObject: options });
  it.each([
    [chat({ handlePayload: 5 }), 'chatCompletion: handlePayload must be a function'],
    [chat({ handleStream: 'x' }), 'chatCompletion: handleStream must be a function'],
    [chat({ handleError: {} }), 'chatCompletion: handleError must be a function'],
    [chat({ handleStreamBizErrorType: true }), 'handleStreamBizErrorType must be a function'],
    [chat({ handleTransformResponseToStream: [] }), 'handleTransformResponseToStream must be a'],
    [chat({ excludeUsage: 'yes' }), 'chatCompletion: excludeUsage must be true or false'],
    [
      chat({ useResponseModels: 'gpt' }),
      'useResponseModels must be a list of strings and patterns',
    ],
    [chat({ contextPreFlight: { models: [{}] } }), 'contextPreFlight: models must be a list'],
    [chat({ contextPreFlight: {} }), 'contextPreFlight needs `models`'],
    [{ chatCompletion: 5 }, 'chatCompletion must be an object'],
    [{ responses: { handlePayload: 1 } }, 'responses: handlePayload must be a function'],
    [object({ handleSchema: 1 }), 'generateObject: handleSchema must be a function'],
    [object({ useToolsCalling: 1 }), 'generateObject: useToolsCalling must be true or false'],
    [{ createImage: {} }, 'createImage must be a function'],
    [{ customClient: {} }, 'customClient must be an object with the function createClient'],
    [
      { customClient: { createClient: () => 1, createChatCompletionStream: 1 } },
      'must be a function',
    ],
    [{ models: true }, 'models must be a function, or an object with the function transformModel'],
    [{ debug: { chatCompletion: true } }, 'debug: chatCompletion must be a function'],
    [{ errorType: { bizError: 1 } }, 'errorType: bizError must be a string'],
    [{ keyNames: 'KEY' }, 'keyNames must be a list of strings'],
    [
      { constructorOptions: { defaultHeaders: [1] } },
      'defaultHeaders must be an object of strings',
    ],
    [{ constructorOptions: { timeout: '5' } }, 'constructorOptions: timeout must be a number'],
    [{ apiKey: 5 }, 'apiKey must be a string'],
  ] as [object, string][])('refuses %j when it is made', (options, words) => {
    const rejected = expect.objectContaining({
      code: 'invalid_option',
      message: expect.stringContaining(words) as string,
    }) as Error;
    expect(() => openaiCompatibleFactory({ ...vendor, ...options })).toThrow(rejected);
  });

  it('of Messages does as well', () => {
    const made = (options: object) => () => anthropicCompatibleFactory({ ...vendor, ...options });
    expect(made(chat({ getPricingOptions: 5 }))).toThrow('getPricingOptions must be a function');
    expect(made(chat({ handlePayload: 5 }))).toThrow('handlePayload must be a function');
    expect(made({ generateObject: {} })).toThrow('generateObject must be a function');
    expect(made({ models: { transformModel: 1 } })).toThrow('models must be a function');
    expect(
      made({ ...chat({ handlePayload: null }), models: undefined, debug: null }),
    ).not.toThrow();
  });
});

describe('openaiCompatibleFactory', () => {
  it('asks a client of the vendor', async () => {
    const sent: unknown[] = [];
    const Acme = openaiCompatibleFactory({
      ...vendor,
      customClient: {
        createClient: ({ apiKey }) => ({ apiKey }),
        createChatCompletionStream: async function* (
          client: unknown,
          body: { model: string },
          { baseURL }: { baseURL: string },
        ) {
          sent.push(client, body.model, baseURL);
          yield chunk('Hel');
          yield chunk('lo');
          yield end;
        } as never,
      },
    });
    expect(await new Acme({ apiKey: 'mine' }).stream({ model: 'm', messages }).text()).toBe(
      'Hello',
    );
    expect(sent).toEqual([{ apiKey: 'mine' }, 'm', vendor.baseURL]);
  });

  it('makes a stream of an answer in one piece', async () => {
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        handleTransformResponseToStream: (answer) => [
          chunk((answer as { reply: string }).reply),
          end,
        ],
      },
    });
    const runtime = new Acme({ fetch: async () => Response.json({ reply: 'odd' }) });
    expect(await runtime.stream({ model: 'm', messages }).text()).toBe('odd');
  });

  it('refuses what does not fit before it is sent', async () => {
    const { bodies, send } = fake(chunk('Hi'), end);
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        contextPreFlight: {
          models: [{ id: 'small', contextWindowTokens: 100 }],
          minOutputTokens: 20,
        },
      },
    });
    const runtime = new Acme({ fetch: send });
    const long = [{ role: 'user' as const, content: 'many words '.repeat(100) }];
    expect(await codeOf(() => runtime.chat({ model: 'small', messages: long }))).toBe(
      'context_window_exceeded',
    );
    expect(await codeOf(() => runtime.stream({ model: 'small', messages: long }).text())).toBe(
      'context_window_exceeded',
    );
    expect(bodies).toHaveLength(0);
    const fallback = [{ provider: 'groq', model: 'large', apiKey: 'g' }];
    const run = runtime.stream({ model: 'small', messages: long }, { fallback });
    expect(await run.text()).toBe('Hi');
    expect((await run.report).provider).toBe('groq');
    bodies.length = 0;
    expect(await codeOf(() => runtime.stream({ model: 'other', messages: long }).text())).toBe(
      'ok',
    );
    expect(await codeOf(() => runtime.stream({ model: 'small', messages }).text())).toBe('ok');
    const Careful = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        contextPreFlight: {
          models: [{ id: 'small', contextWindowTokens: 100 }],
          safetyMarginTokens: 95,
        },
      },
    });
    const Plain = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        contextPreFlight: {
          models: [{ id: 'small', contextWindowTokens: 100 }, { id: 'unknown' }],
        },
      },
    });
    const plain = new Plain({ fetch: send });
    const demanding = { messages, max_tokens: 99 };
    expect(await codeOf(() => plain.stream({ model: 'small', ...demanding }).text())).toBe('ok');
    expect(await codeOf(() => plain.stream({ model: 'unknown', messages: long }).text())).toBe(
      'ok',
    );
    const careful = new Careful({ fetch: send });
    expect(await codeOf(() => careful.stream({ model: 'small', messages }).text())).toBe(
      'context_window_exceeded',
    );
  });

  it('gives the tokens of what does not fit as members, as LobeHub does', async () => {
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        contextPreFlight: {
          models: [{ id: 'small', contextWindowTokens: 100 }],
          minOutputTokens: 20,
        },
      },
    });
    const runtime = new Acme();
    const long = [{ role: 'user' as const, content: 'many words '.repeat(100) }];
    const payload = { model: 'small', messages: long };
    const overflow = {
      type: 'context_exceeded_pre_flight',
      model: 'small',
      ctx: 100,
      promptTokens: expect.any(Number),
      minOutputTokens: 20,
      suggestions: ['fork_topic', 'switch_to_larger_ctx_model'],
    };
    const error = await runtime.chat(payload).catch((one: unknown) => one);
    expect(error).toMatchObject({ errorType: 'ExceededContextWindow', error: overflow });
    const { promptTokens, shortBy } = (error as { error: Record<string, number> }).error;
    expect(shortBy).toBe(Number(promptTokens) + 20 - 100);
  });

  it('sends images by value, but not those of private addresses', async () => {
    const { bodies, send } = fake(chunk('Hi'), end);
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: { forceImageBase64: true },
    });
    const runtime = new Acme({ fetch: send });
    const imageData = (url: string) => [
      { role: 'user' as const, content: [{ type: 'image_url' as const, image_url: { url } }] },
    ];
    const web = jest
      .spyOn(engine, 'engineFetch')
      .mockImplementation(
        async () => new Response('PNG', { headers: { 'content-type': 'image/png' } }),
      );
    await runtime.stream({ model: 'm', messages: imageData('http://203.0.113.7/a.png') }).text();
    // The engine checks the addresses that it connects to, after the names are looked up.
    expect(web.mock.calls[0]?.[0]).toMatchObject({ guard: {} });
    web.mockRestore();
    expect(JSON.stringify(bodies[0])).toContain('data:image/png;base64,UE5H');
    for (const url of [
      'http://127.0.0.1/a.png',
      'http://[::1]/a.png',
      'http://169.254.169.254/',
      'http://localhost/x',
    ]) {
      const run = runtime.stream({ model: 'm', messages: imageData(url) });
      expect(await codeOf(() => run.text())).toBe('invalid_body');
    }
    expect(bodies).toHaveLength(1);
  });

  it('embeds, draws and speaks as OpenAI does', async () => {
    const urls: string[] = [];
    const send = (async (url: string) => {
      urls.push(url);
      if (url.endsWith('/embeddings')) return Response.json({ data: [{ embedding: [1, 2] }] });
      if (url.endsWith('/speech')) return new Response('ID3');
      return Response.json({ data: [{ b64_json: 'UE5H' }] });
    }) as typeof fetch;
    const runtime = new (openaiCompatibleFactory(vendor))({ fetch: send });
    expect(await runtime.embeddings({ model: 'm', input: 'a' })).toEqual([[1, 2]]);
    const { imageUrl } = await runtime.createImage({ model: 'm', params: { prompt: 'a cat' } });
    expect(imageUrl).toContain('UE5H');
    const audio = await runtime.textToSpeech({ model: 'm', input: 'Hi', voice: 'v' });
    expect(Buffer.from(audio).toString()).toBe('ID3');
    const edited = { prompt: 'a hat', imageUrl: 'data:image/png;base64,UE5H' };
    await runtime.createImage({ model: 'm', params: edited });
    expect(urls).toEqual(
      ['embeddings', 'images/generations', 'audio/speech', 'images/edits'].map(
        (path) => `${vendor.baseURL}/${path}`,
      ),
    );
    const claude = new (anthropicCompatibleFactory(vendor))({ fetch: send });
    const rejected = () => claude.embeddings({ model: 'm', input: 'a' });
    expect(await codeOf(rejected)).toBe('capability_not_supported');
  });

  it('lists the models of chats only, unless it is told otherwise', async () => {
    const ids = ['gpt-4o', 'text-embedding-3', 'TTS-1', 'whisper', 'dall-e-3', 'davinci'];
    const send = (async () => Response.json({ data: ids.map((id) => ({ id })) })) as typeof fetch;
    const listed = async (options: object) => {
      const runtime = new (openaiCompatibleFactory({ ...vendor, ...options }))({ fetch: send });
      return (await runtime.models()).map(({ id }) => id);
    };
    expect(await listed({})).toEqual(['gpt-4o']);
    expect(await listed({ models: { transformModel: (model: unknown) => model } })).toEqual(ids);
  });

  it('tells its own functions the options of the call', async () => {
    const reported: unknown[] = [];
    const report = (...given: unknown[]) => {
      reported.push(...given);
      return [] as never;
    };
    const call = { signal: new AbortController().signal, onUsage: () => undefined };
    const Acme = openaiCompatibleFactory({
      ...vendor,
      models: (_, options) => report(options),
      createImage: (_payload, _instance, options) => report(options),
    });
    await new Acme().models(call);
    await new Acme().createImage({ model: 'm', params: { prompt: 'x' } }, call);
    const pricing = { parameters: { ttl: '1h' } };
    const Claude = anthropicCompatibleFactory({
      ...vendor,
      chatCompletion: { getPricingOptions: () => pricing },
      generateObject: (_instance, _request, options, prices) => report(options, prices),
    });
    await new Claude().generateObject({ model: 'm', messages, schema: {} }, call);
    expect(reported).toEqual([call, call, call, pricing]);
  });

  it('names errors inside an answer as the vendor does', async () => {
    const { send } = fake({ error: { message: 'out of coins', code: 'coins' } });
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        handleStreamBizErrorType: ({ message }) =>
          message.includes('coins') ? 'InsufficientQuota' : undefined,
      },
    });
    const runtime = new Acme({ fetch: send, maxRetries: 0 });
    expect(await codeOf(() => runtime.stream({ model: 'm', messages }).text())).toBe(
      'insufficient_quota',
    );
  });

  it('changes how objects are asked for', async () => {
    const call = {
      index: 0,
      id: 'c',
      type: 'function',
      function: { name: 'answer', arguments: '{"a":1}' },
    };
    const { bodies, send } = fake({ choices: [{ index: 0, delta: { tool_calls: [call] } }] }, end);
    const Acme = openaiCompatibleFactory({
      ...vendor,
      generateObject: {
        useToolsCalling: true,
        handleSchema: (schema) => ({ ...schema, title: 'changed' }),
        handlePayload: (payload) => ({ ...payload, temperature: 0, enable_thinking: false }),
      },
    });
    const schema = { type: 'object', properties: { a: { type: 'number' } } };
    const runtime = new Acme({ fetch: send });
    expect(await runtime.generateObject({ model: 'm', messages, schema })).toEqual({ a: 1 });
    expect(bodies[0]).toMatchObject({
      temperature: 0,
      enable_thinking: false,
      tools: [{ function: { parameters: { title: 'changed' } } }],
    });
  });

  it("sends the schema as a vendor's hook gives it, a validator's, too", async () => {
    const { bodies, send } = fake(chunk('{"a":"x"}'), end);
    const seen: unknown[] = [];
    const Acme = openaiCompatibleFactory({
      ...vendor,
      generateObject: {
        handleSchema: ({ additionalProperties, ...schema }) => {
          seen.push(additionalProperties);
          return { ...schema, 'x-order': ['a'] };
        },
      },
    });
    const runtime = new Acme({ fetch: send });
    const json = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
    const request = (schema: ObjectSchema) =>
      runtime.generateObject({ model: 'm', messages, schema });
    expect(await request({ name: 'o', schema: json })).toEqual({ a: 'x' });
    expect(await request(z.object({ a: z.string() }))).toEqual({ a: 'x' });
    expect(seen).toEqual([false, false]);
    for (const body of bodies) {
      const { response_format } = body as { response_format: { json_schema: { schema: object } } };
      expect(response_format.json_schema.schema).toEqual({
        ...json,
        'x-order': ['a'],
      });
    }
  });

  it("lists the models of a vendor that speaks Anthropic's Messages", async () => {
    const urls: string[] = [];
    const Acme = anthropicCompatibleFactory({ ...vendor, baseURL: 'https://api.acme.example' });
    const send = (async (url: string | URL | Request) => {
      urls.push(url as string);
      return Response.json({ data: [{ id: 'large' }] });
    }) as typeof fetch;
    expect(await new Acme({ fetch: send }).models()).toMatchObject([{ id: 'large' }]);
    expect(urls[0]).toMatch(/^https:\/\/api\.acme\.example\/v1\/models/);
  });

  it('lists models and makes images in its own way', async () => {
    const Acme = openaiCompatibleFactory({
      ...vendor,
      models: ({ apiKey }) => [{ id: `of-${apiKey}`, type: 'chat' }],
      createImage: ({ params }, { baseURL }) => ({ imageUrl: `${baseURL}/${params.prompt}` }),
    });
    expect(await new Acme().models()).toEqual([{ id: 'of-k', type: 'chat' }]);
    expect(await new Acme().createImage({ model: 'm', params: { prompt: 'cat' } })).toEqual({
      imageUrl: `${vendor.baseURL}/cat`,
    });
    const Listed = openaiCompatibleFactory({
      ...vendor,
      models: {
        transformModel: (model) => (model.id === 'b' ? undefined : { ...model, vision: true }),
      },
    });
    const runtime = new Listed({
      fetch: async () => Response.json({ object: 'list', data: [{ id: 'a' }, { id: 'b' }] }),
    });
    expect(await runtime.models()).toMatchObject([{ id: 'a', vision: true }]);
  });

  it('gives transformModel what the endpoint says of the model, beside our members', async () => {
    const given: object[] = [];
    const Listed = openaiCompatibleFactory({
      ...vendor,
      models: { transformModel: (model) => (given.push(model), { id: `${model.id}!` }) },
    });
    const entry = { object: 'model', owned_by: 'me', created: 1_700_000_000, context_length: 99 };
    const data = [
      { id: 'a', ...entry },
      { id: 'a', twin: 1 },
      { id: 'b', type: 'llm' },
    ];
    const runtime = new Listed({ fetch: async () => Response.json({ object: 'list', data }) });
    expect(await runtime.models()).toEqual([
      { id: 'a!', type: 'chat' },
      { id: 'a!', type: 'chat' },
      { id: 'b!', type: 'chat' },
    ]);
    expect(given).toEqual([
      { id: 'a', ...entry, contextWindowTokens: 99, type: 'chat', releasedAt: '2023-11-14' },
      { id: 'a', twin: 1, type: 'chat' },
      { id: 'b', type: 'chat' },
    ]);
  });

  it('takes cards without a type, which are of models for chats', async () => {
    const Acme = openaiCompatibleFactory({ ...vendor, models: async () => [{ id: 'x' }] });
    expect(await new Acme().models()).toEqual([{ id: 'x', type: 'chat' }]);
  });

  it('names options that it has not got, and works without them', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      const options = {
        ...{ createVideo: () => undefined, handlePollVideoStatus: undefined, debgu: {} },
        chatCompletion: { useResponses2: true, noUserId: true },
      };
      const Acme = openaiCompatibleFactory({ ...vendor, ...options });
      anthropicCompatibleFactory({ ...vendor, chatCompletion: {} });
      const { send } = fake(chunk('Hi'), end);
      expect(await new Acme({ fetch: send }).stream({ model: 'm', messages }).text()).toBe('Hi');
      expect(warn.mock.calls).toEqual([
        [
          "openaiCompatibleFactory: the runtime of acme does not have the options 'createVideo', 'debgu' (did you mean " +
            "'debug'?), 'chatCompletion.useResponses2', and works without them.",
          { code: 'MILLRACE_UNKNOWN_OPTION' },
        ],
      ]);
    } finally {
      warn.mockRestore();
    }
  });

  it('keeps the body that handleError gives', async () => {
    const bodies = [{ my: 1 }, undefined];
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        handleError: () => ({ errorType: 'ModelNotFound', error: bodies.shift() }),
      },
    });
    const failing = new Acme({
      maxRetries: 0,
      fetch: async () => Response.json({ error: { message: 'no' } }, { status: 418 }),
    });
    const payload = { model: 'm', messages };
    const named = { errorType: 'ModelNotFound', status: 418 };
    await expect(failing.chat(payload)).rejects.toMatchObject({ ...named, error: { my: 1 } });
    const own = { error: { error: { message: 'no' } } };
    await expect(failing.stream(payload).text()).rejects.toMatchObject({ ...named, ...own });
  });

  it('asks handleStreamBizErrorType about errors inside an answer alone', async () => {
    const named: string[] = [];
    const Acme = openaiCompatibleFactory({
      ...vendor,
      chatCompletion: {
        handleStreamBizErrorType: ({ message }) => (named.push(message), 'QuotaLimitReached'),
      },
    });
    const typeOf = async (answer: () => Response) => {
      const runtime = new Acme({ maxRetries: 0, fetch: async () => answer() });
      const error: unknown = await runtime
        .stream({ model: 'm', messages })
        .text()
        .catch((reason: unknown) => reason);
      return MillraceError.is(error) ? error.errorType : error;
    };
    const body = { error: { message: 'rejected' } };
    const rejected = (status: number) => () => Response.json(body, { status });
    const streamed =
      (...records: object[]) =>
      () =>
        new Response(sse(...records), { headers });
    expect(await typeOf(rejected(401))).toBe('InvalidProviderAPIKey');
    expect(await typeOf(rejected(404))).toBe('ModelNotFound');
    expect(await typeOf(rejected(429))).toBe('RateLimitExceeded');
    expect(await typeOf(rejected(500))).toBe('ProviderBizError');
    expect(await typeOf(() => new Response('<html>', { status: 502 }))).toBe(
      'ProviderNetworkError',
    );
    expect(await typeOf(streamed(chunk('cut')))).toBe('StreamChunkError');
    const lost = () => {
      throw new Error('ECONNREFUSED');
    };
    expect(await typeOf(lost)).toBe('ProviderNetworkError');
    expect(named).toEqual([]);
    for (const code of ['q', 429]) {
      const record = { error: { message: `inside ${code}`, code } };
      expect(await typeOf(streamed(chunk('x'), record))).toBe('QuotaLimitReached');
      expect(await typeOf(streamed(record))).toBe('QuotaLimitReached');
    }
    expect(named).toEqual(['inside q', 'inside q', 'inside 429', 'inside 429']);
  });

  it('shows what is sent when it is told to', async () => {
    const shown: string[] = [];
    const write = jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
      shown.push(String(text));
      return true;
    });
    try {
      const { send } = fake(chunk('Hi'), end);
      const Acme = openaiCompatibleFactory({ ...vendor, debug: { chatCompletion: () => true } });
      await new Acme({ fetch: send }).stream({ model: 'm', messages }).text();
    } finally {
      write.mockRestore();
    }
    expect(shown.join('')).toContain('[acme] https://api.acme.example/v1/chat/completions');
    expect(shown.join('')).not.toContain('Bearer');
  });
});

describe('anthropicCompatibleFactory', () => {
  it('takes models and objects of the vendor', async () => {
    const Acme = anthropicCompatibleFactory({
      ...vendor,
      models: ({ baseURL }) => [{ id: baseURL, type: 'chat' }],
      generateObject: ({ apiKey }, { model }) => ({ apiKey, model }),
    });
    expect(await new Acme().models()).toEqual([{ id: vendor.baseURL, type: 'chat' }]);
    expect(await new Acme().generateObject({ model: 'm', messages })).toEqual({
      apiKey: 'k',
      model: 'm',
    });
  });
});

describe('callbacks', () => {
  it('tell of images and parts in their order', async () => {
    const parts = (...list: object[]) => ({ candidates: [{ content: { parts: list } }] });
    const { send } = fake(
      parts({ text: 'Thinking', thought: true }),
      parts({ text: 'A cat:' }),
      parts({ inlineData: { mimeType: 'image/png', data: 'AAAA' } }),
      { candidates: [{ content: { parts: [{ text: 'done' }] }, finishReason: 'STOP' }] },
    );
    const reported: [string, ChatPart | string][] = [];
    let final: ChatFinish | undefined;
    const response = await createModelRuntime('google', { apiKey: 'k', fetch: send }).chat(
      { model: 'gemini-2.5-flash-image', messages },
      {
        callback: {
          onReasoningPart: (part) => void reported.push(['reasoning', part]),
          onContentPart: (part) => void reported.push(['content', part]),
          onBase64Image: ({ image, images }) =>
            void reported.push([`image ${images.length}`, image.data]),
          onFinal: (data) => void (final = data),
        },
      },
    );
    await response.text();
    expect(reported).toEqual([
      ['reasoning', { partType: 'text', content: 'Thinking' }],
      ['content', { partType: 'text', content: 'A cat:' }],
      ['content', { partType: 'image', content: 'AAAA', mimeType: 'image/png' }],
      ['content', { partType: 'text', content: 'done' }],
    ]);
    expect(final?.images).toHaveLength(1);
  });

  it('wrap signatures for their issuer', async () => {
    const { send } = fake(
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: 'Hi' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    );
    let final: ChatFinish | undefined;
    const runtime = createModelRuntime('anthropic', { apiKey: 'k', fetch: send });
    const response = await runtime.chat(
      { model: 'claude-sonnet-4-5', messages },
      { protocol: 'lobe', callback: { onFinal: (data) => void (final = data) } },
    );
    expect(await response.text()).toContain('"mr1.9.anthropic.s"');
    expect(final?.reasoning).toEqual({ content: 'Hm', signature: 'mr1.9.anthropic.s' });
  });
});

describe('prices and tokens', () => {
  const written = {
    type: 'message_start',
    message: {
      id: 'm',
      role: 'assistant',
      content: [],
      usage: { input_tokens: 0, cache_creation_input_tokens: 1_000_000, output_tokens: 0 },
    },
  };
  const answer = [
    written,
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 0 } },
    { type: 'message_stop' },
  ];
  const payload = { model: 'claude-sonnet-4-5', messages };
  const costOf = async (text: Promise<Response>): Promise<unknown> => {
    const found = /event: usage\ndata: (.*)/.exec(await (await text).text());
    return (JSON.parse(found?.[1] ?? '{}') as { cost?: number }).cost;
  };

  it('depend on what getPricingOptions and pricingContext say', async () => {
    const { send } = fake(...answer);
    const hour = { parameters: { ttl: '1h' } };
    const Plain = anthropicCompatibleFactory({ ...vendor, provider: 'anthropic' });
    const Hour = anthropicCompatibleFactory({
      ...vendor,
      provider: 'anthropic',
      chatCompletion: {
        getPricingOptions: ({ model }) => (model.startsWith('claude') ? hour : undefined),
      },
    });
    const lobe = { protocol: 'lobe' as const };
    expect(await costOf(new Plain({ fetch: send }).chat(payload, lobe))).toBeCloseTo(3.75, 3);
    expect(await costOf(new Hour({ fetch: send }).chat(payload, lobe))).toBeCloseTo(6, 3);
    const given = new Plain({ fetch: send }).chat(payload, { ...lobe, pricingContext: hour });
    expect(await costOf(given)).toBeCloseTo(6, 3);
    expect((await new Hour({ fetch: send }).stream(payload).usage).cost).toBeCloseTo(6, 3);
  });

  it('are told missing when the provider does not count', async () => {
    let final: ChatFinish | undefined;
    const { send } = fake(chunk('Hi'), end);
    const runtime = createModelRuntime('openai', { apiKey: 'k', fetch: send });
    const response = await runtime.chat(
      { model: 'gpt-4o-mini', messages },
      { callback: { onFinal: (data) => void (final = data) } },
    );
    await response.text();
    expect(final?.usageMissingDiagnostics).toEqual({
      hasUsageMetadata: false,
      provider: 'openai',
      model: 'gpt-4o-mini',
      finishReason: 'stop',
      terminalEventType: 'stop',
    });
  });
});

it('refuses sounds where supportsAudioInput is false', async () => {
  const { send } = fake(chunk('Hi'), end);
  const audio = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
  const heard = { model: 'm', messages: [{ role: 'user' as const, content: [audio] }] };
  const Deaf = openaiCompatibleFactory({
    ...vendor,
    chatCompletion: { supportsAudioInput: false },
  });
  const Hearing = openaiCompatibleFactory(vendor);
  expect(await codeOf(() => new Deaf({ fetch: send }).stream(heard).text())).toBe(
    'capability_not_supported',
  );
  expect(await new Hearing({ fetch: send }).stream(heard).text()).toBe('Hi');
});

it('answers with the mock of a payload and asks nobody', async () => {
  const runtime = createModelRuntime('anthropic', { apiKey: 'k' });
  const mocked = { model: 'm', messages, mockResponse: true, mockDelayMs: 1 };
  const run = runtime.stream({ ...mocked, mockChunks: ['Hel', 'lo'] });
  expect(await run.text()).toBe('Hello');
  expect((await run.report).provider).toBe('anthropic');
  const response = await runtime.chat(mocked, { protocol: 'lobe' });
  expect((await response.text()).match(/event: text/g)).toHaveLength(5);
  const aborted = AbortSignal.abort(new Error('enough'));
  await expect(runtime.chat(mocked, { signal: aborted })).rejects.toThrow('enough');
});
