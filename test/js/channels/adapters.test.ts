// Each adapter where it does more than @openuidev/react-headless 0.9.13, and what is its own: framing,
// errors in the stream, announcements, callbacks. The wires in depth are test/golden/adapter.
import type { AGUIEvent, StreamProtocolAdapter } from 'millrace';
import {
  MillraceError,
  agUIAdapter,
  anthropicAdapter,
  bedrockConverseAdapter,
  cohereAdapter,
  geminiAdapter,
  geminiInteractionsAdapter,
  langGraphAdapter,
  mistralAdapter,
  ollamaAdapter,
  openAIAdapter,
  openAIReadableStreamAdapter,
  openAIResponsesAdapter,
  toAGUIResponse,
} from 'millrace';

import { all, cut, named, responseOf, sse } from '../support/responses';

let logged: jest.SpyInstance;
beforeEach(() => (logged = jest.spyOn(console, 'error').mockImplementation(() => undefined)));
afterEach(() => logged.mockRestore());

const read = (adapter: StreamProtocolAdapter, body: string, size = 1 << 20) =>
  all(adapter.parse(responseOf(cut(body, size))));
const everyCut = [1 << 20, 5, 1];

describe('agUIAdapter()', () => {
  const [a, b] = [{ type: 'A' }, { type: 'B', s: '\u00e9\ud83d\ude80' }];
  const both = [JSON.stringify(a), JSON.stringify(b)];

  it.each([
    ['no space behind data:', `data:${both[0]}\n\ndata:${both[1]}\n\n`],
    ['CRLF', `data: ${both[0]}\r\n\r\ndata: ${both[1]}\r\n\r\n`],
    ['CR alone', `data: ${both[0]}\r\rdata: ${both[1]}\r\r`],
    ['one LF behind a record', `data: ${both[0]}\ndata: ${both[1]}\n`],
    [
      'comments, ids and names',
      `: hi\nid: 1\nevent: x\ndata: ${both[0]}\n\nretry: 1\ndata: ${both[1]}\n\n`,
    ],
    ['a byte order mark', `\ufeffdata: ${both[0]}\n\ndata: ${both[1]}\n\n`],
    ['no line end at the end', `data: ${both[0]}\n\ndata: ${both[1]}`],
    ['a record of several lines', `data: {"type":\ndata: "A"}\n\ndata: ${both[1]}\n\n`],
    [
      'other sentinels and blanks',
      `data: [DONE]\n\ndata:\n\ndata: ${both[0]}\n\ndata:  ${both[1]} \n\n`,
    ],
  ])('reads %s, however it is cut', async (_name, body) => {
    for (const size of everyCut) {
      expect(await read(agUIAdapter(), body, size)).toEqual([a, b]);
    }
    expect(logged).not.toHaveBeenCalled();
  });

  it('skips and announces what is no event', async () => {
    const body =
      'data: null\n\ndata: 5\n\ndata: "x"\n\ndata: []\n\ndata: {"a":1}\n\ndata: {"type":""}\n\n';
    expect(await read(agUIAdapter(), `${body}data: ${both[0]}\n\n`)).toEqual([a]);
    expect(logged.mock.calls.map((call: unknown[]) => call[0])).toEqual(
      Array.from({ length: 6 }, () => 'Skipping SSE record without an AG-UI event type'),
    );
  });

  it('reads records of one event one by one when together they are no JSON', async () => {
    expect(await read(agUIAdapter(), `data: {oops\ndata: ${both[0]}\n\n`)).toEqual([a]);
    expect(logged).toHaveBeenCalledTimes(1);
    expect(await read(agUIAdapter(), 'data: {oops\ndata: [DONE]\n\n')).toEqual([]);
    expect(logged).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['a text', { error: 'no' }, { type: 'RUN_ERROR', message: 'no' }],
    ['a message', { error: { message: 'no' } }, { type: 'RUN_ERROR', message: 'no' }],
    ['a code', { error: { code: 7 } }, { type: 'RUN_ERROR', message: 'Stream error', code: '7' }],
    [
      'both',
      { error: { message: 'no', code: 'c' } },
      { type: 'RUN_ERROR', message: 'no', code: 'c' },
    ],
  ])('ends with RUN_ERROR at an error record with %s', async (_name, record, event) => {
    expect(await read(agUIAdapter(), sse(a, record, b))).toEqual([a, event]);
  });

  it('stops at a RUN_ERROR, and leaves events with an error member alone', async () => {
    const result = { type: 'TOOL_CALL_RESULT', error: 'x', isError: true };
    const failed = { type: 'RUN_ERROR', message: 'no' };
    expect(await read(agUIAdapter(), sse(result, failed, b))).toEqual([result, failed]);
  });

  it('takes a body that is a plain JSON error for one, and nothing else', async () => {
    const error = JSON.stringify({ error: { message: 'quota' } });
    expect(await read(agUIAdapter(), error, 3)).toEqual([{ type: 'RUN_ERROR', message: 'quota' }]);
    expect(await read(agUIAdapter(), '<html>error</html>')).toEqual([]);
    expect(await read(agUIAdapter(), '{"ok":true}')).toEqual([]);
    expect(await read(agUIAdapter(), error + ' '.repeat(70_000))).toEqual([]);
    const odd =
      '\ufeff{\r\n  "error": {\r\n "message": "\\ud800 \u00fc",\r\n "code": 429.0 }\r\n}\r\n';
    for (const size of everyCut) {
      expect(await read(agUIAdapter(), odd, size)).toEqual([
        { type: 'RUN_ERROR', message: '\ud800 \u00fc', code: '429' },
      ]);
    }
  });

  it('nests hundreds of levels deep', async () => {
    const deep = `${'['.repeat(600)}${']'.repeat(600)}`;
    const [event] = await read(agUIAdapter(), `data: {"type":"A","v":${deep}}\n\n`);
    expect(JSON.stringify((event as unknown as { v: unknown }).v)).toBe(deep);
    const fewer = `${'['.repeat(500)}${']'.repeat(500)}`;
    const record = `data: {"x":${fewer},"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n`;
    expect(await read(openAIAdapter(), record)).toHaveLength(2);
    const snapshot = [{ type: 'STATE_SNAPSHOT', snapshot: JSON.parse(fewer) as unknown }];
    const run = await toAGUIResponse(snapshot as never, { threadId: 't', runId: 'r' }).text();
    expect(run).toContain(fewer);
    expect(run).toContain('RUN_FINISHED');
  });

  it('keeps its limits', async () => {
    const adapter = agUIAdapter({ limits: { lineBytes: 100 } });
    const seen: AGUIEvent[] = [];
    const error: unknown = await (async () => {
      const body = [`data: ${both[0]}\n\n`, `data: ${'x'.repeat(200)}`];
      for await (const event of adapter.parse(responseOf(body))) seen.push(event);
      return undefined;
    })().catch((e: unknown) => e);
    expect(seen).toEqual([a]);
    expect(MillraceError.is(error, 'line_too_long')).toBe(true);
  });
});

