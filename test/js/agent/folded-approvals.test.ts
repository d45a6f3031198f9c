// Approvals of calls that a group of turns shows, with the rows of their results within the turn.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { AgentRuntime, GeneralChatAgent } from 'millrace';

const shown = (id: string) => ({
  id,
  identifier: 'pay',
  apiName: 'pay',
  arguments: `{"n":"${id}"}`,
  type: 'default',
  intervention: { status: 'pending' },
  result: { content: '', id: `row-${id}` },
  result_msg_id: `row-${id}`,
});
const state = (more = {}) =>
  AgentRuntime.createInitialState({
    operationId: 'op',
    messages: [
      { id: 'u', role: 'user', content: 'pay' },
      {
        id: 'g',
        role: 'assistantGroup',
        content: '',
        children: [{ id: 'g', content: '', tools: [shown('a'), shown('b')] }],
      },
    ],
    ...more,
  });
const context: any = { phase: 'tools_batch_result', payload: { parentMessageId: 'g' } };
const start = () => {
  const agent: any = new GeneralChatAgent();
  agent.tools = { pay: ({ n }: { n: string }) => `paid ${n}` };
  agent.modelRuntime = async function* () {
    yield { content: 'Done.' };
  };
  return new AgentRuntime(agent, { history: 'engine' });
};
const rowsOf = ({ messages }: { messages: any[] }) =>
  messages
    .filter(({ role }) => role === 'tool')
    .map(({ id, tool_call_id: of, content }) => [id, of, content]);

it('are known by those rows while they wait', async () => {
  const { newState } = await start().step(state(), context);
  expect(newState).toMatchObject({
    status: 'waiting_for_human',
    pendingToolMessageIds: { a: 'row-a', b: 'row-b' },
  });
});

it('take the place of the batch that they were asked for in', async () => {
  const before = { batchId: 'old:0:g', operationId: 'old' };
  const messages = structuredClone(state().messages) as any[];
  const { tools } = messages[1].children[0];
  tools[0].intervention = { status: 'approved', ...before };
  Object.assign(tools[1].intervention, before);
  const given = state({ messages });
  const supersedes = { ...before, toolCallIds: ['b'] };
  expect(await new GeneralChatAgent().runner(context, given)).toMatchObject({
    type: 'request_human_approve',
    supersedes,
  });
  const { newState } = await start().step(given, context);
  expect(newState.pendingApprovalBatch).toMatchObject({ id: 'op:1:g', supersedes });
  tools.push({ ...tools[1], id: 'c', intervention: { status: 'pending' } });
  const mixed = await new GeneralChatAgent().runner(context, state({ messages }));
  expect(mixed).not.toHaveProperty('supersedes');
});

it('fill those rows once decided, and the run goes on', async () => {
  const runtime = start();
  let result: any = await runtime.step(state(), context);
  result = await runtime.decide(result.newState, { action: 'approve', toolCallId: 'a' });
  expect(result.newState).toMatchObject({ status: 'waiting_for_human' });
  expect(result.newState.pendingToolsCalling).toMatchObject([{ id: 'b' }]);
  result = await runtime.decide(result.newState, {
    action: 'reject_and_continue',
    toolCallId: 'b',
    reason: 'no',
  });
  expect(rowsOf(result.newState)).toEqual([
    ['row-a', 'a', 'paid a'],
    ['row-b', 'b', expect.stringContaining('no')],
  ]);
  for (let step = 0; step < 4 && result.newState.status === 'running'; step += 1) {
    result = await runtime.step(result.newState, result.nextContext);
  }
  expect(result.newState.status).toBe('done');
  expect(result.newState.messages.at(-1)).toMatchObject({ content: 'Done.' });
});

it('are not asked for again once all are approved', async () => {
  const runtime = start();
  let result: any = await runtime.step(state(), context);
  for (const toolCallId of ['a', 'b']) {
    result = await runtime.decide(result.newState, { action: 'approve', toolCallId });
  }
  expect(rowsOf(result.newState)).toEqual([
    ['row-a', 'a', 'paid a'],
    ['row-b', 'b', 'paid b'],
  ]);
  for (let step = 0; step < 4 && result.newState.status === 'running'; step += 1) {
    result = await runtime.step(result.newState, result.nextContext);
  }
  expect(result.newState.status).toBe('done');
});

it('fill those rows where the run is stopped', async () => {
  const stopped = state({ status: 'interrupted' });
  expect(await new GeneralChatAgent().runner(context, stopped)).toMatchObject({
    type: 'resolve_aborted_tools',
    payload: { existingToolMessageIds: { a: 'row-a', b: 'row-b' } },
  });
  const { newState } = await start().step(stopped, context);
  expect(newState.messages).toHaveLength(4);
  expect(rowsOf(newState).map(([id]) => id)).toEqual(['row-a', 'row-b']);
});
