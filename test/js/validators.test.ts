// generateObject with the validators that people use, over HTTP: what the model is told, what is checked,
// what the caller gets, and the one repair.
import type { GenerateObjectRequest } from 'millrace';
import { createModelRuntime } from 'millrace';
import * as v from 'valibot';
import { z } from 'zod';

import type { Provider } from '../support/provider';
import { startProvider } from '../support/provider';

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
  valibot: {
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
    const ask = () => runtime().generateObject({ model, messages, schema, stream: false });

    it('takes what it accepts', async () => {
      texts = [JSON.stringify(good)];
      expect(await ask()).toEqual(good);
      const body = fake.calls[0]?.body ?? '';
      for (const member of Object.keys(good)) expect(body).toContain(`"${member}"`);
      expect(body).toContain('"robot"');
    });

    it('has an answer repaired that it refuses', async () => {
      texts = [JSON.stringify(wrong), JSON.stringify(good)];
      expect(await ask()).toEqual(good);
      expect(fake.calls).toHaveLength(2);
      expect(fake.calls[1]?.body).toContain('age');
    });

    it('ends with its words after the repair', async () => {
      texts = [JSON.stringify(wrong), JSON.stringify(wrong)];
      const error = await ask().catch((reason: unknown) => reason as Error & { code: string });
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

it('asks for the JSON Schema that valibot does not say by itself', async () => {
  const schema = v.object({ name: v.string() });
  await expect(openai().generateObject({ model: 'm', messages, schema })).rejects.toMatchObject({
    code: 'invalid_argument',
    message: expect.stringContaining('jsonSchema') as string,
  });
  expect(fake.calls).toHaveLength(0);
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
