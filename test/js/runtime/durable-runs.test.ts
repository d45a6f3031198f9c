// Durable runs in one process: their ids, readers that come and go, stopping, what is stored of them.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { AGUIEvent, RunRecord } from 'millrace';
import { createAgent, createRuntime, DurableRun, type Runtime, tool } from 'millrace';

import { eventsOf, startModel } from '../../support/agents';
import { cleanUp, makeStore } from '../support/durable-child';

type Script = Parameters<typeof startModel>[0];

const runtimes: Runtime[] = [];
afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

function runtimeOf(storage: 'memory' | `file:${string}` = 'memory'): Runtime {
  const runtime = createRuntime({ storage });
  runtimes.push(runtime);
  return runtime;
}

async function agentOf(runtime: Runtime, script: Script, options: object = {}) {
  const model = await startModel(script);
  const agent = createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    runtime,
    name: 'helper',
    ...options,
  });
  return { agent, model };
}

async function recordsOf(run: DurableRun, after = 0): Promise<RunRecord[]> {
  const records: RunRecord[] = [];
  for await (const record of run.records({ after })) records.push(record);
  return records;
}

const textOf = (events: AGUIEvent[]): string =>
  events.flatMap((one) => (one.type === 'TEXT_MESSAGE_CONTENT' ? [one.delta] : [])).join('');

const add = tool<{ a: number; b: number }>({
  name: 'add',
  input: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
  effect: 'read',
  run: ({ a, b }) => a + b,
});

