// How long the user has for an answer, as the runtime, an agent, a function and a job have it.
import {
  AgentRuntime,
  createAgent,
  createRuntime,
  type Runtime,
  type RuntimeOptions,
  tool,
} from 'millrace';

import { startModel } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

const day = 24 * 3600 * 1000;
const week = 7 * day;

function runtimeWith(options: Partial<RuntimeOptions>): Runtime {
  const runtime = createRuntime({ storage: 'memory', ...options });
  open.push(runtime);
  return runtime;
}

const mail = tool({ name: 'mail', input: { type: 'object' }, approval: true, run: () => 'sent' });

async function mailing(runtime: Runtime, approvalTimeoutMs?: number) {
  const model = await startModel([
    { calls: [{ id: 'c1', name: 'mail', args: {} }] },
    { text: 'Not sent.' },
  ]);
  open.push(model);
  return createAgent({
    ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime, name: 'chat' },
    ...{ tools: [mail], approvalTimeoutMs },
  });
}

// How long the only open approval may be answered, since about now.
async function timeOf(runtime: Runtime): Promise<number> {
  for (;;) {
    const [approval] = await runtime.approvals.list();
    if (approval) return (approval.expiresAt ?? 0) - Date.now();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const minute = 60_000;
const expectTime = (left: number, wanted: number): void => {
  expect(left).toBeGreaterThan(wanted - minute);
  expect(left).toBeLessThanOrEqual(wanted);
};

describe('an approval', () => {
  it.each([
    [undefined, undefined, week],
    [2 * day, undefined, 2 * day],
    [2 * day, 3 * day, 3 * day],
    [undefined, 3 * day, 3 * day],
  ])('counts as long as the runtime (%p) and the agent (%p) want', async (...given) => {
    const [ofRuntime, ofAgent, wanted] = given;
    const runtime = runtimeWith({ approvalTimeoutMs: ofRuntime });
    const agent = await mailing(runtime, ofAgent);
    expect((await agent.run('go').result).status).toBe('interrupted');
    expectTime(await timeOf(runtime), wanted);
  });

  it('is a rejection when its time is over', async () => {
    const runtime = runtimeWith({});
    const agent = await mailing(runtime, 30);
    const run = agent.run('go');
    expect((await run.result).status).toBe('interrupted');
    const isOpen = (state?: string): boolean => /^(waiting|queued|running)$/.test(state ?? '');
    while (isOpen((await runtime.get(run.id))?.state)) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await runtime.get(run.id)).toMatchObject({ state: 'completed' });
    await expect(runtime.approvals.list()).resolves.toEqual([]);
  });

  it.each([
    ['the runtime', undefined, undefined, 2 * day],
    ['the function', 3 * day, undefined, 3 * day],
    ['the question', 3 * day, 4 * day, 4 * day],
  ])('of a function counts as long as %s wants', async (_who, ofAgent, ofQuestion, wanted) => {
    const runtime = runtimeWith({ approvalTimeoutMs: 2 * day });
    runtime.agent('f', (_turn, asking) => asking.action('sure', { timeoutMs: ofQuestion }), {
      approvalTimeoutMs: ofAgent,
    });
    await runtime.start('f', 'go');
    expectTime(await timeOf(runtime), wanted);
  });

  it('of a job and of an AgentRuntime counts as long as their runtime wants', async () => {
    const runtime = runtimeWith({ approvalTimeoutMs: 2 * day });
    const job = runtime.job('j', (self) => self.approve('sure', {}), { approvalTimeoutMs: day });
    const { id } = await job.start(null);
    expectTime(await timeOf(runtime), day);
    await runtime.stop(id);
    const call = { id: 'c1', type: 'function', function: { name: 'mail', arguments: '{}' } };
    const agents = new AgentRuntime(
      {
        runner: () => ({ type: 'request_human_approve', pendingToolsCalling: [call] }),
      } as never,
      { runtime, name: 'clerk' },
    );
    await agents.run(AgentRuntime.createInitialState({ operationId: 'o', messages: [] }));
    expectTime(await timeOf(runtime), 2 * day);
  });

  it.each([0, -1, 1.5, Infinity, 11 * 365 * day, '1'])('takes no limit of %p', async (wrong) => {
    const options = { approvalTimeoutMs: wrong as number };
    const wanted = /approvalTimeoutMs must be a whole number of milliseconds, 1 to ten years/;
    expect(() => createRuntime({ storage: 'memory', ...options })).toThrow(wanted);
    const runtime = runtimeWith({});
    await expect(mailing(runtime, wrong as number)).rejects.toThrow(wanted);
    expect(() => runtime.agent('f', () => '', options)).toThrow(wanted);
    expect(() => runtime.job('j', () => '', options)).toThrow(wanted);
  });
});
