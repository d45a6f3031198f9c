// What people decide about calls, and rows of conversations in the shapes that LobeHub keeps them.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { AgentRuntime, GeneralChatAgent, InterventionChecker } from 'millrace';

const call = (id: string, args = '{}', more = {}) => ({
  id,
  identifier: 'pay',
  apiName: 'pay',
  arguments: args,
  type: 'default' as const,
  ...more,
});
const stateOf = (messages: any[], more = {}) =>
  AgentRuntime.createInitialState({ operationId: 'op', messages, ...more });
const toolTurn = (id: string, ...callIds: string[]) => ({
  id,
  role: 'assistant',
  content: '',
  tool_calls: callIds.map((callId) => ({
    id: callId,
    type: 'function',
    function: { name: 'pay', arguments: '{}' },
  })),
});
const scripted = (instruction: any, rest = {}): any => ({ runner: () => instruction, ...rest });

async function* says(...chunks: object[]) {
  yield* chunks;
}

describe('an approval with other arguments', () => {
  const requesting = async (paid: unknown[]) => {
    const pending = { type: 'request_human_approve', pendingToolsCalling: [call('c', '{"n":1}')] };
    const tools = { pay: (args: never) => paid.push(args) };
    const runtime = new AgentRuntime(scripted(pending, { tools }));
    const { newState } = await runtime.step(stateOf([{ role: 'user', content: 'x' }]));
    return { runtime, newState };
  };

  it.each([
    ['editedArguments', { n: 9 }],
    ['editedArguments', '{"n":9}'],
    ['editedArgs', { n: 9 }],
    ['editedArgs', '{"n":9}'],
  ])('runs the call with them: %s as %j', async (member, edited) => {
    const paid: unknown[] = [];
    const { runtime, newState } = await requesting(paid);
    const decision: any = { action: 'approve', toolCallId: 'c', [member]: edited };
    await runtime.decide(newState, decision);
    expect(paid).toEqual([{ n: 9 }]);
  });

  it('is refused when it has a member that nobody reads', async () => {
    const paid: unknown[] = [];
    const { runtime, newState } = await requesting(paid);
    const decision: any = { action: 'approve', toolCallId: 'c', edited: { n: 9 } };
    await expect(runtime.decide(newState, decision)).rejects.toThrow(
      "A decision has no member 'edited'",
    );
    expect(paid).toEqual([]);
  });

  const parameters = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
  const definition = { type: 'function', function: { name: 'pay', parameters } };
  it.each([
    ['a definition', { tools: [definition] }],
    ['a definition of a plugin', { tools: [{ name: 'pay____pay____default', parameters }] }],
    ['a manifest', { toolManifestMap: { pay: { api: [{ name: 'pay', parameters }] } } }],
    ['a set of tools', { operationToolSet: { tools: [definition] } }],
    ['a manifest of a set', { operationToolSet: { manifestMap: { pay: { api: [{ name: 'pay', parameters }] } } } }], // prettier-ignore
  ])('is held to the schema that the state has: %s', async (_, more) => {
    const paid: unknown[] = [];
    const { runtime, newState } = await requesting(paid);
    const state: any = { ...newState, ...more };
    const decision: any = { action: 'approve', toolCallId: 'c', editedArguments: { n: 'nine' } };
    await expect(runtime.decide(state, decision)).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/^The arguments of pay are not valid: .*n/s) as string,
    });
    await expect(
      runtime.decide(state, { ...decision, editedArguments: '{}' }),
    ).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(paid).toEqual([]);
    // The question is open still.
    await runtime.decide(state, { ...decision, editedArguments: { n: 9 } });
    expect(paid).toEqual([{ n: 9 }]);
  });

  it('is refused when they are no arguments', async () => {
    const paid: unknown[] = [];
    const { runtime, newState } = await requesting(paid);
    const decision: any = { action: 'approve', toolCallId: 'c', editedArguments: 9 };
    await expect(runtime.decide(newState, decision)).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    expect(paid).toEqual([]);
  });
});

