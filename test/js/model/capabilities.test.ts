// Every capability of every provider over real HTTP, against a fake that speaks each vendor's dialect.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';

import { createModelRuntime } from 'millrace';

import { addon } from '../../../dist/cjs/addon';
import { MillraceError } from '../../../dist/cjs/errors';
import { Capabilities } from '../../../dist/cjs/model/capabilities';
import { providerRow } from '../../../dist/cjs/model/settings';
import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

const png = Buffer.from('89504e47', 'hex').toString('base64');
const table = JSON.parse(addon().capabilities()) as Record<string, string[]>;
const rows = Object.entries(table).flatMap(([provider, names]) =>
  names.map((name) => [provider, name] as const),
);

let fake: Provider;
let polls = 0;

beforeAll(async () => {
  fake = await startProvider((response, call) => {
    polls += 1;
    answerOf(call.url, call.body, response);
  });
});
afterAll(() => fake.close());
beforeEach(() => {
  fake.calls.length = 0;
  polls = 0;
});

// What each vendor answers, by the path that is asked for.
function answerOf(url: string, body: string, response: ServerResponse<IncomingMessage>): void {
  const path = url.split('?')[0] ?? '';
  const json = (value: unknown): unknown =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const audio = (): unknown =>
    response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(Buffer.from('ID3sound'));
  if (path.endsWith('/api/tags')) return void json({ models: [{ name: 'one', model: 'one' }] });
  if (path.endsWith('/foundation-models'))
    return void json({ modelSummaries: [{ modelId: 'one', modelName: 'One' }] });
  if (path.endsWith('/v1beta/models')) return void json({ models: [{ name: 'models/one' }] });
  if (path.endsWith('/models')) return void json({ data: [{ id: 'one' }] });
  if (path.endsWith('/api/pull'))
    return void response
      .writeHead(200, { 'content-type': 'application/x-ndjson' })
      .end('{"status":"success"}\n');
  if (path.endsWith('/speech') || path.includes('/text-to-speech/')) return void audio();
  if (path === '/models/m/predictions')
    return void json({ status: 'starting', urls: { get: `${fake.url}/predictions/1` } });
  if (path.endsWith('/t2a_v2'))
    return void json({
      data: { audio: Buffer.from('ID3sound').toString('hex') },
      base_resp: { status_code: 0 },
    });
  const sent = JSON.parse(body.startsWith('{') ? body : '{}') as Record<string, unknown[]>;
  const texts = (
    sent['input'] ??
    sent['inputs'] ??
    sent['texts'] ??
    sent['requests'] ??
    sent['instances'] ??
    []
  ).map((_text, index) => [index, 0.5]);
  if (path.endsWith(':batchEmbedContents'))
    return void json({ embeddings: texts.map((values) => ({ values })) });
  if (path.endsWith('/hf-inference/models/m/pipeline/feature-extraction')) return void json(texts);
  if (path.endsWith('/v2/embed')) return void json({ embeddings: { float: texts } });
  if (path.endsWith('/api/embed')) return void json({ embeddings: texts, prompt_eval_count: 3 });
  if (path.endsWith('/invoke')) return void json({ embedding: [0, 0.5], inputTextTokenCount: 1 });
  if (path.endsWith(':predict') && body.includes('"content"'))
    return void json({ predictions: texts.map((values) => ({ embeddings: { values } })) });
  if (path.endsWith(':predict'))
    return void json({ predictions: [{ bytesBase64Encoded: png, mimeType: 'image/png' }] });
  if (path.endsWith('/embeddings'))
    return void json({
      data: texts.map((embedding, index) => ({ index, embedding })).reverse(),
      usage: { prompt_tokens: 3, total_tokens: 3 },
    });
  if (path.endsWith(':generateContent')) {
    const inlineData = body.includes('AUDIO')
      ? {
          mimeType: 'audio/L16;codec=pcm;rate=24000',
          data: Buffer.from('ID3sound').toString('base64'),
        }
      : { mimeType: 'image/png', data: png };
    return void json({ candidates: [{ content: { parts: [{ inlineData }] } }] });
  }
  if (path.endsWith('/image_generation'))
    return void json({ data: { image_base64: [png] }, base_resp: { status_code: 0 } });
  if (path.endsWith('/text_to_image')) return void json({ base64: [png] });
  if (path.endsWith('/images/generations')) return void json({ data: [{ b64_json: png }] });
  if (path.endsWith('/images/edits')) return void json({ data: [{ b64_json: png }] });
  if (path === '/v1/m') return void json({ id: '1', polling_url: `${fake.url}/result?id=1` });
  const done = `data:image/png;base64,${png}`;
  if (path === '/m') return void json({ status: 'IN_QUEUE', status_url: `${fake.url}/m/status` });
  if (path === '/m/status')
    return void json(
      polls > 2
        ? { status: 'COMPLETED', response_url: `${fake.url}/m/response` }
        : { status: 'IN_PROGRESS' },
    );
  if (path === '/m/response') return void json({ images: [{ url: done }] });
  if (path === '/predictions/1')
    return void json(
      polls > 2 ? { status: 'succeeded', output: [done] } : { status: 'processing' },
    );
  if (path === '/prompt') return void json({ prompt_id: '1' });
  if (path === '/history/1')
    return void json(
      polls > 2
        ? {
            1: {
              outputs: { 7: { images: [{ filename: 'a.png', subfolder: '', type: 'output' }] } },
            },
          }
        : {},
    );
  if (path === '/view')
    return void response
      .writeHead(200, { 'content-type': 'image/png' })
      .end(Buffer.from(png, 'base64'));
  if (path === '/result')
    return void json(
      polls > 2
        ? { status: 'Ready', result: { sample: `data:image/png;base64,${png}` } }
        : { status: 'Pending' },
    );
  response.writeHead(404).end('{"error":{"message":"no such path"}}');
}

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

