// How runs end: limits that hold while somebody hangs, stops, and what is left of a run then.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import type { RunCheckpoint } from 'millrace';
import { AgentRuntime, createAgent, GeneralChatAgent, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { until } from '../support/server';
import { startModel } from '../../support/scripted-model';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

async function agentOf(script: Parameters<typeof startModel>[0], options: object = {}) {
  const model = await startModel(script);
  models.push(model);
  const agent = createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    ...options,
  });
  return { agent, model };
}

const never = () => new Promise<never>(() => undefined);
const calls = (...names: string[]): Turn => ({
  calls: names.map((name, index) => ({ id: `c${index}`, name })),
});

const signals: AbortSignal[] = [];
const hangs = tool({
  name: 'hangs',
  run: (_input, { signal }) => {
    signals.push(signal);
    return never();
  },
});
const pay = (ran: unknown[], more: object = {}) =>
  tool({
    name: 'pay',
    approval: true,
    run: (input) => {
      ran.push(input);
      return 'paid';
    },
    ...more,
  });

describe('the limit of time', () => {
  it.each([
    ['a tool that hangs', [calls('hangs')], ''],
    ['a model that hangs', [{ text: 'half an', hang: true }], 'half an'],
  ] as const)('ends a run of %s', async (_name, script, text) => {
    const limits = { maxDurationMs: 300 };
    const { agent, model } = await agentOf([...script], { tools: [hangs], limits });
    const result = await agent.run('go').result;
    expect(result).toMatchObject({ status: 'limited', reason: 'timeout', text });
    expect(model.asked).toHaveLength(1);
    expect(signals.splice(0).every(({ aborted }) => aborted)).toBe(true);
  });

  it.each([1e10, 1e13, Number.MAX_SAFE_INTEGER])('may be %d ms', async (maxDurationMs) => {
    const { agent } = await agentOf([{ text: 'done' }], { limits: { maxDurationMs } });
    const result = await agent.run('go').result;
    expect(result).toMatchObject({ status: 'completed', reason: 'completed', text: 'done' });
  });

  it('leaves out the time that people take', async () => {
    const limits = { maxDurationMs: 2000 };
    const long = () => new Promise((resolve) => setTimeout(resolve, 2100));
    const ran: unknown[] = [];
    const plain = await agentOf([calls('pay'), { text: 'done' }], { tools: [pay(ran)], limits });
    const child = await agentOf([calls('pay'), { text: 'paid' }], { tools: [pay(ran)] });
    const outer = await agentOf(
      [{ calls: [{ id: 'c', name: 'helper', args: { task: 'x' } }] }, { text: 'done' }],
      { agents: [{ name: 'helper', description: 'Helps.', agent: child.agent }], limits },
    );
    const runs = [plain.agent.run('go'), outer.agent.run('go')];
    for (const run of runs) expect(await run.result).toMatchObject({ reason: 'waiting_for_human' });
    await long();
    for (const run of runs) {
      const rest = await run.resume(true);
      expect(await rest.result).toMatchObject({ reason: 'completed', text: 'done' });
    }
    expect(ran).toHaveLength(2);
  });

  it('counts for agents that it calls', async () => {
    const { agent: child } = await agentOf([calls('hangs')], { tools: [hangs] });
    const { agent } = await agentOf(
      [{ calls: [{ id: 'c', name: 'helper', args: { task: 'x' } }] }],
      {
        agents: [{ name: 'helper', description: 'Helps.', agent: child }],
        limits: { maxDurationMs: 400 },
      },
    );
    expect(await agent.run('go').result).toMatchObject({ reason: 'timeout' });
    expect(signals.splice(0)).toMatchObject([{ aborted: true }]);
  });

  const limits = { maxDurationMs: 100 };
  const state = () =>
    AgentRuntime.createInitialState({
      operationId: 'op',
      messages: [{ role: 'user', content: 'x' }],
      limits,
    });
  const call = { id: 'c', identifier: 't', apiName: 't', arguments: '{}', type: 'default' };

  it.each([
    ['runner', { runner: never }],
    [
      'model',
      {
        runner: () => ({ type: 'call_llm', payload: { messages: [] } }),
        modelRuntime: async function* () {
          yield { content: 'half' };
          await never();
        },
      },
    ],
    [
      'tool',
      {
        runner: () => ({ type: 'call_tool', payload: { toolCalling: call } }),
        tools: { t: never },
      },
    ],
    [
      'executor',
      {
        runner: () => ({ type: 'finish', reason: 'completed' }),
        executors: { finish: never },
      },
    ],
  ])('ends a step whose %s never answers', async (_name, agent: any) => {
    const runtime = new AgentRuntime(agent, { history: 'engine' });
    const { events, newState, nextContext } = await runtime.step(state());
    expect(events).toContainEqual(expect.objectContaining({ type: 'done', reason: 'timeout' }));
    expect(newState.status).toBe('done');
    expect(nextContext).toBeUndefined();
  });
});

