// Tools that OpenAI defines and the host runs: shell, local shell, patches, the computer.
import {
  createAgent,
  foldEvents,
  openAIConversationMessageFormat,
  tool,
  type AGUIEvent,
} from 'millrace';

import { at, startResponses, type Item, type VendorBody } from '../../support/vendor-models';

const pixel =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const items = (body: VendorBody | undefined, type: string): Item[] =>
  (body?.input ?? []).filter((item) => item.type === type);

const shellCall = (action: object): Item => ({
  ...{ type: 'shell_call', id: 'sh_1', call_id: 'call_1', status: 'completed' },
  action: { commands: ['ls'], timeout_ms: null, max_output_length: null, ...action },
});

describe('shell', () => {
  const vendor = { type: 'shell' } as const;

  it('gives back what each command wrote, and the length that the model asked for', async () => {
    const model = await startResponses([shellCall({ max_output_length: 100 })]);
    const ran: unknown[] = [];
    const shell = tool({
      vendor,
      effect: 'read',
      run: ({ commands }) => {
        ran.push(commands);
        return [
          { stdout: 'a\n' },
          { stderr: 'no', exit_code: 2 },
          { stdout: '', stderr: '', outcome: { type: 'timeout' } },
        ];
      },
    });
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [shell] });
    expect(await agent.run('What is here?').text()).toBe('done');
    expect(ran).toEqual([['ls']]);
    expect(model.calls[0]?.url).toBe('/responses');
    expect(model.bodies[0]?.tools).toEqual([vendor]);
    expect(items(model.bodies[1], 'shell_call')).toEqual([shellCall({ max_output_length: 100 })]);
    expect(items(model.bodies[1], 'shell_call_output')).toEqual([
      {
        ...{ type: 'shell_call_output', call_id: 'call_1', max_output_length: 100 },
        output: [
          { stdout: 'a\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
          { stdout: '', stderr: 'no', outcome: { type: 'exit', exit_code: 2 } },
          { stdout: '', stderr: '', outcome: { type: 'timeout' } },
        ],
      },
    ]);
  });

  it('goes back to the same API in the last request, which has no tools', async () => {
    const model = await startResponses([shellCall({})]);
    const shell = tool({ vendor, effect: 'read', run: () => 'a' });
    const options = { model: 'openai:gpt-x', provider: at(model), tools: [shell] };
    expect(
      await createAgent({ ...options, limits: { maxSteps: 2 } })
        .run('Go.')
        .text(),
    ).toBe('done');
    expect(model.calls.map(({ url }) => url)).toEqual(['/responses', '/responses']);
    expect(items(model.bodies[1], 'shell_call')).toHaveLength(1);
  });

  it('reports the end of a command that was stopped as a failure', async () => {
    const ends = [
      { stdout: 'x', exitCode: null },
      { stdout: 'x', exit_code: '1' },
      { exit_code: 2 },
      { stdout: 'x' },
    ];
    const output = (await outputs(() => ends)) as { outcome: { exit_code: number } }[];
    expect(output.map(({ outcome }) => outcome.exit_code)).toEqual([1, 1, 2, 0]);
  });

  const outputs = async (run: () => unknown, more: object = {}): Promise<unknown> => {
    const model = await startResponses([shellCall({})]);
    const shell = tool({ vendor, run, ...more });
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [shell] });
    expect(await agent.run('Go.').text()).toBe('done');
    return items(model.bodies[1], 'shell_call_output')[0]?.['output'];
  };
  const exit = (exit_code: number): object => ({ outcome: { type: 'exit', exit_code } });

  it('takes a text, which may look like a list', async () => {
    expect(await outputs(() => '[{"a":1}]')).toEqual([
      { stdout: '[{"a":1}]', stderr: '', ...exit(0) },
    ]);
  });

  it('is told of an error as what a command wrote that failed', async () => {
    const noted = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const output = await outputs(() => {
      throw new Error('no such program');
    });
    noted.mockRestore();
    expect(output).toEqual([{ stdout: '', stderr: 'no such program', ...exit(1) }]);
  });

  it('gets a list also where its texts are cut', async () => {
    const long = { stdout: 'x'.repeat(5000), stderr: 'e\u001b[31m' };
    const output = (await outputs(() => [long, long], { resultLimit: 2000 })) as {
      stdout: string;
      stderr: string;
    }[];
    expect(output).toHaveLength(2);
    expect(JSON.stringify(output).length).toBeLessThan(2000);
    expect(output[0]?.stdout).toMatch(/^x{100,}[^]*missing|more/);
    expect(output[0]?.stderr).toBe('e');
  });
});

