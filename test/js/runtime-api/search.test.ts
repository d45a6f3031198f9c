// Search in conversations, whole conversations as files, and histories that are read by the ids of messages.
import { type Api, cleanUp, hosts, type Json, serve } from './kit';

afterEach(cleanUp);

const send = async (api: Api, message: string, conversation?: string): Promise<void> => {
  const json = { message, ...(conversation && { conversation_id: conversation }) };
  await api.json('/api/v1/chat', 200, { method: 'POST', json });
};
const create = async (api: Api, title: string): Promise<string> => {
  const call = { method: 'POST', json: { title } };
  return (await api.json('/api/v1/chat/conversations', 201, call)).conversation.id;
};
const search = (api: Api, query: string, status = 200): Promise<Json> =>
  api.json(`/api/v1/chat/search?${query}`, status);

async function allOf(api: Api, query: string): Promise<Json[]> {
  const items: Json[] = [];
  let cursor = '';
  for (;;) {
    const page = await search(api, `${query}&cursor=${encodeURIComponent(cursor)}`);
    items.push(...page.items);
    if (page.next_cursor === null) return items;
    cursor = page.next_cursor;
  }
}

describe.each(hosts)('search (%s)', (host) => {
  it('finds messages of all conversations, the latest first', async () => {
    const api = await serve(host);
    const first = await create(api, 'First');
    await send(api, 'The red BALLOON', first);
    const second = await create(api, 'Second');
    await send(api, 'no match', second);
    await send(api, `${'ö'.repeat(100)} a balloon ${'ü'.repeat(300)}`, second);
    const found = await search(api, 'q=balloon');
    expect(found.items.map((item: Json) => [item.title, item.role])).toEqual([
      ...[
        ['Second', 'bot'],
        ['Second', 'user'],
      ],
      ...[
        ['First', 'bot'],
        ['First', 'user'],
      ],
    ]);
    expect(found).toMatchObject({ count: 4, next_cursor: null });
    expect(found.items[3]).toMatchObject({ conversation_id: first, snippet: 'The red BALLOON' });
    expect(found.items[1].snippet).toMatch(/^\.\.\.ö+ a balloon ü+\.\.\.$/);
    const { message_id: id } = found.items[3];
    const one = await api.json(`/api/v1/chat/conversations/${first}/messages/${id}`, 200);
    expect(one.message.message).toBe('The red BALLOON');
    expect((await search(api, `q=balloon&conversation_id=${first}&role=user`)).count).toBe(1);
    expect((await search(api, 'q=nothing')).items).toEqual([]);
    expect((await search(api, 'q=x&conversation_id=none')).items).toEqual([]);
  });

  it('finds letters of every script in both cases, and shows the text as it is', async () => {
    const api = await serve(host);
    const conversation = await create(api, 'Words');
    await send(api, 'ÄRGER, Москва, \u212A, Σίσυφος', conversation);
    for (const query of ['ärger', 'МОСКВА', 'K', 'σίσυφοΣ']) {
      const found = await search(api, `role=user&q=${encodeURIComponent(query)}`);
      expect(found.items.map((item: Json) => item.snippet)).toEqual([
        'ÄRGER, Москва, \u212A, Σίσυφος',
      ]);
    }
  });

  it('gives every match once over its pages', async () => {
    const api = await serve(host);
    const ids: string[] = [];
    for (let at = 0; at < 20; at += 1) {
      ids.push(await create(api, `T${at}`));
      for (let turn = 0; turn < at % 3; turn += 1) await send(api, `needle ${at}.${turn}`, ids[at]);
    }
    const whole = await allOf(api, 'q=needle&limit=100');
    expect(whole).toHaveLength(2 * (6 + 2 * 6 + 1));
    for (const limit of [1, 3, 7]) {
      expect(await allOf(api, `q=needle&limit=${limit}`)).toEqual(whole);
    }
    expect(await allOf(api, `q=needle&limit=1&conversation_id=${ids[2]}`)).toHaveLength(4);
  });

  it('keeps the order of conversations that began in the same millisecond', async () => {
    const api = await serve(host);
    for (let at = 0; at < 60; at += 1) await create(api, `T${at}`);
    const { conversations } = await api.json('/api/v1/chat/conversations?limit=100', 200);
    const titles = Array.from({ length: 60 }, (_, at) => `T${59 - at}`);
    expect(conversations.map(({ title }: Json) => title)).toEqual(titles);
  });

  it('goes on behind a conversation that was removed or changed', async () => {
    const api = await serve(host);
    const ids: string[] = [];
    for (let at = 0; at < 4; at += 1) {
      ids.push(await create(api, `T${at}`));
      await send(api, `needle ${at}`, ids[at]);
    }
    const rest = async (cursor: string): Promise<string[]> => {
      const query = `q=needle&limit=100&cursor=${encodeURIComponent(cursor)}`;
      return (await search(api, query)).items.map(({ title, role }: Json) => `${title} ${role}`);
    };
    const { next_cursor: inSecond, items } = await search(api, 'q=needle&limit=3');
    expect(items.map(({ title }: Json) => title)).toEqual(['T3', 'T3', 'T2']);
    await send(api, 'something else', ids[2]);
    const older = ['T1 bot', 'T1 user', 'T0 bot', 'T0 user'];
    expect(await rest(inSecond)).toEqual(['T2 user', ...older]);
    await api.json(`/api/v1/chat/conversations/${ids[2]}`, 200, { method: 'DELETE' });
    expect(await rest(inSecond)).toEqual(older);
    const { next_cursor: behindThird } = await search(api, 'q=needle&limit=2');
    await api.json(`/api/v1/chat/conversations/${ids[3]}`, 200, { method: 'DELETE' });
    expect(await rest(behindThird)).toEqual(older);
    await search(api, 'q=needle&cursor=none', 400);
  });

  it('rejects what it cannot look for', async () => {
    const api = await serve(host);
    expect(await search(api, 'q=%20', 400)).toEqual({ error: 'q is required' });
    expect(await search(api, `q=${'x'.repeat(201)}`, 400)).toEqual({ error: 'q is too long' });
    expect(await search(api, 'q=a&role=system', 400)).toEqual({
      error: 'role must be user or bot',
    });
  });
});

