// OpenUI's storage endpoints and the lists of the Runtime API: filters, cursors, and messages that no model could be
// sent.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { tool } from 'millrace';

import type { Api, ApiSetUp, Json } from './kit';
import { cleanUp, hosts, serve } from './kit';

const folders: string[] = [];
afterEach(async () => {
  await cleanUp();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const user = { id: 'u1', role: 'user', content: 'x' };
const conversations = '/api/v1/chat/conversations';
const post = (json: unknown) => ({ method: 'POST', json });
const patch = (json: unknown) => ({ method: 'PATCH', json });
const created = async (api: Api, message: unknown = user): Promise<string> =>
  (await api.json('/api/storage/create', 200, post({ messages: [message] }))).id;

const untilStopped: ApiSetUp['agent'] = (_turn, { signal }) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('')));
const approving: ApiSetUp['agent'] = {
  model: 'demo:demo',
  tools: [tool({ name: 'send_postcard', approval: true, run: () => 'sent' })],
};

describe.each(hosts)('the storage endpoints (%s)', (host) => {
  it('filter artifacts by their thread and by each of several types', async () => {
    const api = await serve(host);
    const [first, second] = [await created(api), await created(api)];
    for (const [type, threadId] of [
      ['chart', first],
      ['table', first],
      ['note', second],
    ]) {
      await api.json(
        '/api/storage/artifacts',
        201,
        post({ title: type, type, threadId, content: 1 }),
      );
    }
    const typesOf = async (query: string): Promise<string[]> =>
      (await api.json(`/api/storage/artifacts${query}`, 200)).artifacts
        .map((one: Json) => one.type)
        .sort();
    expect(await typesOf(`?threadId=${second}`)).toEqual(['note']);
    expect(await typesOf('?type=chart&type=table')).toEqual(['chart', 'table']);
    expect(await typesOf('?type=note')).toEqual(['note']);
    expect(await typesOf(`?type=note&threadId=${first}`)).toEqual([]);
  });

  it.each([
    ['works, and what waits for its turn', untilStopped, ['work', 'more'], 'queued,running'],
    ['waits for an approval', approving, ['Write a postcard.'], 'waiting'],
  ])('delete a thread, and stop what %s', async (_what, agent, messages, states) => {
    const api = await serve(host, { agent });
    const threadId = await created(api);
    const jobs: string[] = [];
    for (const message of messages) {
      const job = { message, conversation_id: threadId, on_busy: 'queue' };
      jobs.push((await api.json('/api/v1/chat/jobs', 202, post(job))).job_id);
    }
    const accept = { headers: { accept: 'text/event-stream' } };
    const streams = await Promise.all(
      jobs.map((id) => api.send(`/api/v1/chat/jobs/${id}/events`, accept)),
    );
    const statesOf = async (): Promise<string> =>
      (await api.runtime.list({ threadId })).runs.map(({ state }) => state).join();
    while ((await statesOf()) !== states);
    const gone = await api.send(`/api/storage/delete/${threadId}`, { method: 'DELETE' });
    expect(gone.status).toBe(204);
    expect(await statesOf()).toBe('');
    expect(await api.json(`/api/storage/get/${threadId}`, 200)).toEqual([]);
    for (const stream of streams) {
      const events = (await stream.text()).match(/event: (?:done|error)\ndata: .*/g);
      expect(events).toEqual([expect.stringContaining('"error":"cancelled"')]);
    }
    for (const id of jobs) await api.json(`/api/v1/chat/jobs/${id}`, 404);
  });

  it('answer 404 for a message that the thread does not have', async () => {
    const api = await serve(host);
    const id = await created(api);
    const messages = `/api/storage/messages/${id}`;
    const edited = { messages: [{ role: 'user', content: 'edited' }] };
    const gone = await api.json(`${messages}/none`, 404, patch(edited));
    expect(gone).toMatchObject({ code: 'message_not_found' });
    expect((await api.send(`${messages}/u1`, patch(edited))).status).toBe(204);
  });

  it('change what a PATCH of an artifact names, and nothing else', async () => {
    const api = await serve(host);
    const content = { rows: [1, 2, 3] };
    const made = { title: 'old', type: 'a', threadId: await created(api), content };
    const path = `/api/storage/artifacts/${(await api.json('/api/storage/artifacts', 201, post(made))).id}`;
    await api.json(path, 200, patch({ title: 'new' }));
    expect(await api.json(path, 200)).toMatchObject({ title: 'new', content });
    await api.json(path, 200, patch({ content: null }));
    expect(await api.json(path, 200)).toMatchObject({ title: 'new', content: null });
    expect((await api.send(path, patch({ title: 7 }))).status).toBe(400);
  });

  it('take no message that would stop a thread for good', async () => {
    const api = await serve(host);
    const wrong = [
      {},
      { type: 'human', content: 'x' },
      { role: 'wizard', content: 'x' },
      { role: 'user', content: null },
      'x',
    ];
    const id = await created(api);
    for (const message of wrong) {
      const body = { messages: [message] };
      expect((await api.send('/api/storage/create', post(body))).status).toBe(400);
      expect((await api.send(`/api/storage/messages/${id}/u1`, patch(body))).status).toBe(400);
    }
    const chat = { message: 'hello', conversation_id: id };
    await api.json('/api/v1/chat', 200, post(chat));
    expect(await api.json(`/api/storage/get/${id}`, 200)).toMatchObject([user, {}, {}]);
  });
});

