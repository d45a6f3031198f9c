// createAgent: tools of the client, stop, sub-agents.
import type { HostTool } from 'millrace';
import { createAgent, tool } from 'millrace';
import type { Turn } from '../../support/scripted-model';
import { model, useModel, agentOf, eventsOf, typesOf, add, call, mail } from '../../support/agents';

describe('a tool of the client', () => {
  const look = { name: 'look', description: 'Looks.', parameters: { type: 'object' } };

  it('is called without a result, which comes as a message', async () => {
    const agent = await agentOf([call('look'), { text: 'I saw it' }], { tools: [add] });
    const first = agent.run('look', { threadId: 't', clientTools: [look] });
    const events = await eventsOf(first);
    expect(typesOf(events)).not.toContain('TOOL_CALL_RESULT');
    expect(await first.result).toMatchObject({ status: 'delegated' });
    const second = agent.run(
      [
        { id: 'u', role: 'user', content: 'look' },
        {
          id: 'a',
          role: 'assistant',
          content: '',
          toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { id: 'r', role: 'tool', toolCallId: 'c1', content: 'a house' },
      ],
      { threadId: 't', clientTools: [look] },
    );
    expect(await second.text()).toBe('I saw it');
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'a house' });
  });

  it('comes before a question of the same turn', async () => {
    const sent: string[] = [];
    const agent = await agentOf(
      [
        {
          calls: [
            { id: 'c1', name: 'look' },
            { id: 'c2', name: 'send_mail', args: { to: 'ada' } },
          ],
        },
        { text: 'done' },
      ],
      { tools: [mail(sent)] },
    );
    const options = { threadId: 't', clientTools: [look] };
    const first = agent.run('go', options);
    // The client waits for its own call alone.
    expect((await eventsOf(first)).at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'success', pendingToolCallIds: ['c1'] },
    });
    expect(await first.result).toMatchObject({ status: 'delegated' });
    const requests = agent.run(
      [{ id: 'r', role: 'tool', toolCallId: 'c1', content: 'a house' }],
      options,
    );
    expect(await requests.result).toMatchObject({ status: 'interrupted' });
    expect(await (await requests.resume(true)).text()).toBe('done');
    expect(sent).toEqual(['ada']);
    const rows = model.asked[1]?.messages.filter(({ role }) => role === 'tool');
    expect(rows?.map(({ content }) => content)).toEqual(['a house', 'sent to ada']);
  });
});

describe('stop', () => {
  it('reaches the connection of the model', async () => {
    const agent = await agentOf([{ text: 'never', hang: true }]);
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    // The last reader left.
    await model.calls[0]?.closed;
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    await expect(run.text()).rejects.toMatchObject({ code: 'cancelled' });
    const events = await eventsOf(run);
    expect(typesOf(events).slice(-4)).toEqual([
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'CUSTOM',
      'RUN_FINISHED',
    ]);
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
  });

  it('reaches every tool, at all depths, and what they answer later is ignored', async () => {
    let aborted = 0;
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const wait = tool({
      name: 'wait',
      run: async (_input, { signal, progress }) => {
        begun();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        aborted += 1;
        progress('late');
        return 'late';
      },
    });
    await useModel((body) => {
      const depth = JSON.stringify(body).includes('deeper') ? 'wait' : 'helper';
      return call(depth, { task: 'deeper' });
    });
    const provider = { baseURL: model.url, apiKey: 'k' };
    const inner = createAgent({ model: 'openai:m', provider, tools: [wait] });
    const agent = createAgent({
      model: 'openai:m',
      provider,
      agents: [{ name: 'helper', description: 'Helps.', agent: inner }],
    });
    const controller = new AbortController();
    const run = agent.run('go', { signal: controller.signal });
    await running;
    controller.abort(new Error('enough'));
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    await expect(run.text()).rejects.toThrow('enough');
    expect(aborted).toBe(1);
  });
});