describe('a durable run', () => {
  it('reads as other runs do, and has an id and numbers', async () => {
    const runtime = runtimeOf();
    const script = [
      { calls: [{ id: 'c1', name: 'add', args: { a: 1, b: 2 } }] },
      { text: 'three' },
    ];
    const { agent } = await agentOf(runtime, script, { tools: [add] });
    const run = agent.run('1 + 2', { threadId: 't', runId: 'r' });
    expect(run).toBeInstanceOf(DurableRun);
    expect(run.id).toMatch(/^run_[0-9a-f]{32}$/);
    const events = await eventsOf(run);
    expect(events[0]).toMatchObject({ type: 'RUN_STARTED', threadId: 't', runId: 'r' });
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(textOf(events)).toBe('three');
    await expect(run.text()).resolves.toBe('three');
    expect(await run.result).toMatchObject({
      ...{ status: 'completed', text: 'three', turns: 2, threadId: 't', runId: 'r' },
      usage: { llm: {} },
    });

    const records = await recordsOf(run);
    expect(records.map(({ event }) => event)).toEqual(events);
    const seqs = records.map(({ seq }) => seq);
    expect(seqs).toEqual([...seqs].sort((a, b) => a - b));
    const info = await runtime.get(run.id);
    expect(info).toMatchObject({
      ...{ id: run.id, name: 'helper', state: 'completed', threadId: 't', recoveries: 0 },
    });
    expect(run.lastSeq).toBeLessThanOrEqual(info?.lastSeq as number);
    expect(run.lastSeq).toBeGreaterThanOrEqual(seqs.at(-1) as number);
    for (const { seq } of records) {
      expect(await recordsOf(run, seq)).toEqual(records.filter((one) => one.seq > seq));
    }
  });

  it('goes on when its reader leaves, for readers that come later', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, [{ text: 'a b c' }]);
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'RUN_STARTED') break;
    const readers = [runtime.attach(run.id), runtime.attach(run.id)];
    const [first, second] = await Promise.all(readers.map(eventsOf));
    expect(textOf(first as AGUIEvent[])).toBe('a b c');
    expect(second).toEqual(first);
    expect(await run.result).toMatchObject({ status: 'completed', text: 'a b c' });
    expect(await readers[0]?.result).toMatchObject({ status: 'completed', text: 'a b c' });
  });

  it('is stopped by stop(), by its signal, by the runtime, and by a reader that wants it so', async () => {
    const runtime = runtimeOf();
    const { agent } = await agentOf(runtime, () => ({ text: 'a b', hang: true }));
    const begun = async (run: DurableRun) => {
      for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
      return run;
    };
    const stops: ((run: DurableRun, controller: AbortController) => unknown)[] = [
      (run) => run.stop(),
      (_run, controller) => controller.abort(),
      (run) => runtime.stop(run.id, 'enough'),
    ];
    for (const stop of stops) {
      const controller = new AbortController();
      const run = await begun(agent.run('go', { signal: controller.signal }));
      await stop(run, controller);
      expect(await run.result).toMatchObject({
        status: 'cancelled',
        text: expect.stringMatching(/^a/),
      });
      expect(await runtime.get(run.id)).toMatchObject({ state: 'cancelled' });
    }
    const left = await begun(agent.run('go', { onDisconnect: 'stop' }));
    expect(await eventsOf(runtime.attach(left.id))).not.toEqual([]);
    expect(await runtime.get(left.id)).toMatchObject({ state: 'cancelled' });
  });

  it('is stopped when too many have been left, but not where nobody ever read it', async () => {
    const runtime = createRuntime({ storage: 'memory', maxDetachedRuns: 1 });
    runtimes.push(runtime);
    const { agent } = await agentOf(runtime, () => ({ text: 'a b', hang: true }));
    const begun = async (run: DurableRun) => {
      for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
      return run;
    };
    const stateOf = async (id: string) => (await runtime.get(id))?.state;
    const unread = [await runtime.start('helper', 'go'), await runtime.start('helper', 'go')];
    // One is left by the end of a loop, read again and left again, another by leave().
    const first = await begun(agent.run('go'));
    const read = first[Symbol.asyncIterator]();
    await read.next();
    const second = await begun(agent.run('go'));
    expect(await stateOf(first.id)).toBe('running');
    await read.return?.();
    second.leave();
    const third = agent.run('go');
    await third.started;
    third.leave();
    for (const { id } of [second, first]) await eventsOf(runtime.attach(id));
    expect(await stateOf(first.id)).toBe('cancelled');
    expect(await stateOf(second.id)).toBe('cancelled');
    expect(await stateOf(third.id)).toBe('running');
    for (const { id } of unread) expect(await stateOf(id)).toBe('running');
    await Promise.all([...unread, third].map(({ id }) => runtime.stop(id)));
  });

  it.each(['file:', 'file://host/a.db', 'file://a.db', 'file:a\0b.db'])(
    'has no store at %j',
    (storage) => {
      expect(() => createRuntime({ storage: storage as 'file:a' })).toThrow(
        /^createRuntime\(\) needs storage: .* a path without a host or NUL, not 'file:/,
      );
    },
  );

  it('is stopped some time after its reader left', async () => {
    const runtime = createRuntime({ storage: 'memory', detachedTimeoutMs: 1 });
    runtimes.push(runtime);
    const { agent } = await agentOf(runtime, () => ({ text: 'a b', hang: true }));
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    let state: string | undefined;
    while (state !== 'cancelled') state = (await runtime.get(run.id))?.state;
    for (const wrong of [{ detachedTimeoutMs: -1 }, { maxDetachedRuns: 0 }]) {
      expect(() => createRuntime({ storage: 'memory', ...wrong })).toThrow(Object.keys(wrong)[0]);
    }
  });

  it('that fails is stored with its error, for each of its readers', async () => {
    const runtime = runtimeOf();
    const { agent, model } = await agentOf(runtime, []);
    model.answer = (response) => {
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: { message: 'wrong key', code: 'invalid_api_key' } }));
    };
    const run = agent.run('go');
    const { status, error } = await run.result;
    expect(status).toBe('error');
    await expect(run.text()).rejects.toBe(error);
    const again = await runtime.attach(run.id).result;
    expect(again).toMatchObject({ status: 'error' });
    expect(error?.provider).toBe('openai');
    expect(again.error).toEqual(error);
    expect((await eventsOf(run)).at(-1)).toMatchObject({ type: 'RUN_ERROR' });
    expect(await runtime.get(run.id)).toMatchObject({ state: 'failed' });
  });

  it('waits for approvals, which resume() and the runtime decide once', async () => {
    const sent: string[] = [];
    const mail = tool<{ to: string }>({
      name: 'send_mail',
      input: { type: 'object', properties: { to: { type: 'string' } } },
      approval: true,
      run: ({ to }) => sent.push(to),
    });
    const runtime = runtimeOf();
    const script: Script = (_body, index) =>
      index % 2 === 0
        ? { calls: [{ id: `c${index}`, name: 'send_mail', args: { to: `ada${index}` } }] }
        : { text: 'sent' };
    const { agent } = await agentOf(runtime, script, { tools: [mail] });

    const first = agent.run('mail ada', { threadId: 'a' });
    expect(await first.result).toMatchObject({
      status: 'interrupted',
      interrupts: [{ toolCallId: 'c0' }],
    });
    expect(sent).toEqual([]);
    expect(await runtime.get(first.id)).toMatchObject({
      state: 'waiting',
      approvals: [{ toolCallId: 'c0' }],
    });
    const next = (await first.resume(true)) as DurableRun;
    expect(await next.result).toMatchObject({ status: 'completed', text: 'sent' });
    expect(next.id).toBe(first.id);
    expect((await eventsOf(next))[0]).toMatchObject({ type: 'RUN_STARTED', threadId: 'a' });
    expect(sent).toEqual(['ada0']);
    const late = await first.resume(true);
    expect((await late.result).error?.code).toBe('approval_answered');

    const second = agent.run('mail ada again', { threadId: 'b' });
    await second.result;
    const [approval, ...others] = await runtime.approvals.list();
    expect(others).toEqual([]);
    expect(approval).toMatchObject({ runId: second.id, toolCallId: 'c2' });
    const id = approval?.id as string;
    await runtime.approvals.decide(id, { approved: true, editedArgs: { to: 'bob' } });
    expect(await runtime.attach(second.id).text()).toBe('sent');
    expect(sent).toEqual(['ada0', 'bob']);
    await expect(runtime.approvals.decide(id, true)).rejects.toMatchObject({
      code: 'approval_answered',
    });
    expect(await runtime.approvals.list()).toEqual([]);
    expect(await runtime.approvals.list({ all: true })).toHaveLength(2);
  });
});

