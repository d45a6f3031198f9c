// What becomes of a durable run whose last reader leaves, as the run, its agent or its runtime has it.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import {
  type Authorized,
  createAgent,
  createRuntime,
  type DurableRun,
  type Runtime,
} from 'millrace';

import { startModel } from '../../support/scripted-model';

type Choice = 'continue' | 'stop';

const open: { close(): unknown }[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

async function until(test: () => Promise<boolean>): Promise<void> {
  while (!(await test())) await new Promise((resolve) => setTimeout(resolve, 20));
}

const choices = (onDisconnect: Choice | undefined) => (onDisconnect ? { onDisconnect } : {});

async function agentOf(ofAgent?: Choice, ofRuntime?: Choice, more: object = {}) {
  const model = await startModel(() => ({ text: 'a b', hang: true }));
  const runtime = createRuntime({ storage: 'memory', ...choices(ofRuntime) });
  open.push(model, runtime);
  const agent = createAgent({
    ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime, name: 'chat' },
    ...choices(ofAgent),
    ...more,
  });
  return { agent, runtime, model };
}

// Reads until there is some text, and leaves.
async function leave(run: DurableRun): Promise<string> {
  for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
  return run.id;
}

// What a run has become that a second one, which was left as late, has been stopped behind.
async function stateOf(runtime: Runtime, id: string, isStopped: boolean) {
  if (isStopped) await until(async () => (await runtime.get(id))?.state !== 'running');
  else await new Promise((resolve) => setTimeout(resolve, 150));
  return (await runtime.get(id))?.state;
}

describe('the leaving of the last reader', () => {
  it.each<[Choice | undefined, Choice | undefined, Choice | undefined, boolean]>([
    [undefined, undefined, undefined, false],
    ['stop', undefined, undefined, true],
    [undefined, 'stop', undefined, true],
    [undefined, undefined, 'stop', true],
    ['continue', 'stop', 'stop', false],
    ['stop', 'continue', 'continue', true],
    [undefined, 'continue', 'stop', false],
  ])('does what the run (%s), the agent (%s), the runtime (%s) want', async (...given) => {
    const [ofRun, ofAgent, ofRuntime, isStopped] = given;
    const { agent, runtime } = await agentOf(ofAgent, ofRuntime);
    const id = await leave(agent.run('go', choices(ofRun)));
    expect(await stateOf(runtime, id, isStopped)).toBe(isStopped ? 'cancelled' : 'running');
  });

  it('stops nothing while another reader is there, and counts readers that attached', async () => {
    const { agent, runtime } = await agentOf('stop');
    const run = agent.run('go');
    await run.started;
    const other = runtime.attach(run.id)[Symbol.asyncIterator]();
    await other.next();
    const id = await leave(run);
    expect(await stateOf(runtime, id, false)).toBe('running');
    await other.return?.();
    expect(await stateOf(runtime, id, true)).toBe('cancelled');
  });

  it('counts loops over its records as readers', async () => {
    const { agent, runtime } = await agentOf('stop');
    const run = agent.run('go');
    const records = run.records();
    const other = runtime.attach((await run.started, run.id)).records();
    await Promise.all([records.next(), other.next()]);
    await records.return(undefined);
    expect(await stateOf(runtime, run.id, false)).toBe('running');
    await other.return(undefined);
    expect(await stateOf(runtime, run.id, true)).toBe('cancelled');
  });

  it('ends a loop over its records by the signal of attach', async () => {
    const { agent, runtime } = await agentOf('stop');
    const run = agent.run('go');
    await run.started;
    const controller = new AbortController();
    const types: string[] = [];
    for await (const { event } of runtime.attach(run.id, { signal: controller.signal }).records()) {
      types.push(event.type);
      if (event.type === 'TEXT_MESSAGE_CONTENT') controller.abort();
    }
    expect(types).toContain('TEXT_MESSAGE_CONTENT');
    expect(await stateOf(runtime, run.id, false)).toBe('running');
  });

  it('does not stop a run that was begun without a reader', async () => {
    const { runtime } = await agentOf('stop');
    const { id } = await runtime.start('chat', 'go');
    expect(await stateOf(runtime, id, false)).toBe('running');
    await leave(runtime.attach(id));
    expect(await stateOf(runtime, id, true)).toBe('cancelled');
  });

  it('is what the run has it, also in another process', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-left-'));
    folders.push(folder);
    const model = await startModel(() => ({ text: 'a b', hang: true }));
    open.push(model);
    const opened = (): Runtime => {
      const runtime = createRuntime({ storage: `file:${join(folder, 'store.db')}` });
      open.push(runtime);
      createAgent({
        ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime },
        name: 'chat',
      });
      return runtime;
    };
    const before = opened();
    const [stops, goesOn] = await Promise.all([
      before.start('chat', 'go', { onDisconnect: 'stop' }),
      before.start('chat', 'go'),
    ]);
    await before.close();
    const runtime = opened();
    for (const { id } of [goesOn, stops]) await leave(runtime.attach(id));
    expect(await stateOf(runtime, stops.id, true)).toBe('cancelled');
    expect(await stateOf(runtime, goesOn.id, false)).toBe('running');
  });

  it('stops a run that waits for its turn', async () => {
    const { agent, runtime } = await agentOf('stop');
    const first = agent.run('go', { threadId: 't', onDisconnect: 'continue' });
    await first.started;
    const second = agent.run('go on', { threadId: 't', busy: 'queue' });
    for await (const event of second) if (event.type === 'RUN_STARTED') break;
    await until(async () => (await runtime.get(second.id))?.state === 'cancelled');
    expect(await runtime.get(first.id)).toMatchObject({ state: 'running' });
  });

  it('stops no job', async () => {
    const { runtime } = await agentOf(undefined, 'stop');
    const job = runtime.job('j', (self) => self.step('s', () => new Promise(() => undefined)));
    const { id } = await job.start(null);
    const reader = runtime.attach(id)[Symbol.asyncIterator]();
    await reader.next();
    await reader.return?.();
    expect(await stateOf(runtime, id, false)).toBe('running');
  });

  it('takes no other word', async () => {
    const { agent } = await agentOf();
    const wrong = 'end' as Choice;
    expect(() => agent.run('go', { onDisconnect: wrong })).toThrow(/'continue' or 'stop'/);
    expect(() => createRuntime({ storage: 'memory', onDisconnect: wrong })).toThrow(
      /onDisconnect must be 'continue' or 'stop'/,
    );
    await expect(agentOf(wrong)).rejects.toThrow(/onDisconnect must be 'continue' or 'stop'/);
    expect(() => createAgent({ model: 'demo:demo', onDisconnect: 'stop' })).toThrow(/`runtime`/);
  });
});