function settingsOf(provider: string): Record<string, unknown> {
  const credentials = {
    type: 'service_account',
    client_email: 'me@example.com',
    private_key: privateKey,
    token_uri: 'https://token.example/token',
    project_id: 'p',
  };
  return {
    provider,
    baseURL: fake.url,
    maxRetries: 0,
    accountId: 'account',
    project: 'p',
    ...(provider === 'vertexai'
      ? { credentials: JSON.stringify(credentials) }
      : { apiKey: 'secret-key-1234' }),
  };
}

// Google's token comes from an address with TLS, which the fake has not.
const withToken = ((url: string, init: RequestInit) =>
  url.startsWith('https://token.example/')
    ? Promise.resolve(Response.json({ access_token: 'exchanged', expires_in: 3600 }))
    : fetch(url, init)) as typeof fetch;

function capabilitiesOf(provider: string, more: object = {}, send?: typeof fetch): Capabilities {
  return new Capabilities({ settings: { ...settingsOf(provider), ...more }, send });
}

describe('the capability table', () => {
  it('asks each vendor where it is written down', () => {
    const more = { apiVersion: 'v', location: 'l', region: 'r' };
    const urls = rows.map(([provider, name]) => {
      const settings: Record<string, unknown> = { ...settingsOf(provider), ...more };
      delete settings['baseURL'];
      const needsOne = providerRow(provider)?.baseURL === '';
      const baseURL = needsOne ? { baseURL: 'https://own.example' } : {};
      const model = provider === 'vertexai' && name === 'image' ? 'imagen-4' : 'a/m';
      const [request] = addon().buildCapability(
        name,
        JSON.stringify({ ...settings, ...baseURL }),
        JSON.stringify({ model, input: 'a', params: { prompt: 'p' }, voice: 'v' }),
        JSON.stringify({ key: 0, token: 't' }),
      );
      const { method, url } = JSON.parse(request) as { method: string; url: string };
      return `${provider} ${name}: ${method} ${url}`;
    });
    const file = join(__dirname, '../../golden/model/capability-urls.txt');
    if (process.env['MILLRACE_WRITE_GOLDEN'] !== undefined) {
      writeFileSync(file, `${urls.join('\n')}\n`);
    }
    expect(urls).toEqual(readFileSync(file, 'utf8').trim().split('\n'));
  });

  it('has the breadth that the documentation promises', () => {
    const count = (name: string) => rows.filter(([, one]) => one === name).length;
    expect(count('embeddings')).toBeGreaterThanOrEqual(6);
    expect(count('image')).toBeGreaterThanOrEqual(4);
    expect(count('speech')).toBeGreaterThanOrEqual(3);
    expect(count('models')).toBeGreaterThan(20);
  });

  it.each(rows)('%s: %s', async (provider, name) => {
    const one = capabilitiesOf(provider, {}, provider === 'vertexai' ? withToken : undefined);
    const model = provider === 'vertexai' && name === 'image' ? 'imagen-4' : 'm';
    switch (name) {
      case 'models':
        expect((await one.models()).map(({ id }) => id)).toEqual(['one']);
        break;
      case 'embeddings':
        expect(await one.embeddings({ model, input: ['a', 'b'] })).toEqual(
          provider === 'bedrock'
            ? [
                [0, 0.5],
                [0, 0.5],
              ]
            : [
                [0, 0.5],
                [1, 0.5],
              ],
        );
        break;
      case 'image':
        expect(await one.createImage({ model, params: { prompt: 'a cat' } })).toMatchObject({
          imageUrl: `data:image/png;base64,${png}`,
        });
        break;
      case 'speech': {
        const audio = Buffer.from(await one.textToSpeech({ model, input: 'Hello' }));
        expect(audio.subarray(-8).toString()).toBe('ID3sound');
        break;
      }
      case 'pull':
        expect(await (await one.pullModel({ model })).text()).toContain('success');
        break;
      default:
        throw new Error(`no test for ${name}`);
    }
    const last = fake.calls.at(-1);
    const sent = JSON.stringify({ ...last?.headers, url: last?.url });
    expect(sent).toContain(provider === 'vertexai' ? 'exchanged' : 'secret-key-1234');
  });
});

