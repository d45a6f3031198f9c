// fetchLLM over the engine's transport, against a real server.
import { gzipSync } from 'node:zlib';

import type { FetchLLMOptions } from 'millrace';
import { MillraceError, agUIAdapter, fetchLLM, openAIAdapter, openAIMessageFormat } from 'millrace';

import { all, iteratorOf, named, sse } from '../support/responses';
import type { Loopback } from '../support/server';
import { bodyOf, loopback, routes, until } from '../support/server';

const chunk = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const hello = sse(chunk('Hel'), chunk('lo'), {
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
});
const helloEvents = [
  { type: 'TEXT_MESSAGE_START', messageId: '<1>', role: 'assistant' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: '<1>', delta: 'Hel' },
  { type: 'TEXT_MESSAGE_CONTENT', messageId: '<1>', delta: 'lo' },
  { type: 'TEXT_MESSAGE_END', messageId: '<1>' },
];
const sseHead = { 'Content-Type': 'text/event-stream' };

let backend: Loopback;
const closed = { endless: 0, flood: 0, lingering: 0 };
let flooded = 0;

beforeAll(async () => {
  backend = await loopback(
    routes({
      '/hello': (_request, response) => response.writeHead(200, sseHead).end(hello),
      '/agui': (_request, response) =>
        response.writeHead(200, sseHead).end(sse({ type: 'A', n: 1 }, { type: 'B', s: '\ud800' })),
      '/echo': async (request, response) => {
        const body = await bodyOf(request);
        response
          .writeHead(200, { 'X-Twice': ['a', 'b'], 'Content-Type': 'application/json' })
          .end(JSON.stringify({ method: request.method, headers: request.headers, body }));
      },
      '/gzip': (_request, response) =>
        response.writeHead(200, { ...sseHead, 'Content-Encoding': 'gzip' }).end(gzipSync(hello)),
      '/status': (request, response) => {
        const status = Number(new URL(request.url ?? '', 'http://x').searchParams.get('code'));
        response.writeHead(status, { 'X-A': 'b' }).end(status === 503 ? 'busy' : undefined);
      },
      '/moved': (_request, response) => response.writeHead(307, { Location: '/hello' }).end(),
      '/lingering': (_request, response) => {
        response.writeHead(200, sseHead).write(`${hello}data: [DONE]\n\n`);
        response.on('close', () => (closed.lingering += 1));
      },
      '/endless': (_request, response) => {
        response.writeHead(200, sseHead).write(sse(chunk('Hel')));
        response.on('close', () => (closed.endless += 1));
      },
      '/silent': (_request, response) => void response.on('close', () => (closed.endless += 1)),
      '/cut': (_request, response) => {
        response.writeHead(200, sseHead).write(sse(chunk('Hel')));
        setTimeout(() => response.destroy(), 20);
      },
      '/flood': (_request, response) => {
        response.writeHead(200, sseHead);
        const piece = sse(chunk('x'.repeat(1000)));
        const write = () => {
          for (let more = true; more && flooded < 64e6; flooded += piece.length) {
            more = response.write(piece);
          }
        };
        response.on('drain', write).on('close', () => (closed.flood += 1));
        write();
      },
    }),
  );
});
afterAll(() => backend.close());

const channel = (path: string, options: Partial<FetchLLMOptions> = {}) =>
  fetchLLM({
    url: backend.url + path,
    streamAdapter: openAIAdapter(),
    transport: 'engine',
    ...options,
  });
const send = (path: string, options: Partial<FetchLLMOptions> = {}, signal?: AbortSignal) =>
  channel(path, options).send({
    threadId: 't',
    messages: [{ id: 'u', role: 'user', content: 'hi' }],
    signal: signal ?? new AbortController().signal,
  });