describe('the leaving of a response', () => {
  const input = (runId: string) =>
    JSON.stringify({ runId, threadId: runId, messages: [{ role: 'user', content: 'go' }] });

  async function handled(ofCaller: Partial<Authorized> | undefined, ofAgent?: Choice) {
    const authorize = () => ({ principal: 'ada', ...ofCaller });
    const { agent, runtime } = await agentOf(ofAgent, undefined, ofCaller && { authorize });
    const post = (runId: string, query = '') =>
      agent.handler(
        new Request(`http://localhost/agent${query}`, { method: 'POST', body: input(runId) }),
      );
    const left = async (runId: string, query = '') => {
      const response = await post(runId, query);
      expect(response.status).toBe(200);
      const reader = response.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      return response.headers.get('millrace-run-id') as string;
    };
    return { post, left, runtime };
  }

  it.each<[Choice | undefined, string, Choice | undefined, boolean]>([
    [undefined, '', undefined, false],
    [undefined, '', 'stop', true],
    [undefined, '?onDisconnect=stop', undefined, true],
    [undefined, '?onDisconnect=continue', 'stop', false],
    ['continue', '?onDisconnect=stop', undefined, false],
    ['stop', '?onDisconnect=continue', 'continue', true],
  ])('does what the host (%s), the address (%s), the agent (%s) want', async (...given) => {
    const [ofHost, query, ofAgent, isStopped] = given;
    const { left, runtime } = await handled(choices(ofHost), ofAgent);
    const id = await left('r1', query);
    expect(await stateOf(runtime, id, isStopped)).toBe(isStopped ? 'cancelled' : 'running');
  });

  it('is for callers to decide who may stop the run', async () => {
    const codes = async (of: Partial<Authorized> | undefined, query: string) => {
      const response = await (await handled(of)).post('r1', query);
      const { error } = (await response.json()) as { error: { code: string } };
      return `${response.status} ${error.code}`;
    };
    expect(await codes(undefined, '?onDisconnect=stop')).toBe('403 not_authorized');
    expect(await codes(undefined, '?onDisconnect=continue')).toBe('403 not_authorized');
    expect(await codes({ scopes: ['start'] }, '?onDisconnect=stop')).toBe('403 not_authorized');
    expect(await codes({}, '?onDisconnect=end')).toBe('400 invalid_argument');
    expect(await codes({ onDisconnect: 'end' as Choice }, '')).toBe('400 invalid_option');
  });
});
