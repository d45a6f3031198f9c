// What parse() of every adapter shares, shown with openAIAdapter().
import { MillraceError, openAIAdapter } from 'millrace';

import { all, cut, iteratorOf, named, responseOf, sse } from '../support/responses';

const chunk = (delta: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason: finish }],
});
const hello = sse(
  chunk({ role: 'assistant', content: 'Gr\u00fc\u00df ' }),
  chunk({ content: 'dich' }),
  chunk({}, 'stop'),
);
const helloEvents = [
  { type: 'TEXT_MESSAGE_START', messageId: '<1>', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: '<1>', delta: 'Gr\u00fc\u00df ' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: '<1>', delta: 'dich' },
  { type: 'TEXT_MESSAGE_END', messageId: '<1>' },
];

let logged: jest.SpyInstance;
beforeEach(() => (logged = jest.spyOn(console, 'error').mockImplementation(() => undefined)));
afterEach(() => logged.mockRestore());

describe('parse()', () => {
  it.each([1, 2, 7, 1000])('gives the same events when cut every %d bytes', async (size) => {
    const events = await all(openAIAdapter().parse(responseOf(cut(hello, size))));
    expect(named(events)).toEqual(helloEvents);
  });

  it('does nothing before the first next()', async () => {
    let pulls = 0;
    const body = new ReadableStream<Uint8Array>(
      { pull: (controller) => (pulls++ === 0 ? undefined : controller.close()) },
      { highWaterMark: 0 },
    );
    const response = new Response(body);
    openAIAdapter().parse(response);
    await new Promise(setImmediate);
    expect(pulls).toBe(0);
    expect(response.body?.locked).toBe(false);
  });

  it('rejects a response without a body', async () => {
    const events = openAIAdapter().parse(new Response(null));
    await expect(all(events)).rejects.toThrow(new Error('No response body'));
  });

  it('rejects a body that is locked or read', async () => {
    const response = responseOf([hello]);
    response.body?.getReader();
    const error: unknown = await all(openAIAdapter().parse(response)).catch((e: unknown) => e);
    expect(MillraceError.is(error, 'response_used')).toBe(true);
  });

  it('gives the events of a chunk before it reads the next', async () => {
    const [first, second] = [hello.indexOf('\n') + 2, hello.length];
    let reads = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          reads += 1;
          const [from, to] = reads === 1 ? [0, first] : [first, second];
          controller.enqueue(new TextEncoder().encode(hello.slice(from, to)));
          if (reads === 2) controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    const events = iteratorOf(openAIAdapter().parse(new Response(body)));
    await events.next();
    await events.next();
    expect(reads).toBe(1);
    await events.next();
    expect(reads).toBe(2);
  });

  it("rejects with the body's own error after the events before it", async () => {
    const broken = new Error('the line broke');
    let reads = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (reads++ === 0) controller.enqueue(new TextEncoder().encode(hello));
        else controller.error(broken);
      },
    });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const event of openAIAdapter().parse(new Response(body))) seen.push(event);
    })();
    await expect(reading).rejects.toBe(broken);
    expect(named(seen)).toEqual(helloEvents);
  });

  it('cancels the body when the loop is left', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(hello)),
      cancel: () => void (cancelled = true),
    });
    for await (const event of openAIAdapter().parse(new Response(body))) if (event) break;
    expect(cancelled).toBe(true);
  });

  // Tests of users hand over bodies with a reader that can only read.
  it.each([hello, sse({ error: 'no' })])(
    'is content with a reader that has no cancel()',
    async (text) => {
      const chunks = [text, text].map((chunk) => new TextEncoder().encode(chunk));
      const read = () => {
        const value = chunks.shift();
        return Promise.resolve({ done: value === undefined, value });
      };
      const response = { body: { getReader: () => ({ read }) } } as unknown as Response;
      for await (const event of openAIAdapter().parse(response)) {
        if (event.type !== 'TEXT_MESSAGE_START') break;
      }
      expect(chunks).toHaveLength(1);
    },
  );

  it('reads chunks of any kind of bytes', async () => {
    const bytes = new TextEncoder().encode(hello);
    const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
    shared.set(bytes);
    for (const chunk of [bytes.buffer, new DataView(bytes.buffer), shared, Buffer.from(bytes)]) {
      const body = new ReadableStream({
        start(controller) {
          controller.enqueue(chunk);
          controller.close();
        },
      });
      const response = { body } as unknown as Response;
      expect(named(await all(openAIAdapter().parse(response)))).toEqual(helloEvents);
    }
  });

  it('is a part of a generator that is left', async () => {
    async function* outer() {
      yield* openAIAdapter().parse(responseOf([hello]));
    }
    const events = outer();
    await events.next();
    expect(await events.return('enough' as never)).toEqual({ value: 'enough', done: true });
    expect(await events.next()).toEqual({ value: undefined, done: true });
  });

  // The branch of a tee is cancelled when the other one is, and some bodies never are.
  it.each<[string, () => Response]>([
    ['a clone', () => responseOf([hello]).clone()],
    [
      'a body whose cancel() never settles',
      () =>
        new Response(
          new ReadableStream<Uint8Array>({
            pull: (controller) => controller.enqueue(Buffer.from(hello)),
            cancel: () => new Promise(() => undefined),
          }),
        ),
    ],
  ])('is left at once over %s', async (_what, response) => {
    const events = iteratorOf(openAIAdapter().parse(response()));
    await events.next();
    expect(await events.return?.()).toMatchObject({ done: true });
    const unread = iteratorOf(openAIAdapter().parse(response()));
    expect(await unread.return?.()).toMatchObject({ done: true });
  });

  it('stops at RUN_ERROR and cancels the body', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) =>
        controller.enqueue(new TextEncoder().encode(sse({ error: { message: 'no' } }) + hello)),
      cancel: () => void (cancelled = true),
    });
    const events = await all(openAIAdapter().parse(new Response(body)));
    expect(events).toEqual([{ type: 'RUN_ERROR', message: 'no' }]);
    expect(cancelled).toBe(true);
  });

  it('answers calls of next() that do not wait for each other in their order', async () => {
    const events = iteratorOf(openAIAdapter().parse(responseOf(cut(hello, 5))));
    const results = await Promise.all([1, 2, 3, 4, 5, 6].map(() => events.next()));
    expect(named(results.filter((r) => !r.done).map((r) => r.value as object))).toEqual(
      helloEvents,
    );
    expect(results.map((r) => r.done)).toEqual([false, false, false, false, true, true]);
  });

  it('announces a record that is not JSON and goes on', async () => {
    const events = await all(openAIAdapter().parse(responseOf([`data: nope\n\n${hello}`])));
    expect(named(events)).toEqual(helloEvents);
    expect(logged).toHaveBeenCalledTimes(1);
    const [text, error] = logged.mock.calls[0] as [string, Error];
    expect(text).toBe('Failed to parse OpenAI SSE event');
    expect(error.name).toBe('SyntaxError');
  });

  it('keeps lone surrogates and replaces malformed bytes', async () => {
    const bytes = Buffer.concat([
      Buffer.from('data: {"choices":[{"delta":{"content":"a\\ud800b'),
      Buffer.from([0xff, 0xe2, 0x82]),
      Buffer.from('"}}]}\n\n'),
    ]);
    const events = await all(openAIAdapter().parse(responseOf([bytes])));
    expect(events[1]).toMatchObject({ delta: 'a\ud800b\ufffd\ufffd' });
  });

  it('ends with a typed error when a line is longer than the limit', async () => {
    const adapter = openAIAdapter({ limits: { lineBytes: 100 } });
    const error: unknown = await all(
      adapter.parse(responseOf([`data: ${'x'.repeat(200)}\n\n`])),
    ).catch((e: unknown) => e);
    expect(MillraceError.is(error, 'line_too_long')).toBe(true);
  });

  it('yields to the event loop between pieces of a large chunk', async () => {
    const large = `data: ${JSON.stringify(chunk({ content: 'x'.repeat(3 << 20) }))}\n\n`;
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const events = await all(openAIAdapter().parse(responseOf([large])));
    clearInterval(timer);
    expect(events).toHaveLength(2);
    expect(turns).toBeGreaterThan(0);
  });
});

