// Tools of a front end may have names that no model API takes: the model has another name for them,
// everybody else has theirs.
import { HttpAgent } from '@ag-ui/client';
import type { AGUIEvent, ChatStreamPayload } from 'millrace';
import { createAgent, createModelRuntime } from 'millrace';

import { readEvents } from '../../support/events';
import { startModel } from '../../support/scripted-model';
import type { ScriptedModel } from '../../support/scripted-model';

interface Requested {
  tools: { function: { name: string } }[];
  tool_choice?: { function: { name: string } };
  messages: { role: string; content: unknown; tool_calls?: { function: { name: string } }[] }[];
}

let model: ScriptedModel | undefined;
afterEach(() => model?.close());

const question = { id: 'u1', role: 'user' as const, content: 'Write some code.' };
const input = (tools: unknown[], messages: unknown[] = [question]): Request =>
  new Request('http://localhost/agent', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ threadId: 't', runId: 'r', messages, tools }),
  });

async function agentOf(script: Parameters<typeof startModel>[0]) {
  model = await startModel(script);
  return createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
  });
}

const requested = (turn: number): Requested => model?.asked[turn] as unknown as Requested;
const sentName = (turn = 0): string => requested(turn).tools[0]?.function.name ?? '';

const names = ['a.b', 'code_block:create', 'größe', 'x'.repeat(65), '...', '名前'];

it.each(names)('offers a tool called %s, whose calls have its own name', async (name) => {
  const agent = await agentOf((body) =>
    body.messages.some(({ role }) => role === 'tool')
      ? { text: 'Done.' }
      : { calls: [{ id: 'c1', name: sentName(), args: { size: 1 } }] },
  );
  const tools = [{ name, description: 'A tool.', parameters: { type: 'object' } }];
  const first = await agent.handler(input(tools));
  const events = readEvents(await first.text());
  expect(sentName()).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: name }),
  );
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');

  const call = { id: 'c1', type: 'function', function: { name, arguments: '{"size":1}' } };
  const messages = [
    question,
    { id: 'a1', role: 'assistant', toolCalls: [call] },
    { id: 't1', role: 'tool', toolCallId: 'c1', content: 'ok' },
  ];
  const second = await agent.handler(input(tools, messages));
  expect(readEvents(await second.text()).at(-1)?.type).toBe('RUN_FINISHED');
  expect(requested(1).messages.find(({ role }) => role === 'assistant')?.tool_calls).toMatchObject([
    { function: { name: sentName() } },
  ]);
});

it('has a name of its own for each, which its client runs', async () => {
  const agent = await agentOf([{ text: 'None.' }]);
  const tools = ['a.b', 'a_b', 'a:b', 'ab'].map((name) => ({
    name,
    description: '',
    parameters: {},
  }));
  await (await agent.handler(input(tools))).text();
  const sent = requested(0).tools.map((tool) => tool.function.name);
  expect(new Set(sent).size).toBe(4);
  expect(sent).toEqual(expect.arrayContaining(['a_b', 'ab']));
});

it('does the same for a chat of a model runtime', async () => {
  model = await startModel(() => ({ calls: [{ id: 'c1', name: sentName() }] }));
  const runtime = createModelRuntime('openai', {
    apiKey: 'k',
    baseURL: model.url,
    apiMode: 'chat',
  });
  const payload: ChatStreamPayload = {
    model: 'm',
    messages: [{ role: 'user', content: 'Go.' }],
    tools: [{ type: 'function', function: { name: 'files.read', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'files.read' } },
  };
  const events: AGUIEvent[] = [];
  for await (const event of runtime.stream(payload)) events.push(event);
  expect(requested(0).tool_choice?.function.name).toBe(sentName());
  expect(events).toContainEqual(
    expect.objectContaining({ type: 'TOOL_CALL_START', toolCallName: 'files.read' }),
  );
});

const plain = { name: 'look', description: '', parameters: { type: 'object' } };

it.each([
  ['twice', [plain, plain]],
  ['a `name`', [{ description: 'nameless' }]],
  ['a `name`', ['look']],
])('refuses tools before the stream begins, naming %s', async (word, tools) => {
  const agent = await agentOf([]);
  const response = await agent.handler(input(tools));
  expect(response.status).toBe(400);
  const { error } = (await response.json()) as { error: { code: string; message: string } };
  expect(error.code).toBe('invalid_body');
  expect(error.message).toContain(word);
  expect(model?.asked).toEqual([]);
});

it('refuses a tool whose name would be read as that of a plugin and its function', async () => {
  const agent = await agentOf([]);
  const tools = [{ ...plain, name: 'plugin____look' }];
  const events = readEvents(await (await agent.handler(input(tools))).text());
  expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'invalid_body' });
  expect(model?.asked).toEqual([]);
});

it('leaves out what says nothing, as an answer that was stopped before its first word', async () => {
  const agent = await agentOf([{ text: 'Here.' }]);
  const messages = [
    question,
    { id: 'a1', role: 'assistant' },
    { id: 'a2', role: 'assistant', content: '', toolCalls: [] },
    { id: 'u2', role: 'user', content: [] },
    { id: 'u3', role: 'user', content: 'Still there?' },
  ];
  const events = readEvents(await (await agent.handler(input([], messages))).text());
  expect(events.at(-1)?.type).toBe('RUN_FINISHED');
  expect(requested(0).messages).toEqual([
    { role: 'user', content: 'Write some code.' },
    { role: 'user', content: 'Still there?' },
  ]);
});

it('tells HttpAgent of calls by the names that it has', async () => {
  const agent = await agentOf(() => ({ calls: [{ id: 'c1', name: sentName() }] }));
  const client = new HttpAgent({
    url: 'http://localhost/agent',
    threadId: 't',
    initialMessages: [question],
    fetch: (url: string, init: RequestInit) => agent.handler(new Request(url, init)),
  });
  await client.runAgent({ tools: [{ ...plain, name: 'code_block:create' }] });
  expect(client.messages.at(-1)).toMatchObject({
    role: 'assistant',
    toolCalls: [{ id: 'c1', function: { name: 'code_block:create' } }],
  });
});
