import {
  AgentRuntime,
  MillraceError,
  createAgentExecutors,
  createAgentToolsEngine,
  tool,
} from 'millrace';

const add = tool<{ a: number; b: number }>({
  name: 'add',
  description: 'Adds.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  effect: 'read',
  run: ({ a, b }, { idempotencyKey }) => `${a + b} ${idempotencyKey}`,
});

const call = (name: string, args: object) => ({
  id: 'c1',
  identifier: name,
  apiName: name,
  arguments: JSON.stringify(args),
  type: 'default',
});

const runtimeOf = (tools: ReturnType<typeof createAgentToolsEngine>['tools']) =>
  new AgentRuntime(
    { tools, runner: () => ({ type: 'finish', reason: 'completed' }) },
    { history: 'engine' },
  );

const contentOf = async (runtime: AgentRuntime, name: string, args: object) => {
  const state = AgentRuntime.createInitialState({ operationId: 'op' });
  const { newState } = await runtime.approveToolCall(state, call(name, args));
  return newState.messages[0]?.content;
};

describe('tools of the host', () => {
  it('become tools, definitions and manifests, sorted by name', () => {
    const zip = tool({ name: 'zip', approve: true, run: () => 1 });
    const engine = createAgentToolsEngine({ tools: [zip, add] });
    expect(Object.keys(engine.tools)).toEqual(['add', 'zip']);
    expect(engine.definitions[0]).toMatchObject({
      type: 'function',
      function: { name: 'add', description: 'Adds.', parameters: add.input },
    });
    expect(engine.toolManifestMap).toMatchObject({
      add: { humanIntervention: 'never', effect: 'read' },
      zip: { humanIntervention: 'required', effect: 'once' },
    });
  });

  it('get a checked input, and the model reads what is wrong with it', async () => {
    const { tools } = createAgentToolsEngine({ tools: [add] });
    const runtime = runtimeOf(tools);
    expect(await contentOf(runtime, 'add', { a: 1, b: 2 })).toBe('3 c1');
    expect(await contentOf(runtime, 'add', { a: 'one' })).toContain('not valid');
  });

  it('take schemas of libraries, with what these make of the input', async () => {
    const input = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          (value as { n?: unknown }).n === undefined
            ? { issues: [{ message: 'n is missing' }] }
            : { value: { n: Number((value as { n: unknown }).n) } },
      },
    };
    const twice = tool<{ n: number }>({ name: 'twice', input, run: ({ n }) => n * 2 });
    const runtime = runtimeOf(createAgentToolsEngine({ tools: [twice] }).tools);
    expect(await contentOf(runtime, 'twice', { n: '4' })).toBe('8');
    expect(await contentOf(runtime, 'twice', {})).toContain('n is missing');
  });

  it('have a limit of time', async () => {
    const slow = tool({ name: 'slow', timeoutMs: 10, run: () => new Promise(() => undefined) });
    const runtime = runtimeOf(createAgentToolsEngine({ tools: [slow] }).tools);
    expect(await contentOf(runtime, 'slow', {})).toContain('did not answer within 10 ms');
  });

  it('are refused with a bad or a repeated name', () => {
    expect(() => tool({ name: 'no spaces', run: () => 1 })).toThrow(MillraceError);
    expect(() => createAgentToolsEngine({ tools: [add, add] })).toThrow('two tools');
  });
});

it('createAgentExecutors gives the engine’s executors', async () => {
  const executors = createAgentExecutors({ runner: () => [] });
  const state = AgentRuntime.createInitialState({ operationId: 'op' });
  const { newState } = (await executors.finish?.(
    { type: 'finish', reason: 'completed' },
    state,
  )) ?? { newState: undefined };
  expect(newState?.status).toBe('done');
});
