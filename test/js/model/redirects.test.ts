// Redirects of a provider: none leads to another origin, so that neither the key nor the conversation
// reaches anybody else. A fetch function follows none at all.
import { MillraceError, createModelRuntime } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

const key = 'sk-the-secret-of-this-test-0815';
const question = 'what only the provider may read';
let provider: Provider;
let stranger: Provider;

beforeAll(async () => {
  [provider, stranger] = await Promise.all([startProvider(), startProvider()]);
  stranger.answer = (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(
        'data: {"choices":[{"index":0,"delta":{"content":"taken"},"finish_reason":"stop"}]}\n\n',
      );
});
afterAll(() => Promise.all([provider.close(), stranger.close()]));
beforeEach(() => {
  provider.calls.length = 0;
  stranger.calls.length = 0;
});

const vendors = [
  ['openai', 'chat'],
  ['openai', 'responses'],
  ['anthropic', undefined],
  ['google', undefined],
] as const;
const ways = { 'transport: fetch': { transport: 'fetch' }, 'a fetch function': { fetch } } as const;
const rows = [301, 302, 303, 307, 308].flatMap((status) =>
  vendors.flatMap(([id, apiMode]) =>
    Object.keys(ways).map((way) => [status, id, apiMode, way as keyof typeof ways] as const),
  ),
);

it.each(rows)('%i of %s (%s) is not followed by %s', async (status, id, apiMode, way) => {
  provider.answer = (response, call) =>
    void response.writeHead(status, { location: `${stranger.url}${call.url}` }).end('moved');
  const runtime = createModelRuntime(id, {
    apiKey: key,
    baseURL: id === 'openai' ? `${provider.url}/v1` : provider.url,
    maxRetries: 0,
    ...(apiMode ? { apiMode } : {}),
    ...ways[way],
  });
  const run = runtime.stream({ model: 'm', messages: [{ role: 'user', content: question }] });
  const failure: unknown = await run.text().catch((error: unknown) => error);
  expect(MillraceError.is(failure)).toBe(true);
  const report = await run.report;
  expect(JSON.stringify([failure, report]) + String(failure)).not.toContain(key);
  expect(report.attempts).toHaveLength(1);
  expect(provider.calls).toHaveLength(1);
  expect(stranger.calls).toEqual([]);
});

const leaving = [301, 302, 303, 307, 308].flatMap((status) =>
  vendors.map(([id, apiMode]) => [status, id, apiMode] as const),
);

it.each(leaving)('%i of %s (%s) leads the engine to nobody else', async (status, id, apiMode) => {
  provider.answer = (response, call) =>
    void response.writeHead(status, { location: `${stranger.url}${call.url}` }).end('moved');
  const runtime = createModelRuntime(id, {
    apiKey: key,
    baseURL: id === 'openai' ? `${provider.url}/v1` : provider.url,
    maxRetries: 0,
    transport: 'engine',
    ...(apiMode ? { apiMode } : {}),
  });
  const run = runtime.stream({ model: 'm', messages: [{ role: 'user', content: question }] });
  await expect(run.text()).rejects.toMatchObject({ code: 'provider_bad_request', status });
  expect(stranger.calls).toEqual([]);
});

it('neither do texts to embed leave their provider', async () => {
  provider.answer = (response, call) =>
    void response.writeHead(308, { location: `${stranger.url}${call.url}` }).end('moved');
  const runtime = createModelRuntime('openai', {
    apiKey: key,
    baseURL: `${provider.url}/v1`,
    maxRetries: 0,
    transport: 'engine',
  });
  const requested = runtime.embeddings({ model: 'm', input: question });
  await expect(requested).rejects.toMatchObject({ status: 308 });
  expect(stranger.calls).toEqual([]);
});

it('the engine follows within the origin', async () => {
  provider.answer = (response, call) => {
    if (call.url !== '/moved') return void response.writeHead(307, { location: '/moved' }).end();
    void stranger.answer(response, call);
  };
  const runtime = createModelRuntime('openai', {
    apiKey: key,
    baseURL: `${provider.url}/v1`,
    transport: 'engine',
  });
  const run = runtime.stream({ model: 'm', messages: [{ role: 'user', content: question }] });
  expect(await run.text()).toBe('taken');
  expect(provider.calls[1]?.body).toContain(question);
});
