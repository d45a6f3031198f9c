// createAgent: the loop in the engine, tools in JavaScript, a person in between.
import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { join } from 'node:path';

import type { AGUIEvent, ApprovePolicy, HostTool, SavedRun } from 'millrace';
import { createAgent, createModelRuntime, inMemoryStorage, tool } from 'millrace';

import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel as startScripted } from '../../support/scripted-model';

let model: ScriptedModel;
const models: ScriptedModel[] = [];

async function startModel(script: Parameters<typeof startScripted>[0]): Promise<ScriptedModel> {
  const started = await startScripted(script);
  models.push(started);
  return started;
}
afterEach(async () => {
  await Promise.all(models.splice(0).map((one) => one.close()));
});

async function agentOf(
  script: Parameters<typeof startModel>[0],
  options: Partial<Parameters<typeof createAgent>[0]> = {},
) {
  model = await startModel(script);
  return createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    ...options,
  });
}

async function eventsOf(run: AsyncIterable<AGUIEvent>): Promise<AGUIEvent[]> {
  const events: AGUIEvent[] = [];
  for await (const event of run) events.push(event);
  return events;
}

// Without the pieces of texts and what the model's adapter tells besides.
const typesOf = (events: AGUIEvent[]): string[] =>
  events
    .filter(({ type }) => type !== 'TEXT_MESSAGE_CONTENT')
    .filter((event) => event.type !== 'CUSTOM' || event.name === 'millrace.run_usage')
    .map(({ type }) => type);

const resultsOf = (events: AGUIEvent[]): unknown[] =>
  events.flatMap((event) => (event.type === 'TOOL_CALL_RESULT' ? [event.content] : []));

