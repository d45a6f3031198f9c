// The model runtime against a fake of the vendors that others wrote: text, thoughts, calls, turns, objects,
// embeddings, keys, errors and chaos, streamed and whole.
import { LLMock } from '@copilotkit/aimock';
import type { ChatMessage, ChatTool, ModelRun } from 'millrace';
import { MillraceError, createModelRuntime } from 'millrace';

import { checksKeys, runtimeOf, vendorKey, vendors } from '../../support/vendor-mock';

const text = 'Hello there, \u00e9\u{1f30d}\u4f60 friend.';
const thought = 'First I think.';
const object = { name: 'Ada', tags: ['a', 'b'], address: { city: 'Paris' } };
const schema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    tags: { type: 'array', items: { type: 'string' } },
    address: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
  required: ['name', 'tags', 'address'],
};
const weather: ChatTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Tells the weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const looked = { name: 'get_weather', arguments: '{"city":"Paris"}' };
const timed = { name: 'get_time', arguments: '{"zone":"CET","deep":{"a":[1,2,{"b":"\u00e9"}]}}' };

let mock: LLMock;

beforeAll(async () => {
  mock = await LLMock.create({ port: 0 });
  const small = { chunkSize: 5 };
  mock.on({ userMessage: 'greet' }, { content: text }, small);
  mock.on({ userMessage: 'think' }, { content: text, reasoning: thought }, small);
  mock.on({ userMessage: 'call one' }, { toolCalls: [looked] }, small);
  mock.on({ userMessage: 'call two' }, { toolCalls: [looked, timed] }, small);
  mock.on({ userMessage: 'say and call' }, { content: text, toolCalls: [looked] }, small);
  mock.on(
    { userMessage: 'no arguments' },
    { toolCalls: [{ name: 'now', arguments: '{}' }] },
    small,
  );
  mock.on({ userMessage: 'an object' }, { content: JSON.stringify(object) }, small);
  // What the fake understood of the request, as its answer.
  mock.on({ userMessage: 'echo' }, ({ messages, tools }) => ({
    content: JSON.stringify({ messages, tools }),
  }));
  for (const [word, status, type, code] of errors) {
    mock.on({ userMessage: word }, { error: { message: `No: ${word}`, type, code }, status });
  }
  mock.on({ userMessage: 'chaos drop' }, { content: text }, { chaos: { dropRate: 1 } });
  mock.on({ userMessage: 'chaos malformed' }, { content: text }, { chaos: { malformedRate: 1 } });
  mock.on({ userMessage: 'chaos limit' }, { content: text }, { chaos: { rateLimitRate: 1 } });
  mock.on({ userMessage: 'chaos gone' }, { content: text }, { chaos: { disconnectRate: 1 } });
  mock.on({ userMessage: 'chaos slow' }, { content: text }, { chaos: { latencyMs: 5_000 } });
  const cut = { ...small, latency: 5, truncateAfterChunks: 9 };
  mock.on({ userMessage: 'cut' }, { content: text.repeat(5) }, cut);
  const gone = { ...small, latency: 20, disconnectAfterMs: 250 };
  mock.on({ userMessage: 'vanish' }, { content: text.repeat(5) }, gone);
  mock.onEmbedding(/./, { embedding: [0.25, -1, 0.5] });
});

afterAll(() => mock.stop());
beforeEach(() => mock.clearRequests());

const errors = [
  ['bad request', 400, 'invalid_request_error', 'invalid_value', 'provider_bad_request'],
  ['bad key', 401, 'authentication_error', 'invalid_api_key', 'authentication_failed'],
  ['forbidden', 403, 'permission_error', 'permission_denied', 'permission_denied'],
  ['unknown model', 404, 'not_found_error', 'model_not_found', 'model_not_found'],
  ['too fast', 429, 'rate_limit_error', 'rate_limit_exceeded', 'rate_limited'],
  ['no credit', 429, 'insufficient_quota', 'insufficient_quota', 'insufficient_quota'],
  ['broken', 500, 'server_error', 'internal_error', 'provider_error'],
  ['overloaded', 503, 'overloaded_error', 'overloaded', 'provider_overloaded'],
] as const;

interface Seen {
  text: string;
  thought: string;
  calls: { id: string; name: string; arguments: unknown }[];
  last: string | undefined;
}

