// Tools that Anthropic defines and the host runs: bash, the text editor, memory.
import { createAgent, tool } from 'millrace';

import { at, startClaude, type Block, type VendorBody } from '../../support/vendor-models';

const use = (name: string, input: object, id = 'toolu_1'): Block[] => [
  { type: 'tool_use', id, name, input },
];

const results = (body: VendorBody | undefined): Record<string, unknown>[] =>
  (body?.messages ?? []).flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.filter(({ type }) => type === 'tool_result'),
  );

const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

it('runs the calls of bash and gives back what it printed', async () => {
  const model = await startClaude(use('bash', { command: 'ls' }));
  const ran: unknown[] = [];
  const bash = tool({
    vendor: { type: 'bash_20250124', name: 'bash' },
    effect: 'read',
    run: (input) => {
      ran.push(input);
      return 'README.md';
    },
  });
  expect(bash.name).toBe('bash');
  const agent = createAgent({ model: 'anthropic:claude-x', provider: at(model), tools: [bash] });
  const run = agent.run('What is here?');
  expect(await run.text()).toBe('done');
  expect((await run.result).status).toBe('completed');
  expect(ran).toEqual([{ command: 'ls' }]);
  expect(model.bodies[0]?.tools).toEqual([{ type: 'bash_20250124', name: 'bash' }]);
  expect(results(model.bodies[1])).toEqual([
    { type: 'tool_result', tool_use_id: 'toolu_1', content: 'README.md' },
  ]);
});

it('sends what the editor threw as a failed result, and a date that is not known yet', async () => {
  const name = 'str_replace_based_edit_tool';
  const model = await startClaude(use(name, { command: 'view', path: '/a' }));
  const vendor = { type: 'text_editor_20990101', name, max_characters: 1000 } as const;
  const editor = tool({
    vendor,
    run: () => {
      throw new Error('There is no file /a.');
    },
  });
  const agent = createAgent({ model: 'anthropic:claude-x', provider: at(model), tools: [editor] });
  const noted = jest.spyOn(console, 'error').mockImplementation(() => undefined);
  expect(await agent.run('Show it.').text()).toBe('done');
  noted.mockRestore();
  expect(model.bodies[0]?.tools).toEqual([vendor]);
  expect(results(model.bodies[1])).toEqual([
    {
      ...{ type: 'tool_result', tool_use_id: 'toolu_1' },
      ...{ content: 'There is no file /a.', is_error: true },
    },
  ]);
});

it('asks for the beta of memory, and takes blocks as its result', async () => {
  const model = await startClaude(use('memory', { command: 'view', path: '/memories' }));
  const memory = tool({
    vendor: { type: 'memory_20250818', name: 'memory' },
    run: () => ({
      content: [
        { type: 'text', text: 'A picture:' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
      ],
    }),
  });
  const agent = createAgent({
    ...{ model: 'anthropic:claude-x', provider: at(model) },
    tools: { memory },
  });
  expect(await agent.run('What do you know?').text()).toBe('done');
  expect(model.calls[0]?.headers['anthropic-beta']).toContain('context-management-2025-06-27');
  expect(results(model.bodies[1])).toEqual([
    {
      ...{ type: 'tool_result', tool_use_id: 'toolu_1' },
      content: [
        { type: 'text', text: 'A picture:' },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
      ],
    },
  ]);
});

it('takes the image of a computer by its address alone', async () => {
  const model = await startClaude(use('computer', { action: 'screenshot' }));
  const computer = tool({
    vendor: {
      ...{ type: 'computer_20250124', name: 'computer' },
      ...{ display_width_px: 10, display_height_px: 10 },
    },
    run: () => ({ image: `data:image/png;base64,${pixel}` }),
  });
  const agent = createAgent({
    ...{ model: 'anthropic:claude-x', provider: at(model) },
    tools: [computer],
  });
  const run = agent.run('Look.');
  const seen: unknown[] = [];
  for await (const event of run) {
    if (event.type === 'TOOL_CALL_RESULT') seen.push(event.content);
  }
  expect(results(model.bodies[1])).toEqual([
    {
      ...{ type: 'tool_result', tool_use_id: 'toolu_1' },
      content: [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } },
      ],
    },
  ]);
  expect(JSON.stringify(seen)).toContain(pixel);
});

it('asks before it runs, as any tool does', async () => {
  const model = await startClaude(use('bash', { command: 'rm x' }));
  const ran: unknown[] = [];
  const bash = tool({
    vendor: { type: 'bash_20250124', name: 'bash' },
    approval: true,
    run: (input) => void ran.push(input),
  });
  const agent = createAgent({ model: 'anthropic:claude-x', provider: at(model), tools: [bash] });
  const first = agent.run('Tidy up.');
  expect((await first.result).status).toBe('interrupted');
  expect(ran).toEqual([]);
  const second = await first.resume({ approved: false, reason: 'not now' });
  expect(await second.text()).toBe('done');
  expect(ran).toEqual([]);
  expect(results(model.bodies[1])).toMatchObject([{ tool_use_id: 'toolu_1', is_error: true }]);
});

describe('a definition', () => {
  const run = (): string => 'x';
  const wrong: [why: string, definition: object, message: RegExp][] = [
    ['an unknown type', { vendor: { type: 'bsh' }, run }, /computer_use_preview.*bash_<date>/],
    ['no name of Anthropic', { vendor: { type: 'bash_20250124' }, run }, /`vendor\.name`/],
    ['no object', { vendor: 'bash_20250124', run }, /`vendor` must be/],
    [
      'another name',
      { name: 'sh', vendor: { type: 'bash_20250124', name: 'bash' }, run },
      /'sh' must be called 'bash'/,
    ],
    [
      'a description',
      { description: 'A shell.', vendor: { type: 'shell' }, run },
      /leave out `description`/,
    ],
    [
      'a schema',
      { input: { type: 'object' }, vendor: { type: 'shell' }, run },
      /leave out `input`/,
    ],
  ];

  it.each(wrong)('with %s is a typed error', (_why, definition, message) => {
    const make = (): unknown => tool(definition as Parameters<typeof tool>[0]);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_option' }) as Error);
    expect(make).toThrow(message);
  });

  it('may be an instance of a class', async () => {
    class Bash {
      readonly vendor = { type: 'bash_20250124', name: 'bash' } as const;
      readonly #answer = 'from a class';
      run(): string {
        return this.#answer;
      }
    }
    const model = await startClaude(use('bash', { command: 'ls' }));
    const agent = createAgent({
      ...{ model: 'anthropic:claude-x', provider: at(model) },
      tools: [tool(new Bash())],
    });
    expect(await agent.run('Go.').text()).toBe('done');
    expect(results(model.bodies[1])).toMatchObject([{ content: 'from a class' }]);
  });

  it('in a record has the name of its vendor as its key', () => {
    const shell = tool({ vendor: { type: 'shell' }, run });
    const make = (tools: object) => createAgent({ model: 'demo:demo', tools: { ...tools } });
    expect(() => make({ terminal: shell })).toThrow(/'terminal' must be called 'shell'/);
    expect(make({ shell }).capabilities.tools.items.map(({ name }) => name)).toEqual(['shell']);
  });
});
