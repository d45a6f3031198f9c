// Tools that a vendor defines: models of other vendors, sub-agents, runs that are recorded, clients that run them.
import { createAgent, createAgentToolsEngine, createRuntime, tool, type AGUIEvent } from 'millrace';

import {
  at,
  startClaude,
  startResponses,
  type Block,
  type Item,
} from '../../support/vendor-models';
import { startProvider, type Provider } from '../../support/provider';

const bashTool = (ran: unknown[] = []) =>
  tool({
    vendor: { type: 'bash_20250124', name: 'bash' },
    run: (input) => {
      ran.push(input);
      return 'ok';
    },
  });
const shellTool = (ran: unknown[] = []) =>
  tool({
    vendor: { type: 'shell', environment: { type: 'local' } },
    run: (input) => {
      ran.push(input);
      return 'ok';
    },
  });

const bashCall: Block[] = [
  { type: 'tool_use', id: 'toolu_1', name: 'bash', input: { command: 'ls' } },
];
const shellCall: Item = {
  ...{ type: 'shell_call', id: 'sh_1', call_id: 'call_1', status: 'completed' },
  action: { commands: ['ls'] },
};

const warnings = (events: AGUIEvent[]): string[] =>
  events.flatMap((event) => {
    const { code, message } = (event.type === 'CUSTOM' ? event.value : {}) as {
      code?: string;
      message?: string;
    };
    return code === 'capability_not_supported' && message !== undefined ? [message] : [];
  });

const eventsOf = async (run: AsyncIterable<AGUIEvent>): Promise<AGUIEvent[]> => {
  const events: AGUIEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
};

let broken: Provider;
beforeEach(async () => {
  broken = await startProvider((response) => {
    response.writeHead(503, { 'content-type': 'application/json' });
    response.end('{"error":{"message":"busy"}}');
  });
});
afterEach(() => broken.close());

describe('a model of another vendor', () => {
  it('is not told of them as a fallback, and a warning names them', async () => {
    const claude = await startClaude();
    const agent = createAgent({
      ...{ model: 'openai:gpt-x', provider: at(broken) },
      fallback: [{ provider: 'anthropic', model: 'claude-x', ...at(claude) }],
      tools: [shellTool(), bashTool()],
    });
    const events = await eventsOf(agent.run('Go.'));
    expect((JSON.parse(broken.calls[0]?.body ?? '{}') as { tools: object[] }).tools).toEqual([
      { type: 'shell', environment: { type: 'local' } },
    ]);
    expect(claude.bodies[0]?.tools).toEqual([{ type: 'bash_20250124', name: 'bash' }]);
    expect(warnings(events)).toEqual([
      "The tool 'shell' (shell) is left out: only the models of OpenAI in the Responses API know it.",
    ]);
  });

  it('is not told of them when it is the only one', async () => {
    const model = await startResponses();
    const agent = createAgent({
      ...{ model: 'openai:gpt-x', provider: at(model) },
      ...{ parameters: { apiMode: 'responses', tool_choice: { type: 'tool', name: 'bash' } } },
      tools: [bashTool()],
    });
    const run = agent.run('Go.');
    expect(await run.text()).toBe('done');
    expect(model.bodies[0]).not.toHaveProperty('tools');
    expect(model.bodies[0]).not.toHaveProperty('tool_choice');
  });

  it('reads their calls and results in the history', async () => {
    const claude = await startClaude(bashCall);
    const openai = await startResponses();
    const { answer } = claude;
    claude.answer = (response, call) =>
      claude.calls.length === 1 ? answer(response, call) : broken.answer(response, call);
    const agent = createAgent({
      ...{ model: 'anthropic:claude-x', provider: at(claude) },
      fallback: [{ provider: 'openai', model: 'gpt-x', ...at(openai) }],
      ...{ tools: [bashTool(), shellTool()] },
    });
    const run = agent.run('Go.');
    const events = await eventsOf(run);
    expect((await run.result).status).toBe('completed');
    expect(openai.bodies[0]?.tools).toEqual([{ type: 'shell', environment: { type: 'local' } }]);
    expect(openai.bodies[0]?.input.slice(1)).toMatchObject([
      { type: 'function_call', name: 'bash', call_id: 'toolu_1' },
      { type: 'function_call_output', call_id: 'toolu_1', output: 'ok' },
    ]);
    expect(warnings(events).join('\n')).toMatch(/The tool 'bash' \(bash_20250124\) is left out/);
  });
});

