import { setTimeout as sleep } from 'node:timers/promises';

import {
  AgentRuntime,
  GeneralChatAgent,
  MillraceError,
  builtinTools,
  createAgent,
  createAgentExecutors,
  createAgentToolsEngine,
  invokeBuiltinTool,
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
    const zip = tool({ name: 'zip', approval: true, run: () => 1 });
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

  it('run by themselves, with a context of their own', () => {
    const { signal } = new AbortController();
    const reported = tool({
      name: 'told',
      run: (_input, context) => {
        context.progress('half');
        return [context.signal.aborted, context.signal === signal, context.toolCallId !== ''];
      },
    });
    expect(reported.run({})).toEqual([false, false, true]);
    expect(reported.run({}, { signal })).toEqual([false, true, true]);
    class Own {
      name = 'own';
      run = () => this.name;
    }
    const own = new Own();
    expect(tool(own)).toBe(own);
    const [calculator] = builtinTools({ calculator: true });
    expect(calculator && tool(calculator)).toBe(calculator);
  });

  it('have a limit of time', async () => {
    const slow = tool({ name: 'slow', timeoutMs: 10, run: () => new Promise(() => undefined) });
    const runtime = runtimeOf(createAgentToolsEngine({ tools: [slow] }).tools);
    expect(await contentOf(runtime, 'slow', {})).toContain('did not answer within 10 ms');
  });

  it('learn that their time is over, whoever limits it', async () => {
    const signals: AbortSignal[] = [];
    const hang = (_input: unknown, { signal }: { signal: AbortSignal }) => {
      signals.push(signal);
      return new Promise(() => undefined);
    };
    const { tools } = createAgentToolsEngine({
      tools: [tool({ name: 'short', timeoutMs: 10, run: hang }), tool({ name: 'long', run: hang })],
    });
    expect(await contentOf(runtimeOf(tools), 'short', {})).toContain('within 10 ms');
    const config = { history: 'engine', toolTimeoutMs: 10 } as const;
    const agent = { tools, runner: () => ({ type: 'finish', reason: 'completed' }) as const };
    const runtime = new AgentRuntime(agent, config);
    expect(await contentOf(runtime, 'long', {})).toContain('within 10 ms');
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('run one after the other where they say so', async () => {
    const order: string[] = [];
    const slow = (name: string) => async () => {
      order.push(`${name} begins`);
      await sleep(5);
      order.push(`${name} ends`);
      return name;
    };
    const { tools, toolManifestMap } = createAgentToolsEngine({
      tools: [
        tool({ name: 'a', ordered: true, run: slow('a') }),
        tool({ name: 'b', ordered: true, run: slow('b') }),
        tool({ name: 'c', serializeBy: 'file', run: slow('c') }),
      ],
    });
    const turn = async (...toolsCalling: ReturnType<typeof call>[]) => {
      order.length = 0;
      const agent = {
        tools,
        runner: () => ({
          type: 'call_tools_batch' as const,
          payload: { parentMessageId: '', toolsCalling },
        }),
      };
      const state = AgentRuntime.createInitialState({ operationId: 'op', toolManifestMap });
      await new AgentRuntime(agent, { history: 'engine' }).step(state);
      return order.map((text) => text.split(' ')[1]);
    };
    const inTurn = ['begins', 'ends', 'begins', 'ends'];
    expect(await turn(call('a', {}), { ...call('b', {}), id: 'c2' })).toEqual(inTurn);
    const file = { file: 'x' };
    expect(await turn(call('c', file), { ...call('c', file), id: 'c2' })).toEqual(inTurn);
    const other = { ...call('c', { file: 'y' }), id: 'c2' };
    expect((await turn(call('c', file), other)).slice(0, 2)).toEqual(['begins', 'begins']);
  });

  it('of plugins keep their policies, by identifier and function', async () => {
    const { tools, toolManifestMap } = createAgentToolsEngine({
      tools: [
        tool({ name: 'bank____look', effect: 'read', run: () => 1 }),
        tool({ name: 'bank____pay', approval: true, run: () => 1 }),
      ],
    });
    expect(Object.keys(toolManifestMap)).toEqual(['bank']);
    const state = AgentRuntime.createInitialState({ operationId: 'op', toolManifestMap });
    const agent = Object.assign(new GeneralChatAgent(), { tools });
    const decided = async (apiName: string) => {
      const toolsCalling = [{ ...call('bank', {}), apiName }];
      const payload = { hasToolsCalling: true, toolsCalling, parentMessageId: 'm' };
      return agent.runner({ phase: 'llm_result', payload, session: {} } as never, state);
    };
    expect(await decided('look')).toMatchObject([{ type: 'call_tool' }]);
    expect(await decided('pay')).toMatchObject([{ type: 'request_human_approve' }]);
  });

  it('are tried again as often as they say', async () => {
    const attempts = async (retries: number | undefined) => {
      let count = 0;
      const busy = tool({
        name: 'busy',
        effect: 'read',
        ...(retries !== undefined && { retries }),
        run: () => {
          count += 1;
          throw Object.assign(new Error('busy'), { retryable: true });
        },
      });
      const { tools, toolManifestMap } = createAgentToolsEngine({ tools: [busy] });
      const state = AgentRuntime.createInitialState({ operationId: 'op', toolManifestMap });
      await runtimeOf(tools).approveToolCall(state, call('busy', {}));
      return count;
    };
    expect(await attempts(0)).toBe(1);
    expect(await attempts(1)).toBe(2);
  });

  it.each<[string, () => unknown, string]>([
    ['an error', () => new Error('no disk'), 'no disk'],
    ['a response', () => new Response('hello'), 'returned a Response'],
    ['a map', () => new Map([[1, 2]]), 'returned a Map'],
    ['an iterator', () => (async function* () {})(), 'returned an AsyncGenerator'],
    ['bytes', () => new Uint8Array(3), 'returned a Uint8Array'],
    ['a buffer', () => Buffer.from('hello'), 'returned a Uint8Array'],
    ['a function', () => () => 1, 'returned a Function'],
  ])('that return %s have failed', async (_name, run, expected) => {
    const one = tool({ name: 'one', run });
    expect(await contentOf(runtimeOf({ one: run }), 'one', {})).toContain(expected);
    const { tools } = createAgentToolsEngine({ tools: [one] });
    const runtime = runtimeOf(tools);
    expect(await contentOf(runtime, 'one', {})).toContain(expected);
    const payload = { identifier: 'one', apiName: 'one', arguments: '{}' };
    const { success, content } = await invokeBuiltinTool(payload, [one]);
    expect({ success, content }).toMatchObject({ success: false });
    expect(content).toContain(expected);
  });

  it('may return plain values of every kind', async () => {
    const { tools } = createAgentToolsEngine({
      tools: {
        empty: { run: () => ({}) },
        bare: { run: () => Object.create(null) as object },
        nested: { run: () => ({ error: new RangeError('far') }) },
        dated: { run: () => new Date(0) },
      },
    });
    const runtime = runtimeOf(tools);
    expect(await contentOf(runtime, 'empty', {})).toBe('{}');
    expect(await contentOf(runtime, 'bare', {})).toBe('{}');
    expect(await contentOf(runtime, 'nested', {})).toContain('far');
    expect(await contentOf(runtime, 'dated', {})).toContain('1970');
  });

  it('have the names of a record’s keys', () => {
    const named = createAgentToolsEngine({ tools: { plus: add, nothing: tool({ run: () => 1 }) } });
    expect(Object.keys(named.tools)).toEqual(['nothing', 'plus']);
    const inMap = createAgentToolsEngine({ tools: new Map([['plus', add]]) });
    expect(Object.keys(inMap.tools)).toEqual(['plus']);
    for (const tools of [{ 'no spaces': add }, [{ run: () => 1 }], { a: null }, { a: {} }, 7]) {
      expect(() => createAgentToolsEngine({ tools: tools as never })).toThrow(MillraceError);
    }
    expect(() => tool(null as never)).toThrow('a function `run`');
  });

  it('may be instances of classes', async () => {
    class Counter {
      #count = 0;
      readonly description = 'Counts.';
      run(): number {
        return (this.#count += 1);
      }
    }
    const { tools, definitions } = createAgentToolsEngine({ tools: { count: new Counter() } });
    const runtime = runtimeOf(tools);
    expect(await contentOf(runtime, 'count', {})).toBe('1');
    expect(await contentOf(runtime, 'count', {})).toBe('2');
    expect(definitions).toMatchObject([{ function: { name: 'count', description: 'Counts.' } }]);
  });

  it.each([Infinity, 2 ** 40, 0])('may take their time: timeoutMs %d', async (timeoutMs) => {
    const slow = tool({ name: 'slow', timeoutMs, run: () => sleep(30, 'done') });
    const { tools } = createAgentToolsEngine({ tools: [slow] });
    expect(await contentOf(runtimeOf(tools), 'slow', {})).toBe('done');
    const agent = createAgent({
      model: 'demo:demo',
      tools: [slow],
      limits: { maxSteps: Infinity, maxDurationMs: Infinity, maxRepeats: Infinity },
    });
    expect(agent).toBeDefined();
  });

  it('have limits that are limits', () => {
    const late = tool({ name: 'late', timeoutMs: -1, run: () => 1 });
    expect(() => createAgentToolsEngine({ tools: [late] })).toThrow('timeoutMs');
    expect(() => createAgent({ model: 'demo:demo', tools: [late] })).toThrow('timeoutMs');
  });

  it('may abort their own signal and throw', async () => {
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', hear);
    const controller = new AbortController();
    const payload = { identifier: 'own', apiName: 'own', arguments: '{}' };
    const own = tool({
      name: 'own',
      run: () => {
        controller.abort();
        throw new Error('mine');
      },
    });
    const result = await invokeBuiltinTool(payload, [own], { signal: controller.signal });
    expect(result).toMatchObject({ success: false });
    await sleep(10);
    process.off('unhandledRejection', hear);
    expect(unhandled).toEqual([]);
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
