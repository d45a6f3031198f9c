// What errors of models say and hide, refusals, resets, and what hooks may give.
import type { ServerResponse } from 'node:http';

import type { AGUIEvent, ModelRuntimeOptions } from 'millrace';
import {
  agUIAdapter,
  createChatRoute,
  createModelRuntime,
  foldEvents,
  MillraceError,
} from 'millrace';

import { answer, messages, reject } from '../../support/chat-answers';
import { bytesOf, headOf, recordsOf, usage } from '../../support/model-wires';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const apiKey = 'very-secret-key-0815';
const payload = { model: 'm', messages };

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream([answer('Hello')]));
});
afterEach(() => provider.close());

const runtimeOf = (id: string, more: ModelRuntimeOptions = {}) =>
  createModelRuntime(id, {
    apiKey,
    baseURL: `${provider.url}/v1`,
    maxRetries: 0,
    circuit: false,
    ...more,
  });

const answerWith = (status: number, body: unknown) => (response: ServerResponse) =>
  void response
    .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req-7' })
    .end(JSON.stringify(body));

const errorOf = async (failed: Promise<unknown>): Promise<MillraceError> => {
  const error = await failed.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!MillraceError.is(error)) throw new Error(`no MillraceError: ${String(error)}`);
  return error;
};

const eventsOf = async (run: AsyncIterable<AGUIEvent>): Promise<AGUIEvent[]> => {
  const events: AGUIEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
};

