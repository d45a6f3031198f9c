// Runtimes for new vendors, and the router in front of several.
import type { ServerResponse } from 'node:http';

import type { RouteAttempt } from 'millrace';
import {
  MillraceError,
  anthropicCompatibleFactory,
  createRouterRuntime,
  openaiCompatibleFactory,
} from 'millrace';

import type { Provider } from '../support/provider';
import { startProvider, stream } from '../support/provider';
import { sse } from './support/responses';

const answer = (text: string) =>
  `${sse(
    { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: text } }] },
    { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  )}data: [DONE]\n\n`;
const claude = sse(
  {
    type: 'message_start',
    message: { id: 'm', model: 'c', role: 'assistant', content: [], usage: { input_tokens: 1 } },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Bonjour' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
);
const messages = [{ role: 'user', content: 'Hi' }];
const refuse = (status: number, message: string) => (response: ServerResponse) =>
  void response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ error: { message } }));

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

  it('names the errors of the vendor', async () => {
    const Acme = openaiCompatibleFactory({
      provider: 'acme',
      baseURL: provider.url,
      apiKey: 'k',
      errorType: { invalidAPIKey: 'InvalidAcmeKey', bizError: 'AcmeError' },
    });
    provider.answer = refuse(401, 'bad key');
    const runtime = new Acme({ transport: 'engine', maxRetries: 0 });
    await expect(runtime.chat({ model: 'm', messages })).rejects.toMatchObject({
      errorType: 'InvalidAcmeKey',
    });
  });

  it.each([
    [{}, 'o9-pro', undefined, '/responses'],
    [{}, 'small', undefined, '/chat/completions'],
    [{}, 'small', 'responses', '/chat/completions'],
    [{}, 'o9-pro', 'chatCompletion', '/chat/completions'],
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

describe('createRouterRuntime', () => {
  const channel = { apiKey: 'k', transport: 'engine', maxRetries: 0 } as const;

  it('routes by model, and asks the next channel when one fails', async () => {
    const broken = await startProvider(refuse(500, 'broken'));
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
      expect(await (await runtime.stream({ model: 'c', messages })).text()).toBe('Bonjour');
      expect(provider.calls[1]?.url).toBe('/v1/messages');
    } finally {
      await broken.close();
    }
  });

  it('does not ask again what no channel can answer', async () => {
    provider.answer = refuse(400, 'maximum context length is 10 tokens');
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
      provider.answer = refuse(500, 'broken');
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
    expect(await (await runtime.stream({ model: 'x', messages })).text()).toBe('Bonjour');
  });

  it('says so when there is nobody to ask', async () => {
    const Routed = createRouterRuntime({ id: 'mine', routers: [] });
    const runtime = new Routed();
    await expect(runtime.chat({ model: 'm', messages })).rejects.toMatchObject({
      errorType: 'NoAvailableChannel',
    });
  });
});
