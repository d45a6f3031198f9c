// Messages that are sent to a run at work: before the next request, at once, behind the last answer.
import { createAgent, tool } from 'millrace';

import { eventsOf, startModel } from '../../support/agents';
import type { ScriptedModel } from '../../support/scripted-model';
import { makeStore, startChild } from '../support/durable-child';
import { runtimeOf } from '../support/runtimes';

type Script = Parameters<typeof startModel>[0];
interface Sent {
  role: string;
  content?: unknown;
  tool_calls?: { id: string }[];
  tool_call_id?: string;
}

async function agentOf(kind: string, script: Script, options: object = {}) {
  const model = await startModel(script);
  const base = {
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    ...options,
  };
  if (kind === 'in memory') return { model, agent: createAgent(base), runtime: undefined };
  const runtime = runtimeOf();
  return { model, agent: createAgent({ ...base, runtime, name: 'helper' }), runtime };
}

const messagesOf = (model: ScriptedModel, at: number): Sent[] =>
  model.chatBodies[at]?.messages ?? [];
const shownOf = (messages: Sent[]) => messages.map(({ role, content }) => [role, content]);

// A tool that a test lets go on.
function gate() {
  let open: (value: string) => void = () => undefined;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const aborted: unknown[] = [];
  const wait = tool({
    name: 'wait',
    input: { type: 'object', properties: {} },
    run: (_input, { signal }) => {
      begin();
      signal.addEventListener('abort', () => aborted.push(signal.reason));
      return new Promise<string>((resolve) => (open = resolve));
    },
  });
  return { wait, begun, aborted, open: (value: string) => open(value) };
}

