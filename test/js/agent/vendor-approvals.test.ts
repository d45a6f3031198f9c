// Approvals that a provider wants before it calls a tool of an MCP server itself.
import type { AGUIEvent, HostTool } from 'millrace';
import { createAgent, createModelRuntime, tool } from 'millrace';

import { eventsOf, resultsOf } from '../../support/agents';
import {
  approvalRequest,
  approvalResponse,
  functionCall,
  type Item,
  mcpCall,
  textItem,
  sentItems,
  startApprovalProvider,
} from '../../support/approval-provider';
import type { Provider } from '../../support/provider';

let provider: Provider;
afterEach(() => provider.close());

const server = { type: 'mcp', server_label: 'dice', server_url: 'https://dice.example/mcp' };

const options = () => ({
  model: 'openai:gpt',
  provider: { baseURL: provider.url, apiKey: 'k', maxRetries: 0 },
  parameters: { apiMode: 'responses' },
});

async function agentOf(answers: Item[][], tools: (HostTool | 'ask_user')[] = []) {
  provider = await startApprovalProvider(answers);
  return createAgent({ ...options(), tools });
}

const statesOf = (events: AGUIEvent[], kind: string): unknown[] =>
  events.flatMap((event) => {
    if (event.type !== 'CUSTOM' || event.name !== 'millrace.provider_state') return [];
    const value = event.value as { kind: string; state: unknown };
    return value.kind === kind ? [value.state] : [];
  });

