/* eslint-disable @typescript-eslint/no-explicit-any */
// AgentRuntime: limits, approvals and the time that they take, interruption.
import { createHash } from 'node:crypto';
import { AgentRuntime } from 'millrace';
import { call, requested, scripted, llm, says } from '../../support/agent-states';

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
    requested('x', { costLimit: { maxTotalCost: 5, onExceeded } });

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
    const state = requested('x', { costLimit: { maxLlmCost: 1, onExceeded: 'stop' } });
    state.cost.llm.total = 2;
    const { newState } = await new AgentRuntime(spending(0, { modelRuntime })).step(state);
    expect(newState.status).toBe('done');
    expect(modelRuntime).not.toHaveBeenCalled();
  });

  it('of tokens and time end the run with a reason', async () => {
    const tokens = requested('x', { limits: { maxTokens: 10 } });
    tokens.usage.llm.tokens.total = 11;
    const first = await new AgentRuntime(spending(0)).step(tokens);
    expect(first.events[0]).toMatchObject({ type: 'done', reason: 'token_limit_exceeded' });
    const late = requested('x', { limits: { maxDurationMs: 10, startedAtMs: Date.now() - 50 } });
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
      requested('x', { maxSteps: 2, stepCount: 2 }),
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
    let state = requested('x', { limits: { maxRepeats: 3 } });
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
    const { newState, events } = await runtime.step(requested('x'));
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
    const { newState } = await runtime.step(requested('x'));
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
    const { newState } = await runtime.step(requested('x'));
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
    const { newState } = await runtime.step(requested('x'));
    const done = await runtime.decide(newState, { action: 'approve_all' });
    expect(agent.tools.rm).toHaveBeenCalledTimes(2);
    expect(done.nextContext?.phase).toBe('tools_batch_result');
  });

  it('reject: the run halts; reject and continue: the model reads it', async () => {
    const agent = approving(call('c1', 'rm'), call('c2', 'rm'));
    const runtime = new AgentRuntime(agent);
    const { newState } = await runtime.step(requested('x'));
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
    const { newState } = await runtime.step(requested('x'));
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
    const selected = await runtime.step(requested('x'));
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
    const { newState, events } = runtime.interrupt(requested('x'), 'enough', true, { by: 'me' });
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
    await expect(runtime.resume(requested('x'))).rejects.toThrow(
      'Cannot resume: state is not interrupted',
    );
    await expect(
      runtime.resume(runtime.interrupt(requested('x'), 'fatal', false).newState),
    ).rejects.toThrow('Cannot resume: interruption is not resumable');
    const unclear: any = requested('x', { status: 'interrupted', interruption: { reason: 'old' } });
    await expect(runtime.resume(unclear)).rejects.toThrow('interruption is not resumable');
    expect((await runtime.resume(requested('x', { status: 'interrupted' }))).newState.status).toBe(
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
    const running = new AgentRuntime(agent).step(requested('x'), undefined, {
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
    const { newState } = await runtime.step(requested('x'));
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
  const { newState } = await runtime.step(requested('x'));
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
  const { newState }: any = await runtime.step(
    requested('x', { limits: { maxDurationMs: 60_000 } }),
  );
  const hour = 3_600_000;
  newState.humanWaitingSince -= hour;
  newState.limits.startedAtMs -= hour;
  const approved = await runtime.decide(newState, { action: 'approve', toolCallId: 'a' });
  const next = await runtime.step(approved.newState, approved.nextContext);
  expect(next.events).toMatchObject([{ type: 'done', reason: 'completed' }]);
  expect(ran).toHaveBeenCalledTimes(1);
});
