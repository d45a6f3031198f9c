// What a run cost and under which model, where some of those asked did not answer; and runs that a limit ended.
import type { AgentResult } from 'millrace';
import { createAgent, foldEvents, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

async function modelOf(turns: Turn[]): Promise<ScriptedModel> {
  const model = await startModel(turns);
  models.push(model);
  return model;
}

// Nothing listens there.
const closed = 'http://127.0.0.1:1';
const own = (baseURL: string) => ({ baseURL, apiKey: 'k', maxRetries: 0 });

const look = tool({ name: 'look', description: 'Looks.', run: () => 'seen' });
const lookTwice: Turn[] = [
  { text: 'I look. ', calls: [{ id: 'c1', name: 'look' }] },
  { text: 'Again. ', calls: [{ id: 'c2', name: 'look' }] },
  { text: 'Done.' },
];

describe('the cost of a run', () => {
  // 10 tokens of input at 0.15, 5 of output at 0.6 dollars a million, each rounded up to a micro-dollar.
  const ofMini = 0.000_005;

  it.each([0, 2])(
    'is that of the fallback that answered, whatever was refused before (%i retries)',
    async (retries) => {
      const model = await modelOf([{ text: 'Hello' }]);
      const agent = createAgent({
        model: 'openai:gpt-5',
        provider: { ...own(closed), maxRetries: retries },
        fallback: [{ provider: 'openai', model: 'gpt-4o-mini', ...own(model.url) }],
      });
      const { status, cost, usage } = await agent.run('Hi').result;
      expect(status).toBe('completed');
      expect(cost?.llm.byModel).toMatchObject([
        { id: 'openai/gpt-4o-mini', provider: 'openai', model: 'gpt-4o-mini', totalCost: ofMini },
      ]);
      expect(cost).toMatchObject({ total: ofMini, llm: { total: ofMini } });
      expect(cost).not.toHaveProperty('unpricedCalls');
      expect(usage?.llm.tokens).toEqual({ input: 10, output: 5, total: 15 });
      expect(usage?.llm).not.toHaveProperty('source');
    },
  );

  it('names a model that has no card of its own, too', async () => {
    const model = await modelOf([{ text: 'Hello' }]);
    const agent = createAgent({
      model: 'openai:mock-1',
      provider: own(closed),
      fallback: [{ provider: 'openai', model: 'gpt-4o-mini', ...own(model.url) }],
    });
    const { cost } = await agent.run('Hi').result;
    expect(cost?.llm.byModel.map(({ id }) => id)).toEqual(['openai/gpt-4o-mini']);
  });

  it('is unknown, not nothing, where a fallback without a price answered', async () => {
    const model = await modelOf([{ text: 'Hello' }]);
    const agent = createAgent({
      model: 'openai:gpt-5',
      provider: { ...own(closed), maxRetries: 1 },
      fallback: [{ provider: 'openai', model: 'mock-1', ...own(model.url) }],
    });
    const run = agent.run('Hi');
    const reported: object[] = [];
    for await (const event of run) {
      if (event.type === 'CUSTOM' && event.name === 'millrace.run_usage')
        reported.push(event.value);
    }
    const { cost } = await run.result;
    expect(cost).toMatchObject({ unpricedCalls: 1, llm: { byModel: [] } });
    expect(cost).not.toHaveProperty('total');
    expect(cost?.llm).not.toHaveProperty('total');
    expect(reported).toMatchObject([{ cost }]);
  });

  it('is nothing where nobody could be reached', async () => {
    const agent = createAgent({ model: 'openai:gpt-5', provider: own(closed) });
    const { status, cost, usage } = await agent.run('Hi').result;
    expect(status).toBe('error');
    expect(cost).toMatchObject({ total: 0, llm: { total: 0, byModel: [] } });
    expect(cost).not.toHaveProperty('unpricedCalls');
    expect(usage?.llm.tokens.total).toBe(0);
  });
});

describe('a run that a limit ended', () => {
  const limited = async (
    limits: object,
  ): Promise<{ result: AgentResult; failure: unknown; folded: number }> => {
    const model = await modelOf(lookTwice);
    const agent = createAgent({
      model: 'openai:gpt-5',
      provider: own(model.url),
      tools: [look],
      limits,
    });
    const run = agent.run('Look twice.');
    const failure: unknown = await run.text().catch((error: unknown) => error);
    return { result: await run.result, failure, folded: (await foldEvents(run)).length };
  };

  it.each([
    ['maxCost', { maxCost: 0.000_001 }, 'cost_limit_exceeded', /Cost limit exceeded: \d/],
    ['maxTokens', { maxTokens: 10 }, 'token_limit_exceeded', /Token limit exceeded: 15 of 10/],
  ])('by %s is limited and keeps what was said', async (_name, limits, reason, sentence) => {
    const { result, failure, folded } = await limited(limits);
    expect(result).toMatchObject({ status: 'limited', reason, text: 'I look. ' });
    expect(failure).toMatchObject({ name: 'MillraceError', code: reason });
    expect((failure as Error).message).toMatch(sentence);
    expect(result).toMatchObject({ error: { code: reason } });
    expect(folded).toBeGreaterThan(0);
  });

  it('by maxDurationMs is limited', async () => {
    const model = await modelOf([{ text: 'I think', hang: true }]);
    const agent = createAgent({
      model: 'openai:gpt-5',
      provider: own(model.url),
      limits: { maxDurationMs: 400 },
    });
    const run = agent.run('Think.');
    await expect(run.text()).rejects.toMatchObject({ code: 'timeout' });
    expect(await run.result).toMatchObject({ status: 'limited', text: 'I think' });
  });

  it('by maxSteps has its last answer', async () => {
    const model = await modelOf([lookTwice[0] as Turn, { text: 'What I know.' }]);
    const agent = createAgent({
      model: 'openai:gpt-5',
      provider: own(model.url),
      tools: [look],
      limits: { maxSteps: 1 },
    });
    const run = agent.run('Look.');
    expect(await run.text()).toBe('What I know.');
    expect(await run.result).toMatchObject({ status: 'completed', reason: 'max_steps_completed' });
  });
});
