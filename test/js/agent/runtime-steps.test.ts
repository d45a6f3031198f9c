/* eslint-disable @typescript-eslint/no-explicit-any */
// AgentRuntime: events, executors, steps and the turn of a model.
import { AgentRuntime, MillraceError } from 'millrace';
import { call, requested, scripted, llm, says } from '../../support/agent-states';

it('goes on when a reader of events throws, and surfaces each throw once', async () => {
  const surfaced = jest.spyOn(globalThis, 'queueMicrotask').mockImplementation(() => undefined);
  try {
    const onEvent = () => {
      throw new RangeError('mine');
    };
    const runtime = new AgentRuntime(scripted({}), { onEvent });
    const { events, newState } = await runtime.step(requested('hi'));
    expect(newState.status).toBe('done');
    expect(events).toHaveLength(1);
    expect(surfaced).toHaveBeenCalledTimes(1);
    expect(surfaced.mock.calls[0]?.[0]).toThrow('mine');
    const paused = runtime.interrupt(requested('hi'), 'wait').newState;
    expect((await runtime.resume(paused)).newState.status).toBe('running');
    expect(surfaced).toHaveBeenCalledTimes(2);
  } finally {
    surfaced.mockRestore();
  }
});

it.each([undefined, null, 5, []])('answers no question about %p', async (state: any) => {
  const runtime = new AgentRuntime(scripted({}));
  expect(() => runtime.interrupt(state, 'x')).toThrow('must be an object, not');
  await expect(runtime.resume(state)).rejects.toMatchObject({ code: 'invalid_state' });
  const approved = runtime.approveToolCall(state, { id: 'c1' } as any);
  await expect(approved).rejects.toMatchObject({ code: 'invalid_state' });
});

it('refuses a state that is nested too deep to be written down', async () => {
  const state: any = requested('x');
  let inner = (state.metadata = {} as any);
  for (let depth = 0; depth < 100_000; depth += 1) inner = inner.a = {};
  await expect(new AgentRuntime(scripted({})).step(state)).rejects.toMatchObject({
    code: 'state_not_serializable',
  });
});

it.each([undefined, null])('takes %p for a bad state', async (state: any) => {
  const { newState, events } = await new AgentRuntime(scripted({})).step(state);
  expect(newState.status).toBe('error');
  expect(events).toMatchObject([{ type: 'error', error: { type: 'invalid_state' } }]);
});

describe('executors', () => {
  it('are the agent’s, then the configuration’s, then the engine’s', () => {
    const own = jest.fn();
    const configured = jest.fn();
    const both: any = new AgentRuntime(scripted({}, { executors: { finish: own } }), {
      executors: { finish: configured, call_llm: configured },
    });
    expect(both.executors.finish).toBe(own);
    expect(both.executors.call_llm).toBe(configured);
    expect(typeof both.executors.call_tool).toBe('function');
  });

  it('of a host get instruction, state and context, and give the next state', async () => {
    const finish = jest.fn((_instruction: any, state: any, context: any) => ({
      events: [{ type: 'done', reason: 'completed', finalState: state }],
      newState: { ...state, status: 'done', custom: context.stepContext },
    }));
    const runtime = new AgentRuntime(scripted({}), { executors: { finish } } as any);
    const result = await runtime.step(requested('x'), {
      phase: 'init',
      stepContext: { hasQueuedMessages: false, todos: [1] },
    });
    expect(finish).toHaveBeenCalledTimes(1);
    expect(result.newState.custom).toEqual({ hasQueuedMessages: false, todos: [1] });
    expect(result.newState.status).toBe('done');
  });

  it('of the engine can be called by a custom one', async () => {
    const runtime: any = new AgentRuntime(
      scripted({ user_input: { type: 'request_human_prompt', prompt: 'Name?' } }),
    );
    const builtin = runtime.executors.request_human_prompt;
    const result = await builtin({ type: 'request_human_prompt', prompt: 'Name?' }, requested('x'));
    expect(result.newState.status).toBe('waiting_for_human');
  });

  it.each([undefined, null, 5, {}, { newState: 'x' }, { events: [] }])(
    'that give %p instead of a state end in an error',
    async (nonsense) => {
      const executors: any = { finish: () => nonsense, call_tool: () => nonsense };
      const toolsCalling = [call('c1', 't')];
      for (const instruction of [
        { type: 'finish' },
        { type: 'call_tools_batch', payload: { toolsCalling } },
      ]) {
        const runtime = new AgentRuntime(scripted({ user_input: instruction }), { executors });
        const { events, newState } = await runtime.step(requested('x'));
        expect(events).toMatchObject([{ type: 'error', error: { type: 'invalid_state' } }]);
        expect(newState.status).toBe('error');
      }
    },
  );

  it('that are unknown end in an error', async () => {
    const runtime = new AgentRuntime(scripted({ user_input: { type: 'dance' } }));
    const { events, newState } = await runtime.step(requested('x'));
    expect((events[0] as any).error.message).toContain(
      'No executor found for instruction type: dance',
    );
    expect(newState.status).toBe('error');
  });
});