describe("an approval of a call in OpenAI's shape", () => {
  const requested = async (paid: unknown[]) => {
    const made = { id: 'c', type: 'function', function: { name: 'pay', arguments: '{"n":1}' } };
    const pending = { type: 'request_human_approve', pendingToolsCalling: [made] };
    const tools = { pay: (args: never) => paid.push(args) };
    const runtime = new AgentRuntime(scripted(pending, { tools }));
    const { newState } = await runtime.step(stateOf([{ role: 'user', content: 'x' }]));
    return { runtime, newState: newState as any };
  };

  it('runs the call that was shown, by each door', async () => {
    const paid: unknown[] = [];
    const { runtime, newState } = await requested(paid);
    await runtime.approveToolCall(newState, newState.pendingToolsCalling[0]);
    await runtime.decide(newState, { action: 'approve', toolCallId: 'c' });
    await runtime.decide(newState, { action: 'approve_all' });
    const edited = { action: 'approve', toolCallId: 'c', editedArguments: '{"n":2}' } as const;
    await runtime.decide(newState, edited);
    expect(paid).toEqual([{ n: 1 }, { n: 1 }, { n: 1 }, { n: 2 }]);
  });

  it('runs no other arguments than those that were shown', async () => {
    const paid: unknown[] = [];
    const { runtime, newState } = await requested(paid);
    newState.pendingToolsCalling[0].function.arguments = '{"n":666}';
    const rejected = { code: 'approval_mismatch' };
    const one: any = { action: 'approve', toolCallId: 'c' };
    await expect(runtime.decide(newState, one)).rejects.toMatchObject(rejected);
    await expect(runtime.decide(newState, { action: 'approve_all' })).rejects.toMatchObject(
      rejected,
    );
    const { events } = await runtime.approveToolCall(newState, newState.pendingToolsCalling[0]);
    expect(events).toMatchObject([{ type: 'error', error: { type: 'approval_mismatch' } }]);
    expect(paid).toEqual([]);
  });
});

describe('an approval without a decision', () => {
  const paused = async (paid: unknown[]) => {
    const answers = [{ tool_calls: toolTurn('a', 'c1').tool_calls }, { content: 'done' }];
    const agent: any = new GeneralChatAgent({
      operationId: 'op',
      modelRuntimeConfig: { model: 'm', provider: 'p' },
    });
    agent.tools = { pay: (args: never) => paid.push(args) && 'paid' };
    agent.modelRuntime = () => says(answers.shift()!);
    const runtime = new AgentRuntime(agent, { history: 'engine' });
    const manifest = { identifier: 'pay', humanIntervention: 'required', api: [{ name: 'pay' }] };
    const state = stateOf([{ role: 'user', content: 'x' }], { toolManifestMap: { pay: manifest } });
    const { newState } = await runtime.run(state);
    expect(newState.status).toBe('waiting_for_human');
    return { runtime, newState: newState as any };
  };
  const step = (approvedToolCall: any, more: object): any => ({
    phase: 'human_approved_tool',
    payload: { approvedToolCall, ...more },
    session: { sessionId: 's', messageCount: 1, status: 'waiting_for_human', stepCount: 1 },
  });

  it.each([
    ['approveToolCall', undefined],
    ['a step', () => ({ parentMessageId: 'other' })],
    ['a step on the row', (id: string) => ({ parentMessageId: id, skipCreateToolMessage: true })],
  ])('answers the row that asked, once, by %s', async (_name, more) => {
    const paid: unknown[] = [];
    const { runtime, newState } = await paused(paid);
    const [made] = newState.pendingToolsCalling;
    const requested = newState.messages.at(-1);
    const approved = await (more
      ? runtime.step(newState, step(made, more(requested.id)))
      : runtime.approveToolCall(newState, made));
    const rows = approved.newState.messages.filter((row: any) => row.role === 'tool');
    expect(rows).toMatchObject([
      { id: requested.id, content: 'paid', pluginIntervention: { status: 'approved' } },
    ]);
    const end = await runtime.run(approved.newState, approved.nextContext);
    expect(end.newState.status).toBe('done');
    expect(paid).toHaveLength(1);
    const { events } = await runtime.approveToolCall(end.newState, made);
    expect(events).toMatchObject([{ type: 'error', error: { type: 'approval_answered' } }]);
    expect(paid).toHaveLength(1);
  });

  it('answers the rows of several calls', async () => {
    const paid: unknown[] = [];
    const { runtime, newState } = await paused(paid);
    const payload: any = { approvedToolCalls: newState.pendingToolsCalling };
    const approved = await runtime.step(newState, { ...step(undefined, {}), payload });
    expect(approved.newState.messages.filter((row: any) => row.role === 'tool')).toMatchObject([
      { content: 'paid', pluginIntervention: { status: 'approved' } },
    ]);
    expect(paid).toHaveLength(1);
  });
});

