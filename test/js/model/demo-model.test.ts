// The demo model with tools and schemas of one's own: it calls what is offered and named, and answers in the schema.
import { createAgent, createModelRuntime, tool } from 'millrace';
import { z } from 'zod';

const calls: unknown[] = [];
beforeEach(() => void calls.splice(0));

const toolOf = (name: string, input: object) =>
  tool({
    name,
    description: 'Does it.',
    input,
    run: (given: object) => {
      calls.push([name, given]);
      return 'done';
    },
  });

const mail = toolOf('send_mail', {
  type: 'object',
  properties: {
    to: { type: 'string', format: 'email' },
    priority: { enum: ['high', 'low'] },
    copies: { type: 'integer', minimum: 2 },
    tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
  },
  required: ['to'],
});
const weather = toolOf('read_weather', {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
});

describe('the demo model', () => {
  it.each([
    ['Call send_mail, please.', 'send_mail'],
    ['Would you send mail?', 'send_mail'],
    ['Use Read-Weather!', 'read_weather'],
    // The first of them by name.
    ['Use the tool.', 'read_weather'],
  ])('calls the tool of one\'s own that "%s" names', async (question, name) => {
    const agent = createAgent({ model: 'demo:demo', tools: [mail, weather] });
    expect(await agent.run(question).text()).toContain('The tool answered: done');
    expect(calls).toEqual([[name, expect.any(Object)]]);
  });

  it('makes the arguments of the schema', async () => {
    await createAgent({ model: 'demo:demo', tools: [mail] }).run('send_mail').result;
    expect(calls).toEqual([
      ['send_mail', { to: 'ada@example.com', priority: 'high', copies: 2, tags: ['sample'] }],
    ]);
  });

  it('calls none that is not offered', async () => {
    for (const question of ['Use the tool.', 'Write a postcard.', 'How is the weather?']) {
      const run = createAgent({ model: 'demo:demo' }).run(question);
      const types = [];
      for await (const { type } of run) types.push(type);
      expect(types).not.toContain('TOOL_CALL_START');
      expect(await run.text()).toContain('[demo] You said');
    }
  });

  it('answers in the schema that is asked for', async () => {
    const runtime = createModelRuntime('demo');
    const request = { model: 'demo', messages: [{ role: 'user' as const, content: 'A person.' }] };
    const person = z.object({
      name: z.string().min(3),
      age: z.number().int().min(18),
      address: z.object({ city: z.string(), zip: z.string().nullable() }),
      friends: z.array(z.object({ email: z.email() })),
      kind: z.enum(['a', 'b']),
    });
    expect(
      person.parse(await runtime.generateObject({ ...request, schema: person })),
    ).toMatchObject({
      age: 18,
      kind: 'a',
    });
    const list = { type: 'array', items: { type: 'integer' } };
    expect(await runtime.generateObject({ ...request, schema: list })).toEqual([1]);
  });

  it('calls a tool that has to be called', async () => {
    const runtime = createModelRuntime('demo');
    const tools = [
      {
        type: 'function',
        function: { name: 'pick', parameters: { type: 'object', properties: {} } },
      },
    ];
    const request = { model: 'demo', messages: [{ role: 'user' as const, content: 'Go.' }], tools };
    expect(await runtime.generateObject(request)).toEqual([{ name: 'pick', arguments: {} }]);
  });
});
