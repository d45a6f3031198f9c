// fetchSSE: what its callbacks hear, however the answer comes and ends.
import type {
  ChatFinishContext,
  ChatMessageError,
  ChatStreamChunk,
  FetchSSEOptions,
} from 'millrace';
import { fetchSSE } from 'millrace';

import { cut, responseOf } from '../support/responses';
import { loopback } from '../support/server';

/** One event of the chat stream. */
const event = (name: string, data: unknown): string =>
  `id: chat_1\nevent: ${name}\ndata: ${typeof data === 'string' && data.startsWith('raw:') ? data.slice(4) : JSON.stringify(data)}\n\n`;
const streamOf = (...events: [string, unknown][]): string =>
  events.map(([name, data]) => event(name, data)).join('');

interface Heard {
  chunks: ChatStreamChunk[];
  errors: ChatMessageError[];
  finished: { output: string; context: ChatFinishContext }[];
  aborted: string[];
  response: Response | undefined;
}

async function heard(
  answer: Response | (() => Promise<Response>),
  options: FetchSSEOptions = {},
  url = 'http://localhost/webapi/chat/openai',
): Promise<Heard> {
  const all: Heard = { chunks: [], errors: [], finished: [], aborted: [], response: undefined };
  all.response = await fetchSSE(url, {
    fetcher: typeof answer === 'function' ? answer : async () => answer,
    responseAnimation: 'none',
    onMessageHandle: (chunk) => all.chunks.push(chunk),
    onErrorHandle: (error) => all.errors.push(error),
    onFinish: (output, context) => void all.finished.push({ output, context }),
    onAbort: (output) => void all.aborted.push(output),
    ...options,
  });
  return all;
}

const textOf = (chunks: ChatStreamChunk[]): string[] =>
  chunks.flatMap((chunk) => (chunk.type === 'text' ? [chunk.text] : []));

const everything = streamOf(
  ['data', { id: 'x' }],
  ['reasoning', 'Let me '],
  ['reasoning', 'think.'],
  ['reasoning_signature', 'sig'],
  ['reasoning_response_item', { type: 'reasoning', id: 'rs_1' }],
  ['text', ''],
  ['text', null],
  ['text', 'Gr\u00fc\u00df '],
  ['text', 'dich \u{1f44b}'],
  ['tool_calls', [{ index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } }]],
  ['tool_calls', [{ index: 0, type: 'function', function: { arguments: '{"x":' } }]],
  [
    'tool_calls',
    [{ index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } }],
  ],
  ['tool_calls', [{ index: 0, type: 'function', function: { arguments: '1}' } }]],
  ['grounding', { citations: [{ title: 't', url: 'https://a.example' }] }],
  ['base64_image', 'data:image/png;base64,AA=='],
  ['stop', 'tool_calls'],
  ['usage', { totalInputTokens: 3, totalOutputTokens: 5, totalTokens: 8 }],
  ['speed', { tps: 2, ttft: 10, duration: 20, latency: 30 }],
);