describe('openAIReadableStreamAdapter()', () => {
  it('takes a body that is a JSON error of several lines for one', async () => {
    const error = { error: { message: 'quota', details: ['a', { code: 1 }], code: 429 } };
    const failed = [{ type: 'RUN_ERROR', message: 'quota', code: '429' }];
    const record = JSON.stringify({ choices: [{ index: 0, delta: { content: 'x' } }] });
    for (const size of everyCut) {
      const readable = (body: string) => read(openAIReadableStreamAdapter(), body, size);
      expect(await readable(JSON.stringify(error, null, 2))).toEqual(failed);
      expect(await readable(`${JSON.stringify(error, null, '\t')}\r\n`)).toEqual(failed);
      expect(await readable(`{\n"ok": true\n}\n`)).toEqual([]);
      const behind = await readable(`${record}\n${JSON.stringify(error, null, 2)}`);
      expect(behind.map(({ type }) => type)).toEqual([
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_CONTENT',
      ]);
    }
  });
});

describe('the announcement of a record that is not JSON', () => {
  it.each<[string, () => StreamProtocolAdapter, string]>([
    ['Failed to parse SSE event', agUIAdapter, 'data: {oops\n\n'],
    ['Failed to parse OpenAI SSE event', openAIAdapter, 'data: {oops\n\n'],
    ['Failed to parse OpenAI NDJSON chunk', openAIReadableStreamAdapter, '{oops\n'],
    ['Failed to parse OpenAI Responses SSE event', openAIResponsesAdapter, 'data: {oops\n\n'],
    ['Failed to parse LangGraph SSE data', langGraphAdapter, 'event: messages\ndata: {oops\n\n'],
  ])('is "%s" with a SyntaxError', async (announcement, adapter, body) => {
    expect(await read(adapter(), body)).toEqual([]);
    expect(logged.mock.calls).toEqual([
      [announcement, expect.objectContaining({ name: 'SyntaxError' })],
    ]);
  });
});

