// fetchLLM, restStorage and inMemoryStorage over real HTTP, by the engine's transport and by fetch.
import {
  agUIAdapter,
  fetchLLM,
  MillraceError,
  openAIAdapter,
  openAIMessageFormat,
  restStorage,
} from 'millrace';
import type { StreamProtocolAdapter } from '../../../types/channels';
import type { AGUIEvent } from '../../../types/events';
import type { Message } from '../../../types/messages';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';

const hello: Message[] = [{ id: 'm1', role: 'user', content: 'Hello' }];
const chat = [
  'data: {"choices":[{"delta":{"role":"assistant","content":"Hi"}}]}\n\n',
  'data: {"choices":[{"delta":{"content":" 世界"}}]}\n\n',
  'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
];

let provider: Provider;
beforeEach(async () => {
  provider = await startProvider(stream(chat));
});
afterEach(async () => {
  await provider.close();
});

function signal(): AbortSignal {
  return new AbortController().signal;
}

async function collect(adapter: StreamProtocolAdapter, response: Response): Promise<AGUIEvent[]> {
  const events: AGUIEvent[] = [];
  for await (const event of adapter.parse(response)) events.push(event);
  return events;
}

function textOf(events: readonly AGUIEvent[]): string {
  return events.map((e) => (e.type === 'TEXT_MESSAGE_CONTENT' ? e.delta : '')).join('');
}

describe.each([
  ['engine', { transport: 'engine' as const }],
  ['fetch', { transport: 'fetch' as const }],
])('fetchLLM by %s', (_name, transport) => {
  it('posts the body of a run and reads the answer', async () => {
    const llm = fetchLLM({
      ...transport,
      url: `${provider.url}/chat`,
      streamAdapter: openAIAdapter(),
      messageFormat: openAIMessageFormat,
      headers: { 'x-tenant': 'acme' },
      body: { model: 'm', threadId: 'cannot be replaced' },
    });
    const response = await llm.send({ threadId: 't', messages: hello, signal: signal() });
    expect(response).toBeInstanceOf(Response);
    expect(response.ok).toBe(true);
    expect(textOf(await collect(llm.streamProtocol, response))).toBe('Hi 世界');
    const call = provider.calls[0];
    expect(call).toMatchObject({ method: 'POST', url: '/chat' });
    expect(call?.headers).toMatchObject({ 'content-type': 'application/json', 'x-tenant': 'acme' });
    expect(JSON.parse(call?.body ?? '')).toEqual({
      model: 'm',
      threadId: 't',
      runId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      tools: [],
      context: [],
      messages: [{ role: 'user', content: 'Hello' }],
    });
  });

  it('gives the response as it is, whatever its status', async () => {
    provider.answer = (response) => {
      response.writeHead(429, { 'content-type': 'application/json', 'x-say': 'slow' });
      response.end('{"error":"slow down"}');
    };
    const llm = fetchLLM({ ...transport, url: provider.url, streamAdapter: agUIAdapter() });
    const response = await llm.send({ threadId: 't', messages: hello, signal: signal() });
    expect(response.status).toBe(429);
    expect(response.headers.get('x-say')).toBe('slow');
    expect(await response.json()).toEqual({ error: 'slow down' });
  });

  it('rejects when it is aborted, before and while it reads, and closes the connection', async () => {
    const llm = fetchLLM({ ...transport, url: provider.url, streamAdapter: openAIAdapter() });
    await expect(
      llm.send({ threadId: 't', messages: hello, signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({ name: 'AbortError' });
    provider.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chat[0]);
    };
    const controller = new AbortController();
    const response = await llm.send({
      threadId: 't',
      messages: hello,
      signal: controller.signal,
    });
    const seen: string[] = [];
    const reading = (async () => {
      for await (const event of llm.streamProtocol.parse(response)) {
        seen.push(event.type);
        if (event.type === 'TEXT_MESSAGE_CONTENT') controller.abort();
      }
    })();
    await expect(reading).rejects.toMatchObject({ name: 'AbortError' });
    expect(seen).toEqual(['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT']);
    await provider.calls.at(-1)?.closed;
  });

  it('closes the connection when the reader leaves the loop', async () => {
    provider.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chat[0]);
    };
    const llm = fetchLLM({ ...transport, url: provider.url, streamAdapter: openAIAdapter() });
    const response = await llm.send({ threadId: 't', messages: hello, signal: signal() });
    for await (const event of llm.streamProtocol.parse(response)) {
      expect(event.type).toBe('TEXT_MESSAGE_START');
      break;
    }
    await provider.calls[0]?.closed;
  });

  it('gives the events before a broken connection, then its error', async () => {
    provider.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(chat[0]);
      setTimeout(() => response.destroy(), 30);
    };
    const llm = fetchLLM({ ...transport, url: provider.url, streamAdapter: openAIAdapter() });
    const response = await llm.send({ threadId: 't', messages: hello, signal: signal() });
    const seen: string[] = [];
    await expect(
      (async () => {
        for await (const event of llm.streamProtocol.parse(response)) seen.push(event.type);
      })(),
    ).rejects.toThrow();
    expect(seen).toEqual(['TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT']);
  });

  it('rejects, not throws, when the message format fails', async () => {
    const llm = fetchLLM({
      ...transport,
      url: provider.url,
      streamAdapter: agUIAdapter(),
      messageFormat: {
        toApi: () => {
          throw new Error('no');
        },
        fromApi: () => [],
      },
    });
    await expect(llm.send({ threadId: 't', messages: hello, signal: signal() })).rejects.toThrow(
      'no',
    );
  });
});