it('is told of a note in the report of a call', async () => {
  const claude = await startClaude();
  const { createModelRuntime } = await import('millrace');
  const runtime = createModelRuntime('openai', {
    ...at(broken),
    fallback: [{ provider: 'anthropic', model: 'claude-x', ...at(claude) }],
  });
  const run = runtime.stream({
    ...{ model: 'gpt-x', messages: [{ role: 'user', content: 'Go.' }] },
    tools: [{ type: 'shell' }] as never,
  });
  expect(await run.text()).toBe('done');
  expect(claude.bodies[0]).not.toHaveProperty('tools');
  expect(JSON.stringify((await run.report).notes)).toContain(`The tool 'shell' (shell)`);
});

it('runs for a sub-agent', async () => {
  const ran: unknown[] = [];
  const worker = await startResponses([shellCall]);
  const boss = await startClaude([
    { type: 'tool_use', id: 'toolu_1', name: 'worker', input: { task: 'Look.' } },
  ]);
  const agent = createAgent({
    ...{ model: 'anthropic:claude-x', provider: at(boss) },
    agents: [
      {
        ...{ name: 'worker', description: 'Works.' },
        agent: createAgent({
          ...{ model: 'openai:gpt-x', provider: at(worker) },
          tools: [shellTool(ran)],
        }),
      },
    ],
  });
  expect(await agent.run('Go.').text()).toBe('done');
  expect(ran).toEqual([{ commands: ['ls'] }]);
  expect(worker.bodies[1]?.input.at(-1)).toMatchObject({ type: 'shell_call_output' });
});

it('runs in a recorded run, whose plan has the tool of the vendor', async () => {
  const ran: unknown[] = [];
  const model = await startResponses([shellCall]);
  const runtime = createRuntime({ storage: 'memory' });
  const agentOf = (vendor: { type: 'shell'; [member: string]: unknown }, name: string) =>
    createAgent({
      ...{ model: 'openai:gpt-x' as const, provider: at(model), runtime, name },
      tools: [tool({ vendor, run: (input) => void ran.push(input) })],
    });
  const agent = agentOf({ type: 'shell' }, 'a');
  const run = agent.run('Go.', { threadId: 't' });
  expect(await run.text()).toBe('done');
  expect(ran).toEqual([{ commands: ['ls'] }]);
  const output = model.bodies[1]?.input.find(({ type }) => type === 'shell_call_output');
  expect(output).toMatchObject({ output: [{ stdout: '', outcome: { exit_code: 0 } }] });
  await runtime.close();
});

describe('unbound', () => {
  it('ends the run as delegated, also where the tool has no name', async () => {
    const model = await startResponses([shellCall]);
    const agent = createAgent({ model: 'openai:gpt-x', provider: at(model) });
    const run = agent.run('Go.', { clientTools: [{ type: 'shell' }] });
    expect((await run.result).status).toBe('delegated');
    expect(model.bodies[0]?.tools).toEqual([{ type: 'shell' }]);
  });

  it('ends the run as delegated for a tool of Anthropic', async () => {
    const model = await startClaude(bashCall);
    const agent = createAgent({ model: 'anthropic:claude-x', provider: at(model) });
    const clientTools = [{ type: 'bash_20250124', name: 'bash' }] as const;
    const run = agent.run('Go.', { clientTools });
    expect((await run.result).status).toBe('delegated');
    expect(model.bodies[0]?.tools).toEqual([{ type: 'bash_20250124', name: 'bash' }]);
  });
});

describe('tools of the provider among the parameters', () => {
  const agentWith = async (tools: unknown, more: object = {}) => {
    const model = await startResponses([shellCall]);
    const agent = createAgent({
      ...{ model: 'openai:gpt-x', provider: at(model) },
      ...{ parameters: { tools }, ...more },
    });
    return { agent, model };
  };

  it('are sent, and a call of one that the host could run ends the run as delegated', async () => {
    const { agent, model } = await agentWith([{ type: 'web_search' }, { type: 'shell' }]);
    expect((await agent.run('Go.').result).status).toBe('delegated');
    expect(model.bodies[0]?.tools).toEqual([{ type: 'web_search' }, { type: 'shell' }]);
  });

  it('are not sent twice where a function has them', async () => {
    const ran: unknown[] = [];
    const { agent, model } = await agentWith([{ type: 'shell' }], { tools: [shellTool(ran)] });
    expect((await agent.run('Go.').result).status).toBe('completed');
    expect(model.bodies[0]?.tools).toEqual([{ type: 'shell', environment: { type: 'local' } }]);
    expect(ran).toHaveLength(1);
  });

  it('are no functions', async () => {
    const given = [{ type: 'function', function: { name: 'f' } }];
    await expect(agentWith(given)).rejects.toMatchObject({ code: 'invalid_option' });
  });
});

it('is refused where results have no shape of a vendor', () => {
  expect(() => createAgentToolsEngine({ tools: [bashTool()] })).toThrow(
    expect.objectContaining({ code: 'invalid_option' }) as Error,
  );
});