describe('options of the adapters', () => {
  it.each([
    ['a string', 'x'],
    ['null', null],
  ])('refuse %s', (_name, value) => {
    expect(() => openAIAdapter(value as never)).toThrow(/openAIAdapter\(\) takes an object/);
  });

  it('refuse a callback that is none and a limit that is no positive integer', () => {
    expect(() => openAIAdapter({ onUsage: 1 as never })).toThrow(/onUsage must be a function/);
    expect(() => openAIAdapter({ limits: { lineBytes: -1 } })).toThrow(/limits.lineBytes/);
  });

  it('hand usage to onUsage, and add events only when extended', async () => {
    const body = hello + sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } });
    const usages: unknown[] = [];
    const adapter = openAIAdapter({ onUsage: (usage) => usages.push(usage) });
    const events = await all(adapter.parse(responseOf([body])));
    expect(events.map((event) => event.type)).not.toContain('CUSTOM');
    expect(usages).toEqual([
      {
        tokens: { inputTokens: 3, outputTokens: 4, totalTokens: 7 },
        reported: { prompt_tokens: 3, completion_tokens: 4 },
      },
    ]);
    const extended = await all(openAIAdapter({ extended: true }).parse(responseOf([body])));
    expect(extended).toContainEqual({ type: 'CUSTOM', name: 'millrace.usage', value: usages[0] });
  });
});