describe('another agent', () => {
  const pair = async (
    turns: (task: string) => Turn,
    more: object = {},
    tools: HostTool[] = [],
    own: object = {},
  ) => {
    await useModel((body) => {
      const rows = body.messages;
      const isChild = rows.some(({ content }) => content === 'You help.');
      if (isChild) return turns(JSON.stringify(rows.at(-1)?.content));
      const last = rows.at(-1);
      return last?.role === 'tool'
        ? { text: `told: ${String(last.content)}` }
        : call('helper', { task: 'sum up' });
    });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const helper = createAgent({
      model: 'openai:m',
      provider,
      instructions: 'You help.',
      tools,
      ...own,
    });
    return createAgent({
      model: 'openai:m',
      provider,
      agents: [{ name: 'helper', description: 'Helps.', agent: helper, ...more }],
    });
  };

  it('has a history of its own, and its usage is the run’s', async () => {
    const agent = await pair(() => ({ text: 'all is well' }));
    const run = agent.run('hello');
    const events = await eventsOf(run);
    const { text, usage } = await run.result;
    expect(text).toBe('told: all is well');
    expect(usage?.llm).toMatchObject({ apiCalls: 3, tokens: { total: 45 } });
    const child = model.asked.find(({ messages }) => messages[0]?.content === 'You help.');
    expect(child?.messages.map(({ content }) => content)).toEqual(['You help.', 'sum up']);
    const types = typesOf(events);
    expect(types.filter((type) => type.startsWith('SUBAGENT'))).toEqual([
      'SUBAGENT_STARTED',
      'SUBAGENT_FINISHED',
    ]);
    const texts = events.filter((e) => e.type === 'TEXT_MESSAGE_START' && 'subagentRunId' in e);
    expect(texts).toHaveLength(1);
  });

  it('that ends without an answer tells why', async () => {
    const look = tool({ name: 'look', description: 'Looks.', run: () => 'seen' });
    const agent = await pair(() => call('look', {}), {}, [look], { limits: { maxTokens: 1 } });
    expect((await agent.run('hello').result).text).toMatch(
      /told: .*helper ended without an answer: /,
    );
  });

  it('may inherit the conversation', async () => {
    const agent = await pair(() => ({ text: 'ok' }), { inheritMessages: true });
    await agent.run('hello').result;
    const child = model.asked.find(({ messages }) => messages[0]?.content === 'You help.');
    expect(child?.messages.map(({ content }) => content)).toContain('hello');
  });

  it('that fails or takes too long is a result', async () => {
    const slow = await pair(() => ({ text: 'x', hang: true }), { timeoutMs: 100 });
    expect((await slow.run('hello').result).text).toMatch(/did not end within 100 ms/);
  });

  it('asks through the run that called it', async () => {
    const sent: string[] = [];
    const agent = await pair(
      (last) =>
        last.includes('sent to') ? { text: 'mailed' } : call('send_mail', { to: 'ada' }, 'm1'),
      {},
      [mail(sent)],
    );
    const run = agent.run('hello');
    const { status, interrupts } = await run.result;
    expect(status).toBe('interrupted');
    expect(interrupts?.[0]).toMatchObject({ toolCallId: 'm1', subagentRunId: expect.any(String) });
    const wrong = await run.resume({ approved: true, editedArgs: { to: 7 } });
    expect(await wrong.result).toMatchObject({
      status: 'error',
      error: { code: 'invalid_argument' },
    });
    const next = await run.resume({ approved: true, editedArgs: { to: 'eve' } });
    expect((await next.result).text).toBe('told: mailed');
    expect(sent).toEqual(['eve']);
  });

  it('may share the definition of a tool', () => {
    const definition = { name: 'add', run: () => 5 };
    const pairOf = (other: HostTool) => () =>
      createAgent({
        model: 'demo:demo',
        tools: [tool(definition)],
        agents: [
          {
            name: 'sub',
            description: 'Sub.',
            agent: createAgent({ model: 'demo:demo', tools: [other] }),
          },
        ],
      });
    expect(pairOf(tool(definition))).not.toThrow();
    expect(pairOf(tool({ ...definition, run: () => 6 }))).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
  });

  it('may be nested four deep, not deeper', async () => {
    await useModel([{ text: 'ok' }]);
    const provider = { baseURL: model.url, apiKey: 'k' };
    const deeper = (depth: number): ReturnType<typeof createAgent> =>
      createAgent({
        model: 'openai:m',
        provider,
        ...(depth > 1 && {
          agents: [{ name: 'sub', description: 'Sub.', agent: deeper(depth - 1) }],
        }),
      });
    expect(() => deeper(4)).not.toThrow();
    expect(() => deeper(5)).toThrow(/4 deep/);
  });
});
