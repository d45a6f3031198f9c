// generateObject with the validators that people use, over HTTP: what the model is told, what is checked,
// what the caller gets, and the one repair.
import type { GenerateObjectRequest } from 'millrace';
import { createAgentToolsEngine, createModelRuntime, tool } from 'millrace';
import * as v from 'valibot';
import { z } from 'zod';
import { z as z3 } from 'zod3';

import type { Provider } from '../../support/provider';
import { startProvider } from '../../support/provider';

// It is a module only, which TypeScript does not let a CommonJS file import.
const { type } = jest.requireActual<{
  type: (definition: object) => GenerateObjectRequest['schema'];
}>('arktype');

let fake: Provider;
let texts: string[] = [];

beforeAll(async () => {
  fake = await startProvider((response, call) => {
    const text = texts.shift() ?? '';
    if (call.url === '/v1/messages') {
      const input = JSON.parse(text) as unknown;
      const named = call.body.includes('"tool_choice"');
      const block = named
        ? { type: 'tool_use', id: 't', name: nameOf(call.body), input }
        : { type: 'text', text };
      const body = {
        type: 'message',
        role: 'assistant',
        content: [block],
        stop_reason: 'end_turn',
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    const body = {
      choices: [{ message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
});
afterAll(() => fake.close());
beforeEach(() => (fake.calls.length = 0));

function nameOf(body: string): string {
  const { tools } = JSON.parse(body) as { tools?: { name: string }[] };
  return tools?.[0]?.name ?? '';
}

const messages = [{ role: 'user' as const, content: 'Who?' }];
const good = { name: 'Ada', age: 36, kind: 'person' };
const wrong = { name: 'Ada', age: -1, kind: 'person' };
const jsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 0 },
    kind: { enum: ['person', 'robot'] },
  },
  required: ['name', 'age', 'kind'],
};

const validators: Record<string, GenerateObjectRequest['schema']> = {
  zod: z.object({
    name: z.string(),
    age: z.number().int().min(0),
    kind: z.enum(['person', 'robot']),
  }),
  'zod/mini': z.strictObject({
    name: z.string().min(1),
    age: z.int().nonnegative(),
    kind: z.union([z.literal('person'), z.literal('robot')]),
  }),
  'zod 3': z3.object({
    name: z3.string(),
    age: z3.number().int().min(0),
    kind: z3.enum(['person', 'robot']),
  }),
  valibot: v.object({
    name: v.string(),
    age: v.pipe(v.number(), v.integer(), v.minValue(0)),
    kind: v.picklist(['person', 'robot']),
  }),
  'valibot with a JSON Schema': {
    schema: v.object({
      name: v.string(),
      age: v.pipe(v.number(), v.integer(), v.minValue(0)),
      kind: v.picklist(['person', 'robot']),
    }),
    jsonSchema,
  },
  arktype: type({ name: 'string', age: 'number.integer >= 0', kind: "'person' | 'robot'" }),
};

const providers = [
  ['openai', 'gpt-5-mini'],
  ['anthropic', 'claude-sonnet-4-5'],
] as const;

describe.each(Object.entries(validators))('%s', (_name, schema) => {
  describe.each(providers)('at %s', (provider, model) => {
    const runtime = () =>
      createModelRuntime(provider, {
        apiKey: 'k',
        baseURL: provider === 'openai' ? `${fake.url}/v1` : fake.url,
        maxRetries: 0,
      });
    const request = () => runtime().generateObject({ model, messages, schema, stream: false });

    it('takes what it accepts', async () => {
      texts = [JSON.stringify(good)];
      expect(await request()).toEqual(good);
      const body = fake.calls[0]?.body ?? '';
      for (const member of Object.keys(good)) expect(body).toContain(`"${member}"`);
      expect(body).toContain('"robot"');
    });

    it('has an answer repaired that it refuses', async () => {
      texts = [JSON.stringify(wrong), JSON.stringify(good)];
      expect(await request()).toEqual(good);
      expect(fake.calls).toHaveLength(2);
      expect(fake.calls[1]?.body).toContain('age');
    });

    it('ends with its words after the repair', async () => {
      texts = [JSON.stringify(wrong), JSON.stringify(wrong)];
      const error = await request().catch((reason: unknown) => reason as Error & { code: string });
      expect(error).toMatchObject({ code: 'invalid_object' });
      expect(JSON.stringify(error) + String(error)).toContain('age');
    });
  });
});

const openai = () =>
  createModelRuntime('openai', { apiKey: 'k', baseURL: `${fake.url}/v1`, maxRetries: 0 });

it('gives what a validator makes of the answer', async () => {
  texts = ['{"when":"2026-01-31","tags":null}'];
  const schema = z.object({
    when: z.string().transform((text) => new Date(text)),
    tags: z.array(z.string()).nullable(),
    count: z.number().default(7),
  });
  const made = await openai().generateObject<z.infer<typeof schema>>({
    model: 'gpt-5-mini',
    messages,
    schema,
    stream: false,
  });
  expect(made).toEqual({ when: new Date('2026-01-31'), tags: null, count: 7 });
});

it('waits for a validator that takes its time', async () => {
  texts = ['{"name":"Ada"}'];
  const schema = z.object({ name: z.string().refine((name) => Promise.resolve(name === 'Ada')) });
  expect(await openai().generateObject({ model: 'm', messages, schema })).toEqual({ name: 'Ada' });
});

it('asks for any JSON for a validator that nobody can describe', async () => {
  const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const schema = {
    '~standard': {
      version: 1,
      vendor: 'homemade',
      validate: (value: unknown) =>
        Array.isArray(value) ? { value } : { issues: [{ message: 'a list is wanted' }] },
    },
  };
  texts = ['{"value":7}', '{"value":["a"]}', '["b"]'];
  const request = () => openai().generateObject({ model: 'm', messages, schema });
  expect(await request()).toEqual(['a']);
  expect(await request()).toEqual(['b']);
  expect(fake.calls[0]?.body).toContain('"json_object"');
  expect(fake.calls[1]?.body).toContain('a list is wanted');
  expect(warn.mock.calls.map(([message]) => message)).toEqual([
    expect.stringContaining("'homemade' validator"),
  ]);
  warn.mockRestore();
});

it('refuses a validator that no JSON can satisfy', async () => {
  const schema = z.object({ when: z.date() });
  await expect(openai().generateObject({ model: 'm', messages, schema })).rejects.toMatchObject({
    code: 'invalid_schema',
    message: expect.stringContaining('Date') as string,
  });
  expect(fake.calls).toHaveLength(0);
});

it("tells an agent's model what a tool of valibot takes", () => {
  const input = v.object({ city: v.pipe(v.string(), v.description('Where?')) });
  const weather = tool({ name: 'weather', input, run: () => 'fine' });
  const { definitions } = createAgentToolsEngine({ tools: [weather] });
  expect(JSON.stringify(definitions)).toContain('Where?');
});

it('tells recursive schemas', async () => {
  interface Tree {
    value: string;
    children: Tree[];
  }
  const tree: z.ZodType<Tree> = z.lazy(() =>
    z.object({ value: z.string(), children: z.array(tree) }),
  );
  const value: Tree = { value: 'a', children: [{ value: 'b', children: [] }] };
  texts = [JSON.stringify(value)];
  expect(await openai().generateObject({ model: 'm', messages, schema: tree })).toEqual(value);
});
