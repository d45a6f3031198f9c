/* eslint-disable @typescript-eslint/no-explicit-any */
// AgentRuntime: sub-agents, compression, states of older generations and of other processes.
import { AgentRuntime, createModelRuntime, GeneralChatAgent } from 'millrace';
import { startModel } from '../../support/scripted-model';
import { call, requested, scripted, llm, says } from '../../support/agent-states';

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
    const { newState, nextContext } = await runtime.step(requested('x'));
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
      requested('x', { subAgentDepth: 4 }),
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
      requested('x', { messages: rows }),
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
    const failed = await new AgentRuntime(failing).step(requested('x', { messages: rows }));
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
    const useless = await new AgentRuntime(longer).step(requested('x', { messages: rows }));
    expect(useless.nextContext).toMatchObject({ payload: { skipped: true } });
    const without = await new AgentRuntime(scripted({ user_input: instruction })).step(
      requested('x', { messages: rows }),
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
      ...requested('x'),
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
  let result: any = { newState: requested('x') };
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