describe('the bounds of a run', () => {
  it('are 32 steps when none are named', async () => {
    let turn = 0;
    const { agent, model } = await agentOf(
      (body) =>
        'tools' in body
          ? { calls: [{ id: '', name: 'next', args: { n: (turn += 1) } }] }
          : { text: 'enough' },
      { tools: [tool({ name: 'next', run: () => 'more' })] },
    );
    const { reason, text, turns, steps } = await agent.run('go').result;
    expect({ reason, text }).toEqual({ reason: 'max_steps_completed', text: 'enough' });
    expect(turns).toBe(33);
    expect(steps).toBeGreaterThan(turns);
    expect(model.asked).toHaveLength(33);
  });

  it('are 16 calls of one turn; the others are answered', async () => {
    const ran: unknown[] = [];
    const count = tool({ name: 'count', run: (input) => ran.push(input) });
    const many = { calls: Array.from({ length: 18 }, (_, n) => ({ id: `c${n}`, name: 'count' })) };
    const { agent, model } = await agentOf([many, { text: 'done' }], { tools: [count] });
    expect(await agent.run('go').result).toMatchObject({ reason: 'completed', text: 'done' });
    expect(ran).toHaveLength(16);
    const rows = model.asked[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(rows).toHaveLength(18);
    expect(rows[17]?.content).toMatch(/a turn may call 16 tools/);
  });

  it('name the tokens that ended them', async () => {
    const { agent } = await agentOf((_body, index) => calls(`t${index}`), {
      tools: ['t0', 't1', 't2'].map((name) => tool({ name, run: () => 'more' })),
      limits: { maxTokens: 20 },
    });
    expect(await agent.run('go').result).toMatchObject({ reason: 'token_limit_exceeded' });
  });

  it('name the repetition that ended them', async () => {
    const { agent } = await agentOf(() => calls('same'), {
      tools: [tool({ name: 'same', run: () => 'again' })],
      limits: { maxRepeats: 3 },
    });
    expect(await agent.run('go').result).toMatchObject({
      status: 'completed',
      reason: 'tool_call_repeat_limit',
    });
  });

  it.each([
    [{ maxSteps: -1 }, /maxSteps. .*whole number of at least 0/],
    [{ maxSteps: 1.5 }, /maxSteps/],
    [{ maxSteps: '3' }, /maxSteps/],
    [{ maxTokens: 0 }, /maxTokens/],
    [{ maxDurationMs: -5 }, /maxDurationMs/],
    [{ maxCost: -1 }, /maxCost. .*a number of at least 0/],
    [{ maxStep: 3 }, /no limit 'maxStep'. Did you mean 'maxSteps'\?/],
    [{ nothing: 3 }, /no limit 'nothing'. Use one of maxSteps, /],
  ])('refuse %j', (limits: object, message) => {
    const make = () => createAgent({ model: 'demo:demo', limits });
    expect(make).toThrow(message);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_option' }));
  });

  it('are no words of their own: an option that is not known is refused', () => {
    const make = () => createAgent({ model: 'demo:demo', maxSteps: 3 } as any);
    expect(make).toThrow(/no member 'maxSteps'. It is called `limits: \{ maxSteps \}`/);
    expect(make).toThrow(expect.objectContaining({ code: 'invalid_option' }));
  });

  it('may be lifted', () => {
    expect(() => createAgent({ model: 'demo:demo', limits: { maxSteps: 0 } })).not.toThrow();
  });
});

describe('a budget in dollars', () => {
  const limits = { maxCost: 1 };
  it('is refused where a price is not known', () => {
    const rejected = /`limits.maxCost` cannot be enforced: the price of openai:my-own is unknown/;
    const provider = { apiKey: 'k' };
    expect(() => createAgent({ model: 'openai:my-own', provider, limits })).toThrow(rejected);
    const agent = createAgent({ model: 'openai:my-own', provider });
    const agents = [{ name: 'helper', description: 'Helps.', agent }];
    expect(() => createAgent({ model: 'openai:gpt-5', provider, limits, agents })).toThrow(
      rejected,
    );
    createAgent({ model: 'openai:gpt-5', provider, limits });
    createAgent({ model: 'demo:demo', limits });
  });
});

describe('the turns of a run', () => {
  const looks = tool({ name: 'look', effect: 'read', run: () => 'seen' });
  const look = (index: number): Turn => ({
    calls: [{ id: `c${index}`, name: 'look', args: { index } }],
  });

  // A turn takes 15 tokens, for which gpt-5 takes 0.0000625 dollars.
  it.each([
    [{ maxCost: 1e-7 }, 1, 'cost_limit_exceeded'],
    [{ maxCost: 1e-4 }, 2, 'cost_limit_exceeded'],
    [{ maxTokens: 40 }, 3, 'token_limit_exceeded'],
  ])('count each answer with %j', async (limits, turns, reason) => {
    const { agent, model } = await agentOf((_body, index) => look(index), {
      model: 'openai:gpt-5',
      tools: [looks],
      limits,
    });
    const result = await agent.run('go').result;
    expect(result).toMatchObject({ status: 'limited', reason, turns });
    expect(model.asked).toHaveLength(turns);
  });
});

describe('an answer that broke off', () => {
  it('is kept with what it cost', async () => {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: {"choices":[{"index":0,"delta":{"content":"half of it"}}]}\n\n');
      setTimeout(() => response.destroy(), 50);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const baseURL = `http://127.0.0.1:${port}/v1`;
    const agent = createAgent({
      model: 'openai:gpt-5',
      provider: { apiKey: 'k', maxRetries: 0, baseURL },
    });
    const result = await agent.run('x').result;
    server.close();
    expect(result).toMatchObject({
      status: 'error',
      text: 'half of it',
      usage: { llm: { apiCalls: 1, source: 'estimated' } },
    });
    expect(result.cost?.total).toBeGreaterThan(0);
    expect(JSON.parse(JSON.stringify(result.error))).toMatchObject({
      name: 'MillraceError',
      message: expect.stringMatching(/./),
    });
  });
});

describe('a run that was stopped', () => {
  it('keeps what the model had said, and goes on from there', async () => {
    const { agent, model } = await agentOf([
      { text: 'The answer is', hang: true },
      { text: 'forty-two.' },
    ]);
    const run = agent.run('What is it?', { checkpoint: true });
    for await (const event of run) {
      if (event.type === 'TEXT_MESSAGE_CONTENT' && event.delta.includes('is')) run.stop();
    }
    expect(await run.result).toMatchObject({ status: 'cancelled', text: 'The answer is' });
    const saved = (await run.state) as RunCheckpoint;
    expect(saved.state).toMatchObject({ status: 'interrupted' });
    expect(saved.state.messages.at(-1)).toMatchObject({
      role: 'assistant',
      content: 'The answer is',
      metadata: { interruptedMidStream: true },
    });
    expect(await agent.continue(saved).text()).toBe('forty-two.');
    expect(model.asked[1]?.messages.map(({ content }) => content)).toEqual([
      'What is it?',
      'The answer is',
    ]);
  });

  it('says nothing of the answers before its question', async () => {
    const { agent, model } = await agentOf([{ hang: true }]);
    const run = agent.run([
      { id: '1', role: 'user', content: 'What was it?' },
      { id: '2', role: 'assistant', content: 'Forty-one.' },
      { id: '3', role: 'user', content: 'And now?' },
    ]);
    void run.text().catch(() => undefined);
    await until(() => model.asked.length > 0, 'the model is asked');
    run.stop();
    expect(await run.result).toMatchObject({ status: 'cancelled', text: '' });
  });

  it('is paid for', async () => {
    const { agent } = await agentOf([{ text: 'The answer is', hang: true }]);
    const run = agent.run('What is it?');
    const reported: unknown[] = [];
    for await (const event of run) {
      if (event.type === 'TEXT_MESSAGE_CONTENT' && event.delta.includes('is')) run.stop();
      if (event.type === 'CUSTOM' && event.name === 'millrace.run_usage')
        reported.push(event.value);
    }
    const { usage, cost } = await run.result;
    expect(usage?.llm).toMatchObject({ apiCalls: 1, source: 'estimated' });
    expect(usage?.llm.tokens.output).toBeGreaterThan(0);
    expect(cost).toMatchObject({ unpricedCalls: 1 });
    expect(reported).toEqual([expect.objectContaining({ usage, cost })]);
  });

  it('is never begun where its signal has aborted', async () => {
    const { agent } = await agentOf([{ text: 'never' }]);
    const run = agent.run('x', { signal: AbortSignal.abort(new Error('gone')) });
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    await expect(run.text()).rejects.toThrow('gone');
  });

  it('is cancelled by a decision to stop', async () => {
    const ran: unknown[] = [];
    const { agent, model } = await agentOf([calls('pay', 'pay')], { tools: [pay(ran)] });
    const run = agent.run('pay twice');
    const { interrupts = [] } = await run.result;
    const [first, second] = interrupts.map(({ id }) => id) as [string, string];
    const stopped = await run.resume({ [first]: { stop: true }, [second]: true });
    expect(await stopped.result).toMatchObject({ status: 'cancelled', reason: 'user_aborted' });
    expect(ran).toEqual([]);
    expect(model.asked).toHaveLength(1);
  });

  it('is cancelled by a decision about an agent that it called', async () => {
    const ran: unknown[] = [];
    const { agent: child } = await agentOf([calls('pay')], { tools: [pay(ran)] });
    const { agent, model } = await agentOf(
      [{ calls: [{ id: 'c', name: 'helper', args: { task: 'pay' } }] }, { text: 'went on' }],
      { agents: [{ name: 'helper', description: 'Helps.', agent: child }] },
    );
    const run = agent.run('pay');
    expect(await run.result).toMatchObject({ status: 'interrupted' });
    const stopped = await run.resume({ approved: false, stop: true });
    expect(await stopped.result).toMatchObject({ status: 'cancelled', reason: 'user_aborted' });
    expect({ ran, asked: model.asked.length }).toEqual({ ran: [], asked: 1 });
  });

  it('tells how it ended when it is continued after its end', async () => {
    const { agent } = await agentOf([{ text: 'done' }]);
    const run = agent.run('go', { checkpoint: true });
    await run.result;
    const again = agent.continue((await run.state) as RunCheckpoint);
    expect(await again.result).toMatchObject({
      status: 'completed',
      reason: 'completed',
      text: 'done',
    });
  });
});

describe('answers', () => {
  it.each([
    [null, /takes true, false/],
    ['yes', /takes true, false/],
    [undefined, /takes true, false/],
    [{}, /No decision was given; pending are: c0/],
    [{ other: true }, /'other' match no pending interrupt; pending are: c0/],
    [[], /list of answers is empty; pending are: c0/],
    [{ editedArguments: { n: 1 } }, /give \{ approved: true, editedArgs \}.*pending are: c0/],
  ])('of %j are refused', async (answer: any, message) => {
    const { agent } = await agentOf([calls('pay')], { tools: [pay([])] });
    const run = agent.run('pay');
    await expect(run.resume(answer)).rejects.toThrow(message);
    await expect(run.resume(answer)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('to a run that asks nothing are refused', async () => {
    const { agent } = await agentOf([{ text: 'hi' }]);
    await expect(agent.run('x').resume(true)).rejects.toThrow(/no pending interrupt/);
  });

  it('count for the tools that were shown, not for others of the same name', async () => {
    const ran: string[] = [];
    const shown = await agentOf([calls('pay')], { tools: [pay([], { description: 'One euro.' })] });
    const run = shown.agent.run('pay', { threadId: 'shared' });
    const { interrupts = [] } = await run.result;
    const other = await agentOf([{ text: 'x' }], {
      tools: [pay(ran, { description: 'A thousand euros.' })],
    });
    const resume = [
      {
        interruptId: interrupts[0]?.id ?? '',
        status: 'resolved' as const,
        payload: { approved: true },
      },
    ];
    const again = await other.agent.run([], { threadId: 'shared', resume }).result;
    expect(again.status).toBe('interrupted');
    expect(again.interrupts?.map(({ id }) => id)).not.toContain(interrupts[0]?.id);
    expect(again.interrupts?.[0]?.metadata).toMatchObject({ supersedes: interrupts[0]?.id });
    expect(ran).toEqual([]);
  });

  it('run the function that was asked about, also through an agent with an equal tool', async () => {
    const ran: unknown[] = [];
    const others: unknown[] = [];
    const shown = await agentOf([calls('pay', 'pay')], { tools: [pay(ran)] });
    const run = shown.agent.run('pay', { threadId: 'equal' });
    const { interrupts = [] } = await run.result;
    expect(interrupts).toHaveLength(2);
    const other = await agentOf([calls('pay'), { text: 'Paid.' }], { tools: [pay(others)] });
    const answered = async (index: number) =>
      other.agent.run([], {
        threadId: 'equal',
        resume: [
          {
            interruptId: interrupts[index]?.id ?? '',
            status: 'resolved',
            payload: { approved: true },
          },
        ],
      }).result;
    expect(await answered(0)).toMatchObject({ status: 'interrupted' });
    await answered(1);
    expect(ran).toHaveLength(2);
    expect(others).toEqual([]);
  });

  it('come too late when the conversation went on without them', async () => {
    const ran: unknown[] = [];
    const { agent } = await agentOf([calls('pay'), { text: 'Fine.' }], { tools: [pay(ran)] });
    const run = agent.run('pay', { threadId: 'left' });
    await run.result;
    expect(await agent.run('never pay', { threadId: 'left' }).text()).toBe('Fine.');
    const late = await run.resume(true);
    expect(await late.result).toMatchObject({ error: { code: 'approval_mismatch' } });
    expect(ran).toEqual([]);
  });

  it.each([[undefined], [null], [3]])('a run does not begin with %j', async (input: any) => {
    const { agent } = await agentOf([]);
    expect(() => agent.run(input)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    expect(() => agent.continue(input)).toThrow(
      expect.objectContaining({ code: 'invalid_argument' }),
    );
  });
});

it('the general agent names the repetition as well', async () => {
  const agent = new GeneralChatAgent();
  const state = AgentRuntime.createInitialState({
    operationId: 'op',
    toolCallRepeatGuard: { counts: {}, stoppedByRepeatLimit: true },
  });
  const context: any = { phase: 'llm_result', payload: { hasToolsCalling: false } };
  expect(await agent.runner(context, state)).toMatchObject({
    type: 'finish',
    reason: 'tool_call_repeat_limit',
  });
});