// What the command line does to a store that no process has open.
describe('a call that was approved while no process worked', () => {
  const mail = (description: string, sent: string[]) =>
    tool<{ to: string }>({
      ...{ name: 'send_mail', description, approval: true },
      input: { type: 'object', properties: { to: { type: 'string' } } },
      run: ({ to }) => sent.push(to),
    });
  const script: Script = (body) =>
    body.messages.at(-1)?.role === 'tool'
      ? { text: 'the end' }
      : { calls: [{ id: 'c1', name: 'send_mail', args: { to: 'ada' } }] };

  // In a process whose agent has these tools.
  async function goneOnWith(tools: ReturnType<typeof mail>[], sent: string[]) {
    const { store } = makeStore();
    const first = runtimeOf(`file:${store}`);
    const { agent } = await agentOf(first, script, { tools: [mail('Sends mail.', sent)] });
    const { id, result } = agent.run('mail ada', { threadId: 'a' });
    await result;
    await first.close();
    const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
    const approve = ['runs', 'approve', id, '--storage', `file:${store}`];
    await promisify(execFile)(process.execPath, [cli, ...approve]);
    const runtime = runtimeOf(`file:${store}`);
    const { model } = await agentOf(runtime, script, { tools });
    return { runtime, model, run: runtime.attach(id) };
  }

  it('runs with the tool that the user saw', async () => {
    const sent: string[] = [];
    const { run } = await goneOnWith([mail('Sends mail.', sent)], sent);
    expect(await run.text()).toBe('the end');
    expect(sent).toEqual(['ada']);
  });

  it('has the user asked anew where the tool has changed', async () => {
    const sent: string[] = [];
    const { runtime, run } = await goneOnWith([mail('Sends mail to all.', sent)], sent);
    await run.result;
    const [open, ...others] = await runtime.approvals.list();
    expect([sent, others]).toEqual([[], []]);
    const [before] = (await runtime.approvals.list({ all: true })).filter(
      ({ id }) => id !== open?.id,
    );
    expect(open?.interrupt).toMatchObject({
      message: expect.stringContaining('has changed') as string,
      metadata: { supersedes: before?.id },
    });
    await runtime.approvals.decide(open?.id as string, true);
    expect(await runtime.attach(run.id).text()).toBe('the end');
    expect(sent).toEqual(['ada']);
  });

  it('is a call of no tool where it was removed', async () => {
    const sent: string[] = [];
    const { model, run } = await goneOnWith([], sent);
    expect(await run.text()).toBe('the end');
    expect(sent).toEqual([]);
    const result = String(model.chatBodies.at(-1)?.messages.at(-1)?.content);
    expect(result).toContain('send_mail');
  });
});

