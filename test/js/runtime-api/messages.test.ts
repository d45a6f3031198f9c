// Single messages of a conversation: read, edited, removed, answered again, and the beginning of another conversation.
import { cleanUp, ended, Gate, hosts, type Api, type Json, runJob, serve, startJob } from './kit';

afterEach(cleanUp);

const conversations = '/api/v1/chat/conversations';

// A conversation with two questions, each answered in two parts.
async function chatOf(host: Parameters<typeof serve>[0]) {
  let answers = 0;
  const api = await serve(host, {
    agent: async ({ text }, ctx) => {
      answers += 1;
      await ctx.send(`${text}: part one`);
      return `part two, ${answers}`;
    },
  });
  const { conversation } = await api.json(conversations, 201, { method: 'POST', json: {} });
  const id: string = conversation.id;
  await runJob(api, 'one', { conversation_id: id });
  await runJob(api, 'two', { conversation_id: id });
  return { api, id, path: `${conversations}/${id}/messages` };
}

const itemsOf = async (api: Api, id: string): Promise<Json[]> =>
  (await api.json(`/api/v1/chat/history?conversation_id=${id}`, 200)).items;
const textsOf = async (api: Api, id: string): Promise<string[]> =>
  (await itemsOf(api, id)).map(({ content }) => content);
const whole = ['one', 'one: part one\n\npart two, 1', 'two', 'two: part one\n\npart two, 2'];