describe.each(hosts.flatMap((host) => [[host, 'memory'] as const, [host, 'file'] as const]))(
  'the lists of the Runtime API (%s, %s)',
  (host, kind) => {
    async function served(): Promise<Api> {
      if (kind === 'memory') return serve(host);
      const folder = mkdtempSync(join(tmpdir(), 'millrace-lists-'));
      folders.push(folder);
      return serve(host, { storage: `file:${join(folder, 'store.db')}` });
    }

    it('go on behind conversations that were deleted', async () => {
      const api = await served();
      for (let at = 0; at < 6; at += 1)
        await api.json(conversations, 201, post({ title: `c${at}` }));
      const seen: string[] = [];
      for (let cursor = '', pages = 0; pages < 9; pages += 1) {
        const page = await api.json(`${conversations}?limit=2${cursor}`, 200);
        for (const { id, title } of page.conversations) {
          seen.push(title);
          await api.json(`${conversations}/${id}`, 200, { method: 'DELETE' });
        }
        if (page.next_cursor === undefined) break;
        cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
      }
      // Those of one millisecond are in the order of their ids.
      expect(seen.sort()).toEqual(['c0', 'c1', 'c2', 'c3', 'c4', 'c5']);
    });

    it('go on behind a run that was deleted', async () => {
      const api = await served();
      for (let at = 0; at < 4; at += 1) {
        const { conversation } = await api.json(conversations, 201, post({ title: `c${at}` }));
        await api.json(
          '/api/v1/chat',
          200,
          post({ message: `m${at}`, conversation_id: conversation.id }),
        );
      }
      const jobs = '/api/v1/chat/jobs?limit=2';
      const first = await api.json(jobs, 200);
      const last = first.jobs[1].conversation_id;
      await api.json(`/api/v1/chat/conversations/${last}`, 200, { method: 'DELETE' });
      const cursor = encodeURIComponent(first.next_cursor);
      const second = await api.json(`${jobs}&cursor=${cursor}`, 200);
      const idsOf = (page: Json): string[] => page.jobs.map((job: Json) => job.job_id);
      expect(idsOf(second)).toHaveLength(2);
      expect(idsOf(first)).not.toEqual(expect.arrayContaining(idsOf(second)));
    });

    it('answer what is no cursor with 400', async () => {
      const api = await served();
      for (const path of ['chat/conversations', 'chat/jobs']) {
        expect((await api.send(`/api/v1/${path}?cursor=zzz`)).status).toBe(400);
      }
    });
  },
);