it('finds nothing of another principal', async () => {
  const keys = ['ada', 'bob'].map((name) => ({ key: `key-of-${name}`, principal: name }));
  const api = await serve('listen', { api: { keys } });
  const as = (name: string) => ({ headers: { 'X-Millrace-API-Key': `key-of-${name}` } });
  const message = { method: 'POST', json: { message: 'treasure' }, ...as('ada') };
  await api.json('/api/v1/chat', 200, message);
  expect((await api.json('/api/v1/chat/search?q=treasure', 200, as('ada'))).count).toBe(2);
  expect((await api.json('/api/v1/chat/search?q=treasure', 200, as('bob'))).count).toBe(0);
});

describe.each(hosts)('a conversation as a file (%s)', (host) => {
  it('has what is stored as lines of JSON, and what is shown as Markdown', async () => {
    const api = await serve(host);
    const id = await create(api, 'Plans: a/b');
    await send(api, 'What now?\n\nTell me.', id);
    const path = `/api/v1/chat/conversations/${id}/export`;
    const lines = await api.send(path);
    expect(lines.headers.get('content-type')).toMatch(/^application\/x-ndjson/);
    expect(lines.headers.get('content-disposition')).toMatch(
      /^attachment; filename="[^"/]*\.jsonl"/,
    );
    const rows = (await lines.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(rows.map(({ type }: Json) => type)).toEqual(['conversation', 'message', 'message']);
    expect(rows[0].conversation).toMatchObject({ id, title: 'Plans: a/b' });
    expect(rows[1].message).toMatchObject({ role: 'user', content: 'What now?\n\nTell me.' });
    expect(rows[2].message).toMatchObject({ role: 'assistant' });
    const text = await api.send(`${path}?format=markdown`);
    expect(text.headers.get('content-type')).toMatch(/^text\/markdown/);
    expect(await text.text()).toMatch(
      /^# Plans: a\/b\n\n## User, [-0-9: ]+\n\nWhat now\?\n\nTell me\.\n\n## Assistant, [-0-9: ]+\n\necho: What now/,
    );
    expect(await api.json(`${path}?format=pdf`, 400)).toEqual({
      error: 'format must be jsonl or markdown',
    });
    await api.json('/api/v1/chat/conversations/none/export', 404);
  });

  it('has nothing of what pipelines left for the agent alone', async () => {
    const api = await serve(host, {
      agent: () => Promise.resolve('done'),
      prepare: (runtime) =>
        runtime.pipeline('hint', ({ text }) => ({ text: `${text}!`, note: 'internal hint' })),
    });
    const id = await create(api, 'Noted');
    await send(api, 'hello', id);
    for (const format of ['jsonl', 'markdown']) {
      const path = `/api/v1/chat/conversations/${id}/export?format=${format}`;
      const text = await (await api.send(path)).text();
      expect(text).toMatch(/hello!/);
      expect(text).not.toMatch(/internal hint|"notes"|"pipelines"/);
    }
  });
});

describe.each(hosts)('histories by id (%s)', (host) => {
  it('give the messages before a message, also when others were removed', async () => {
    const api = await serve(host);
    for (const text of ['a', 'b', 'c']) await send(api, text);
    const page = await api.json('/api/v1/chat/history?limit=2', 200);
    const before = await api.json(
      `/api/v1/chat/history?limit=3&before_id=${page.next_before_id}`,
      200,
    );
    expect(before.items.map(({ content }: Json) => content)).toEqual(['echo: a', 'b', 'echo: b']);
    const rest = await api.json(`/api/v1/chat/history?before_id=${before.next_before_id}`, 200);
    expect(rest).toMatchObject({ count: 1, has_more: false, next_before_id: null });
    expect(await api.json('/api/v1/chat/history?before_id=none', 404)).toEqual({
      error: 'Message not found',
    });
  });

  it('give one conversation with its messages', async () => {
    const api = await serve(host);
    const id = await create(api, 'One');
    await send(api, 'hello', id);
    const { conversation } = await api.json(`/api/v1/chat/conversations/${id}`, 200);
    expect(conversation).toMatchObject({ id, messages: [{ message: 'hello' }, {}] });
    expect(await api.json('/api/v1/chat/conversations/none', 404)).toEqual({
      error: 'Conversation not found',
    });
  });
});
