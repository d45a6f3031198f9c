// What an Engine and its sessions are given, right or wrong: nothing throws where a result was promised.
/* eslint-disable @typescript-eslint/no-explicit-any */
import { Engine, SessionManager } from 'millrace';

import { scripted } from '../../support/scripted-provider';

const wrong = (code: string, message: RegExp) =>
  expect.objectContaining({
    status: 'error',
    error: expect.objectContaining({ code, message: expect.stringMatching(message) }),
  });

describe('what cannot be asked', () => {
  const provider = scripted();
  const engine: any = new Engine({ provider });
  afterAll(() => {
    expect(provider.asked).toEqual([]);
    expect(engine.sessionManager.listSessions()).toEqual([]);
  });

  it.each([undefined, null, 5, {}, ['q']])('is the prompt %p', async (prompt) => {
    expect(await engine.run(prompt)).toEqual(wrong('invalid_argument', /string/));
    expect(await engine.runWithSession('s', prompt)).toEqual(wrong('invalid_argument', /string/));
  });

  it.each([undefined, null, 5, '', {}])('is a prompt of the session %p', async (id) => {
    expect(await engine.runWithSession(id, 'q')).toEqual(wrong('invalid_argument', /session/));
    expect(() => engine.sessionManager.addMessage(id, { role: 'user', content: 'x' })).toThrow(
      /session/,
    );
  });

  it.each([
    [null, /list/],
    [{}, /list/],
    ['x', /list/],
    [[null], /messages\[0\]/],
    [[{ role: 'wizard', content: 'x' }], /messages\[0\].*developer/],
    [[{ role: 'user', content: 'x' }, { content: 'x' }], /messages\[1\]/],
    [[{ role: 'user' }], /messages\[0\]/],
  ])('is the conversation %j', async (messages, message) => {
    expect(await engine.runMessages(messages)).toEqual(wrong('invalid_messages', message));
  });

  it.each([
    [5, 'invalid_option', /object/],
    [{ signal: 5 }, 'invalid_argument', /signal/],
    [{ onMessage: 5 }, 'invalid_option', /onMessage/],
    [{ sinal: 1 }, 'invalid_option', /'sinal'.*'signal'/],
    [{ abortSignal: 1 }, 'invalid_option', /`signal`/],
  ])('has the options %j', async (options, code, message) => {
    const expected = wrong(code, message);
    expect(await engine.run('q', options)).toEqual(expected);
    expect(await engine.runMessages([{ role: 'user', content: 'q' }], options)).toEqual(expected);
    expect(await engine.runWithSession('s', 'q', options)).toEqual(expected);
  });
});

describe('what can be asked', () => {
  it('is asked without options, too', async () => {
    const engine: any = new Engine({ provider: scripted() });
    expect(await engine.run('q', null)).toMatchObject({ status: 'completed' });
    expect(await engine.runWithSession('s', 'q', null)).toMatchObject({ status: 'completed' });
  });

  it('has rows of every role', async () => {
    const provider = scripted();
    const call = { id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' } };
    const rows: any[] = [
      { role: 'developer', content: 'd' },
      { role: 'user', content: [{ type: 'text', text: 'q' }] },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c', content: '' },
    ];
    expect(await new Engine({ provider }).runMessages(rows)).toMatchObject({ text: 'end' });
    expect(provider.asked).toHaveLength(1);
  });
});

describe('a session that takes no prompt', () => {
  it('is a full one', async () => {
    const sessionManager = new SessionManager({ maxQueued: 0 });
    const engine = new Engine({ provider: scripted(), sessionManager });
    const first = engine.runWithSession('s', 'a');
    expect(await engine.runWithSession('s', 'b')).toEqual(wrong('too_much_work', /is full/));
    expect((await first).status).toBe('completed');
  });

  it('is one of a closed manager', async () => {
    const engine = new Engine({ provider: scripted() });
    engine.sessionManager.close();
    const result = await engine.runWithSession('s', 'b');
    expect(result).toEqual(wrong('invalid_state', /closed/));
    expect(result.usage.total).toBe(0);
  });
});

describe('options of an Engine', () => {
  it.each<[object, RegExp]>([
    [{ maxContextTokens: 'x' }, /maxContextTokens/],
    [{ maxContextTokens: -1 }, /maxContextTokens/],
    [{ parallelTools: 0 }, /parallelTools/],
    [{ parallelTools: -3 }, /parallelTools/],
    [{ parallelTools: 'yes' }, /parallelTools/],
    [{ systemPrompt: 5 }, /systemPrompt/],
    [{ model: 5 }, /model/],
    [{ sessionManager: {} }, /SessionManager/],
    [{ temperature: 'hot' }, /temperature/],
    [{ toolTimeoutMs: -1 }, /toolTimeoutMs/],
    [5 as any, /object/],
  ])('are refused: %j', (options, message) => {
    expect(() => new Engine(options)).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringMatching(message) }),
    );
  });

  it('that are missing have their defaults', () => {
    const given: any = { maxIterations: null, model: undefined, sessionManager: null };
    expect(new Engine(given)).toMatchObject({ maxIterations: 5, model: '' });
    expect(new Engine(null as any).maxIterations).toBe(5);
  });
});