const add = tool<{ a: number; b: number }>({
  name: 'add',
  description: 'Adds two numbers.',
  input: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  effect: 'read',
  run: ({ a, b }) => a + b,
});
const call = (name: string, args: unknown = {}, id = 'c1'): Turn => ({
  calls: [{ id, name, args }],
});
const mail = (sent: string[], more: object = {}) =>
  tool<{ to: string }>({
    name: 'send_mail',
    input: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
    approve: true,
    run: ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
    ...more,
  });

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
    model = await startModel([{ text: 'hi' }]);
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
  const told = async (one: HostTool, args: unknown = {}) => {
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
    expect(await told(one)).toMatch(expected);
  });

  it('is not called with arguments that its schema refuses', async () => {
    const run = jest.fn();
    expect(await told({ ...add, run }, { a: 'one' })).toMatch(/not valid/);
    expect(await told({ ...add, run }, '{"a":')).toMatch(/not valid JSON/);
    expect(await told({ ...add, run }, [1])).toMatch(/object/);
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
    expect(await told({ name: 'f', input, run }, { n: '7' })).toBe('"7"');
    expect(run).toHaveBeenCalledWith({ n: 7 }, expect.anything());
    expect(await told({ name: 'f', input, run }, { n: 7 })).toMatch(/must be text/);
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

describe('a question to a person', () => {
  const asked = async (sent: string[] = [], turns: Turn[] = [{ text: 'done' }]) => {
    const agent = await agentOf([call('send_mail', { to: 'ada' }), ...turns], {
      tools: [mail(sent), add],
    });
    const run = agent.run('mail ada', { threadId: 't' });
    return { agent, run, events: await eventsOf(run), result: await run.result };
  };

  it('ends the run with an interrupt', async () => {
    const sent: string[] = [];
    const { events, result } = await asked(sent);
    expect(result).toMatchObject({ status: 'interrupted' });
    expect(events.at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: {
        type: 'interrupt',
        interrupts: [
          {
            reason: 'tool_call',
            toolCallId: 'c1',
            metadata: { toolName: 'send_mail', arguments: { to: 'ada' } },
          },
        ],
      },
    });
    expect(sent).toEqual([]);
  });

  it('runs the call once it is approved, and once', async () => {
    const sent: string[] = [];
    const { agent, run, result } = await asked(sent);
    const next = await run.resume(true);
    const events = await eventsOf(next);
    expect(sent).toEqual(['ada']);
    expect(typesOf(events).slice(0, 2)).toEqual(['RUN_STARTED', 'TOOL_CALL_RESULT']);
    expect(await next.text()).toBe('done');
    const [interrupt] = result.interrupts ?? [];
    const again = agent.run([], {
      threadId: 't',
      resume: [
        { interruptId: interrupt?.id ?? '', status: 'resolved', payload: { approved: true } },
      ],
    });
    expect(await again.result).toMatchObject({
      status: 'error',
      error: { code: 'approval_answered' },
    });
    expect(sent).toEqual(['ada']);
  });

  it('takes edited arguments, which are checked', async () => {
    const sent: string[] = [];
    const { run } = await asked(sent);
    await (
      await run.resume({ approved: true, editedArgs: { to: 'bob' } })
    ).result;
    expect(sent).toEqual(['bob']);
    const renamed = await asked(sent);
    const decision = { approved: true, editedArguments: { to: 'eve' } } as never;
    await (
      await renamed.run.resume(decision)
    ).result;
    expect(sent.splice(1)).toEqual(['eve']);
    const second = await asked(sent);
    const refused = await second.run.resume({ approved: true, editedArgs: { to: 7 } });
    expect(await refused.result).toMatchObject({
      status: 'error',
      error: {
        code: 'invalid_argument',
        message: expect.stringMatching(/send_mail are not valid/),
      },
    });
    expect(sent).toEqual(['bob']);
    // The question is still open.
    const mended = await second.run.resume({ approved: true, editedArgs: '{"to":"joe"}' });
    expect(await mended.text()).toBe('done');
    expect(sent).toEqual(['bob', 'joe']);
  });

  it.each([
    [{ approved: true, args: { to: 'bob' } }, "no member 'args'"],
    [{ approved: true, edits: { to: 'bob' } }, "no member 'edits'"],
    [{ approved: true, editedArgs: 5 }, 'must be an object'],
    [{ approved: true, editedArgs: '[1]' }, 'must be an object'],
  ])('runs nothing for an answer that it cannot read: %j', async (decision, message) => {
    const sent: string[] = [];
    const { run } = await asked(sent);
    const { status, error } = await (await run.resume(decision as never)).result;
    expect(status).toBe('error');
    expect(error?.message).toContain(message);
    expect(sent).toEqual([]);
  });

  it('runs nothing for a status that is none', async () => {
    const sent: string[] = [];
    const { agent, run } = await asked(sent);
    const { interrupts, threadId } = await run.result;
    const resume = [
      { interruptId: interrupts![0]!.id, status: 'done', payload: { approved: true } },
    ] as never;
    const { status, error } = await agent.run([], { threadId, resume }).result;
    expect(status).toBe('error');
    expect(error?.message).toContain('use resolved or cancelled');
    expect(sent).toEqual([]);
  });

  it('tells the model of a refusal', async () => {
    const sent: string[] = [];
    const { run } = await asked(sent);
    const events = await eventsOf(await run.resume({ approved: false, reason: 'too late' }));
    expect(resultsOf(events).join()).toMatch(/too late/);
    expect(JSON.stringify(model.asked[1]?.messages.at(-1))).toMatch(/too late/);
    expect(sent).toEqual([]);
  });

  it('cannot be answered by a client that makes something up', async () => {
    const sent: string[] = [];
    const { agent, result } = await asked(sent);
    const id = result.interrupts?.[0]?.id ?? '';
    const answer = async (interruptId: string, payload: unknown, threadId = 't') => {
      const { error } = await agent.run([], {
        threadId,
        resume: [{ interruptId, status: 'resolved', payload }],
      }).result;
      return (error as { code?: string } | undefined)?.code;
    };
    expect(await answer('c1', { approved: true })).toBe('approval_mismatch');
    expect(await answer(id, { approved: true }, 'other')).toBe('approval_mismatch');
    expect(await answer(id, { approved: true, arguments: { to: 'eve' } })).toBe(
      'approval_mismatch',
    );
    expect(await answer(id, { approved: true, hash: 'f00' })).toBe('approval_mismatch');
    expect(await answer(id, { approved: true, toolCallId: 'c2' })).toBe('approval_mismatch');
    expect(await answer(id, { approved: 'yes' })).toBe('invalid_argument');
    expect(await answer(id, undefined)).toBe('invalid_argument');
    expect(sent).toEqual([]);
    // Nothing of it has spoilt the question.
    expect(await answer(id, { approved: true })).toBeUndefined();
    expect(sent).toEqual(['ada']);
  });

  it('may be one of several, answered bit by bit', async () => {
    const sent: string[] = [];
    const agent = await agentOf(
      [
        {
          calls: [
            { id: 'c1', name: 'send_mail', args: { to: 'ada' } },
            { id: 'c2', name: 'add', args: { a: 1, b: 1 } },
            { id: 'c3', name: 'send_mail', args: { to: 'bob' } },
          ],
        },
        { text: 'done' },
      ],
      { tools: [mail(sent), add] },
    );
    const run = agent.run('go');
    expect(resultsOf(await eventsOf(run))).toEqual(['2']);
    const first = await run.resume({ c1: true });
    expect(await first.result).toMatchObject({ status: 'interrupted' });
    expect(sent).toEqual(['ada']);
    const [before, after] = [(await run.result).interrupts, (await first.result).interrupts];
    expect(after).toEqual(before?.filter(({ toolCallId }) => toolCallId === 'c3'));
    const last = await first.resume({ c3: false });
    expect(await last.text()).toBe('done');
    expect(sent).toEqual(['ada']);
    expect(model.asked).toHaveLength(2);
  });

  it('is asked by policy', async () => {
    const statusOf = async (approve: ApprovePolicy, one: HostTool) => {
      const agent = await agentOf([call(one.name, { a: 1, b: 1, to: 'x' }), { text: 'ok' }], {
        tools: [one],
        approve,
      });
      const { status } = await agent.run('go').result;
      return status;
    };
    const once = tool({ name: 'once', run: () => 'done' });
    expect(await statusOf('risky', add as HostTool)).toBe('completed');
    expect(await statusOf('risky', once as HostTool)).toBe('interrupted');
    expect(await statusOf('always', add as HostTool)).toBe('interrupted');
    expect(await statusOf('never', mail([]) as HostTool)).toBe('completed');
    expect(await statusOf(true, add as HostTool)).toBe('interrupted');
    expect(await statusOf(false, mail([]) as HostTool)).toBe('completed');
    for (const wrong of ['maybe', 1, {}, []]) {
      await expect(statusOf(wrong as never, add as HostTool)).rejects.toThrow(
        '`approve` must be tools, risky, always or never',
      );
    }
  });

  it.each([
    [{ needsApproval: true }, 'It is called `approve` here'],
    [{ requireApproval: true }, 'It is called `approve` here'],
    [{ humanIntervention: 'required' }, 'It is called `approve` here'],
    [{ approve: 'yes' }, '`approve` must be true, false'],
    [{ approve: 1 }, '`approve` must be true, false'],
    [{ parameters: {} }, 'It is called `input` here'],
    [{ timeout: 5 }, "The tool 'pay' has no member 'timeout'"],
    [{ resultLimit: -1 }, '`resultLimit` must be a number'],
    [{ run: undefined, execute: () => 1 }, 'It is called `run` here'],
    [{ run: undefined }, "The tool 'pay' needs a function `run`"],
  ])('is asked or a tool is refused, not asked less than was meant: %j', (members, message) => {
    const given = { name: 'pay', run: () => 1, ...members } as never;
    expect(() => tool(given)).toThrow(message);
    expect(() => createAgent({ model: 'demo:demo', tools: [given] })).toThrow(message);
  });

  it.each([
    [{ compression: { maxWindow: 5 } }, "compression has no member 'maxWindow'"],
    [{ concurrency: 0 }, '`concurrency` must be a whole number'],
    [{ system: 'x' }, 'It is called `instructions` here'],
  ])('is refused with options that nobody reads: %j', (options, message) => {
    expect(() => createAgent({ model: 'demo:demo', ...options } as never)).toThrow(message);
  });

  it('is refused with options of a run that nobody reads', () => {
    const agent = createAgent({ model: 'demo:demo' });
    expect(() => agent.run('x', { sigal: 1 } as never)).toThrow("A run has no member 'sigal'");
    expect(() => agent.run('x', { onStep: 5 } as never)).toThrow('onStep must be a function');
    expect(() => agent.run('x', { abortSignal: 1 } as never)).toThrow('called `signal` here');
  });
});

describe('a question of the model', () => {
  const asked = (args: object, id = 'q1') => call('ask_user', args, id);
  const colours = [{ label: 'Red', value: 'r' }, { value: 'b' }];

  it('is a prompt, whose answer is the result of its call', async () => {
    const agent = await agentOf([asked({ prompt: 'Your name?' }), { text: 'Hello Ada' }], {
      tools: ['ask_user'],
    });
    const run = agent.run('go', { threadId: 'p' });
    const events = await eventsOf(run);
    expect(resultsOf(events)).toEqual([]);
    const { status, reason, interrupts = [], usage } = await run.result;
    expect({ status, reason }).toEqual({ status: 'interrupted', reason: 'waiting_for_human' });
    expect(interrupts).toMatchObject([
      { reason: 'input_required', message: 'Your name?', toolCallId: 'q1' },
    ]);
    expect(usage).toMatchObject({ humanInteraction: { promptRequests: 1 } });
    const next = await run.resume({ value: 'Ada' });
    const more = await eventsOf(next);
    expect(resultsOf(more)).toEqual(['Ada']);
    expect(await next.text()).toBe('Hello Ada');
    expect(model.asked[1]?.messages.at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 'q1',
      content: 'Ada',
    });
    const again = await agent.run([], {
      threadId: 'p',
      resume: [{ interruptId: interrupts[0]?.id ?? '', status: 'resolved', payload: { value: 1 } }],
    }).result;
    expect(again).toMatchObject({ status: 'error', error: { code: 'approval_answered' } });
  });

  it('is a choice, which takes one of its options', async () => {
    const agent = await agentOf([asked({ prompt: 'Colour?', options: colours }), { text: 'ok' }], {
      tools: ['ask_user'],
    });
    const run = agent.run('go');
    const { interrupts = [], usage } = await run.result;
    expect(interrupts).toMatchObject([
      { message: 'Colour?', metadata: { options: [{ label: 'Red' }, { label: 'b', value: 'b' }] } },
    ]);
    expect(usage).toMatchObject({ humanInteraction: { selectRequests: 1 } });
    const wrong = await (await run.resume({ value: 'green' })).result;
    expect(wrong).toMatchObject({ status: 'error', error: { code: 'invalid_argument' } });
    expect(await (await run.resume({ value: 'r' })).text()).toBe('ok');
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'r' });
  });

  it('may be one of several, after the other calls of its turn', async () => {
    const turn: Turn = {
      calls: [
        { id: 'q1', name: 'ask_user', args: { prompt: 'First?' } },
        { id: 'a1', name: 'add', args: { a: 1, b: 1 } },
        { id: 'q2', name: 'ask_user', args: { prompt: 'First?' } },
        { id: 'q3', name: 'ask_user', args: { nothing: true } },
      ],
    };
    const agent = await agentOf([turn, { text: 'done' }], { tools: ['ask_user', add] });
    const run = agent.run('go', { threadId: 's' });
    expect(resultsOf(await eventsOf(run))).toHaveLength(2);
    const first = (await run.result).interrupts ?? [];
    const second = await run.resume({ value: 'one' });
    const next = (await second.result).interrupts ?? [];
    expect(next).toHaveLength(1);
    expect(next[0]?.id).not.toBe(first[0]?.id);
    expect(model.asked).toHaveLength(1);
    expect(await (await second.resume({ value: ['two'] })).text()).toBe('done');
    const told = model.asked[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(told.map(({ tool_call_id: id }) => id)).toEqual(['q1', 'a1', 'q2', 'q3']);
    expect(told.map(({ content }) => content)).toEqual([
      'one',
      '2',
      '["two"]',
      expect.stringContaining('prompt'),
    ]);
  });

  it('comes through the handler, is bound to its thread, and may be left unanswered', async () => {
    const agent = await agentOf(
      (_body, index) => (index === 1 ? { text: 'fine' } : asked({ prompt: '?' })),
      {
        tools: ['ask_user'],
      },
    );
    const post = async (body: object): Promise<AGUIEvent[]> => {
      const request = new Request('http://localhost/', {
        method: 'POST',
        body: JSON.stringify({ runId: 'r', messages: [], ...body }),
      });
      const text = await (await agent.handler(request)).text();
      return [...text.matchAll(/^data: (.*)$/gm)].map(
        ([, data]) => JSON.parse(data ?? '') as AGUIEvent,
      );
    };
    const user = [{ id: 'u', role: 'user', content: 'go' }];
    const last = (events: AGUIEvent[]) => events.at(-1) as unknown as Record<string, unknown>;
    const ids = async (threadId: string): Promise<string> => {
      const end = last(await post({ threadId, messages: user }));
      expect(end).toMatchObject({ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } });
      return (end as { outcome: { interrupts: { id: string }[] } }).outcome.interrupts[0]?.id ?? '';
    };
    const mine = await ids('mine');
    const answer = (interruptId: string, more: object = { payload: { value: 'yes' } }) => [
      { interruptId, status: 'resolved', ...more },
    ];
    expect(last(await post({ threadId: 'other', resume: answer(mine) }))).toMatchObject({
      type: 'RUN_ERROR',
      code: 'approval_mismatch',
    });
    expect(resultsOf(await post({ threadId: 'mine', resume: answer(mine) }))).toEqual(['yes']);
    const third = await ids('third');
    expect(last(await post({ threadId: 'third', resume: answer(mine) }))).toMatchObject({
      code: 'approval_answered',
    });
    const left = [{ interruptId: third, status: 'cancelled' }];
    expect(last(await post({ threadId: 'third', resume: left }))).toMatchObject({
      type: 'RUN_FINISHED',
    });
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

describe('a tool of the client', () => {
  const look = { name: 'look', description: 'Looks.', parameters: { type: 'object' } };

  it('is called without a result, which comes as a message', async () => {
    const agent = await agentOf([call('look'), { text: 'I saw it' }], { tools: [add] });
    const first = agent.run('look', { threadId: 't', clientTools: [look] });
    const events = await eventsOf(first);
    expect(typesOf(events)).not.toContain('TOOL_CALL_RESULT');
    expect(await first.result).toMatchObject({ status: 'delegated' });
    const second = agent.run(
      [
        { id: 'u', role: 'user', content: 'look' },
        {
          id: 'a',
          role: 'assistant',
          content: '',
          toolCalls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
        },
        { id: 'r', role: 'tool', toolCallId: 'c1', content: 'a house' },
      ],
      { threadId: 't', clientTools: [look] },
    );
    expect(await second.text()).toBe('I saw it');
    expect(model.asked[1]?.messages.at(-1)).toMatchObject({ role: 'tool', content: 'a house' });
  });

  it('comes before a question of the same turn', async () => {
    const sent: string[] = [];
    const agent = await agentOf(
      [
        {
          calls: [
            { id: 'c1', name: 'look' },
            { id: 'c2', name: 'send_mail', args: { to: 'ada' } },
          ],
        },
        { text: 'done' },
      ],
      { tools: [mail(sent)] },
    );
    const options = { threadId: 't', clientTools: [look] };
    const first = agent.run('go', options);
    // The client waits for its own call alone.
    expect((await eventsOf(first)).at(-1)).toMatchObject({
      type: 'RUN_FINISHED',
      outcome: { type: 'success', pendingToolCallIds: ['c1'] },
    });
    expect(await first.result).toMatchObject({ status: 'delegated' });
    const asks = agent.run(
      [{ id: 'r', role: 'tool', toolCallId: 'c1', content: 'a house' }],
      options,
    );
    expect(await asks.result).toMatchObject({ status: 'interrupted' });
    expect(await (await asks.resume(true)).text()).toBe('done');
    expect(sent).toEqual(['ada']);
    const rows = model.asked[1]?.messages.filter(({ role }) => role === 'tool');
    expect(rows?.map(({ content }) => content)).toEqual(['a house', 'sent to ada']);
  });
});

describe('stop', () => {
  it('reaches the connection of the model', async () => {
    const agent = await agentOf([{ text: 'never', hang: true }]);
    const run = agent.run('go');
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    // The last reader left.
    await model.calls[0]?.closed;
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    await expect(run.text()).rejects.toMatchObject({ code: 'cancelled' });
    const events = await eventsOf(run);
    expect(typesOf(events).slice(-4)).toEqual([
      'TEXT_MESSAGE_END',
      'STEP_FINISHED',
      'CUSTOM',
      'RUN_FINISHED',
    ]);
    expect(events.at(-1)).toMatchObject({ outcome: { type: 'cancelled' } });
  });

  it('reaches every tool, at all depths, and what they answer later is ignored', async () => {
    let aborted = 0;
    let begun: () => void = () => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const wait = tool({
      name: 'wait',
      run: async (_input, { signal, progress }) => {
        begun();
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        aborted += 1;
        progress('late');
        return 'late';
      },
    });
    model = await startModel((body) => {
      const depth = JSON.stringify(body).includes('deeper') ? 'wait' : 'helper';
      return call(depth, { task: 'deeper' });
    });
    const provider = { baseURL: model.url, apiKey: 'k' };
    const inner = createAgent({ model: 'openai:m', provider, tools: [wait] });
    const agent = createAgent({
      model: 'openai:m',
      provider,
      agents: [{ name: 'helper', description: 'Helps.', agent: inner }],
    });
    const controller = new AbortController();
    const run = agent.run('go', { signal: controller.signal });
    await running;
    controller.abort(new Error('enough'));
    expect(await run.result).toMatchObject({ status: 'cancelled' });
    await expect(run.text()).rejects.toThrow('enough');
    expect(aborted).toBe(1);
  });
});

describe('another agent', () => {
  const pair = async (
    turns: (task: string) => Turn,
    more: object = {},
    tools: HostTool[] = [],
    own: object = {},
  ) => {
    model = await startModel((body) => {
      const rows = body.messages;
      const isChild = rows.some(({ content }) => content === 'You help.');
      if (isChild) return turns(JSON.stringify(rows.at(-1)?.content));
      const last = rows.at(-1);
      return last?.role === 'tool'
        ? { text: `told: ${String(last.content)}` }
        : call('helper', { task: 'sum up' });
    });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const helper = createAgent({
      model: 'openai:m',
      provider,
      instructions: 'You help.',
      tools,
      ...own,
    });
    return createAgent({
      model: 'openai:m',
      provider,
      agents: [{ name: 'helper', description: 'Helps.', agent: helper, ...more }],
    });
  };

  it('has a history of its own, and its usage is the run’s', async () => {
    const agent = await pair(() => ({ text: 'all is well' }));
    const run = agent.run('hello');
    const events = await eventsOf(run);
    const { text, usage } = await run.result;
    expect(text).toBe('told: all is well');
    expect(usage?.llm).toMatchObject({ apiCalls: 3, tokens: { total: 45 } });
    const child = model.asked.find(({ messages }) => messages[0]?.content === 'You help.');
    expect(child?.messages.map(({ content }) => content)).toEqual(['You help.', 'sum up']);
    const types = typesOf(events);
    expect(types.filter((type) => type.startsWith('SUBAGENT'))).toEqual([
      'SUBAGENT_STARTED',
      'SUBAGENT_FINISHED',
    ]);
    const texts = events.filter((e) => e.type === 'TEXT_MESSAGE_START' && 'subagentRunId' in e);
    expect(texts).toHaveLength(1);
  });

  it('that ends without an answer tells why', async () => {
    const look = tool({ name: 'look', description: 'Looks.', run: () => 'seen' });
    const agent = await pair(() => call('look', {}), {}, [look], { limits: { maxTokens: 1 } });
    expect((await agent.run('hello').result).text).toMatch(
      /told: .*helper ended without an answer: /,
    );
  });

  it('may inherit the conversation', async () => {
    const agent = await pair(() => ({ text: 'ok' }), { inheritMessages: true });
    await agent.run('hello').result;
    const child = model.asked.find(({ messages }) => messages[0]?.content === 'You help.');
    expect(child?.messages.map(({ content }) => content)).toContain('hello');
  });

  it('that fails or takes too long is a result', async () => {
    const slow = await pair(() => ({ text: 'x', hang: true }), { timeoutMs: 100 });
    expect((await slow.run('hello').result).text).toMatch(/did not end within 100 ms/);
  });

  it('asks through the run that called it', async () => {
    const sent: string[] = [];
    const agent = await pair(
      (last) =>
        last.includes('sent to') ? { text: 'mailed' } : call('send_mail', { to: 'ada' }, 'm1'),
      {},
      [mail(sent)],
    );
    const run = agent.run('hello');
    const { status, interrupts } = await run.result;
    expect(status).toBe('interrupted');
    expect(interrupts?.[0]).toMatchObject({ toolCallId: 'm1', subagentRunId: expect.any(String) });
    const wrong = await run.resume({ approved: true, editedArgs: { to: 7 } });
    expect(await wrong.result).toMatchObject({
      status: 'error',
      error: { code: 'invalid_argument' },
    });
    const next = await run.resume({ approved: true, editedArgs: { to: 'eve' } });
    expect((await next.result).text).toBe('told: mailed');
    expect(sent).toEqual(['eve']);
  });

  it('may share the definition of a tool', () => {
    const definition = { name: 'add', run: () => 5 };
    const pairOf = (other: HostTool) => () =>
      createAgent({
        model: 'demo:demo',
        tools: [tool(definition)],
        agents: [
          {
            name: 'sub',
            description: 'Sub.',
            agent: createAgent({ model: 'demo:demo', tools: [other] }),
          },
        ],
      });
    expect(pairOf(tool(definition))).not.toThrow();
    expect(pairOf(tool({ ...definition, run: () => 6 }))).toThrow(
      expect.objectContaining({ code: 'invalid_option' }),
    );
  });

  it('may be nested four deep, not deeper', async () => {
    model = await startModel([{ text: 'ok' }]);
    const provider = { baseURL: model.url, apiKey: 'k' };
    const deeper = (depth: number): ReturnType<typeof createAgent> =>
      createAgent({
        model: 'openai:m',
        provider,
        ...(depth > 1 && {
          agents: [{ name: 'sub', description: 'Sub.', agent: deeper(depth - 1) }],
        }),
      });
    expect(() => deeper(4)).not.toThrow();
    expect(() => deeper(5)).toThrow(/4 deep/);
  });
});

describe('a saved step', () => {
  it('goes on as the run would have', async () => {
    const script = [
      call('add', { a: 1, b: 2 }, 'c1'),
      call('send_mail', { to: 'ada' }, 'c2'),
      { text: 'all done' },
    ];
    const answer = (body: ScriptedModel['asked'][number]) =>
      script[body.messages.filter(({ role }) => role === 'tool').length] as Turn;
    const options = { tools: [add, mail([])], approve: 'never' as const };
    const agent = await agentOf(answer, options);
    const saved: SavedRun[] = [];
    const whole = await eventsOf(agent.run('go', { threadId: 't', onStep: (s) => saved.push(s) }));
    expect(saved.length).toBeGreaterThan(4);
    const told = (events: AGUIEvent[]) =>
      events.flatMap((e) =>
        'delta' in e ? [e.delta] : e.type === 'TOOL_CALL_RESULT' ? [e.content] : [],
      );
    for (const one of saved.filter(({ context }) => context !== null)) {
      const text = JSON.stringify(one);
      const rest = await eventsOf(agent.continue(JSON.parse(text) as SavedRun, { threadId: 't' }));
      expect(told(whole).join('').endsWith(told(rest).join(''))).toBe(true);
      expect(rest.at(-1)).toMatchObject({ type: 'RUN_FINISHED', result: { reason: 'completed' } });
    }
  });

  it('goes on in a fresh process, from every boundary', async () => {
    const script = [
      call('add', { a: 1, b: 2 }, 'c1'),
      {
        calls: [
          { id: 'c2', name: 'add', args: { a: 3, b: 4 } },
          { id: 'c3', name: 'nothing', args: {} },
        ],
      },
      { text: 'all done' },
    ];
    const answer = (body: ScriptedModel['asked'][number]) =>
      script[Math.min(2, body.messages.filter(({ role }) => role === 'assistant').length)] as Turn;
    const agent = await agentOf(answer, { tools: [add] });
    const saved: SavedRun[] = [];
    const run = agent.run('go', { threadId: 't', onStep: (one) => saved.push(one) });
    const whole = await eventsOf(run);
    expect(saved.length).toBeGreaterThan(4);
    // What a reader is shown, from the last event of the run backwards.
    const shown = (events: AGUIEvent[]) =>
      events
        .filter(({ type }) => !['RUN_STARTED', 'CUSTOM'].includes(type))
        .map((event) => {
          const { type, stepName, delta, toolCallId, content, outcome, result } =
            event as never as Record<string, unknown>;
          return JSON.stringify({ type, stepName, delta, toolCallId, content, outcome, result });
        });
    const fixture = join(__dirname, '../fixtures/agent-continue.cjs');
    const goOn = (one: SavedRun) =>
      new Promise<AGUIEvent[]>((resolve, reject) => {
        const child = execFile(
          process.execPath,
          [fixture, model.url],
          { timeout: 30_000 },
          (error, stdout) =>
            error ? reject(new Error(error.message)) : resolve(JSON.parse(stdout) as AGUIEvent[]),
        );
        child.stdin?.end(JSON.stringify(one));
      });
    const told = shown(whole);
    for (const one of saved.filter(({ context }) => context !== null)) {
      const events = shown(await goOn(one));
      // A turn that was open is told to the new readers, too.
      const { open } = one.state['modelStep'] as { open: boolean };
      if (open) expect(events[0]).toContain('STEP_STARTED');
      const rest = events.slice(open ? 1 : 0);
      expect(rest).toEqual(told.slice(told.length - rest.length));
    }
  }, 60_000);

  it('that waits for a person can be answered', async () => {
    const sent: string[] = [];
    const agent = await agentOf([call('send_mail', { to: 'ada' }), { text: 'done' }], {
      tools: [mail(sent)],
    });
    const run = agent.run('go', { saves: true });
    const saved = (await run.state) as SavedRun;
    const id = (await run.result).interrupts?.[0]?.id ?? '';
    const next = agent.continue(JSON.parse(JSON.stringify(saved)) as SavedRun, {
      resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }],
    });
    expect(await next.text()).toBe('done');
    expect(sent).toEqual(['ada']);
  });
});

