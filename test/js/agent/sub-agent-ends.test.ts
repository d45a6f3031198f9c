// How a run and the agents that it called end: whatever ends them, readers see it closed, what was
// spent is counted and the state can be gone on from.
import { verifyEvents } from '@ag-ui/client';
import type { AGUIEvent } from 'millrace';
import { createAgent, tool } from 'millrace';
import { from, lastValueFrom, toArray } from 'rxjs';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

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
    let reported = 0;
    for await (const event of run) {
      reported += event.type === 'TEXT_MESSAGE_CONTENT' ? 1 : 0;
      if (reported > 0) run.stop();
    }
    const { status, usage, cost } = await run.result;
    expect(status).toBe('cancelled');
    expect(model.asked).toHaveLength(3);
    expect(usage).toMatchObject({
      llm: { apiCalls: 3, source: 'estimated' },
      tools: { totalCalls: 1, byTool: [{ name: 'look', calls: 1 }] },
    });
    expect(usage?.llm.tokens.total).toBeGreaterThan(30);
    // The answer that was cut is booked under its model as well.
    const { total } = usage?.llm.tokens ?? {};
    expect(cost?.llm.byModel).toMatchObject([{ usage: { totalTokens: total } }]);
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

describe('a run whose agents ask', () => {
  const requesting = (ran: string[], work?: (to: string) => unknown): AgentOptions => ({
    tools: [
      tool<{ to: string }>({
        name: 'send_mail',
        description: 'Sends.',
        approval: true,
        run: ({ to }) => {
          ran.push(to);
          return work?.(to) ?? `sent to ${to}`;
        },
      }),
    ],
  });
  // Each of them sends one mail; the last word of its task says to whom.
  const mails = (rows: Rows): Turn => {
    if (answered(rows)) return { text: 'mailed' };
    return call('send_mail', 'm1', { to: String(rows.at(-1)?.content).split(' ').at(-1) });
  };
  const bothHelp = (rows: Rows): Turn =>
    answered(rows)
      ? { text: 'all done' }
      : {
          calls: ['ada', 'bob'].map((name) => ({
            id: `h-${name}`,
            name: 'helper',
            args: { task: `mail ${name}` },
          })),
        };
  const of = (to: string, interrupts: readonly { id: string; metadata?: unknown }[] = []) =>
    interrupts.find(({ metadata }) => JSON.stringify(metadata).includes(`"to":"${to}"`))?.id ?? '';
  const saved = <T>(state: T): T => JSON.parse(JSON.stringify(state)) as T;

  it('gives its state after each answer: what ran is not asked again', async () => {
    const ran: string[] = [];
    const { agent } = await pairOf(
      { helper: mails, caller: bothHelp },
      { helper: requesting(ran) },
    );
    const states: unknown[] = [];
    const run = agent.run('go', {
      checkpoint: true,
      onCheckpoint: (state) => void states.push(state),
    });
    const { interrupts } = await run.result;
    const before = states.length;
    const next = await run.resume({ [of('ada', interrupts)]: true });
    expect(await next.result).toMatchObject({ status: 'interrupted' });
    expect(states.length).toBeGreaterThan(before);
    const state = await next.state;
    if (!state) throw new Error('no state');
    const again = agent.continue(saved(state));
    const { interrupts: open } = await again.result;
    expect(open).toHaveLength(1);
    const last = agent.continue(saved(state), {
      resume: [
        {
          interruptId: of('bob', open),
          status: 'resolved',
          payload: { approved: true },
        },
      ],
    });
    expect(await last.result).toMatchObject({ status: 'completed', text: 'all done' });
    expect(ran).toEqual(['ada', 'bob']);
  });

  it('gives it when one agent has ended and another works still', async () => {
    const ran: string[] = [];
    const hang = (to: string): unknown => (to === 'bob' ? new Promise(() => undefined) : undefined);
    const { agent } = await pairOf(
      { helper: mails, caller: bothHelp },
      { helper: requesting(ran, hang) },
    );
    const states: { state: unknown }[] = [];
    const run = agent.run('go', {
      checkpoint: true,
      onCheckpoint: (state) => void states.push(state),
    });
    await run.result;
    const before = states.length;
    const next = await run.resume(true);
    await until(() => states.length > before && ran.length === 2);
    next.stop();
    await next.result;
    const crashed = agent.continue(saved(states[before]) as never);
    const { interrupts: open } = await crashed.result;
    expect(open).toHaveLength(1);
    expect(of('bob', open)).not.toBe('');
  });

  it('that is stopped while one works is closed, and goes on from its state', async () => {
    const ran: string[] = [];
    const { agent, model } = await pairOf(
      { helper: mails },
      { helper: requesting(ran, () => new Promise(() => undefined)) },
    );
    const run = agent.run('mail ada', { checkpoint: true });
    await run.result;
    const next = await run.resume(true);
    await until(() => ran.length === 1);
    next.stop();
    expect(await next.result).toMatchObject({ status: 'cancelled', reason: 'user_aborted' });
    await expectLegal(await eventsOf(next));
    const state = await next.state;
    if (!state) throw new Error('no state');
    const { text, interrupts } = await agent.continue(saved(state)).result;
    expect(interrupts).toBeUndefined();
    expect(text).toBe('told: The call was aborted before it was finished.');
    expect(model.asked.at(-1)?.messages.at(-1)).toMatchObject({ role: 'tool' });
  });

  it('that is stopped while one asks and one works leaves the question', async () => {
    const ran: string[] = [];
    const { agent, model } = await pairOf(
      {
        helper: (rows) =>
          JSON.stringify(rows).includes('bob') ? { text: 'half', hang: true } : mails(rows),
        caller: bothHelp,
      },
      { helper: requesting(ran) },
    );
    const run = agent.run('go', { checkpoint: true });
    let seen = 0;
    for await (const event of run) {
      seen += event.type === 'SUBAGENT_FINISHED' ? 1 : 0;
      seen += event.type === 'TEXT_MESSAGE_CONTENT' ? 1 : 0;
      if (seen >= 2) run.stop();
    }
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    const state = await run.state;
    if (!state) throw new Error('no state');
    expect(JSON.stringify(state)).not.toContain('subAgentRuns');
    expect(await agent.continue(saved(state)).result).toMatchObject({ text: 'all done' });
    const results = model.asked.at(-1)?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toHaveLength(2);
  });

  it('that is stopped by an answer gives its state, and what was spent', async () => {
    const { agent } = await pairOf({ helper: mails }, { helper: requesting([]) });
    const run = agent.run('mail ada', { checkpoint: true });
    expect((await run.result).usage?.llm).toMatchObject({ apiCalls: 2, tokens: { total: 30 } });
    const next = await run.resume({ stop: true });
    const { status, usage } = await next.result;
    expect(status).toBe('cancelled');
    expect(usage?.llm).toMatchObject({ apiCalls: 2, tokens: { total: 30 } });
    expect(await next.state).toBeDefined();
  });

  it('counts what they spent once, and the time of the person once', async () => {
    // It asks twice.
    const twice = (rows: Rows): Turn => {
      const reported = rows.filter(({ role }) => role === 'tool').length;
      return reported < 2
        ? call('send_mail', `m${reported}`, { to: `${reported}` })
        : { text: 'mailed' };
    };
    const { agent, model } = await pairOf({ helper: twice }, { helper: requesting([]) });
    const began = Date.now();
    let run = agent.run('go', { checkpoint: true });
    for (const requested of [2, 3]) {
      expect(await run.result).toMatchObject({
        status: 'interrupted',
        usage: { llm: { apiCalls: requested }, tools: { totalCalls: requested - 2 } },
      });
      await new Promise((resolve) => setTimeout(resolve, 120));
      run = await run.resume(true);
      await run.result;
    }
    const { status, usage, cost } = await run.result;
    expect(status).toBe('completed');
    expect(usage).toMatchObject({
      llm: { apiCalls: model.asked.length, tokens: { total: 15 * model.asked.length } },
      tools: { totalCalls: 2, byTool: [{ name: 'send_mail', calls: 2 }] },
      humanInteraction: { approvalRequests: 2 },
    });
    expect(cost?.llm.byModel).toMatchObject([{ usage: { totalTokens: 75 } }]);
    expect(usage?.humanInteraction.totalWaitingTimeMs).toBeGreaterThan(200);
    expect(usage?.humanInteraction.totalWaitingTimeMs).toBeLessThanOrEqual(Date.now() - began);
  });

  it('ends in time also while one goes on with its answer', async () => {
    const ran: string[] = [];
    const { agent } = await pairOf(
      { helper: mails },
      {
        helper: requesting(ran, () => new Promise(() => undefined)),
        caller: { limits: { maxDurationMs: 400 } },
      },
    );
    const run = agent.run('mail ada', { checkpoint: true });
    await run.result;
    const next = await run.resume(true);
    expect(await next.result).toMatchObject({ status: 'limited', reason: 'timeout' });
    expect(ran).toEqual(['it']);
    const events = await eventsOf(next);
    await expectLegal(events);
    expect(typesOf(events)).toContain('TOOL_CALL_RESULT');
    expect(await next.state).toBeDefined();
  });
});