describe('an error of a model', () => {
  const port = () => new URL(provider.url).port;
  const body = {
    error: { message: `You have no money, ${apiKey}.`, type: 'billing_error', param: null },
    trace: [apiKey, { deep: `Bearer ${apiKey}` }, 7],
  };
  const shown = {
    error: { message: 'You have no money, [redacted].', type: 'billing_error', param: null },
    trace: ['[redacted]', { deep: 'Bearer [redacted]' }, 7],
  };

  it('tells whose it is, where it came from and what the provider said', async () => {
    provider.answer = answerWith(402, body);
    const runtime = runtimeOf('openai');
    for (const request of [
      () => runtime.chat(payload),
      () => runtime.stream(payload).text(),
      () => runtime.embeddings({ model: 'e', input: 'x' }),
    ]) {
      const error = await errorOf(request());
      expect(error).toMatchObject({
        errorType: 'InsufficientQuota',
        errorId: 2001,
        httpStatus: 429,
        status: 402,
        provider: 'openai',
        requestId: 'req-7',
        error: shown,
      });
      expect(error.endpoint).toMatch(
        new RegExp(`^http://\\*\\*\\*:${port()}/v1/(chat/completions|embeddings)$`),
      );
      expect(JSON.stringify([error, error.message])).not.toContain(apiKey);
    }
  });

  it('tells the whole host of an address that everybody knows', async () => {
    const failing = createModelRuntime('openai', {
      apiKey,
      maxRetries: 0,
      fetch: async () => Response.json(body, { status: 402 }),
    });
    const error = await errorOf(failing.chat(payload));
    expect(error.endpoint).toBe('https://api.openai.com/v1/chat/completions');
  });

  it('has the same in the event that ends the stream of events', async () => {
    provider.answer = answerWith(402, body);
    const events: { type: string; metadata?: unknown }[] = [];
    for await (const event of runtimeOf('openai').stream(payload)) events.push(event);
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code: 'insufficient_quota',
      metadata: {
        millrace: {
          errorType: 'InsufficientQuota',
          provider: 'openai',
          status: 402,
          requestId: 'req-7',
          error: shown,
        },
      },
    });
    expect(JSON.stringify(events)).not.toContain(apiKey);
  });

  it('tells the same in the answer of the chat route and in streams', async () => {
    provider.answer = answerWith(402, body);
    const config = { settingsOf: async () => ({ apiKey, baseURL: provider.url, maxRetries: 0 }) };
    const route = createChatRoute({ config });
    const response = await route(
      new Request('http://localhost/webapi/chat/openai', {
        method: 'POST',
        body: JSON.stringify(payload),
      }),
    );
    expect(response.status).toBe(429);
    expect(await response.json()).toMatchObject({
      errorType: 'InsufficientQuota',
      body: {
        error: { code: 'insufficient_quota', error: shown },
        provider: 'openai',
        endpoint: `http://***:${port()}/chat/completions`,
        errorId: 2001,
      },
    });
    provider.answer = stream([
      sse(
        { choices: [{ index: 0, delta: { content: 'Hel' } }] },
        { error: { ...body.error, code: 'billing_error' } },
      ),
    ]);
    const streamed = await runtimeOf('openai').chat(payload, { protocol: 'lobe' });
    const [, received = ''] = /event: error\ndata: (.*)/.exec(await streamed.text()) ?? [];
    expect(JSON.parse(received)).toMatchObject({
      type: 'InsufficientQuota',
      body: {
        metadata: {
          millrace: {
            errorType: 'InsufficientQuota',
            provider: 'openai',
            endpoint: `http://***:${port()}/v1/chat/completions`,
            error: { code: 'billing_error', message: shown.error.message },
          },
        },
      },
    });
    expect(received).not.toContain(apiKey);
  });

  it('reports no key that a server repeats in its head or behind escapes', async () => {
    const key = 'p@ss/word+0123456789=';
    const echoed = [
      key,
      encodeURIComponent(key),
      key.replaceAll('/', '\\/').replace('+', '\\u002B'),
    ];
    for (const status of [401, 200]) {
      for (const echo of echoed) {
        provider.answer = (response) =>
          void response
            .writeHead(status, { 'content-type': 'application/json', 'x-request-id': `r-${echo}` })
            .end(`{"error":{"message":"Bad key ${echo}","code":"invalid_api_key"}}`);
        const run = runtimeOf('openai', { apiKey: key }).stream(payload);
        const error = await errorOf(run.text());
        const text = JSON.stringify([error, error.message, await run.report]);
        // A slash or a plus sign is within each of its spellings.
        expect(text).not.toMatch(/p@ss|p%40ss|0123456/);
        expect(text).toContain('[redacted]');
      }
    }
  });

  it('keeps what a provider says bounded', async () => {
    const long = { message: 'x'.repeat(5000), list: Array.from({ length: 5000 }, () => 'word') };
    provider.answer = answerWith(400, { error: long });
    const { error } = await errorOf(runtimeOf('openai').chat(payload));
    expect(JSON.stringify(error).length).toBeLessThan(8192);
  });

  it('names the place of an error that came inside the answer', async () => {
    provider.answer = stream([
      'data: {"error":{"message":"too much","code":"rate_limit_exceeded"}}\n\n',
    ]);
    const error = await errorOf(runtimeOf('openai').stream(payload).text());
    expect(error).toMatchObject({
      code: 'rate_limited',
      provider: 'openai',
      error: { code: 'rate_limit_exceeded', message: 'too much' },
    });
    expect(error.endpoint).toContain('/v1/chat/completions');
  });

  it('hides signatures and the names of keys that AWS gets back', async () => {
    provider.answer = (response, call) =>
      answerWith(403, { message: `Signature mismatch: ${String(call.headers.authorization)}` })(
        response,
      );
    const runtime = createModelRuntime('bedrock', {
      baseURL: provider.url,
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'secret-of-the-account',
      maxRetries: 0,
      circuit: false,
    });
    const error = await errorOf(runtime.chat(payload));
    const reported = JSON.stringify([error, error.message]);
    const sent = String(provider.calls[0]?.headers.authorization);
    const signature = /Signature=([0-9a-f]+)/.exec(sent)?.[1] ?? '';
    expect(signature).toHaveLength(64);
    expect(reported).toContain('Signature mismatch');
    expect(reported).not.toContain(signature);
    expect(reported).not.toContain('AKIAIOSFODNN7EXAMPLE');
    expect(error.code).toBe('permission_denied');
  });

  it('is the same class of a stopped Ollama whatever was asked', async () => {
    const stopped = await startProvider();
    await stopped.close();
    const runtime = createModelRuntime('ollama', {
      baseURL: stopped.url,
      maxRetries: 0,
      circuit: false,
    });
    for (const request of [
      () => runtime.chat(payload),
      () => runtime.stream(payload).text(),
      () => runtime.embeddings({ model: 'e', input: 'x' }),
      () => runtime.models(),
      () => runtime.pullModel({ model: 'm' }),
    ]) {
      expect(await errorOf(request())).toMatchObject({
        code: 'ollama_unavailable',
        errorType: 'OllamaServiceUnavailable',
        errorId: 3004,
        httpStatus: 472,
        provider: 'ollama',
        endpoint: expect.stringContaining('/api/'),
      });
    }
  });
});

