// AgentRuntime with a runtime: what its steps gave is in the ledger, whatever becomes of its process.
import { type AgentEvent, type AgentState, AgentRuntime, MillraceError } from 'millrace';

import { call, llm, requested, scripted } from '../../support/agent-states';
import { makeStore, startChild } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

const finish = { type: 'finish', reason: 'completed' };
const speaks = () => scripted({ user_input: llm, llm_result: finish }, { modelRuntime: model });
async function* model() {
  yield await Promise.resolve({ content: 'Hel' });
  yield { content: 'lo.' };
}
const typesOf = (events: AgentEvent[]) => events.map(({ type }) => type);

describe('an AgentRuntime with a runtime', () => {
  it('gives what it gives without one, and its run is stored', async () => {
    const runtime = runtimeOf();
    const live: AgentEvent[] = [];
    const agents = new AgentRuntime(speaks(), { runtime, name: 'speaker', version: '2' });
    const onEvent = (event: AgentEvent): void => void live.push(event);
    const durable = await agents.run(requested('Hi'), undefined, { onEvent, principal: 'ada' });
    const plain = await new AgentRuntime(speaks()).run(requested('Hi'));
    expect(typesOf(live)).toEqual(typesOf(plain.events));
    expect(typesOf(durable.events)).toEqual(['llm_start', 'llm_result', 'done']);
    expect(durable.events.at(-1)).toMatchObject({ finalState: durable.newState });
    const parts = ({ status, stepCount, messages }: AgentState) => ({
      ...{ status, stepCount, messages },
    });
    expect(parts(durable.newState)).toEqual(parts(plain.newState));
    expect(await runtime.get(durable.runId ?? '')).toMatchObject({
      ...{ kind: 'job', name: 'speaker', version: '2', state: 'completed', principal: 'ada' },
      result: { newState: { status: 'done' } },
    });
    expect(await runtime.attach(durable.runId ?? '').text()).toBe('Hello.');
  });

  it('takes one step where one is wanted, and rejects what it cannot be made with', async () => {
    const runtime = runtimeOf();
    const agents = new AgentRuntime(speaks(), { runtime, name: 'speaker' });
    const first = await agents.step(requested('Hi'));
    expect(first.nextContext).toMatchObject({ phase: 'llm_result' });
    const second = await agents.step(first.newState, first.nextContext);
    expect(second.newState.status).toBe('done');
    expect((await runtime.list()).runs).toHaveLength(2);

    expect(() => new AgentRuntime(speaks(), { runtime })).toThrow(/needs? a `name`/);
    expect(() => new AgentRuntime(speaks(), { runtime: {} as never, name: 'x' })).toThrow(
      /createRuntime/,
    );
    expect(() => new AgentRuntime(speaks(), { unknown: 'ask' as never })).toThrow(/'report'/);
    await expect(new AgentRuntime(speaks()).start(requested('Hi'))).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });

  it('gives errors of an agent and of its tools as it gives them without a runtime', async () => {
    const toolsCalling = [call('c1', 'bad'), call('c2', 'none')];
    const agent = () =>
      scripted(
        {
          user_input: { type: 'call_tools_batch', payload: { toolsCalling } },
          tools_batch_result: new RangeError('no way'),
        },
        {
          tools: {
            bad: () => Promise.reject(Object.assign(new Error('broken'), { type: 'Mine' })),
            none: () => undefined,
          },
          runner: ({ phase }: { phase: string }) => {
            if (phase === 'user_input') {
              return { type: 'call_tools_batch', payload: { toolsCalling } };
            }
            throw new RangeError('no way');
          },
        },
      );
    const agents = new AgentRuntime(agent(), { runtime: runtimeOf(), name: 'bad' });
    const durable = await agents.run(requested('Hi'));
    const plain = await new AgentRuntime(agent()).run(requested('Hi'));
    const contents = ({ newState }: { newState: AgentState }) =>
      newState.messages.map(({ content }) => content);
    expect(contents(durable)).toEqual(contents(plain));
    expect(durable.newState.error).toEqual(plain.newState.error);
    expect(durable.newState.error).toBeInstanceOf(Error);
    expect(typesOf(durable.events)).toEqual(typesOf(plain.events));
  });

  it('tries tools and models again that failed in passing, as without a runtime', async () => {
    const play = async (durable: object) => {
      const waits: number[] = [];
      const tried = { look: 0, model: 0 };
      const agent = scripted(
        {
          user_input: { type: 'call_tools_batch', payload: { toolsCalling: [call('c1', 'look')] } },
          tools_batch_result: llm,
          llm_result: finish,
        },
        {
          tools: {
            look: () => {
              if (++tried.look > 2) return 'seen';
              throw Object.assign(new Error('busy'), { retryable: true });
            },
          },
          modelRuntime: async function* () {
            if (++tried.model > 1) return yield* model();
            throw await Promise.resolve({ errorType: 'RateLimitExceeded', error: { code: 7 } });
          },
        },
      );
      const wait = (ms: number): void => void waits.push(ms);
      const agents = new AgentRuntime(agent, { wait, ...durable });
      const toolManifestMap = { look: { identifier: 'look', effect: 'read' } };
      const live: AgentEvent[] = [];
      const { newState } = await agents.run(requested('Hi', { toolManifestMap }), undefined, {
        onEvent: (event) => void live.push(event),
      });
      const retry = live.find(({ type }) => type === 'stream_retry');
      const contents = newState.messages.map(({ content }) => content);
      return { waits, tried, retry, contents, status: newState.status };
    };
    const plain = await play({});
    expect(plain).toMatchObject({
      waits: [200, 400, 1000],
      tried: { look: 3, model: 2 },
      retry: {
        data: { attempt: 1, delayMs: 1000, errorType: 'RateLimitExceeded', maxAttempts: 6 },
      },
      status: 'done',
    });
    expect(await play({ runtime: runtimeOf(), name: 'tries' })).toEqual(plain);
  });

  it('waits for the user as rows, and goes on by decide()', async () => {
    const runtime = runtimeOf();
    const paid: unknown[] = [];
    const pending = [call('c1', 'pay'), call('c2', 'pay')];
    const agent = scripted(
      {
        user_input: { type: 'request_human_approve', pendingToolsCalling: pending },
        tool_result: finish,
        tools_batch_result: finish,
      },
      { tools: { pay: (args: unknown) => paid.push(args) } },
    );
    const agents = new AgentRuntime(agent, { runtime, name: 'payer' });
    const { newState, runId = '' } = await agents.run(requested('Pay.'));
    expect(newState.status).toBe('waiting_for_human');
    const open = await runtime.approvals.list({ run: runId });
    expect(open.map(({ id }) => id)).toEqual([`${runId}.c1.1`, `${runId}.c2.1`]);
    await expect(
      agents.decide(newState, { action: 'approve', toolCallId: 'c9' }),
    ).rejects.toBeInstanceOf(MillraceError);
    // A run that waits is not in memory.
    while ((await runtime.get(runId))?.state !== 'waiting') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const live: AgentEvent[] = [];
    const onEvent = (event: AgentEvent): void => void live.push(event);
    const approval = { action: 'approve', toolCallId: 'c1' } as const;
    const one = await agents.decide(newState, approval, { onEvent });
    expect(typesOf(one.events)).toEqual(['tool_result']);
    expect(typesOf(live)).toEqual(typesOf(one.events));
    expect(one).toMatchObject({ runId, newState: { status: 'waiting_for_human' } });
    expect(paid).toHaveLength(1);
    const end = await agents.approveToolCall(one.newState, call('c2', 'pay'));
    expect(end).toMatchObject({ runId, newState: { status: 'done' } });
    expect(paid).toHaveLength(2);
    expect(await runtime.get(runId)).toMatchObject({ state: 'completed' });
  });

  it('takes decisions about states of single steps, and rejects calls that expire', async () => {
    const runtime = runtimeOf();
    const pending = { type: 'request_human_approve', pendingToolsCalling: [call('c1', 'pay')] };
    const pay = jest.fn();
    const agent = scripted({ user_input: pending, tool_result: finish }, { tools: { pay } });
    const agents = new AgentRuntime(agent, { runtime, name: 'payer' });
    const { newState } = await agents.step(requested('Pay.'));
    expect(await runtime.approvals.list()).toEqual([]);
    const next = await agents.decide(newState, { action: 'approve', toolCallId: 'c1' });
    expect(next.nextContext).toMatchObject({ phase: 'tool_result' });
    expect(pay).toHaveBeenCalledTimes(1);

    const late = scripted(
      {},
      { runner: jest.fn(() => finish).mockReturnValueOnce(pending as never) },
    );
    const options = { runtime, name: 'late', approvalTimeoutMs: 20 };
    const { id } = await new AgentRuntime(late, options).start(requested('Pay.'));
    const { value } = await runtime.attach(id).result;
    expect(JSON.stringify(value)).toContain('not answered in time');
    expect(() => runtime.agent('x', agents as never)).toThrow(/takes the runtime itself/);
  });

  it('asks the user with its prompts', async () => {
    const runtime = runtimeOf();
    const agent = scripted({
      user_input: { type: 'request_human_prompt', prompt: 'Name?' },
      human_response: finish,
    });
    const agents = new AgentRuntime(agent, { runtime, name: 'asker' });
    const { newState, runId = '' } = await agents.run(requested('Hi'));
    const [open] = await runtime.approvals.list({ run: runId });
    expect(open?.interrupt).toMatchObject({ message: 'Name?' });
    const end = await agents.decide(newState, { action: 'answer', value: 'Ada' });
    expect(end.newState.status).toBe('done');
    expect(JSON.stringify(end.newState.messages)).toContain('Ada');
    // Another run that begins with such a state is not the one that waited in it.
    const other = await agents.step({ ...requested('Hi'), metadata: newState.metadata ?? {} });
    expect(other.newState).toMatchObject({ status: 'waiting_for_human', metadata: {} });
    expect(other.newState.metadata).not.toHaveProperty('durableRun');
  });

  it('is interrupted by the signal of its caller, and stopped by its runtime', async () => {
    const runtime = runtimeOf();
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => (begun = resolve));
    const hang = scripted(
      { user_input: { type: 'call_tool', payload: { toolCalling: call('c', 'hang') } } },
      {
        tools: {
          hang: () => {
            begun();
            return new Promise(() => undefined);
          },
        },
      },
    );
    const agents = new AgentRuntime(hang, { runtime, name: 'hanger' });
    const controller = new AbortController();
    const run = agents.run(requested('Hi'), undefined, { signal: controller.signal });
    await isBegun;
    controller.abort('enough');
    expect((await run).newState.status).toBe('interrupted');

    const { id } = await agents.start(requested('Hi'));
    await runtime.stop(id);
    expect(await runtime.attach(id).result).toMatchObject({ status: 'cancelled' });
  });
});

