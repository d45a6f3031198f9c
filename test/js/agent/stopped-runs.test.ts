// Runs that were stopped before they began, and what the user says besides an answer.
import type { AGUIEvent } from 'millrace';
import { createAgent, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

/** An agent whose model calls `pay` once and then says "done"; the tool asks before it runs. */
async function payer(requests = true) {
  const paid: string[] = [];
  const keys: string[] = [];
  const model = await startModel(({ messages }): Turn =>
    messages.at(-1)?.role === 'user' && !messages.some(({ role }) => role === 'tool')
      ? { calls: [{ id: 'call_0', name: 'pay', args: { to: 'Ada' } }] }
      : { text: 'done' },
  );
  models.push(model);
  const pay = tool({
    name: 'pay',
    ...(requests ? { approval: 'always' as const } : {}),
    run: (_input, { idempotencyKey }) => {
      paid.push('Ada');
      keys.push(idempotencyKey);
      return 'paid';
    },
  });
  const agent = createAgent({
    model: 'openai:gpt-5',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    approval: requests ? 'always' : 'never',
    tools: [pay],
  });
  return { agent, model, paid, keys };
}

const reported = (model: ScriptedModel): string[] =>
  model.asked
    .at(-1)!
    .messages.map(({ role, content }) => `${role}: ${typeof content === 'string' ? content : ''}`);

describe('a run whose signal was aborted', () => {
  it('runs nothing that was approved, and leaves the question open', async () => {
    const { agent, paid } = await payer();
    const ended = new AbortController();
    const run = agent.run('go', { signal: ended.signal });
    expect((await run.result).status).toBe('interrupted');
    ended.abort();
    expect(await (await run.resume(true)).result).toMatchObject({ status: 'cancelled' });
    expect(paid).toEqual([]);
    const next = await run.resume(true, { signal: null });
    expect(await next.text()).toBe('done');
    expect(paid).toEqual(['Ada']);
  });

  it('goes on with a signal of its own', async () => {
    const { agent, paid } = await payer();
    const run = agent.run('go');
    await run.result;
    const { status } = await (await run.resume(true, { signal: AbortSignal.abort() })).result;
    expect(status).toBe('cancelled');
    expect(paid).toEqual([]);
  });

  it('keeps a saved step as it was', async () => {
    const { agent, paid } = await payer(false);
    const saved: unknown[] = [];
    await agent.run('go', { onCheckpoint: (step) => void saved.push(step) }).result;
    const [afterModel] = saved as Parameters<typeof agent.continue>[0][];
    paid.length = 0;
    const stopped = agent.continue(afterModel!, { checkpoint: true, signal: AbortSignal.abort() });
    expect((await stopped.result).status).toBe('cancelled');
    expect(paid).toEqual([]);
    const next = agent.continue((await stopped.state)!);
    expect(await next.text()).toBe('done');
    expect(paid).toEqual(['Ada']);
  });
});

it('begins no tool once the run was stopped', async () => {
  for (let delay = 0; delay < 12; delay += 1) {
    const { agent, paid } = await payer(false);
    const run = agent.run('go');
    await new Promise((resolve) => setTimeout(resolve, delay));
    run.stop();
    const before = paid.length;
    await run.result;
    expect(paid).toHaveLength(before);
  }
});

it('gives the calls of two runs of a thread keys of their own', async () => {
  const { agent, keys } = await payer(false);
  await agent.run('one', { threadId: 't' }).result;
  await agent.run('two', { threadId: 't' }).result;
  expect(new Set(keys).size).toBe(2);
});

describe('a history that comes with an answer', () => {
  type Row = { role: 'user' | 'assistant' | 'tool'; content: string };
  const before: Row[] = [
    { role: 'user', content: 'zero' },
    { role: 'assistant', content: 'yes' },
    { role: 'user', content: 'pay Ada' },
  ];
  const calling = {
    role: 'assistant' as const,
    content: null,
    tool_calls: [{ id: 'call_0', type: 'function', function: { name: 'pay', arguments: '{}' } }],
  };
  const after = ['user: zero', 'assistant: yes', 'user: pay Ada', 'assistant: ', 'tool: paid'];

  // What an AG-UI client sends: the whole history, and the answer.
  const answer = async (rows: readonly object[], format?: string) => {
    const { agent, model } = await payer();
    const of = format === undefined ? {} : { format };
    const first = agent.run(before as never, { threadId: 'h', ...of });
    const { interrupts = [] } = (await first.result) as unknown as {
      interrupts: { id: string }[];
    };
    const resume = [
      { interruptId: interrupts[0]!.id, status: 'resolved' as const, payload: { approved: true } },
    ];
    const next = agent.run(rows as never, { threadId: 'h', resume, ...of });
    const events: AGUIEvent[] = [];
    for await (const event of next) events.push(event);
    expect(events.at(-1)?.type).toBe('RUN_FINISHED');
    return reported(model);
  };

  it.each([undefined, 'openai'])('is not said again (%s)', async (format) => {
    expect(await answer(before, format)).toEqual(after);
    expect(await answer([...before, calling], format)).toEqual(after);
  });

  it.each([undefined, 'openai'])('may say more (%s)', async (format) => {
    const more = { role: 'user', content: 'quick' };
    expect(await answer([...before, calling, more], format)).toEqual([...after, 'user: quick']);
  });
});
