// What a request leaves out of a conversation is named, and nothing is named that did not happen; a call whose
// arguments were cut is not run.
import type { AGUIEvent } from 'millrace';
import { createAgent, createModelRuntime, foldEvents, tool } from 'millrace';

type Provider = 'anthropic' | 'google' | 'openai';
const models = { anthropic: 'claude-sonnet-4-5', google: 'gemini-2.5-pro', openai: 'gpt-4o' };

const body = (records: object[], named = false): string =>
  records
    .map((record) => {
      const name = named ? `event: ${(record as { type: string }).type}\n` : '';
      return `${name}data: ${JSON.stringify(record)}\n\n`;
    })
    .join('');
const respond = (text: string) => (): Promise<Response> =>
  Promise.resolve(new Response(text, { headers: { 'content-type': 'text/event-stream' } }));

/** The messages of an answer, with the question before it. */
async function answered(provider: Provider, text: string): Promise<object[]> {
  const runtime = createModelRuntime(provider, { apiKey: 'k', fetch: respond(text) });
  const events: AGUIEvent[] = [];
  const question = { id: 'u', role: 'user', content: 'hi' };
  const run = runtime.stream({ model: models[provider], messages: [question] } as never);
  for await (const event of run) events.push(event);
  return [question, ...foldEvents(events)];
}

/** What the next request has, and its notes. */
async function next(provider: Provider, messages: object[]) {
  let sent = '';
  const runtime = createModelRuntime(provider, {
    apiKey: 'k',
    maxRetries: 0,
    fetch: (_url, init) => {
      sent = init?.body as string;
      return Promise.resolve(new Response('{}', { status: 400 }));
    },
  });
  const run = runtime.stream({ model: models[provider], messages } as never);
  await run.text().catch(() => '');
  return { sent, notes: (await run.report).notes };
}

const usage = { input_tokens: 1, output_tokens: 1 };
const paused = body(
  [
    {
      type: 'message_start',
      message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'c', usage },
    },
    {
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'pause_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ],
  true,
);
const grounded = body([
  {
    candidates: [
      {
        index: 0,
        content: { role: 'model', parts: [{ text: 'Found.' }] },
        finishReason: 'STOP',
        groundingMetadata: {
          groundingChunks: [{ web: { uri: 'https://found.example', title: 'Found' } }],
          groundingSupports: [{ segment: { endIndex: 5 }, groundingChunkIndices: [0] }],
        },
      },
    ],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
  },
]);
const further = { id: 'v', role: 'user', content: 'and?' };

describe('the notes of a request', () => {
  it('say of a paused answer that goes on nothing that did not happen', async () => {
    const { sent, notes } = await next('anthropic', await answered('anthropic', paused));
    expect(sent).toContain('server_tool_use');
    expect(sent).not.toContain('interrupted');
    expect(notes).toEqual([]);
  });

  it('name the call of a paused answer behind which the user spoke', async () => {
    const { sent, notes } = await next('anthropic', [
      ...(await answered('anthropic', paused)),
      further,
    ]);
    expect(sent).not.toContain('server_tool_use');
    expect(sent).not.toContain('interrupted');
    expect(notes).toContainEqual(expect.stringContaining('srvtoolu_1'));
  });

  it('name citations that have no place', async () => {
    const history = [...(await answered('google', grounded)), further];
    const { sent, notes } = await next('openai', history);
    expect(sent).not.toContain('found.example');
    expect(notes).toEqual(
      expect.arrayContaining([expect.stringMatching(/^`messages`: Citations/)]),
    );
  });

  it('keep what failed of a result that answers no call', async () => {
    const orphan = { id: 't', role: 'tool', toolCallId: 'c9', content: 'half', error: 'cut' };
    const question = { id: 'u', role: 'user', content: 'hi' };
    const { sent } = await next('anthropic', [question, orphan, further]);
    expect(sent).toContain('half\\nError: cut');
  });
});

it('a call whose arguments were cut is not run', async () => {
  const item = { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'look' };
  const cut = { ...item, arguments: '{"a":1}', status: 'incomplete' };
  const response = { id: 'r', status: 'completed', model: 'gpt-5', output: [cut], usage };
  const ran: unknown[] = [];
  const agent = createAgent({
    model: 'openai:gpt-5',
    provider: {
      apiKey: 'k',
      maxRetries: 0,
      fetch: respond(
        body(
          [
            { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } },
            {
              type: 'response.output_item.added',
              output_index: 0,
              item: { ...item, arguments: '' },
            },
            { type: 'response.output_item.done', output_index: 0, item: cut },
            { type: 'response.completed', response },
          ],
          true,
        ),
      ),
    },
    parameters: { apiMode: 'responses' },
    tools: [tool({ name: 'look', description: 'Looks.', run: (input) => ran.push(input) })],
  } as never);
  const { status, error } = await agent.run('Hi').result;
  expect(ran).toEqual([]);
  expect(status).toBe('error');
  expect(error?.code).toBe('output_limit_reached');
});