describe('fetchSSE', () => {
  it.each([1, 3, 64, 100_000])('gives every kind of chunk in pieces of %d bytes', async (size) => {
    const headers = { 'x-lobe-chat-trace-id': 'trace', 'x-lobe-observation-id': 'seen' };
    const all = await heard(responseOf(cut(everything, size), { headers }));
    const image = {
      id: expect.any(String) as string,
      data: 'data:image/png;base64,AA==',
      isBase64: true,
    };
    const calls = [
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
      { id: 'b', type: 'function', function: { name: 'g', arguments: '{}' } },
    ];
    expect(all.chunks.map(({ type }) => type)).toEqual([
      ...['reasoning', 'reasoning', 'reasoning', 'text', 'text'],
      ...['tool_calls', 'tool_calls', 'tool_calls', 'tool_calls'],
      ...['grounding', 'base64_image', 'stop', 'usage', 'speed'],
    ]);
    expect(all.chunks[2]).toEqual({ type: 'reasoning', signature: 'sig' });
    expect(all.chunks[5]).toEqual({
      type: 'tool_calls',
      tool_calls: [{ ...calls[0], function: { name: 'f', arguments: '' } }],
    });
    expect(all.chunks[8]).toEqual({ type: 'tool_calls', tool_calls: calls });
    expect(all.chunks[10]).toEqual({ type: 'base64_image', id: image.id, image, images: [image] });
    expect(all.finished).toEqual([
      {
        output: 'Gr\u00fc\u00df dich \u{1f44b}',
        context: {
          type: 'done',
          reasoning: {
            content: 'Let me think.',
            signature: 'sig',
            responseItems: [{ type: 'reasoning', id: 'rs_1' }],
          },
          toolCalls: calls,
          grounding: { citations: [{ title: 't', url: 'https://a.example' }] },
          images: [image],
          usage: { totalInputTokens: 3, totalOutputTokens: 5, totalTokens: 8 },
          speed: { tps: 2, ttft: 10, duration: 20, latency: 30 },
          traceId: 'trace',
          observationId: 'seen',
        },
      },
    ]);
    expect([all.errors, all.aborted]).toEqual([[], []]);
  });

  it('makes no call of a piece that has nothing of one', async () => {
    const call = { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
    const all = await heard(
      responseOf([
        streamOf(
          ['tool_calls', [{}]],
          ['tool_calls', [{ index: 0 }]],
          ['tool_calls', [null, call, 5]],
          ['stop', 'tool_calls'],
        ),
      ]),
    );
    expect(all.chunks.filter(({ type }) => type === 'tool_calls')).toHaveLength(1);
    expect(all.finished[0]?.context.toolCalls).toEqual([
      { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } },
    ]);
  });

  it('takes thoughts from the items that they were summed up in where nothing else told them', async () => {
    const items = [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'First.' }] },
      { type: 'reasoning', id: 'rs_2', summary: [] },
      { type: 'reasoning', id: 'rs_3', summary: [{ type: 'summary_text', text: 'Then.' }] },
    ];
    const events = items.map((item): [string, unknown] => ['reasoning_response_item', item]);
    const all = await heard(responseOf([streamOf(...events, ['text', 'Done'])]));
    expect(all.finished[0]?.context.reasoning).toEqual({
      content: 'First.\n\nThen.',
      responseItems: items,
    });
  });

  it('adds the text of parts, and passes parts on', async () => {
    const all = await heard(
      responseOf([
        streamOf(
          ['reasoning_part', { partType: 'text', content: 'hm', inReasoning: true }],
          ['content_part', { partType: 'text', content: 'see', thoughtSignature: 's' }],
          ['content_part', { partType: 'image', content: 'AA==', mimeType: 'image/png' }],
        ),
      ]),
    );
    expect(all.chunks).toEqual([
      { type: 'reasoning_part', partType: 'text', content: 'hm' },
      { type: 'content_part', partType: 'text', content: 'see', thoughtSignature: 's' },
      { type: 'content_part', partType: 'image', content: 'AA==', mimeType: 'image/png' },
    ]);
    expect(all.finished[0]?.output).toBe('see');
    expect(all.finished[0]?.context.reasoning).toEqual({ content: 'hm' });
  });

  it('keeps parallel calls apart that share an index', async () => {
    const call = (id: string) => ({ index: 0, id, function: { name: id, arguments: '{}' } });
    const all = await heard(responseOf([streamOf(['tool_calls', [call('a'), call('b')]])]));
    expect(all.finished[0]?.context.toolCalls?.map(({ id }) => id)).toEqual(['a', 'b']);
  });

  it('begins anew after a reset', async () => {
    const all = await heard(
      responseOf([
        streamOf(
          ['text', 'void'],
          ['data', { type: 'CUSTOM', name: 'millrace.reset', value: { reason: 'retry' } }],
          ['text', 'good'],
        ),
      ]),
    );
    expect(all.chunks[1]).toEqual({ type: 'reset', reason: 'retry' });
    expect(all.finished[0]?.output).toBe('good');
  });

  it('gives a body without events as one text', async () => {
    const all = await heard(new Response('{"plain": "body"}'));
    expect(all.chunks).toEqual([{ type: 'text', text: '{"plain": "body"}' }]);
    expect(all.finished[0]?.output).toBe('{"plain": "body"}');
  });

  it.each([new Response(null), new Response(''), new Response(': keep-alive\n\n')])(
    'finishes an empty answer',
    async (response) => {
      const all = await heard(response);
      expect(all.finished).toEqual([
        { output: '', context: { type: 'done', traceId: null, observationId: null } },
      ]);
      expect(all.chunks).toEqual([]);
    },
  );
});