describe.each(['in memory', 'recorded'])('a message to a run at work, %s', (kind) => {
  it('enters before the next request to the model', async () => {
    const { wait, begun, open } = gate();
    const script = [{ calls: [{ id: 'c1', name: 'wait', args: {} }] }, { text: 'done' }];
    const { model, agent, runtime } = await agentOf(kind, script, { tools: [wait] });
    const run = agent.run('go', { threadId: 't' });
    const events = eventsOf(run);
    await begun;
    await run.send('in French');
    open('ready');
    expect(await run.text()).toBe('done');
    expect(shownOf(messagesOf(model, 1)).slice(-2)).toEqual([
      ['tool', 'ready'],
      ['user', 'in French'],
    ]);
    const stages = (await events).flatMap((one) =>
      one.type === 'CUSTOM' && one.name === 'millrace.stage' ? [one.value] : [],
    );
    expect(stages).toMatchObject([{ name: 'user_message', detail: { content: 'in French' } }]);
    if (!runtime) return;
    const rows = await runtime.storage({ principal: '' }).thread.getMessages('t');
    expect(rows.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'user',
      'assistant',
    ]);
  });

  it('is answered where the answer would have been the last', async () => {
    let end: () => void = () => undefined;
    const waits = new Promise<void>((resolve) => (end = resolve));
    const { model, agent } = await agentOf(kind, [{ text: 'first', waits }, { text: 'second' }]);
    const run = agent.run('go');
    const all = eventsOf(run);
    for await (const event of run) {
      if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
      await run.send('more');
      end();
      break;
    }
    const events = await all;
    expect(await run.text()).toBe('second');
    expect(shownOf(messagesOf(model, 1))).toEqual([
      ['user', 'go'],
      ['assistant', 'first'],
      ['user', 'more'],
    ]);
    expect(events.filter(({ type }) => type === 'RUN_FINISHED')).toHaveLength(1);
  });

  it('cuts the answer where it interrupts, and keeps what was shown', async () => {
    const script = [{ text: 'a b', hang: true }, { text: 'c' }];
    const { model, agent } = await agentOf(kind, script);
    const run = agent.run('go');
    const events = eventsOf(run);
    for await (const event of run) {
      if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
      await run.interrupt('stop that');
      break;
    }
    expect(await run.text()).toBe('c');
    const sent = shownOf(messagesOf(model, 1));
    expect(sent[0]).toEqual(['user', 'go']);
    expect(sent[1]?.[0]).toBe('assistant');
    expect('a b').toContain(String(sent[1]?.[1]).trim());
    expect(sent[2]).toEqual(['user', 'stop that']);
    const types = (await events).map(({ type }) => type);
    expect(types.filter((type) => type === 'TEXT_MESSAGE_END')).toHaveLength(2);
    expect(types.filter((type) => type === 'STEP_STARTED')).toHaveLength(2);
    expect(types.filter((type) => type === 'STEP_FINISHED')).toHaveLength(2);
  });

  it('aborts the calls at work where it interrupts, each with a result', async () => {
    const { wait, begun, aborted } = gate();
    const script = [{ calls: [{ id: 'c1', name: 'wait', args: {} }] }, { text: 'done' }];
    const { model, agent } = await agentOf(kind, script, { tools: [wait] });
    const run = agent.run('go');
    const events = eventsOf(run);
    await begun;
    await run.interrupt('never mind');
    expect(await run.text()).toBe('done');
    expect(aborted).toHaveLength(1);
    const sent = messagesOf(model, 1);
    expect(sent.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(sent[2]).toMatchObject({ tool_call_id: 'c1' });
    const results = (await events).filter(({ type }) => type === 'TOOL_CALL_RESULT');
    expect(results).toMatchObject([
      { toolCallId: 'c1', content: 'The call was aborted before it was finished.' },
    ]);
  });

  it('leaves the questions of before where it interrupts', async () => {
    const { wait, begun } = gate();
    const careful = tool({
      name: 'careful',
      input: { type: 'object', properties: {} },
      approval: true,
      run: () => 'did it',
    });
    const calls = [
      { id: 'c1', name: 'careful', args: {} },
      { id: 'c2', name: 'wait', args: {} },
    ];
    const script = [
      { calls },
      { calls: [{ id: 'c3', name: 'careful', args: {} }] },
      { text: 'done' },
    ];
    const { model, agent } = await agentOf(kind, script, { tools: [wait, careful] });
    const run = agent.run('go', { threadId: 't' });
    const result = run.result;
    await begun;
    await run.interrupt('another way');
    const { status, interrupts = [] } = await result;
    expect(status).toBe('interrupted');
    expect(interrupts.map(({ toolCallId }) => toolCallId)).toEqual(['c3']);
    const roles = messagesOf(model, 1).map(({ role, tool_call_id }) => tool_call_id ?? role);
    expect(roles).toEqual(['user', 'assistant', expect.any(String), expect.any(String), 'user']);
    expect(roles.slice(2, 4).sort()).toEqual(['c1', 'c2']);
    expect(await (await run.resume(true)).text()).toBe('done');
  });

  it('may have media, which the model gets', async () => {
    const script = [{ text: 'a b', hang: true }, { text: 'c' }];
    const { model, agent } = await agentOf(kind, script);
    const run = agent.run('go');
    const events = eventsOf(run);
    const value = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');
    for await (const event of run) {
      if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
      const source = { type: 'data' as const, value, mimeType: 'image/png' };
      await run.interrupt([
        { type: 'text', text: 'like this' },
        { type: 'image', source },
      ]);
      break;
    }
    expect(await run.text()).toBe('c');
    await events;
    expect(messagesOf(model, 1).at(-1)?.content).toEqual([
      { type: 'text', text: 'like this' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${value}` } },
    ]);
  });

  it('is rejected where it has no content', async () => {
    const { agent } = await agentOf(kind, [{ text: 'a b', hang: true }]);
    const run = agent.run('go');
    const { result } = run;
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    for (const content of ['', [], undefined, { text: 'x' }] as never[]) {
      await expect(run.send(content)).rejects.toMatchObject({ code: 'invalid_argument' });
    }
    const parts = [{ type: 'image' }] as never;
    await expect(run.send(parts)).rejects.toMatchObject({ code: 'invalid_messages' });
    run.stop();
    await result;
  });

  it('is rejected by a run that is over', async () => {
    const { agent } = await agentOf(kind, [{ text: 'done' }]);
    const run = agent.run('go');
    await run.result;
    await expect(run.send('late')).rejects.toMatchObject({ code: 'invalid_state' });
    await expect(run.interrupt('late')).rejects.toMatchObject({ code: 'invalid_state' });
    await expect(run.send('')).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

it('keeps a message over the end of the process, and takes it once', async () => {
  const model = await startModel((_body, index) =>
    index === 0 ? { text: 'first', hang: true } : { text: `answer ${index}` },
  );
  const { store } = makeStore();
  const options = { store, model: model.url };
  const child = startChild({ ...options, do: 'run', sends: 'more' });
  const { id } = await child.until((line) => line['id'] !== undefined);
  await child.until((line) => line['sent'] === true);
  await child.kill();
  const lines = await startChild({ ...options, do: 'attach', id, after: 0 }).ended();
  expect(lines.at(-1)).toMatchObject({ status: 'completed', text: 'answer 1' });
  expect(shownOf(messagesOf(model, 1))).toEqual([
    ['user', 'go'],
    ['user', 'more'],
  ]);
  expect(model.chatBodies).toHaveLength(2);
});
