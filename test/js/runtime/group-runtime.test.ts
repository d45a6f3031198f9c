// Groups with a runtime: rounds are in the ledger and members are runs, whatever becomes of the process.
import { setImmediate as immediate } from 'node:timers/promises';

import {
  type AgentState,
  type GroupInstruction,
  GroupOrchestrationRuntime,
  GroupOrchestrationSupervisor,
  type GroupResult,
  type GroupSupervisor,
} from 'millrace';

import { makeStore, startChild } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

const begin = () => GroupOrchestrationRuntime.createInitialState({ operationId: 'g' });
const boss = () => new GroupOrchestrationSupervisor({ supervisorAgentId: 'boss', maxRounds: 3 });
const speak = { decision: 'speak', params: { agentId: 'ann' } };

describe('a group with a runtime', () => {
  const executors = (decisions: object[]) => ({
    call_supervisor: (instruction: GroupInstruction, newState: AgentState) => ({
      events: [],
      newState,
      result: {
        type: 'supervisor_decided',
        payload: decisions[instruction.payload?.['round'] as number],
      },
    }),
  });

  it('gives what it gives without one, several at a time', async () => {
    const runtime = runtimeOf();
    const config = (events: unknown[]) => ({
      executors: executors([speak, speak, speak]),
      callAgent: () => 'hello',
      onEvent: (event: object) => void events.push(event),
    });
    const [durable, plain]: [unknown[], unknown[]] = [[], []];
    const group = new GroupOrchestrationRuntime(boss(), { ...config(durable), runtime, name: 'g' });
    const ends = await Promise.all([group.run(begin()), group.run(begin())]);
    const end = await new GroupOrchestrationRuntime(boss(), config(plain)).run(begin());
    // The supervisor counts the rounds of each.
    for (const { status, stepCount } of ends) {
      expect({ status, stepCount }).toEqual({ status: 'done', stepCount: end.stepCount });
    }
    expect(durable).toHaveLength(2 * plain.length);
    expect(plain.at(-2)).toEqual({ type: 'max_rounds_exceeded' });
  });

  it('decides for one run at a time where its supervisor remembers', async () => {
    let rounds = 0;
    const supervisor: GroupSupervisor = {
      decide: async () => {
        const next = rounds + 1;
        await immediate();
        rounds = next;
        return next < 3
          ? { type: 'call_agent', payload: { agentId: 'ann' } }
          : { type: 'finish', payload: { reason: 'enough' } };
      },
      save: () => rounds,
      restore: (memory) => void (rounds = (memory as number | undefined) ?? 0),
    };
    const group = new GroupOrchestrationRuntime(supervisor, {
      ...{ callAgent: () => 'hello', runtime: runtimeOf(), name: 'g' },
    });
    const ends = await Promise.all([1, 2, 3, 4].map(() => group.run(begin())));
    expect(ends.map(({ stepCount }) => stepCount)).toEqual([3, 3, 3, 3]);
  });

  it('leaves its turn to other groups when it is stopped while its supervisor decides', async () => {
    const runtime = runtimeOf();
    let begun: () => void = () => undefined;
    const isBegun = new Promise<void>((resolve) => (begun = resolve));
    let decisions = 0;
    const supervisor: GroupSupervisor = {
      decide: () => {
        decisions += 1;
        begun();
        if (decisions === 1) return new Promise(() => undefined);
        return Promise.resolve({ type: 'finish', payload: { reason: 'enough' } });
      },
      save: () => decisions,
      restore: () => undefined,
    };
    const group = new GroupOrchestrationRuntime(supervisor, { runtime, name: 'g' });
    const { id } = await group.start(begin());
    await isBegun;
    const other = group.run(begin());
    await runtime.stop(id);
    expect((await other).status).toBe('done');
    expect(await runtime.attach(id).result).toMatchObject({ status: 'cancelled' });
  });

  it('gives a failure of a member to its supervisor, and one of the supervisor to its caller', async () => {
    const runtime = runtimeOf();
    const seen: GroupResult[] = [];
    const supervisor: GroupSupervisor = {
      decide: (result) => {
        seen.push(result);
        if (seen.length === 1) return { type: 'call_agent', payload: { agentId: 'none' } };
        throw new RangeError('no idea');
      },
    };
    const group = new GroupOrchestrationRuntime(supervisor, { runtime, name: 'g' });
    const { status, error } = await group.run(begin());
    expect(seen[1]).toMatchObject({ type: 'agent_spoke', payload: { completed: false } });
    expect({ status, error }).toMatchObject({ status: 'error', error: { message: 'no idea' } });
    expect(error).toBeInstanceOf(Error);
  });

  it('is stopped with its members, by its runtime and by its signal', async () => {
    const runtime = runtimeOf();
    let begun: () => void = () => undefined;
    let isBegun = new Promise<void>((resolve) => (begun = resolve));
    let aborted = 0;
    runtime.agent('ann', (_turn, { signal }) => {
      begun();
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted += 1;
          reject(signal.reason as Error);
        });
      });
    });
    const controller = new AbortController();
    const { signal } = controller;
    const group = new GroupOrchestrationRuntime(boss(), {
      ...{ executors: executors([speak]), runtime, name: 'g', signal },
    });
    const { id } = await group.start(begin());
    await isBegun;
    await runtime.stop(id);
    expect(await runtime.attach(id).result).toMatchObject({ status: 'cancelled' });
    isBegun = new Promise<void>((resolve) => (begun = resolve));
    const run = group.run(begin());
    await isBegun;
    controller.abort();
    expect((await run).status).toBe('done');
    const { runs } = await runtime.list();
    for (const one of runs) await runtime.attach(one.id).result;
    expect(aborted).toBe(2);
  });

  it('rejects what it cannot be made with', async () => {
    const runtime = runtimeOf();
    expect(() => new GroupOrchestrationRuntime(boss(), { runtime })).toThrow(/needs a `name`/);
    expect(() => new GroupOrchestrationRuntime(boss(), { unknown: 'ask' as never })).toThrow(
      /'report'/,
    );
    await expect(new GroupOrchestrationRuntime(boss()).start(begin())).rejects.toMatchObject({
      code: 'invalid_option',
    });
  });
});

