// generateObject and streamObject on scripted answers: plans, partial objects, validation and repair.
import type { ObjectRunSource } from '../../../dist/cjs/model/gathered-answer';
import { generateObject, streamObject } from '../../../dist/cjs/model/object';
import type { GenerateObjectRequest } from '../../../types/objects';

type Payload = Record<string, unknown> & { messages: { role: string; content: string }[] };

/** Answers each request with the next of `answers`, in pieces of a few characters. */
function hostOf(provider: string, answers: (string | object[])[], size = 4) {
  const payloads: Payload[] = [];
  return {
    payloads,
    settings: { provider, apiKey: 'k' },
    stream(payload: object): ObjectRunSource {
      payloads.push(payload as Payload);
      const answer = answers[payloads.length - 1] ?? '';
      async function* events() {
        if (typeof answer !== 'string') {
          yield* answer as never[];
          return;
        }
        for (let at = 0; at < answer.length; at += size) {
          await Promise.resolve();
          const delta = answer.slice(at, at + size);
          yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta } as never;
        }
      }
      return {
        [Symbol.asyncIterator]: events,
        stop: () => undefined,
        text: () => Promise.resolve(''),
        usage: Promise.resolve({ source: 'reported', totalTokens: 1 } as never),
      };
    },
  };
}

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
};
const request: GenerateObjectRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Who?' }],
  schema,
};