describe('a step', () => {
  it('counts, stamps, and leaves the given state alone', async () => {
    const state = requested('hi', { stepCount: 5, lastModified: 'then' });
    const before = JSON.stringify(state);
    const agent = scripted({ user_input: llm }, { modelRuntime: () => says({ content: 'x' }) });
    const { newState } = await new AgentRuntime(agent).step(state);
    expect(newState.stepCount).toBe(6);
    expect(newState.lastModified).not.toBe('then');
    expect(JSON.stringify(state)).toBe(before);
    expect(agent.runner.mock.calls[0][0]).toMatchObject({
      phase: 'user_input',
      payload: { isFirstMessage: true },
      session: { stepCount: 6, sessionId: 'op', messageCount: 1 },
    });
  });

  it('is not counted when it finishes', async () => {
    const { events, newState, nextContext } = await new AgentRuntime(scripted({})).step(
      requested('x'),
    );
    expect(newState).toMatchObject({ status: 'done', stepCount: 0 });
    expect(events).toMatchObject([{ type: 'done', reason: 'completed' }]);
    expect(nextContext).toBeUndefined();
  });

  describe('who writes rows into what it is shown', () => {
    const row = { role: 'assistant', content: 'mine' };
    const writes = (write: (messages: any[]) => void) => ({
      runner: (_context: any, state: any) => {
        write(state.messages);
        state.stepCount = 99;
        return { type: 'finish' as const, reason: 'completed' as const };
      },
    });
    const step = async (write: (messages: any[]) => void, config = {}) =>
      (await new AgentRuntime(writes(write), config).step(requested('x'))).newState;

    it('keeps those that it added at the end', async () => {
      const newState = await step((messages) => messages.push(row, row));
      expect(newState.messages).toMatchObject([{ content: 'x' }, row, row]);
      expect(newState).toMatchObject({ status: 'done', stepCount: 0 });
    });

    it('changes nothing of what was there, or where the engine writes', async () => {
      const replaced = await step((messages) => messages.splice(0, 1, row, row));
      expect(replaced.messages).toMatchObject([{ content: 'x' }]);
      const engine = await step((messages) => messages.push(row), { history: 'engine' });
      expect(engine.messages).toMatchObject([{ content: 'x' }]);
    });

    it('ends in an error when they are no rows', async () => {
      const newState = await step((messages) => messages.push('text'));
      expect(newState).toMatchObject({ status: 'error', error: { type: 'invalid_state' } });
      expect(newState.messages).toHaveLength(1);
    });
  });

  it.each([null, undefined, 7, 'finish', {}, [{}], { type: 1 }])(
    'ends in an error when the agent answers %p',
    async (answer) => {
      const runtime = new AgentRuntime({ runner: () => answer } as any);
      const { events, newState } = await runtime.step(requested('x'));
      expect(events).toHaveLength(1);
      expect(events[0]).toMatchObject({ type: 'error', error: { type: 'invalid_instruction' } });
      expect(newState.status).toBe('error');
    },
  );

  it.each([new Error('boom'), null, 'boom', { message: 'boom', body: { a: 1 } }])(
    'turns %p into an error that JSON carries',
    async (thrown) => {
      const runtime = new AgentRuntime({
        runner: () => {
          throw thrown;
        },
      });
      const { events, newState } = await runtime.step(requested('x'));
      expect(events).toHaveLength(1);
      expect((events[0] as any).error).toBeInstanceOf(Error);
      expect(newState.stepCount).toBe(1);
      const stored = JSON.parse(JSON.stringify(newState));
      expect(typeof stored.error.message).toBe('string');
      expect(typeof stored.error.type).toBe('string');
    },
  );

  it('streams a model’s answer, live and at the end', async () => {
    const live: string[] = [];
    const agent = scripted(
      { user_input: llm },
      {
        modelRuntime: () =>
          says(
            { content: 'Hello' },
            { content: ' world' },
            { usage: { totalInputTokens: 3, totalOutputTokens: 2, totalTokens: 5, cost: 0.5 } },
          ),
      },
    );
    const runtime = new AgentRuntime(agent);
    const { events, newState, nextContext } = await runtime.step(requested('hi'), undefined, {
      onEvent: (event) => live.push(event.type),
    });
    expect(events.map(({ type }) => type)).toEqual([
      'llm_start',
      'llm_stream',
      'llm_stream',
      'llm_stream',
      'llm_result',
    ]);
    expect(live).toEqual(events.map(({ type }) => type));
    expect(events[4]).toMatchObject({ result: { content: 'Hello world', tool_calls: [] } });
    expect(newState.messages).toHaveLength(1);
    expect(newState.status).toBe('running');
    expect(newState.usage.llm).toMatchObject({
      apiCalls: 1,
      tokens: { input: 3, output: 2, total: 5 },
    });
    expect(newState.cost.total).toBe(0.5);
    expect(nextContext).toMatchObject({ phase: 'llm_result', payload: { hasToolCalls: false } });
  });

  it('needs a model, and reports a model’s failure first', async () => {
    const without = await new AgentRuntime(scripted({ user_input: llm })).step(requested('hi'));
    expect((without.events[0] as any).error.message).toContain('Model Runtime is required');
    expect(without.events).toHaveLength(1);
    const failing = scripted(
      { user_input: llm },
      {
        // eslint-disable-next-line require-yield
        modelRuntime: async function* () {
          throw new Error('LLM API error');
        },
      },
    );
    const { events } = await new AgentRuntime(failing).step(requested('hi'));
    expect(events[0]).toMatchObject({ type: 'error', error: { message: 'LLM API error' } });
  });

  it('keeps what earlier instructions did when a later one fails', async () => {
    const agent = scripted(
      {
        user_input: [
          { type: 'call_tool', payload: { toolCalling: call('c1', 'one') } },
          { type: 'nope' },
        ],
      },
      { tools: { one: () => ({ ok: true }) } },
    );
    const { newState } = await new AgentRuntime(agent).step(requested('x'));
    expect(newState.status).toBe('error');
    expect(newState.messages.map(({ role }) => role)).toEqual(['user', 'tool']);
  });

  it.each([
    ['state.messages[0].content', { messages: [{ role: 'user', content: 5n }] }],
    ['state.metadata.f', { metadata: { f: () => 1 } }],
    ['state.metadata.n', { metadata: { n: NaN } }],
    ['state.metadata.m', { metadata: { m: new Map() } }],
  ])('refuses a state that JSON cannot carry at %s', async (path, extra) => {
    const state = { ...requested('x'), ...extra } as any;
    const rejected = await new AgentRuntime(scripted({})).step(state).catch((error) => error);
    expect(MillraceError.is(rejected, 'state_not_serializable')).toBe(true);
    expect(rejected.message).toContain(path);
  });

  it('keeps members it does not know', async () => {
    const state = requested('x', { principal: { id: 7, deep: [1, { a: null }] }, big: 1e300 });
    const { newState } = await new AgentRuntime(scripted({})).step(state);
    expect(newState.principal).toEqual({ id: 7, deep: [1, { a: null }] });
  });

  it('refuses what an executor gives back when it is no state', async () => {
    const executors = { finish: () => ({ events: [], newState: { messages: 'none' } }) };
    const { events } = await new AgentRuntime(scripted({}), { executors } as any).step(
      requested('x'),
    );
    expect(events[0]).toMatchObject({ type: 'error', error: { type: 'invalid_state' } });
  });
});

