// Objects and capabilities through the public runtime, over HTTP.
import { MillraceError, createModelRuntime } from 'millrace';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

let fake: Provider;
let texts: string[] = [];
// What a request is rejected with, by a word that its body holds.
let rejected: { word: string; message: string } | undefined;

const chunk = (value: object) => `data: ${JSON.stringify(value)}\n\n`;

beforeAll(async () => {
  fake = await startProvider((response, call) => {
    if (call.url.endsWith('/models')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[{"id":"m"}]}');
      return;
    }
    if (rejected && call.body.includes(rejected.word)) {
      response.writeHead(400, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: rejected.message } }));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const text = texts.shift() ?? '';
    if (call.body.includes('"tool_choice"')) {
      const made = { index: 0, id: 'c', function: { name: 'answer', arguments: text } };
      response.write(chunk({ choices: [{ index: 0, delta: { tool_calls: [made] } }] }));
      response.write(chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] }));
      response.end('data: [DONE]\n\n');
      return;
    }
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
beforeEach(() => {
  fake.calls.length = 0;
  rejected = undefined;
});

const runtime = () =>
  createModelRuntime('openai', { apiKey: 'k', baseURL: `${fake.url}/v1`, maxRetries: 0 });
const request = {
  model: 'gpt-5-mini',
  messages: [{ role: 'user' as const, content: 'Who?' }],
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

  it('asks by a tool where the server takes no schema', async () => {
    rejected = {
      word: '"response_format"',
      message: 'This response_format type is unavailable now',
    };
    texts = ['{"name":"Ada"}'];
    const onNotes = jest.fn();
    expect(await runtime().generateObject(request, { onNotes })).toEqual({ name: 'Ada' });
    expect(onNotes.mock.calls).toEqual([[[expect.stringContaining('again, by a tool')]]]);
    expect(fake.calls).toHaveLength(2);
    const body = JSON.parse(fake.calls[1]?.body ?? '{}') as Record<string, unknown>;
    expect(body['response_format']).toBeUndefined();
    expect(body['tools']).toMatchObject([{ type: 'function' }]);
    texts = ['{"name":"Ada"}'];
    expect(await runtime().streamObject(request).object()).toEqual({ name: 'Ada' });
    rejected.message = "Invalid schema for response_format 'answer': it is not supported";
    await expect(runtime().generateObject(request)).rejects.toThrow('Invalid schema');
    rejected.message = 'This response_format type is unavailable now';
    const chosen = runtime().generateObject({ ...request, mode: 'schema' });
    await expect(chosen).rejects.toThrow('unavailable');
  });

  it('shows an object while it arrives', async () => {
    texts = ['{"name":"Ada Lovelace"}'];
    const run = runtime().streamObject(request);
    const seen: unknown[] = [];
    for await (const value of run) seen.push(value);
    expect(seen.at(-1)).toEqual({ name: 'Ada Lovelace' });
    expect(await run.object()).toEqual({ name: 'Ada Lovelace' });
  });

  it('asks by the Responses API when told, with headers of the call', async () => {
    texts = ['{"name":"Ada"}'];
    const requested = runtime().generateObject(
      { ...request, responseApi: true },
      { headers: { 'x-team': 'a' } },
    );
    await requested.catch(() => undefined);
    expect(fake.calls[0]?.url).toBe('/v1/responses');
    expect(fake.calls[0]?.headers['x-team']).toBe('a');
    expect(fake.calls[0]?.body).not.toContain('responseApi');
  });

  it('takes headers, the user and limits with a call', async () => {
    const own = fake.answer;
    fake.answer = (response) =>
      void response.writeHead(500).end('{"error":{"message":"down","type":"server_error"}}');
    const wanted = { requestHeaders: { 'x-team': 'a' }, headers: { 'x-more': 'b' }, user: 'ann' };
    const rejected = runtime().embeddings({ model: 'e', input: 'x' }, { ...wanted, maxRetries: 1 });
    await expect(rejected).rejects.toMatchObject({ status: 500, provider: 'openai' });
    fake.answer = () => undefined;
    const silent = runtime().models({ timeouts: { firstByte: 50 } });
    await expect(silent).rejects.toMatchObject({ code: 'first_byte_timeout' });
    fake.answer = own;
    expect(fake.calls).toHaveLength(3);
    expect(fake.calls[0]?.headers).toMatchObject({ 'x-team': 'a', 'x-more': 'b' });
    expect(fake.calls[0]?.body).toContain('"user":"ann"');
  });

  it.each([
    [() => runtime().embeddings({ model: 'e' } as never)],
    [() => runtime().embeddings({ model: 'e', input: ['a', 1] } as never)],
    [() => runtime().embeddings(undefined as never)],
    [() => runtime().createImage(undefined as never)],
    [() => runtime().createImage({ model: 'i' } as never)],
    [() => runtime().textToSpeech(undefined as never)],
    [() => runtime().textToSpeech({ model: 's' } as never)],
    [() => runtime().pullModel(undefined as never)],
    [() => runtime().generateObject(undefined as never)],
  ])('refuses what says too little: %s', async (requestObject: () => Promise<unknown>) => {
    const error: unknown = await requestObject().catch((thrown: unknown) => thrown);
    expect(MillraceError.is(error)).toBe(true);
    expect((error as MillraceError).status).toBeUndefined();
    expect(fake.calls).toHaveLength(0);
  });

  it('refuses tools beside a schema, and streams none', async () => {
    const tools = [{ type: 'function', function: { name: 'look', parameters: {} } }];
    const both = {
      code: 'invalid_argument',
      message: expect.stringContaining('`tools`') as string,
    };
    await expect(runtime().generateObject({ ...request, tools })).rejects.toMatchObject(both);
    const { schema, ...without } = request;
    void schema;
    expect(() => runtime().streamObject({ ...without, tools })).toThrow(/generateObject\(\)/);
    expect(fake.calls).toHaveLength(0);
    texts = ['{"name":"Ada"}'];
    expect(await runtime().generateObject({ ...request, tools: [] })).toEqual({ name: 'Ada' });
  });

  it('says what is no schema, and what a validator must give', async () => {
    const circular: Record<string, unknown> = { type: 'object' };
    circular.properties = { again: circular };
    for (const schema of [circular, { type: 'object', properties: { a: { const: 1n } } }]) {
      await expect(runtime().generateObject({ ...request, schema })).rejects.toMatchObject({
        code: 'invalid_schema',
      });
    }
    for (const unusable of [{ type: 'nonsense' }, { $ref: '#/$defs/nowhere' }]) {
      const schema = { type: 'object', properties: { a: unusable } };
      await expect(runtime().generateObject({ ...request, schema })).rejects.toMatchObject({
        code: 'invalid_schema',
      });
    }
    expect(fake.calls).toHaveLength(0);
    texts = ['{"name":"Ada"}'];
    const validator = {
      '~standard': { version: 1 as const, vendor: 'v', validate: () => undefined as never },
    };
    const jsonSchema = request.schema;
    await expect(
      runtime().generateObject({ ...request, schema: { schema: validator, jsonSchema } }),
    ).rejects.toMatchObject({ code: 'invalid_argument' });
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