describe('rows that wait for approval', () => {
  const request = (calls: any[], more = {}) => ({
    type: 'request_human_approve',
    pendingToolsCalling: calls,
    parentMessageId: 'a',
    ...more,
  });
  const config = { history: 'engine' as const };

  it('know their batch, and the state knows the rows', async () => {
    const runtime = new AgentRuntime(scripted(request([call('c1'), call('c2')])), config);
    const { newState } = await runtime.step(stateOf([toolTurn('a', 'c1', 'c2')]));
    const rows = newState.messages.filter(({ role }) => role === 'tool');
    expect(rows.map((row: any) => row.pluginIntervention)).toEqual(
      [0, 1].map((itemIndex) => ({
        status: 'pending',
        batchId: 'op:1:a',
        itemIndex,
        operationId: 'op',
        stepIndex: 1,
      })),
    );
    expect(newState).toMatchObject({
      pendingApprovalBatch: { id: 'op:1:a', assistantMessageId: 'a', stepIndex: 1, sealed: true },
      pendingToolMessageIds: { c1: rows[0]?.id, c2: rows[1]?.id },
    });
    expect(newState['pendingApprovalBatch']).not.toHaveProperty('supersedes');
  });

  const bound = (id: string, batchId: string) => ({
    id: `row-${id}`,
    role: 'tool',
    content: '',
    tool_call_id: id,
    parentId: 'a',
    plugin: call(id),
    pluginIntervention: { status: 'pending', batchId, operationId: 'old' },
  });

  it('are bound anew when they are asked about again', async () => {
    const calls = [call('c1'), call('c2')];
    const again = request(calls, { skipCreateToolMessage: true, parentMessageId: undefined });
    const rows = [toolTurn('a', 'c1', 'c2'), bound('c1', 'b0'), bound('c2', 'b0')];
    const { newState } = await new AgentRuntime(scripted(again), config).step(stateOf(rows));
    expect(newState['pendingApprovalBatch']).toEqual({
      id: 'op:1:a',
      assistantMessageId: 'a',
      stepIndex: 1,
      sealed: true,
      supersedes: { batchId: 'b0', operationId: 'old', toolCallIds: ['c1', 'c2'] },
    });
    expect(newState.messages[2]).toMatchObject({
      pluginIntervention: { status: 'pending', batchId: 'op:1:a', operationId: 'op', itemIndex: 1 },
    });
  });

  it.each([
    ['several batches', [bound('c1', 'b0'), bound('c2', 'b1')]],
    ['a batch and none', [bound('c1', 'b0')]],
  ])('are not asked about together when they are of %s', async (_name, rows) => {
    const again = request([call('c1'), call('c2')], { skipCreateToolMessage: true });
    const { events, newState } = await new AgentRuntime(scripted(again), config).step(
      stateOf([toolTurn('a', 'c1', 'c2'), ...rows]),
    );
    expect(newState.status).toBe('error');
    expect(events).toMatchObject([{ type: 'error', error: { type: 'invalid_instruction' } }]);
  });
});