describe('a durable run of a thread', () => {
  it('is the one that its key began, and is in the way of others while it works', async () => {
    const runtime = runtimeOf();
    const { agent, model } = await agentOf(runtime, (body) => ({
      text: 'a b',
      hang: JSON.stringify(body.messages).includes('hang'),
    }));
    const options = { idempotencyKey: 'k', threadId: 't' };
    const first = agent.run('go', options);
    await first.result;
    const again = agent.run('go', options);
    expect(await eventsOf(again)).toEqual(await eventsOf(first));
    expect(again.id).toBe(first.id);
    expect((await runtime.start('helper', 'go', options)).id).toBe(first.id);
    expect(model.calls).toHaveLength(1);
    const other = agent.run('something else', options);
    expect((await other.result).error?.code).toBe('run_conflict');

    const busy = agent.run('hang', { threadId: 'u' });
    await busy.started;
    expect((await agent.run('go', { threadId: 'u' }).result).error?.code).toBe('run_conflict');
    busy.stop();
    expect(await busy.result).toMatchObject({ status: 'cancelled' });
    expect(await agent.run('go', { threadId: 'u' }).text()).toBe('a b');
  });

  it('that waits for the user is ended by a new message', async () => {
    const runtime = runtimeOf();
    const script: Script = (_body, index) =>
      index === 0 ? { calls: [{ id: 'c1', name: 'ask' }] } : { text: 'never mind' };
    const ask = tool({ name: 'ask', approval: true, run: () => 'asked' });
    const { agent } = await agentOf(runtime, script, { tools: [ask] });
    const first = agent.run('go', { threadId: 't' });
    expect(await first.result).toMatchObject({ status: 'interrupted' });
    expect(await agent.run('leave it', { threadId: 't' }).text()).toBe('never mind');
    expect(await runtime.get(first.id)).toMatchObject({ state: 'cancelled' });
    expect(await runtime.approvals.list()).toEqual([]);
    expect((await (await first.resume(true)).result).error?.code).toBe('approval_answered');
  });
});