describe('a hook', () => {
  it.each([
    ['handlePayload', 'a text'],
    ['handlePayload', 7],
    ['handlePayload', null],
    ['handlePayload', [1]],
    ['handleStream', { type: 'TEXT_MESSAGE_START' }],
    ['handleStream', 'a text'],
  ])('%s that gives %j is named', async (name, given) => {
    const hooks: ModelRuntimeOptions = { [name]: () => given };
    const failed = runtimeOf('openai', hooks)
      .chat(payload)
      .then((response) => response.text());
    const error = await errorOf(failed);
    expect(error.code).toBe('invalid_option');
    expect(error.message).toContain(name);
  });

  it.each(['the engine', 'a function'])(
    'fails the run of %s by what nobody can read',
    async (by) => {
      const broken = { type: 'CUSTOM', name: 'millrace.provider_state', value: null } as AGUIEvent;
      const run = runtimeOf('openai', {
        handleStream: () => [broken],
        ...(by === 'a function' && { fetch: (...given) => globalThis.fetch(...given) }),
      }).stream(payload);
      await expect(run.text()).rejects.toThrow('null');
      await expect(eventsOf(run)).rejects.toThrow('null');
      await expect(run.report).resolves.toMatchObject({ notes: [] });
    },
  );

  it('takes everything back by a reset that names no message', async () => {
    const reset = {
      type: 'CUSTOM',
      name: 'millrace.reset',
      value: { reason: 'mine' },
    } as AGUIEvent;
    const handleStream = (events: AGUIEvent[]) =>
      events.flatMap((event) => (event.type === 'TEXT_MESSAGE_END' ? [event, reset] : [event]));
    expect(await runtimeOf('openai').stream(payload).text()).toBe('Hello');
    expect(await runtimeOf('openai', { handleStream }).stream(payload).text()).toBe('');
  });

  it('handleError that gives a text is named', async () => {
    provider.answer = reject(500, 'broken');
    const error = await errorOf(runtimeOf('openai', { handleError: () => 'mine' }).chat(payload));
    expect(error.message).toContain('handleError');
  });
});

describe('callbacks', () => {
  it('are told when the answer begins anew', async () => {
    const whole = { deltas: ['a', 'b', 'c', 'd'], usage };
    provider.answer = (response, call) => {
      if (provider.calls.length > 1) return stream([answer('Again')])(response, call);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(bytesOf(recordsOf('chat', whole).slice(0, 3)), () => response.destroy());
    };
    const reported: string[] = [];
    const response = await runtimeOf('openai', {
      fallback: ['openai:other'],
    }).chat(payload, {
      callback: {
        onText: (delta) => void reported.push(delta),
        onReset: ({ attempt, reason, messageIds }) => {
          reported.push(`reset after ${attempt}: ${reason}, ${messageIds.length} message`);
        },
        onFinal: ({ text }) => void reported.push(`final ${text}`),
      },
    });
    await response.text();
    expect(reported.join('|')).toBe(
      'a|b|reset after 1: connection_lost, 1 message|Again|final Again',
    );
  });
});

describe('an answer that began anew', () => {
  const whole = { deltas: ['a', 'b', 'c', 'd'], usage };
  const question = { id: 'q', role: 'user' as const, content: 'Ask' };
  const further = { id: 'f', role: 'user' as const, content: 'Go on' };
  beforeEach(() => {
    provider.answer = (response, call) => {
      if (provider.calls.length > 1) return stream([answer('Again')])(response, call);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(bytesOf(recordsOf('chat', whole).slice(0, 3)), () => response.destroy());
    };
  });

  it('folds to itself alone, so that the next request has the history once', async () => {
    const runtime = runtimeOf('openai', { fallback: ['openai:other'] });
    const events = await eventsOf(runtime.stream({ model: 'm', messages: [question] }));
    const types = events.map(({ type }) => type);
    expect(types[types.indexOf('CUSTOM') + 1]).toBe('MESSAGES_SNAPSHOT');
    const folded = foldEvents(events);
    expect(folded).toMatchObject([{ role: 'assistant', content: 'Again' }]);
    const next = [question, ...folded, further];
    await runtime.stream({ model: 'm', messages: next, format: 'canonical' }).text();
    expect(JSON.parse(provider.calls.at(-1)?.body ?? '')).toMatchObject({
      messages: [{ content: 'Ask' }, { content: 'Again' }, { content: 'Go on' }],
    });
  });

  it('folds so from the bytes of a chat, which have the history for other clients', async () => {
    const runtime = runtimeOf('openai', { fallback: ['openai:other'] });
    const bytes = await runtime.chat({ model: 'm', messages: [question] });
    const events = await eventsOf(agUIAdapter().parse(bytes));
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'MESSAGES_SNAPSHOT', messages: [question] }),
    );
    expect(foldEvents(events)).toMatchObject([{ role: 'assistant', content: 'Again' }]);
  });
});

