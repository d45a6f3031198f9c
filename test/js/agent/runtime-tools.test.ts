/* eslint-disable @typescript-eslint/no-explicit-any */
// AgentRuntime: tools, what ends a run, and calls that are not run.
import { AgentRuntime } from 'millrace';
import { call, requested, scripted } from '../../support/agent-states';

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
    const { events, newState, nextContext } = await new AgentRuntime(agent).step(requested('x'));
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
    const { nextContext } = await new AgentRuntime(agent).step(requested('x'));
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
    const state = requested('x');
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
    const state = requested('x');
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
    await new AgentRuntime(agent, { concurrency: 2 }).step(requested('x', { toolManifestMap }));
    expect(most).toBe(2);
    const first = log.indexOf('-a');
    expect(log.filter((entry) => entry === '+a')).toHaveLength(2);
    expect(log.lastIndexOf('+a')).toBeGreaterThan(first);

    log.length = 0;
    const ordered = { edit: { api: [{ name: 'edit', ordered: true }] } };
    await new AgentRuntime(agent).step(requested('x', { toolManifestMap: ordered }));
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
    const { newState } = await runtime.step(requested('x'));
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
    const parked = await runtime.step(requested('x', { toolSourceMap: { screen: 'client' } }));
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

it('ends when a tool says so, in the shape of a result and not by chance', async () => {
  const run = async (result: object, state = {}) => {
    const toolCalling = call('c1', 't');
    const agent = scripted(
      { user_input: { type: 'call_tool', payload: { toolCalling } } },
      { tools: { t: () => ({ ...result, state }) } },
    );
    const step = await new AgentRuntime(agent, { history: 'engine' }).step(requested('x'));
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
    expect(blocked.newState.messages[0]).toMatchObject({ pluginState: { type: 'blocked' } });
    const aborted = await runtime.step(requested('x'));
    expect(aborted.newState).toMatchObject({ status: 'done' });
    expect(aborted.events.at(-1)).toMatchObject({ type: 'done', reason: 'user_aborted' });
    expect(aborted.newState.messages[1]).toMatchObject({
      pluginIntervention: { status: 'aborted' },
    });
  });

  it('have a state that names why they were blocked', async () => {
    const payload = {
      ...{ toolsCalling: [call('c1', 'rm')], blockedReason: 'tool_not_allowed' },
      ...{ blockedContent: 'Not here.', unresolvedToolNames: ['rm'] },
    };
    const agent = scripted({ init: { type: 'resolve_blocked_tools', payload } });
    const { events, newState, nextContext } = await new AgentRuntime(agent).step(
      AgentRuntime.createInitialState({ operationId: 'op' }),
    );
    const state = { type: 'blocked', reason: 'tool_not_allowed' };
    const result = {
      ...{ content: 'Not here.', error: 'tool_not_allowed', executionTime: 0 },
      ...{ state, success: false },
    };
    expect(events).toContainEqual({ type: 'tool_result', id: 'c1', result });
    expect(newState).toMatchObject({
      ...{ messages: [{ pluginState: state }], unresolvedToolFeedbackRounds: 1 },
    });
    expect(nextContext?.payload).toMatchObject({
      toolResults: [{ data: result, executionTime: 0, isSuccess: false }],
    });
  });

  it('keep the row they have, whichever member names the call', async () => {
    const payload = { toolsCalling: [call('c1', 'rm')], parentMessageId: 'a' };
    const agent = scripted({ init: { type: 'resolve_aborted_tools', payload } });
    const plugin = { plugin: call('c1', 'rm'), pluginIntervention: { status: 'pending' } };
    const row = { id: 't1', role: 'tool', content: '', ...plugin };
    const { newState } = await new AgentRuntime(agent).step(requested('x', { messages: [row] }));
    expect(newState.messages).toHaveLength(1);
    expect(newState.messages[0]).toMatchObject({
      id: 't1',
      pluginIntervention: { status: 'aborted' },
    });
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