describe('a runtime', () => {
  it('starts runs by name, and lists them', async () => {
    const runtime = runtimeOf();
    await agentOf(runtime, () => ({ text: 'hello' }));
    const info = await runtime.start('helper', 'hi', { threadId: 'x', principal: 'ada' });
    expect(info).toMatchObject({ name: 'helper', threadId: 'x', principal: 'ada' });
    expect(await runtime.attach(info.id).text()).toBe('hello');
    const other = runtime.run('helper', 'hi', { threadId: 'y' });
    await other.result;
    const ids = async (query?: Parameters<Runtime['list']>[0]) =>
      (await runtime.list(query)).runs.map(({ id }) => id);
    expect(await ids()).toEqual([other.id, info.id]);
    expect(await ids({ principal: 'ada' })).toEqual([info.id]);
    expect(await ids({ threadId: 'y' })).toEqual([other.id]);
    expect(await ids({ state: 'running' })).toEqual([]);
    const page = await runtime.list({ limit: 1 });
    expect(page.runs).toHaveLength(1);
    expect(await ids({ cursor: page.nextCursor })).toEqual([info.id]);
  });

  it('lists runs in the order in which they were started, also those of one millisecond', async () => {
    const runtime = runtimeOf();
    const job = runtime.job('work', () => Promise.resolve('done'));
    const started: string[] = [];
    for (let at = 0; at < 200; at += 1) started.push((await job.start(at)).id);
    const { runs } = await runtime.list({ limit: 200 });
    expect(runs.map(({ id }) => id)).toEqual(started.reverse());
  });

  it('keeps runs in a file, for the runtime that opens it next', async () => {
    const { store } = makeStore();
    const first = runtimeOf(`file:${store}`);
    const { agent } = await agentOf(first, [{ text: 'kept' }]);
    const run = agent.run('go');
    const events = await eventsOf(run);
    await first.close();
    expect(() => agent.run('go')).toThrow(expect.objectContaining({ code: 'engine_closed' }));
    const second = runtimeOf(`file:${store}`);
    expect(await eventsOf(second.attach(run.id))).toEqual(events);
    expect(await second.attach(run.id).result).toMatchObject({ text: 'kept' });
  });

  it('leaves what is at work when it is closed, and goes on with it when it is opened', async () => {
    const { store } = makeStore();
    const first = runtimeOf(`file:${store}`);
    const turns: Script = [{ text: 'cut', hang: true }, { text: 'whole' }];
    const { agent, model } = await agentOf(first, turns);
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    await first.close({ drainMs: 1 });
    expect((await run.result).error?.code).toBe('engine_closed');
    const second = runtimeOf(`file:${store}`);
    createAgent({
      model: 'openai:scripted',
      provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
      runtime: second,
      name: 'helper',
    });
    expect(await second.attach(run.id).text()).toBe('whole');
    expect(await second.get(run.id)).toMatchObject({ recoveries: 0 });
  });

  it('gives readers the whole result of a run that ends while it is closed', async () => {
    const { store } = makeStore();
    const runtime = runtimeOf(`file:${store}`);
    const { agent } = await agentOf(runtime, [{ text: 'whole' }]);
    const run = agent.run('go');
    const events = eventsOf(run);
    await run.started;
    const [, types, result] = await Promise.all([
      runtime.close({ drainMs: 10_000 }),
      events.then((list) => list.map(({ type }) => type)),
      run.result,
    ]);
    expect(result).toMatchObject({ status: 'completed', text: 'whole' });
    expect([types.at(-1), types.includes('RUN_ERROR')]).toEqual(['RUN_FINISHED', false]);
  });

  it('that could not open its store tries again with the next use', async () => {
    const { store } = makeStore();
    const first = runtimeOf(`file:${store}/folder`);
    const taken = runtimeOf(`file:${store}`);
    await taken.list();
    await expect(first.list()).rejects.toMatchObject({ name: 'MillraceError' });
    await taken.close();
    rmSync(store);
    expect(await first.list()).toEqual({ runs: [] });
  });

  it('says what is wrong with what it is given', async () => {
    const runtime = runtimeOf();
    const code = (name: string) => expect.objectContaining({ code: name });
    const wrong: [() => unknown, string][] = [
      [() => createRuntime(undefined as never), 'invalid_option'],
      [() => createRuntime({ storage: 'runs.db' as never }), 'invalid_option'],
      [() => createRuntime({ storage: 'memory', role: 'boss' as never }), 'invalid_option'],
      [() => createRuntime({ storage: 'memory', durable: true } as never), 'invalid_option'],
      [() => createAgent({ model: 'demo:demo', runtime }), 'invalid_option'],
      [() => createAgent({ model: 'demo:demo', name: 'helper' }), 'invalid_option'],
      [
        () => createAgent({ model: 'demo:demo', runtime: {} as never, name: 'a' }),
        'invalid_option',
      ],
      [() => runtime.run('nobody', 'hi'), 'agent_not_registered'],
      [() => runtime.attach('x', { after: -1 }), 'invalid_option'],
    ];
    for (const [call, name] of wrong) expect(call).toThrow(code(name));
    const { agent } = await agentOf(runtime, [{ text: 'a' }]);
    expect(() => agent.run('go', { onCheckpoint: () => undefined } as never)).toThrow(
      code('invalid_option'),
    );
    expect(() => agent.run({ messages: 'none' } as never)).toThrow(code('invalid_body'));
    const none = `run_${'1'.repeat(32)}`;
    expect((await runtime.attach('no run').result).error?.code).toBe('run_not_found');
    expect(await runtime.get(none)).toBeUndefined();
    expect((await runtime.attach(none).result).error?.code).toBe('run_not_found');
    await expect(runtime.stop(none)).rejects.toMatchObject({ code: 'run_not_found' });
    await expect(runtime.approvals.decide('none', true)).rejects.toMatchObject({
      code: 'approval_mismatch',
    });
    const run = agent.run('go');
    await run.result;
    await expect(recordsOf(run, 0.5)).rejects.toMatchObject({ code: 'invalid_option' });
    await expect(recordsOf(run, 1_000_000)).rejects.toMatchObject({ code: 'cursor_ahead' });
    const ahead = runtime.attach(run.id, { after: 1_000_000 });
    expect((await ahead.result).error?.code).toBe('cursor_ahead');
  });
});

