// A run that waits for people or for calls that run elsewhere is not walked past what is open.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { AgentRuntime, GeneralChatAgent } from 'millrace';

const stored = (state: any) => JSON.parse(JSON.stringify(state));
const calls = (...ids: string[]) =>
  ids.map((id) => ({ id, type: 'function', function: { name: 'send', arguments: '{}' } }));
const answer = { content: 'done' };

// A chat whose model calls `send` twice, then answers; what it was sent, and how often the tool ran.
const chat = (manifest: object, tool: () => unknown, more: object = {}) => {
  const sent: any[] = [];
  const ran = jest.fn(tool);
  const answers = [{ tool_calls: calls('c1', 'c2') }, answer];
  const agent: any = Object.assign(new GeneralChatAgent(), {
    tools: { send: ran },
    modelRuntime: async function* (payload: any) {
      sent.push(payload.messages);
      yield answers[Math.min(sent.length - 1, 1)];
    },
  });
  const runtime = new AgentRuntime(agent, { history: 'engine' });
  const state = AgentRuntime.createInitialState({
    operationId: 'op',
    messages: [{ role: 'user', content: 'q' }],
    toolManifestMap: { send: { identifier: 'send', api: [{ name: 'send' }], ...manifest } },
    ...more,
  });
  return { sent, ran, runtime, state };
};
const results = (state: any) =>
  state.messages.filter(({ role }: any) => role === 'tool').map(({ content }: any) => content);

describe('calls that wait for approval', () => {
  const required = { humanIntervention: 'required' };

  it('are asked for one after the other, as the documentation does', async () => {
    const { sent, ran, runtime, state } = chat(required, () => 'ok');
    const requested = await runtime.run(state);
    const first = await runtime.decide(stored(requested.newState), {
      action: 'approve',
      toolCallId: 'c1',
    });
    const still = await runtime.run(first.newState, first.nextContext);
    expect(still.newState).toEqual(first.newState);
    expect(still.newState.status).toBe('waiting_for_human');
    expect(still.events).toMatchObject([
      { type: 'human_approve_required', pendingToolsCalling: [{ id: 'c2' }], operationId: 'op' },
      { type: 'tool_pending', toolCalls: [{ id: 'c2' }] },
    ]);
    expect(sent).toHaveLength(1);

    const second = await runtime.decide(stored(still.newState), {
      action: 'approve',
      toolCallId: 'c2',
    });
    const { newState } = await runtime.run(second.newState, second.nextContext);
    expect(newState.status).toBe('done');
    expect(ran).toHaveBeenCalledTimes(2);
    expect(sent).toHaveLength(2);
    expect(results(newState)).toEqual(['ok', 'ok']);
  });

  it.each(['run', 'step'] as const)('are told of again by a %s after a crash', async (method) => {
    const { sent, runtime, state } = chat(required, () => 'ok');
    const { newState } = await runtime.run(state);
    const reported: unknown[] = [];
    const again = await runtime[method](stored(newState), undefined, {
      onEvent: ({ type }) => reported.push(type),
    });
    expect(again.newState).toEqual(newState);
    expect(again.nextContext).toBeUndefined();
    expect(reported).toEqual(['human_approve_required', 'tool_pending']);
    expect(sent).toHaveLength(1);
  });

  it('wait again when an interrupted run goes on', async () => {
    const { sent, runtime, state } = chat(required, () => 'ok');
    const { newState } = await runtime.run(state);
    const stopped = runtime.interrupt(newState, 'pause');
    const resumed = await runtime.resume(stopped.newState);
    expect(resumed.newState.status).toBe('waiting_for_human');
    expect(resumed.nextContext).toBeUndefined();
    expect(resumed.events.map(({ type }) => type)).toEqual([
      'resumed',
      'human_approve_required',
      'tool_pending',
    ]);
    await runtime.run(resumed.newState, resumed.nextContext);
    expect(sent).toHaveLength(1);
  });

  it('are asked for again when an interrupted run goes on whose list of approvals is lost', async () => {
    const { runtime, state, ran } = chat(required, () => 'ok');
    const { newState } = await runtime.run(state);
    const { pendingApprovals: _lost, ...bare } = stored(newState);
    bare.messages = bare.messages.filter(({ role }: any) => role !== 'tool');
    const { newState: interrupted } = runtime.interrupt(bare, 'restart');
    const again = await runtime.resume(stored(interrupted));
    expect(again.newState.status).toBe('waiting_for_human');
    expect(again.events.map(({ type }) => type)).toEqual([
      'resumed',
      'human_approve_required',
      'tool_pending',
    ]);
    expect(ran).not.toHaveBeenCalled();
  });

  it('wait also where an executor of the host runs the first', async () => {
    const { sent, runtime, state } = chat(required, () => 'ok');
    const requested = await runtime.run(state);
    runtime.executors['call_tool'] = (_instruction, given) => {
      const newState = structuredClone(given);
      const context: any = { phase: 'tool_result', payload: { data: 'mine' } };
      return { events: [], newState, nextContext: context };
    };
    const first = await runtime.decide(requested.newState, { action: 'approve', toolCallId: 'c1' });
    expect(first.newState.status).toBe('waiting_for_human');
    await runtime.run(first.newState, first.nextContext);
    expect(sent).toHaveLength(1);
  });

  it('that run elsewhere once approved take their results in any order', async () => {
    const { sent, runtime, state } = chat(required, () => ({ deferred: true }));
    let { newState } = await runtime.run(state);
    const decide = async (decision: any) => {
      const decided = await runtime.decide(stored(newState), decision);
      const ran = await runtime.run(decided.newState, decided.nextContext);
      ({ newState } = ran);
      return [newState.status, ...ran.events.map(({ type }) => type)];
    };
    expect(await decide({ action: 'approve', toolCallId: 'c1' })).toEqual([
      'waiting_for_async_tool',
      'human_approve_required',
      'tool_pending',
      'tool_pending',
    ]);
    // Not before somebody said yes.
    await expect(
      runtime.decide(newState, { action: 'tool_result', toolCallId: 'c2', result: 'early' }),
    ).rejects.toMatchObject({ code: 'approval_mismatch' });
    await decide({ action: 'approve', toolCallId: 'c2' });
    expect(await decide({ action: 'tool_result', toolCallId: 'c1', result: 'one' })).toEqual([
      'waiting_for_async_tool',
      'tool_pending',
    ]);
    expect(sent).toHaveLength(1);
    await decide({ action: 'tool_result', toolCallId: 'c2', result: 'two' });
    expect(newState.status).toBe('done');
    expect(results(newState)).toEqual(['one', 'two']);
  });
});