describe('a fallback that cannot be asked', () => {
  it('does not hide why it was to be', async () => {
    provider.answer = answerWith(503, { error: { message: 'busy today' } });
    const keyless = runtimeOf('openai', {
      fallback: [{ provider: 'groq', model: 'b', apiKey: '' }],
    });
    for (const failed of [keyless.chat(payload), keyless.stream(payload).text()]) {
      const error = await errorOf(failed);
      expect(error).toMatchObject({ code: 'missing_api_key', provider: 'groq' });
      expect(error.message).toMatch(/openai failed with provider_overloaded: .*busy today/);
      expect(MillraceError.is(error.cause, 'provider_overloaded')).toBe(true);
      expect(error.cause).toMatchObject({ status: 503, requestId: 'req-7', retryable: true });
    }
  });
});

describe('a refusal', () => {
  const words = 'I cannot help with that.';
  const chat = sse(
    { choices: [{ index: 0, delta: { role: 'assistant', refusal: '' } }] },
    { choices: [{ index: 0, delta: { refusal: words.slice(0, 8) } }] },
    { choices: [{ index: 0, delta: { refusal: words.slice(8) } }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  );
  const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
  const responses = sse(
    { type: 'response.created', response: { id: 'r' } },
    { type: 'response.refusal.delta', ...place, delta: words },
    { type: 'response.refusal.done', ...place, refusal: words },
    { type: 'response.completed', response: { id: 'r', status: 'completed' } },
  );
  const whole = JSON.stringify({
    object: 'chat.completion',
    choices: [{ index: 0, message: { refusal: words }, finish_reason: 'stop' }],
  });

  it.each([
    ['chat completions', chat, {}],
    ['the Responses API', responses, { apiMode: 'responses' }],
    ['an answer in one piece', whole, {}],
  ])('of %s is text that says what it is', async (_, body, more) => {
    provider.answer = stream([body], body === whole ? 'application/json' : undefined);
    const runtime = runtimeOf('openai', more);
    const run = runtime.stream(payload);
    const events = await eventsOf(run);
    expect(await run.text()).toBe(words);
    expect((await run.report).finishReason).toBe('refusal');
    const states = events.filter((event) => event.type === 'CUSTOM');
    expect(states).toContainEqual(
      expect.objectContaining({ value: expect.objectContaining({ kind: 'refusal' }) }),
    );
    const lobe = await (await runtime.chat(payload, { protocol: 'lobe' })).text();
    expect(lobe).toContain('event: stop\ndata: "refusal"');
    const schema = { type: 'object', properties: {} };
    const error = await errorOf(runtime.generateObject({ model: 'm', messages, schema }));
    expect(error).toMatchObject({ code: 'content_filtered', errorType: 'ContentModeration' });
    expect(error.message).toContain(words);
    // Nobody pays for a repair of it.
    expect(provider.calls).toHaveLength(3);
  });

  it('is a member of a completion as well', async () => {
    provider.answer = stream([chat]);
    const response = await runtimeOf('openai').chat({ ...payload, responseMode: 'json' });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { content: words, refusal: words }, finish_reason: 'refusal' }],
    });
  });

  it('of Claude is an error of its own class', async () => {
    const records = headOf('messages', { deltas: ['Hello', ', brave', ' new'] });
    const end = [
      { event: 'content_block_stop', data: '{"type":"content_block_stop","index":0}' },
      {
        event: 'message_delta',
        data: '{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":3}}',
      },
      { event: 'message_stop', data: '{"type":"message_stop"}' },
    ];
    provider.answer = stream([bytesOf([...records, ...end])]);
    const error = await errorOf(
      runtimeOf('anthropic', { baseURL: provider.url }).stream(payload).text(),
    );
    expect(error.code).toBe('content_filtered');
  });
});

describe('thoughts between tags', () => {
  beforeEach(() => {
    provider.answer = stream([answer('<think>plan</think>Blue.')]);
  });

  it('are read unless the call or the quirk says otherwise', async () => {
    expect(await runtimeOf('lmstudio').stream(payload).text()).toBe('Blue.');
    const asText = '<think>plan</think>Blue.';
    expect(await runtimeOf('lmstudio').stream(payload, { thinkTags: false }).text()).toBe(asText);
    const quirks = { plain_think_tags: true };
    expect(await runtimeOf('lmstudio', { quirks }).stream(payload).text()).toBe(asText);
  });
});

it.each([408, 502, 504, 520, 522, 524])(
  'calls a bare %i a failure of the network',
  async (status) => {
    provider.answer = (response) => void response.writeHead(status).end('<html>gateway</html>');
    const error = await errorOf(runtimeOf('openai').stream(payload).text());
    expect(error).toMatchObject({ errorType: 'ProviderNetworkError', retryable: true });
  },
);

it.each(['ollama', 'Ollama'])("has LobeHub's class for an address that %s cannot have", (id) => {
  const make = () => createModelRuntime(id, { baseURL: 'invalid-url' });
  expect(make).toThrow(expect.objectContaining({ errorType: 'InvalidOllamaArgs' }));
});
