// How a run and the agents that it called end: whatever ends them, readers see it closed, what was
// spent is counted and the state can be gone on from.
import { verifyEvents } from '@ag-ui/client';
import type { AGUIEvent } from 'millrace';
import { createAgent, tool } from 'millrace';
import { from, lastValueFrom, toArray } from 'rxjs';

import type { ScriptedModel, Turn } from '../support/scripted-model';
import { startModel } from '../support/scripted-model';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

type AgentOptions = Partial<Parameters<typeof createAgent>[0]>;
type Rows = ScriptedModel['asked'][number]['messages'];

/** An agent that calls `helper`, and what its model is asked. */
async function pairOf(
  script: { helper: (rows: Rows) => Turn; caller?: (rows: Rows) => Turn },
  options: { helper?: AgentOptions; caller?: AgentOptions; timeoutMs?: number } = {},
) {
  const model = await startModel(({ messages }) => {
    if (messages[0]?.content === 'You help.') return script.helper(messages);
    return (script.caller ?? helped)(messages);
  });
  models.push(model);
  const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
  const helper = createAgent({
    model: 'openai:gpt-5',
    provider,
    instructions: 'You help.',
    ...options.helper,
  });
  const entry = { name: 'helper', description: 'Helps.', agent: helper };
  const { timeoutMs } = options;
  const agents = [timeoutMs === undefined ? entry : { ...entry, timeoutMs }];
  const agent = createAgent({ model: 'openai:gpt-5', provider, agents, ...options.caller });
  return { agent, model };
}

const call = (name: string, id = 'c1', args: unknown = {}): Turn => ({
  calls: [{ id, name, args }],
});
const answered = (rows: Rows): boolean => rows.at(-1)?.role === 'tool';
const helped = (rows: Rows): Turn =>
  answered(rows)
    ? { text: `told: ${String(rows.at(-1)?.content)}` }
    : call('helper', 'h1', { task: 'do it' });

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

async function eventsOf(run: AsyncIterable<AGUIEvent>): Promise<AGUIEvent[]> {
  const events: AGUIEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

/** What a client that checks the order of events makes of them. */
async function expectLegal(events: AGUIEvent[]): Promise<void> {
  const checked = verifyEvents(false)(from(events) as never);
  expect(await lastValueFrom(checked.pipe(toArray()))).toHaveLength(events.length);
}

const typesOf = (events: AGUIEvent[]): string[] => events.map(({ type }) => type);
const look = tool({ name: 'look', description: 'Looks.', run: () => 'seen' });

describe('a run that ends while another agent works for it', () => {
  const twoTurns = (rows: Rows): Turn =>
    answered(rows) ? { text: 'half', hang: true } : call('look');

  it('closes what that agent has open, and counts what it spent', async () => {
    const { agent, model } = await pairOf({ helper: twoTurns }, { helper: { tools: [look] } });
    const run = agent.run('go');
    let told = 0;
    for await (const event of run) {
      told += event.type === 'TEXT_MESSAGE_CONTENT' ? 1 : 0;
      if (told > 0) run.stop();
    }
    const { status, usage, cost } = await run.result;
    expect(status).toBe('cancelled');
    expect(model.asked).toHaveLength(3);
    expect(usage).toMatchObject({
      llm: { apiCalls: 3, source: 'estimated' },
      tools: { totalCalls: 1, byTool: [{ name: 'look', calls: 1 }] },
    });
    expect(usage?.llm.tokens.total).toBeGreaterThan(30);
    expect(cost?.llm.byModel).toMatchObject([{ usage: { totalTokens: 30 } }]);
    const events = await eventsOf(run);
    await expectLegal(events);
    expect(typesOf(events).filter((type) => /_END|FINISHED|SUBAGENT/.test(type))).toEqual(
      expect.arrayContaining(['SUBAGENT_STARTED', 'TEXT_MESSAGE_END', 'SUBAGENT_ERROR']),
    );
    expect(events.find(({ type }) => type === 'SUBAGENT_ERROR')).toMatchObject({
      code: 'cancelled',
      message: 'The agent helper was stopped.',
    });
  });

  it('does so when its time is over', async () => {
    const { agent } = await pairOf(
      { helper: twoTurns },
      { helper: { tools: [look] }, caller: { limits: { maxDurationMs: 300 } } },
    );
    const run = agent.run('go');
    const { reason, usage } = await run.result;
    expect(reason).toBe('timeout');
    expect(usage?.llm.apiCalls).toBe(3);
    await expectLegal(await eventsOf(run));
  });

  it('does so at all depths, for several agents at once', async () => {
    const model = await startModel(({ messages }) => {
      const at = String(messages[0]?.content);
      if (at === 'depth 2') return { text: 'half', hang: true };
      const one = { name: 'deeper', args: { task: 'go on' } };
      return { calls: [one, one] };
    });
    models.push(model);
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const at = (depth: number): ReturnType<typeof createAgent> =>
      createAgent({
        model: 'openai:m',
        provider,
        instructions: `depth ${String(depth)}`,
        agents: depth < 2 ? [{ name: 'deeper', description: 'Helps.', agent: at(depth + 1) }] : [],
      });
    const run = at(0).run('go');
    await until(() => model.asked.length === 7);
    run.stop();
    expect((await run.result).usage?.llm.apiCalls).toBe(7);
    const events = await eventsOf(run);
    await expectLegal(events);
    expect(events.filter(({ type }) => type === 'SUBAGENT_ERROR')).toHaveLength(6);
  });
});
