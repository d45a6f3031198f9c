// The scripts are plain data of many shapes, as JavaScript callers give them.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { createHash } from 'node:crypto';

import { AgentRuntime, createModelRuntime, GeneralChatAgent, MillraceError } from 'millrace';

import { startModel } from '../../support/scripted-model';

const call = (id: string, apiName: string, args = '{}') => ({
  id,
  identifier: apiName,
  apiName,
  arguments: args,
  type: 'default',
});

const asked = (content: string, extra = {}) =>
  AgentRuntime.createInitialState({
    operationId: 'op',
    messages: [{ role: 'user', content }],
    ...extra,
  });

// An agent that follows a script: what it answers for each phase.
const scripted = (answers: Record<string, unknown>, rest = {}): any => ({
  runner: jest.fn(
    (context: any) => answers[context.phase] ?? { type: 'finish', reason: 'completed' },
  ),
  ...rest,
});

const llm = { type: 'call_llm', payload: { messages: [{ role: 'user', content: 'hi' }] } };

async function* says(...chunks: object[]) {
  yield* chunks;
}

it('goes on when a reader of events throws, and surfaces each throw once', async () => {
  const surfaced = jest.spyOn(globalThis, 'queueMicrotask').mockImplementation(() => undefined);
  try {
    const onEvent = () => {
      throw new RangeError('mine');
    };
    const runtime = new AgentRuntime(scripted({}), { onEvent });
    const { events, newState } = await runtime.step(asked('hi'));
    expect(newState.status).toBe('done');
    expect(events).toHaveLength(1);
    expect(surfaced).toHaveBeenCalledTimes(1);
    expect(surfaced.mock.calls[0]?.[0]).toThrow('mine');
    const paused = runtime.interrupt(asked('hi'), 'wait').newState;
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
  const state: any = asked('x');
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
    const result = await runtime.step(asked('x'), {
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
    const result = await builtin({ type: 'request_human_prompt', prompt: 'Name?' }, asked('x'));
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
        const { events, newState } = await runtime.step(asked('x'));
        expect(events).toMatchObject([{ type: 'error', error: { type: 'invalid_state' } }]);
        expect(newState.status).toBe('error');
      }
    },
  );

  it('that are unknown end in an error', async () => {
    const runtime = new AgentRuntime(scripted({ user_input: { type: 'dance' } }));
    const { events, newState } = await runtime.step(asked('x'));
    expect((events[0] as any).error.message).toContain(
      'No executor found for instruction type: dance',
    );
    expect(newState.status).toBe('error');
  });
});