describe('openAIAdapter()', () => {
  const chunk = (delta: object, finish: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason: finish }],
  });

  it('ends calls, then the text, and says when an answer was cut', async () => {
    const call = { index: 0, id: 'c', function: { name: 'f', arguments: '{}' } };
    const whole = sse(
      chunk({ content: 'x' }),
      chunk({ tool_calls: [call] }),
      chunk({}, 'tool_calls'),
    );
    expect((await read(openAIAdapter(), whole)).map(({ type }) => type)).toEqual([
      'TEXT_MESSAGE_START',
      'TEXT_MESSAGE_CONTENT',
      'TOOL_CALL_START',
      'TOOL_CALL_ARGS',
      'TOOL_CALL_END',
      'TEXT_MESSAGE_END',
    ]);
    const cutOff = await read(openAIAdapter(), sse(chunk({ content: 'x' }), chunk({}, 'length')));
    expect(cutOff.at(-1)).toMatchObject({ type: 'RUN_ERROR', code: 'length' });
  });

  it('writes the code of an error as JavaScript does', async () => {
    const codes: [json: string, code: string][] = [
      ['429', '429'],
      ['429.0', '429'],
      ['4.29e2', '429'],
      ['-1', '-1'],
      ['1.5', '1.5'],
    ];
    for (const [json, code] of codes) {
      const body = `data: {"error":{"code":${json}}}\n\n`;
      const event = { type: 'RUN_ERROR', message: 'Stream error', code };
      expect(await read(openAIAdapter(), body)).toEqual([event]);
    }
    expect(await read(openAIAdapter(), 'data: {"error":{"code":0.0}}\n\n')).toEqual([]);
  });

  it('shows reasoning', async () => {
    const body = sse(
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'x' }),
      chunk({}, 'stop'),
    );
    const events = await read(openAIAdapter(), body);
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT']),
    );
  });

  it('gives many deltas with the ids they belong to', async () => {
    const body = sse(
      ...Array.from({ length: 50 }, (_, i) => chunk({ content: `${i} ` })),
      chunk({}, 'stop'),
      chunk({ content: 'again' }),
    );
    for (const size of everyCut) {
      const events = named(await read(openAIAdapter(), body, size));
      const contents = events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT');
      expect(contents).toHaveLength(51);
      expect(
        new Set(contents.slice(0, 50).map((e) => (e as { messageId: string }).messageId)).size,
      ).toBe(1);
      expect(contents[49]).toEqual({
        type: 'TEXT_MESSAGE_CONTENT',
        messageId: '<1>',
        delta: '49 ',
      });
      expect(contents[50]).toEqual({
        type: 'TEXT_MESSAGE_CONTENT',
        messageId: '<2>',
        delta: 'again',
      });
    }
  });
});

