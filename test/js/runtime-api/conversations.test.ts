// Conversations and their history: titles, pages, references, and messages that are answered again.
import { cleanUp, hosts, type Api, type Json, runJob, serve } from './kit';

afterEach(cleanUp);

const list = '/api/v1/chat/conversations';
const makeConversation = async (api: Api, json: unknown = {}): Promise<Json> =>
  (await api.json(list, 201, { method: 'POST', json })).conversation;

const historyOf = (api: Api, query = ''): Promise<Json> =>
  api.json(`/api/v1/chat/history${query}`, 200);

describe.each(hosts)('conversations (%s)', (host) => {
  it('are made, listed by their last change, renamed and removed', async () => {
    const api = await serve(host);
    const empty = await api.json(list, 200);
    expect(empty).toMatchObject({
      ...{ conversations: [], active_job: null, virtual_user_id: 42 },
      default_conversation_id: 'legacy-system-42',
    });
    const one = await makeConversation(api, { title: 'First' });
    const two = await makeConversation(api);
    expect(one).toMatchObject({ title: 'First', messages: [], virtual_user_id: 42 });
    expect(two.title_status).toBe('temporary');
    await new Promise((resolve) => setTimeout(resolve, 2));
    await runJob(api, 'hello there', { conversation_id: one.id });
    const { conversations } = await api.json(list, 200);
    expect(conversations.map(({ id }: Json) => id)).toEqual([one.id, two.id]);
    expect(conversations[0]).toMatchObject({ message_count: 2, is_running: false });
    const renamed = await api.json(`${list}/${two.id}`, 200, {
      ...{ method: 'PATCH', json: { title: '  Mine  \n now ' } },
    });
    expect(renamed.conversation).toMatchObject({
      ...{ title: 'Mine now', title_source: 'manual', title_status: 'manual', messages: [] },
    });
    await runJob(api, 'a question that is no title', { conversation_id: two.id });
    expect((await api.json(list, 200)).conversations[0].title).toBe('Mine now');
    expect(await api.json(`${list}/${two.id}`, 200, { method: 'DELETE' })).toEqual({
      ...{ success: true, conversation_id: two.id },
    });
    await api.json(`${list}/${two.id}`, 404, { method: 'DELETE' });
    await api.json(`/api/v1/chat/history?conversation_id=${two.id}`, 404);
    expect((await api.json(list, 200)).conversations).toHaveLength(1);
  });

  it('count an answer without a text as their history does', async () => {
    const api = await serve(host, {
      agent: async ({ text }, ctx) => {
        await ctx.emit('tool_start', { tool_call_id: 'c', name: 'find' });
        if (text === 'none') return;
        return text;
      },
    });
    const { id } = await makeConversation(api);
    const other = await makeConversation(api);
    for (const text of ['none', 'one', 'none']) {
      await runJob(api, text, { conversation_id: id });
      const { total } = await historyOf(api, `?conversation_id=${id}`);
      const { conversations } = await api.json(list, 200);
      const counts = new Map(conversations.map((one: Json) => [one.id, one.message_count]));
      expect(counts.get(id)).toBe(total);
      expect(counts.get(other.id)).toBe(0);
    }
    expect((await historyOf(api, `?conversation_id=${id}`)).total).toBe(6);
  });

  it('are made by many at once, each with its own id and title', async () => {
    const api = await serve(host);
    const titles = Array.from({ length: 50 }, (_, at) => `number ${at}`);
    const made = await Promise.all(titles.map((title) => makeConversation(api, { title })));
    expect(made.map(({ title }) => title)).toEqual(titles);
    expect(new Set(made.map(({ id }) => id)).size).toBe(50);
    const { conversations } = await api.json(list, 200);
    expect(conversations.map(({ title }: Json) => title).sort()).toEqual([...titles].sort());
  });

  it('have a default one, which its id makes as well', async () => {
    const conversation_id = 'legacy-system-42';
    const api = await serve(host);
    expect(await historyOf(api)).toMatchObject({ conversation_id });
    await runJob(api, 'hello', { conversation_id });
    expect((await historyOf(api, `?conversation_id=${conversation_id}`)).items).toHaveLength(2);
    const other = await serve(host);
    const patch = { method: 'PATCH', json: { title: 'Mine' } };
    const renamed = await other.json(`${list}/${conversation_id}`, 200, patch);
    expect(renamed.conversation).toMatchObject({ id: conversation_id, title: 'Mine' });
  });

  it('take their jobs with them', async () => {
    const api = await serve(host);
    const { id } = await makeConversation(api);
    const job = await runJob(api, 'my secret', { conversation_id: id });
    await api.json(`${list}/${id}`, 200, { method: 'DELETE' });
    for (const end of ['', '/events', '/actions']) {
      const answer = await api.json(`/api/v1/chat/jobs/${job.job_id}${end}`, 404);
      expect(answer).toEqual({ error: 'Job not found' });
    }
    expect((await api.json('/api/v1/chat/jobs', 200)).jobs).toEqual([]);
  });

  it.each([7, {}, ['c1'], true])('are not meant by the id %j', async (conversation_id) => {
    const api = await serve(host);
    for (const path of ['/api/v1/chat', '/api/v1/chat/jobs']) {
      const json = { message: 'private', conversation_id };
      expect(await api.json(path, 400, { method: 'POST', json })).toEqual({
        error: 'conversation_id must be a string',
      });
    }
    expect((await api.json(list, 200)).conversations).toEqual([]);
  });

  it.each([
    ['{', 400, 'Invalid JSON'],
    ['{}', 400, 'title is required'],
    ['{"title":"  "}', 400, 'title is required'],
    ['{"title":7}', 400, 'title is required'],
    ['[]', 400, 'JSON body must be an object'],
  ])('refuse the title %s', async (body, status, error) => {
    const api = await serve(host);
    const { id } = await makeConversation(api, { title: 'Kept' });
    expect(await api.json(`${list}/${id}`, status, { method: 'PATCH', body })).toEqual({ error });
    const unknown = await api.json(`${list}/unknown`, 404, {
      ...{ method: 'PATCH', json: { title: 'x' } },
    });
    expect(unknown).toEqual({ error: 'Conversation not found' });
    expect((await api.json(list, 200)).conversations[0].title).toBe('Kept');
  });

  it('are made of what cannot be read as of nothing, but not of a list', async () => {
    const api = await serve(host);
    for (const body of ['', '{', 'null x']) await api.json(list, 201, { method: 'POST', body });
    await api.json(list, 400, { method: 'POST', body: '[]' });
  });

  it('get their title from the host, once, and it is not asked again when it fails', async () => {
    const wanted: unknown[] = [];
    const titles = ['"A fine   title"', ''];
    const api = await serve(host, {
      api: {
        title: (first) => {
          wanted.push(first);
          return titles[wanted.length - 1] ?? '';
        },
      },
    });
    const { id } = await makeConversation(api);
    await runJob(api, 'What is it?', { conversation_id: id });
    for (;;) {
      const { conversations } = await api.json(list, 200);
      if (conversations[0].title_status !== 'generated') continue;
      expect(conversations[0]).toMatchObject({ title: 'A fine title', title_source: 'model' });
      break;
    }
    await runJob(api, 'And more?', { conversation_id: id });
    expect(wanted).toEqual([{ question: 'What is it?', answer: 'echo: What is it?' }]);
  });
});