describe('errors of fetchSSE', () => {
  const throwing = (what: unknown) => async (): Promise<Response> => {
    await Promise.resolve();
    throw what;
  };

  it('skips what cannot be read and goes on', async () => {
    const body = streamOf(
      ['text', 'a'],
      ['text', 'raw:{broken'],
      ['content_part', null],
      ['later', 'raw:{}'],
      ['text', 'b'],
    );
    const all = await heard(responseOf([body]));
    expect(all.errors.map(({ type }) => type)).toEqual(['StreamChunkError', 'StreamChunkError']);
    expect(all.errors[0]?.body).toMatchObject({ context: { chunk: '{broken' } });
    expect(all.finished).toHaveLength(1);
    expect(all.finished[0]).toMatchObject({ output: 'ab', context: { type: 'done' } });
  });

  it('passes an error event on and finishes with it', async () => {
    const error = { type: 'RateLimitExceeded', message: 'slow down', body: { provider: 'x' } };
    const all = await heard(responseOf([streamOf(['text', 'a'], ['error', error], ['text', 'b'])]));
    expect(all.errors).toEqual([error]);
    expect(all.finished).toHaveLength(1);
    expect(all.finished[0]).toMatchObject({ output: 'ab', context: { type: 'error' } });
  });

  it.each([
    [
      '{"errorType":"InvalidProviderAPIKey","body":{"error":{"message":"no key"},"provider":"x"}}',
      {
        type: 'InvalidProviderAPIKey',
        message: 'no key',
        body: { error: { message: 'no key' }, provider: 'x' },
      },
    ],
    ['{"error":"nope"}', { type: 401, message: 'nope', body: { error: 'nope' } }],
    ['nginx', { type: 401, message: 'nginx' }],
    [
      '<html><head><title>401 No</title></head><body>nginx</body></html>',
      {
        type: 401,
        message: 'Request failed: 401 No, with an HTML page titled "401 No"',
      },
    ],
    ['', { type: 401, message: 'Request failed: 401 No' }],
    ['{"errorType":"X"}', { type: 'X', message: 'Request failed: 401 No (X)' }],
    [
      '{"errorType":"X","body":{"provider":"p"}}',
      { type: 'X', message: 'Request failed: 401 No (X)', body: { provider: 'p' } },
    ],
    [
      '{"errorType":"X","error":{"error":{"message":"deep"}},"provider":"p"}',
      {
        type: 'X',
        message: 'deep',
        body: { error: { error: { message: 'deep' } }, provider: 'p' },
      },
    ],
    ['{"code":7}', { type: 401, message: 'Request failed: 401 No', body: { code: 7 } }],
    ['"as a string"', { type: 401, message: 'as a string', body: 'as a string' }],
    ['null', { type: 401, message: 'Request failed: 401 No' }],
    [
      '{"detail":[{"loc":["body"],"msg":"field required"}]}',
      {
        type: 401,
        message: 'field required',
        body: { detail: [{ loc: ['body'], msg: 'field required' }] },
      },
    ],
    [
      '{"error":"invalid_token","error_description":"It expired."}',
      {
        type: 401,
        message: 'It expired.',
        body: { error: 'invalid_token', error_description: 'It expired.' },
      },
    ],
    [
      '{"title":"Unauthorized","status":401,"detail":"No session."}',
      {
        type: 401,
        message: 'No session.',
        body: { title: 'Unauthorized', status: 401, detail: 'No session.' },
      },
    ],
  ])('reads the error body %s', async (body, error) => {
    const all = await heard(new Response(body, { status: 401, statusText: 'No' }));
    expect(all.errors).toEqual([error]);
    expect([all.finished, all.aborted, all.chunks]).toEqual([[], [], []]);
    expect(all.response?.status).toBe(401);
  });

  it('lets the caller word an HTTP error', async () => {
    const errorMessage = (type: string | number) => (type === 'X' ? 'Nein.' : undefined);
    const all = await heard(new Response('{"errorType":"X"}', { status: 400 }), { errorMessage });
    expect(all.errors).toMatchObject([{ type: 'X', message: 'Nein.' }]);
  });

  it('tells a network failure with what the request was about', async () => {
    const failing = () => Promise.reject(new TypeError('no route'));
    const requestContext = { model: 'm', provider: 'p', apiMode: 'responses', fetchOnClient: true };
    const all = await heard(failing, { requestContext });
    expect(all.errors).toEqual([
      {
        type: 'UnknownChatFetchError',
        message: 'no route',
        body: {
          ...requestContext,
          name: 'TypeError',
          message: 'no route',
          elapsedMs: expect.any(Number) as number,
          networkStatus: true,
        },
      },
    ]);
    expect(all.finished).toEqual([]);
    expect(all.response).toBeUndefined();
  });

  it('passes on what a fetcher throws in the shape of a chat error', async () => {
    const error: unknown = { type: 'AgentRuntimeError', message: 'm', body: {} };
    expect((await heard(throwing(error))).errors).toEqual([error]);
    const thrown: unknown = {
      errorType: 'InvalidProviderAPIKey',
      error: { message: 'key' },
      provider: 'p',
    };
    expect((await heard(throwing(thrown))).errors).toEqual([
      {
        type: 'InvalidProviderAPIKey',
        message: 'key',
        body: { error: { message: 'key' }, provider: 'p' },
      },
    ]);
  });

  it('tells that the body broke, and finishes with what came', async () => {
    let reads = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (reads++ > 0) controller.error(new Error('cut'));
        else controller.enqueue(new TextEncoder().encode(streamOf(['text', 'half'])));
      },
    });
    const all = await heard(new Response(body));
    expect(all.errors).toMatchObject([{ type: 'UnknownChatFetchError', message: 'cut' }]);
    expect(all.finished).toHaveLength(1);
    expect(all.finished[0]).toMatchObject({ output: 'half', context: { type: 'error' } });
  });

  it('rejects with what a callback throws, and stops the answer', async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(streamOf(['text', 'a']))),
      cancel: () => void (cancelled = true),
    });
    const finished = jest.fn();
    const call = fetchSSE('http://localhost/', {
      fetcher: async () => new Response(body),
      responseAnimation: 'none',
      onMessageHandle: () => {
        throw new Error('mine');
      },
      onFinish: finished,
    });
    await expect(call).rejects.toThrow('mine');
    expect(cancelled).toBe(true);
    expect(finished).not.toHaveBeenCalled();
  });

  it.each([
    ['', {}],
    ['http://localhost/', { responseAnimation: 'fast' }],
    ['http://localhost/', { responseAnimation: { speed: 0 } }],
    ['http://localhost/', { onFinish: 1 }],
    ['file:///etc/passwd', {}],
  ])('refuses %j with %j', async (url, options) => {
    await expect(fetchSSE(url, options as FetchSSEOptions)).rejects.toMatchObject({
      name: 'MillraceError',
    });
  });
});