it.each([
  ['of the client', { toolSourceMap: { send: 'client' } }, 'client_tool_execution'],
  ['that are deferred', {}, 'async_tool'],
])('calls %s are waited for until the last has a result', async (_name, more, reason) => {
  const { sent, runtime, state } = chat({}, () => ({ deferred: true }), more);
  const parked = await runtime.run(state);
  const again = await runtime.run(stored(parked.newState));
  expect(again.newState).toEqual(parked.newState);
  expect(again.events).toEqual([
    { type: 'tool_pending', reason, toolCalls: parked.newState.pendingToolsCalling },
  ]);
  const first = await runtime.decide(again.newState, {
    action: 'tool_result',
    toolCallId: 'c1',
    result: 'one',
  });
  const still = await runtime.run(first.newState, first.nextContext);
  expect(still.newState.status).toBe('waiting_for_async_tool');
  expect(still.events).toMatchObject([{ reason, toolCalls: [{ id: 'c2' }] }]);
  expect(sent).toHaveLength(1);
  const resumed = await runtime.resume(runtime.interrupt(still.newState, 'pause').newState);
  expect(resumed.newState.status).toBe('waiting_for_async_tool');
  const last = await runtime.decide(resumed.newState, {
    action: 'tool_result',
    toolCallId: 'c2',
    result: 'two',
  });
  const { newState } = await runtime.run(last.newState, last.nextContext);
  expect(newState.status).toBe('done');
  expect(results(newState)).toEqual(['one', 'two']);
});