// Whoever has left already gets nothing done: no model is called, no tool runs, and no question is answered.
describe.each(['memory', 'file'])(
  'a signal that is aborted already, with storage in %s',
  (kind) => {
    const storage = (): 'memory' | `file:${string}` =>
      kind === 'memory' ? 'memory' : `file:${makeStore().store}`;
    const aborted = AbortSignal.abort();
    const pay = (done: string[]) =>
      tool({ name: 'pay', approval: true, run: () => void done.push('paid') });

    it('begins no run of an agent', async () => {
      const runtime = runtimeOf(storage());
      const { agent, model } = await agentOf(runtime, [{ text: 'never' }]);
      for (let at = 0; at < 5; at++) {
        const run = agent.run('Go.', { signal: aborted });
        await expect(run.started).rejects.toMatchObject({ code: 'cancelled' });
        await expect(run.result).resolves.toMatchObject({ status: 'cancelled', steps: 0 });
        const types = (await eventsOf(run)).map(({ type }) => type);
        expect(types).toEqual(['RUN_STARTED', 'RUN_FINISHED']);
      }
      expect(model.chatBodies).toEqual([]);
      expect((await runtime.list()).runs).toEqual([]);
    });

    it('does not stop the run that an earlier request with the same key began', async () => {
      const runtime = runtimeOf(storage());
      let end: () => void = () => undefined;
      const waits = new Promise<void>((resolve) => (end = resolve));
      const { agent, model } = await agentOf(runtime, () => ({ text: 'Done.', waits }));
      const options = { idempotencyKey: 'k', threadId: 't' };
      const run = agent.run('Go.', options);
      await run.started;
      const left = agent.run('Go.', { ...options, signal: aborted });
      await expect(left.result).resolves.toMatchObject({ status: 'cancelled' });
      end();
      await expect(run.result).resolves.toMatchObject({ status: 'completed', text: 'Done.' });
      expect(model.chatBodies).toHaveLength(1);
    });

    it.each(['before it is found', 'later'])(
      'is no stop, which reaches the run of an earlier request with the same key (%s)',
      async (when) => {
        const runtime = runtimeOf(storage());
        const waits = new Promise<void>(() => undefined);
        const { agent } = await agentOf(runtime, () => ({ text: 'Done.', waits }));
        const options = { idempotencyKey: 'k', threadId: 't' };
        const run = agent.run('Go.', options);
        await run.started;
        const same = agent.run('Go.', options);
        if (when === 'later') await same.started;
        same.stop();
        await expect(same.result).resolves.toMatchObject({ status: 'cancelled' });
        await expect(run.result).resolves.toMatchObject({ status: 'cancelled' });
      },
    );

    it('leaves an approval as it was', async () => {
      const runtime = runtimeOf(storage());
      const done: string[] = [];
      const script = [{ calls: [{ id: 'c', name: 'pay', args: {} }] }, { text: 'Paid.' }];
      const { agent } = await agentOf(runtime, script, { tools: [pay(done)] });
      const run = agent.run('Pay.', { threadId: 't' });
      await expect(run.result).resolves.toMatchObject({ status: 'interrupted' });
      const left = await run.resume(true, { signal: aborted });
      await expect(left.result).resolves.toMatchObject({ status: 'cancelled' });
      const other = agent.run('Something else.', { threadId: 't', signal: aborted });
      await expect(other.result).resolves.toMatchObject({ status: 'cancelled' });
      expect(done).toEqual([]);
      const resumed = await run.resume(true);
      await expect(resumed.result).resolves.toMatchObject({ status: 'completed', text: 'Paid.' });
      expect(done).toEqual(['paid']);
    });

    it('begins no function', async () => {
      const runtime = runtimeOf(storage());
      let entered = 0;
      runtime.agent('fn', () => `entered ${(entered += 1)}`);
      const run = runtime.run('fn', 'Go.', { signal: aborted });
      await expect(run.result).resolves.toMatchObject({ status: 'cancelled' });
      const started = runtime.start('fn', 'Go.', { signal: aborted });
      await expect(started).rejects.toMatchObject({ code: 'cancelled' });
      expect(entered).toBe(0);
    });
  },
);

describe('what a runtime is asked for with the wrong types', () => {
  it.each<[string, (runtime: Runtime) => unknown]>([
    ['list(true)', (runtime) => runtime.list(true as never)],
    ['list() of a function', (runtime) => runtime.list((() => undefined) as never)],
    ['list() of a symbol', (runtime) => runtime.list(Symbol('s') as never)],
    ['stop() of a bigint', (runtime) => runtime.stop(1n as never)],
    ['get() of a bigint', (runtime) => runtime.get(1n as never)],
    ['approvals.list(5)', (runtime) => runtime.approvals.list(5 as never)],
  ])('rejects with an error: %s', async (_name, call) => {
    const runtime = runtimeOf();
    runtime.agent('fn', () => 'x');
    const code = expect.stringMatching(/^invalid_(option|argument)$/) as string;
    await expect(Promise.resolve().then(() => call(runtime))).rejects.toMatchObject({ code });
  });

  it('rejects, and throws nothing, once it is closed', async () => {
    const runtime = createRuntime({ storage: 'memory' });
    await runtime.close();
    const calls = [
      runtime.list(),
      runtime.stop('run_1'),
      runtime.fork('run_1', { at: 1 }),
      runtime.approvals.list(),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'engine_closed' });
  });
});