describe.each(hosts)('the history (%s)', (host) => {
  it('comes in pages from the end, each message once', async () => {
    const api = await serve(host);
    for (let turn = 0; turn < 5; ++turn) await runJob(api, `turn ${turn}`);
    const whole = await historyOf(api);
    expect(whole).toMatchObject({ total: 10, count: 10, has_more: false, next_before: null });
    const contents = whole.items.map(({ content }: Json) => content);
    expect(contents.slice(0, 2)).toEqual(['turn 0', 'echo: turn 0']);
    for (const limit of [1, 2, 3, 7, 10, 11]) {
      let seen: string[] = [];
      let before = '';
      for (;;) {
        const page = await historyOf(api, `?limit=${limit}${before}`);
        seen = [...page.items.map(({ content }: Json) => content), ...seen];
        expect(page.limit).toBe(limit);
        if (!page.has_more) break;
        before = `&before=${page.next_before}`;
      }
      expect(seen).toEqual(contents);
    }
  });

  it.each([
    ['?limit=0', 1],
    ['?limit=-3', 1],
    ['?limit=9999', 500],
    ['?limit=x', 50],
    ['?limit=', 50],
    ['?limit=5&before=junk', 5],
    ['?before=99999', 50],
  ])('reads %s as the limit %i', async (query, limit) => {
    const api = await serve(host);
    await runJob(api, 'x');
    const page = await historyOf(api, query);
    expect(page.limit).toBe(limit);
    expect(page.items.at(-1).content).toBe('echo: x');
  });

  it('has outputs as their job has them, without blanks around', async () => {
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.send('  one \n');
        await ctx.send(' \n ');
        return '\n two  ';
      },
    });
    const { reply } = await runJob(api, 'x');
    expect(reply).toBe('one\n\ntwo');
    expect((await historyOf(api)).items.at(-1).content).toBe(reply);
  });

  it('has nothing of an answer of blanks', async () => {
    const api = await serve(host, {
      agent: async (_turn, ctx) => {
        await ctx.send(' \n ');
        return '  ';
      },
    });
    expect(await runJob(api, 'x')).toMatchObject({ status: 'done', messages: [], reply: '' });
    expect(await historyOf(api)).toMatchObject({ count: 1, total: 1, items: [{ content: 'x' }] });
    const { conversations } = await api.json('/api/v1/chat/conversations', 200);
    expect(conversations[0].message_count).toBe(1);
  });

  it('is cleared as a whole', async () => {
    const api = await serve(host);
    await runJob(api, 'x');
    const cleared = await api.json('/api/v1/chat/history', 200, { method: 'DELETE' });
    expect(cleared).toMatchObject({ success: true, cleared: 2, virtual_user_id: 42 });
    expect(await historyOf(api)).toMatchObject({ total: 0, items: [] });
    await api.json('/api/v1/chat/history?conversation_id=unknown', 404, { method: 'DELETE' });
    await runJob(api, 'y');
    expect((await historyOf(api)).total).toBe(2);
  });

  it('has references as they were given, and the text with their quotes', async () => {
    const heard: string[] = [];
    const api = await serve(host, {
      agent: ({ text }) => {
        heard.push(text);
        return Promise.resolve('yes');
      },
    });
    const references = [
      { source_message_id: 'msg_1', selected_text: 'one\ntwo' },
      { message_id: 'msg_2', quote: 'three' },
      { kind: 'message' },
    ];
    await runJob(api, { text: 'What?', references });
    const { items } = await historyOf(api);
    expect(items[0].content).toBe(
      '> 引用 message:msg_1\n> one\n> two\n\n> 引用 message:msg_2\n> three\n\nWhat?',
    );
    expect(items[0].references).toEqual([
      { kind: 'message', source_message_id: 'msg_1', selected_text: 'one\ntwo' },
      { kind: 'message', source_message_id: 'msg_2', selected_text: 'three' },
    ]);
    expect(heard).toEqual([items[0].content]);
    await runJob(api, { references: [{ selected_text: 'alone' }] });
    expect((await historyOf(api)).items.at(-2).content).toBe('> 引用\n> alone');
  });

  it('answers the last message again without a second one', async () => {
    let isBroken = true;
    jest.spyOn(console, 'error').mockImplementation();
    const api = await serve(host, {
      agent: ({ text }) =>
        isBroken ? Promise.reject(new Error('broken')) : Promise.resolve(`echo: ${text}`),
    });
    await runJob(api, 'again');
    isBroken = false;
    await runJob(api, 'again', { reuse_previous_user_message: true });
    const { items, total } = await historyOf(api);
    expect(items.map(({ content }: Json) => content)).toEqual(['again', 'echo: again']);
    expect(total).toBe(2);
    const reuse = (message: unknown) => ({
      ...{ method: 'POST', json: { message, reuse_previous_user_message: 'yes' } },
    });
    const unlike = 'reuse_previous_user_message requires a matching last user message';
    expect(await api.json('/api/v1/chat/jobs', 400, reuse('again'))).toEqual({ error: unlike });
    expect(
      await api.json('/api/v1/chat/jobs', 400, reuse({ text: 'x', references: [{ quote: 'y' }] })),
    ).toEqual({ error: 'reuse_previous_user_message only supports text-only messages' });
    jest.restoreAllMocks();
  });
});
