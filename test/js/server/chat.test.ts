// POST /webapi/chat/<provider> of `millrace serve`.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { gzipSync } from 'node:zlib';

import type { ChatFinishContext } from 'millrace';
import { configFromOptions, createChatRoute, fetchSSE } from 'millrace';

import { bareEnvironment } from '../../support/environment';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';
import { sse } from '../support/responses';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const secret = 'plain.secret-key-123456';
const answer = `${sse(
  { id: 'c', model: 'gpt-4o', choices: [{ index: 0, delta: { content: 'Hello' } }] },
  { id: 'c', model: 'gpt-4o', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  {
    id: 'c',
    model: 'gpt-4o',
    choices: [],
    usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
  },
)}data: [DONE]\n\n`;
const payload = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] };

let child: ChildProcess;
let provider: Provider;
let url: string;

beforeAll(async () => {
  provider = await startProvider();
  child = spawn(
    process.execPath,
    [cli, 'serve', '--port', '0', '--json', '--model', 'openai:gpt-4o'],
    {
      env: {
        ...bareEnvironment,
        OPENAI_BASE_URL: provider.url,
        OPENAI_API_KEY: secret,
        ANTHROPIC_BASE_URL: provider.url,
        ANTHROPIC_API_KEY: secret,
        AZURE_OPENAI_API_KEY: 'without-an-address',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await once(lines, 'line')) as [string];
  ({ url } = JSON.parse(line) as { url: string });
});
beforeEach(() => {
  provider.answer = stream([answer]);
  provider.calls.length = 0;
});
afterAll(async () => {
  child.kill('SIGKILL');
  await provider.close();
});

const post = (name: string, body: unknown, signal?: AbortSignal) =>
  fetch(`${url}/webapi/chat/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal: signal ?? null,
  });

describe('the chat route of millrace serve', () => {
  it('answers with a chat stream that fetchSSE reads', async () => {
    const finished: [string, ChatFinishContext][] = [];
    await fetchSSE(`${url}/webapi/chat/openai`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(payload),
      transport: 'engine',
      responseAnimation: 'none',
      onFinish: (text, context) => void finished.push([text, context]),
    });
    expect(finished).toMatchObject([
      ['Hello', { type: 'done', usage: { totalTokens: 1100, cost: 0.0035, source: 'reported' } }],
    ]);
    expect(provider.calls[0]?.headers.authorization).toBe(`Bearer ${secret}`);
  });

  it('answers in one piece when it is asked to', async () => {
    const response = await post('openai', { ...payload, responseMode: 'json' });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({
      object: 'chat.completion',
      provider: 'openai',
      model: 'gpt-4o',
      choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
      modelUsage: { cost: 0.0035, source: 'reported' },
    });
    provider.answer = stream([answer.slice(0, answer.indexOf('\n\n') + 2)]);
    const cut = await post('openai', { ...payload, responseMode: 'json' });
    expect([cut.status, await cut.json()]).toMatchObject([500, { errorType: 'StreamChunkError' }]);
  });

  it('takes no provider state that a client may have forged', async () => {
    const state = { type: 'container_upload', file_id: 'FORGED' };
    const metadata = {
      millrace: { providerState: [{ provider: 'anthropic', kind: 'content_block', state }] },
    };
    const messages = [
      { id: 'q', role: 'user', content: 'Ask' },
      { id: 'a', role: 'assistant', content: 'x', metadata },
      { id: 'f', role: 'user', content: 'Go on' },
    ];
    const sentence = 'The client may not give 1 items of provider state';
    const response = await post('anthropic', { model: 'claude-sonnet-4-5', messages });
    expect(await response.text()).toContain(sentence);
    expect(provider.calls.at(-1)?.body).not.toContain('FORGED');
    const whole = await post('openai', { ...payload, messages, responseMode: 'json' });
    const { millrace } = (await whole.json()) as { millrace?: { events: unknown[] } };
    expect(millrace?.events).toContainEqual(
      expect.objectContaining({
        name: 'millrace.warning',
        value: expect.objectContaining({
          message: expect.stringContaining(sentence) as string,
        }) as object,
      }),
    );
  });

  it('answers many at a time', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, async () => (await post('openai', payload)).text()),
    );
    expect(answers.every((text) => text.includes('event: text\ndata: "Hello"'))).toBe(true);
  });

  it("tells a provider's refusal with its class and status, never the key", async () => {
    provider.answer = (response) =>
      void response
        .writeHead(401, { 'content-type': 'application/json' })
        .end(`{"error":{"message":"bad key ${secret}"}}`);
    const response = await post('openai', payload);
    const text = await response.text();
    expect([response.status, JSON.parse(text)]).toMatchObject([
      401,
      {
        errorType: 'InvalidProviderAPIKey',
        body: { provider: 'openai', error: { code: 'authentication_failed', status: 401 } },
      },
    ]);
    expect(text).not.toContain(secret);
  });

  it('tells a failure in the middle as an event', async () => {
    provider.answer = stream([answer.slice(0, answer.indexOf('\n\n') + 2)]);
    const text = await (await post('openai', payload)).text();
    expect(text).toContain('event: text\ndata: "Hello"');
    expect(text).toContain('event: error\ndata: {"type":"StreamChunkError"');
  });

  it.each([
    ['mistral', payload, 401, 'InvalidProviderAPIKey'],
    ['openai', '{', 400, 'BadRequest'],
    ['openai', { model: 'm' }, 400, undefined],
  ])('refuses a request to %s: %j', async (name, body, status, errorType) => {
    const response = await post(name, body);
    const received = (await response.json()) as { errorType: string; body: { error: object } };
    expect(response.status).toBe(status);
    if (errorType !== undefined) expect(received.errorType).toBe(errorType);
    expect(received.body.error).toHaveProperty('message');
  });

  it('tells of an unknown provider as createChatRoute does', async () => {
    const name = 'nobody';
    const response = await post(name, payload);
    const own = await createChatRoute()(
      new Request(`http://x/webapi/chat/${name}`, { method: 'POST', body: '{}' }),
    );
    expect(response.status).toBe(own.status);
    const reported = (await response.json()) as { body: { error: { code: string } } };
    expect(reported).toMatchObject({ errorType: 'NoAvailableProvider', body: { provider: name } });
    expect(reported.body.error).toMatchObject({
      code: 'unknown_provider',
      message: expect.stringContaining(`"${name}"`) as string,
    });
    for (const path of ['/webapi/chat/', '/webapi/chat/openai/more', '/webapi/chat']) {
      expect((await fetch(`${url}${path}`, { method: 'POST' })).status).toBe(404);
    }
  });

  it('refuses to change the request to the provider', async () => {
    const changed = { ...payload, body: { store: true } };
    const response = await post('openai', changed);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      body: {
        error: { code: 'invalid_body', message: expect.stringContaining('`body`') as string },
      },
    });
    const own = await createChatRoute({
      config: configFromOptions({ openai: { apiKey: 'k', baseURL: provider.url } }),
    })(
      new Request('http://x/webapi/chat/openai', { method: 'POST', body: JSON.stringify(changed) }),
    );
    expect(own.status).toBe(400);
    expect(provider.calls).toEqual([]);
  });

  it("keeps LobeHub's scale of temperatures", async () => {
    const claude = { ...payload, model: 'claude-sonnet-4-5', temperature: 1 };
    await (await post('anthropic', claude)).text();
    expect(JSON.parse(provider.calls[0]?.body ?? '')).toMatchObject({ temperature: 0.5 });
  });

  it('refuses what HTTP allows no route in the shape of its other errors', async () => {
    const address = `${url}/webapi/chat/openai`;
    const body = JSON.stringify(payload);
    const type = { 'content-type': 'application/json' };
    const messages = Array.from({ length: 10_001 }, () => ({ role: 'user', content: 'x' }));
    const manyMessages = JSON.stringify({ ...payload, messages });
    const refusals: [RequestInit, number, string][] = [
      [{ method: 'GET' }, 405, 'method_not_allowed'],
      [{ method: 'POST', body, headers: { origin: 'http://evil.example' } }, 403, 'origin_not_allowed'], // prettier-ignore
      [{ method: 'POST', body: 'x'.repeat(9 << 20), headers: type }, 413, 'body_too_large'],
      [{ method: 'POST', body: manyMessages, headers: type }, 413, 'body_too_large'],
      [{ method: 'POST', body: gzipSync(body), headers: { ...type, 'content-encoding': 'gzip' } }, 415, 'unsupported_media_type'], // prettier-ignore
    ];
    for (const [request, status, code] of refusals) {
      const response = await fetch(address, request);
      expect([response.status, await response.json()]).toMatchObject([
        status,
        { errorType: 'BadRequest', body: { provider: 'openai', error: { code } } },
      ]);
      // Which it tells as createChatRoute does.
      if (status === 403) continue;
      const route = createChatRoute({ bodyLimit: 8 << 20 });
      const own = await route(new Request(address, request));
      expect([own.status, await own.json()]).toMatchObject([
        status,
        { errorType: 'BadRequest', body: { provider: 'openai', error: { code } } },
      ]);
    }
    expect(provider.calls).toHaveLength(0);
  });

  it('knows a provider by another name', async () => {
    const text = await (await post('Azure-OpenAI', payload)).text();
    expect(JSON.parse(text)).toMatchObject({ body: { provider: 'azure' } });
  });

  it('stops the provider when the client goes away', async () => {
    provider.answer = (response) => void response.writeHead(200).write(answer.slice(0, 120));
    const controller = new AbortController();
    const response = await post('openai', payload, controller.signal);
    await response.body?.getReader().read();
    controller.abort();
    await provider.calls[0]?.closed;
  });
});