describe('an AgentRuntime whose process is killed', () => {
  const begin = (more: object = {}) => {
    const { store, log, logged } = makeStore();
    const options = { store, log, ...more };
    const child = startChild({ ...options, do: 'run' }, 'agent-runtime-child');
    const again = (scene: object) =>
      startChild({ ...options, hang: undefined, ...scene }, 'agent-runtime-child');
    const idOf = async () =>
      (await child.until((line) => line['id'] !== undefined))['id'] as string;
    return { child, again, logged, idOf };
  };
  const whole = [
    ...['runner:user_input', 'model:1:turn', 'runner:llm_result', 'pay', 'look'],
    ...['runner:tools_batch_result', 'executor', 'runner:task_result', 'model:4:turn'],
    ...['runner:llm_result'],
  ];
  const rows = (paid: string, noted = ['assistant: "noted"']) => [
    ...['user: "Go."', `tool: ${JSON.stringify(paid)}`, 'tool: "\\"seen\\""', ...noted],
  ];

  // A tool of effect once begins when that is stored, so the one beside it may be first.
  const sorted = (names: string[]) => [...names].sort();
  const beside = ['pay', 'look', 'executor'];

  it.each(whole.slice(0, -1).filter((name) => !beside.includes(name)))(
    'in %s repeats nothing else',
    async (hang) => {
      const { child, again, logged, idOf } = begin({ hang });
      const id = await idOf();
      await child.until(({ did }) => did === hang);
      await child.kill();
      const before = logged();
      const lines = await again({ do: 'attach', id }).ended();
      expect(lines.at(-1)).toMatchObject({
        end: 'completed',
        status: 'done',
        rows: rows('"paid"'),
      });
      const later = logged().slice(before.length);
      expect(sorted(later)).toEqual(sorted(whole.slice(whole.indexOf(hang))));
      // A caller that comes again gets the same run.
      const found = (await again({ do: 'again' }).ended()).at(-1);
      expect(found).toMatchObject({ id, rows: rows('"paid"') });
      expect(logged()).toHaveLength(before.length + later.length);
    },
  );

  it('in a tool of effect read calls that again, and none beside it', async () => {
    const { child, again, logged, idOf } = begin({ hang: 'look' });
    const id = await idOf();
    await child.until(({ did }) => did === 'pay');
    await child.kill();
    const last = (await again({ do: 'attach', id }).ended()).at(-1);
    expect(last).toMatchObject({ end: 'completed', status: 'done' });
    expect(last?.['rows']).toContain('tool: "\\"seen\\""');
    const times = (name: string) => logged().filter((one) => one === name).length;
    expect([times('pay'), times('look'), times('executor')]).toEqual([1, 2, 1]);
  });

  it.each([
    ['report', 0],
    ['retry', 1],
  ])('in a tool of effect once does as `unknown: %s` has it', async (unknown, times) => {
    const { child, again, logged, idOf } = begin({ hang: 'pay', unknown });
    const id = await idOf();
    await child.until(({ did }) => did === 'pay');
    await child.kill();
    const before = logged();
    const lines = await again({ do: 'attach', id }).ended();
    const [, paid = ''] = (lines.at(-1)?.['rows'] ?? []) as string[];
    expect(paid).toContain(times ? 'paid' : 'unknown');
    const later = logged().slice(before.length);
    expect(later.filter((name) => name !== 'look')).toEqual([
      ...Array<string>(times).fill('pay'),
      ...whole.slice(whole.indexOf('runner:tools_batch_result')),
    ]);
  });

  it('in an executor of its own ends with the error of that', async () => {
    const { child, again, logged, idOf } = begin({ hang: 'executor' });
    const id = await idOf();
    await child.until(({ did }) => did === 'executor');
    await child.kill();
    const before = logged();
    const last = (await again({ do: 'attach', id }).ended()).at(-1);
    expect(last).toMatchObject({ end: 'completed', status: 'error', rows: rows('"paid"', []) });
    expect(last?.['error']).toMatch(/unknown/);
    expect(logged()).toEqual(before);
  });

  it('while it waits for the user, is answered in another process', async () => {
    const { child, again, logged, idOf } = begin({ approval: true });
    const id = await idOf();
    await child.until(({ did }) => did === 'runner:llm_result');
    await child.kill();
    const lines = await again({ do: 'approve', id }).ended();
    expect(lines.find(({ open }) => open !== undefined)).toEqual({
      open: [`${id}.c1.2`, `${id}.c2.2`],
      message: 'Run pay.pay({"n":1})?',
    });
    expect(lines.at(-1)).toMatchObject({ end: 'completed', status: 'done' });
    expect(logged().filter((name) => name === 'pay')).toHaveLength(1);
    expect(logged()).not.toContain('look');
  });
});