describe('the environment', () => {
  const saved = { ...process.env };
  afterEach(() => void (process.env = { ...saved }));

  it('counts where an option is undefined', () => {
    Object.assign(process.env, { UPSTREAM_ENDPOINT: 'http://x', MODEL_NAME: 'mm', SYSTEM_PROMPT: 's' }); // prettier-ignore
    const given: any = { model: undefined, systemPrompt: undefined, baseURL: null };
    expect(Engine.fromEnv(given)).toMatchObject({ model: 'mm', systemPrompt: 's', baseURL: 'http://x' }); // prettier-ignore
    expect(Engine.fromEnv({ model: 'own' }).model).toBe('own');
  });

  it.each([
    ['6', 6],
    ['4', 4],
    ['3', 20],
    ['4.5', 20],
    ['many', 20],
    ['', 20],
  ])('limits histories by MAX_CONTEXT_MESSAGES=%s', (value, expected) => {
    process.env.MAX_CONTEXT_MESSAGES = value;
    expect(Engine.fromEnv().sessionManager.maxHistory).toBe(expected);
    const sessionManager = new SessionManager({ maxHistory: 7 });
    expect(Engine.fromEnv({ sessionManager }).sessionManager).toBe(sessionManager);
  });
});

describe('a SessionManager', () => {
  it.each<[object, RegExp]>([
    [{ maxHistory: 0 }, /maxHistory/],
    [{ ttlMs: 'x' }, /ttlMs/],
    [{ ttlMs: NaN }, /ttlMs/],
    [{ cleanupIntervalMs: -1 }, /cleanupIntervalMs/],
    [{ maxQueued: -1 }, /maxQueued/],
    [{ now: 5 }, /now/],
    [{ maxQueue: 5 }, /maxQueued/],
  ])('refuses %j', (options, message) => {
    expect(() => new SessionManager(options)).toThrow(
      expect.objectContaining({ code: 'invalid_option', message: expect.stringMatching(message) }),
    );
  });

  it.each([Infinity, 1e12])('waits %p ms between two clean-ups as long as a timer can', (ms) => {
    jest.useFakeTimers();
    try {
      const sessions = new SessionManager({ ttlMs: 1, cleanupIntervalMs: ms });
      sessions.addMessage('a', { role: 'user', content: 'x' });
      jest.advanceTimersByTime(60_000);
      expect(sessions.listSessions()).toHaveLength(1);
      sessions.close();
    } finally {
      jest.useRealTimers();
    }
  });

  it('keeps what is put into a session while its model answers', async () => {
    const sessions = new SessionManager();
    const turn = async (edit: () => void): Promise<unknown[]> => {
      await sessions.run('s', async (history) => {
        await Promise.resolve();
        edit();
        const sentMessages = [...history, { role: 'user' as const, content: 'q' }];
        return { messages: [...sentMessages, { role: 'assistant', content: 'a' }], value: 0 };
      });
      return sessions.snapshot('s').map(({ content }) => content);
    };
    const add = (content: string) => sessions.addMessage('s', { role: 'user', content });
    const rows = await turn(() => {
      add('meanwhile');
      expect(sessions.snapshot('s').at(-1)?.content).toBe('meanwhile');
    });
    expect(rows).toEqual(['q', 'a', 'meanwhile']);
    expect(await turn(() => undefined)).toEqual(['q', 'a', 'meanwhile', 'q', 'a']);
    const replaced = await turn(() => {
      sessions.replaceMessages('s', [{ role: 'user', content: 'new' }]);
      add('more');
    });
    expect(replaced).toEqual(['new', 'more']);
    const cleared = await turn(() => {
      add('old');
      sessions.clear('s');
      add('newest');
    });
    expect(cleared).toEqual(['newest']);
  });

  it('trims results whose calls are gone', () => {
    const sessions = new SessionManager({ maxHistory: 2 });
    for (let at = 0; at < 50; ++at) {
      sessions.addMessage('a', { role: 'tool', content: `${at}`, tool_call_id: `x${at}` });
      expect(sessions.snapshot('a').length).toBeLessThanOrEqual(2);
    }
    sessions.replaceMessages('a', [
      { role: 'user', content: 'q' },
      ...Array.from({ length: 5 }, (_, at) => ({ role: 'tool' as const, content: '', tool_call_id: `y${at}` })), // prettier-ignore
    ]);
    expect(sessions.snapshot('a')).toEqual([{ role: 'user', content: 'q' }]);
  });
});

it('says what a model said when it refused', async () => {
  const rejected = { content: null, refusal: 'I will not.' };
  const provider = scripted(rejected, { content: 'No. ', refusal: 'I will not.' });
  const engine = new Engine({ provider });
  const { status, text, messages } = await engine.run('q');
  expect([status, text]).toEqual(['completed', 'I will not.']);
  expect(messages.at(-1)).toEqual({ role: 'assistant', content: 'I will not.' });
  expect((await engine.run('q')).text).toBe('No. I will not.');
});