async function read(run: ModelRun): Promise<Seen> {
  const seen: Seen = { text: '', thought: '', calls: [], last: undefined };
  const parts = new Map<string, { name: string; text: string }>();
  for await (const event of run) {
    seen.last = event.type;
    if (event.type === 'TEXT_MESSAGE_CONTENT') seen.text += event.delta;
    if (event.type === 'REASONING_MESSAGE_CONTENT') seen.thought += event.delta;
    if (event.type === 'TOOL_CALL_START')
      parts.set(event.toolCallId, { name: event.toolCallName, text: '' });
    const part = event.type === 'TOOL_CALL_ARGS' ? parts.get(event.toolCallId) : undefined;
    if (part && event.type === 'TOOL_CALL_ARGS') part.text += event.delta;
  }
  seen.calls = [...parts].map(([id, { name, text: json }]) => {
    return { id, name, arguments: JSON.parse(json) as unknown };
  });
  return seen;
}

const sendRequest = (content: string): ChatMessage[] => [{ role: 'user', content }];
const nameAndArguments = ({ name, arguments: json }: typeof looked) => ({
  name,
  arguments: JSON.parse(json) as unknown,
});

describe.each(Object.entries(vendors))('%s', (_name, vendor) => {
  describe.each([
    ['streamed', true],
    ['whole', false],
  ])('%s', (_kind, stream) => {
    const start = (content: string, more: object = {}): ModelRun =>
      runtimeOf(mock, vendor).stream({
        model: vendor.model,
        messages: sendRequest(content),
        stream,
        ...more,
      });

    it('gives text, and its tokens', async () => {
      const run = start('greet');
      expect(await read(run)).toMatchObject({ text, calls: [], last: 'RUN_FINISHED' });
      const { usage, attempts, provider } = await run.report;
      expect(provider).toBe(vendor.provider);
      expect(attempts).toHaveLength(1);
      expect(usage.source).toBe(vendor.countsNothing ? 'estimated' : 'reported');
      expect(usage.totalInputTokens).toBeGreaterThan(0);
      expect(usage.totalOutputTokens).toBeGreaterThan(0);
    });

    (vendor.thinks === false ? it.skip : it)('gives thoughts apart from text', async () => {
      expect(await read(start('think'))).toMatchObject({ text, thought });
    });

    it.each([
      ['call one', [looked], ''],
      ['call two', [looked, timed], ''],
      ['say and call', [looked], text],
      ['no arguments', [{ name: 'now', arguments: '{}' }], ''],
    ])('gives calls of tools: %s', async (content, calls, received) => {
      const run = start(content, { tools: [weather] });
      const seen = await read(run);
      expect(seen.text).toBe(received);
      expect(seen.calls).toMatchObject(calls.map(nameAndArguments));
      const ids = seen.calls.map(({ id }) => id);
      expect(new Set(ids).size).toBe(calls.length);
      expect(seen.last).toBe('RUN_FINISHED');
    });

    it('sends a history with calls and results as the vendor reads it', async () => {
      const { calls } = await read(start('call one', { tools: [weather] }));
      const id = calls[0]?.id ?? '';
      const messages: ChatMessage[] = [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'echo what I said' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [{ id, type: 'function', function: looked }],
        },
        { role: 'tool', tool_call_id: id, content: 'sunny' },
      ];
      const { text: echoed } = await read(start('', { messages, tools: [weather] }));
      const got = JSON.parse(echoed) as Pick<ChatMessageList, 'messages' | 'tools'>;
      const received = got.messages.map(({ role, content }) => [role, flat(content)]);
      expect(received).toContainEqual(['system', 'Be short.']);
      expect(received).toContainEqual(['user', 'echo what I said']);
      expect(received).toContainEqual(['assistant', 'I look.']);
      const call = got.messages.flatMap((message) => message.tool_calls ?? [])[0];
      expect(call?.function.name).toBe('get_weather');
      expect(JSON.parse(call?.function.arguments ?? '')).toEqual({ city: 'Paris' });
      const result = got.messages.find(({ role }) => role === 'tool');
      expect(flat(result?.content)).toContain('sunny');
      // Ollama's API has no ids; a result belongs to the call before it.
      if (vendor.provider !== 'ollama') expect(result?.tool_call_id).toBe(call?.id);
      expect(got.tools?.[0]?.function.name).toBe('get_weather');
    });

    it.each(errors.map(([word, status, , , code]) => [word, status, code]))(
      'tells errors apart: %s (%d)',
      async (word, status, code) => {
        const run = start(word);
        const error = await run.text().catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(MillraceError);
        expect(error).toMatchObject({ code: vendor.codes?.[code] ?? code });
        expect((error as Error).message).toContain(`No: ${word}`);
        expect((await run.report).attempts).toMatchObject([{ status }]);
      },
    );

    it('tries again after one error, and is booked twice', async () => {
      mock.nextRequestError(503, { message: 'Busy', type: 'overloaded_error' });
      const run = runtimeOf(mock, vendor, { maxRetries: 1 }).stream({
        model: vendor.model,
        messages: sendRequest('greet'),
        stream,
      });
      expect(await run.text()).toBe(text);
      expect((await run.report).attempts.map(({ status }) => status)).toEqual([503, 200]);
      expect(mock.getRequests()).toHaveLength(2);
    });

    it.each([
      ['chaos drop', ['provider_error']],
      ['chaos malformed', ['stream_truncated', 'not_a_stream']],
      ['chaos limit', ['rate_limited']],
      ['chaos gone', ['connection_lost']],
      ['chaos slow', ['first_byte_timeout']],
    ])('ends in good order in %s', async (content, codes) => {
      // A busy machine answers late, too.
      const firstByte = content === 'chaos slow' ? 150 : 10_000;
      const run = runtimeOf(mock, vendor, { timeouts: { firstByte } }).stream({
        model: vendor.model,
        messages: sendRequest(content),
        stream,
      });
      expect((await read(run)).last).toBe('RUN_ERROR');
      const error = await run.text().catch((reason: unknown) => reason as MillraceError);
      expect(codes).toContain((error as MillraceError).code);
      // The fake does not note what was given up before it began to answer.
      expect(mock.getRequests()).toHaveLength(content === 'chaos slow' ? 0 : 1);
    });
  });

  it.each(['cut', 'vanish'])(
    'keeps and books what came before the answer broke: %s',
    async (word) => {
      const run = runtimeOf(mock, vendor).stream({
        model: vendor.model,
        messages: sendRequest(word),
      });
      const seen = await read(run);
      expect(seen.last).toBe('RUN_ERROR');
      expect(text.repeat(5).startsWith(seen.text)).toBe(true);
      const { usage } = await run.report;
      expect(usage.source).toBe('estimated');
      expect(usage.totalOutputTokens).toBeGreaterThan(0);
    },
  );

  it('makes an object that follows a schema', async () => {
    const request = { model: vendor.model, messages: sendRequest('an object'), schema };
    expect(await runtimeOf(mock, vendor).generateObject(request)).toEqual(object);
  });

  (vendor.embeds === 0 ? it.skip : it)('embeds texts', async () => {
    const input = ['one', 'two'].slice(0, vendor.embeds);
    const vectors = await runtimeOf(mock, vendor).embeddings({ model: 'm', input });
    expect(vectors).toEqual(input.map(() => [0.25, -1, 0.5]));
  });

  (vendor.lists ? it : it.skip)('lists models', async () => {
    const models = await runtimeOf(mock, vendor).models();
    expect(models.length).toBeGreaterThan(0);
    expect(models.every(({ id }) => id !== '')).toBe(true);
  });
});