describe('a step', () => {
  it('counts, stamps, and leaves the given state alone', async () => {
    const state = asked('hi', { stepCount: 5, lastModified: 'then' });
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
    const { events, newState, nextContext } = await new AgentRuntime(scripted({})).step(asked('x'));
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
      (await new AgentRuntime(writes(write), config).step(asked('x'))).newState;

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
      const { events, newState } = await runtime.step(asked('x'));
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
      const { events, newState } = await runtime.step(asked('x'));
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
    const { events, newState, nextContext } = await runtime.step(asked('hi'), undefined, {
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
    const without = await new AgentRuntime(scripted({ user_input: llm })).step(asked('hi'));
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
    const { events } = await new AgentRuntime(failing).step(asked('hi'));
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
    const { newState } = await new AgentRuntime(agent).step(asked('x'));
    expect(newState.status).toBe('error');
    expect(newState.messages.map(({ role }) => role)).toEqual(['user', 'tool']);
  });

  it.each([
    ['state.messages[0].content', { messages: [{ role: 'user', content: 5n }] }],
    ['state.metadata.f', { metadata: { f: () => 1 } }],
    ['state.metadata.n', { metadata: { n: NaN } }],
    ['state.metadata.m', { metadata: { m: new Map() } }],
  ])('refuses a state that JSON cannot carry at %s', async (path, extra) => {
    const state = { ...asked('x'), ...extra } as any;
    const refused = await new AgentRuntime(scripted({})).step(state).catch((error) => error);
    expect(MillraceError.is(refused, 'state_not_serializable')).toBe(true);
    expect(refused.message).toContain(path);
  });

  it('keeps members it does not know', async () => {
    const state = asked('x', { principal: { id: 7, deep: [1, { a: null }] }, big: 1e300 });
    const { newState } = await new AgentRuntime(scripted({})).step(state);
    expect(newState.principal).toEqual({ id: 7, deep: [1, { a: null }] });
  });

  it('refuses what an executor gives back when it is no state', async () => {
    const executors = { finish: () => ({ events: [], newState: { messages: 'none' } }) };
    const { events } = await new AgentRuntime(scripted({}), { executors } as any).step(asked('x'));
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
    const state = asked('x', {
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
    const state = asked('x', { pendingAssistantMessageId: 'seed' });
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
    const { newState, nextContext } = await runtime.step(asked('x'));
    expect(nextContext?.operationId).toBe('o1');
    const { newState: paused } = runtime.interrupt(newState, 'pause');
    expect((await runtime.resume(paused)).nextContext?.operationId).toBe('o1');
  });
});

describe('tools', () => {
  it('run with their arguments and give a row', async () => {
    const calculator = jest.fn().mockResolvedValue({ result: 42 });
    const runtime = new AgentRuntime(scripted({}, { tools: { calculator } }));
    const { events, newState } = await runtime.approveToolCall(
      AgentRuntime.createInitialState({ operationId: 'op' }),
      call('c1', 'calculator', '{"expression":"2+2"}'),
    );
    expect(calculator).toHaveBeenCalledWith({ expression: '2+2' });
    expect(events).toEqual([{ type: 'tool_result', id: 'c1', result: { result: 42 } }]);
    expect(newState.messages).toMatchObject([
      { role: 'tool', tool_call_id: 'c1', content: '{"result":42}' },
    ]);
    expect(newState.usage.tools).toMatchObject({
      totalCalls: 1,
      byTool: [{ name: 'calculator', calls: 1, errors: 0 }],
    });
  });

  it('that are unknown, fail or get no JSON tell the model, and the run goes on', async () => {
    const agent = scripted(
      {
        user_input: {
          type: 'call_tools_batch',
          payload: {
            toolsCalling: [
              call('c1', 'missing'),
              call('c2', 'failing'),
              call('c3', 'failing', '{"half'),
              call('c4', 'silent'),
              call('c5', 'odd'),
            ],
          },
        },
      },
      {
        tools: {
          failing: () => Promise.reject(new Error('disk full')),
          silent: () => undefined,
          odd: () => {
            throw null;
          },
        },
      },
    );
    const { events, newState, nextContext } = await new AgentRuntime(agent).step(asked('x'));
    expect(events.find(({ type }) => type === 'error')).toMatchObject({
      error: { message: 'Tool not found: missing' },
    });
    expect(newState.status).toBe('running');
    expect(newState.messages.slice(1).map(({ tool_call_id }) => tool_call_id)).toEqual([
      'c1',
      'c2',
      'c3',
      'c4',
      'c5',
    ]);
    expect(newState.messages[2]?.content).toContain('disk full');
    expect(nextContext).toMatchObject({ phase: 'tools_batch_result', payload: { toolCount: 5 } });
    expect(newState.usage.tools.byTool.find(({ name }) => name === 'failing')?.errors).toBe(2);
  });

  it('take OpenAI’s shape of a batch', async () => {
    const tool = jest.fn().mockResolvedValue(1);
    const agent = scripted(
      {
        user_input: {
          type: 'call_tools_batch',
          payload: [{ id: 'a', type: 'function', function: { name: 'tool', arguments: '{}' } }],
        },
      },
      { tools: { tool } },
    );
    const { nextContext } = await new AgentRuntime(agent).step(asked('x'));
    expect(tool).toHaveBeenCalledTimes(1);
    expect(nextContext?.payload).toMatchObject({ toolCount: 1 });
  });

  it('are counted once each, by hooks that see the growing totals', async () => {
    const agent = scripted(
      {
        user_input: {
          type: 'call_tools_batch',
          payload: { toolsCalling: [call('a', 'x'), call('b', 'x'), call('c', 'x')] },
        },
      },
      {
        tools: { x: () => 1 },
        calculateUsage: (_kind: string, _result: any, previous: any) => ({
          ...previous,
          tools: { ...previous.tools, totalCalls: previous.tools.totalCalls + 1 },
        }),
        calculateCost: ({ previousCost }: any) => ({
          ...previousCost,
          total: previousCost.total + 5,
        }),
      },
    );
    const state = asked('x');
    state.usage.tools.totalCalls = 10;
    const { newState } = await new AgentRuntime(agent).step(state);
    expect(newState.usage.tools.totalCalls).toBe(13);
    expect(newState.cost.total).toBe(15);
  });

  it('of a custom call_tool executor are merged by what each adds', async () => {
    const agent = scripted({
      user_input: {
        type: 'call_tools_batch',
        payload: { toolsCalling: [call('a', 'x'), call('b', 'x')] },
      },
    });
    const state = asked('x');
    state.usage.tools.totalCalls = 10;
    state.messages.unshift({ role: 'tool', tool_call_id: 'old', content: '' });
    const executors = {
      call_tool: (instruction: any, given: any) => ({
        events: [{ type: 'tool_result', id: instruction.payload.toolCalling.id, result: 1 }],
        newState: {
          ...given,
          messages: [
            ...given.messages,
            { role: 'tool', tool_call_id: instruction.payload.toolCalling.id, content: '1' },
          ],
          usage: {
            ...given.usage,
            tools: { ...given.usage.tools, totalCalls: given.usage.tools.totalCalls + 1 },
          },
        },
      }),
    };
    const { newState, events } = await new AgentRuntime(agent, { executors } as any).step(state);
    expect(newState.usage.tools.totalCalls).toBe(12);
    expect(newState.messages.map(({ tool_call_id }) => tool_call_id)).toEqual([
      'old',
      undefined,
      'a',
      'b',
    ]);
    expect(events).toHaveLength(2);
  });

  it('keep to lanes and to the limit of calls at a time', async () => {
    const log: string[] = [];
    let running = 0;
    let most = 0;
    const tool = async ({ path, ms = 5 }: any) => {
      most = Math.max(most, ++running);
      log.push(`+${path}`);
      await new Promise((resolve) => setTimeout(resolve, ms));
      log.push(`-${path}`);
      running -= 1;
      return path;
    };
    const edits = ['a', 'a', 'b', 'c'].map((path, index) =>
      call(`c${index}`, 'edit', JSON.stringify({ path })),
    );
    const agent = scripted(
      { user_input: { type: 'call_tools_batch', payload: { toolsCalling: edits } } },
      { tools: { edit: tool } },
    );
    const toolManifestMap = { edit: { api: [{ name: 'edit', serializeBy: 'path' }] } };
    await new AgentRuntime(agent, { concurrency: 2 }).step(asked('x', { toolManifestMap }));
    expect(most).toBe(2);
    const first = log.indexOf('-a');
    expect(log.filter((entry) => entry === '+a')).toHaveLength(2);
    expect(log.lastIndexOf('+a')).toBeGreaterThan(first);

    log.length = 0;
    const ordered = { edit: { api: [{ name: 'edit', ordered: true }] } };
    await new AgentRuntime(agent).step(asked('x', { toolManifestMap: ordered }));
    expect(log).toEqual(['+a', '-a', '+a', '-a', '+b', '-b', '+c', '-c']);
  });

  it('have a limit of time and of size', async () => {
    const agent = scripted(
      {
        user_input: {
          type: 'call_tools_batch',
          payload: { toolsCalling: [call('a', 'never'), call('b', 'huge')] },
        },
      },
      { tools: { never: () => new Promise(() => undefined), huge: () => 'x'.repeat(200) } },
    );
    const runtime = new AgentRuntime(agent, { toolTimeoutMs: 20, toolResultLimit: 100 });
    const { newState } = await runtime.step(asked('x'));
    expect(newState.messages[1]?.content).toContain('did not answer within 20 ms');
    expect(newState.messages[2]?.content).toContain('returned 200 characters');
  });

  it('of the client park the run until the result is there', async () => {
    const agent = scripted({
      user_input: [
        { type: 'call_tool', payload: { toolCalling: call('c1', 'screen') } },
        { type: 'request_human_approve', pendingToolsCalling: [call('c2', 'rm')] },
      ],
    });
    const runtime = new AgentRuntime(agent);
    const parked = await runtime.step(asked('x', { toolSourceMap: { screen: 'client' } }));
    expect(parked.newState.status).toBe('waiting_for_async_tool');
    expect(parked.newState.pendingToolsCalling).toMatchObject([{ id: 'c1' }]);
    expect(parked.newState.deferredHumanApproval).toMatchObject({ type: 'request_human_approve' });
    const { newState } = await runtime.decide(parked.newState, {
      action: 'tool_result',
      toolCallId: 'c1',
      result: { width: 5 },
    });
    expect(newState.messages[1]).toMatchObject({ tool_call_id: 'c1', content: '{"width":5}' });
    expect(agent.runner.mock.calls[1][0]).toMatchObject({ phase: 'tool_result' });
  });
});

describe('limits', () => {
  const spending = (total: number, rest = {}) =>
    scripted(
      { user_input: llm },
      {
        modelRuntime: () => says({ content: 'x' }),
        calculateCost: ({ previousCost }: any) => ({ ...previousCost, total }),
        ...rest,
      },
    );
  const limited = (onExceeded: string) =>
    asked('x', { costLimit: { maxTotalCost: 5, onExceeded } });

  it('of cost stop, interrupt or warn', async () => {
    const stopped = await new AgentRuntime(spending(10)).step(limited('stop'));
    expect(stopped.newState.status).toBe('done');
    expect(stopped.events[0]).toMatchObject({
      type: 'done',
      reason: 'cost_limit_exceeded',
      reasonDetail: expect.stringContaining('Cost limit exceeded'),
    });
    const paused = await new AgentRuntime(spending(10)).step(limited('interrupt'));
    expect(paused.newState).toMatchObject({
      status: 'interrupted',
      interruption: { canResume: true },
    });
    expect(paused.events[0]).toMatchObject({
      type: 'interrupted',
      metadata: { costExceeded: true, currentCost: 10, limitCost: 5 },
    });
    const warned = await new AgentRuntime(spending(10)).step(limited('warn'));
    expect((warned.events[0] as any).error.message).toContain('Warning: Cost limit exceeded');
    expect(warned.newState.status).toBe('running');
    expect(warned.nextContext?.phase).toBe('llm_result');
    const again = await new AgentRuntime(spending(10)).step(warned.newState);
    expect(again.events.some(({ type }) => type === 'error')).toBe(false);
  });

  it('of cost are checked before a call, and by part', async () => {
    const modelRuntime = jest.fn(() => says({ content: 'x' }));
    const state = asked('x', { costLimit: { maxLlmCost: 1, onExceeded: 'stop' } });
    state.cost.llm.total = 2;
    const { newState } = await new AgentRuntime(spending(0, { modelRuntime })).step(state);
    expect(newState.status).toBe('done');
    expect(modelRuntime).not.toHaveBeenCalled();
  });

  it('of tokens and time end the run with a reason', async () => {
    const tokens = asked('x', { limits: { maxTokens: 10 } });
    tokens.usage.llm.tokens.total = 11;
    const first = await new AgentRuntime(spending(0)).step(tokens);
    expect(first.events[0]).toMatchObject({ type: 'done', reason: 'token_limit_exceeded' });
    const late = asked('x', { limits: { maxDurationMs: 10, startedAtMs: Date.now() - 50 } });
    const second = await new AgentRuntime(spending(0)).step(late);
    expect(second.events[0]).toMatchObject({ type: 'done', reason: 'timeout' });
  });

  it('of steps force a last answer without tools', async () => {
    const modelRuntime = jest.fn((_payload: any) => says({ content: 'bye' }));
    const agent = scripted(
      { user_input: { ...llm, payload: { ...llm.payload, tools: [{ name: 't' }] } } },
      { modelRuntime },
    );
    const { newState, nextContext } = await new AgentRuntime(agent).step(
      asked('x', { maxSteps: 2, stepCount: 2 }),
    );
    expect(newState).toMatchObject({ forceFinish: true, stepCount: 3 });
    const payload = modelRuntime.mock.calls[0]?.[0];
    expect(payload).not.toHaveProperty('tools');
    expect(payload.messages).toHaveLength(2);
    expect(nextContext).toMatchObject({ payload: { hasToolsCalling: false } });
  });

  it('of repeats end the use of tools', async () => {
    const tool_calls = [
      { id: 'c', type: 'function', function: { name: 'again', arguments: '{"b":1,"a":2}' } },
    ];
    const agent = scripted({ user_input: llm }, { modelRuntime: () => says({ tool_calls }) });
    let state = asked('x', { limits: { maxRepeats: 3 } });
    for (let round = 1; round <= 3; ++round) {
      const { newState, nextContext } = await new AgentRuntime(agent).step(state);
      expect((nextContext?.payload as any).hasToolCalls).toBe(round < 3);
      state = newState;
    }
    expect(state.toolCallRepeatGuard?.stoppedByRepeatLimit).toBe(true);
  });
});

describe('people', () => {
  const approving = (...calls: object[]) =>
    scripted(
      {
        user_input: { type: 'request_human_approve', pendingToolsCalling: calls },
        tool_result: { type: 'finish', reason: 'completed' },
      },
      { tools: { rm: jest.fn().mockResolvedValue('gone') } },
    );

  it('approve exactly the call that was shown, once', async () => {
    const agent = approving(call('c1', 'rm', '{"path":"a"}'));
    const runtime = new AgentRuntime(agent);
    const { newState, events } = await runtime.step(asked('x'));
    expect(events).toMatchObject([
      { type: 'human_approve_required', operationId: 'op' },
      { type: 'tool_pending', toolCalls: [{ id: 'c1' }] },
    ]);
    expect(newState.status).toBe('waiting_for_human');
    expect(newState.usage.humanInteraction.approvalRequests).toBe(1);
    const shown = '2:rm2:rm12:{"path":"a"}';
    expect(newState.pendingApprovals?.[0]?.hash).toBe(
      createHash('sha256').update(shown).digest('hex'),
    );

    const other = await runtime.approveToolCall(newState, call('c1', 'rm', '{"path":"/"}'));
    expect(other.events[0]).toMatchObject({ type: 'error', error: { type: 'approval_mismatch' } });
    expect(other.newState.status).toBe('waiting_for_human');
    expect(agent.tools.rm).not.toHaveBeenCalled();

    const right = await runtime.approveToolCall(newState, call('c1', 'rm', '{"path":"a"}'));
    expect(agent.tools.rm).toHaveBeenCalledWith({ path: 'a' });
    expect(right.newState.pendingToolsCalling).toBeUndefined();
    expect(right.nextContext?.phase).toBe('tool_result');

    const twice = await runtime.approveToolCall(right.newState, call('c1', 'rm', '{"path":"a"}'));
    expect(twice.events[0]).toMatchObject({ error: { type: 'approval_answered' } });
    expect(agent.tools.rm).toHaveBeenCalledTimes(1);
  });

  it('approve with edits: both sets of arguments are kept', async () => {
    const agent = approving(call('c1', 'rm', '{"path":"/"}'));
    const runtime = new AgentRuntime(agent);
    const { newState } = await runtime.step(asked('x'));
    const done = await runtime.decide(newState, {
      action: 'approve',
      toolCallId: 'c1',
      editedArguments: '{"path":"/tmp/x"}',
    });
    expect(agent.tools.rm).toHaveBeenCalledWith({ path: '/tmp/x' });
    expect(done.newState.pendingApprovals?.[0]).toMatchObject({
      status: 'approved',
      original: { arguments: '{"path":"/"}' },
      edited: { arguments: '{"path":"/tmp/x"}' },
    });
  });

  it('keep the run waiting while a call is open', async () => {
    const agent = approving(call('c1', 'rm'), call('c2', 'rm'));
    const runtime = new AgentRuntime(agent);
    const { newState } = await runtime.step(asked('x'));
    const first = await runtime.decide(newState, { action: 'approve', toolCallId: 'c1' });
    expect(first.newState.status).toBe('waiting_for_human');
    expect(first.nextContext).toBeUndefined();
    const second = await runtime.decide(first.newState, { action: 'approve', toolCallId: 'c2' });
    expect(second.newState.status).toBe('running');
    expect(second.newState.messages.map(({ tool_call_id }) => tool_call_id)).toEqual([
      undefined,
      'c1',
      'c2',
    ]);
  });

  it('approve all', async () => {
    const agent = approving(call('c1', 'rm'), call('c2', 'rm'));
    const runtime = new AgentRuntime(agent);
    const { newState } = await runtime.step(asked('x'));
    const done = await runtime.decide(newState, { action: 'approve_all' });
    expect(agent.tools.rm).toHaveBeenCalledTimes(2);
    expect(done.nextContext?.phase).toBe('tools_batch_result');
  });

  it('reject: the run halts; reject and continue: the model reads it', async () => {
    const agent = approving(call('c1', 'rm'), call('c2', 'rm'));
    const runtime = new AgentRuntime(agent);
    const { newState } = await runtime.step(asked('x'));
    const halted = await runtime.decide(newState, {
      action: 'reject',
      toolCallId: 'c1',
      reason: 'too risky',
    });
    expect(halted.newState).toMatchObject({
      status: 'interrupted',
      interruption: { reason: 'human_rejected', canResume: false },
    });
    expect(halted.newState.messages[1]?.content).toContain('too risky');
    expect(halted.newState.messages[2]).toMatchObject({
      pluginIntervention: { status: 'aborted' },
    });

    const once = await runtime.decide(newState, {
      action: 'reject_and_continue',
      toolCallId: 'c1',
    });
    expect(once.newState.status).toBe('waiting_for_human');
    agent.runner.mockReturnValueOnce({ type: 'finish', reason: 'completed' });
    const twice = await runtime.decide(once.newState, {
      action: 'reject_and_continue',
      toolCallId: 'c2',
    });
    expect(agent.runner.mock.calls.at(-1)[0].phase).toBe('user_input');
    expect(twice.newState.status).toBe('done');
    await expect(
      runtime.decide(twice.newState, { action: 'approve', toolCallId: 'c2' }),
    ).rejects.toMatchObject({ code: 'approval_answered' });
  });

  it('stop, twice if they like', async () => {
    const runtime = new AgentRuntime(approving(call('c1', 'rm')));
    const { newState } = await runtime.step(asked('x'));
    const stopped = await runtime.decide(newState, { action: 'stop' });
    expect(stopped.events).toMatchObject([{ type: 'done', reason: 'user_aborted' }]);
    expect(stopped.newState.messages[1]).toMatchObject({ tool_call_id: 'c1' });
    const again = await runtime.decide(stopped.newState, { action: 'stop' });
    expect(again.events).toEqual([]);
  });

  it('answer questions', async () => {
    const agent = scripted({
      init: { type: 'request_human_prompt', prompt: 'Name?', metadata: { a: 1 } },
      user_input: {
        type: 'request_human_select',
        options: [{ label: 'One', value: '1' }],
        multi: false,
      },
    });
    const runtime = new AgentRuntime(agent);
    const state = AgentRuntime.createInitialState({ operationId: 'op' });
    const prompted = await runtime.step(state);
    expect(prompted.newState.pendingHumanPrompt).toEqual({ prompt: 'Name?', metadata: { a: 1 } });
    const named = await runtime.decide(prompted.newState, { action: 'answer', value: 'Ada' });
    expect(agent.runner.mock.calls[1][0]).toMatchObject({
      phase: 'human_response',
      payload: { response: 'Ada' },
    });
    expect(named.newState.messages).toMatchObject([{ role: 'user', content: 'Ada' }]);
    const selected = await runtime.step(asked('x'));
    expect(selected.events).toMatchObject([{ type: 'human_select_required', multi: false }]);
    await expect(
      runtime.decide(selected.newState, { action: 'answer', value: '9' }),
    ).rejects.toMatchObject({ code: 'invalid_argument' });
    const chosen = await runtime.decide(selected.newState, { action: 'answer', value: '1' });
    expect(chosen.newState.pendingHumanSelect).toBeUndefined();
  });
});

describe('interruption', () => {
  it('is recorded and undone', async () => {
    const runtime = new AgentRuntime(
      scripted({ user_input: llm }, { modelRuntime: () => says({}) }),
    );
    const { newState, events } = runtime.interrupt(asked('x'), 'enough', true, { by: 'me' });
    expect(events).toMatchObject([
      { type: 'interrupted', reason: 'enough', canResume: true, metadata: { by: 'me' } },
    ]);
    const resumed = await runtime.resume(newState, 'go on');
    expect(resumed.newState).toMatchObject({ status: 'running' });
    expect(resumed.newState.interruption).toBeUndefined();
    expect(resumed.events).toMatchObject([{ type: 'resumed', resumedFromStep: 0 }]);
    expect(resumed.nextContext?.phase).toBe('user_input');
    const stepped = await runtime.resume(newState, 'go on', resumed.nextContext);
    expect(stepped.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['resumed', 'llm_start', 'llm_result']),
    );
    await expect(runtime.resume(asked('x'))).rejects.toThrow(
      'Cannot resume: state is not interrupted',
    );
    await expect(
      runtime.resume(runtime.interrupt(asked('x'), 'fatal', false).newState),
    ).rejects.toThrow('Cannot resume: interruption is not resumable');
    const unclear: any = asked('x', { status: 'interrupted', interruption: { reason: 'old' } });
    await expect(runtime.resume(unclear)).rejects.toThrow('interruption is not resumable');
    expect((await runtime.resume(asked('x', { status: 'interrupted' }))).newState.status).toBe(
      'running',
    );
  });

  it('by a signal settles the step, and a late answer changes nothing', async () => {
    const controller = new AbortController();
    let release: (value: unknown) => void = () => undefined;
    let seen: AbortSignal | undefined;
    const agent = scripted(
      {
        user_input: {
          type: 'call_tools_batch',
          payload: { toolsCalling: [call('c1', 'quick'), call('c2', 'slow')] },
        },
      },
      {
        tools: {
          quick: () => 'done',
          slow: (_args: object, { signal }: any) => {
            seen = signal;
            return new Promise((resolve) => (release = resolve));
          },
        },
      },
    );
    const running = new AgentRuntime(agent).step(asked('x'), undefined, {
      signal: controller.signal,
    });
    while (!seen) await new Promise((resolve) => setTimeout(resolve, 1));
    controller.abort();
    const { newState, events } = await running;
    release('late');
    expect(seen.aborted).toBe(true);
    expect(newState.status).toBe('interrupted');
    expect(events[0]).toMatchObject({ type: 'interrupted', canResume: true });
    expect(newState.messages.slice(1)).toMatchObject([
      { tool_call_id: 'c1', content: '"done"' },
      { tool_call_id: 'c2', content: expect.stringContaining('aborted') },
    ]);
  });

  it('before the step begins asks nobody', async () => {
    const agent = scripted({});
    const getOperation = () => ({ abortController: AbortSignal.abort() && stopped });
    const stopped = new AbortController();
    stopped.abort();
    const runtime = new AgentRuntime(agent, { operationId: 'op', getOperation });
    const { newState } = await runtime.step(asked('x'));
    expect(newState.status).toBe('interrupted');
    expect(agent.runner).not.toHaveBeenCalled();
    expect(runtime.getAbortController()).toBe(stopped);
  });
});

it('counts the time that people take, also when they refuse', async () => {
  const agent = scripted({
    user_input: {
      type: 'request_human_approve',
      pendingToolsCalling: [call('a', 'x'), call('b', 'x')],
    },
  });
  agent.tools = { x: () => 1 };
  const runtime = new AgentRuntime(agent);
  const { newState } = await runtime.step(asked('x'));
  const hours = (state: any) => ({
    ...state,
    humanWaitingSince: state.humanWaitingSince - 3_600_000,
  });
  const waited = ({ newState: { usage } }: any) => usage.humanInteraction.totalWaitingTimeMs;
  for (const action of ['reject', 'stop'] as const) {
    const ended = await runtime.decide(hours(newState), { action, toolCallId: 'a' });
    expect(waited(ended)).toBeGreaterThanOrEqual(3_600_000);
  }
  const first = await runtime.decide(newState, { action: 'approve', toolCallId: 'a' });
  const second = await runtime.decide(hours(first.newState), {
    action: 'approve',
    toolCallId: 'b',
  });
  expect(waited(second)).toBeGreaterThanOrEqual(3_600_000);
});

it('does not count the time that people take as time of the run', async () => {
  const ran = jest.fn(() => 1);
  const agent = scripted({
    user_input: { type: 'request_human_approve', pendingToolsCalling: [call('a', 'x')] },
  });
  agent.tools = { x: ran };
  const runtime = new AgentRuntime(agent);
  const { newState }: any = await runtime.step(asked('x', { limits: { maxDurationMs: 60_000 } }));
  const hour = 3_600_000;
  newState.humanWaitingSince -= hour;
  newState.limits.startedAtMs -= hour;
  const approved = await runtime.decide(newState, { action: 'approve', toolCallId: 'a' });
  const next = await runtime.step(approved.newState, approved.nextContext);
  expect(next.events).toMatchObject([{ type: 'done', reason: 'completed' }]);
  expect(ran).toHaveBeenCalledTimes(1);
});

it('ends when a tool says so, in the shape of a result and not by chance', async () => {
  const run = async (result: object, state = {}) => {
    const toolCalling = call('c1', 't');
    const agent = scripted(
      { user_input: { type: 'call_tool', payload: { toolCalling } } },
      { tools: { t: () => ({ ...result, state }) } },
    );
    const step = await new AgentRuntime(agent, { history: 'engine' }).step(asked('x'));
    return [step.newState.status, step.events.at(-1)?.type, step.nextContext?.phase];
  };
  const ended = { content: 'over to you', success: true, stop: true };
  expect(await run(ended)).toEqual(['done', 'done', undefined]);
  expect(await run({ stop: true })).toEqual(['running', 'tool_result', 'tool_result']);
  expect(await run({ ...ended, stop: 'Main St' })).toEqual([
    'running',
    'tool_result',
    'tool_result',
  ]);
  expect(await run(ended, { type: 'execSubAgent' })).toEqual([
    'running',
    'tool_result',
    'tool_result',
  ]);
});

describe('tools that are not run', () => {
  it('get a row that says so', async () => {
    const agent = scripted({
      init: { type: 'resolve_blocked_tools', payload: { toolsCalling: [call('c1', 'rm')] } },
      user_input: { type: 'resolve_aborted_tools', payload: { toolsCalling: [call('c2', 'rm')] } },
    });
    const runtime = new AgentRuntime(agent);
    const state = AgentRuntime.createInitialState({ operationId: 'op' });
    const blocked = await runtime.step(state);
    expect(blocked.newState.messages).toMatchObject([
      { tool_call_id: 'c1', pluginIntervention: { status: 'rejected' } },
    ]);
    expect(blocked.nextContext?.phase).toBe('tools_batch_result');
    const aborted = await runtime.step(asked('x'));
    expect(aborted.newState).toMatchObject({ status: 'done' });
    expect(aborted.events.at(-1)).toMatchObject({ type: 'done', reason: 'user_aborted' });
    expect(aborted.newState.messages[1]).toMatchObject({
      pluginIntervention: { status: 'aborted' },
    });
  });

  it('keep the row they have, whichever member names the call', async () => {
    const payload = { toolsCalling: [call('c1', 'rm')], parentMessageId: 'a' };
    const agent = scripted({ init: { type: 'resolve_aborted_tools', payload } });
    const plugin = { plugin: call('c1', 'rm'), pluginIntervention: { status: 'pending' } };
    const row = { id: 't1', role: 'tool', content: '', ...plugin };
    const { newState } = await new AgentRuntime(agent).step(asked('x', { messages: [row] }));
    expect(newState.messages).toHaveLength(1);
    expect(newState.messages[0]).toMatchObject({
      id: 't1',
      pluginIntervention: { status: 'aborted' },
    });
  });
});

describe('sub-agents', () => {
  const tasks = [
    { instruction: 'one' },
    { instruction: 'two', timeout: 20 },
    { instruction: 'three' },
  ];

  it('run side by side; failures and timeouts are results; what they spend is the parent’s', async () => {
    const agent = scripted({
      user_input: { type: 'exec_sub_agents', payload: { parentMessageId: 'm', tasks } },
    });
    const usage = AgentRuntime.createDefaultUsage();
    usage.llm.tokens.total = 7;
    const runtime = new AgentRuntime(agent, {
      runSubAgent: async ({ instruction }) => {
        if (instruction === 'two') await new Promise(() => undefined);
        if (instruction === 'three') throw new Error('broken');
        return { success: true, threadId: 't1', result: 'fine', usage };
      },
    });
    const { newState, nextContext } = await runtime.step(asked('x'));
    expect(nextContext).toMatchObject({
      phase: 'sub_agents_batch_result',
      payload: {
        results: [
          { success: true, threadId: 't1', result: 'fine' },
          { success: false, error: expect.stringContaining('20 ms') },
          { success: false, error: 'broken' },
        ],
      },
    });
    expect(newState.usage.llm.tokens.total).toBe(7);
  });

  it('nest four deep at most', async () => {
    const agent = scripted({
      user_input: { type: 'exec_task', payload: { task: { instruction: 'x' } } },
    });
    const runSubAgent = jest.fn();
    const { nextContext } = await new AgentRuntime(agent, { runSubAgent }).step(
      asked('x', { subAgentDepth: 4 }),
    );
    expect(runSubAgent).not.toHaveBeenCalled();
    expect(nextContext).toMatchObject({
      phase: 'task_result',
      payload: { result: { success: false } },
    });
  });
});

describe('compression', () => {
  const rows = [
    { role: 'user', content: 'old question '.repeat(50) },
    { role: 'assistant', content: 'old answer '.repeat(50) },
    { role: 'user', content: 'new question' },
  ];
  const instruction = {
    type: 'compress_context',
    payload: { messages: rows, currentTokenCount: 1000 },
  };

  it('sums up what is old and keeps the newest question', async () => {
    const modelRuntime = jest.fn((_payload: any) =>
      says({ content: 'They ' }, { content: 'talked.' }),
    );
    const agent = scripted({ user_input: instruction }, { modelRuntime });
    const { events, nextContext, newState } = await new AgentRuntime(agent).step(
      asked('x', { messages: rows }),
    );
    expect(events).toMatchObject([{ type: 'compression_complete' }]);
    expect(nextContext).toMatchObject({
      phase: 'compression_result',
      payload: {
        skipped: false,
        compressedMessages: [
          { role: 'compressedGroup', content: 'They talked.' },
          { role: 'user', content: 'new question' },
        ],
      },
    });
    expect(newState.messages).toHaveLength(2);
    expect(modelRuntime.mock.calls[0]?.[0].messages[1].content).toContain('old answer');
  });

  it('goes on without a summary when it fails or does not help', async () => {
    const failing = scripted(
      { user_input: instruction },
      {
        modelRuntime: () => {
          throw new Error('down');
        },
      },
    );
    const failed = await new AgentRuntime(failing).step(asked('x', { messages: rows }));
    expect(failed.events).toMatchObject([
      { type: 'compression_error', error: { message: 'down' } },
    ]);
    expect(failed.nextContext).toMatchObject({
      payload: { skipped: true, compressedMessages: rows },
    });
    const longer = scripted(
      { user_input: instruction },
      { modelRuntime: () => says({ content: 'a much longer text '.repeat(500) }) },
    );
    const useless = await new AgentRuntime(longer).step(asked('x', { messages: rows }));
    expect(useless.nextContext).toMatchObject({ payload: { skipped: true } });
    const without = await new AgentRuntime(scripted({ user_input: instruction })).step(
      asked('x', { messages: rows }),
    );
    expect(without.nextContext).toMatchObject({ payload: { skipped: true } });
  });
});

describe('states of older generations', () => {
  it('load', async () => {
    const old: any = {
      sessionId: 's1',
      status: 'waiting_for_human_input',
      messages: [{ role: 'user', content: 'x' }],
      stepCount: 3,
      usage: {
        llm: { tokens: { input: 1, output: 1, total: 2 }, apiCalls: 1, processingTimeMs: 1 },
        tools: {
          totalCalls: 1,
          totalTimeMs: 4,
          byTool: { rm: { calls: 1, errors: 0, totalTimeMs: 4 } },
        },
      },
      cost: {
        total: 1,
        currency: 'USD',
        llm: { total: 1, currency: 'USD', byModel: { 'openai/x': { totalCost: 1 } } },
      },
      events: ['kept'],
    };
    const { newState } = await new AgentRuntime(scripted({}), {}).step(old);
    expect(newState).toMatchObject({ operationId: 's1', sessionId: 's1', events: ['kept'] });
    expect(newState.usage.tools.byTool).toEqual([
      { name: 'rm', calls: 1, errors: 0, totalTimeMs: 4 },
    ]);
    expect(newState.cost.llm.byModel).toEqual([
      { id: 'openai/x', provider: 'openai', model: 'x', totalCost: 1 },
    ]);
    expect(newState.toolManifestMap).toEqual({});
  });

  it('are refused when they are none', async () => {
    const { events } = await new AgentRuntime(scripted({})).step({
      ...asked('x'),
      status: 'dreaming',
    } as any);
    expect(events[0]).toMatchObject({ type: 'error', error: { type: 'invalid_state' } });
  });
});

it('goes on in another process from any boundary', async () => {
  const tool_calls = [
    { id: 'c1', type: 'function', function: { name: 'add', arguments: '{"a":1}' } },
  ];
  const agent = () =>
    scripted(
      {
        user_input: llm,
        llm_result: { type: 'call_tool', payload: { toolCalling: call('c1', 'add', '{"a":1}') } },
      },
      { modelRuntime: () => says({ tool_calls }), tools: { add: ({ a }: any) => a + 1 } },
    );
  let result: any = { newState: asked('x') };
  const seen: string[] = [];
  for (let step = 0; step < 3; ++step) {
    const stored = JSON.parse(JSON.stringify(result));
    result = await new AgentRuntime(agent()).step(stored.newState, stored.nextContext);
    seen.push(...result.events.map(({ type }: any) => type));
  }
  expect(seen).toEqual(['llm_start', 'llm_stream', 'llm_result', 'tool_result', 'done']);
});

describe('a runtime made by createModelRuntime', () => {
  it('is the model of an agent, with calls, usage and reasons', async () => {
    const model = await startModel([
      { text: 'Let me see.', calls: [{ id: 'c1', name: 'add', args: { a: 2, b: 3 } }] },
      { text: 'Five.' },
    ]);
    try {
      const modelRuntime = createModelRuntime('openai', { baseURL: model.url, apiKey: 'k' });
      const agent = Object.assign(new GeneralChatAgent({}), {
        tools: { add: ({ a, b }: { a: number; b: number }) => a + b },
      });
      const runtime = new AgentRuntime(agent, { modelRuntime, history: 'engine' });
      const state = AgentRuntime.createInitialState({
        messages: [{ id: 'u1', role: 'user', content: '2 + 3?', metadata: { secret: 1 } }],
        modelRuntimeConfig: { model: 'scripted', provider: 'openai' },
        toolManifestMap: { add: { identifier: 'add', humanIntervention: 'never' } },
      });
      const { events, newState } = await runtime.run(state);
      expect(newState.status).toBe('done');
      expect(newState.messages.map(({ role, content }) => [role, content])).toEqual([
        ['user', '2 + 3?'],
        ['assistant', 'Let me see.'],
        ['tool', '5'],
        ['assistant', 'Five.'],
      ]);
      expect(newState.usage.llm).toMatchObject({
        apiCalls: 2,
        tokens: { input: 20, output: 10, total: 30 },
      });
      expect(events.filter(({ type }) => type === 'llm_stream').length).toBeGreaterThan(3);
      expect(model.asked[0]?.messages).toEqual([{ role: 'user', content: '2 + 3?' }]);
    } finally {
      await model.close();
    }
  });

  it('that fails ends the step with its error', async () => {
    const modelRuntime = createModelRuntime('openai', {
      baseURL: 'http://127.0.0.1:9',
      apiKey: 'k',
      maxRetries: 0,
    });
    const agent = new GeneralChatAgent({});
    const runtime = new AgentRuntime(agent, { modelRuntime, history: 'engine' });
    const state = AgentRuntime.createInitialState({
      messages: [{ role: 'user', content: 'hi' }],
      modelRuntimeConfig: { model: 'm', provider: 'openai' },
    });
    const { newState } = await runtime.run(state);
    expect(newState).toMatchObject({ status: 'error', error: { type: 'connect_failed' } });
  });
});

it('tries a call again that failed in passing, by its declared effect', async () => {
  const tries: Record<string, number> = {};
  const busy = (name: string) => () => {
    tries[name] = (tries[name] ?? 0) + 1;
    if (tries[name] > 1) return 'made it';
    throw Object.assign(new Error('busy'), { kind: 'retry' });
  };
  const answers = () => {
    tries['answers'] = (tries['answers'] ?? 0) + 1;
    return tries['answers'] > 1 ? 'made it' : { error: { kind: 'retry', message: 'busy' } };
  };
  const tools = { reads: busy('reads'), changes: busy('changes'), answers };
  const agent = {
    tools,
    runner: () => ({
      type: 'call_tools_batch',
      payload: {
        parentMessageId: 'p',
        toolsCalling: Object.keys(tools).map((name) => ({
          id: name,
          identifier: name,
          apiName: name,
          arguments: '{}',
          type: 'default',
        })),
      },
    }),
  };
  const state = AgentRuntime.createInitialState({
    toolManifestMap: {
      reads: { identifier: 'reads', effect: 'read' },
      answers: { identifier: 'answers', effect: 'idempotent' },
      changes: { identifier: 'changes', effect: 'once' },
    },
  });
  const { newState } = await new AgentRuntime(agent as any).step(state);
  expect(tries).toEqual({ reads: 2, answers: 2, changes: 1 });
  expect(newState.messages.map(({ content }) => content).sort()).toEqual([
    '"made it"',
    '"made it"',
    expect.stringContaining('busy'),
  ]);
});
