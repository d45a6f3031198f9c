// Runs that ask more than one thing: answers that come while another one's call works, expire then, or stand beside
// results of the client's own tools.
import { createAgent, createRuntime, type Runtime, tool } from 'millrace';

import { startModel, type Turn } from '../../support/scripted-model';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = Record<string, any>;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A tool that waits for approval, and then for `release`. */
function slowTool() {
  const made: string[] = [];
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const pay = tool<{ to: string }>({
    name: 'pay',
    input: { type: 'object', properties: { to: { type: 'string' } } },
    approval: true,
    run: async ({ to }) => {
      made.push(to);
      await released;
      return `paid ${to}`;
    },
  });
  return { pay, made, release: () => release() };
}

const calls = (...names: string[]): Turn => ({
  calls: names.map((name, at) => ({ id: `c${at}`, name, args: { to: `${name}${at}` } })),
});

async function agentWith(script: Turn[], options: object, runtime?: Runtime) {
  const model = await startModel(script);
  open.push(model);
  const durable = runtime && { runtime, name: 'payer', authorize: () => ({ principal: 'p' }) };
  const provider = { apiKey: 'k', baseURL: model.url, maxRetries: 0 };
  return { model, agent: createAgent({ model: 'openai:m', provider, ...options, ...durable }) };
}

function runtimeOf(): Runtime {
  const runtime = createRuntime({ storage: 'memory' });
  open.push(runtime);
  return runtime;
}

async function openApprovals(runtime: Runtime, count: number) {
  for (;;) {
    const list = await runtime.approvals.list();
    if (list.length === count) return list;
    await pause(5);
  }
}

async function ended(runtime: Runtime, id: string): Promise<string> {
  for (;;) {
    const state = (await runtime.get(id))?.state ?? '';
    if (['completed', 'failed', 'cancelled'].includes(state)) return state;
    await pause(5);
  }
}

describe('a run with two open approvals', () => {
  it('takes the second answer once the call of the first one is made', async () => {
    const runtime = runtimeOf();
    const { pay, made, release } = slowTool();
    const { model } = await agentWith(
      [calls('pay', 'pay'), { text: 'Paid.' }],
      { tools: [pay] },
      runtime,
    );
    const { id } = await runtime.start('payer', 'Pay both.');
    const [first, second] = await openApprovals(runtime, 2);
    const both = [first, second].map((one) =>
      runtime.approvals.decide(one?.id as string, { approved: true }),
    );
    while (made.length === 0) await pause(5);
    release();
    await Promise.all(both);
    expect(await ended(runtime, id)).toBe('completed');
    expect(made.sort()).toEqual(['pay0', 'pay1']);
    expect(model.calls).toHaveLength(2);
  });

  it('goes on when one expires while the call of the other one works', async () => {
    const runtime = runtimeOf();
    const { pay, made, release } = slowTool();
    const { model } = await agentWith(
      [calls('pay', 'pay'), { text: 'Paid one.' }],
      { tools: [pay], approvalTimeoutMs: 400 },
      runtime,
    );
    const { id } = await runtime.start('payer', 'Pay both.');
    const [first] = await openApprovals(runtime, 2);
    await runtime.approvals.decide(first?.id as string, { approved: true });
    await openApprovals(runtime, 0);
    release();
    expect(await ended(runtime, id)).toBe('completed');
    expect(made).toHaveLength(1);
    expect(model.calls).toHaveLength(2);
    // It was taken over once for each answer.
    expect((await runtime.get(id))?.lastSeq).toBeLessThan(100);
  });
});