describe('abort of fetchSSE', () => {
  const endless = () =>
    new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode(streamOf(['text', 'so far']))),
    });

  it.each(['none', 'fadeIn', 'smooth'] as const)(
    'hands over all text, tells onAbort once and nobody else (%s)',
    async (responseAnimation) => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(), 30);
      const all = await heard(new Response(endless()), {
        responseAnimation,
        signal: controller.signal,
      });
      expect(textOf(all.chunks).join('')).toBe('so far');
      expect(all.aborted).toEqual(['so far']);
      expect([all.finished, all.errors]).toEqual([[], []]);
    },
  );

  it('takes what a fetcher calls canceled for an abort', async () => {
    for (const reason of [new Error('canceled'), 'canceled'] as Error[]) {
      const all = await heard(() => Promise.reject(reason));
      expect([all.aborted, all.errors]).toEqual([[''], []]);
    }
  });

  it('finishes with the type abort when there is no onAbort', async () => {
    const controller = new AbortController();
    setTimeout(() => controller.abort('canceled'), 20);
    const all = await heard(new Response(endless()), {
      signal: controller.signal,
      onAbort: undefined,
    });
    expect(all.finished).toMatchObject([{ output: 'so far', context: { type: 'abort' } }]);
  });

  it('does not wait for a fetcher that ignores the signal', async () => {
    const all = await heard(() => new Promise(() => undefined), {
      signal: AbortSignal.timeout(10),
    });
    expect(all.aborted).toEqual(['']);
    expect((await heard(new Response(''), { signal: AbortSignal.abort() })).aborted).toEqual(['']);
  });

  it('knows an answer that the server stopped', async () => {
    const all = await heard(responseOf([streamOf(['text', 'a'], ['stop', 'abort'])]));
    expect(all.finished).toMatchObject([{ output: 'a', context: { type: 'abort' } }]);
    expect(all.chunks.at(-1)).toEqual({ type: 'stop', reason: 'abort' });
  });
});

