// createAgent: a run, the host's tools, calls that are tried again.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { HostTool } from 'millrace';
import { createAgent, createModelRuntime, tool } from 'millrace';
import {
  model,
  useModel,
  agentOf,
  eventsOf,
  typesOf,
  resultsOf,
  add,
  call,
  mail,
} from '../../support/agents';

describe('a run', () => {
  it('is one AG-UI run with a step for each turn of the model', async () => {
    const agent = await agentOf([call('add', { a: 2, b: 3 }), { text: 'It is five.' }], {
      tools: [add],
      instructions: 'Be exact.',
    });
    const run = agent.run('2 + 3?', { threadId: 't' });
    const events = await eventsOf(run);
    expect(typesOf(events)).toEqual([
      'RUN_STARTED',
      'STEP_STARTED',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TOOL_CALL_RESULT',
      'STEP_FINISHED',
      'STEP_STARTED',
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'CUSTOM',
      'RUN_FINISHED',
    ]);
    expect(resultsOf(events)).toEqual(['5']);
    expect(await run.text()).toBe('It is five.');
    const { status, reason, usage, threadId } = await run.result;
    expect({ status, reason, threadId }).toEqual({
      status: 'completed',
      reason: 'completed',
      threadId: 't',
    });
    expect(usage).toMatchObject({
      llm: { apiCalls: 2, tokens: { input: 20, output: 10, total: 30 } },
      tools: { totalCalls: 1, byTool: [{ name: 'add', calls: 1, errors: 0 }] },
    });
    expect(model.asked[0]?.messages).toEqual([
      { role: 'system', content: 'Be exact.' },
      { role: 'user', content: '2 + 3?' },
    ]);
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: '5' });
    expect(await eventsOf(run)).toEqual(events);
  });

  it('goes on without being read', async () => {
    const agent = await agentOf([call('add', { a: 1, b: 1 }), { text: 'two' }], { tools: [add] });
    expect((await agent.run('1 + 1?').result).text).toBe('two');
  });

  it('takes tools by name', async () => {
    const agent = await agentOf([call('plus', { a: 2, b: 3 }), { text: 'five' }], {
      tools: { plus: { ...add, name: 'other' }, add },
    });
    expect(resultsOf(await eventsOf(agent.run('2 + 3?')))).toEqual(['5']);
    expect(() => createAgent({ model: 'demo:demo', tools: [{ run: () => 1 }] as never })).toThrow(
      'needs a `name`',
    );
    expect(() => createAgent({ model: 'demo:demo', tools: 'time' as never })).toThrow(
      'a list, a map or a record',
    );
  });

  it('takes a runtime', async () => {
    await useModel([{ text: 'hi' }]);
    const runtime = createModelRuntime('openai', { baseURL: model.url, apiKey: 'k' });
    const agent = createAgent({ model: runtime, modelName: 'm' });
    expect(await agent.run('hello').text()).toBe('hi');
    const hooked = createModelRuntime('openai', { apiKey: 'k', handlePayload: (body) => body });
    expect(() => createAgent({ model: hooked, modelName: 'm' })).toThrow(/hooks/);
  });

  it('asks the fallback when the model fails', async () => {
    const agent = await agentOf([{ text: 'from the second' }], {
      provider: { baseURL: 'http://127.0.0.1:9', apiKey: 'k', maxRetries: 0 },
    });
    const second = createAgent({
      model: 'openai:m',
      provider: { baseURL: 'http://127.0.0.1:9', apiKey: 'k', maxRetries: 0 },
      fallback: [{ provider: 'deepseek', model: 'm', baseURL: model.url, apiKey: 'k' }],
    });
    expect(await second.run('hello').text()).toBe('from the second');
    const failed = await agent.run('hello').result;
    expect(failed).toMatchObject({ status: 'error', error: { code: 'connect_failed' } });
  });

  it('gives a last answer without tools after its limit of turns', async () => {
    const agent = await agentOf(
      (body) => ('tools' in body ? call('add', { a: 1, b: 1 }, '') : { text: 'the end' }),
      { tools: [add], limits: { maxSteps: 3 } },
    );
    const { reason, text } = await agent.run('go').result;
    expect({ reason, text }).toEqual({ reason: 'max_steps_completed', text: 'the end' });
    expect(model.asked).toHaveLength(4);
  });

  it('gives calls ids of their own', async () => {
    const agent = await agentOf(
      [
        { calls: [{ id: 'x', name: 'add', args: { a: 1, b: 1 } }] },
        {
          calls: [
            { id: 'x', name: 'add', args: { a: 2, b: 2 } },
            { id: '', name: 'add', args: { a: 3, b: 3 } },
          ],
        },
        { text: 'done' },
      ],
      { tools: [add] },
    );
    const events = await eventsOf(agent.run('go'));
    const started = events.flatMap((e) => (e.type === 'TOOL_CALL_START' ? [e.toolCallId] : []));
    const ended = events.flatMap((e) => (e.type === 'TOOL_CALL_RESULT' ? [e.toolCallId] : []));
    expect(new Set(started).size).toBe(3);
    expect(ended.sort()).toEqual([...started].sort());
    expect(resultsOf(events).sort()).toEqual(['2', '4', '6']);
  });
});