describe('openAIResponsesAdapter()', () => {
  it('gives usage and provider state to its callbacks', async () => {
    const body = sse(
      { type: 'response.created', response: { id: 'r' } },
      {
        type: 'response.output_item.done',
        output_index: 0,
        item: { type: 'reasoning', id: 'rs', encrypted_content: 'abc', summary: [] },
      },
      {
        type: 'response.completed',
        response: { id: 'r', usage: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } },
      },
    );
    const [usages, states]: unknown[][] = [[], []];
    const adapter = openAIResponsesAdapter({
      onUsage: (usage) => usages?.push(usage),
      onState: (state) => states?.push(state),
    });
    const events = await read(adapter, body);
    expect(events.map(({ type }) => type)).not.toContain('CUSTOM');
    // In OpenAI's own shape, as the adapter of the same name gives it.
    expect(usages).toEqual([{ input_tokens: 1, output_tokens: 2, total_tokens: 3 }]);
    expect(JSON.stringify([states, events])).toContain('abc');
  });
});

describe('langGraphAdapter()', () => {
  const block = (event: string, data: unknown, end = '\n') =>
    `event: ${event}${end}data: ${JSON.stringify(data)}${end}${end}`;
  const interrupt = [{ value: 'approve?', id: 'i' }];

  it('calls onInterrupt, at the place of the update, and adds no event', async () => {
    const body =
      block('messages', [{ type: 'ai', id: 'a', content: 'x' }, {}]) +
      block('updates', { __interrupt__: interrupt }) +
      block('messages', [{ type: 'ai', id: 'a', content: 'y' }, {}]);
    const order: unknown[] = [];
    const adapter = langGraphAdapter({ onInterrupt: (value) => order.push(value) });
    for await (const event of adapter.parse(responseOf([body]))) {
      if (event.type === 'TEXT_MESSAGE_CONTENT') order.push(event.delta);
    }
    expect(order).toEqual(['x', interrupt, 'y']);
    expect((await read(langGraphAdapter(), body)).map(({ type }) => type)).not.toContain('CUSTOM');
  });

  it('calls onInterrupt for a state that has the interrupt', async () => {
    const seen: unknown[] = [];
    const adapter = langGraphAdapter({ onInterrupt: (value) => seen.push(value) });
    const state = block('values', { messages: [], __interrupt__: interrupt });
    await read(adapter, state);
    expect(seen).toEqual([interrupt]);
    await read(adapter, block('updates', { __interrupt__: interrupt }) + state);
    expect(seen).toHaveLength(2);
  });

  it('rejects with what onInterrupt throws', async () => {
    const broken = new Error('callback');
    const adapter = langGraphAdapter({
      onInterrupt: () => {
        throw broken;
      },
    });
    const body = block('updates', { __interrupt__: interrupt });
    await expect(read(adapter, body)).rejects.toBe(broken);
  });

  it('reads CRLF', async () => {
    const body = block('messages', [{ type: 'ai', id: 'a', content: 'x' }, {}], '\r\n');
    for (const size of everyCut) {
      expect((await read(langGraphAdapter(), body, size)).map(({ type }) => type)).toEqual([
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_CONTENT',
        'TEXT_MESSAGE_END',
      ]);
    }
  });
});

