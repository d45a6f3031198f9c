// `millrace serve` as an agent: the demo model, its tool, and the clients of both lines.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { HttpAgent as Agent1 } from '@ag-ui/client';
import { HttpAgent as Agent0 } from 'ag-ui-client-0.0';

import { bareEnvironment } from '../../support/environment';
import type { Event } from '../../support/events';
import { readEvents } from '../../support/events';
import type { ScriptedModel } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const children: ChildProcess[] = [];

async function serve(args: string[] = [], env: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', '--json', ...args], {
    env: { ...bareEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return (JSON.parse(line) as { url: string }).url;
}

async function post(url: string, body: object): Promise<Event[]> {
  const response = await fetch(`${url}/agent`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(response.status).toBe(200);
  return readEvents(await response.text());
}

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

const question = { id: 'u1', role: 'user' as const, content: 'Write a postcard.' };

describe('the demo agent', () => {
  let url: string;
  beforeAll(async () => {
    url = await serve();
  });

  it('tells what it can do', async () => {
    const reported = (await (await fetch(`${url}/agent/capabilities`)).json()) as {
      tools: { items: { name: string }[] };
      humanInTheLoop: object;
    };
    expect(reported.tools.items.map(({ name }) => name)).toEqual([
      'look_up_weather',
      'send_postcard',
    ]);
    expect(reported.humanInTheLoop).toMatchObject({ approvals: true, approveWithEdits: true });
  });

  it('asks before its tool runs, with HttpAgent 1.0', async () => {
    const agent = new Agent1({ url: `${url}/agent`, threadId: 'one', initialMessages: [question] });
    await agent.runAgent();
    const [interrupt] = agent.pendingInterrupts;
    expect(interrupt).toMatchObject({ reason: 'tool_call', toolCallId: expect.any(String) });
    const payload = { approved: true, editedArgs: { to: 'Grace' } };
    await agent.runAgent({
      resume: [{ interruptId: interrupt?.id ?? '', status: 'resolved', payload }],
    });
    expect(agent.pendingInterrupts).toEqual([]);
    const rows = agent.messages.map(({ role, content }) => ({ role, content }));
    expect(rows).toContainEqual({ role: 'tool', content: 'The postcard to Grace is on its way' });
    expect(rows.at(-1)?.role).toBe('assistant');
  });

  it('asks before its tool runs, with HttpAgent 0.0', async () => {
    const agent = new Agent0({ url: `${url}/agent`, threadId: 'two', initialMessages: [question] });
    const requested: string[] = [];
    await agent.runAgent(
      {},
      {
        onRunFinishedEvent: ({ event }: { event: unknown }) => {
          const { outcome } = event as { outcome?: { interrupts?: { id: string }[] } };
          for (const { id } of outcome?.interrupts ?? []) requested.push(id);
        },
      },
    );
    expect(requested).toHaveLength(1);
    const events = await post(url, {
      threadId: 'two',
      runId: 'again',
      messages: agent.messages,
      resume: [{ interruptId: requested[0], status: 'resolved', payload: { approved: false } }],
    });
    expect(events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
      content: expect.stringMatching(/refused/),
    });
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  });

  it('refuses answers to questions that nobody asked', async () => {
    const resume = [{ interruptId: 'made-up', status: 'resolved', payload: { approved: true } }];
    const body = { threadId: 'three', runId: 'r', resume };
    const events = await post(url, { ...body, messages: [] });
    expect(events.map(({ type }) => type)).toEqual(['RUN_STARTED', 'RUN_ERROR']);
    expect(events.at(-1)).toMatchObject({ code: 'approval_mismatch' });
    // Beside a new message they are passed over, and approve nothing.
    const others = await post(url, { ...body, messages: [question] });
    expect(others).toContainEqual(
      expect.objectContaining({
        name: 'millrace.warning',
        value: expect.objectContaining({ code: 'approval_mismatch' }),
      }),
    );
    expect(others.at(-1)).toMatchObject({
      ...{ type: 'RUN_FINISHED', outcome: { type: 'interrupt' } },
    });
  });

  it('leaves the tools of the client to the client', async () => {
    const agent = new Agent1({
      url: `${url}/agent`,
      threadId: 'four',
      initialMessages: [{ id: 'u1', role: 'user', content: 'Use a tool.' }],
    });
    const tools = [
      { name: 'get_weather', description: 'Weather.', parameters: { type: 'object' } },
    ];
    await agent.runAgent({ tools });
    const call = agent.messages.flatMap((row) =>
      'toolCalls' in row ? (row.toolCalls ?? []) : [],
    )[0];
    expect(call).toMatchObject({ function: { name: 'get_weather' } });
    agent.addMessage({ id: 'r1', role: 'tool', toolCallId: call?.id ?? '', content: 'sunny' });
    await agent.runAgent({ tools });
    expect(agent.messages.at(-1)).toMatchObject({
      role: 'assistant',
      content: expect.stringMatching(/The tool answered: sunny/),
    });
  });
});

describe('an agent with a real wire', () => {
  let model: ScriptedModel;
  afterEach(() => model.close());

  it('stops the model when its client leaves', async () => {
    model = await startModel([{ text: 'never', hang: true }]);
    const url = await serve(['--model', 'demo:x', '--base-url', model.url]);
    const controller = new AbortController();
    const response = await fetch(`${url}/agent`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ threadId: 't', messages: [question] }),
      signal: controller.signal,
    });
    await response.body?.getReader().read();
    for (const end = Date.now() + 5000; model.calls.length === 0 && Date.now() < end;) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    controller.abort();
    // Nothing else would close it before Jest's own limit.
    expect(model.calls).toHaveLength(1);
    await model.calls[0]?.closed;
  });

  it('runs a tool of the engine', async () => {
    model = await startModel([
      { calls: [{ id: 'c1', name: 'calculator', args: { expression: '6*7' } }] },
      { text: 'It is 42.' },
    ]);
    const url = await serve([
      '--model',
      'demo:x',
      '--base-url',
      model.url,
      '--tools',
      'calculator',
    ]);
    const events = await post(url, { threadId: 't', messages: [question] });
    expect(events.find(({ type }) => type === 'TOOL_CALL_RESULT')).toMatchObject({
      content: expect.stringContaining('42'),
    });
    expect(model.asked).toHaveLength(2);
  });

  it.each([
    [{ type: 'binary', mimeType: 'image/png' }, /^Media without address or bytes are left out: 1/],
    [
      { type: 'image', source: { type: 'blob', value: 'x' } },
      /^image left out: its `source` is none/,
    ],
  ])('names a part that it leaves out: %j', async (part, reason) => {
    model = await startModel([{ text: 'Ok' }]);
    const url = await serve(['--model', 'openai:m', '--base-url', model.url], {
      OPENAI_API_KEY: 'k',
    });
    const content = [{ type: 'text', text: 'Look' }, part];
    const events = await post(url, {
      threadId: 't',
      messages: [{ id: 'u1', role: 'user', content }],
    });
    expect(events.filter(({ name }) => name === 'millrace.warning')).toMatchObject([
      { value: { message: expect.stringMatching(reason) } },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'RUN_FINISHED' });
  });

  it('is told the system text', async () => {
    model = await startModel([{ text: 'aye' }]);
    const url = await serve([
      '--model',
      'demo:x',
      '--base-url',
      model.url,
      '--system',
      'Talk like a pirate.',
    ]);
    await post(url, { threadId: 't', messages: [question] });
    expect(model.asked[0]?.messages[0]).toEqual({ role: 'system', content: 'Talk like a pirate.' });
  });

  it('refuses options that it does not know', async () => {
    model = await startModel([]);
    for (const args of [
      ['--approval', 'maybe'],
      ['--tools', 'no_such_tool'],
    ]) {
      const child = spawn(process.execPath, [cli, 'serve', '--port', '0', ...args], {
        stdio: 'pipe',
      });
      children.push(child);
      let reported = '';
      child.stderr.on('data', (data: Buffer) => (reported += data.toString()));
      const [code] = (await once(child, 'exit')) as [number];
      expect(code).not.toBe(0);
      expect(reported).toMatch(/maybe|approval|no_such_tool/);
    }
  });
});
