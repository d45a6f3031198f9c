// Redirects of a provider when a fetch function sends the requests: none is followed, so that neither
// the key nor the conversation reaches anybody else.
import { MillraceError, createModelRuntime } from 'millrace';

import type { Provider } from '../support/provider';
import { startProvider } from '../support/provider';

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