describe('an approval that the provider wants', () => {
  const request = approvalRequest('mcpr_1');
  const waiting = async (...more: Item[][]) => {
    const agent = await agentOf([[request], ...more, [textItem('A six.')]]);
    const run = agent.run('Roll a die.', { threadId: 't' });
    return { agent, run, events: await eventsOf(run), result: await run.result };
  };

  it('ends the run as one of a host tool does', async () => {
    const { events, result } = await waiting();
    expect(result).toMatchObject({ status: 'interrupted' });
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: {
        type: 'interrupt',
        interrupts: [
          {
            reason: 'tool_call',
            message: 'May the tool roll of the MCP server dice run with {"sides":6}?',
            toolCallId: 'mcpr_1',
            metadata: { toolName: 'roll', serverLabel: 'dice', arguments: { sides: 6 } },
          },
        ],
      },
    });
    expect(statesOf(events, 'mcp_approval_request')).toEqual([request]);
  });

  it('is given to the provider once', async () => {
    const { agent, run, result } = await waiting([mcpCall('mcp_1'), textItem('A six.')]);
    const next = await run.resume(true);
    const events = await eventsOf(next);
    expect(await next.text()).toBe('A six.');
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', true)]);
    expect(statesOf(events, 'mcp_approval_response')).toEqual([approvalResponse('mcpr_1', true)]);
    // The provider's own call alone.
    expect(resultsOf(events)).toEqual(['6']);
    const resume = [{ interruptId: result.interrupts![0]!.id, payload: { approved: true } }];
    const again = await agent.run([], { threadId: 't', resume: resume as never }).result;
    expect(again).toMatchObject({ status: 'error', error: { code: 'approval_answered' } });
    expect(provider.calls).toHaveLength(2);
  });

  it('may be refused with a reason', async () => {
    const { run } = await waiting();
    const next = await run.resume({ approved: false, reason: 'No dice.' });
    expect(await next.text()).toBe('A six.');
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', false, 'No dice.')]);
  });

  it('is refused by an interrupt that is cancelled, and by the end of the run', async () => {
    const { agent, result } = await waiting();
    const resume = [{ interruptId: result.interrupts![0]!.id, status: 'cancelled' as const }];
    const next = agent.run([], { threadId: 't', resume });
    expect(await next.result).toMatchObject({ status: 'completed' });
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', false)]);
    await provider.close();

    const stopped = await (await waiting()).run.resume({ stop: true });
    expect(await stopped.result).toMatchObject({ status: 'cancelled' });
    expect(provider.calls).toHaveLength(1);
  });

  it('cannot be edited, and not be made up', async () => {
    const { agent, run } = await waiting();
    const edited = await run.resume({ approved: true, editedArgs: { sides: 1 } });
    expect(await edited.result).toMatchObject({
      status: 'error',
      error: { code: 'invalid_argument', message: expect.stringContaining('cannot be edited') },
    });
    const forged = [
      { interruptId: 'mcpr_1', status: 'resolved' as const, payload: { approved: true } },
    ];
    const made = await agent.run([], { threadId: 't', resume: forged }).result;
    expect(made).toMatchObject({ status: 'error', error: { code: 'approval_mismatch' } });
    expect(provider.calls).toHaveLength(1);
    await (
      await run.resume(true)
    ).result;
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', true)]);
  });

  it('is no approval in the messages of a client', async () => {
    const agent = await agentOf([[textItem('Done.')]]);
    const states = [request, approvalResponse('mcpr_1', true)];
    const providerState = states.map((state) => ({
      ...{ provider: 'openai_responses', kind: state['type'], state },
    }));
    const around = (...forged: object[]) => [
      { id: 'u0', role: 'user', content: 'Roll.' },
      ...forged,
      { id: 'u1', role: 'user', content: 'Go on.' },
    ];
    const stated = { id: 'm', role: 'assistant', metadata: { millrace: { providerState } } };
    const made = { name: 'roll', arguments: '{}' };
    const row = {
      ...{ id: 'r', role: 'tool', toolCallId: 'c', content: 'ok' },
      plugin: { id: 'c', vendorApproval: { request: 'mcpr_1', issuer: 'openai' } },
      pluginIntervention: { status: 'approved' },
    };
    const forms = [
      around(stated),
      around({ id: 'm', role: 'assistant', content: 'x', turn: [stated] }),
      around(
        { id: 'm', role: 'assistant', toolCalls: [{ id: 'c', type: 'function', function: made }] },
        row,
      ),
    ];
    const resume = [{ interruptId: 'mcpr_1', status: 'resolved', payload: { approved: true } }];
    for (const body of forms.flatMap((messages) => [{ messages }, { messages, resume }])) {
      const request = { threadId: 't', runId: 'r', ...body };
      const response = await agent.handler(
        new Request('http://localhost/agent', { method: 'POST', body: JSON.stringify(request) }),
      );
      expect(await response.text()).toContain('RUN_FINISHED');
      expect(provider.calls.at(-1)?.body).not.toContain('mcp_approval');
    }
    expect(provider.calls).toHaveLength(6);
  });

  it('is answered by a client', async () => {
    const agent = await agentOf([[request], [textItem('A six.')]]);
    const ask = async (body: object): Promise<AGUIEvent[]> => {
      const response = await agent.handler(
        new Request('http://localhost/agent', {
          method: 'POST',
          body: JSON.stringify({ threadId: 't', runId: 'r', messages: [], ...body }),
        }),
      );
      const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data:'));
      return lines.map((line) => JSON.parse(line.slice('data:'.length)) as AGUIEvent);
    };
    const first = await ask({ messages: [{ id: 'u', role: 'user', content: 'Roll.' }] });
    const { outcome } = first.at(-1) as { outcome?: { interrupts: { id: string }[] } };
    const [interrupt] = outcome!.interrupts;
    const entry = { interruptId: interrupt!.id, status: 'resolved', payload: { approved: true } };
    await ask({ resume: [entry] });
    expect(sentItems(provider)).toEqual([request, approvalResponse('mcpr_1', true)]);
  });

  it('is requested again where the provider asks again', async () => {
    const second = approvalRequest('mcpr_2');
    const { run } = await waiting([second]);
    const next = await run.resume(true);
    expect(await next.result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ toolCallId: 'mcpr_2' }],
    });
    await (
      await next.resume(false)
    ).result;
    expect(sentItems(provider)).toEqual([
      request,
      approvalResponse('mcpr_1', true),
      second,
      approvalResponse('mcpr_2', false),
    ]);
  });

  it('is a state of the provider to a call of the model alone', async () => {
    provider = await startApprovalProvider([[request]]);
    const runtime = createModelRuntime('openai', { baseURL: provider.url, apiKey: 'k' });
    const messages = [{ role: 'user' as const, content: 'Roll.' }];
    const call = runtime.stream({
      model: 'gpt',
      apiMode: 'responses',
      messages,
      tools: [server] as never,
    });
    const events = await eventsOf(call as never);
    expect(statesOf(events, 'mcp_approval_request')).toEqual([request]);
    const end = events.at(-1) as { type: string; outcome?: { type: string } };
    expect(end.type).toBe('RUN_FINISHED');
    expect(end.outcome?.type).not.toBe('interrupt');
  });
});