describe('sendMessage', () => {
  it('stores the question and an empty answer first, and the whole at the end', async () => {
    const agent = await agentOf([call('add', { a: 1, b: 2 }), { text: 'three' }], { tools: [add] });
    const storage = inMemoryStorage();
    const finished = jest.fn();
    const sent = await agent.sendMessage({ storage, message: '1 + 2?', onFinish: finished });
    const first = await storage.thread.getMessages(sent.threadId);
    expect(first).toMatchObject([
      { role: 'user', content: '1 + 2?' },
      { id: sent.placeholderId, role: 'assistant', content: '' },
    ]);
    await sent.finished;
    const stored = await storage.thread.getMessages(sent.threadId);
    expect(stored.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect(finished).toHaveBeenCalledWith(
      expect.objectContaining({
        messages: stored,
        result: expect.objectContaining({ text: 'three' }),
      }),
    );
    const more = await agent.sendMessage({ storage, threadId: sent.threadId, message: 'thanks' });
    await more.finished;
    expect(await storage.thread.getMessages(sent.threadId)).toHaveLength(6);
    // The empty answer became the answer.
    expect(stored[1]).toMatchObject({ id: sent.placeholderId, role: 'assistant' });
  });

  it('answers messages of one thread one after the other', async () => {
    const agent = await agentOf([{ text: 'first' }, { text: 'second' }]);
    const storage = inMemoryStorage();
    const { id: threadId } = await storage.thread.createThread({
      id: 'u',
      role: 'user',
      content: '',
    });
    await storage.thread.setMessages(threadId, []);
    const sent = await Promise.all(
      ['one', 'two'].map((message) => agent.sendMessage({ storage, threadId, message })),
    );
    await Promise.all(sent.map(({ finished }) => finished));
    const rows = await storage.thread.getMessages(threadId);
    expect(rows.map(({ content }) => content)).toEqual(['one', 'first', 'two', 'second']);
  });

  it('marks an answer that was cut', async () => {
    const agent = await agentOf([{ text: 'half', hang: true }]);
    const storage = inMemoryStorage();
    const { run, finished } = await agent.sendMessage({ storage, message: 'x' });
    for await (const { type } of run) if (type === 'TEXT_MESSAGE_CONTENT') run.stop();
    expect((await finished).messages.at(-1)).toMatchObject({
      content: expect.stringMatching(/^ha/),
      metadata: { interruptedMidStream: true },
    });
  });

  it('keeps no message that no run can read', async () => {
    const agent = await agentOf([{ text: 'first' }, { text: 'second' }]);
    const storage = inMemoryStorage();
    const { threadId, finished } = await agent.sendMessage({ storage, message: 'one' });
    await finished;
    const kept = await storage.thread.getMessages(threadId);
    const unread = { id: 'u', role: 'user', content: [{ type: 'nothing known' }] } as never;
    await expect(agent.sendMessage({ storage, threadId, message: unread })).rejects.toMatchObject({
      code: 'invalid_messages',
    });
    expect(await storage.thread.getMessages(threadId)).toEqual(kept);
    const misspelt = { storage, threadId, message: 'x', sigal: 1 } as never;
    await expect(agent.sendMessage(misspelt)).rejects.toThrow("no member 'sigal'");
    expect(await storage.thread.getMessages(threadId)).toEqual(kept);
    const again = await agent.sendMessage({ storage, threadId, message: 'two' });
    await again.finished;
    expect(await storage.thread.getMessages(threadId)).toHaveLength(4);
  });

  it('says what a storage needs', async () => {
    const agent = await agentOf([]);
    for (const given of [undefined, 'x', { message: 'x' }, { storage: {}, message: 'x' }]) {
      await expect(agent.sendMessage(given as never)).rejects.toMatchObject({
        code: 'invalid_option',
        message: expect.stringContaining('thread.setMessages'),
      });
    }
  });
});

describe('an environment that ends while tools run', () => {
  const play = (scene: string) =>
    new Promise<{ code: number | null; signal: string | null; output: string }>((resolve) => {
      const fixture = join(__dirname, '../fixtures/agent-teardown.cjs');
      const child = execFile(
        process.execPath,
        [fixture, scene, model.url],
        { timeout: 30_000 },
        (_error, stdout, stderr) =>
          resolve({ code: child.exitCode, signal: child.signalCode, output: stdout + stderr }),
      );
    });

  it.each([
    ['exit', 7, ''],
    ['terminate', 0, 'terminated'],
  ])('by "%s" leaves nothing behind', async (scene, code, output) => {
    model = await startModel(() => call('wait'));
    expect(await play(scene)).toEqual({ code, signal: null, output });
  });
});

describe('createAgent', () => {
  const run = () => 1;
  it.each([
    [{}, /needs a model/],
    [{ model: 'nonsense' }, /provider:model/],
    [{ model: 'openai:m', tools: [{ name: 'x' }] }, /function `run`/],
    [{ model: 'openai:m', tools: ['no_such_tool'] }, /no_such_tool/],
    [{ model: 'openai:m', approve: 'maybe' }, /approve/],
    [{ model: 'acme:m' }, /no model provider "acme".*with `baseURL`/],
    [{ model: 'openai:m', agents: {} }, /agents must be a list/],
    [{ model: 'openai:m', agents: [{ name: 'a', agent: {} }] }, /agents\[0\].agent must be/],
    [{ model: 'openai:m', agents: [{ inheritMessage: true }] }, /no member 'inheritMessage'/],
    [{ model: 'openai:m', tools: [{ name: 'x', input: 5, run }] }, /`input` must be/],
    [
      { model: 'openai:m', tools: [{ name: 'x', input: { type: 'string' }, run }] },
      /must have the type object, not 'string'/,
    ],
    [{ model: 'openai:m', tools: [{ name: 'x', effect: 'reed', run }] }, /`effect` must be one of/],
  ])('refuses %j', async (options, expected) => {
    model = await startModel([]);
    expect(() =>
      createAgent({ provider: { apiKey: 'k' }, ...options } as Parameters<typeof createAgent>[0]),
    ).toThrow(expected);
  });
});
