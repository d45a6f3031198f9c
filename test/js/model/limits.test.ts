// Limits of a call that hold for all of its attempts: its time and its retries.
import { createModelRuntime } from 'millrace';

import { startProvider } from '../../support/provider';

const chat = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };

// A provider that is busy and names a far moment to come back at.
function busy(requested: string[]): typeof fetch {
  return (async (url: string) => {
    requested.push(new URL(url).host);
    return new Response('{"error":{"message":"busy"}}', {
      status: 503,
      headers: { 'content-type': 'application/json', 'retry-after': '30' },
    });
  }) as typeof fetch;
}

const options = { apiKey: 'k', baseURL: 'http://first.test/v1', circuit: false as const };

it.each([
  ['stream', 'm', (runtime) => runtime.stream(chat).text()],
  ['embeddings', 'm', (runtime) => runtime.embeddings({ model: 'm', input: 'x' })],
  ['models', 'm', (runtime) => runtime.models()],
] as [string, string, (runtime: ReturnType<typeof createModelRuntime>) => Promise<unknown>][])(
  'no wait of %s outlasts the time of the call',
  async (_name, _model, call) => {
    const requested: string[] = [];
    const runtime = createModelRuntime('openai', {
      ...options,
      fetch: busy(requested),
      timeouts: { total: 20_000 },
    });
    await expect(call(runtime)).rejects.toMatchObject({ code: 'provider_overloaded' });
    expect(requested).toEqual(['first.test']);
  },
);

const answered = (requested: string[]): typeof fetch =>
  (async (url: string) => {
    requested.push(new URL(url).host);
    return new Response('{"error":{"message":"no"}}', {
      status: 500,
      headers: { 'content-type': 'application/json', 'retry-after': '0' },
    });
  }) as typeof fetch;

const second = {
  provider: 'anthropic',
  model: 'c',
  apiKey: 'k',
  baseURL: 'http://second.test',
  circuit: false as const,
};

it.each([
  ['the runtime', { maxRetries: 0 }, {}, {}, ['first.test', 'second.test']],
  ['the call', { maxRetries: 2 }, {}, { maxRetries: 0 }, ['first.test', 'second.test']],
  [
    'the fallback itself',
    { maxRetries: 0 },
    { maxRetries: 1 },
    {},
    ['first.test', 'second.test', 'second.test'],
  ],
])('the retries of %s hold for fallbacks', async (_whose, own, fallback, given, expected) => {
  const requested: string[] = [];
  const runtime = createModelRuntime('openai', {
    ...options,
    ...own,
    fetch: answered(requested),
    fallback: [{ ...second, ...fallback }],
  });
  await expect(runtime.stream(chat, given).text()).rejects.toMatchObject({ retryable: true });
  expect(requested).toEqual(expected);
});

// Attempts are counted against the requests that a provider received.
it('a call that is aborted before it begins is no attempt', async () => {
  const requested: string[] = [];
  for (const transport of [{}, { fetch: busy(requested) }]) {
    const run = createModelRuntime('openai', { ...options, ...transport }).stream(chat, {
      signal: AbortSignal.abort(),
    });
    await expect(run.text()).rejects.toMatchObject({ name: 'AbortError' });
    expect((await run.report).attempts).toEqual([]);
  }
  expect(requested).toEqual([]);
});

// The provider may charge for its prompt, though no word of an answer came.
it.each([{}, { transport: 'fetch' as const }])(
  'a call that is aborted before an answer began is estimated (%p)',
  async (transport) => {
    const abort = new AbortController();
    const provider = await startProvider(() => abort.abort());
    const baseURL = `${provider.url}/v1`;
    const run = createModelRuntime('openai', { ...options, baseURL, ...transport }).stream(chat, {
      signal: abort.signal,
    });
    await expect(run.text()).rejects.toMatchObject({ name: 'AbortError' });
    const { attempts, usage } = await run.report;
    expect(attempts).toEqual([expect.objectContaining({ status: 0, usage })]);
    expect(usage).toMatchObject({ source: 'estimated' });
    expect(usage.totalInputTokens).toBeGreaterThan(0);
    expect(usage.totalTokens).toBe(usage.totalInputTokens);
    await provider.close();
  },
);
