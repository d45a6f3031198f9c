// A connection that breaks behind the end mark of an answer: by every door the answer is whole.
import net from 'node:net';

import {
  anthropicAdapter,
  createModelRuntime,
  fetchLLM,
  openAIAdapter,
  openAIResponsesAdapter,
  toAGUIResponse,
} from 'millrace';
import type { AGUIEvent, StreamProtocolAdapter } from 'millrace';

const typed = (...records: ({ type: string } & Record<string, unknown>)[]): string =>
  records.map((record) => `event: ${record.type}\ndata: ${JSON.stringify(record)}\n\n`).join('');
const chat = (delta: object, rest = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, ...rest }] })}\n\n`;

interface Wire {
  name: string;
  provider: string;
  payload: object;
  path: string;
  adapter: () => StreamProtocolAdapter;
  body: string;
}

const item = { type: 'message', id: 'i', role: 'assistant', content: [] };
const wires: Wire[] = [
  {
    name: 'chat completions',
    provider: 'openai',
    payload: { apiMode: 'chatCompletion' },
    path: '/v1/chat/completions',
    adapter: () => openAIAdapter(),
    body: `${chat({ content: 'Hi' })}${chat({}, { finish_reason: 'stop' })}data: [DONE]\n\n`,
  },
  {
    name: 'Responses',
    provider: 'openai',
    payload: { apiMode: 'responses' },
    path: '/v1/responses',
    adapter: () => openAIResponsesAdapter(),
    body: typed(
      { type: 'response.created', response: { id: 'r' } },
      { type: 'response.output_item.added', output_index: 0, item },
      {
        type: 'response.output_text.delta',
        item_id: 'i',
        output_index: 0,
        content_index: 0,
        delta: 'Hi',
      },
      { type: 'response.completed', response: { id: 'r', status: 'completed' } },
    ),
  },
  {
    name: 'Messages',
    provider: 'anthropic',
    payload: {},
    path: '/v1/messages',
    adapter: () => anthropicAdapter(),
    body: typed(
      { type: 'message_start', message: { id: 'm', role: 'assistant', content: [] } },
      {
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'text', text: '' },
      },
      {
        type: 'content_block_delta',
        index: 0,
        delta: { type: 'text_delta', text: 'Hi' },
      },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ),
  },
];

let server: net.Server;
let base = '';

beforeAll(async () => {
  server = net.createServer((socket) => {
    let requested = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => {
      requested += String(bytes);
      const wire = wires.find(({ path }) => requested.startsWith(`POST ${path} `));
      if (!requested.includes('\r\n\r\n') || !wire) return;
      const { body } = wire;
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n' +
          `${body.length.toString(16)}\r\n${body}\r\n`,
      );
      setTimeout(() => socket.resetAndDestroy(), 40);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
});

afterAll(() => void server.close());

async function typesOf(events: AsyncIterable<AGUIEvent>): Promise<string[]> {
  const types: string[] = [];
  for await (const event of events) types.push(event.type);
  return types;
}

describe.each(wires)('$name', ({ provider, payload, path, adapter, body }) => {
  const call = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }], ...payload };
  const runtime = (): ReturnType<typeof createModelRuntime> =>
    createModelRuntime(provider, {
      apiKey: 'k',
      baseURL: provider === 'openai' ? `${base}/v1` : base,
      maxRetries: 0,
    });
  const sent = (): Promise<Response> =>
    fetchLLM({ url: base + path, streamAdapter: adapter() }).send({
      threadId: 't',
      messages: [],
      signal: new AbortController().signal,
    });
  const fetched = (): Promise<Response> => fetch(base + path, { method: 'POST', body: '{}' });

  it('is whole for a run', async () => {
    expect((await typesOf(runtime().stream(call))).at(-1)).toBe('RUN_FINISHED');
    expect(await runtime().stream(call).text()).toBe('Hi');
  });

  it.each([
    ['the engine', sent],
    ['another fetch', fetched],
  ])('is whole for parse() of what %s got', async (_, answer) => {
    const whole = new Response(body, { headers: { 'content-type': 'text/event-stream' } });
    const wanted = await typesOf(adapter().parse(whole));
    expect(await typesOf(adapter().parse(await answer()))).toEqual(wanted);
  });

  it.each([
    ['the engine', sent],
    ['another fetch', fetched],
  ])('is whole for toAGUIResponse() of what %s got', async (_, answer) => {
    const text = await toAGUIResponse(await answer(), { adapter: adapter() }).text();
    expect(text).toContain('"RUN_FINISHED"');
    expect(text).not.toContain('"RUN_ERROR"');
  });
});
