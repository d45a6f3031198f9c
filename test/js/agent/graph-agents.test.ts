// Agents that walk a graph: they keep their place in the state's metadata, name their steps, and add context to single
// calls of their model.
/* eslint-disable @typescript-eslint/no-explicit-any */
import {
  AgentRuntime,
  createModelRuntime,
  createRuntime,
  type Agent,
  type AgentState,
} from 'millrace';

const nodes = ['plan', 'work', 'verify'];

// Begins the next node with each answer, and ends behind the last one.
function walker(before?: (state: AgentState) => void): Agent & { seen: unknown[] } {
  const seen: unknown[] = [];
  return {
    seen,
    runner: (_context: unknown, state: AgentState) => {
      before?.(state);
      const { at = -1, ...rest } = (state.metadata?.['walk'] ?? {}) as { at?: number };
      const next = nodes[at + 1];
      state.metadata = { ...state.metadata, walk: { ...rest, at: at + 1 } };
      if (next === undefined) return { type: 'finish', reason: 'completed' };
      seen.push(next);
      const messages = [...state.messages, { role: 'user', content: `Do: ${next}` }];
      return { type: 'call_llm', stepLabel: next, payload: { messages } };
    },
    modelRuntime: async function* () {
      yield await Promise.resolve({ content: 'done' });
    },
  } as never;
}

const begun = (more: Partial<AgentState> = {}): AgentState =>
  AgentRuntime.createInitialState({
    operationId: 'walk',
    messages: [{ role: 'user', content: 'Go.' }],
    ...more,
  });

describe.each(['caller', 'engine'] as const)('a runner that writes metadata (%s)', (history) => {
  it('finds it again in the next step, in the state and in its copy', async () => {
    const agent = walker();
    const state = begun({ metadata: { userId: 'ada' } });
    const runtime = new AgentRuntime(agent, { history });
    const { newState } = await runtime.run(state);
    expect(agent.seen).toEqual(nodes);
    expect(newState).toMatchObject({
      ...{ status: 'done', stepCount: 3 },
      metadata: { userId: 'ada', walk: { at: 3 }, _stepLabel: 'verify' },
    });
    expect(state.metadata).toEqual({ userId: 'ada' });
  });
});

it('keeps the metadata of a runner in a durable run', async () => {
  const runtime = createRuntime({ storage: 'memory' });
  const agent = walker();
  const { newState } = await new AgentRuntime(agent, { runtime, name: 'walker' }).run(begun());
  expect(agent.seen).toEqual(nodes);
  expect(newState.metadata).toMatchObject({ walk: { at: 3 } });
  await runtime.close();
});

it('takes metadata away that a runner removed, and reports what cannot be stored', async () => {
  const without = { runner: (_: unknown, state: AgentState) => (delete state.metadata, end) };
  const end = { type: 'finish', reason: 'completed' };
  const run = async (agent: unknown): Promise<any> =>
    new AgentRuntime(agent as never).step(begun({ metadata: { old: true } }));
  expect((await run(without)).newState.metadata).toEqual({});
  const broken = { runner: (_: unknown, state: any) => ((state.metadata.self = () => 1), end) };
  expect((await run(broken)).newState).toMatchObject({
    ...{ status: 'error', error: { type: 'state_not_serializable' } },
    metadata: { old: true },
  });
  const text = { runner: (_: unknown, state: any) => ((state.metadata = 'mine'), end) };
  expect((await run(text)).newState.error).toMatchObject({
    ...{ type: 'invalid_state', message: expect.stringContaining('`metadata`') },
  });
});

it('names steps in the events of their turns', async () => {
  const { events } = await new AgentRuntime(walker()).run(begun());
  const named = events.filter(({ type }) => type === 'llm_start' || type === 'llm_result');
  expect(named.map((event: any) => event.stepLabel)).toEqual(nodes.flatMap((one) => [one, one]));
});

describe('additional contexts of a call', () => {
  // What the provider is sent for these contexts.
  async function sentWith(
    additionalContexts: unknown,
    messages: object[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
    ],
  ) {
    const requests: any[] = [];
    const modelRuntime = createModelRuntime('openai', {
      ...{ apiKey: 'k', maxRetries: 0 },
      fetch: (_url: unknown, init?: { body?: unknown }) => {
        requests.push(JSON.parse(init?.body as string));
        const chunk = { choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop', index: 0 }] };
        const headers = { 'content-type': 'text/event-stream' };
        const text = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
        return Promise.resolve(new Response(text, { headers }));
      },
    });
    const payload = { model: 'gpt-4o', provider: 'openai', messages, additionalContexts };
    const agent = { modelRuntime, runner: () => ({ type: 'call_llm', payload }) };
    const { newState } = await new AgentRuntime(agent as never).step(begun());
    return { newState, messages: requests[0]?.messages as any[] | undefined };
  }

  it('are messages in their places, with escaped texts', async () => {
    const sections = [
      { tag: 'data', format: 'json', value: { text: '<b>' } },
      { tag: 'names', format: 'compact_json', value: ['a', 'b'] },
      { tag: 'task', format: 'text', value: 'Use <a> & end.' },
    ];
    const { messages, newState } = await sentWith([
      {
        ...{ placement: 'virtual_tail', content: { type: 'text', text: 'Soon & last.' } },
        wrapper: { tag: 'note' },
      },
      {
        ...{ placement: 'stable_prefix', content: { type: 'sections', sections } },
        wrapper: { tag: 'node', attributes: { name: '"x" <y> & z' } },
      },
      {
        ...{ placement: 'virtual_tail', content: { type: 'text', text: 'Two.' } },
        wrapper: { tag: 'note' },
      },
    ]);
    const node = [
      '<node name="&quot;x&quot; &lt;y&gt; &amp; z">',
      '<data>\n{\n  "text": "\\u003cb\\u003e"\n}\n</data>',
      '<names>\n["a","b"]\n</names>',
      '<task>Use &lt;a&gt; &amp; end.</task>',
      '</node>',
    ].join('\n');
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: node },
      { role: 'user', content: 'Hello' },
      { role: 'user', content: '<note>\nSoon &amp; last.\n</note>\n\n<note>\nTwo.\n</note>' },
    ]);
    expect(JSON.stringify(newState.messages)).not.toContain('node');
  });

  it('stand behind the prompt where the user has written nothing', async () => {
    const content = { type: 'text', text: 'T' };
    const one = { placement: 'stable_prefix', content, wrapper: { tag: 'n' } };
    const answer = { role: 'assistant', content: 'A' };
    const { messages } = await sentWith([one], [{ role: 'system', content: 'S' }, answer]);
    expect(messages?.map(({ role }) => role as string)).toEqual(['system', 'user', 'assistant']);
    expect((await sentWith([])).messages).toHaveLength(2);
  });

  it.each([
    ['no list', { text: 'x' }],
    ['an unknown place', [{ placement: 'here', content: { type: 'text', text: 'x' } }]],
    ['no element', [{ placement: 'virtual_tail', content: { type: 'text', text: 'x' } }]],
    [
      'an unknown format',
      [
        {
          ...{ placement: 'virtual_tail', wrapper: { tag: 'n' } },
          content: { type: 'sections', sections: [{ tag: 'a', format: 'yaml', value: 1 }] },
        },
      ],
    ],
  ])('with %s are an error of the step', async (_what, contexts) => {
    const { newState, messages } = await sentWith(contexts);
    expect(messages).toBeUndefined();
    expect(newState).toMatchObject({ status: 'error', error: { type: 'invalid_instruction' } });
  });
});