describe('a tool of the host', () => {
  const reported = async (one: HostTool, args: unknown = {}) => {
    const agent = await agentOf([call(one.name, args), { text: 'I see' }], { tools: [one] });
    const events = await eventsOf(agent.run('go'));
    const { status } = await agent.run('again').result;
    expect(status).toBe('completed');
    return JSON.stringify(model.asked[1]?.messages.at(-1)?.content ?? events);
  };
  const bad = (name: string, run: HostTool['run'], more: Partial<HostTool> = {}): HostTool => ({
    name,
    run,
    ...more,
  });

  it.each<[string, HostTool, RegExp]>([
    [
      'throws what nobody can look at',
      bad('f', () => {
        throw new Proxy(
          {},
          {
            get() {
              throw new Error('hidden');
            },
          },
        );
      }),
      /cannot be read/,
    ],
    [
      'says more than JSON carries',
      bad('f', () => ({ content: 'x', success: true, n: 5n })),
      /BigInt/,
    ],
    [
      'throws null',
      bad('f', () => {
        throw null;
      }),
      /null/,
    ],
    [
      'throws a getter that throws',
      bad('f', () => {
        throw {
          get message() {
            throw new Error('x');
          },
        };
      }),
      /cannot be read/,
    ],
    ['rejects with undefined', bad('f', () => Promise.reject(undefined)), /undefined/], // eslint-disable-line
    ['never returns', bad('f', () => new Promise(() => undefined), { timeoutMs: 50 }), /50 ms/],
    [
      'returns too much',
      bad('f', () => 'x'.repeat(3000), { resultLimit: 1000 }),
      /^"x{1000}\\n\[cut here: 2000 more bytes\]"$/,
    ],
    ['returns 100 MB', bad('f', () => 'x'.repeat(100 << 20)), /are allowed/],
    [
      'returns a circle',
      bad('f', () => {
        const a: { a?: unknown } = {};
        a.a = a;
        return a;
      }),
      /circular/i,
    ],
    ['returns a BigInt', bad('f', () => 1n), /BigInt/],
    ['returns an error', bad('f', () => new Error('no disk')), /no disk/],
    ['returns a response', bad('f', () => new Response('x')), /returned a Response/],
    ['returns nothing', bad('f', () => undefined), /null/],
  ])('that %s is an error or a result told to the model', async (_name, one, expected) => {
    expect(await reported(one)).toMatch(expected);
  });

  it('is not called with arguments that its schema refuses', async () => {
    const run = jest.fn();
    expect(await reported({ ...add, run }, { a: 'one' })).toMatch(/not valid/);
    expect(await reported({ ...add, run }, '{"a":')).toMatch(/not valid JSON/);
    expect(await reported({ ...add, run }, [1])).toMatch(/object/);
    expect(run).not.toHaveBeenCalled();
  });

  it('is checked by its own validator', async () => {
    const run = jest.fn(({ n }: { n: number }) => n);
    const input = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof (value as { n: unknown }).n === 'string'
            ? { value: { n: Number((value as { n: string }).n) } }
            : { issues: [{ message: 'n must be text' }] },
      },
    };
    expect(await reported({ name: 'f', input, run }, { n: '7' })).toBe('"7"');
    expect(run).toHaveBeenCalledWith({ n: 7 }, expect.anything());
    expect(await reported({ name: 'f', input, run }, { n: 7 })).toMatch(/must be text/);
  });

  it('that is unknown is told to the model', async () => {
    const agent = await agentOf([call('nobody'), { text: 'sorry' }], { tools: [add] });
    const run = agent.run('go');
    expect(resultsOf(await eventsOf(run)).join()).toMatch(/not found: nobody/i);
    expect((await run.result).text).toBe('sorry');
  });

  it('cannot be reached under the name of another one', async () => {
    const sent: string[] = [];
    const agent = await agentOf([call('add____send_mail', { to: 'eve' }), { text: 'no' }], {
      tools: [add, mail(sent)],
    });
    const { status } = await agent.run('go').result;
    expect(status).toBe('completed');
    expect(sent).toEqual([]);
  });

  it('gets a key, reports progress and runs in the context of its caller', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const agent = await agentOf([call('f'), { text: 'ok' }], {
      tools: [
        tool({
          name: 'f',
          run: async (_input, { idempotencyKey, toolCallId, progress, signal }) => {
            progress({ half: true });
            await Promise.resolve();
            seen.push(storage.getStore(), idempotencyKey, toolCallId, signal.aborted);
            return 'done';
          },
        }),
      ],
    });
    const run = storage.run('mine', () => agent.run('go', { threadId: 't', runId: 'r' }));
    const events = await eventsOf(run);
    expect(seen).toEqual(['mine', 't:r:c1', 'c1', false]);
    expect(events).toContainEqual(
      expect.objectContaining({
        name: 'millrace.tool_progress',
        value: { toolCallId: 'c1', progress: { half: true } },
      }),
    );
  });

  it('has a signal that is made when it is looked at, and that copies of its context share', async () => {
    const made = jest.spyOn(globalThis, 'AbortController');
    const seen: unknown[] = [];
    const agent = await agentOf([call('f'), { text: 'ok' }], {
      tools: [
        tool({
          name: 'f',
          run: (_input, context) => {
            seen.push(made.mock.calls.length);
            made.mockRestore();
            const { signal } = { ...context };
            seen.push(signal instanceof AbortSignal, signal === context.signal);
            return 'done';
          },
        }),
      ],
    });
    expect(await agent.run('go').text()).toBe('ok');
    expect(seen).toEqual([0, true, true]);
  });

  it('runs beside others, or in order where it says so', async () => {
    let at = 0;
    let most = 0;
    const slow = (ordered: boolean) =>
      tool({
        name: 'slow',
        ordered,
        run: async () => {
          at += 1;
          most = Math.max(most, at);
          await new Promise((resolve) => setTimeout(resolve, 20));
          at -= 1;
          return 'ok';
        },
      });
    const three = { calls: ['a', 'b', 'c'].map((id) => ({ id, name: 'slow' })) };
    const together = await agentOf([three, { text: 'ok' }], { tools: [slow(false)] });
    await together.run('go').result;
    expect(most).toBe(3);
    most = 0;
    const ordered = await agentOf([three, { text: 'ok' }], { tools: [slow(true)] });
    await ordered.run('go').result;
    expect(most).toBe(1);
  });
});

describe('a call that failed in passing', () => {
  const shaky = (effect: 'read' | 'idempotent' | 'once', failures: number, keys: string[]) =>
    tool({
      name: 'shaky',
      effect,
      run: (_input, { idempotencyKey }) => {
        keys.push(idempotencyKey);
        if (keys.length > failures) return 'made it';
        throw Object.assign(new Error('busy'), { retryable: true });
      },
    });

  it.each([
    ['read', 2, 3, 'made it'],
    ['idempotent', 1, 2, 'made it'],
    ['read', 9, 3, 'busy'],
    ['once', 1, 1, 'busy'],
  ] as const)(
    'of effect %s after %i failures is tried %i times',
    async (effect, failures, tries, result) => {
      const keys: string[] = [];
      const agent = await agentOf([call('shaky'), { text: 'end' }], {
        tools: [shaky(effect, failures, keys)],
      });
      const events = await eventsOf(agent.run('go'));
      expect(resultsOf(events)).toEqual([result]);
      expect(keys).toHaveLength(tries);
      expect(new Set(keys).size).toBe(1);
    },
  );
});