describe('the animation of fetchSSE', () => {
  const family = '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}';
  const flag = '\u{1f1e9}\u{1f1ea}';
  const hard = `e\u0301${family}${flag}a\u{1f600}`;

  // The answer in single UTF-16 units: as hard as a provider can make it.
  const units = (text: string) =>
    streamOf(...text.split('').map((unit): [string, unknown] => ['text', unit]));

  it.each(['none', 'fadeIn', 'smooth'] as const)(
    'splits no character (%s)',
    async (responseAnimation) => {
      const text = hard.repeat(20);
      const all = await heard(responseOf(cut(units(text), 11)), {
        responseAnimation: { text: responseAnimation, speed: 4000 },
      });
      const pieces = textOf(all.chunks);
      expect(pieces.join('')).toBe(text);
      for (const piece of pieces) {
        expect(piece).not.toMatch(/^[\udc00-\udfff]|[\ud800-\udbff]$|\u200d$/);
      }
    },
  );

  it('gives steps of 300 ms, then the rest at once', async () => {
    const parts = ['a', 'b', 'c', 'd', 'e', 'f'];
    let next = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const part = parts[next++];
          if (part === undefined) return controller.close();
          await new Promise((resolve) => setTimeout(resolve, 80));
          controller.enqueue(new TextEncoder().encode(streamOf(['text', part])));
        },
      },
      { highWaterMark: 0 },
    );
    const all = await heard(new Response(body), { responseAnimation: undefined });
    const pieces = textOf(all.chunks);
    expect(pieces.join('')).toBe('abcdef');
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.length).toBeLessThan(6);
  });

  it('flows smoothly and keeps the order of the stream', async () => {
    const words = 'word '.repeat(40);
    let sent = false;
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          if (sent) {
            await new Promise((resolve) => setTimeout(resolve, 300));
            controller.enqueue(new TextEncoder().encode(streamOf(['stop', 'end'])));
            return controller.close();
          }
          sent = true;
          controller.enqueue(
            new TextEncoder().encode(streamOf(['reasoning', 'why'], ['text', words])),
          );
        },
      },
      { highWaterMark: 0 },
    );
    const all = await heard(new Response(body), {
      responseAnimation: { text: 'smooth', speed: 200 },
    });
    expect(all.chunks[0]).toEqual({ type: 'reasoning', text: 'why' });
    expect(all.chunks.at(-1)).toEqual({ type: 'stop', reason: 'end' });
    expect(textOf(all.chunks).length).toBeGreaterThan(2);
    expect(textOf(all.chunks).join('')).toBe(words);
  });

  it('says of each call whether it is being written', async () => {
    const piece = (index: number, id: string) => [{ index, id, function: { name: id } }];
    const body = streamOf(['tool_calls', piece(0, 'a')], ['tool_calls', piece(1, 'b')]);
    const all = await heard(responseOf([body]), {
      responseAnimation: { text: 'fadeIn', toolsCalling: 'smooth' },
    });
    expect(all.chunks).toMatchObject([
      { isAnimationActives: [true] },
      { isAnimationActives: [false, true] },
    ]);
    const calls = (await heard(responseOf([body]), { responseAnimation: 'fadeIn' })).chunks;
    expect(calls.map((chunk) => Object.keys(chunk).sort())).toEqual([
      ['tool_calls', 'type'],
      ['tool_calls', 'type'],
    ]);
  });
});

describe('fetchSSE through the engine', () => {
  it('posts the request and reads the answer', async () => {
    let requested = '';
    const server = await loopback((request, response) => {
      requested = `${request.method} ${request.url} ${String(request.headers['x-mine'])}`;
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(everything);
    });
    try {
      const all = await heard(
        new Response(''),
        {
          fetcher: undefined,
          method: 'POST',
          headers: new Headers({ 'x-mine': '1' }),
          body: '{}',
          transport: 'engine',
        },
        `${server.url}/webapi/chat/x`,
      );
      expect(requested).toBe('POST /webapi/chat/x 1');
      expect(all.finished).toMatchObject([{ output: 'Gr\u00fc\u00df dich \u{1f44b}' }]);
    } finally {
      await server.close();
    }
  });

  it('tells a refused connection', async () => {
    const server = await loopback(() => undefined);
    await server.close();
    const options = { fetcher: undefined, transport: 'engine' } as const;
    const all = await heard(new Response(''), options, server.url);
    expect(all.errors).toMatchObject([
      { type: 'UnknownChatFetchError', body: { code: 'connect_failed' } },
    ]);
  });
});
