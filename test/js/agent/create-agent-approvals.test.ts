// createAgent: approvals and the model's questions to the user.
import type { AGUIEvent, ApprovalPolicy, HostTool } from 'millrace';
import { createAgent, tool } from 'millrace';
import type { Turn } from '../../support/scripted-model';
import {
  model,
  agentOf,
  eventsOf,
  typesOf,
  resultsOf,
  add,
  call,
  mail,
} from '../../support/agents';

describe('a question to a person', () => {
  const requested = async (sent: string[] = [], turns: Turn[] = [{ text: 'done' }]) => {
    const agent = await agentOf([call('send_mail', { to: 'ada' }), ...turns], {
      tools: [mail(sent), add],
    });
    const run = agent.run('mail ada', { threadId: 't' });
    return { agent, run, events: await eventsOf(run), result: await run.result };
  };

  it('ends the run with an interrupt', async () => {
    const sent: string[] = [];
    const { events, result } = await requested(sent);
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
    const { agent, run, result } = await requested(sent);
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

  it('gets another interrupt where the tool has changed since', async () => {
    const sent: string[] = [];
    const { result } = await requested(sent);
    const first = result.interrupts?.[0]?.id ?? '';
    const changed = await agentOf([{ text: 'done' }], {
      tools: [mail(sent, { description: 'Sends mail to all.' }), add],
    });
    const answer = (interruptId: string) =>
      changed.run([], {
        threadId: 't',
        resume: [{ interruptId, status: 'resolved', payload: { approved: true } }],
      });
    const again = await answer(first).result;
    expect(again.status).toBe('interrupted');
    const [interrupt] = again.interrupts ?? [];
    expect(interrupt).toMatchObject({
      message: expect.stringContaining('has changed') as string,
      toolCallId: 'c1',
      metadata: { supersedes: first },
    });
    expect(sent).toEqual([]);
    expect((await answer(first).result).error).toMatchObject({ code: 'approval_answered' });
    expect(await answer(interrupt?.id ?? '').text()).toBe('done');
    expect(sent).toEqual(['ada']);
  });

  it('takes edited arguments, which are checked', async () => {
    const sent: string[] = [];
    const { run } = await requested(sent);
    await (
      await run.resume({ approved: true, editedArgs: { to: 'bob' } })
    ).result;
    expect(sent).toEqual(['bob']);
    const renamed = await requested(sent);
    const decision = { approved: true, editedArguments: { to: 'eve' } } as never;
    await (
      await renamed.run.resume(decision)
    ).result;
    expect(sent.splice(1)).toEqual(['eve']);
    const second = await requested(sent);
    const rejected = await second.run.resume({ approved: true, editedArgs: { to: 7 } });
    expect(await rejected.result).toMatchObject({
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
    const { run } = await requested(sent);
    const { status, error } = await (await run.resume(decision as never)).result;
    expect(status).toBe('error');
    expect(error?.message).toContain(message);
    expect(sent).toEqual([]);
  });

  it('runs nothing for a status that is none', async () => {
    const sent: string[] = [];
    const { agent, run } = await requested(sent);
    const { interrupts, threadId } = await run.result;
    const resume = [
      { interruptId: interrupts![0]!.id, status: 'done', payload: { approved: true } },
    ] as never;
    expect(() => agent.run([], { threadId, resume })).toThrow(/must be resolved or cancelled/);
    expect(sent).toEqual([]);
  });

  it('tells the model of a refusal', async () => {
    const sent: string[] = [];
    const { run } = await requested(sent);
    const events = await eventsOf(await run.resume({ approved: false, reason: 'too late' }));
    expect(resultsOf(events).join()).toMatch(/too late/);
    expect(JSON.stringify(model.asked[1]?.messages.at(-1))).toMatch(/too late/);
    expect(sent).toEqual([]);
  });

  it('cannot be answered by a client that makes something up', async () => {
    const sent: string[] = [];
    const { agent, result } = await requested(sent);
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
    const statusOf = async (approval: ApprovalPolicy, one: HostTool) => {
      const agent = await agentOf([call(one.name, { a: 1, b: 1, to: 'x' }), { text: 'ok' }], {
        tools: [one],
        approval,
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
        '`approval` must be tools, risky, always or never',
      );
    }
  });

  it.each([
    [{ needsApproval: true }, 'It is called `approval` here'],
    [{ requireApproval: true }, 'It is called `approval` here'],
    [{ humanIntervention: 'required' }, 'It is called `approval` here'],
    [{ approval: 'yes' }, '`approval` must be true, false'],
    [{ approval: 1 }, '`approval` must be true, false'],
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
    expect(() => agent.run('x', { onCheckpoint: 5 } as never)).toThrow(
      'onCheckpoint must be a function',
    );
    expect(() => agent.run('x', { abortSignal: 1 } as never)).toThrow('called `signal` here');
  });
});

describe('a question of the model', () => {
  const requested = (args: object, id = 'q1') => call('ask_user', args, id);
  const colours = [{ label: 'Red', value: 'r' }, { value: 'b' }];

  it('is a prompt, whose answer is the result of its call', async () => {
    const agent = await agentOf([requested({ prompt: 'Your name?' }), { text: 'Hello Ada' }], {
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
    const agent = await agentOf(
      [requested({ prompt: 'Colour?', options: colours }), { text: 'ok' }],
      {
        tools: ['ask_user'],
      },
    );
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
    const reported = model.asked[1]?.messages.filter(({ role }) => role === 'tool') ?? [];
    expect(reported.map(({ tool_call_id: id }) => id)).toEqual(['q1', 'a1', 'q2', 'q3']);
    expect(reported.map(({ content }) => content)).toEqual([
      'one',
      '2',
      '["two"]',
      expect.stringContaining('prompt'),
    ]);
  });

  it('comes through the handler, is bound to its thread, and may be left unanswered', async () => {
    const agent = await agentOf(
      (_body, index) => (index === 1 ? { text: 'fine' } : requested({ prompt: '?' })),
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
