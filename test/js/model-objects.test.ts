// Objects and capabilities through the public runtime, over HTTP.
import { createModelRuntime } from 'millrace';

import type { Provider } from '../support/provider';
import { startProvider } from '../support/provider';

let fake: Provider;
let texts: string[] = [];

const chunk = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

beforeAll(async () => {
  fake = await startProvider((response, call) => {
    if (call.url.endsWith('/models')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"m"}]}');
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = texts.shift() ?? '';
    for (let at = 0; at < text.length; at += 5) {
      response.write(
        chunk({ choices: [{ index: 0, delta: { content: text.slice(at, at + 5) } }] }),
      );
    }
    response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }));
    response.end('data: [DONE]\n\n');
  });
});
afterAll(() => fake.close());
beforeEach(() => (fake.calls.length = 0));

const runtime = () =>
  createModelRuntime('openai', { apiKey: 'k', baseURL: `${fake.url}/v1`, maxRetries: 0 });
const request = {
  model: 'gpt-5-mini',
  messages: [{ role: 'user', content: 'Who?' }],
  schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};

describe('ModelRuntime', () => {
  it('makes an object, and repairs it once', async () => {
    texts = ['{"name":1}', '{"name":"Ada"}'];
    expect(await runtime().generateObject(request)).toEqual({ name: 'Ada' });
    expect(fake.calls).toHaveLength(2);
    const body = JSON.parse(fake.calls[0]?.body ?? '{}') as Record<string, object>;
    expect(body['response_format']).toMatchObject({ type: 'json_schema' });
  });

  it('shows an object while it arrives', async () => {
    texts = ['{"name":"Ada Lovelace"}'];
    const run = runtime().streamObject(request);
    const seen: unknown[] = [];
    for await (const value of run) seen.push(value);
    expect(seen.at(-1)).toEqual({ name: 'Ada Lovelace' });
    expect(await run.object()).toEqual({ name: 'Ada Lovelace' });
  });

  it('rejects with the error of the call', async () => {
    const own = fake.answer;
    fake.answer = (response) => void response.writeHead(401).end('{"error":{"message":"no"}}');
    await expect(runtime().generateObject(request)).rejects.toMatchObject({
      code: 'authentication_failed',
    });
    fake.answer = own;
  });

  it('lists models', async () => {
    expect(await runtime().models()).toEqual([{ id: 'm', type: 'chat' }]);
  });

  it('refuses what the provider cannot do', async () => {
    await expect(runtime().pullModel({ model: 'm' })).rejects.toMatchObject({
      code: 'capability_not_supported',
    });
  });
});
