// A vendor's own client in the place of HTTP.
import { anthropicCompatibleFactory, openaiCompatibleFactory } from 'millrace';

import { sse } from './support/responses';

const messages = [{ role: 'user' as const, content: 'Hi' }];
const payload = { model: 'm', messages };
const vendor = { provider: 'acme', baseURL: 'https://acme.test/v1', apiKey: 'k' };
const chunk = { choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] };

describe('a client that sends chats', () => {
  const asked: unknown[] = [];
  const sent: string[] = [];
  const Acme = openaiCompatibleFactory({
    ...vendor,
    chatCompletion: { handleTransformResponseToStream: () => [chunk] },
    customClient: {
      createClient: () => ({}),
      createChatCompletionStream: (_client, body) => {
        asked.push(body['messages']);
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
    asked.length = sent.length = 0;
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
  ])('is not asked for %s', async (_what, ask, answer, path) => {
    expect(await ask()).toEqual(answer);
    expect(sent).toEqual([path]);
    expect(asked).toEqual([]);
  });

  it('is asked for chats and objects', async () => {
    expect(await runtime.stream(payload).text()).toBe('Hi');
    await runtime.generateObject({ ...payload, schema: { type: 'object' } }).catch(() => undefined);
    expect(asked.length).toBeGreaterThan(1);
    expect(sent).toEqual([]);
  });
});

test('a fallback of another vendor is not asked by the client', async () => {
  const sent: string[] = [];
  let asked = 0;
  const Acme = openaiCompatibleFactory({
    ...vendor,
    customClient: {
      createClient: () => ({}),
      createChatCompletionStream: () => {
        asked += 1;
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
  expect([asked, sent]).toEqual([1, ['https://api.groq.com/openai/v1/chat/completions']]);
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
    const told = made(answer).stream(payload).text();
    await expect(told).rejects.toMatchObject({ code: 'invalid_option' });
  });
});