describe('Capabilities', () => {
  // Texts in one request, as the table of embeddings has them.
  it.each([
    ['openai', 'm', 2048],
    ['google', 'm', 100],
    ['cohere', 'm', 96],
    ['mistral', 'm', 32],
    ['zhipu', 'm', 64],
    ['qwen', 'm', 10],
    ['bedrock', 'cohere.embed-v4:0', 96],
  ])(
    'asks %s for more texts than a request takes in several (%s, %d)',
    async (provider, model, most) => {
      const requested: number[] = [];
      const settings = {
        apiKey: 'k',
        ...(provider === 'bedrock' ? { region: 'us-east-1' } : {}),
        fetch: async (_: unknown, request?: RequestInit) => {
          const body = JSON.parse(await new Response(request?.body).text()) as Record<
            string,
            unknown[]
          >;
          const texts = body['requests'] ?? body['texts'] ?? body['input'] ?? [];
          requested.push(texts.length);
          return Response.json({
            data: texts.map((_text, index) => ({ index, embedding: [index] })),
          });
        },
      };
      const runtime = createModelRuntime(provider, settings);
      const input = Array.from({ length: most + 1 }, (_, number) => `text ${number}`);
      const vectors = await runtime.embeddings({ model, input });
      expect(requested).toEqual([most, 1]);
      expect(vectors).toHaveLength(most + 1);
    },
  );

  it('names the providers that can when one cannot', async () => {
    const promise = capabilitiesOf('anthropic').embeddings({ model: 'm', input: 'a' });
    await expect(promise).rejects.toMatchObject({ code: 'capability_not_supported' });
    await expect(promise).rejects.toThrow(/openai/);
    expect(fake.calls).toEqual([]);
  });

  it.each([
    ['anthropic', 'after_id', { data: [{ id: 'a' }], has_more: true, last_id: 'a b' }],
    ['google', 'pageToken', { models: [{ name: 'models/a' }], nextPageToken: 'a b' }],
    ['cohere', 'page_token', { models: [{ name: 'a' }], next_page_token: 'a b' }],
  ])('reads every page of the list of %s', async (provider, name, first) => {
    const own = fake.answer;
    fake.answer = (response, { url }) => {
      const last = { data: [{ id: 'b' }], models: [{ name: 'b' }], has_more: false };
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(url.includes(`&${name}=a%20b`) ? last : first));
    };
    const models = await capabilitiesOf(provider).models();
    fake.answer = own;
    expect(models.map(({ id }) => id)).toEqual(['a', 'b']);
    expect(fake.calls).toHaveLength(2);
  });

  it('reads the list of a vendor without pages once', async () => {
    const own = fake.answer;
    fake.answer = (response) => {
      response.writeHead(200).end('{"data":[{"id":"a"}],"has_more":true,"last_id":"a"}');
    };
    const models = await capabilitiesOf('openai').models();
    fake.answer = own;
    expect(models.map(({ id }) => id)).toEqual(['a']);
    expect(fake.calls).toHaveLength(1);
  });

  it('does not ask for the same page for ever', async () => {
    const own = fake.answer;
    fake.answer = (response) => {
      response.writeHead(200).end('{"models":[{"name":"a"}],"nextPageToken":"again"}');
    };
    expect(await capabilitiesOf('google').models()).toHaveLength(1);
    fake.answer = own;
  });

  it.each([
    ['words', [{ index: 0, embedding: ['a', null] }]],
    ['nothing', [{ index: 0, embedding: [] }]],
    [
      'one text twice',
      [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [2] },
      ],
    ],
  ])('refuses embeddings of %s', async (_what, data) => {
    const own = fake.answer;
    fake.answer = (response) => {
      response.writeHead(200).end(JSON.stringify({ data }));
    };
    const input = data.map(() => 'x');
    const promise = capabilitiesOf('openai').embeddings({ model: 'm', input });
    await expect(promise).rejects.toMatchObject({ code: 'provider_error' });
    fake.answer = own;
  });

  it('takes the options of a call', async () => {
    const one = capabilitiesOf('openai', { headers: { 'x-own': '1', 'x-both': 'own' } });
    await one.embeddings(
      { model: 'm', input: 'a' },
      {
        requestHeaders: { 'x-call': '2', 'x-both': 'call' },
        headers: { 'x-lobe': '3' },
        user: 'ann',
      },
    );
    expect(fake.calls[0]?.headers).toMatchObject({
      'x-own': '1',
      'x-both': 'call',
      'x-call': '2',
      'x-lobe': '3',
    });
    expect(JSON.parse(fake.calls[0]?.body ?? '')).toMatchObject({ user: 'ann' });
    await one.models();
    expect(fake.calls[1]?.headers).toMatchObject({ 'x-both': 'own' });
  });

  it('ends at the limits of a call', async () => {
    const own = fake.answer;
    fake.answer = (response) => void response.writeHead(503).end('{}');
    const one = capabilitiesOf('openai', { maxRetries: 5 });
    await expect(one.models({ maxRetries: 0 })).rejects.toMatchObject({ status: 503 });
    expect(fake.calls).toHaveLength(1);
    fake.answer = () => undefined;
    const late = one.models({ maxRetries: 0, timeouts: { firstByte: 20 } });
    await expect(late).rejects.toMatchObject({ code: 'first_byte_timeout' });
    const wrong = one.models({ timeouts: { fistByte: 20 } as never });
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_option' });
    fake.answer = own;
  });

  const odd = [
    ...[undefined, null, 'm', {}, { model: '' }, { model: 'm' }, { model: 'm', input: 7 }],
    ...[
      { model: 'm', params: null },
      { model: 'm', input: [1] },
      { model: 'm', input: [] },
    ],
  ];
  it.each(odd)('says what is wrong with the payload %j', async (payload) => {
    const one = capabilitiesOf('openai');
    for (const method of ['embeddings', 'createImage', 'textToSpeech', 'pullModel'] as const) {
      const error = await one[method](payload as never).catch((thrown: unknown) => thrown);
      expect([method, MillraceError.is(error)]).toEqual([method, true]);
    }
    expect(fake.calls).toEqual([]);
  });

  it('exchanges no token for what the provider has not', async () => {
    const requested: string[] = [];
    const send = (async (url: string) => {
      requested.push(url);
      return Response.json({ token: 't', access_token: 't' });
    }) as typeof fetch;
    const copilot = capabilitiesOf('githubcopilot', {}, send);
    const vertex = capabilitiesOf('vertexai', {}, send);
    const input = { model: 'm', input: 'x' };
    for (const call of [
      () => copilot.createImage({ model: 'm', params: { prompt: 'x' } }),
      () => copilot.embeddings(input),
      () => vertex.textToSpeech(input),
      () => vertex.models(),
      // Its row is for Imagen.
      () => vertex.createImage({ model: 'm', params: { prompt: 'x' } }),
    ]) {
      await expect(call()).rejects.toMatchObject({ code: 'capability_not_supported' });
    }
    expect(requested).toEqual([]);
  });

  it('takes the keys in turn', async () => {
    const one = capabilitiesOf('openai', { apiKey: 'key-a,key-b' });
    for (let i = 0; i < 3; i += 1) await one.models();
    const keys = fake.calls.map(({ headers }) => headers.authorization);
    expect(keys).toEqual(['Bearer key-a', 'Bearer key-b', 'Bearer key-a']);
  });

  it('tries again when the provider says so, and tells the tokens', async () => {
    const own = fake.answer;
    fake.answer = (response, call) => {
      fake.answer = own;
      response.writeHead(429, { 'retry-after-ms': '1' }).end('{"error":{"message":"slow"}}');
      void call;
    };
    const usage: unknown[] = [];
    const vectors = await capabilitiesOf('openai', { maxRetries: 1 }).embeddings(
      { model: 'm', input: 'a' },
      { onUsage: (one) => usage.push(one) },
    );
    expect(vectors).toEqual([[0, 0.5]]);
    expect(fake.calls).toHaveLength(2);
    expect(usage).toEqual([{ totalInputTokens: 3, totalTokens: 3, source: 'reported' }]);
  });

  it('counts the date of a refusal from now', async () => {
    const own = fake.answer;
    const date = new Date(Date.now() + 90_000).toUTCString();
    fake.answer = (response) => {
      fake.answer = own;
      response.writeHead(429, { 'retry-after': date }).end('{}');
    };
    const requested = capabilitiesOf('openai', { maxRetries: 0 }).models();
    const error = (await requested.catch((each: unknown) => each)) as MillraceError;
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(error.retryAfterMs).toBeLessThanOrEqual(90_000);
  });

  it.each([
    ['models', (one: Capabilities) => one.models()],
    ['pullModel', (one: Capabilities) => one.pullModel({ model: 'm' })],
  ])('follows the word of a refusal on another request: %s', async (_, request) => {
    const own = fake.answer;
    const reject = (status: number, word: string) => {
      fake.answer = (response) => {
        fake.answer = own;
        response.writeHead(status, { 'x-should-retry': word, 'retry-after-ms': '1' }).end('{}');
      };
    };
    reject(418, 'true');
    await request(capabilitiesOf('ollama', { maxRetries: 1 }));
    expect(fake.calls).toHaveLength(2);
    reject(503, 'false');
    const requested = request(capabilitiesOf('ollama', { maxRetries: 1 }));
    await expect(requested).rejects.toMatchObject({ status: 503, retryable: false });
    expect(fake.calls).toHaveLength(3);
    reject(503, 'perhaps');
    await request(capabilitiesOf('ollama', { maxRetries: 1 }));
    expect(fake.calls).toHaveLength(5);
  });

  it('keeps keys out of errors, also when the server echoes them', async () => {
    const own = fake.answer;
    fake.answer = (response) => {
      response.writeHead(401).end('{"error":{"message":"bad key secret-key-1234 here"}}');
    };
    const error = await capabilitiesOf('openai')
      .models()
      .catch((thrown: unknown) => thrown);
    fake.answer = own;
    expect(error).toMatchObject({ status: 401 });
    expect(MillraceError.is(error)).toBe(true);
    const { message, detail = '' } = error as MillraceError;
    expect(message + detail).not.toContain('secret-key-1234');
  });

  it('ends when its signal does', async () => {
    const own = fake.answer;
    fake.answer = () => undefined;
    const controller = new AbortController();
    const promise = capabilitiesOf('openai').models({ signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(promise).rejects.toThrow('enough');
    fake.answer = own;
  });

  it('sends through a given fetch', async () => {
    const urls: string[] = [];
    const send = ((url: string, init: RequestInit) => {
      urls.push(`${init.method} ${url} ${String(init.redirect)}`);
      return Promise.resolve(Response.json({ data: [{ id: 'x' }] }));
    }) as typeof fetch;
    expect(await capabilitiesOf('openai', {}, send).models()).toEqual([{ id: 'x', type: 'chat' }]);
    expect(urls).toEqual([`GET ${fake.url}/models manual`]);
  });

  it.each(['openai', 'higress'])('sends images to edit as files to %s', async (provider) => {
    await capabilitiesOf(provider).createImage({
      model: 'm',
      params: { prompt: 'a hat', imageUrl: `data:image/png;base64,${png}` },
    });
    const [call] = fake.calls;
    expect(call?.url).toBe('/images/edits');
    expect(call?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(call?.body).toContain('name="image[]"; filename="image-0.png"');
  });

  it('tells an error that came with a good status', async () => {
    const error = { message: 'You have no credit left', code: 'insufficient_quota' };
    const send = (async () => Response.json({ error })) as typeof fetch;
    const one = capabilitiesOf('openai', { maxRetries: 0 }, send);
    for (const requested of [
      one.embeddings({ model: 'm', input: 'x' }),
      one.createImage({ model: 'm', params: { prompt: 'a cat' } }),
      one.textToSpeech({ model: 'm', input: 'x', voice: 'alloy' }),
    ]) {
      await expect(requested).rejects.toMatchObject({ code: 'insufficient_quota' });
    }
  });

  it('takes no script for the address of an image', async () => {
    const data = [{ url: 'javascript:alert(1)' }];
    const send = (async () => Response.json({ data })) as typeof fetch;
    const requested = capabilitiesOf('openai', {}, send).createImage({
      model: 'm',
      params: { prompt: 'a cat' },
    });
    await expect(requested).rejects.toMatchObject({ code: 'no_image_generated' });
  });

  it("leaves the choice of an older model's size out", async () => {
    const sent: string[] = [];
    const send = (async (_: string, init: RequestInit) => {
      sent.push(init.body as string);
      return Response.json({ data: [{ b64_json: png }] });
    }) as typeof fetch;
    for (const model of ['dall-e-3', 'gpt-image-1']) {
      await capabilitiesOf('openai', {}, send).createImage({
        model,
        params: { prompt: 'a cat', size: 'auto' },
      });
    }
    expect(sent.map((body) => body.includes('"size":"auto"'))).toEqual([false, true]);
  });

  it('tells what the provider has no place for', async () => {
    const send = (async (url: string) =>
      url.endsWith('/speech')
        ? new Response('ID3', { headers: { 'content-type': 'audio/mpeg' } })
        : Response.json({ data: [{ index: 0, b64_json: png, embedding: [1] }] })) as typeof fetch;
    const one = capabilitiesOf('openai', {}, send);
    const reported: string[][] = [];
    const options = { onNotes: (notes: string[]) => void reported.push(notes) };
    const params = { prompt: 'a cat', aspectRatio: '16:9', steps: 4 };
    const made = await one.createImage({ model: 'gpt-image-1', params }, options);
    await one.embeddings({ model: 'm', input: 'x', inputType: 'q' }, options);
    await one.textToSpeech({ model: 'm', input: 'x' }, { ...options, user: 'ann' });
    expect(made.notes).toEqual([
      '`aspectRatio`: The API has no such setting: give it a `size`.',
      '`steps`: The API has no such setting.',
    ]);
    expect(reported).toEqual([
      made.notes,
      ['`inputType`: The API has no such setting.'],
      ['`user`: The API is not told who asks.'],
    ]);
    // Nothing to tell is not told.
    const plain = await one.createImage({ model: 'm', params: { prompt: 'a cat' } }, options);
    expect(plain).not.toHaveProperty('notes');
    expect(reported).toHaveLength(3);
  });
});
