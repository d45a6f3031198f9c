// The router in front of several runtimes.
import type { FailedRoute, RouteAttempt, RouterRuntime } from 'millrace';
import { MillraceError, createRouterRuntime, openaiCompatibleFactory } from 'millrace';

import { answer, claude, messages, reject } from '../../support/chat-answers';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream([answer('Hello')]));
});
afterEach(() => provider.close());

describe('createRouterRuntime', () => {
  const channel = { apiKey: 'k', transport: 'engine', maxRetries: 0 } as const;

  it('routes by model, and asks the next channel when one fails', async () => {
    const broken = await startProvider(reject(500, 'broken'));
    const attempts: RouteAttempt[] = [];
    const Routed = createRouterRuntime({
      id: 'mine',
      defaultHeaders: { 'x-route': '1' },
      routers: [
        { apiType: 'anthropic', models: ['c'], options: { ...channel, baseURL: provider.url } },
        {
          apiType: 'openai',
          options: [
            { ...channel, id: 'first', baseURL: broken.url },
            { ...channel, id: 'second', baseURL: provider.url },
          ],
        },
      ],
      onRouteAttempt: (attempt) => attempts.push(attempt),
    });
    try {
      const runtime = new Routed();
      const response = await runtime.chat({ model: 'gpt-4o', messages }, { protocol: 'lobe' });
      expect(await response.text()).toContain('"Hello"');
      expect(provider.calls[0]?.headers['x-route']).toBe('1');
      expect(attempts).toMatchObject([
        { routerId: 'mine', channelId: 'first', channelIndex: 0, success: false },
        { routerId: 'mine', channelId: 'second', channelIndex: 1, success: true },
      ]);
      provider.answer = stream([claude]);
      expect(await runtime.stream({ model: 'c', messages }).text()).toBe('Bonjour');
      expect(provider.calls[1]?.url).toBe('/v1/messages');
    } finally {
      await broken.close();
    }
  });

  describe('chat(), when a channel answers 200 and fails', () => {
    const role = { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] };
    const asBody = (...records: object[]): string =>
      records.map((record) => `data: ${JSON.stringify(record)}\n\n`).join('');
    const fails: Record<string, string> = {
      'in its first record': asBody({
        error: { message: 'busy', type: 'server_error', code: 503 },
      }),
      'without a word': asBody(role),
      'with nothing': '',
    };
    const half = asBody({ choices: [{ index: 0, delta: { content: 'Half' } }] });
    const attempts: RouteAttempt[] = [];
    // A router in front of a provider that answers so, and of one that says Hello.
    async function routed(body: string, work: (runtime: RouterRuntime) => Promise<void>) {
      attempts.length = 0;
      const broken = await startProvider(stream([body]));
      const Routed = createRouterRuntime({
        id: 'mine',
        routers: [
          {
            apiType: 'openai',
            options: [broken, provider].map(({ url }) => ({ ...channel, baseURL: url })),
          },
        ],
        onRouteAttempt: (attempt) => attempts.push(attempt),
      });
      await work(new Routed()).finally(() => broken.close());
    }

    describe.each(['ag-ui', 'lobe'] as const)('as %s', (protocol) => {
      it.each(Object.entries(fails))('%s', async (_, body) => {
        await routed(body, async (runtime) => {
          const reported: string[] = [];
          const callback = {
            onStart: () => void reported.push('start'),
            onText: (text: string) => void reported.push(text),
            onError: () => void reported.push('error'),
            onFinal: () => void reported.push('final'),
          };
          const payload = { model: 'gpt-4o', messages };
          const response = await runtime.chat(payload, { protocol, callback });
          const text = await response.text();
          expect(text).toContain('"Hello"');
          expect(text).not.toMatch(/RUN_ERROR|event: error/);
          expect(reported).toEqual(['start', 'Hello', 'final']);
          expect(attempts).toMatchObject([{ success: false }, { success: true }]);
          expect(attempts[0]?.error).toBeInstanceOf(MillraceError);
        });
      });

      it('after its first word', async () => {
        await routed(half, async (runtime) => {
          const response = await runtime.chat({ model: 'gpt-4o', messages }, { protocol });
          const text = await response.text();
          expect(text).toContain('"Half"');
          expect(text).toMatch(/RUN_ERROR|event: error/);
          expect(attempts).toMatchObject([{ success: true }]);
        });
      });

      it('and nobody is left to be asked', async () => {
        provider.answer = stream([fails['without a word'] as string]);
        await routed('', async (runtime) => {
          const response = await runtime.chat({ model: 'gpt-4o', messages }, { protocol });
          expect(await response.text()).toMatch(/RUN_ERROR|event: error/);
          expect(attempts).toMatchObject([
            { success: false, error: { code: 'stream_empty' } },
            { success: false, error: { code: 'stream_truncated' } },
          ]);
        });
      });
    });

    it('asks nobody else when a callback throws, or when it is stopped', async () => {
      await routed(half, async (runtime) => {
        const thrown = new Error('mine');
        const callback = {
          onText: () => {
            throw thrown;
          },
        };
        const payload = { model: 'gpt-4o', messages };
        await expect(runtime.chat(payload, { callback })).rejects.toBe(thrown);
        expect(provider.calls).toHaveLength(0);
      });
      const silent = await startProvider((response) => void response.writeHead(200).flushHeaders());
      const Routed = createRouterRuntime({
        id: 'mine',
        routers: [
          {
            apiType: 'openai',
            options: [silent, provider].map(({ url }) => ({ ...channel, baseURL: url })),
          },
        ],
      });
      const abort = new AbortController();
      const { signal } = abort;
      const requested = new Routed().chat({ model: 'gpt-4o', messages }, { signal });
      const reason = new Error('enough');
      setTimeout(() => abort.abort(reason), 100);
      await expect(requested).rejects.toBe(reason);
      expect(provider.calls).toHaveLength(0);
      await silent.close();
    });
  });

  it('finds a pattern from the beginning, whatever it remembers', async () => {
    const baseURLPattern = /127\.0\.0\.1/g;
    const Routed = createRouterRuntime({
      id: 'mine',
      routers: [
        { apiType: 'openai', baseURLPattern, options: { ...channel, id: 'matched' } },
        { apiType: 'openai', options: { ...channel, id: 'last' } },
      ],
      onRouteAttempt: ({ channelId }) => requested.push(channelId),
    });
    const requested: (string | undefined)[] = [];
    const runtime = new Routed({ baseURL: provider.url });
    for (let i = 0; i < 3; ++i) await runtime.stream({ model: 'm', messages }).text();
    expect(requested).toEqual(['matched', 'matched', 'matched']);
  });

  it('does not ask again what no channel can answer', async () => {
    provider.answer = reject(400, 'maximum context length is 10 tokens');
    const other = await startProvider(stream([answer('never')]));
    const options = [
      { ...channel, baseURL: provider.url },
      { ...channel, baseURL: other.url },
    ];
    try {
      const Routed = createRouterRuntime({ id: 'mine', routers: [{ apiType: 'openai', options }] });
      await expect(new Routed().chat({ model: 'm', messages })).rejects.toMatchObject({
        errorType: 'ExceededContextWindow',
      });
      expect(other.calls).toHaveLength(0);
      provider.answer = reject(500, 'broken');
      const Strict = createRouterRuntime({
        id: 'strict',
        routers: () => [{ apiType: 'openai', options }],
        shouldStopFallback: () => true,
      });
      await expect(new Strict().chat({ model: 'm', messages })).rejects.toBeDefined();
      expect(other.calls).toHaveLength(0);
    } finally {
      await other.close();
    }
  });

  const failing = (error: unknown) =>
    class {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
      chat = (): Promise<Response> => Promise.reject(error);
    };
  const two = [{ apiKey: '1' }, { apiKey: '2' }];

  it.each([
    ["Invalid schema for response_format 'json_schema'", 1],
    ['400 Model x does not support parameter presencePenalty.', 1],
    ['Server error', 2],
  ])('judges an error that has nothing but the sentence: %s', async (message, requested) => {
    const error = { errorType: 'ProviderBizError', error: { message } };
    const attempts: RouteAttempt[] = [];
    const Routed = createRouterRuntime({
      id: 'mine',
      routers: [{ apiType: 'openai', runtime: failing(error) as never, options: two }],
      onRouteAttempt: (attempt) => attempts.push(attempt),
    });
    const metadata = { trigger: 'chat' };
    await expect(new Routed().chat({ model: 'm', messages }, { metadata })).rejects.toBe(error);
    expect(attempts).toHaveLength(requested);
    expect(attempts[0]).toMatchObject({ model: 'm', metadata, success: false });
  });

  it('asks whether to go on, and has its own error in the end', async () => {
    const error = { errorType: 'ProviderBizError', error: { message: 'Content violates' } };
    const failed: FailedRoute[] = [];
    const Routed = createRouterRuntime({
      id: 'mine',
      routers: [{ apiType: 'openai', runtime: failing(error) as never, options: two }],
      shouldStopFallback: async (one) => {
        failed.push(one);
        await Promise.resolve();
        return one.optionIndex === 1;
      },
      chatCompletion: { handleError: () => ({ errorType: 'Mine' }) },
    });
    await expect(new Routed().chat({ model: 'm', messages })).rejects.toEqual({
      errorType: 'Mine',
    });
    expect(failed).toEqual([{ error, model: 'm', optionIndex: 0 }]);
    failed.length = 0;
    provider.answer = reject(500, 'broken');
    const channels = [1, 2].map(() => ({ ...channel, baseURL: provider.url }));
    const Streamed = createRouterRuntime({
      id: 'mine',
      routers: [{ apiType: 'openai', options: channels }],
      shouldStopFallback: (one) => Promise.resolve(failed.push(one) > 0),
    });
    await expect(new Streamed().stream({ model: 'm', messages }).text()).rejects.toBeDefined();
    expect(failed).toMatchObject([{ model: 'm', optionIndex: 0 }]);
  });

  it('prefers the router whose pattern matches the base URL', async () => {
    provider.answer = stream([claude]);
    const Routed = createRouterRuntime({
      id: 'mine',
      routers: [
        { apiType: 'anthropic', baseURLPattern: /127\.0\.0\.1/, options: channel },
        { apiType: 'openai', options: channel },
      ],
    });
    const runtime = new Routed({ baseURL: provider.url });
    expect(await runtime.stream({ model: 'x', messages }).text()).toBe('Bonjour');
  });

  it('has the address of its own options, else that of its default', () => {
    const Routed = createRouterRuntime({
      id: 'mine',
      routers: [
        { apiType: 'anthropic', models: ['c'], options: { baseURL: 'https://first.example' } },
        { apiType: 'openai', options: [{ baseURL: 'https://last.example/v1' }, {}] },
      ],
    });
    expect(new Routed().baseURL).toBe('https://last.example/v1');
    expect(new Routed({ baseURL: 'https://own.example' }).baseURL).toBe('https://own.example');
    const Chosen = createRouterRuntime({ id: 'mine', routers: () => [] });
    expect(new Chosen().baseURL).toBeUndefined();
  });

  it('says so when there is nobody to ask', async () => {
    const Routed = createRouterRuntime({ id: 'mine', routers: [] });
    const runtime = new Routed();
    await expect(runtime.chat({ model: 'm', messages })).rejects.toMatchObject({
      errorType: 'NoAvailableProvider',
      provider: 'mine',
    });
    const empty = [{ apiType: 'openai', options: [] }];
    const Empty = createRouterRuntime({ id: 'mine', routers: empty });
    await expect(new Empty().chat({ model: 'm', messages })).rejects.toMatchObject({
      errorType: 'NoAvailableChannel',
    });
  });

  it('names itself to classes of the user, and ends with a request that nobody takes', async () => {
    const made: object[] = [];
    const rejected = {
      errorType: 'ProviderBizError',
      error: { type: 'invalid_request_error', body: { httpStatusCode: 400 } },
    };
    class Own {
      constructor(options: object) {
        made.push(options);
      }
      chat(): Promise<Response> {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors
        return Promise.reject(rejected);
      }
    }
    const options = [{ apiKey: '1' }, { apiKey: '2' }];
    const routers = [{ apiType: 'openai', runtime: Own as never, options }];
    const Routed = createRouterRuntime({ id: 'mine', routers });
    await expect(new Routed().chat({ model: 'm', messages })).rejects.toBe(rejected);
    expect(made).toMatchObject([{ id: 'mine', apiKey: '1' }]);
  });

  it('refuses options that say too little', () => {
    for (const options of [undefined, {}, { id: 'x' }, { routers: [] }]) {
      expect(() => createRouterRuntime(options as never)).toThrow(MillraceError);
    }
    for (const router of [undefined, {}, { apiType: 'openai' }, { options: {} }]) {
      expect(() => createRouterRuntime({ id: 'x', routers: [router as never] })).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
    const Routed = createRouterRuntime({ id: 'mine', routers: [] });
    expect(() => new Routed().stream(undefined as never)).toThrow(MillraceError);
  });

  // The whole vendor follows to the next channel: its address, its hooks and its fetch.
  describe('a stream', () => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: 'https://acme.invalid/v1',
      chatCompletion: { handlePayload: (body) => ({ ...body, region: 'eu' }) },
    });
    const requested: { url: string; key: string | null; body: Record<string, unknown> }[] = [];
    const channelOf = (id: string, reply: () => Response) => ({
      id,
      apiKey: `key-${id}`,
      maxRetries: 0,
      fetch: (async (url: string, init: RequestInit) => {
        const key = new Headers(init.headers).get('authorization');
        requested.push({
          url,
          key,
          body: JSON.parse(init.body as string) as Record<string, unknown>,
        });
        return reply();
      }) as typeof fetch,
    });
    const down = () => Response.json({ error: { message: 'down' } }, { status: 503 });
    const streamed = (text: string) => () =>
      new Response(text, { headers: { 'content-type': 'text/event-stream' } });
    const routed = (attempts: RouteAttempt[], ...replies: (() => Response)[]) =>
      new (createRouterRuntime({
        id: 'mine',
        routers: [
          {
            apiType: 'openai',
            runtime: Acme,
            options: replies.map((reply, index) => channelOf(String(index), reply)),
          },
        ],
        onRouteAttempt: (attempt) => attempts.push(attempt),
      }))();
    beforeEach(() => (requested.length = 0));

    it('goes on at the next channel of the same vendor', async () => {
      const attempts: RouteAttempt[] = [];
      const run = routed(attempts, down, streamed(answer('Hello'))).stream({
        model: 'a',
        messages,
      });
      const types: string[] = [];
      for await (const event of run) types.push(event.type);
      expect(types.filter((type) => type === 'RUN_STARTED')).toHaveLength(1);
      expect(types).not.toContain('RUN_ERROR');
      expect(await run.text()).toBe('Hello');
      expect(requested).toMatchObject([
        { url: 'https://acme.invalid/v1/chat/completions', key: 'Bearer key-0' },
        { url: 'https://acme.invalid/v1/chat/completions', key: 'Bearer key-1' },
      ]);
      expect(requested[1]?.body['region']).toBe('eu');
      expect(attempts.map(({ channelId, success }) => [channelId, success])).toEqual([
        ['0', false],
        ['1', true],
      ]);
      expect(await run.attempts).toHaveLength(2);
    });

    it('fails with the last channel', async () => {
      const attempts: RouteAttempt[] = [];
      const run = routed(attempts, down, down).stream({ model: 'a', messages });
      await expect(run.text()).rejects.toMatchObject({ errorType: 'ProviderServiceUnavailable' });
      expect(attempts).toMatchObject([{ success: false }, { success: false }]);
    });

    it('stays where it has begun to answer', async () => {
      const cut = answer('Hello').slice(0, answer('Hello').indexOf('data: ', 8));
      const run = routed([], streamed(cut), streamed(answer('never'))).stream({
        model: 'a',
        messages,
      });
      await expect(run.text()).rejects.toMatchObject({ code: 'stream_truncated' });
      expect(requested).toHaveLength(1);
    });

    it('asks nobody else once it is stopped', async () => {
      const stop = new AbortController();
      const abort = () => {
        stop.abort(new Error('enough'));
        return down();
      };
      const run = routed([], abort, streamed(answer('never'))).stream(
        { model: 'a', messages },
        { signal: stop.signal },
      );
      await expect(run.text()).rejects.toThrow('enough');
      expect(requested).toHaveLength(1);
    });
  });

  it('passes everything else on as well', async () => {
    const json = (value: object, status = 200) =>
      (async () => Response.json(value, { status })) as unknown as typeof fetch;
    const vectors = { data: [{ index: 0, embedding: [1, 2] }] };
    const attempts: RouteAttempt[] = [];
    const routed = (...replies: (typeof fetch)[]) =>
      new (createRouterRuntime({
        id: 'mine',
        routers: [
          {
            apiType: 'openai',
            options: replies.map((fetch) => ({ apiKey: 'k', maxRetries: 0, fetch })),
          },
        ],
        onRouteAttempt: (attempt) => attempts.push(attempt),
      }))();
    const at = 'https://models.example/v1';
    const runtime = routed(json({}, 500), json(vectors));
    expect(await runtime.embeddings({ model: 'e', input: 'x' })).toEqual([[1, 2]]);
    expect(attempts).toMatchObject([{ success: false }, { success: true }]);
    expect(await routed(json({ data: [{ id: 'gpt-x' }] })).models()).toMatchObject([
      { id: 'gpt-x' },
    ]);
    const listed = new (createRouterRuntime({
      id: 'mine',
      apiKey: 'shared',
      routers: [{ apiType: 'openai', options: { fetch: json({ data: [{ id: 'gpt-x' }] }) } }],
      models: async ({ client, options, baseURL }) => {
        expect([client.apiKey, options.baseURL, baseURL]).toEqual(['shared', at, at]);
        return (await client.models.list()).data;
      },
    }))({ baseURL: at });
    expect(await listed.models()).toMatchObject([{ id: 'gpt-x' }]);
    const received = { choices: [{ message: { content: '{"a":1}' }, finish_reason: 'stop' }] };
    const object = routed(json({}, 500), json(received)).generateObject({
      model: 'm',
      messages,
      schema: { type: 'object' },
      stream: false,
    });
    expect(await object).toEqual({ a: 1 });
    await expect(runtime.embeddings(undefined as never)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });

  it('shows an object while the channel that takes it writes it', async () => {
    const requested: string[] = [];
    const chunk = (content: string): string =>
      `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`;
    const received = chunk('{"a":1,') + chunk('"b":2}') + 'data: [DONE]\n\n';
    const reply =
      (name: string, status: number, body: string): typeof fetch =>
      async () => {
        requested.push(name);
        const type = status === 200 ? 'text/event-stream' : 'application/json';
        return new Response(body, { status, headers: { 'content-type': type } });
      };
    const open = (call: { signal?: AbortSignal }, ...replies: (typeof fetch)[]) => {
      const options = replies.map((fetch) => ({ apiKey: 'k', maxRetries: 0, fetch }));
      const Routed = createRouterRuntime({ id: 'mine', routers: [{ apiType: 'openai', options }] });
      const request = { model: 'm', messages, schema: { type: 'object' } };
      return new Routed().streamObject(request, call);
    };
    const run = open({}, reply('bad', 500, '{}'), reply('good', 200, received));
    const shown: unknown[] = [];
    for await (const part of run) shown.push(part);
    expect(shown.at(-1)).toEqual({ a: 1, b: 2 });
    expect(await run.object()).toEqual({ a: 1, b: 2 });
    expect(requested).toEqual(['bad', 'good']);

    const bad = open({}, reply('bad', 500, '{}'));
    const read = async (): Promise<void> => {
      for await (const part of bad) throw new Error(JSON.stringify(part));
    };
    await expect(read()).rejects.toMatchObject({ status: 500 });

    requested.length = 0;
    const aborted = open({ signal: AbortSignal.abort() }, reply('a', 200, received));
    await expect(aborted.object()).rejects.toThrow();
    const stopped = open({}, reply('b', 200, received), reply('c', 200, received));
    stopped.stop();
    await expect(stopped.object()).rejects.toThrow();
    expect(requested).toEqual([]);
  });
});