describe('send()', () => {
  it('posts the body that AG-UI servers expect', async () => {
    const response = await send('/echo', {
      messageFormat: openAIMessageFormat,
      headers: { authorization: 'Bearer x', 'content-type': 'application/vnd.x+json' },
      body: { model: 'm', threadId: 'no', messages: 'no' },
    });
    const { method, headers, body } = (await response.json()) as {
      method: string;
      headers: Record<string, string>;
      body: string;
    };
    expect(method).toBe('POST');
    expect(headers).toMatchObject({
      authorization: 'Bearer x',
      'content-type': 'application/vnd.x+json',
    });
    const { runId, ...rest } = JSON.parse(body) as Record<string, unknown>;
    expect(runId).toMatch(/^[0-9a-f-]{36}$/);
    expect(rest).toEqual({
      model: 'm',
      threadId: 't',
      tools: [],
      context: [],
      messages: [{ role: 'user', content: 'hi' }],
    });
  });

  it('writes headers as the Fetch standard does, and refuses what they cannot carry', async () => {
    const headers = { 'X-Name': 'gr\u00fc\u00df', 'X-Blank': ' \tx y\t ', 'X-None': '' };
    const { headers: came } = (await (await send('/echo', { headers })).json()) as {
      headers: Record<string, string>;
    };
    // Node reads the bytes of a header as Latin-1.
    expect(came).toMatchObject({ 'x-name': 'gr\u00fc\u00df', 'x-blank': 'x y', 'x-none': '' });
    const wrong: Record<string, string>[] = [
      { a: '\u20ac' },
      { a: 'x\r\nb: c' },
      { a: 'x\0' },
      { '': 'x' },
      { 'a b': 'x' },
      { 'a:': 'x' },
    ];
    for (const one of wrong) {
      const error: unknown = await send('/echo', { headers: one }).catch((e: unknown) => e);
      expect([one, MillraceError.is(error, 'invalid_argument')]).toEqual([one, true]);
    }
  });

  it('resolves with a standard Response', async () => {
    const response = await send('/echo');
    expect(response).toBeInstanceOf(Response);
    expect(response).toMatchObject({ status: 200, ok: true, redirected: false, bodyUsed: false });
    expect(response.url).toBe(`${backend.url}/echo`);
    expect(response.headers.get('x-twice')).toBe('a, b');
    await response.arrayBuffer();
    expect(response.bodyUsed).toBe(true);
  });

  it.each([400, 404, 429, 500, 503])('resolves with status %d', async (status) => {
    const response = await send(`/status?code=${status}`);
    expect(response).toMatchObject({ status, ok: false });
    expect(await response.text()).toBe(status === 503 ? 'busy' : '');
  });

  it.each([204, 205, 304])('resolves with status %d and no body', async (status) => {
    const response = await send(`/status?code=${status}`);
    expect(response).toMatchObject({ status, body: null });
    expect(response.headers.get('x-a')).toBe('b');
  });

  it('follows redirects and tells so', async () => {
    const response = await send('/moved');
    expect(response).toMatchObject({ redirected: true, url: `${backend.url}/hello` });
    expect(named(await all(openAIAdapter().parse(response)))).toEqual(helloEvents);
  });

  it('rejects with a typed error when nobody listens', async () => {
    const spare = await loopback(() => undefined);
    await spare.close();
    const llm = fetchLLM({
      url: spare.url,
      streamAdapter: openAIAdapter(),
      transport: 'engine',
    });
    const { signal } = new AbortController();
    const error: unknown = await llm
      .send({ threadId: 't', messages: [], signal })
      .catch((e: unknown) => e);
    expect(MillraceError.is(error, 'connect_failed')).toBe(true);
    expect((error as MillraceError).retryable).toBe(true);
  });

  it('ends an answer whose end mark came, though its connection stays open', async () => {
    const response = await send('/lingering', { timeouts: { idle: 60_000 } });
    const events = await all(openAIAdapter().parse(response));
    expect(named(events)).toEqual(helloEvents);
    await until(() => closed.lingering === 1, 'the server saw the connection close');
  });

  it('rejects with the reason of a signal that aborts, before and after it is sent', async () => {
    const reason = new Error('changed my mind');
    await expect(send('/hello', {}, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const sent = send('/silent', {}, controller.signal);
    const before = closed.endless;
    setTimeout(() => controller.abort(), 30);
    await expect(sent).rejects.toMatchObject({ name: 'AbortError' });
    await until(() => closed.endless > before, 'the server saw the connection close');
  });

  it('takes a signal that knows no reason, as those of stand-ins for a browser', async () => {
    const aborted = Object.assign(new EventTarget(), { aborted: true });
    const rejection = { name: 'AbortError' };
    await expect(send('/hello', {}, aborted as never)).rejects.toMatchObject(rejection);
    const later = Object.assign(new EventTarget(), { aborted: false });
    const sent = send('/silent', {}, later as never);
    setTimeout(() => later.dispatchEvent(new Event('abort')), 30);
    await expect(sent).rejects.toMatchObject(rejection);
  });

  it('rejects what messageFormat throws', async () => {
    const broken = new Error('cannot convert');
    const messageFormat = {
      toApi: () => {
        throw broken;
      },
      fromApi: () => [],
    };
    await expect(send('/hello', { messageFormat })).rejects.toBe(broken);
  });

  it('keeps to its limits in time', async () => {
    const error: unknown = await send('/silent', { timeouts: { firstByte: 50 } }).catch(
      (e: unknown) => e,
    );
    expect(MillraceError.is(error, 'first_byte_timeout')).toBe(true);
  });
});

describe('the body', () => {
  it('gives its bytes to whoever reads it', async () => {
    expect(await (await send('/hello')).text()).toBe(hello);
    expect(await (await send('/gzip')).text()).toBe(hello);
    const reader = ((await send('/hello')).body as ReadableStream<Uint8Array>).getReader({
      mode: 'byob',
    });
    const { value } = await reader.read(new Uint8Array(10));
    expect(Buffer.from(value as Uint8Array).toString()).toBe(hello.slice(0, 10));
    await reader.cancel();
  });

  it('can be cloned', async () => {
    const response = await send('/hello');
    const copy = response.clone();
    expect(named(await all(openAIAdapter().parse(response)))).toEqual(helloEvents);
    expect(await copy.text()).toBe(hello);
  });

  it('is decoded by the engine when an adapter reads it first', async () => {
    for (const path of ['/hello', '/gzip']) {
      const response = await send(path);
      expect(named(await all(openAIAdapter().parse(response)))).toEqual(helloEvents);
      expect(response.bodyUsed).toBe(true);
      await expect(response.text()).rejects.toMatchObject({ name: 'TypeError' });
    }
  });

  it('keeps the values of AG-UI events as they are', async () => {
    const events = await all(agUIAdapter().parse(await send('/agui')));
    expect(events).toEqual([
      { type: 'A', n: 1 },
      { type: 'B', s: '\ud800' },
    ]);
  });

  it('is not shared by two readers', async () => {
    const response = await send('/hello');
    await iteratorOf(openAIAdapter().parse(response)).next();
    const error: unknown = await all(openAIAdapter().parse(response)).catch((e: unknown) => e);
    expect(MillraceError.is(error, 'response_used')).toBe(true);
  });

  it('ends with a typed error after the events before it when the connection breaks', async () => {
    const seen: unknown[] = [];
    const error: unknown = await (async () => {
      for await (const event of openAIAdapter().parse(await send('/cut'))) seen.push(event);
      return undefined;
    })().catch((e: unknown) => e);
    expect(named(seen)).toEqual(helloEvents.slice(0, 2));
    expect(MillraceError.is(error, 'connection_lost')).toBe(true);
  });

  it.each(['events', 'bytes'])(
    'of which %s are read ends with the reason of an abort',
    async (kind) => {
      const controller = new AbortController();
      const reason = new Error('enough');
      const response = await send('/endless', {}, controller.signal);
      const before = closed.endless;
      const reading = kind === 'events' ? all(openAIAdapter().parse(response)) : response.text();
      setTimeout(() => controller.abort(reason), 30);
      await expect(reading).rejects.toBe(reason);
      await until(() => closed.endless > before, 'the server saw the connection close');
    },
  );

  it('of which nothing is read shows an abort, too', async () => {
    const controller = new AbortController();
    const response = await send('/endless', {}, controller.signal);
    controller.abort();
    await expect(response.text()).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('closes the connection when its reader leaves', async () => {
    const before = closed.endless;
    const response = await send('/endless');
    for await (const event of openAIAdapter().parse(response)) if (event) break;
    const bytes = (await send('/endless')).body as ReadableStream<Uint8Array>;
    await bytes.cancel();
    const read = ((await send('/endless')).body as ReadableStream<Uint8Array>).getReader();
    await read.read();
    await read.cancel();
    await until(() => closed.endless === before + 3, 'three connections closed');
  });

  it('that nobody reads stops the server, and loses nothing', async () => {
    const response = await send('/flood');
    let seen = -1;
    await until(() => {
      const same = seen === flooded;
      seen = flooded;
      return same && seen > 0;
    }, 'the server stopped');
    await new Promise((resolve) => setTimeout(resolve, 100));
    const stopped = flooded;
    expect(stopped).toBeLessThan(32e6);
    const events = iteratorOf(openAIAdapter().parse(response));
    for (let read = 0; read < 2 * stopped; read += 1000) {
      const { done } = await events.next();
      if (done) break;
    }
    expect(flooded).toBeGreaterThan(stopped);
    await events.return?.();
    await until(() => closed.flood === 1, 'the server saw the connection close');
  });
});

describe('the choice of the transport', () => {
  const own = globalThis.fetch;
  afterEach(() => (globalThis.fetch = own));

  const options = () => ({ url: `${backend.url}/hello`, streamAdapter: openAIAdapter() });
  const params = () => ({ threadId: 't', messages: [], signal: new AbortController().signal });

  it('takes a fetch that is given', async () => {
    const fetch = jest.fn(() => Promise.resolve(new Response('given')));
    const response = await fetchLLM({ ...options(), fetch: fetch as never }).send(params());
    expect(await response.text()).toBe('given');
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  it('takes a global fetch that was replaced, once, when the channel is made', async () => {
    const mock = jest.fn(() => Promise.resolve(new Response('mock')));
    globalThis.fetch = mock as never;
    const llm = fetchLLM({ ...options(), url: '/relative' });
    globalThis.fetch = own;
    expect(await (await llm.send(params())).text()).toBe('mock');
    const engine = fetchLLM(options());
    globalThis.fetch = mock as never;
    expect(await (await engine.send(params())).text()).toBe(hello);
    expect(mock).toHaveBeenCalledTimes(1);
  });

  it("tells Node's own dispatchers from those that tests and proxies put in their place", async () => {
    class Agent {}
    class Dispatcher1Wrapper {}
    class MockAgent {}
    const slots = globalThis as Record<symbol, unknown>;
    const [older, newer] = ['1', '2'].map((n) => Symbol.for(`undici.globalDispatcher.${n}`)) as [
      symbol,
      symbol,
    ];
    const before = [slots[older], slots[newer]];
    const agentOf = async (one: unknown, two: unknown) => {
      [slots[older], slots[newer]] = [one, two];
      const llm = fetchLLM({ ...options(), url: `${backend.url}/echo` });
      [slots[older], slots[newer]] = before;
      const { headers } = (await (await llm.send(params())).json()) as {
        headers: Record<string, string>;
      };
      return headers['user-agent']?.split('/')[0];
    };
    expect(await agentOf(undefined, undefined)).toBe('millrace');
    expect(await agentOf(new Agent(), undefined)).toBe('millrace');
    expect(await agentOf(new Dispatcher1Wrapper(), new Agent())).toBe('millrace');
    expect(await agentOf(new MockAgent(), undefined)).toBe('node');
    expect(await agentOf(new Dispatcher1Wrapper(), new MockAgent())).toBe('node');
  });

  it('takes the global fetch when told to, and the engine when told to', async () => {
    const spy = jest.spyOn(globalThis, 'fetch');
    await (await fetchLLM({ ...options(), transport: 'fetch' }).send(params())).text();
    expect(spy).toHaveBeenCalledTimes(1);
    await (await fetchLLM({ ...options(), transport: 'engine' }).send(params())).text();
    expect(spy).toHaveBeenCalledTimes(1);
    spy.mockRestore();
  });

  it('resolves a relative url against origin, and names the option without one', async () => {
    const relative = { ...options(), url: '/hello' };
    const llm = fetchLLM({ ...relative, origin: backend.url });
    expect(await (await llm.send(params())).text()).toBe(hello);
    expect(() => fetchLLM(relative)).toThrow(/url '\/hello' is relative.*origin/);
    expect(() => fetchLLM({ ...relative, origin: 'nowhere' })).toThrow(/origin must be/);
    expect(() => fetchLLM({ ...relative, url: 'ftp://a/' })).toThrow(/must be an http/);
  });

  it('does so for a fetch as well, which may take relative ones without origin', async () => {
    const relative = { ...options(), url: '/hello', origin: backend.url };
    const sent = async (more: object) => {
      const response = await fetchLLM({ ...relative, ...more }).send(params());
      return response.text();
    };
    expect(await sent({ transport: 'fetch' })).toBe(hello);
    expect(await sent({ fetch: own })).toBe(hello);
    globalThis.fetch = (...sending) => own(...sending);
    expect(await sent({})).toBe(hello);
    globalThis.fetch = own;
    const withOwn = { ...relative, transport: 'fetch', origin: undefined } as const;
    expect(() => fetchLLM(withOwn)).toThrow(/url '\/hello' is relative.*origin/);
    expect(() => fetchLLM({ ...relative, fetch: own, origin: 'nowhere' })).toThrow(/origin must/);
    const requested: unknown[] = [];
    const mock = ((address: unknown) => {
      requested.push(address);
      return Promise.resolve(new Response('mock'));
    }) as never;
    expect(await sent({ fetch: mock, origin: undefined })).toBe('mock');
    expect(await sent({ fetch: mock, url: `${backend.url}/a b` })).toBe('mock');
    expect(requested).toEqual(['/hello', `${backend.url}/a b`]);
  });
});

describe('wrong arguments of send()', () => {
  it.each([
    ['none', undefined],
    ['no messages', { threadId: 't' }],
    ['a signal that is none', { threadId: 't', messages: [], signal: 5 }],
  ])('%s: is refused before anything is sent', async (_what, params) => {
    const llm = fetchLLM({ url: `${backend.url}/endless`, streamAdapter: openAIAdapter() });
    await expect(llm.send(params as never)).rejects.toMatchObject({ code: 'invalid_argument' });
  });
});

describe('wrong options', () => {
  const good = { url: 'http://127.0.0.1/', streamAdapter: openAIAdapter() };

  it.each([
    ['no options', undefined, /takes an object/],
    ['no url', { ...good, url: undefined }, /url must be a non-empty string/],
    ['a bare factory', { ...good, streamAdapter: openAIAdapter }, /Call it.*openAIAdapter\(\)/],
    ['no adapter', { ...good, streamAdapter: {} }, /streamAdapter must be an adapter/],
    [
      'half a format',
      { ...good, messageFormat: { toApi: () => 0 } },
      /messageFormat must be an object with toApi and fromApi/,
    ],
    ['a header that is no text', { ...good, headers: { a: 1 } }, /header a must be a string/],
    [
      'headers that are a Headers',
      { ...good, headers: new Headers({ a: 'b' }) },
      /headers must be/,
    ],
    ['a body that is no object', { ...good, body: 'x' }, /body must be an object/],
    ['a body that is a list', { ...good, body: ['x'] }, /body must be an object/],
    ['a fetch that is none', { ...good, fetch: 'x' }, /fetch must be a function/],
    ['another transport', { ...good, transport: 'x' }, /'engine' or 'fetch'/],
    ['a wrong timeout', { ...good, timeouts: { idle: -1 } }, /timeouts.idle must be/],
  ])('are refused by name: %s', (_name, options, message) => {
    let error: unknown;
    try {
      fetchLLM(options as never);
    } catch (thrown) {
      error = thrown;
    }
    expect(MillraceError.is(error, 'invalid_option')).toBe(true);
    expect((error as Error).message).toMatch(message);
  });
});