describe('a model turn', () => {
  const definitions = [{ type: 'function', function: { name: 't' } }];
  const answering = (instruction: object) => {
    const modelRuntime = jest.fn((_payload: any) => says({ content: 'yes' }));
    return scripted({ user_input: instruction }, { modelRuntime });
  };

  it('is called with the run’s model and tools where the agent names none', async () => {
    const state = requested('x', {
      tools: definitions,
      modelRuntimeConfig: { model: 'm', provider: 'p', contextWindowTokens: 9 },
    });
    const open = answering(llm);
    await new AgentRuntime(open).step(state);
    expect(open.modelRuntime.mock.calls[0][0]).toEqual({
      ...llm.payload,
      model: 'm',
      provider: 'p',
      tools: definitions,
    });
    const named = { ...llm, payload: { ...llm.payload, model: 'own', tools: [] } };
    const closed = answering(named);
    await new AgentRuntime(closed).step(state);
    expect(closed.modelRuntime.mock.calls[0][0]).toEqual({ ...named.payload, provider: 'p' });
  });

  it('fills the row that waits for its answer', async () => {
    const state = requested('x', { pendingAssistantMessageId: 'seed' });
    state.messages.push({ id: 'seed', role: 'assistant', content: '', metadata: { a: 1 } });
    const { newState } = await new AgentRuntime(answering(llm), { history: 'engine' }).step(state, {
      phase: 'user_input',
    });
    expect(newState.messages.slice(1)).toEqual([
      { id: 'seed', role: 'assistant', content: 'yes', metadata: { a: 1 } },
    ]);
    expect(newState).not.toHaveProperty('pendingAssistantMessageId');
  });

  it('says in every context which operation it belongs to', async () => {
    const getOperation = () => ({ context: {} });
    const runtime = new AgentRuntime(answering(llm), { operationId: 'o1', getOperation });
    const { newState, nextContext } = await runtime.step(requested('x'));
    expect(nextContext?.operationId).toBe('o1');
    const { newState: paused } = runtime.interrupt(newState, 'pause');
    expect((await runtime.resume(paused)).nextContext?.operationId).toBe('o1');
  });
});
