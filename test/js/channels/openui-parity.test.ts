// @openuidev/react-headless 0.9.13 beside us, where we promise the same: events, request bodies, messages.
// What we do better on purpose has tests of its own.
import * as openui from '@openuidev/react-headless';
import * as millrace from 'millrace';

import { all, cut, named, responseOf, sse } from '../support/responses';

let logged: jest.SpyInstance;
beforeEach(() => (logged = jest.spyOn(console, 'error').mockImplementation(() => undefined)));
afterEach(() => logged.mockRestore());

type Adapters = Record<AdapterName, () => millrace.StreamProtocolAdapter>;
type AdapterName =
  | 'agUIAdapter'
  | 'openAIAdapter'
  | 'openAIReadableStreamAdapter'
  | 'openAIResponsesAdapter'
  | 'langGraphAdapter';

const chat = (delta: object, finish: string | null = null, more: object = {}) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
const text = [
  chat({ role: 'assistant', content: '' }),
  chat({ content: 'Gr\u00fc\u00df ' }),
  chat({ content: '\ud83d\ude80 \u2028 "quoted" \\ \n' }),
  chat({}, 'stop'),
  { choices: [], usage: { prompt_tokens: 1 } },
];
const item = (type: string, more: object) => ({ type, ...more });
const responses = [
  item('response.created', { response: { id: 'r' } }),
  item('response.output_item.added', {
    output_index: 0,
    item: { type: 'message', id: 'm1', role: 'assistant' },
  }),
  item('response.output_text.delta', { item_id: 'm1', output_index: 0, delta: 'Hi' }),
  item('response.output_text.done', { item_id: 'm1', output_index: 0, text: 'Hi' }),
  item('response.output_item.added', {
    output_index: 1,
    item: { type: 'function_call', id: 'f1', call_id: 'call1', name: 'find' },
  }),
  item('response.function_call_arguments.delta', {
    item_id: 'f1',
    output_index: 1,
    delta: '{"q":1}',
  }),
  item('response.function_call_arguments.done', {
    item_id: 'f1',
    output_index: 1,
    arguments: '{"q":1}',
  }),
  item('response.completed', { response: { id: 'r' } }),
];
const block = (event: string, data: unknown) =>
  `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const graph = [
  block('metadata', { run_id: 'r' }),
  block('messages', [
    { type: 'AIMessageChunk', id: 'a', content: 'Hel', tool_call_chunks: [] },
    { langgraph_step: 1 },
  ]),
  block('messages', [
    { type: 'AIMessageChunk', id: 'a', content: [{ type: 'text', text: 'lo' }] },
    { langgraph_step: 1 },
  ]),
  block('messages', [
    {
      type: 'AIMessageChunk',
      id: 'a',
      content: '',
      tool_call_chunks: [{ index: 0, id: 't', name: 'find', args: '{}' }],
    },
    { langgraph_step: 1 },
  ]),
  block('messages', [
    { type: 'tool', id: 'r', content: 'found', tool_call_id: 't' },
    { langgraph_step: 2 },
  ]),
  block('end', null),
].join('');

const streams: [name: string, adapter: AdapterName, body: string][] = [
  ['events of every kind', 'agUIAdapter', sse({ type: 'RUN_STARTED', threadId: 't', runId: 'r' })],
  [
    'unknown events and members, and odd JSON',
    'agUIAdapter',
    'data: {"type":"NEW","10":1,"9":2,"__proto__":{"a":1},"n":[1e400,-0,12345678901234567890],"n2":1,"n2":2}\n\n' +
      'data: {"type":"LONE","s":"\\ud800 \\udc00"}\n\n: comment\nevent: x\nid: 1\nretry: 5\n\ndata: [DONE]\n\n' +
      'data: {"type":"LAST"}',
  ],
  ['records that end with one LF', 'agUIAdapter', 'data: {"type":"A"}\ndata: {"type":"B"}\n'],
  ['a record that is not JSON', 'agUIAdapter', 'data: {"type":"A"}\n\ndata: {oops}\n\n'],
  ['text', 'openAIAdapter', `${sse(...text)}data: [DONE]\n\n`],
  ['text with CRLF', 'openAIAdapter', sse(...text).replaceAll('\n', '\r\n')],
  ['records after [DONE]', 'openAIAdapter', `data: [DONE]\n\n${sse(...text)}`],
  ['no finish', 'openAIAdapter', sse(...text.slice(0, 3))],
  ['a body that was not streamed', 'openAIAdapter', JSON.stringify({ object: 'chat.completion' })],
  ['an empty body', 'openAIAdapter', ''],
  ['HTML', 'openAIAdapter', '<html><body>Bad gateway</body></html>'],
  [
    'lines of JSON',
    'openAIReadableStreamAdapter',
    text.map((chunk) => JSON.stringify(chunk)).join('\n'),
  ],
  ['a message and a call', 'openAIResponsesAdapter', sse(...responses)],
  ['messages, a call and its result', 'langGraphAdapter', graph],
];

describe('the adapters', () => {
  it.each(streams)('give the same events: %s (%s)', async (_name, adapter, body) => {
    const read = (from: Adapters, size: number) =>
      all(from[adapter]().parse(responseOf(cut(body, size))));
    const theirs = await read(openui, 1 << 20);
    const announced = logged.mock.calls.map((call: unknown[]) => call[0]);
    logged.mockClear();
    for (const size of [1 << 20, 7, 1]) {
      const ours = await read(millrace, size);
      expect(named(ours)).toEqual(named(theirs));
      expect(logged.mock.calls.map((call: unknown[]) => call[0])).toEqual(announced);
      logged.mockClear();
    }
  });

  it('give values that V8 made: key order, __proto__, numbers', async () => {
    const body =
      'data: {"type":"X","b":1,"10":1,"9":2,"a":-0,"b":2,"__proto__":null,"c":1e400,"d":9007199254740993}\n\n';
    const [theirs] = await all(openui.agUIAdapter().parse(responseOf([body])));
    const [ours] = await all(millrace.agUIAdapter().parse(responseOf([body])));
    expect(Object.entries(ours as object)).toEqual(Object.entries(theirs as object));
    expect(Object.is((ours as unknown as { a: number }).a, -0)).toBe(true);
    expect(Object.hasOwn(ours as object, '__proto__')).toBe(true);
  });
});

describe("OpenUI's own reader of events", () => {
  const frames = globalThis as { requestAnimationFrame?: unknown; cancelAnimationFrame?: unknown };
  beforeAll(() => {
    frames.requestAnimationFrame = (draw: () => void) => setTimeout(draw, 0);
    frames.cancelAnimationFrame = (id: NodeJS.Timeout) => clearTimeout(id);
  });
  afterAll(() => {
    delete frames.requestAnimationFrame;
    delete frames.cancelAnimationFrame;
  });

  const messagesOf = async (from: Adapters, adapter: AdapterName, body: string) => {
    const messages = new Map<string, openui.Message>();
    const keep = (message: openui.Message) => void messages.set(message.id, message);
    await openui.processStreamedMessage({
      response: responseOf(cut(body, 7)),
      adapter: from[adapter](),
      createMessage: keep,
      updateMessage: keep,
    });
    return named([...messages.values()]);
  };

  it.each(streams)('builds the same messages: %s (%s)', async (_name, adapter, body) => {
    const theirs = await messagesOf(openui, adapter, body);
    expect(await messagesOf(millrace, adapter, body)).toEqual(theirs);
  });

  it('shows why an answer failed or was cut', async () => {
    const cutOff = sse(chat({ content: 'Hi' }), chat({}, 'length'));
    await expect(messagesOf(millrace, 'openAIAdapter', cutOff)).rejects.toThrow(/cut off/);
    const rejected = sse({ error: { message: 'quota' } });
    await expect(messagesOf(millrace, 'openAIAdapter', rejected)).rejects.toThrow('quota');
  });
});

describe('the channels', () => {
  const messages: millrace.Message[] = [
    { id: 'u', role: 'user', content: 'hello' },
    { id: 'a', role: 'assistant', content: 'hi' },
  ];
  type Call = [url: string, init: RequestInit & { body?: string }];
  const recorder = (answer: () => Response) => {
    const calls: Call[] = [];
    const send = (url: string, init: RequestInit) => {
      calls.push([url, init as Call[1]]);
      return Promise.resolve(answer());
    };
    return { calls, fetch: send as unknown as typeof fetch };
  };
  const withoutRunId = ([url, init]: Call) => {
    const { runId, ...body } = JSON.parse(init.body ?? '{}') as { runId?: unknown };
    return { url, ...init, body, runId: typeof runId };
  };

  it('send the same request from fetchLLM', async () => {
    const sent = [];
    for (const from of [openui, millrace]) {
      const { calls, fetch } = recorder(() => new Response('x', { status: 503 }));
      const llm = from.fetchLLM({
        url: '/api/chat',
        streamAdapter: millrace.agUIAdapter(),
        messageFormat: from.openAIMessageFormat,
        headers: { Authorization: 'Bearer x' },
        body: { model: 'm', threadId: 'no', tools: ['no'] },
        fetch,
      });
      const { signal } = new AbortController();
      const response = await llm.send({ threadId: 't', messages, signal });
      expect(response.status).toBe(503);
      expect(calls[0]?.[1].signal).toBe(signal);
      sent.push(calls.map(withoutRunId));
    }
    expect(sent[1]).toEqual(sent[0]);
  });

  it('send the same requests from restStorage', async () => {
    const sent = [];
    for (const from of [openui, millrace]) {
      const { calls, fetch } = recorder(() => Response.json([]));
      const { thread } = from.restStorage({ baseUrl: '/api', headers: { a: 'b' }, fetch });
      await thread.listThreads();
      await thread.listThreads('cursor');
      await thread.createThread(messages[0] as millrace.UserMessage);
      await thread.getMessages('1');
      await thread.updateThread({ id: '1', title: 't', createdAt: 1 });
      await thread.deleteThread('1');
      sent.push(calls);
    }
    expect(sent[1]).toEqual(sent[0]);
    expect(sent[0]).toHaveLength(6);
  });

  it('begin the error of restStorage with the same text', async () => {
    const texts: string[] = [];
    for (const from of [openui, millrace]) {
      const answer = () =>
        Response.json({ error: 'why' }, { status: 404, statusText: 'Not Found' });
      const { fetch } = recorder(answer);
      const { thread } = from.restStorage({ baseUrl: '/api', fetch });
      await thread.getMessages('1').catch((error: Error) => texts.push(error.message));
    }
    expect(texts[1]?.startsWith(texts[0] as string)).toBe(true);
    expect(texts[1]).toContain('why');
  });
});

describe('the message formats', () => {
  const toolCall = {
    id: 'call1',
    type: 'function' as const,
    function: { name: 'find', arguments: '{"q":"x"}' },
  };
  const conversation: millrace.Message[] = [
    { id: '1', role: 'system', content: 'Be brief.' },
    { id: '2', role: 'user', content: 'Hello \ud83d\ude80 \ud800' },
    { id: '3', role: 'assistant', content: 'I look.', toolCalls: [toolCall] },
    { id: '4', role: 'tool', content: 'found', toolCallId: 'call1' },
    { id: '5', role: 'assistant', content: 'Done.' },
    { id: '6', role: 'developer', content: 'rules' },
    {
      id: '7',
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'binary', mimeType: 'image/png', url: 'https://a/b.png' },
        { type: 'binary', mimeType: 'image/png', data: 'AAAA' },
      ],
    },
  ];
  type FormatName = 'openAIMessageFormat' | 'openAIConversationMessageFormat';

  it.each<FormatName>(['openAIMessageFormat', 'openAIConversationMessageFormat'])(
    '%s writes the same',
    (name) => {
      const theirs = openui[name].toApi(conversation);
      expect(millrace[name].toApi(conversation)).toEqual(JSON.parse(JSON.stringify(theirs)));
    },
  );

  it('openAIMessageFormat reads the same', () => {
    const stored = openui.openAIMessageFormat.toApi(conversation.slice(0, 6));
    const theirs = openui.openAIMessageFormat.fromApi(stored);
    expect(named(millrace.openAIMessageFormat.fromApi(stored))).toEqual(named(theirs));
  });

  it('name messages that JSON cannot hold', () => {
    const loop: Record<string, unknown> = { id: '1', role: 'user', content: 'x' };
    loop.self = loop;
    for (const wrong of [loop, { id: '1', role: 'user', content: 5n }]) {
      let error: unknown;
      try {
        millrace.openAIMessageFormat.toApi([wrong as never]);
      } catch (thrown) {
        error = thrown;
      }
      expect(millrace.MillraceError.is(error, 'invalid_messages')).toBe(true);
    }
  });

  it('identityMessageFormat gives the very same reference', () => {
    expect(millrace.identityMessageFormat.toApi(conversation)).toBe(conversation);
    expect(millrace.identityMessageFormat.fromApi(conversation)).toBe(conversation);
  });

  it.each([
    'openAIMessageFormat',
    'openAIConversationMessageFormat',
    'langGraphMessageFormat',
    'anthropicMessageFormat',
  ] as const)('%s never changes its input and survives a round trip', (name) => {
    const before = JSON.stringify(conversation);
    const api = millrace[name].toApi(conversation);
    const back = millrace[name].fromApi(api);
    expect(JSON.stringify(conversation)).toBe(before);
    const texts = back.map((message) => (message.role === 'assistant' ? message.content : ''));
    expect(texts.join('')).toBe('I look.Done.');
    expect(JSON.stringify(back)).toContain('\\"q\\"');
  });
});
