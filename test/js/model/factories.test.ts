// Runtimes for new vendors.
import { MillraceError, anthropicCompatibleFactory, openaiCompatibleFactory } from 'millrace';

import { answer, claude, messages, reject } from '../../support/chat-answers';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream([answer('Hello')]));
});
afterEach(() => provider.close());
const bodyOf = (index = 0) =>
  JSON.parse(provider.calls[index]?.body ?? '{}') as Record<string, unknown>;

describe('openaiCompatibleFactory', () => {
  it('makes a runtime for a vendor that is not in the table', async () => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: 'http://unused.invalid',
      constructorOptions: { defaultHeaders: { 'x-acme': '1' } },
      chatCompletion: { excludeUsage: true, noUserId: true },
    });
    const runtime = new Acme({
      baseURL: ` ${provider.url} `,
      apiKey: ' key ',
      transport: 'engine',
    });
    const run = runtime.stream({ model: 'm', messages }, { user: 'ann' });
    expect(await run.text()).toBe('Hello');
    expect((await run.report).provider).toBe('acme');
    expect(provider.calls[0]?.headers).toMatchObject({
      authorization: 'Bearer key',
      'x-acme': '1',
    });
    expect(provider.calls[0]?.url).toBe('/chat/completions');
    expect(bodyOf()).not.toHaveProperty('stream_options');
    expect(bodyOf()).not.toHaveProperty('user');
  });

  it('runs the hooks of the vendor', async () => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'default',
      chatCompletion: {
        handlePayload: (body, { payload }) => ({ ...body, extra: payload.model }),
        handleStream: (events) =>
          events.map((event) =>
            event.type === 'TEXT_MESSAGE_CONTENT'
              ? { ...event, delta: event.delta.toUpperCase() }
              : event,
          ),
      },
    });
    const runtime = new Acme({ transport: 'engine' });
    expect(await runtime.stream({ model: 'm', messages }).text()).toBe('HELLO');
    expect(bodyOf()).toHaveProperty('extra', 'm');
  });

  it.each([
    ['grok', 'xai'],
    ['Kimi', 'moonshot'],
    ['gemini', 'google'],
    ['together', 'togetherai'],
  ])('runs the hooks of a vendor that is called %s', async (name, id) => {
    const seen: unknown[] = [];
    const Acme = openaiCompatibleFactory({
      provider: name,
      baseURL: provider.url,
      apiKey: 'k',
      chatCompletion: {
        handlePayload: (body, call) => (seen.push(call.provider), { ...body, extra: 1 }),
        handleError: () => ({ errorType: 'Mine' }),
      },
    });
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    await runtime.stream({ model: 'm', messages }).text();
    expect(bodyOf()).toHaveProperty('extra', 1);
    expect(seen).toEqual([id]);
    provider.answer = reject(400, 'no');
    await expect(runtime.stream({ model: 'm', messages }).text()).rejects.toMatchObject({
      errorType: 'Mine',
    });
  });

  it('names the errors of the vendor', async () => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'k',
      errorType: { invalidAPIKey: 'InvalidAcmeKey', bizError: 'AcmeError' },
    });
    provider.answer = reject(401, 'bad key');
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    const named = { errorType: 'InvalidAcmeKey' };
    await expect(runtime.chat({ model: 'm', messages })).rejects.toMatchObject(named);
    await expect(runtime.stream({ model: 'm', messages }).text()).rejects.toMatchObject(named);
    const schema = { type: 'object' };
    await expect(runtime.generateObject({ model: 'm', messages, schema })).rejects.toMatchObject(
      named,
    );
  });

  it.each([
    [{}, 'o9x-pro', undefined, '/responses'],
    [{}, 'small', undefined, '/chat/completions'],
    [{}, 'small', 'responses', '/chat/completions'],
    [{}, 'o9x-pro', 'chatCompletion', '/chat/completions'],
    [{ useResponse: true, useResponseModels: [] }, 'small', undefined, '/responses'],
  ])('chooses the API: %j %s %s -> %s', async (chat, model, apiMode, path) => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'k',
      chatCompletion: { useResponseModels: ['o9', /^ultra/], ...chat },
    });
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    const run = runtime.stream({ model, messages, ...(apiMode === undefined ? {} : { apiMode }) });
    await run.report;
    expect(provider.calls[0]?.url).toBe(path);
  });

  it.each([
    [{}, 'responses', '/responses'],
    // The model has no other API, wherever it is served.
    [{}, undefined, '/responses'],
    [{ useResponse: false }, undefined, '/chat/completions'],
    [{ useResponse: false }, 'responses', undefined],
  ])('serves the Responses API to who asks for it: %j %s -> %s', async (chat, apiMode, path) => {
    const options = { provider: 'acme', baseURL: provider.url, apiKey: 'k', chatCompletion: chat };
    const Acme = openaiCompatibleFactory(options);
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    const withPlan = { model: 'o1-pro', messages, ...(apiMode === undefined ? {} : { apiMode }) };
    await runtime.stream(withPlan).report.catch(() => undefined);
    expect(provider.calls[0]?.url).toBe(path);
    if (apiMode === undefined) return;
    const object = { model: 'm', messages, responseApi: true, schema: { type: 'object' } };
    await runtime.generateObject(object).catch(() => undefined);
    expect(provider.calls.map(({ url }) => url)).toEqual(path === undefined ? [] : [path, path]);
  });

  it('leaves a fallback of another vendor alone', async () => {
    const other = await startProvider(stream([claude]));
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'k',
      chatCompletion: {
        handlePayload: ({ max_tokens, ...body }) => ({ ...body, max_new_tokens: max_tokens }),
        handleError: () => ({ errorType: 'AcmeError' }),
        handleStreamBizErrorType: () => 'AcmeStream',
      },
    });
    const runtime = new Acme({
      transport: 'engine',
      maxRetries: 0,
      fallback: [{ provider: 'anthropic', model: 'claude', baseURL: other.url, apiKey: 'a' }],
    });
    provider.answer = reject(503, 'down');
    const payload = { model: 'm', messages, max_tokens: 5 };
    expect(await runtime.stream(payload).text()).toBe('Bonjour');
    expect(bodyOf()).toHaveProperty('max_new_tokens', 5);
    expect(other.calls[0]?.url).toBe('/v1/messages');
    const sent = JSON.parse(other.calls[0]?.body ?? '{}') as object;
    expect(sent).toHaveProperty('max_tokens', 5);
    expect(sent).not.toHaveProperty('max_new_tokens');
    other.answer = reject(401, 'no');
    await expect(runtime.stream(payload).text()).rejects.toMatchObject({
      errorType: 'InvalidProviderAPIKey',
      provider: 'anthropic',
    });
    await other.close();
  });

  it("leaves a fallback's own API to the fallback", async () => {
    const other = await startProvider(reject(400, 'asked'));
    const Acme = openaiCompatibleFactory({ provider: 'acme', baseURL: provider.url, apiKey: 'k' });
    provider.answer = reject(503, 'down');
    const paths = { google: '/v1beta/models/m:streamGenerateContent?alt=sse', xai: '/responses' };
    for (const [name, path] of Object.entries(paths)) {
      const fallback = [{ provider: name, model: 'm', baseURL: other.url, apiKey: 'a' }];
      const runtime = new Acme({ transport: 'engine', maxRetries: 0, fallback });
      await runtime.stream({ model: 'm', messages }).report.catch(() => undefined);
      expect(other.calls.at(-1)?.url).toBe(path);
    }
    await other.close();
  });

  it.each([
    ['nothing', {}],
    ['an empty key', { apiKey: ' ' }],
    ['a list of empty keys', { apiKey: ['', ' '] }],
  ])('needs a key: %s', (_what, given) => {
    for (const factory of [openaiCompatibleFactory, anthropicCompatibleFactory]) {
      const errorType = { invalidAPIKey: 'InvalidAcmeKey' };
      const Acme = factory({ provider: 'acme', baseURL: provider.url, errorType });
      const missing = { code: 'missing_api_key', errorType: 'InvalidAcmeKey', provider: 'acme' };
      expect(() => new Acme(given)).toThrow(expect.objectContaining(missing) as Error);
    }
    expect(provider.calls).toHaveLength(0);
  });

  it.each<[string, object]>([
    ['a header of the vendor', { headers: { 'x-goog-api-key': 'k' } }],
    ['a header of every request', { defaultHeaders: { Cookie: 'sid=1' } }],
    ['a part of the query', { defaultQuery: { key: 'k' } }],
  ])('takes %s for the key, and the options of a client', async (_what, given) => {
    const Acme = openaiCompatibleFactory({ provider: 'acme', baseURL: provider.url });
    const runtime = new Acme({ ...given, timeout: 5000, transport: 'engine' });
    expect(await runtime.stream({ model: 'm', messages }).text()).toBe('Hello');
    const { headers, url } = provider.calls[0] ?? {};
    expect(JSON.stringify({ ...headers, url })).toMatch(/"k"|sid=1|key=k/);
  });

  it('takes a header for the key', async () => {
    const Acme = openaiCompatibleFactory({ provider: 'acme', baseURL: provider.url });
    const runtime = new Acme({ headers: { Authorization: 'Basic x' }, transport: 'engine' });
    expect(await runtime.stream({ model: 'm', messages }).text()).toBe('Hello');
  });

  it.each([
    ['chat', 'MyBiz'],
    ['stream', 'MyBiz'],
  ] as const)('%s fails with the name that a hook gave', async (method, name) => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'k',
      errorType: { invalidAPIKey: 'InvalidAcmeKey' },
      chatCompletion: { handleError: () => ({ errorType: name, message: 'mine' }) },
    });
    provider.answer = reject(401, 'bad key');
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    const withPlan = runtime[method]({ model: 'm', messages });
    const reported = withPlan instanceof Promise ? withPlan : withPlan.text();
    await expect(reported).rejects.toMatchObject({
      errorType: 'MyBiz',
      message: 'mine',
      provider: 'acme',
    });
  });

  it('names errors inside an answer', async () => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'k',
      chatCompletion: { handleStreamBizErrorType: () => 'MyStream' },
    });
    provider.answer = stream([sse({ error: { message: 'slow down', code: 'rate_limited' } })]);
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    const response = await runtime.chat({ model: 'm', messages }, { protocol: 'lobe' });
    expect(await response.text()).toContain('"type":"MyStream"');
  });

  it('refuses options that say too little', () => {
    for (const options of [
      undefined,
      {},
      { provider: 'x' },
      { provider: '', baseURL: 'http://x' },
    ]) {
      expect(() => openaiCompatibleFactory(options as never)).toThrow(MillraceError);
    }
  });
});

describe('anthropicCompatibleFactory', () => {
  it('speaks Messages', async () => {
    provider.answer = stream([claude]);
    const Acme = anthropicCompatibleFactory({ provider: 'acme', baseURL: provider.url });
    const run = new Acme({ apiKey: 'k', transport: 'engine' }).stream({ model: 'c', messages });
    expect(await run.text()).toBe('Bonjour');
    expect(provider.calls[0]?.url).toBe('/v1/messages');
    expect(provider.calls[0]?.headers['x-api-key']).toBe('k');
  });
});
