// Options of runtimes and runs that cannot be meant as they are written, and the names of providers.
import { generateKeyPairSync } from 'node:crypto';

import type { ProviderId } from 'millrace';
import { MillraceError, configFromEnvironment, createModelRuntime } from 'millrace';

import { addon } from '../../../dist/cjs/addon';
import { sse } from '../support/responses';

const messages = [{ role: 'user' as const, content: 'Hi' }];

function errorOf(work: () => unknown): MillraceError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (MillraceError.is(error)) return error;
    throw error;
  }
}

const wrong: [options: object, message: string][] = [
  [{ apikey: 'x' }, "'apikey'. Did you mean 'apiKey'?"],
  [{ api_key: 'x' }, "Did you mean 'apiKey'?"],
  [{ baseUrl: 'http://x' }, "Did you mean 'baseURL'?"],
  [{ timeout: 5 }, "Did you mean 'timeouts'?"],
  [{ max_retries: 5 }, "Did you mean 'maxRetries'?"],
  [{ timeouts: { all: 5 } }, "'all'. There are connect, firstByte, idle, total."],
  [{ timeouts: { conect: 5 } }, "'conect'. Did you mean 'connect'?"],
  [{ limits: { lines: 5 } }, "'lines'. There are headerBytes"],
  [{ proxy: { htps: 'http://x' } }, "'htps'. Did you mean 'https'?"],
  [{ circuit: { failure: 5 } }, "'failure'. Did you mean 'failures'?"],
  [{ fallback: 'anthropic:x' }, 'fallback must be a list'],
  [{ fallback: ['openai:m', 1] }, 'fallback[1] must be a model'],
  [{ fallback: [{ provider: 'openai' }] }, 'fallback[0] must be a model'],
  [{ providers: 5 }, 'providers must be an object of settings'],
  [{ headers: new Headers({ a: 'b' }) }, 'headers must be an object of strings'],
  [{ limits: { headerBytes: 98_305 } }, '`limits.headerBytes` must be at most 98304'],
];

it.each(wrong)('refuses %j', (options, message) => {
  const error = errorOf(() => createModelRuntime('openai', { ...options }));
  expect(error?.code).toBe('invalid_option');
  expect(error?.message).toContain(message);
});

it.each<Record<string, unknown>>([
  { provider: 'openai', apiKey: 'x' },
  { apikey: undefined },
  { userId: 'ann', sdkType: 'openai' },
  { noSuchThing: 1 },
  { limits: { headerBytes: 98_304 } },
])('lets %j through', (options) => {
  expect(createModelRuntime('openai', options).provider).toBe('openai');
});

it('refuses what a call cannot mean', async () => {
  const send = (async () =>
    new Response(sse({ choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }] }), {
      headers: { 'content-type': 'text/event-stream' },
    })) as typeof fetch;
  const runtime = createModelRuntime('openai', { apiKey: 'k', fetch: send });
  const payload = { model: 'm', messages };
  const calls = [
    () => runtime.stream(payload, { fallback: 'anthropic:x' as never }),
    () => runtime.stream(payload, { timeouts: { fistByte: 5 } as never }),
  ];
  for (const call of calls) expect(errorOf(call)?.code).toBe('invalid_option');
  const options: [object, string][] = [
    [{ sginal: undefined, callback: 5 }, 'callback must be an object of functions'],
    [{ sginal: null }, "Did you mean 'signal'?"],
    [{ callback: { onText: 5 } }, 'callback.onText must be a function'],
    [{ callback: { onTxet: () => 0 } }, "Did you mean 'onText'?"],
    [{ requestHeaders: 'x: y' }, 'requestHeaders must be an object of strings'],
    [{ requestHeaders: new Headers({ a: 'b' }) }, 'requestHeaders must be an object of strings'],
    [{ requestHeaders: { a: 5 } }, 'the header a must be a string'],
    [{ headers: 5 }, 'headers must be an object of strings'],
    [{ threadId: 5 }, 'threadId must be a string'],
    [{ thinkTags: 'no' }, 'thinkTags must be true or false'],
    [{ fromClient: 'no' }, 'fromClient must be true or false'],
    [{ maxRetries: 1.5 }, '`maxRetries` must be a whole number'],
    [{ signal: 5 }, 'signal must be an AbortSignal'],
  ];
  for (const [wrong, message] of options) {
    await expect(runtime.chat(payload, wrong)).rejects.toThrow(message);
  }
  expect(errorOf(() => runtime.stream({ ...payload, responseMode: 'xml' as never }))?.code).toBe(
    'invalid_argument',
  );
  await runtime.chat(payload, { requestHeaders: { a: undefined as never }, signal: null });
  const run = runtime.stream(payload);
  expect(errorOf(() => run.response({ protocol: 'lobe' } as never))?.message).toContain('chat(');
  expect(await run.response({ protocol: 'ag-ui' } as never).text()).toContain('RUN_FINISHED');
});

