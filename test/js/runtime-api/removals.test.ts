// A message beside the removal of what it is for: one comes before the other.
import { startModel } from '../../support/agents';

import { cleanUp, hosts, type Api, type Json, serve } from './kit';

afterEach(cleanUp);

const pairs = 40;

const soon = (at: number): Promise<void> =>
  at % 3 === 0 ? Promise.resolve() : new Promise((resolve) => setTimeout(resolve, (at % 3) - 1));

async function newConversation(api: Api, message: string): Promise<string> {
  const path = '/api/v1/chat/conversations';
  const { conversation } = await api.json(path, 201, { method: 'POST', json: { title: 'Mine' } });
  await api.json('/api/v1/chat', 200, {
    method: 'POST',
    json: { message, conversation_id: conversation.id },
  });
  return conversation.id;
}

// Both at once, or one a moment later: their answers.
async function together(api: Api, id: string, message: string, removal: string, at: number) {
  const json = { message, conversation_id: id };
  const posted = api.send('/api/v1/chat', { method: 'POST', json });
  await soon(at);
  const removed = api.send(removal, { method: 'DELETE' });
  const [post, remove] = await Promise.all([posted, removed]);
  await Promise.all([post.text(), remove.text()]);
  return { post: post.status, remove: remove.status };
}

describe.each(hosts)('%s', (host) => {
  test('a conversation that was removed does not come back with a command of that moment', async () => {
    const api = await serve(host, {
      prepare: (runtime) =>
        runtime.command({ name: 'ping', allow_in_private: true, run: () => 'pong' }),
    });
    for (let at = 0; at < pairs; ++at) {
      const id = await newConversation(api, 'old');
      const path = `/api/v1/chat/conversations/${id}`;
      const { post, remove } = await together(api, id, '/ping', path, at);
      if (remove === 200) {
        // The command was answered before, or there was no conversation for it.
        expect([200, 404]).toContain(post);
        await api.json(`/api/v1/chat/history?conversation_id=${id}`, 404);
      } else {
        expect({ post, remove }).toEqual({ post: 200, remove: 409 });
      }
    }
  }, 60_000);

  test('the model does not read a history that was removed before its turn', async () => {
    const read = new Map<string, boolean>();
    const model = await startModel((body: Json) => {
      const text = JSON.stringify(body.messages);
      read.set(/new\d+/.exec(text)?.[0] ?? '', text.includes('secret'));
      return { text: 'answer' };
    });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:scripted', provider } });
    for (let at = 0; at < pairs; ++at) {
      const id = await newConversation(api, 'secret');
      const path = `/api/v1/chat/history?conversation_id=${id}`;
      const { post, remove } = await together(api, id, `new${at}`, path, at);
      const { items } = await api.json(`/api/v1/chat/history?conversation_id=${id}`, 200);
      const has = (text: string) => items.some((item: Json) => item.content === text);
      expect(post).toBe(200);
      // Removed before the turn: the new question is there and was answered alone. Behind it: nothing is there.
      if (remove === 200 && has(`new${at}`)) expect(read.get(`new${at}`)).toBe(false);
      expect(has('secret')).toBe(remove === 409);
    }
  }, 60_000);
});