const eventsOf = (text: string): Json[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map((found) => JSON.parse(found[1] as string) as Json);

/** Sends requests of one thread to an agent's handler, and keeps what a client does. */
function clientOf(agent: { handler(request: Request): Promise<Response> }, tools: object[]) {
  let count = 0;
  return async (body: Json): Promise<Json[]> => {
    count += 1;
    const whole = { threadId: 't', runId: `r${count}`, messages: [], tools, ...body };
    const request = new Request('http://localhost/agent', {
      method: 'POST',
      body: JSON.stringify(whole),
    });
    const response = await agent.handler(request);
    const text = await response.text();
    return response.status === 200 ? eventsOf(text) : [{ status: response.status, text }];
  };
}

const question = { id: 'u', role: 'user', content: 'go' };
const clientTools = [{ name: 'look', description: 'l', parameters: { type: 'object' } }];
const resultOf = (toolCallId: string): Json => ({
  ...{ id: `result-${toolCallId}`, role: 'tool', toolCallId, content: 'seen' },
});
const assistantOf = (events: Json[], pattern: RegExp): Json => ({
  ...{ id: 'a', role: 'assistant' },
  toolCalls: events
    .filter((event) => event['type'] === 'TOOL_CALL_START' && pattern.test(event['toolCallName']))
    .map(({ toolCallId, toolCallName }) => ({
      ...{ id: toolCallId, type: 'function', function: { name: toolCallName, arguments: '{}' } },
    })),
});
const approve = (events: Json[]): Json[] =>
  (events.at(-1)?.['outcome']?.interrupts ?? []).map(({ id }: Json) => ({
    ...{ interruptId: id, status: 'resolved', payload: { approved: true } },
  }));

describe.each(['without a runtime', 'with a runtime'])('%s, an approval', (how) => {
  const runtime = () => (how === 'with a runtime' ? runtimeOf() : undefined);

  it('is requested behind the result of a client tool of the same answer', async () => {
    const { pay, made, release } = slowTool();
    release();
    const script = [calls('pay', 'look'), { text: 'Done.' }];
    const { agent, model } = await agentWith(script, { tools: [pay] }, runtime());
    const send = clientOf(agent, clientTools);
    const first = await send({ messages: [question] });
    expect(first.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    const history = [question, assistantOf(first, /./), resultOf('c1')];
    const second = await send({ messages: history });
    expect(second.at(-1)?.['outcome']).toMatchObject({ type: 'interrupt' });
    expect(made).toEqual([]);
    const third = await send({ resume: approve(second) });
    expect(third.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(made).toEqual(['pay0']);
    expect(model.calls).toHaveLength(2);
  });

  it('of a sub-agent stays open beside the result of a client tool', async () => {
    const { pay, made, release } = slowTool();
    release();
    const inner = await agentWith([calls('pay'), { text: 'Inner.' }], { tools: [pay] });
    const agents = [{ name: 'helper', description: 'h', agent: inner.agent }];
    const script = [
      {
        calls: [
          { id: 'h', name: 'helper', args: { task: 'Pay.' } },
          { id: 'l', name: 'look', args: {} },
        ],
      },
      { text: 'Done.' },
    ];
    const { agent } = await agentWith(script, { agents }, runtime());
    const send = clientOf(agent, clientTools);
    const first = await send({ messages: [question] });
    const history = [question, assistantOf(first, /helper|look/), resultOf('l')];
    const second = await send({ messages: history });
    expect(second.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    const source = approve(second).length > 0 ? second : first;
    const third = await send({ messages: history, resume: approve(source) });
    expect(third.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(made).toEqual(['pay0']);
  });

  it('is given beside an answer to an unknown interrupt, with a warning', async () => {
    const { pay, made, release } = slowTool();
    release();
    const script = [calls('pay'), { text: 'Done.' }];
    const { agent } = await agentWith(script, { tools: [pay] }, runtime());
    const send = clientOf(agent, []);
    const first = await send({ messages: [question] });
    const other = { interruptId: 'zz', status: 'resolved', payload: { approved: true } };
    const second = await send({ resume: [other, ...approve(first)] });
    expect(second.filter(({ name }) => name === 'millrace.warning')).toHaveLength(1);
    expect(second.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(made).toEqual(['pay0']);
  });
});

/** A turn whose model asks the user beside calls. */
const asking = (args: object, ...names: string[]): Turn => ({
  calls: [
    { id: 'q', name: 'ask_user', args },
    ...names.map((name) => ({ id: `of-${name}`, name, args: {} })),
  ],
});
const answerWith = (events: Json[], value: string): Json[] =>
  (events.at(-1)?.['outcome']?.interrupts ?? []).map(({ id }: Json) => ({
    ...{ interruptId: id, status: 'resolved', payload: { value } },
  }));

describe.each(['without a runtime', 'with a runtime'])('%s, a question of the model', (how) => {
  const runtime = () => (how === 'with a runtime' ? runtimeOf() : undefined);

  it.each([
    ['a text', { prompt: 'Where to?' }],
    ['a choice', { prompt: 'Where to?', options: [{ value: 'north' }, { value: 'south' }] }],
  ])('is asked behind the result of a client tool of the same answer: %s', async (_, args) => {
    const script = [asking(args, 'look'), { text: 'Done.' }];
    const { agent, model } = await agentWith(script, { tools: ['ask_user'] }, runtime());
    const send = clientOf(agent, clientTools);
    const first = await send({ messages: [question] });
    const history = [question, assistantOf(first, /./), resultOf('of-look')];
    const second = await send({ messages: history });
    expect(second.at(-1)?.['outcome']).toMatchObject({
      type: 'interrupt',
      interrupts: [{ reason: 'input_required', message: 'Where to?' }],
    });
    const third = await send({ resume: answerWith(second, 'north') });
    expect(third.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(model.calls).toHaveLength(2);
    const results = (model.chatBodies[1]?.messages ?? []).filter(({ role }) => role === 'tool');
    const contents = Object.fromEntries(
      results.map(({ tool_call_id: id, content }: Json) => [id, content]),
    );
    expect(contents).toEqual({ q: 'north', 'of-look': 'seen' });
  });

  it('is asked behind an approval of the same answer, too', async () => {
    const { pay, made, release } = slowTool();
    release();
    const script = [asking({ prompt: 'Where to?' }, 'pay', 'look'), { text: 'Done.' }];
    const { agent, model } = await agentWith(script, { tools: [pay, 'ask_user'] }, runtime());
    const send = clientOf(agent, clientTools);
    const first = await send({ messages: [question] });
    const history = [question, assistantOf(first, /./), resultOf('of-look')];
    const second = await send({ messages: history });
    const third = await send({ resume: approve(second) });
    expect(made).toHaveLength(1);
    const fourth = await send({ resume: answerWith(third, 'north') });
    expect(fourth.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(model.calls).toHaveLength(2);
  });

  it('is left by a new message', async () => {
    const script = [asking({ prompt: 'Where to?' }, 'look'), { text: 'As you like.' }];
    const { agent, model } = await agentWith(script, { tools: ['ask_user'] }, runtime());
    const send = clientOf(agent, clientTools);
    const first = await send({ messages: [question] });
    const other = { id: 'u2', role: 'user', content: 'Never mind.' };
    const second = await send({ messages: [question, assistantOf(first, /./), other] });
    expect(second.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
    expect(second.at(-1)?.['outcome']?.type).not.toBe('interrupt');
    expect(model.calls).toHaveLength(2);
  });
});

it('waits for its client as long as for an approval, and says so', async () => {
  const runtime = runtimeOf();
  const script = [asking({ prompt: 'Where to?' }, 'look'), { text: 'Done.' }];
  const { agent } = await agentWith(
    script,
    { tools: ['ask_user'], approvalTimeoutMs: 300 },
    runtime,
  );
  await clientOf(agent, clientTools)({ messages: [question] });
  const [run] = (await runtime.list()).runs;
  expect(run).toMatchObject({
    state: 'waiting',
    waitsFor: { reason: 'client', until: expect.any(Number) as number },
  });
  const [open] = await openApprovals(runtime, 1);
  expect(open).toMatchObject({ kind: 'prompt', toolCallId: 'q' });
  const id = run?.id as string;
  await runtime.approvals.decide(open?.id as string, { value: 'north' });
  expect(await ended(runtime, id)).toBe('completed');
});
