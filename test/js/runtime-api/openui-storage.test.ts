// The storage endpoints and a stored agent as OpenUI's own client functions call them.
import type { Message, Thread } from '@openuidev/react-headless';
import {
  agUIAdapter,
  fetchLLM,
  processStreamedMessage,
  restStorage,
} from '@openuidev/react-headless';
import { createAgent } from 'millrace';

import { startModel } from '../../support/agents';
import { type Api, cleanUp, hosts, key, serve, withKey } from './kit';

afterEach(cleanUp);

const question: Message & { role: 'user' } = { id: 'm', role: 'user', content: 'first words' };

// What the client gets as its `fetch`, which reaches the routes of either host.
function fetchOf(api: Api): typeof fetch {
  return ((url: string, init: RequestInit = {}) =>
    api.send(url.slice(api.url.length), {
      ...(init.method !== undefined && { method: init.method }),
      ...(typeof init.body === 'string' && { body: init.body }),
      headers: init.headers as Record<string, string>,
    })) as typeof fetch;
}

const threadsOf = (api: Api, headers: Record<string, string> = withKey) =>
  restStorage({ baseUrl: `${api.url}/api/storage`, headers, fetch: fetchOf(api) }).thread;

describe.each(hosts)("OpenUI's restStorage (%s)", (host) => {
  it('creates, reads, renames and deletes threads', async () => {
    const thread = threadsOf(await serve(host, { api: { keys: [{ key }] } }));
    const made = await thread.createThread(question);
    expect(made).toMatchObject({ id: expect.any(String), title: 'first words' });
    expect(Number.isNaN(new Date(made.createdAt).getTime())).toBe(false);
    expect(await thread.getMessages(made.id)).toEqual([question]);
    const renamed = { ...made, title: 'Renamed' };
    expect(await thread.updateThread(renamed)).toMatchObject({ id: made.id, title: 'Renamed' });
    expect((await thread.listThreads()).threads).toMatchObject([{ id: made.id, title: 'Renamed' }]);
    await thread.deleteThread(made.id);
    expect(await thread.listThreads()).toEqual({ threads: [] });
  });

  it('reads all pages of the threads', async () => {
    const thread = threadsOf(await serve(host, { api: { keys: [{ key }] } }));
    const ids: string[] = [];
    for (let count = 0; count < 55; count += 1) ids.push((await thread.createThread(question)).id);
    const seen: Thread[] = [];
    let cursor: string | undefined;
    let pages = 0;
    do {
      const page = await thread.listThreads(cursor);
      seen.push(...page.threads);
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== undefined);
    expect(pages).toBe(2);
    expect(seen.map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  it('rejects with the status for an unknown thread and without a key', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    const path = `${api.url}/api/storage`;
    expect(await threadsOf(api).getMessages('none')).toEqual([]);
    await expect(
      threadsOf(api).updateThread({ id: 'none', title: 't', createdAt: 1 }),
    ).rejects.toThrow(`restStorage: PATCH ${path}/update/none failed: 404`);
    await expect(threadsOf(api, {}).listThreads()).rejects.toThrow(
      `restStorage: GET ${path}/get failed: 401`,
    );
  });
});

it("stores a turn that OpenUI's fetchLLM sends to an agent of the store", async () => {
  const model = await startModel(() => ({ text: 'the answer' }));
  const api = await serve('listen', { api: { keys: [{ key, principal: 'ada' }] } });
  const agent = createAgent({
    model: 'openai:scripted',
    provider: { baseURL: model.url, apiKey: 'k', maxRetries: 0 },
    runtime: api.runtime,
    name: 'page',
    authorize: () => ({ principal: 'ada' }),
  });
  const thread = threadsOf(api);
  const { id: threadId } = await thread.createThread(question);
  const llm = fetchLLM({
    url: 'http://page.example/agent',
    streamAdapter: agUIAdapter(),
    fetch: ((url: string, init: RequestInit) => agent.handler(new Request(url, init))) as never,
  });
  // The page draws at most once a frame.
  const frames = globalThis as { requestAnimationFrame?: unknown; cancelAnimationFrame?: unknown };
  frames.requestAnimationFrame ??= (draw: (at: number) => void) => setTimeout(() => draw(0), 0);
  frames.cancelAnimationFrame ??= clearTimeout;
  // The messages of the page, whose answers have ids of its own.
  let shown: Message[] = [];
  const { signal } = new AbortController();
  const send = async (message: Message): Promise<void> => {
    shown = [...shown, message];
    await processStreamedMessage({
      response: await llm.send({ threadId, messages: shown, signal }),
      createMessage: (made) => (shown = [...shown, made]),
      updateMessage: (made) => (shown = shown.map((one) => (one.id === made.id ? made : one))),
      adapter: llm.streamProtocol,
    });
  };
  const turns = (messages: readonly Message[]): unknown[] =>
    messages.map(({ role, content }) => [role, content]);
  await send(question);
  const once = [
    ['user', 'first words'],
    ['assistant', 'the answer'],
  ];
  expect(turns(shown)).toEqual(once);
  expect(turns(await thread.getMessages(threadId))).toEqual(once);
  await send({ id: 'm2', role: 'user', content: 'and again' });
  const twice = [...once, ['user', 'and again'], ['assistant', 'the answer']];
  expect(turns(shown)).toEqual(twice);
  expect(turns(await thread.getMessages(threadId))).toEqual(twice);
});