describe('the budget of a run', () => {
  const spender = (rows: Rows): Turn => call('look', 'l1', { at: rows.length });
  const mostOf = async (limits: object, helper: AgentOptions = {}) => {
    const { agent, model } = await pairOf(
      { helper: spender },
      { helper: { tools: [look], ...helper }, caller: { limits } },
    );
    const { status, reason, usage } = await agent.run('go').result;
    return { status, reason, calls: model.asked.length, total: usage?.llm.tokens.total };
  };

  it('counts what its agents spend while they work', async () => {
    expect(await mostOf({ maxTokens: 100 })).toEqual({
      status: 'limited',
      reason: 'token_limit_exceeded',
      calls: 7,
      total: 105,
    });
    expect(await mostOf({ maxCost: 0.0003 })).toMatchObject({
      reason: 'cost_limit_exceeded',
      calls: 5,
    });
  });

  it('is shared by agents side by side, and by those that they call', async () => {
    const model = await startModel(({ messages }) => {
      const at = String(messages[0]?.content);
      if (at === 'depth 2') return spender(messages);
      const one = { name: 'deeper', args: { task: 'go on' } };
      return { calls: [one, one] };
    });
    models.push(model);
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const at = (depth: number, more: AgentOptions = {}): ReturnType<typeof createAgent> =>
      createAgent({
        model: 'openai:m',
        provider,
        instructions: `depth ${String(depth)}`,
        ...more,
        ...(depth < 2
          ? { agents: [{ name: 'deeper', description: 'Helps.', agent: at(depth + 1) }] }
          : { tools: [look] }),
      });
    const { reason, usage } = await at(0, { limits: { maxTokens: 300 } }).run('go').result;
    expect(reason).toBe('token_limit_exceeded');
    // Calls that were under way when the limit was reached are counted too.
    expect(usage?.llm.tokens.total).toBeGreaterThanOrEqual(300);
    expect(usage?.llm.tokens.total).toBeLessThanOrEqual(360);
    expect(usage?.llm.apiCalls).toBe(model.asked.length);
  });

  it('holds when an agent goes on with its answer', async () => {
    const request = tool({
      name: 'look',
      description: 'Looks.',
      approval: true,
      run: () => 'seen',
    });
    const { agent, model } = await pairOf(
      { helper: (rows) => (answered(rows) ? call('again') : call('look')) },
      {
        helper: { tools: [request, tool({ name: 'again', run: () => 'x' })] },
        caller: { limits: { maxTokens: 100 } },
      },
    );
    const run = agent.run('go', { checkpoint: true });
    await run.result;
    const { reason } = await (await run.resume(true)).result;
    expect([reason, model.asked.length]).toEqual(['token_limit_exceeded', 7]);
  });
});