it('gives back what a local shell wrote', async () => {
  const call: Item = {
    ...{ type: 'local_shell_call', id: 'lsh_1', call_id: 'call_1', status: 'completed' },
    action: { type: 'exec', command: ['ls'], env: {} },
  };
  const model = await startResponses([call]);
  const shell = tool({
    vendor: { type: 'local_shell' },
    run: ({ command }) => `ran ${command.join(' ')}`,
  });
  const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [shell] });
  expect(await agent.run('Go.').text()).toBe('done');
  expect(items(model.bodies[1], 'local_shell_call')).toEqual([call]);
  expect(items(model.bodies[1], 'local_shell_call_output')).toEqual([
    { type: 'local_shell_call_output', call_id: 'call_1', output: 'ran ls' },
  ]);
});

describe('apply_patch', () => {
  const call = (call_id: string, path: string): Item => ({
    ...{ type: 'apply_patch_call', id: `ap_${call_id}`, call_id, status: 'completed' },
    operation: { type: 'update_file', path, diff: '@@' },
  });

  it('says of each patch whether it was applied', async () => {
    const model = await startResponses([call('c1', 'a'), call('c2', 'b'), call('c3', 'c')]);
    const patch = tool({
      vendor: { type: 'apply_patch' },
      run: ({ path }) => {
        if (path === 'a') return 'Updated a.';
        if (path === 'b') return { status: 'failed', output: 'No such file.' };
        throw new Error('The disk is full.');
      },
    });
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [patch] });
    const noted = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    expect(await agent.run('Go.').text()).toBe('done');
    noted.mockRestore();
    const output = (call_id: string, status: string, text: string): object => ({
      ...{ type: 'apply_patch_call_output', call_id, status, output: text },
    });
    expect(items(model.bodies[1], 'apply_patch_call_output')).toEqual([
      output('c1', 'completed', 'Updated a.'),
      output('c2', 'failed', 'No such file.'),
      output('c3', 'failed', 'The disk is full.'),
    ]);
  });
});