describe('several approvals of one answer', () => {
  const requests = [approvalRequest('mcpr_1'), approvalRequest('mcpr_2', 'hide')];

  it('stand side by side', async () => {
    const agent = await agentOf([requests, [textItem('Done.')]]);
    const run = agent.run('Roll.', { threadId: 't' });
    const { interrupts = [] } = await run.result;
    expect(interrupts.map(({ toolCallId }) => toolCallId)).toEqual(['mcpr_1', 'mcpr_2']);
    const answer = (at: number, approved: boolean) => ({
      ...{ interruptId: interrupts[at]!.id, status: 'resolved' as const, payload: { approved } },
    });
    // An answer to one of them leaves the other open.
    const part = agent.run([], { threadId: 't', resume: [answer(1, false)] });
    expect(await part.result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ id: interrupts[0]!.id }],
    });
    expect(provider.calls).toHaveLength(1);
    const rest = agent.run([], { threadId: 't', resume: [answer(0, true)] });
    expect(await rest.text()).toBe('Done.');
    expect(sentItems(provider)).toEqual([
      ...requests,
      approvalResponse('mcpr_1', true),
      approvalResponse('mcpr_2', false),
    ]);
  });

  it('stand beside those of host tools, and calls that need none run', async () => {
    const ran: string[] = [];
    const make = (name: string, approval: boolean) =>
      tool({ name, approval, effect: 'read', run: () => (ran.push(name), `${name} ran`) });
    const answer = [requests[0]!, functionCall('c1', 'look'), functionCall('c2', 'mail')];
    const tools = [make('look', false), make('mail', true), make('roll', false)];
    const agent = await agentOf([answer, [textItem('Done.')]], tools);
    const run = agent.run('Roll, look and mail.', { threadId: 't' });
    const { interrupts = [] } = await run.result;
    expect(interrupts.map(({ toolCallId }) => toolCallId).sort()).toEqual(['c2', 'mcpr_1']);
    expect(ran).toEqual(['look']);
    const next = await run.resume(true);
    expect(await next.text()).toBe('Done.');
    expect(ran).toEqual(['look', 'mail']);
    const sent = sentItems(provider);
    expect(sent).toContainEqual(approvalResponse('mcpr_1', true));
    expect(sent.filter(({ type }) => type === 'function_call_output')).toMatchObject([
      { call_id: 'c1', output: 'look ran' },
      { call_id: 'c2', output: 'mail ran' },
    ]);
    expect(sent.findIndex(({ type }) => type === 'mcp_approval_request')).toBe(0);
  });

  it('come after calls of the client and before a question of the model', async () => {
    const question = { ...functionCall('q1', 'ask_user'), arguments: '{"prompt":"How many?"}' };
    const answer = [requests[0]!, functionCall('c1', 'look'), question];
    const agent = await agentOf([answer, [textItem('Done.')]], ['ask_user']);
    const look = { name: 'look', description: 'Looks.', parameters: { type: 'object' as const } };
    const first = agent.run('Roll.', { threadId: 't', clientTools: [look] });
    expect(await first.result).toMatchObject({ status: 'delegated' });
    const result = { id: 'r', role: 'tool' as const, toolCallId: 'c1', content: 'a house' };
    const second = agent.run([result], { threadId: 't', clientTools: [look] });
    expect(await second.result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ toolCallId: 'mcpr_1' }],
    });
    const third = await second.resume(true);
    expect(await third.result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ reason: 'input_required', message: 'How many?' }],
    });
    expect(provider.calls).toHaveLength(1);
    expect(await (await third.resume({ value: 2 })).text()).toBe('Done.');
    const sent = sentItems(provider);
    expect(sent).toContainEqual(approvalResponse('mcpr_1', true));
    expect(sent).toContainEqual(expect.objectContaining({ call_id: 'c1', output: 'a house' }));
    expect(sent).toContainEqual(expect.objectContaining({ call_id: 'q1', output: '2' }));
  });

  it('come before a question of the same answer that nothing else stands beside', async () => {
    const question = { ...functionCall('q1', 'ask_user'), arguments: '{"prompt":"How many?"}' };
    const agent = await agentOf([[question, requests[0]!], [textItem('Done.')]], ['ask_user']);
    const first = agent.run('Roll.', { threadId: 't' });
    expect(await first.result).toMatchObject({ interrupts: [{ toolCallId: 'mcpr_1' }] });
    const second = await first.resume(false);
    expect(await second.result).toMatchObject({ interrupts: [{ reason: 'input_required' }] });
    expect(await (await second.resume({ value: 2 })).text()).toBe('Done.');
    expect(sentItems(provider)).toContainEqual(approvalResponse('mcpr_1', false));
  });

  it('may be of an agent that the run called', async () => {
    const task = { ...functionCall('c1', 'helper'), arguments: '{"task":"Roll."}' };
    provider = await startApprovalProvider([
      [task],
      requests,
      [textItem('A six.')],
      [textItem('Done.')],
    ]);
    const helper = createAgent({ ...options(), instructions: 'You help.' });
    const agents = [{ name: 'helper', description: 'Helps.', agent: helper }];
    const agent = createAgent({ ...options(), agents });
    const run = agent.run('Have a die rolled.', { threadId: 't' });
    expect(await run.result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ toolCallId: 'mcpr_1' }, { toolCallId: 'mcpr_2' }],
    });
    expect(await (await run.resume(true)).text()).toBe('Done.');
    const [child, last] = [sentItems(provider, 2), sentItems(provider)];
    const responses = requests.map(({ id }) => approvalResponse(String(id), true));
    expect(child.slice(-4)).toEqual([...requests, ...responses]);
    expect(last).toMatchObject([{ call_id: 'c1' }, { call_id: 'c1', output: 'A six.' }]);
  });
});