it.each(['evil.test/x', 'us central1', 'a@b', 'eu.example'])(
  'gives the token of Vertex AI to no other host: %s',
  async (location) => {
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const account = { project_id: 'p', client_email: 'a@b.test', private_key: privateKey };
    const sent: string[] = [];
    const runtime = createModelRuntime('vertexai', {
      ...{ apiKey: JSON.stringify(account), location, maxRetries: 0 },
      fetch: (url) => {
        sent.push(new URL(url).host);
        return Promise.resolve(Response.json({ access_token: 't', expires_in: 3600 }));
      },
    });
    const messages = [{ role: 'user' as const, content: 'x' }];
    const answer = runtime.stream({ model: 'gemini-2.5-pro', messages }).text();
    await expect(answer).rejects.toMatchObject({
      ...{ code: 'invalid_option', message: expect.stringContaining('`location`') },
    });
    expect(new Set(sent)).toEqual(new Set(['oauth2.googleapis.com']));
  },
);

it("takes the settings of LobeHub's runtimes by their names", async () => {
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  const credentials = { project_id: 'p', client_email: 'a@b.test', private_key: privateKey };
  const aws = { accessKeyId: 'AKID', accessKeySecret: 's', region: 'eu-west-1' };
  const rows: [provider: string, options: object, address: string][] = [
    [
      'vertexai',
      { googleAuthOptions: { credentials }, vertexAIRegion: 'europe-west4' },
      'https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/',
    ],
    ['bedrock', aws, 'https://bedrock-runtime.eu-west-1.amazonaws.com/'],
    ['cloudflare', { apiKey: 'k', baseURLOrAccountID: 'acc' }, '/accounts/acc/ai/v1/'],
    [
      'cloudflare',
      { apiKey: 'k', baseURLOrAccountID: 'https://cf.test/v1' },
      'https://cf.test/v1/',
    ],
  ];
  for (const [provider, options, address] of rows) {
    const sent: string[] = [];
    const runtime = createModelRuntime(provider, {
      ...{ ...options, maxRetries: 0 },
      fetch: (url) => {
        sent.push(url as string);
        return Promise.resolve(Response.json({ access_token: 't', expires_in: 3600 }));
      },
    });
    await runtime
      .stream({ model: 'gemini-2.5-pro', messages })
      .text()
      .catch(() => '');
    expect(sent.at(-1)).toContain(address);
  }
});

it('knows providers by the names that they have elsewhere', () => {
  const names: [string, ProviderId][] = [
    ['LM-Studio', 'lmstudio'],
    ['zhipuai', 'zhipu'],
    ['google-vertex', 'vertexai'],
    ['workersai', 'cloudflare'],
    ['Gemini', 'google'],
  ];
  for (const [name, id] of names) {
    const config = addon().checkProvider(JSON.stringify({ provider: name, apiKey: 'k' }));
    expect([name, config]).toEqual([name, id]);
  }
  const found = configFromEnvironment({ GEMINI_API_KEY: 'g' }).settingsOf('gemini');
  expect(found).toMatchObject({ apiKey: 'g' });
});

it.each([
  [{}, 'gpt-5-pro', 'chatCompletion', 'https://api.openai.com/v1/responses'],
  [{}, 'gpt-4o', 'chatCompletion', 'https://api.openai.com/v1/chat/completions'],
  [{ baseURL: 'https://g.test/v1' }, 'gpt-5-pro', 'chat', 'https://g.test/v1/chat/completions'],
  [{ baseURL: 'https://g.test/v1' }, 'gpt-5-pro', 'chatCompletion', 'https://g.test/v1/responses'],
  [{ baseURL: 'https://g.test/v1' }, 'gpt-5-pro', undefined, 'https://g.test/v1/responses'],
])(
  'asks OpenAI for models of the Responses API by it: %j %s %s',
  async (own, model, apiMode, url) => {
    const requested: string[] = [];
    const runtime = createModelRuntime('openai', {
      apiKey: 'k',
      maxRetries: 0,
      ...own,
      fetch: async (address) => {
        requested.push(address as string);
        return Response.json({ error: { message: 'enough' } }, { status: 400 });
      },
    });
    const mode = apiMode === undefined ? {} : { apiMode };
    await runtime.stream({ model, messages, ...mode }).report.catch(() => undefined);
    expect(requested).toEqual([url]);
  },
);
