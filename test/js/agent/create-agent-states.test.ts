// createAgent: checkpoints, sendMessage, the end of an environment, options.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { AGUIEvent, RunCheckpoint } from 'millrace';
import { createAgent, inMemoryStorage } from 'millrace';
import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { model, useModel, agentOf, eventsOf, add, call, mail } from '../../support/agents';

describe('a saved step', () => {
  it('goes on as the run would have', async () => {
    const script = [
      call('add', { a: 1, b: 2 }, 'c1'),
      call('send_mail', { to: 'ada' }, 'c2'),
      { text: 'all done' },
    ];
    const answer = (body: ScriptedModel['asked'][number]) =>
      script[body.messages.filter(({ role }) => role === 'tool').length] as Turn;
    const options = { tools: [add, mail([])], approval: 'never' as const };
    const agent = await agentOf(answer, options);
    const saved: RunCheckpoint[] = [];
    const whole = await eventsOf(
      agent.run('go', { threadId: 't', onCheckpoint: (s) => saved.push(s) }),
    );
    expect(saved.length).toBeGreaterThan(4);
    const reported = (events: AGUIEvent[]) =>
      events.flatMap((e) =>
        'delta' in e ? [e.delta] : e.type === 'TOOL_CALL_RESULT' ? [e.content] : [],
      );
    for (const one of saved.filter(({ context }) => context !== null)) {
      const text = JSON.stringify(one);
      const rest = await eventsOf(
        agent.continue(JSON.parse(text) as RunCheckpoint, { threadId: 't' }),
      );
      expect(reported(whole).join('').endsWith(reported(rest).join(''))).toBe(true);
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
    const saved: RunCheckpoint[] = [];
    const run = agent.run('go', { threadId: 't', onCheckpoint: (one) => saved.push(one) });
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
    const goOn = (one: RunCheckpoint) =>
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
    const reported = shown(whole);
    for (const one of saved.filter(({ context }) => context !== null)) {
      const events = shown(await goOn(one));
      // A turn that was open is told to the new readers, too.
      const { open } = one.state['modelStep'] as { open: boolean };
      if (open) expect(events[0]).toContain('STEP_STARTED');
      const rest = events.slice(open ? 1 : 0);
      expect(rest).toEqual(reported.slice(reported.length - rest.length));
    }
  }, 60_000);

  it('that waits for a person can be answered', async () => {
    const sent: string[] = [];
    const agent = await agentOf([call('send_mail', { to: 'ada' }), { text: 'done' }], {
      tools: [mail(sent)],
    });
    const run = agent.run('go', { checkpoint: true });
    const saved = (await run.state) as RunCheckpoint;
    const id = (await run.result).interrupts?.[0]?.id ?? '';
    const next = agent.continue(JSON.parse(JSON.stringify(saved)) as RunCheckpoint, {
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
    const retained = await storage.thread.getMessages(threadId);
    const unread = { id: 'u', role: 'user', content: [{ type: 'nothing known' }] } as never;
    await expect(agent.sendMessage({ storage, threadId, message: unread })).rejects.toMatchObject({
      code: 'invalid_messages',
    });
    expect(await storage.thread.getMessages(threadId)).toEqual(retained);
    const misspelt = { storage, threadId, message: 'x', sigal: 1 } as never;
    await expect(agent.sendMessage(misspelt)).rejects.toThrow("no member 'sigal'");
    expect(await storage.thread.getMessages(threadId)).toEqual(retained);
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
    await useModel(() => call('wait'));
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
    [{ model: 'openai:m', approval: 'maybe' }, /approval/],
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
    await useModel([]);
    expect(() =>
      createAgent({ provider: { apiKey: 'k' }, ...options } as Parameters<typeof createAgent>[0]),
    ).toThrow(expected);
  });
});