interface ChatMessageList {
  messages: ChatMessage[];
  tools?: ChatTool[];
}

function flat(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content;
  return (content ?? []).map((part) => String((part as { text?: string }).text ?? '')).join('');
}

describe('keys', () => {
  let strict: LLMock;
  beforeAll(async () => {
    strict = await LLMock.create({ port: 0, auth: { apiKeys: [vendorKey] } });
    strict.on({ userMessage: 'greet' }, { content: text });
  });
  afterAll(() => strict.stop());

  it.each(Object.entries(vendors).filter(([, vendor]) => checksKeys(vendor)))(
    'stand where %s looks for them',
    async (_name, vendor) => {
      const payload = { model: vendor.model, messages: sendRequest('greet') };
      expect(await runtimeOf(strict, vendor).stream(payload).text()).toBe(text);
      const wrong = runtimeOf(strict, vendor, { apiKey: 'another' }).stream(payload);
      await expect(wrong.text()).rejects.toMatchObject({ code: 'authentication_failed' });
    },
  );
});

it('asks another vendor when the first one is down', async () => {
  const run = createModelRuntime('openai', {
    apiKey: vendorKey,
    baseURL: `${mock.url}/v1`,
    maxRetries: 0,
    fallback: ['anthropic:claude-sonnet-4-5'],
    providers: { anthropic: { apiKey: vendorKey, baseURL: mock.url } },
  }).stream({ model: 'gpt-4o', messages: sendRequest('greet') });
  mock.nextRequestError(500);
  expect(await run.text()).toBe(text);
  expect((await run.report).attempts.map(({ provider }) => provider)).toEqual([
    'openai',
    'anthropic',
  ]);
});
