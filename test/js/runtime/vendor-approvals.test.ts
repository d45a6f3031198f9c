// Durable runs that wait for an approval of a provider: after a crash, in forks, in records.
import { createAgent, type RunRecord, type Runtime } from 'millrace';

import {
  approvalRequest,
  approvalResponse,
  type Item,
  mcpCall,
  textItem,
  sentItems,
  startApprovalProvider,
} from '../../support/approval-provider';
import { eventsOf } from '../../support/agents';
import type { Provider } from '../../support/provider';
import { cleanUp, makeStore, recordsIn, startChild } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

let provider: Provider;
afterEach(async () => {
  await cleanUp();
  await provider.close();
});

const request = approvalRequest('mcpr_1');
const parameters = { apiMode: 'responses' };

describe('a durable run that waits for an approval of the provider', () => {
  it('is answered once after its process was killed', async () => {
    provider = await startApprovalProvider([[request], [mcpCall('mcp_1'), textItem('A six.')]]);
    const { store, log } = makeStore();
    const options = { store, log, model: provider.url, parameters };
    const first = startChild({ ...options, do: 'stay' });
    const waiting = await first.until(({ status }) => status !== undefined);
    expect(waiting).toMatchObject({ status: 'interrupted', interrupts: ['mcpr_1'] });
    const { id } = await first.until((line) => line['id'] !== undefined);
    await first.kill();

    const again = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    expect(recordsIn(again)).toEqual(recordsIn(first.lines));
    expect(again.at(-1)).toMatchObject({ status: 'interrupted', interrupts: ['mcpr_1'] });
    const second = await startChild({ ...options, do: 'approve', id }).ended();
    expect(second[0]).toEqual({ open: ['mcpr_1'] });
    expect(second.at(-1)).toMatchObject({ status: 'completed', text: 'A six.' });
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', true)]);
    const third = await startChild({ ...options, do: 'approve', id }).ended();
    expect(third[0]).toEqual({ open: [] });
    expect(provider.calls).toHaveLength(2);
  });

  it('keeps the answer where its process is killed behind it', async () => {
    provider = await startApprovalProvider([[request], [], [textItem('A six.')]]);
    const answer = provider.answer;
    // The second request is not answered.
    provider.answer = (response, call) =>
      provider.calls.length === 2 ? undefined : answer(response, call);
    const { store, log } = makeStore();
    const options = { store, log, model: provider.url, parameters };
    const first = await startChild({ ...options, do: 'run' }).ended();
    const { id } = first.find((line) => line['id'] !== undefined)!;
    const second = startChild({ ...options, do: 'approve', id });
    while (provider.calls.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    await second.kill();

    const third = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
    expect(third.at(-1)).toMatchObject({ status: 'completed', text: 'A six.' });
    expect(provider.calls).toHaveLength(3);
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', true)]);
    const responses = recordsIn(third).filter(
      ({ event }) => event.value?.kind === 'mcp_approval_response',
    );
    expect(responses).toHaveLength(1);
  });

  async function waiting(runtime: Runtime, answers: Item[][]) {
    provider = await startApprovalProvider(answers);
    const agent = createAgent({
      model: 'openai:gpt',
      provider: { baseURL: provider.url, apiKey: 'k', maxRetries: 0 },
      ...{ runtime, name: 'helper', parameters },
    });
    const run = agent.run('Roll a die.', { threadId: 't' });
    await eventsOf(run);
    return { agent, run, result: await run.result };
  }

  it('says so to a second answer', async () => {
    const runtime = runtimeOf();
    const { run } = await waiting(runtime, [[request], [textItem('No.')]]);
    const [approval] = await runtime.approvals.list();
    expect(approval).toMatchObject({ toolCallId: 'mcpr_1' });
    await runtime.approvals.decide(approval!.id, { approved: false, reason: 'No dice.' });
    expect((await runtime.attach(run.id).result).status).toBe('completed');
    const late = runtime.approvals.decide(approval!.id, true);
    await expect(late).rejects.toMatchObject({ code: 'approval_answered' });
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', false, 'No dice.')]);
    expect(provider.calls).toHaveLength(2);
  });

  it('is denied where the user goes on in its thread', async () => {
    const runtime = runtimeOf();
    const { agent, run } = await waiting(runtime, [[request], [textItem('Well.')], []]);
    const thread = async () => (await runtime.storage().thread.getMessages('t')) as never[];
    const next = (id: string) => ({ id, role: 'user' as const, content: 'Tell me about dice.' });
    await agent.run([...(await thread()), next('m2')], { threadId: 't' }).text();
    expect((await runtime.get(run.id))?.state).toBe('cancelled');
    const denied = approvalResponse('mcpr_1', false, 'The user went on without an answer.');
    const input = (JSON.parse(provider.calls[1]!.body) as { input: Item[] }).input;
    expect(input.slice(1, 3)).toEqual([request, denied]);
    expect(input.map(({ type }) => type)).toEqual([
      ...['message', 'mcp_approval_request', 'mcp_approval_response', 'message'],
    ]);
    // The same in the next turn.
    await eventsOf(agent.run([...(await thread()), next('m3')], { threadId: 't' }));
    const later = (JSON.parse(provider.calls[2]!.body) as { input: Item[] }).input;
    expect(later.slice(0, 4)).toEqual(input);
    expect(later.filter(({ type }) => type === 'mcp_approval_response')).toEqual([denied]);
  });

  it('has request and answer in its records, and its forks have them', async () => {
    const runtime = runtimeOf();
    const answers = [[request], [mcpCall('mcp_1'), textItem('A six.')], [textItem('A five.')]];
    const { run } = await waiting(runtime, answers);
    await runtime.approvals.decide((await runtime.approvals.list())[0]!.id, true);
    await runtime.attach(run.id).result;
    const records: RunRecord[] = [];
    for await (const record of runtime.attach(run.id).records({ after: 0 })) records.push(record);
    const states = records.flatMap(({ event }) => {
      if (event.type !== 'CUSTOM' || event.name !== 'millrace.provider_state') return [];
      const { kind, state } = event.value as { kind: string; state: unknown };
      return kind.startsWith('mcp_approval') ? [state] : [];
    });
    expect(states).toEqual([request, approvalResponse('mcpr_1', true)]);
    const step = records.findLast(({ event }) => event.type === 'STEP_STARTED');
    const forked = await runtime.fork(run.id, { at: step!.seq, message: 'Again.' });
    expect(await runtime.attach(forked.id).text()).toBe('A five.');
    expect(provider.calls).toHaveLength(3);
    expect(sentItems(provider).slice(0, 2)).toEqual([request, approvalResponse('mcpr_1', true)]);
    const thread = await runtime.storage().thread.getMessages('t');
    expect(thread.map(({ role }) => role)).toEqual([
      ...['user', 'assistant', 'assistant', 'assistant', 'tool', 'assistant'],
    ]);
    // Forked where it waits, it waits again.
    const waits = records.find(({ event }) => event.type === 'RUN_FINISHED')!.seq;
    const open = await runtime.fork(run.id, { at: waits });
    expect(await runtime.attach(open.id).result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ toolCallId: 'mcpr_1' }],
    });
  });
});