describe.each(hosts)('messages of a conversation (%s)', (host) => {
  it('are read by their ids', async () => {
    const { api, id, path } = await chatOf(host);
    const items = await itemsOf(api, id);
    for (const [at, { message_id, role }] of items.entries()) {
      const { message } = await api.json(`${path}/${message_id}`, 200);
      expect(message).toMatchObject({ message_id, role, message: whole[at] });
    }
    await api.json(`${path}/msg_${'0'.repeat(32)}`, 404);
    await api.json(`${conversations}/none/messages/${items[0].message_id}`, 404);
  });

  it('are edited and removed, answers with all their parts', async () => {
    const { api, id, path } = await chatOf(host);
    const [first, answer] = await itemsOf(api, id);
    const edit = (message: Json, text: string, status = 200) =>
      api.json(`${path}/${message.message_id}`, status, { method: 'PATCH', json: { text } });
    expect((await edit(first, 'eins')).message).toMatchObject({ message: 'eins' });
    expect((await edit(answer, 'kurz')).message).toMatchObject({ message: 'kurz' });
    await edit(first, '', 400);
    expect(await textsOf(api, id)).toEqual(['eins', 'kurz', ...whole.slice(2)]);

    const remove = (message: Json, query = '') =>
      api.json(`${path}/${message.message_id}${query}`, 200, { method: 'DELETE' });
    await remove(answer);
    expect(await textsOf(api, id)).toEqual(['eins', ...whole.slice(2)]);
    await remove((await itemsOf(api, id))[1], '?following=true');
    expect(await textsOf(api, id)).toEqual(['eins']);
  });

  it('begin another conversation', async () => {
    const { api, id, path } = await chatOf(host);
    const [, answer] = await itemsOf(api, id);
    const made = await api.json(`${path}/${answer.message_id}/branch`, 201, {
      method: 'POST',
      json: { title: 'Another way' },
    });
    const other = made.conversation;
    expect(other.id).not.toBe(id);
    expect(other.title).toBe('Another way');
    expect(other.messages.map(({ message }: Json) => message)).toEqual(whole.slice(0, 2));
    await runJob(api, 'three', { conversation_id: other.id });
    expect(await textsOf(api, other.id)).toEqual([
      ...whole.slice(0, 2),
      ...['three', 'three: part one\n\npart two, 3'],
    ]);
    expect(await textsOf(api, id)).toEqual(whole);
  });

  it('begin one without what followed, also at a question', async () => {
    const { api, id, path } = await chatOf(host);
    const [, , second] = await itemsOf(api, id);
    const { conversation } = await api.json(`${path}/${second.message_id}/branch`, 201, {
      method: 'POST',
    });
    expect(await textsOf(api, conversation.id)).toEqual(whole.slice(0, 3));
    const shown = await api.json(`/api/v1/chat/history?conversation_id=${conversation.id}`, 200);
    expect(shown.total).toBe(3);
    expect(JSON.stringify(shown)).not.toContain(whole[3]?.slice(0, 13));
  });

  it('are shown as they were edited in the timeline, too', async () => {
    const { api, id, path } = await chatOf(host);
    const [, answer] = await itemsOf(api, id);
    const edit = { method: 'PATCH', json: { text: 'removed' } };
    await api.json(`${path}/${answer.message_id}`, 200, edit);
    const [, edited, , other] = await itemsOf(api, id);
    const messages = edited.webchat.events.filter(({ event }: Json) => event === 'message');
    expect(messages.map(({ payload }: Json) => payload.content)).toEqual(['removed']);
    expect(edited.webchat.timeline).toMatchObject([{ type: 'message', content: 'removed' }]);
    expect(JSON.stringify(edited)).not.toContain('part');
    expect(other.webchat.timeline).toHaveLength(2);
  });

  it('are answered again, also with another text', async () => {
    const { api, id, path } = await chatOf(host);
    const [first, , , last] = await itemsOf(api, id);
    const again = (message: Json, json: object) =>
      api.json(`${path}/${message.message_id}/regenerate`, 202, { method: 'POST', json });
    const job = await again(last, {});
    expect(await ended(api, job.job_id)).toMatchObject({ status: 'done' });
    expect(await textsOf(api, id)).toEqual([...whole.slice(0, 3), 'two: part one\n\npart two, 3']);
    const other = await again(first, { text: ' uno\n' });
    await ended(api, other.job_id);
    const [question = '', answer = ''] = await textsOf(api, id);
    expect([question.trim(), answer.trim()]).toEqual(['uno', 'uno: part one\n\npart two, 4']);
  });

  it('are answered again once for each key', async () => {
    const { api, id, path } = await chatOf(host);
    const [, answer, , last] = await itemsOf(api, id);
    const again = (message: Json, name: string, status = 202): Promise<Json> =>
      api.json(`${path}/${message.message_id}/regenerate`, status, {
        ...{ method: 'POST', headers: { 'Idempotency-Key': name } },
      });
    const job = await again(last, 'one');
    await ended(api, job.job_id);
    const texts = await textsOf(api, id);
    expect(texts.at(-1)).toBe('two: part one\n\npart two, 3');
    expect(await again(last, 'one')).toMatchObject({ job_id: job.job_id, status: 'done' });
    await again(answer, 'one', 409);
    expect(await textsOf(api, id)).toEqual(texts);
  });

  it.each([
    '{"text": "edited"',
    '[]',
    '"text"',
    '{"text":5,"title":5}',
    '{"text":"  ","title":" "}',
  ])('stay as they are for the body %s', async (body) => {
    const { api, id, path } = await chatOf(host);
    const [first] = await itemsOf(api, id);
    for (const verb of ['branch', 'regenerate']) {
      const at = `${path}/${first.message_id}/${verb}`;
      expect(await api.json(at, 400, { method: 'POST', body })).toHaveProperty('error');
    }
    expect(await textsOf(api, id)).toEqual(whole);
    expect((await api.json(conversations, 200)).conversations).toHaveLength(1);
  });

  it('stay as they are while a job works', async () => {
    const gate = new Gate();
    const api = await serve(host, {
      agent: async (_turn, { signal }) => {
        await gate.wait(signal);
        return 'done';
      },
    });
    const job = await startJob(api, { message: 'one' });
    const path = `${conversations}/${job.conversation_id}/messages`;
    const [question] = await itemsOf(api, job.conversation_id);
    const busy = { error: 'Chat job is still running' };
    const at = `${path}/${question.message_id}`;
    const edit = { method: 'PATCH', json: { text: 'two' } };
    expect(await api.json(at, 409, edit)).toMatchObject(busy);
    expect(await api.json(at, 409, { method: 'DELETE' })).toMatchObject(busy);
    expect(await api.json(`${at}/regenerate`, 409, { method: 'POST' })).toMatchObject(busy);
    gate.open();
    await ended(api, job.job_id);
    expect(await textsOf(api, job.conversation_id)).toEqual(['one', 'done']);
  });
});
