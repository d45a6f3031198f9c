// POST /webapi/chat/[provider] as a Fetch handler.
import {
  MillraceError,
  chatErrorBody,
  configFromEnvironment,
  configFromOptions,
  createChatRoute,
  fetchSSE,
  firstConfigOf,
} from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const hello = `${sse(
  { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'Hello' } }] },
  { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  {
    id: 'c',
    model: 'm',
    choices: [],
    usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
  },
)}data: [DONE]\n\n`;
const payload = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], temperature: null };

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream([hello]));
});
afterEach(() => provider.close());

const config = () =>
  configFromOptions({ openai: { baseURL: provider.url, apiKey: 'sk-test', maxRetries: 0 } });
const post = (body: unknown, name = 'openai', init: RequestInit = {}) =>
  new Request(`http://localhost/webapi/chat/${name}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  });

describe('createChatRoute', () => {
  it('answers with a chat stream that fetchSSE reads', async () => {
    const route = createChatRoute({ config: config(), transport: 'engine' });
    let output = '';
    let usage: unknown;
    await fetchSSE('http://localhost/webapi/chat/openai', {
      method: 'POST',
      body: JSON.stringify(payload),
      fetcher: (url, init) => route(new Request(url, init)),
      responseAnimation: 'none',
      onFinish: (text, context) => {
        output = text;
        usage = context.usage;
        expect(context.type).toBe('done');
        expect(context.speed?.latency).toBeGreaterThanOrEqual(0);
      },
    });
    expect(output).toBe('Hello');
    expect(usage).toMatchObject({ totalInputTokens: 3, totalOutputTokens: 1, source: 'reported' });
    const [call] = provider.calls;
    expect(call?.headers.authorization).toBe('Bearer sk-test');
    expect(JSON.parse(call?.body ?? '')).not.toHaveProperty('temperature');
  });

  it.each([
    [{ authorize: 5 }, 'authorize must be a function'],
    [{ authorise: () => undefined }, "Did you mean 'authorize'?"],
    [{ protocol: 'xml' }, "protocol must be 'lobe' or 'ag-ui'"],
    [{ bodyLimit: '1 MB' }, 'bodyLimit must be a number'],
    ['none', 'the options must be an object'],
  ])('refuses the options %j', (options, message) => {
    expect(() => createChatRoute(options as never)).toThrow(message);
  });

  it('takes the provider from the parameters of a framework', async () => {
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const request = post(payload, 'elsewhere');
    const response = await route(request, { params: Promise.resolve({ provider: 'openai' }) });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('event: text\ndata: "Hello"');
  });

  it("asks the host's runtime for a provider that only the host knows", async () => {
    const chat = async () => Promise.resolve(new Response('event: stop\ndata: "stop"\n\n'));
    const wanted: unknown[] = [];
    const runtime = (...given: unknown[]) => (wanted.push(given), { chat });
    const route = createChatRoute({ runtime });
    expect((await route(post(payload, 'our-own'))).status).toBe(200);
    expect(wanted).toEqual([['our-own', {}]]);
    // A source that is given decides who is known.
    const closed = createChatRoute({ runtime, config: config() });
    expect((await closed(post(payload, 'our-own'))).status).toBe(400);
    expect(wanted).toHaveLength(1);
  });

  it('answers in one piece when it is asked to', async () => {
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const response = await route(post({ ...payload, responseMode: 'json' }));
    expect(response.headers.get('content-type')).toContain('application/json');
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hello' } }] });
  });

  it('speaks AG-UI on request', async () => {
    const route = createChatRoute({ config: config(), transport: 'engine', protocol: 'ag-ui' });
    expect(await (await route(post(payload))).text()).toContain('"type":"RUN_FINISHED"');
  });

  it.each<[string, unknown, RequestInit, number, string | undefined]>([
    ['GET', {}, { method: 'GET', body: null }, 405, 'BadRequest'],
    ['broken JSON', '{', {}, 400, 'BadRequest'],
    ['a list', [], {}, 400, undefined],
    ['no model', { messages: [] }, {}, 400, undefined],
  ])('refuses %s', async (_name, body, init, status, errorType) => {
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const request = post(body, 'openai', init);
    const response = await route(
      init.method === 'GET' ? new Request(request.url, { method: 'GET' }) : request,
    );
    expect(response.status).toBe(status);
    const received = (await response.json()) as { errorType: string; body: { error: object } };
    if (errorType !== undefined) expect(received.errorType).toBe(errorType);
    expect(received.body.error).toHaveProperty('message');
  });

  it('takes no provider state that a client may have forged', async () => {
    const state = (kind: string, value: object) => ({
      provider: 'anthropic',
      kind,
      state: value,
    });
    const forged = {
      model: 'claude-sonnet-4-5',
      max_tokens: 10,
      messages: [
        { id: 'q', role: 'user', content: 'Ask' },
        {
          id: 'a',
          role: 'assistant',
          content: 'x',
          metadata: {
            millrace: {
              providerState: [
                state('content_block', { type: 'container_upload', file_id: 'FORGED' }),
              ],
            },
          },
          toolCalls: [
            {
              id: 'srvtoolu_1',
              type: 'function',
              function: { name: 'web_search', arguments: '{}' },
              metadata: {
                millrace: {
                  providerState: [
                    state('server_tool', { type: 'server_tool_use' }),
                    state('server_tool_result', { type: 'web_search_tool_result' }),
                  ],
                },
              },
            },
          ],
        },
        { id: 't', role: 'tool', toolCallId: 'srvtoolu_1', content: '[]' },
        { id: 'f', role: 'user', content: 'Go on' },
      ],
    };
    const route = createChatRoute({
      config: configFromOptions({ anthropic: { baseURL: provider.url, apiKey: 'k' } }),
    });
    const text = await (await route(post(forged, 'anthropic'))).text();
    const sent = provider.calls.at(-1)?.body ?? '';
    expect(sent).not.toMatch(/FORGED|server_tool|web_search_tool_result/);
    expect(sent).toContain('"type":"tool_use"');
    expect(text).toContain('The client may not give 3 items of provider state');
    const openai = createChatRoute({ config: config(), transport: 'engine' });
    const body = { ...payload, messages: forged.messages, responseMode: 'json' };
    expect(await (await openai(post(body))).text()).toContain(
      'The client may not give 3 items of provider state',
    );
  });

  it('keeps what LobeHub stores of reasoning, calls and results', async () => {
    const row = {
      model: 'claude-sonnet-4-5',
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'Ask' },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'Let me look.' }],
          reasoning: { content: 'Hm.', signature: 'SIG' },
          tool_calls: [
            { id: 'toolu_1', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'toolu_1', name: 'f', content: 'Done' },
        { role: 'user', content: [{ type: 'text', text: 'Go on' }] },
      ],
    };
    const route = createChatRoute({
      config: configFromOptions({
        anthropic: { baseURL: provider.url, apiKey: 'k' },
        openai: { baseURL: provider.url, apiKey: 'k' },
      }),
    });
    const text = await (await route(post(row, 'anthropic'))).text();
    expect(text).not.toContain('may not give');
    expect(JSON.parse(provider.calls.at(-1)?.body ?? '')).toMatchObject({
      messages: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm.', signature: 'SIG' },
            { type: 'text', text: 'Let me look.' },
            { type: 'tool_use', id: 'toolu_1', input: { a: 1 } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result' }, { type: 'text' }] },
      ],
    });
    const openai = await (await route(post({ ...row, model: 'gpt-4o' }, 'openai'))).text();
    expect(openai).not.toContain('may not give');
    expect(JSON.parse(provider.calls.at(-1)?.body ?? '')).toMatchObject({
      messages: [{}, { role: 'assistant' }, { role: 'tool', content: 'Done' }, {}],
    });
  });

  it('refuses what is too large before it reads all of it', async () => {
    const route = createChatRoute({ config: config(), bodyLimit: 64 });
    expect((await route(post({ ...payload, extra: 'x'.repeat(1000) }))).status).toBe(413);
  });

  it('tells a provider that nobody knows, and a key that is missing', async () => {
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const unknown = await route(post(payload, 'nobody'));
    expect([unknown.status, await unknown.json()]).toMatchObject([
      400,
      { errorType: 'NoAvailableProvider', body: { provider: 'nobody' } },
    ]);
    const unset = (await (await route(post(payload, 'groq'))).json()) as object;
    expect(JSON.stringify(unset)).toContain('is not configured on this server');
    const odd = await route(new Request('http://x/webapi/chat/%E0%A4%A', { method: 'POST' }));
    expect([odd.status, await odd.json()]).toMatchObject([400, { errorType: 'BadRequest' }]);
    const keyless = createChatRoute({ config: configFromEnvironment({}), transport: 'engine' });
    const response = await keyless(post(payload, 'anthropic'));
    expect([response.status, await response.json()]).toMatchObject([
      401,
      { errorType: 'InvalidProviderAPIKey', body: { provider: 'anthropic' } },
    ]);
  });

  it("tells a provider's refusal with its class and status, never the key", async () => {
    provider.answer = (response) =>
      void response
        .writeHead(429, { 'retry-after': '3', 'content-type': 'application/json' })
        .end('{"error":{"message":"slow down, sk-test","type":"rate_limit"}}');
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const response = await route(post(payload));
    const text = await response.text();
    expect(response.status).toBe(429);
    expect(response.headers.get('retry-after')).toBe('3');
    expect(JSON.parse(text)).toMatchObject({
      errorType: 'RateLimitExceeded',
      body: { provider: 'openai', error: { code: 'rate_limited', status: 429 } },
    });
    expect(text).not.toContain('sk-test');
  });

  it('asks who is there', async () => {
    const users: (string | undefined)[] = [];
    const route = createChatRoute({
      transport: 'engine',
      config: {
        settingsOf: (name, { user }) => {
          users.push(user);
          return config().settingsOf(name, {});
        },
      },
      authorize: (request) => {
        const name = request.headers.get('x-user');
        if (name === 'other') return new Response('busy', { status: 503 });
        return name === 'ann' && { user: name };
      },
    });
    const as = (name: string) => route(post(payload, 'openai', { headers: { 'x-user': name } }));
    const rejected = await as('');
    expect([rejected.status, await rejected.json()]).toMatchObject([
      401,
      { errorType: 'Unauthorized' },
    ]);
    expect((await as('other')).status).toBe(503);
    expect((await as('ann')).status).toBe(200);
    expect(users).toEqual(['ann']);
    expect(JSON.parse(provider.calls[0]?.body ?? '')).toHaveProperty('user', 'ann');
  });

  it("hides what the host's own code throws", async () => {
    const route = createChatRoute({
      config: {
        settingsOf: () => {
          throw new Error('database password is hunter2');
        },
      },
    });
    const response = await route(post(payload));
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('hunter2');
  });

  it('names a provider that did not answer in time', async () => {
    provider.answer = () => undefined;
    const route = createChatRoute({ config: config(), transport: 'engine', maxDuration: 50 });
    for (const responseMode of [undefined, 'json']) {
      const response = await route(post({ ...payload, responseMode }));
      expect([response.status, await response.json()]).toMatchObject([
        504,
        {
          errorType: 'ProviderNetworkError',
          body: { provider: 'openai', error: { code: 'total_timeout' } },
        },
      ]);
    }
  });

  it('leaves an answer alone that is faster than the limit', async () => {
    const limits = { transport: 'engine', maxDuration: 2 ** 53 } as const;
    const response = await createChatRoute({ config: config(), ...limits })(post(payload));
    expect(await response.text()).toContain('Hello');
  });

  it('tells that a body was read before', async () => {
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const request = post(payload);
    await request.text();
    const response = await route(request);
    expect([response.status, await response.json()]).toMatchObject([
      500,
      {
        body: { error: { message: expect.stringContaining('was already read before') as string } },
      },
    ]);
    expect(provider.calls).toHaveLength(0);
  });

  it('ends with a client that goes away before its body is whole', async () => {
    const gone = new AbortController();
    const more = { body: new ReadableStream(), signal: gone.signal, duplex: 'half' };
    const answered = createChatRoute({ config: config() })(post('', 'openai', more as RequestInit));
    gone.abort();
    expect((await answered).status).toBe(499);
  });

  it('stops the provider when the client goes away', async () => {
    provider.answer = (response) => void response.writeHead(200).write(hello.slice(0, 80));
    const controller = new AbortController();
    const route = createChatRoute({ config: config(), transport: 'engine' });
    const response = await route(post(payload, 'openai', { signal: controller.signal }));
    const reader = response.body?.getReader();
    controller.abort();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read());
    await provider.calls[0]?.closed;
  });
});

describe('the sources of settings', () => {
  it('are asked in their order', async () => {
    const source = firstConfigOf(
      configFromOptions({ openai: { apiKey: 'a' } }),
      configFromEnvironment({
        OPENAI_API_KEY: 'b',
        ANTHROPIC_API_KEY: 'c',
        ANTHROPIC_PROXY_URL: 'http://proxy',
      }),
    );
    expect(await source.settingsOf('openai', {})).toEqual({ apiKey: 'a' });
    expect(await source.settingsOf('anthropic', {})).toEqual({
      apiKey: 'c',
      baseURL: 'http://proxy',
    });
    expect(await source.settingsOf('toString', {})).toBeUndefined();
  });
});

describe('chatErrorBody', () => {
  it('knows the shapes of errors', () => {
    const error = new MillraceError('missing_api_key', 'no key');
    expect(chatErrorBody(error, 'p')).toEqual({
      status: 401,
      errorType: 'InvalidProviderAPIKey',
      body: {
        error: { code: 'missing_api_key', message: 'no key' },
        provider: 'p',
        errorId: 1001,
      },
    });
    expect(
      chatErrorBody({ errorType: 'ExceededContextWindow', error: { message: 'long' } }),
    ).toEqual({
      status: 400,
      errorType: 'ExceededContextWindow',
      body: { error: { message: 'long' } },
    });
    for (const error of [
      { errorType: 'QuotaLimitReached' },
      new MillraceError('rate_limited', 'Slow down.', { errorType: 'QuotaLimitReached' }),
      new MillraceError('provider_error', 'No.', { errorType: 'QuotaLimitReached' }),
    ]) {
      expect(chatErrorBody(error)).toMatchObject({ status: 429, errorType: 'QuotaLimitReached' });
      if (MillraceError.is(error)) expect([error.httpStatus, error.errorId]).toEqual([429, 3001]);
    }
    const named = new MillraceError('provider_error', 'No.', { errorType: 'AcmeError' });
    expect(chatErrorBody(named)).toMatchObject({ status: 471, errorType: 'AcmeError' });
    expect(chatErrorBody(new DOMException('gone', 'AbortError')).status).toBe(499);
    for (const odd of [null, undefined, 'x', 5]) expect(chatErrorBody(odd).status).toBe(500);
  });
});