describe('fetchLLM', () => {
  it('reads bytes of the engine, too, as text, as a stream and in a clone', async () => {
    const llm = fetchLLM({ url: provider.url, streamAdapter: openAIAdapter() });
    const send = (): Promise<Response> =>
      llm.send({ threadId: 't', messages: hello, signal: signal() });
    expect(await (await send()).text()).toBe(chat.join(''));
    const twice = await send();
    const copy = twice.clone();
    expect(await twice.text()).toBe(await copy.text());
    const reader = (await send()).body?.getReader();
    expect((await reader?.read())?.value).toBeInstanceOf(Uint8Array);
    await reader?.cancel();
    await provider.calls.at(-1)?.closed;
  });

  it('takes a null body for 204 and names the url', async () => {
    provider.answer = (response) => {
      response.writeHead(204).end();
    };
    const llm = fetchLLM({ url: `${provider.url}/x`, streamAdapter: agUIAdapter() });
    const response = await llm.send({ threadId: 't', messages: hello, signal: signal() });
    expect(response.body).toBeNull();
    expect(response.url).toBe(`${provider.url}/x`);
    await expect(collect(llm.streamProtocol, response)).rejects.toThrow('No response body');
  });

  it("uses the user's fetch and a mocked global fetch", async () => {
    const mock = jest.fn(() => Promise.resolve(new Response(chat.join(''))));
    const own = fetchLLM({ url: '/api/chat', streamAdapter: openAIAdapter(), fetch: mock });
    const send = { threadId: 't', messages: hello, signal: signal() };
    expect(textOf(await collect(own.streamProtocol, await own.send(send)))).toBe('Hi 世界');
    const original = globalThis.fetch;
    globalThis.fetch = mock;
    try {
      const mocked = fetchLLM({ url: '/api/chat', streamAdapter: openAIAdapter() });
      await mocked.send(send);
    } finally {
      globalThis.fetch = original;
    }
    expect(mock).toHaveBeenCalledTimes(2);
    expect(mock).toHaveBeenCalledWith('/api/chat', expect.objectContaining({ method: 'POST' }));
  });

  it('names the fix for wrong options', () => {
    const failure = (make: () => unknown): unknown => {
      try {
        return make();
      } catch (error) {
        return error;
      }
    };
    const bare = failure(() =>
      fetchLLM({ url: 'http://x', streamAdapter: openAIAdapter as never }),
    );
    expect(MillraceError.is(bare, 'invalid_option')).toBe(true);
    expect((bare as Error).message).toContain('openAIAdapter()');
    const relative = failure(() =>
      fetchLLM({ url: '/api', streamAdapter: agUIAdapter(), transport: 'engine' }),
    );
    expect((relative as Error).message).toContain('origin');
    expect(failure(() => fetchLLM(undefined as never))).toBeInstanceOf(Error);
  });

  it('rejects with a typed error when nobody listens', async () => {
    const closed = await startProvider();
    await closed.close();
    const llm = fetchLLM({ url: closed.url, streamAdapter: agUIAdapter() });
    const error: unknown = await llm
      .send({ threadId: 't', messages: hello, signal: signal() })
      .catch((reason: unknown) => reason);
    expect(MillraceError.is(error, 'connect_failed')).toBe(true);
  });
});

describe('restStorage', () => {
  const thread = { id: 'a/b ?', title: 'T', createdAt: 1 };
  const answer = (body: unknown, status = 200) => {
    provider.answer = (response) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(body === undefined ? '' : JSON.stringify(body));
    };
  };
  const lastCall = () => {
    const call = provider.calls.at(-1);
    return { method: call?.method, url: call?.url, body: call?.body };
  };

  it('calls the five endpoints', async () => {
    const storage = restStorage({
      baseUrl: `${provider.url}/api/threads/`,
      messageFormat: openAIMessageFormat,
      headers: { 'x-tenant': 'acme' },
    }).thread;
    answer({ threads: [thread], nextCursor: 'n' });
    expect(await storage.listThreads('c&d')).toEqual({ threads: [thread], nextCursor: 'n' });
    expect(lastCall()).toEqual({ method: 'GET', url: '/api/threads/get?cursor=c%26d', body: '' });
    expect(provider.calls.at(-1)?.headers['x-tenant']).toBe('acme');
    await storage.listThreads();
    expect(lastCall().url).toBe('/api/threads/get');
    answer(thread);
    expect(await storage.createThread({ id: '1', role: 'user', content: 'Hi' })).toEqual(thread);
    expect(lastCall()).toEqual({
      method: 'POST',
      url: '/api/threads/create',
      body: '{"messages":[{"role":"user","content":"Hi"}]}',
    });
    answer([{ role: 'assistant', content: 'Hello' }]);
    expect(await storage.getMessages('a/b ?')).toMatchObject([
      { role: 'assistant', content: 'Hello' },
    ]);
    expect(lastCall().url).toBe('/api/threads/get/a%2Fb%20%3F');
    answer(thread);
    expect(await storage.updateThread(thread)).toEqual(thread);
    expect(lastCall()).toMatchObject({ method: 'PATCH', url: '/api/threads/update/a%2Fb%20%3F' });
    answer(undefined, 204);
    await storage.deleteThread('x');
    expect(lastCall()).toEqual({ method: 'DELETE', url: '/api/threads/delete/x', body: '' });
  });

  it('throws what failed, where, and what the server said', async () => {
    const storage = restStorage({ baseUrl: provider.url }).thread;
    answer({ error: { message: 'no such thread' } }, 404);
    const error: unknown = await storage.getMessages('x').catch((reason: unknown) => reason);
    expect((error as Error).message).toContain(
      `restStorage: GET ${provider.url}/get/x failed: 404`,
    );
    expect((error as Error).message).toContain('no such thread');
    expect(MillraceError.is(error) && error.status).toBe(404);
  });
});
