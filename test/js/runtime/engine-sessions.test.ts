// An Engine with a runtime: its sessions are threads, which other processes go on with.
import { createRuntime, Engine, type EngineOptions, type Runtime, SessionManager } from 'millrace';

import { cleanUp, makeStore, startChild } from '../support/durable-child';

const runtimes: Runtime[] = [];
afterEach(async () => {
  jest.restoreAllMocks();
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

function runtimeOf(storage: 'memory' | `file:${string}` = 'memory'): Runtime {
  const runtime = createRuntime({ storage });
  runtimes.push(runtime);
  return runtime;
}

const engineOf = (runtime: Runtime, more: EngineOptions = {}) =>
  new Engine({
    provider: {
      chat: ({ messages }) => ({
        message: { role: 'assistant', content: `${messages.length} messages` },
      }),
    },
    ...{ runtime, name: 'bot' },
    ...more,
  });
const contents = (messages: { content?: unknown }[]) => messages.map(({ content }) => content);

describe('an Engine with a runtime', () => {
  it('goes on with the sessions of a process that was killed', async () => {
    const { store } = makeStore();
    const options = { store, prompts: ['one', 'two', 'three'], hang: 'three' };
    const first = startChild(options, 'session-child');
    await first.until(({ hangs }) => hangs === true);
    await first.kill();
    const lines = await startChild({ store, prompts: ['four'] }, 'session-child').ended();
    // A system message, four of each turn, and the prompt: the one that was cut is not there.
    const turn = ['user', 'assistant', 'tool', 'assistant'];
    expect(lines[0]).toEqual({
      ...{ status: 'completed', text: '12 messages' },
      roles: ['system', ...turn, ...turn, ...turn],
      last: { role: 'tool', tool_call_id: 'c10', content: 'seen' },
    });
    const { history, turns } = lines[1] as { history: object[]; turns: object[] };
    expect(history).toHaveLength(13);
    expect(history[2]).toEqual({
      ...{ role: 'assistant', content: '' },
      tool_calls: [{ id: 'c2', type: 'function', function: { name: 'look', arguments: '{}' } }],
    });
    const usage = { prompt: 20, completion: 2, total: 22 };
    const ofTurn = { status: 'completed', usage, at: expect.any(Number) as number };
    expect(turns).toEqual([ofTurn, ofTurn, ofTurn]);
    expect(lines[2]).toEqual({ threads: [{ id: 'bot/s', title: 'one' }] });
    expect(lines[3]).toMatchObject({
      info: [{ id: 's', messages: 13, usage: { prompt: 60, completion: 6, total: 66 } }],
    });
  });

  it('keeps what was done to a session, also before it was read', async () => {
    const storage = `file:${makeStore().store}` as const;
    const runtime = runtimeOf(storage);
    const engine = engineOf(runtime);
    await engine.runWithSession('s', 'one');
    await engine.runWithSession('gone', 'one');
    engine.sessionManager.clear('gone');
    engine.sessionManager.clear('unknown');
    await engine.sessionManager.saved();
    await runtime.close();

    const later = runtimeOf(storage);
    const again = engineOf(later).sessionManager;
    again.addMessage('s', { role: 'user', content: 'added' });
    expect(contents(again.snapshot('s'))).toEqual(['added']);
    await again.saved();
    const messages = ['', 'one', '2 messages', 'added'];
    expect(contents(again.snapshot('s'))).toEqual(messages);
    expect(await again.load('gone')).toEqual([]);
    const { thread } = later.storage();
    expect((await thread.getMessages('bot/s')).map(({ content }) => content)).toEqual(messages);
    const ids = (await thread.getMessages('bot/s')).map(({ id }) => id);
    again.replaceMessages('s', [{ role: 'user', content: 'new' }]);
    again.addMessage('s', { role: 'user', content: 'new' });
    await again.saved();
    const rows = await thread.getMessages('bot/s');
    expect(rows.map(({ content }) => content)).toEqual(['new', 'new']);
    expect(new Set([...ids, ...rows.map(({ id }) => id)]).size).toBe(6);
  });

  it.each([
    ['a welcome', [{ role: 'assistant', content: 'Welcome!' }]],
    [
      'a system message',
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'assistant', content: 'Hi' },
      ],
    ],
  ] as const)('stores a session without a message of the user: %s', async (_, messages) => {
    const runtime = runtimeOf();
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const { sessionManager } = engineOf(runtime);
    sessionManager.replaceMessages('s', [...messages]);
    await sessionManager.saved();
    expect(warn).not.toHaveBeenCalled();
    const later = engineOf(runtime);
    expect(await later.sessionManager.load('s')).toEqual(messages);
    await later.runWithSession('s', 'one');
    await later.sessionManager.saved();
    const again = await engineOf(runtime).sessionManager.load('s');
    expect(contents(again).slice(-3)).toEqual([messages.at(-1)?.content, 'one', expect.anything()]);
  });

  it('stores the turns of a session that has no message', async () => {
    const runtime = runtimeOf();
    const provider = { chat: () => Promise.reject(new Error('overloaded')) };
    const failing = engineOf(runtime, { provider });
    await failing.runWithSession('s', 'one');
    await failing.sessionManager.saved();
    const later = engineOf(runtime);
    expect(await later.sessionManager.load('s')).toEqual([]);
    expect(later.sessionManager.turns('s')).toMatchObject([{ status: 'error' }]);
    await later.runWithSession('s', 'two');
    const again = engineOf(runtime).sessionManager;
    expect(contents(await again.load('s'))).toEqual(['', 'two', '2 messages']);
    expect(again.turns('s')).toMatchObject([{ status: 'error' }, { status: 'completed' }]);
    again.clear('s');
    await again.saved();
    const cleared = engineOf(runtime).sessionManager;
    expect(await cleared.load('s')).toEqual([]);
    expect(cleared.turns('s')).toEqual([]);
  });

  it('trims by a budget of tokens', async () => {
    const sessionManager = new SessionManager({ maxTokens: 60 });
    const engine = engineOf(runtimeOf(), { sessionManager, systemPrompt: 'Be brief.' });
    for (let turn = 1; turn <= 40; turn += 1) {
      await engine.runWithSession('s', `number ${turn}, please`);
    }
    const history = sessionManager.snapshot('s');
    expect(history[0]).toEqual({ role: 'system', content: 'Be brief.' });
    expect(history.length).toBeGreaterThan(4);
    expect(history.length).toBeLessThan(30);
    expect(history.at(-2)?.content).toBe('number 40, please');
    expect(sessionManager.turns('s')).toHaveLength(40);
    // The newest message is there, however long it is.
    sessionManager.addMessage('s', { role: 'user', content: 'long '.repeat(1000) });
    expect(contents(sessionManager.snapshot('s'))).toEqual(['Be brief.', 'long '.repeat(1000)]);
    expect(new SessionManager().trim(history)).toHaveLength(Math.min(history.length, 21));
  });

  it('counts what a turn cost that failed, and reports what could not be stored', async () => {
    const runtime = runtimeOf();
    const chat = jest
      .fn()
      .mockReturnValueOnce({ message: { role: 'assistant', content: 'hello' } })
      .mockRejectedValue(new Error('down'));
    const engine = engineOf(runtime, { provider: { chat: chat as never } });
    await engine.runWithSession('s', 'one');
    expect(await engine.runWithSession('s', 'two')).toMatchObject({ status: 'error' });
    expect(engine.sessionManager.turns('s')).toMatchObject([
      { status: 'completed' },
      { status: 'error' },
    ]);
    await runtime.close();
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    engine.sessionManager.addMessage('s', { role: 'user', content: 'late' });
    await engine.sessionManager.saved();
    expect(warned.mock.calls[0]?.[0]).toMatch(/The session s was not stored: .*closed/);
    const late = await engineOf(runtime).runWithSession('t', 'one');
    expect(late).toMatchObject({ status: 'error', error: { code: 'engine_closed' } });
  });

  it('rejects what it cannot be made with', () => {
    const runtime = runtimeOf();
    const sessionManager = new SessionManager();
    expect(() => engineOf(runtime, { name: '' })).toThrow(/needs a `name`/);
    expect(() => engineOf(runtime, { runtime: {} as never })).toThrow(/createRuntime/);
    engineOf(runtime, { sessionManager });
    expect(() => engineOf(runtime, { sessionManager })).toThrow(/belongs to one Engine/);
    expect(() => new SessionManager({ maxTokens: 0 })).toThrow(/maxTokens/);
  });
});