describe('a group whose process is killed', () => {
  const rows = ['round 0', 'round 1', 'round 2'];
  const killed = async (hang: string, more: object = {}) => {
    const { store, log, logged } = makeStore();
    const options = { store, log, ...more };
    const child = startChild({ ...options, do: 'run', hang }, 'group-child');
    const id = (await child.until((line) => line['id'] !== undefined))['id'] as string;
    await child.until(({ did }) => did === hang);
    await child.kill();
    const before = logged();
    const lines = await startChild({ ...options, do: 'attach', id }, 'group-child').ended();
    return { last: lines.at(-1), before, later: logged().slice(before.length) };
  };
  const times = (names: string[], name: string) => names.filter((one) => one === name).length;

  it.each([
    ['ann:Begin.', {}],
    ['bob:All.', {}],
    ['ann:Begin.', { own: true, unknown: 'retry' }],
    ['bob:All.', { own: true, unknown: 'retry' }],
    ['decide:1', { unknown: 'retry' }],
  ])('in %s with %p goes on there', async (hang, more) => {
    const { last, before, later } = await killed(hang, more);
    const members = 'own' in more ? 0 : 3;
    expect(last).toMatchObject({ end: 'completed', status: 'done', rows, members });
    expect(new Set(last?.['runs'])).toEqual(new Set(['completed']));
    // Only what was cut is done twice.
    const all = [...before, ...later];
    for (const name of ['decide:0', 'ann:Begin.', 'decide:1', 'bob:All.', 'decide:2']) {
      expect([name, times(all, name)]).toEqual([name, name === hang ? 2 : 1]);
    }
  });

  it('in a member that must not work twice gives the supervisor its failure', async () => {
    const { last, later } = await killed('ann:Begin.', { own: true });
    expect(last).toMatchObject({ end: 'completed', status: 'done', rows });
    expect(times(later, 'ann:Begin.')).toBe(0);
  });

  it('in an executor that must not work twice ends with the error', async () => {
    const { last, later } = await killed('decide:1');
    expect(last).toMatchObject({ end: 'completed', status: 'error', rows: ['round 0'] });
    expect(later).toEqual([]);
  });
});