describe('computer', () => {
  const vendor = {
    type: 'computer_use_preview',
    environment: 'browser',
    display_width: 1024,
    display_height: 768,
  } as const;
  const call = (more: object): Item => ({
    ...{ type: 'computer_call', id: 'cu_1', call_id: 'call_1', status: 'completed' },
    ...{ pending_safety_checks: [], ...more },
  });
  const click = { type: 'click', x: 1, y: 2, button: 'left' };
  const output = (image_url: string): object => ({
    ...{ type: 'computer_call_output', call_id: 'call_1' },
    output: { type: 'computer_screenshot', image_url },
  });

  it('gives back a screenshot of more than the limit of texts', async () => {
    const model = await startResponses([call({ action: click })]);
    const large = `data:image/png;base64,${Buffer.alloc(400_000, 7).toString('base64')}`;
    const ran: unknown[] = [];
    const computer = tool({
      vendor,
      run: (input) => {
        ran.push(input);
        return { type: 'computer_screenshot', image_url: large };
      },
    });
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [computer] });
    expect(await agent.run('Click.').text()).toBe('done');
    expect(ran).toEqual([click]);
    expect(model.bodies[0]?.tools).toEqual([vendor]);
    expect(items(model.bodies[1], 'computer_call')).toEqual([call({ action: click })]);
    expect(items(model.bodies[1], 'computer_call_output')).toEqual([output(large)]);
  });

  it('gives a list of actions as an object', async () => {
    const actions = [click, { type: 'wait' }];
    const model = await startResponses([call({ actions })]);
    const ran: unknown[] = [];
    const computer = tool({
      vendor: { type: 'computer' },
      run: (input) => {
        ran.push(input);
        return pixel;
      },
    });
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [computer] });
    expect(await agent.run('Click.').text()).toBe('done');
    expect(ran).toEqual([{ actions }]);
    expect(items(model.bodies[1], 'computer_call')).toEqual([call({ actions })]);
    expect(items(model.bodies[1], 'computer_call_output')).toEqual([output(pixel)]);
  });

  it.each([
    ['clicked', /^The computer gave no image: .*not 'clicked'/],
    [
      `data:image/png;base64,${'A'.repeat(9 << 20)}`,
      /returned \d+ bytes of images; \d+ are allowed/,
    ],
  ])('tells the model why there is no screenshot', async (returned, reason) => {
    const model = await startResponses([call({ action: click })]);
    const computer = tool({ vendor, run: () => returned });
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model), tools: [computer] });
    expect(await agent.run('Click.').text()).toBe('done');
    const [made] = items(model.bodies[1], 'computer_call_output');
    expect(made?.output).toMatchObject({
      type: 'computer_screenshot',
      image_url: expect.stringMatching(/^data:image\/png;base64,/) as string,
    });
    const { input } = model.bodies[1] ?? {};
    expect(input?.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(reason) as string,
    });
  });

  const checks = [{ id: 'sc_1', code: 'malicious_instructions', message: 'Look twice.' }];
  const checked = async (approval: 'never' | undefined) => {
    const model = await startResponses([call({ action: click, pending_safety_checks: checks })]);
    const ran: unknown[] = [];
    const computer = tool({
      vendor,
      run: (input) => {
        ran.push(input);
        return pixel;
      },
    });
    const agent = createAgent({
      ...{ model: 'openai:gpt-x', provider: at(model) },
      ...{ tools: [computer], approval },
    });
    const run = agent.run('Click.', { threadId: 't' });
    return { model, ran, run, result: await run.result };
  };

  it('asks about pending safety checks, whatever the policy, and acknowledges what was approved', async () => {
    const { model, ran, run, result } = await checked('never');
    expect(ran).toEqual([]);
    expect(result.status).toBe('interrupted');
    expect(result.interrupts).toMatchObject([
      {
        reason: 'tool_call',
        message: 'May the tool computer run? Look twice.',
        metadata: { toolName: 'computer', arguments: click, pendingSafetyChecks: checks },
      },
    ]);
    expect(model.bodies).toHaveLength(1);
    const next = await run.resume(true);
    expect(await next.text()).toBe('done');
    expect(ran).toEqual([click]);
    expect(items(model.bodies[1], 'computer_call_output')).toEqual([
      { ...output(pixel), acknowledged_safety_checks: checks },
    ]);
  });

  it('gives readers what the next request needs', async () => {
    const { run } = await checked(undefined);
    const events: AGUIEvent[] = [];
    for await (const event of run) events.push(event);
    for await (const event of await run.resume(true)) events.push(event);
    const written = openAIConversationMessageFormat.toApi(foldEvents(events)) as Item[];
    expect(written.filter(({ type }) => type === 'computer_call_output')).toEqual([
      { ...output(pixel), acknowledged_safety_checks: checks },
    ]);
  });

  it('acknowledges nothing that was refused', async () => {
    const { model, ran, run } = await checked(undefined);
    const next = await run.resume({ approved: false, reason: 'never' });
    expect(await next.text()).toBe('done');
    expect(ran).toEqual([]);
    expect(JSON.stringify(model.bodies[1])).not.toContain('acknowledged_safety_checks');
    expect(model.bodies[1]?.input.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringContaining('never') as string,
    });
  });
});