describe('a group of turns', () => {
  const group = (id: string, ...tools: any[]) => ({
    id,
    role: 'assistantGroup',
    content: '',
    children: [
      { id: `${id}-1`, content: 'thinking', tools: [] },
      { id: `${id}-2`, content: 'calling', tools },
    ],
  });
  const open = (id: string) => call(id, '{}', { intervention: { status: 'pending' } });
  const row = (id: string, parentId: string) => ({
    id: `row-${id}`,
    role: 'tool',
    content: '',
    tool_call_id: id,
    parentId,
    plugin: call(id),
    pluginIntervention: { status: 'pending' },
  });
  const decide = (messages: any[]) =>
    new GeneralChatAgent().runner({ phase: 'tool_result', payload: {} } as any, stateOf(messages));

  it.each([
    ['in the group', [group('g', open('c'))]],
    ['under the group', [group('g', call('c')), row('c', 'g')]],
    ['under the turn', [group('g', call('c')), row('c', 'g-2')]],
  ])('has open approvals %s', async (_name, messages) => {
    expect(await decide(messages)).toMatchObject({
      type: 'request_human_approve',
      pendingToolsCalling: [{ id: 'c', apiName: 'pay' }],
    });
  });

  it('that is newer leaves those of an older one behind', async () => {
    const older = [toolTurn('a', 'c0'), row('c0', 'a'), group('g', call('c'))];
    expect(await decide(older)).toMatchObject({ type: 'call_llm' });
  });

  it('is rows of its own to a provider', async () => {
    const requested: any[] = [];
    const modelRuntime = (payload: any) => (requested.push(payload), says({ content: 'ok' }));
    const done = call('c', '{"n":1}', { result: { id: 'r', content: 'paid' } });
    const messages = [{ id: 'u', role: 'user', content: 'x' }, group('g', done)];
    const agent = scripted({ type: 'call_llm', payload: { messages } }, { modelRuntime });
    await new AgentRuntime(agent, { history: 'engine' }).step(stateOf(messages));
    expect(requested[0].messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: 'thinking' },
      {
        role: 'assistant',
        content: 'calling',
        tool_calls: [{ id: 'c', function: { name: 'pay', arguments: '{"n":1}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'paid' },
    ]);
  });
});

describe('results', () => {
  it('of tasks are what the model reads of the tool that asked for them', async () => {
    const requested: any[] = [];
    let turn = 0;
    const agent: any = new GeneralChatAgent({ modelRuntimeConfig: { model: 'm', provider: 'p' } });
    agent.modelRuntime = (payload: any) => {
      requested.push(payload);
      const calls = [{ id: 'c', type: 'function', function: { name: 'plan', arguments: '{}' } }];
      return says(turn++ === 0 ? { tool_calls: calls } : { content: 'done' });
    };
    const tasks = [
      { description: 'One', instruction: 'do one' },
      { description: 'Two', instruction: 'do two' },
    ];
    agent.tools = {
      plan: () => ({ content: 't', stop: true, state: { type: 'execSubAgents', tasks } }),
    };
    const runtime = new AgentRuntime(agent, {
      history: 'engine',
      runSubAgent: async ({ instruction }) => {
        if (instruction === 'do two') throw new Error('broken');
        return { success: true, result: `did ${instruction}` };
      },
    });
    const manifest = { identifier: 'plan', humanIntervention: 'never' };
    const { newState } = await runtime.run(
      stateOf([{ id: 'u', role: 'user', content: 'x' }], { toolManifestMap: { plan: manifest } }),
    );
    expect(newState.status).toBe('done');
    expect(requested[1].messages[2]).toMatchObject({
      role: 'tool',
      tool_call_id: 'c',
      content: '1. One\ndid do one\n\n2. Two\nFailed: broken',
    });
  });

  it('of a task that no tool asked for are rows of their own', async () => {
    const task = { type: 'exec_sub_agent', payload: { task: { instruction: 'look' } } };
    const runSubAgent = async () => ({ success: true, threadId: 't', result: 'seen' });
    const runtime = new AgentRuntime(scripted(task), { history: 'engine', runSubAgent });
    const { newState } = await runtime.step(stateOf([{ role: 'user', content: 'x' }]));
    expect(newState.messages[1]).toMatchObject({
      role: 'task',
      content: 'seen',
      threadId: 't',
      metadata: { instruction: 'look' },
    });
  });

  it.each([
    ['text', 'from client', 'from client'],
    ['a record', { content: 'from client', success: true }, 'from client'],
    ['a value', { n: 1 }, '{"n":1}'],
  ])('of the client are what a tool’s are: %s', async (_name, result: any, content) => {
    const client = call('c', '{}', { executor: 'client' });
    const runtime = new AgentRuntime(
      scripted({ type: 'call_tool', payload: { toolCalling: client } }),
      { history: 'engine' },
    );
    const { newState } = await runtime.step(stateOf([{ role: 'user', content: 'x' }]));
    expect(newState.status).toBe('waiting_for_async_tool');
    runtime.step = async (state) => ({ events: [], newState: state });
    const decided = await runtime.decide(newState, {
      action: 'tool_result',
      toolCallId: 'c',
      result,
    });
    expect(decided.newState.messages.at(-1)).toMatchObject({ role: 'tool', content });
  });

  it('that say they failed are counted as failures', async () => {
    const tools = { pay: () => ({ content: 'no money', success: false }) };
    const agent = scripted({ type: 'call_tool', payload: { toolCalling: call('c') } }, { tools });
    const { newState } = await new AgentRuntime(agent).step(stateOf([]));
    expect(newState.usage.tools.byTool).toMatchObject([{ name: 'pay', calls: 1, errors: 1 }]);
  });
});

it('an empty list of instructions is an error', async () => {
  const { events, newState } = await new AgentRuntime(scripted([])).step(stateOf([]));
  expect(newState.status).toBe('error');
  expect(events).toMatchObject([{ type: 'error', error: { type: 'invalid_instruction' } }]);
});

describe('the blacklist', () => {
  const blocked = (args: object) =>
    InterventionChecker.checkSecurityBlacklist(undefined, args as never).blocked;

  it.each([
    ['sudo', 'sudo '.repeat(100)],
    ['env', 'env '.repeat(100)],
    ['eval', 'eval '.repeat(20)],
    ['substitutions', '$('.repeat(20)],
    ['many of them', '$('.repeat(20_000)],
    ['commands before it', 'true; '.repeat(5000)],
  ])('is not passed behind %s', (_name, before) => {
    expect(blocked({ command: `${before}rm -rf /` })).toBe(true);
  });

  it.each([
    [{ args: ['rm', '-rf', '/'] }],
    [{ command: 'rm', args: ['-rf', '/'] }],
    [{ program: 'rm', arguments: ['-rf', '/'] }],
    [{ commands: ['ls', 'rm -rf /'] }],
    [{ input: { command: 'rm -rf /' } }],
    [{ steps: [{ cmd: 'rm -rf /' }] }],
    [{ url: 'file:///home/u/.ssh/id_rsa' }],
    [{ command: 'cat .e*' }],
    [{ command: 'tar c ~/.ssh' }],
    [{ command: 'perl -e "system(q(rm -rf /))"' }],
  ])('knows %j', (args) => {
    expect(blocked(args)).toBe(true);
  });

  it.each([
    [{ command: 'cat *' }],
    [{ command: 'ls -la', args: ['src'] }],
    [{ args: ['one', 'two'] }],
    [{ url: 'https://example.com/.env' }],
    [{ command: 'true; '.repeat(1000) }],
  ])('lets %j pass', (args) => {
    expect(blocked(args)).toBe(false);
  });

  it('counts a rule that cannot be tested where it asks, and not where it allows', () => {
    const broken = { command: { type: 'regex', pattern: '(' } } as never;
    const rule = { description: 'broken', match: broken };
    const check = InterventionChecker.checkSecurityBlacklist([rule], { command: 'ls' });
    expect(check.blocked).toBe(true);
    const config = [{ match: broken, policy: 'never' as const }];
    const toolArgs = { command: 'ls' };
    expect(InterventionChecker.shouldIntervene({ config, toolArgs })).toBe('required');
  });

  it('does not hang on a pattern', () => {
    const rule = { description: 'slow', match: { command: { type: 'regex', pattern: '^(a+)+$' } } };
    const began = Date.now();
    const command = `${'a'.repeat(40)}!`;
    InterventionChecker.checkSecurityBlacklist([rule as never], { command });
    expect(Date.now() - began).toBeLessThan(10_000);
  });
});

describe('an approval that comes late', () => {
  const requesting = async (config: object) => {
    const pending = { type: 'request_human_approve', pendingToolsCalling: [call('c')] };
    const runtime = new AgentRuntime(scripted(pending, { tools: { pay: () => 'paid' } }), config);
    const { newState } = await runtime.step(stateOf([{ role: 'user', content: 'x' }]));
    const later = Date.now() + 24 * 60 * 60 * 1000;
    const now = jest.spyOn(Date, 'now').mockReturnValue(later);
    return { runtime, newState, restore: () => now.mockRestore() };
  };
  const approval: any = { action: 'approve', toolCallId: 'c' };

  it('is refused after 15 minutes, and the call can still be refused', async () => {
    const { runtime, newState, restore } = await requesting({});
    try {
      await expect(runtime.decide(newState, approval)).rejects.toMatchObject({
        code: 'approval_answered',
        message: expect.stringContaining('approvalTimeoutMs'),
      });
      const refusal: any = { action: 'reject', toolCallId: 'c' };
      expect((await runtime.decide(newState, refusal)).newState.status).toBe('interrupted');
    } finally {
      restore();
    }
  });

  it.each([0, Infinity])('counts where calls wait for ever: %p', async (approvalTimeoutMs) => {
    const { runtime, newState, restore } = await requesting({ approvalTimeoutMs });
    try {
      await runtime.decide(newState, approval);
    } finally {
      restore();
    }
  });

  it('needs a time that is one', () => {
    for (const approvalTimeoutMs of [-1, NaN, '1' as never]) {
      expect(() => new AgentRuntime(scripted({}), { approvalTimeoutMs })).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
    }
  });
});

describe('a call with the id of a call of an older turn', () => {
  const rows = (state: any) =>
    state.messages
      .filter(({ role }: any) => role === 'tool')
      .map(({ content, parentId }: any) => [parentId, content]);
  const older = [
    { role: 'user', content: 'x' },
    { ...toolTurn('a0', 'c'), tool_calls: [{ id: 'c', type: 'function', function: { name: 'pay', arguments: '{"n":1}' } }] }, // prettier-ignore
    { id: 't0', role: 'tool', tool_call_id: 'c', parentId: 'a0', content: 'old' },
    toolTurn('a1', 'c'),
  ];
  const requested = async () => {
    const pending = { type: 'request_human_approve', pendingToolsCalling: [call('c')], parentMessageId: 'a1' }; // prettier-ignore
    const agent = scripted(pending, { tools: { pay: () => 'new' } });
    const runtime = new AgentRuntime(agent, { history: 'engine' });
    const { newState } = await runtime.step(stateOf(older));
    expect(rows(newState).slice(0, 1)).toEqual([['a0', 'old']]);
    return { runtime, state: JSON.parse(JSON.stringify(newState)) };
  };

  it.each<[any, unknown]>([
    [{ action: 'approve', toolCallId: 'c' }, 'new'],
    [{ action: 'approve', toolCallId: 'c', editedArguments: { n: 2 } }, 'new'],
    [{ action: 'approve_all' }, 'new'],
    [{ action: 'reject_and_continue', toolCallId: 'c' }, expect.stringContaining('refused')],
    [{ action: 'stop' }, expect.stringContaining('aborted')],
  ])('is decided about in a row of its own: %j', async (decision, content) => {
    const { runtime, state } = await requested();
    const decided = await runtime.decide(state, decision);
    const { newState } = decided.nextContext && decision.action.startsWith('approval')
      ? await runtime.step(decided.newState, decided.nextContext)
      : decided; // prettier-ignore
    expect(rows(newState)).toEqual([
      ['a0', 'old'],
      ['a1', content],
    ]);
    const [first, last]: any[] = newState.messages.filter(({ tool_calls }: any) => tool_calls);
    expect(first.tool_calls[0].function.arguments).toBe('{"n":1}');
    const edited = decision.editedArguments ? '{"n":2}' : '{}';
    expect(last.tool_calls[0].function.arguments).toBe(edited);
  });

  it('is aborted in a row of its own', async () => {
    const payload = { parentMessageId: 'a1', toolsCalling: [call('c')] };
    const runtime = new AgentRuntime(scripted({ type: 'resolve_aborted_tools', payload }));
    const { newState } = await runtime.step(stateOf(older));
    expect(rows(newState)).toEqual([
      ['a0', 'old'],
      ['a1', expect.stringContaining('aborted')],
    ]);
  });

  it('keeps the result of an executor of the host', async () => {
    const executors = {
      call_tool: ({ payload }: any, state: any) => {
        const made = { id: 't1', role: 'tool', tool_call_id: 'c', parentId: payload.parentMessageId, content: 'new' }; // prettier-ignore
        return { events: [], newState: { ...state, messages: [...state.messages, made] } };
      },
    };
    const payload = { parentMessageId: 'a1', toolsCalling: [call('c')] };
    const agent = scripted({ type: 'call_tools_batch', payload }, { executors });
    const { newState } = await new AgentRuntime(agent).step(stateOf(older));
    expect(rows(newState)).toEqual([
      ['a0', 'old'],
      ['a1', 'new'],
    ]);
  });
});