describe('questions', () => {
  const prompt = { type: 'request_human_prompt', prompt: 'name?' };
  const options = [{ label: 'A', value: 'a' }];
  const requesting = (instruction: object) => {
    const runner = jest.fn().mockResolvedValue({ type: 'finish', reason: 'completed' });
    runner.mockResolvedValueOnce(instruction);
    const runtime = new AgentRuntime({ runner, tools: { send: () => 'ok' } });
    const messages = [{ role: 'user', content: 'q' }];
    return { runner, runtime, state: AgentRuntime.createInitialState({ messages }) };
  };

  it.each([
    ['human_prompt_required', prompt],
    ['human_select_required', { type: 'request_human_select', options, prompt: 'which?' }],
  ])('stay open: %s', async (type, instruction) => {
    const { runner, runtime, state } = requesting(instruction);
    const first = await runtime.run(state);
    const again = await runtime.run(stored(first.newState));
    expect(again.newState).toEqual(first.newState);
    expect(again.events).toEqual(first.events);
    expect(again.events).toMatchObject([{ type, prompt: instruction.prompt }]);
    expect(runner).toHaveBeenCalledTimes(1);
  });

  it('beside calls are all answered before the agent goes on', async () => {
    const call = { id: 'c', identifier: 'send', apiName: 'send', arguments: '{}' };
    const request = { type: 'request_human_approve', pendingToolsCalling: [call] };
    const { runner, runtime, state } = requesting(request);
    const { newState } = await runtime.run(state);
    const both = { ...newState, pendingHumanPrompt: { prompt: 'name?' } };
    const approval: any = { action: 'approve', toolCallId: 'c' };
    const reject: any = { action: 'reject_and_continue', toolCallId: 'c' };
    const say: any = { action: 'answer', value: 'Ada' };
    for (const [one, other] of [
      [approval, say],
      [reject, say],
      [say, approval],
    ]) {
      runner.mockClear();
      const first = await runtime.decide(both, one);
      expect(first.newState.status).toBe('waiting_for_human');
      await runtime.run(first.newState, first.nextContext);
      expect(runner).not.toHaveBeenCalled();
      const second = await runtime.decide(first.newState, other);
      if (second.nextContext) await runtime.run(second.newState, second.nextContext);
      expect(runner).toHaveBeenCalledTimes(1);
    }
  });
});

it('a status alone keeps nothing from going on', async () => {
  const runner = jest.fn().mockResolvedValue({ type: 'finish', reason: 'completed' });
  const runtime = new AgentRuntime({ runner });
  const state = AgentRuntime.createInitialState({ status: 'waiting_for_human' });
  expect((await runtime.run(state)).newState.status).toBe('done');
});

describe('a question about calls', () => {
  const call = (id: string): any => ({ id, identifier: 'x', apiName: 'ask', arguments: '{}' });
  const turn = (id: string, callId: string, more: object = {}) => ({
    id,
    role: 'assistant',
    content: '',
    tool_calls: calls(callId),
    ...more,
  });
  const requested = (messages: object[], instruction: object = {}, more: object = {}) => {
    const request = {
      type: 'request_human_approve',
      pendingToolsCalling: [call('c1')],
      ...instruction,
    };
    const runtime = new AgentRuntime({ runner: async () => request } as any, { history: 'engine' });
    return runtime.step(
      AgentRuntime.createInitialState({ operationId: 'op', messages, ...more } as any),
      { phase: 'tool_result', payload: { parentMessageId: 't0' } } as any,
    );
  };

  it.each([
    ['a turn', [turn('a1', 'c1', { groupId: 'g' }), turn('a2', 'c2')]],
    ['a group', [{ id: 'a0', role: 'assistantGroup', groupId: 'g', children: [{ id: 'a1', tools: [call('c1')] }] }]], // prettier-ignore
  ])('belongs to the turn that made them: %s', async (_name, messages) => {
    const { newState } = await requested(messages);
    expect(newState.messages.at(-1)).toMatchObject({
      role: 'tool',
      parentId: 'a1',
      groupId: 'g',
      pluginIntervention: { status: 'pending', batchId: 'op:1:a1' },
    });
    expect(newState.pendingApprovalBatch).toMatchObject({ assistantMessageId: 'a1' });
  });

  it('without their rows is an error', async () => {
    const skip = { skipCreateToolMessage: true };
    const { newState, events } = await requested([turn('a1', 'c1')], skip);
    expect(newState.status).toBe('error');
    expect(events).toMatchObject([
      {
        type: 'error',
        error: { type: 'invalid_instruction', message: expect.stringContaining("'c1'") as string },
      },
    ]);
    // A group holds them within its turns.
    const shown = { ...call('c1'), intervention: { status: 'pending' } };
    const group = { id: 'g', role: 'assistantGroup', children: [{ id: 'a1', tools: [shown] }] };
    const { newState: waiting } = await requested([group], skip);
    expect(waiting.status).toBe('waiting_for_human');
    expect(waiting.messages).toHaveLength(1);
  });

  it('leaves no row for an answer that does not come', async () => {
    const messages = [turn('a1', 'c1'), { id: 'empty', role: 'assistant', content: '' }];
    const { newState } = await requested(messages, {}, { pendingAssistantMessageId: 'empty' });
    expect(newState).not.toHaveProperty('pendingAssistantMessageId');
    expect(newState.messages.map(({ role }) => role)).toEqual(['assistant', 'tool']);
  });
});