describe('generateObject', () => {
  it('asks for constrained decoding and gives the object without what it added', async () => {
    const host = hostOf('openai', ['{"name":"Ada","age":null}']);
    expect(await generateObject(host, request)).toEqual({ name: 'Ada' });
    expect(host.payloads[0]?.['response_format']).toMatchObject({
      type: 'json_schema',
      json_schema: { strict: true, schema: { required: ['name', 'age'] } },
    });
  });

  it('asks once more for an answer that does not follow the schema', async () => {
    const host = hostOf('openai', ['{"name":7}', '{"name":"Ada"}']);
    const usage: unknown[] = [];
    const object = await generateObject(host, request, { onUsage: (one) => usage.push(one) });
    expect(object).toEqual({ name: 'Ada' });
    expect(usage).toHaveLength(2);
    const [, again] = host.payloads;
    expect(again?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(again?.messages[2]?.content).toContain('/name: type: must be of type string');
  });

  it('fails with the violations after the last round', async () => {
    const host = hostOf('openai', ['{}', 'none', '{}']);
    await expect(generateObject(host, request)).rejects.toMatchObject({ code: 'invalid_object' });
    expect(host.payloads).toHaveLength(2);
    const promise = generateObject(hostOf('openai', ['{}']), request, { repairs: 0 });
    await expect(promise).rejects.toThrow(/the member "name" is missing/);
  });

  it('reads the arguments of the tool that stands for the object', async () => {
    const call = { toolCallId: 'c', toolCallName: 'answer' };
    const host = hostOf('bedrock', [
      [
        { type: 'TOOL_CALL_START', ...call },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"name":' },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '"Ada"}' },
      ],
    ]);
    expect(await generateObject(host, request)).toEqual({ name: 'Ada' });
    expect(host.payloads[0]).toMatchObject({ tools: [{ function: { name: 'answer' } }] });
  });

  it('tells the schema in a message where the provider takes none', async () => {
    const host = hostOf('openai', ['Here:\n```json\n{"name":"Ada"}\n```']);
    expect(await generateObject(host, { ...request, mode: 'json' })).toEqual({ name: 'Ada' });
    expect(host.payloads[0]?.messages[0]?.content).toContain('"name"');
    expect(host.payloads[0]?.['response_format']).toEqual({ type: 'json_object' });
  });

  it('wraps values that are no objects, and unwraps them', async () => {
    const host = hostOf('openai', ['{"value":["a","b"]}']);
    const list = { type: 'array', items: { type: 'string' } };
    expect(await generateObject(host, { ...request, schema: list })).toEqual(['a', 'b']);
  });

  it('gives the calls of tools when there is no schema', async () => {
    const host = hostOf('openai', [
      [
        { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'add' },
        { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{"a":1}' },
        { type: 'TOOL_CALL_START', toolCallId: 'd', toolCallName: 'stop' },
      ],
    ]);
    const tools = [{ type: 'function', function: { name: 'add', parameters: {} } }];
    const { model, messages } = request;
    expect(await generateObject(host, { model, messages, tools })).toEqual([
      { name: 'add', arguments: { a: 1 } },
      { name: 'stop', arguments: {} },
    ]);
    expect(host.payloads[0]).toMatchObject({ tool_choice: 'required', tools });
  });

  it('forgets what a reset takes back', async () => {
    const host = hostOf('openai', [
      [
        { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: '{"name":"Bo' },
        { type: 'CUSTOM', name: 'millrace.reset', value: { messageIds: ['m'] } },
        { type: 'TEXT_MESSAGE_CONTENT', messageId: 'n', delta: '{"name":"Ada"}' },
      ],
    ]);
    expect(await generateObject(host, request)).toEqual({ name: 'Ada' });
  });
});

describe('Standard Schema', () => {
  const standard = (jsonSchema?: object) => ({
    '~standard': {
      version: 1,
      vendor: 'mine',
      validate: (value: unknown) => {
        const { name } = value as { name?: unknown };
        return name === 'Ada'
          ? { value: { name: 'ADA' } }
          : { issues: [{ message: 'must be Ada', path: ['name'] }] };
      },
      ...(jsonSchema ? { jsonSchema: { input: () => jsonSchema } } : {}),
    },
  });

  it('validates with the validator, and gives what it made of the value', async () => {
    const host = hostOf('openai', ['{"name":"Bob"}', '{"name":"Ada"}']);
    const given = { ...request, schema: standard(schema) };
    expect(await generateObject(host, given)).toEqual({ name: 'ADA' });
    expect(host.payloads[1]?.messages[2]?.content).toContain('/name: must be Ada');
  });

  it('takes the JSON Schema beside a validator that has none', async () => {
    const host = hostOf('openai', ['{"name":"Ada"}']);
    const pair = { schema: standard(), jsonSchema: schema };
    expect(await generateObject(host, { ...request, schema: pair })).toEqual({ name: 'ADA' });
  });
});

describe('an answer that reached the limit of its tokens', () => {
  const cut = (text: string) => [
    { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: text },
    { type: 'RUN_ERROR', message: 'cut', code: 'output_limit_reached' },
  ];

  it('fails as such, and is not asked for again', async () => {
    const host = hostOf('openai', [cut('{"name":"A'), '{"name":"Ada"}']);
    await expect(generateObject(host, request)).rejects.toMatchObject({
      code: 'output_limit_reached',
      detail: '{"name":"A',
    });
    expect(host.payloads).toHaveLength(1);
  });

  it('is taken when the object is whole', async () => {
    const host = hostOf('openai', [cut('{"name":"Ada"}')]);
    expect(await generateObject(host, request)).toEqual({ name: 'Ada' });
  });

  it('has its calls told apart from wrong ones', async () => {
    const call = { toolCallId: 'c', toolCallName: 'f' };
    const events = [
      { type: 'TOOL_CALL_START', ...call },
      { type: 'TOOL_CALL_ARGS', ...call, delta: '{"a":' },
      { type: 'RUN_ERROR', message: 'cut', code: 'output_limit_reached' },
    ];
    const { schema: _none, ...rest } = request;
    const requesting = generateObject(hostOf('openai', [events]), { ...rest, tools: [{}] });
    await expect(requesting).rejects.toMatchObject({ code: 'output_limit_reached' });
  });
});

describe('streamObject', () => {
  it('shows the object as it comes, and nothing that was not written', async () => {
    const run = streamObject(hostOf('openai', ['{"name":"Ada","age":36}'], 3), request);
    const seen: unknown[] = [];
    for await (const value of run) seen.push(value);
    expect(seen.length).toBeGreaterThan(3);
    expect(seen[0]).toEqual({});
    for (const value of seen) {
      const { name = '', age = 36 } = value as { name?: string; age?: number };
      expect('Ada'.startsWith(name)).toBe(true);
      expect(age).toBe(36);
    }
    expect(seen.at(-1)).toEqual({ name: 'Ada', age: 36 });
    expect(await run.object()).toEqual({ name: 'Ada', age: 36 });
  });

  it('tells its reader when the answer cannot be used', async () => {
    const run = streamObject(hostOf('openai', ['nothing']), request, { repairs: 0 });
    const read = async () => {
      for await (const value of run) void value;
    };
    await expect(read()).rejects.toMatchObject({ code: 'invalid_object' });
  });
});

describe('a long answer', () => {
  const long = JSON.stringify({ name: 'x'.repeat(32 << 10) });

  it('costs nothing on its way while nobody looks at parts of it', async () => {
    const parse = jest.spyOn(JSON, 'parse');
    try {
      const object = await generateObject(hostOf('openai', [long]), request);
      expect(object).toEqual(JSON.parse(long));
      expect(parse.mock.calls.length).toBeLessThan(20);
    } finally {
      parse.mockRestore();
    }
  });

  it('is shown in steps that grow with it', async () => {
    const lengths: number[] = [];
    const run = streamObject<{ name: string }>(hostOf('openai', [long]), request);
    for await (const part of run) lengths.push(part.name?.length ?? 0);
    expect(lengths.at(-1)).toBe(32 << 10);
    expect([...lengths].sort((a, b) => a - b)).toEqual(lengths);
    // A short one comes as it is written, 4 characters a piece.
    expect(lengths.filter((length) => length < 4000).length).toBeGreaterThan(900);
    expect(lengths.length).toBeLessThan(2000);
  });

  it('of no end is left', async () => {
    let left = false;
    const host = hostOf('openai', []);
    host.stream = () => ({
      async *[Symbol.asyncIterator]() {
        const delta = 'x'.repeat(1 << 16);
        try {
          for (;;) {
            await Promise.resolve();
            yield { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta } as never;
          }
        } finally {
          left = true;
        }
      },
      stop: () => undefined,
      text: () => Promise.resolve(''),
      usage: Promise.resolve({ source: 'reported' } as never),
    });
    const code = 'response_too_large';
    await expect(generateObject(host, request)).rejects.toMatchObject({ code });
    expect(left).toBe(true);
  });
});