describe('anthropicAdapter()', () => {
  const anthropic = [
    { type: 'message_start', message: { id: 'm', role: 'assistant', usage: { input_tokens: 3 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];

  it('gives a legal order, with what AG-UI lacks as millrace.* events', async () => {
    const events = await read(anthropicAdapter(), sse(...anthropic));
    const own = events.filter(({ type }) => type !== 'CUSTOM').map(({ type }) => type);
    expect(own).toEqual(['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END']);
    const names = events.flatMap((event) => (event.type === 'CUSTOM' ? [event.name] : []));
    expect(names).toContain('millrace.usage');
    expect(names.every((name) => name.startsWith('millrace.'))).toBe(true);
  });

  it.each([
    ['is cut', sse(...anthropic.slice(0, 3)), 'stream_truncated'],
    ['is empty', '', 'stream_empty'],
    ['is a page', '<html></html>', 'not_a_stream'],
    ['is of another wire', sse({ choices: [{ delta: { content: 'x' } }] }), 'not_a_stream'],
  ])('ends a body that %s in RUN_ERROR', async (_name, body, code) => {
    expect((await read(anthropicAdapter(), body)).at(-1)).toMatchObject({
      type: 'RUN_ERROR',
      code,
    });
  });

  it('turns a broken body into RUN_ERROR, but not an abort', async () => {
    const broken = (error: unknown) =>
      new Response(new ReadableStream({ pull: (controller) => controller.error(error) }));
    const events = await all(anthropicAdapter().parse(broken(new Error('reset'))));
    expect(events).toEqual([{ type: 'RUN_ERROR', message: 'reset', code: 'connection_lost' }]);
    const aborted = new DOMException('stop', 'AbortError');
    await expect(all(anthropicAdapter().parse(broken(aborted)))).rejects.toBe(aborted);
  });

  it('shows a skipped record as a warning', async () => {
    const events = await read(anthropicAdapter(), `data: {oops\n\n${sse(...anthropic)}`);
    expect(events).toContainEqual(expect.objectContaining({ name: 'millrace.warning' }));
    expect(logged).not.toHaveBeenCalled();
  });
});

describe('the adapters of the providers that OpenUI does not know', () => {
  const lines = (...records: object[]) => records.map((r) => JSON.stringify(r)).join('\n');
  const gemini = { candidates: [{ content: { parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }] };
  const choice = { index: 0, delta: { content: [{ type: 'text', text: 'Hi' }] } };
  const cases: [string, (options?: object) => StreamProtocolAdapter, string][] = [
    ['geminiAdapter', geminiAdapter, sse(gemini)],
    ['geminiAdapter', geminiAdapter, JSON.stringify([gemini])],
    [
      'geminiInteractionsAdapter',
      geminiInteractionsAdapter,
      sse(
        { event_type: 'step.delta', index: 0, delta: { type: 'text', text: 'Hi' } },
        { event_type: 'interaction.completed', interaction: { status: 'completed' } },
      ),
    ],
    [
      'ollamaAdapter',
      ollamaAdapter,
      lines({ message: { content: 'Hi' }, done: false }, { message: {}, done: true }),
    ],
    [
      'bedrockConverseAdapter',
      bedrockConverseAdapter,
      lines(
        { contentBlockDelta: { contentBlockIndex: 0, delta: { text: 'Hi' } } },
        { messageStop: { stopReason: 'end_turn' } },
      ),
    ],
    [
      'cohereAdapter',
      cohereAdapter,
      sse(
        { type: 'content-delta', delta: { message: { content: { text: 'Hi' } } } },
        { type: 'message-end', delta: { finish_reason: 'COMPLETE' } },
      ),
    ],
    ['mistralAdapter', mistralAdapter, sse({ choices: [{ ...choice, finish_reason: 'stop' }] })],
  ];

  it.each(cases)('%s() reads text, however it is cut', async (_name, adapter, body) => {
    for (const size of everyCut) {
      const events = await read(adapter(), body, size);
      const texts = events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT');
      expect(texts).toEqual([expect.objectContaining({ delta: 'Hi' })]);
      expect(events.at(-1)?.type).not.toBe('RUN_ERROR');
    }
  });

  it.each(cases)(
    '%s() ends a cut body in RUN_ERROR and checks its options',
    async (name, adapter, body) => {
      const events = await read(adapter(), body.slice(0, body.length / 2));
      expect(events.at(-1)).toMatchObject({ type: 'RUN_ERROR' });
      expect(() => adapter({ onUsage: 1 })).toThrow(`${name}: onUsage must be a function, not 1.`);
    },
  );
});
