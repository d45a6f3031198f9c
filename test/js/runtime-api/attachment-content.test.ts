// Attachments of messages as a model reads them: as content where they are what models take, else by their names.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { type Api, cleanUp, ended, hosts, type Json, runJob, serve, startJob } from './kit';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(models.splice(0).map((one) => one.close()));
});

const png = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex');
const pdf = Buffer.from('%PDF-1.7\n%%EOF');

async function serveModel(
  host: (typeof hosts)[number],
  model = 'openai:scripted',
  storage: 'memory' | `file:${string}` = 'memory',
): Promise<{ api: Api; model: ScriptedModel }> {
  const started = await startModel(() => ({ text: 'seen' }));
  models.push(started);
  const provider = { baseURL: started.url, apiKey: 'k', maxRetries: 0 };
  return { api: await serve(host, { agent: { model, provider }, storage }), model: started };
}

async function upload(api: Api, name: string, bytes: Buffer | string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([bytes]), name);
  const call = { method: 'POST', body: form };
  return (await api.json('/api/v1/chat/attachments', 201, call)).attachment.id;
}

/** What the model read of the last message of the user. */
const contentIn = ({ chatBodies }: ScriptedModel): Json =>
  chatBodies.at(-1)?.messages.findLast(({ role }) => role === 'user')?.content;
const textIn = (content: Json): string =>
  typeof content === 'string'
    ? content
    : content.flatMap(({ text }: Json) => (text === undefined ? [] : [text])).join('\n');

describe.each(hosts)('attachments for a model (%s)', (host) => {
  it('are content of the message, and named in its text', async () => {
    const { api, model } = await serveModel(host);
    const ids = [
      await upload(api, 'a "b".png', png),
      await upload(api, 'paper.pdf', pdf),
      await upload(api, 'notes.txt', 'milk & eggs'),
    ];
    await runJob(api, { text: 'Look', attachment_ids: ids });
    const content = contentIn(model);
    expect(content.map(({ type }: Json) => type)).toEqual(['text', 'text', 'image_url', 'file']);
    expect(content[0].text).toBe('Look');
    expect(content[1].text).toBe(
      [
        `<attachment uid="${ids[0]}" name="a &quot;b&quot;.png" type="image/png"/>`,
        `<attachment uid="${ids[1]}" name="paper.pdf" type="application/pdf"/>`,
        `<attachment uid="${ids[2]}" name="notes.txt" type="text/plain">\nmilk & eggs\n</attachment>`,
      ].join('\n'),
    );
    expect(content[2].image_url.url).toBe(`data:image/png;base64,${png.toString('base64')}`);
    expect(JSON.stringify(content[3])).toContain(pdf.toString('base64'));
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items[0]).toMatchObject({ content: 'Look', attachments: [{}, {}, {}] });
  });

  it('are there in later turns as well', async () => {
    const { api, model } = await serveModel(host);
    const id = await upload(api, 'a.png', png);
    await runJob(api, { text: 'Look', attachment_ids: [id] });
    await runJob(api, 'And now?');
    const [first, , second] = model.chatBodies.at(-1)?.messages ?? [];
    expect(JSON.stringify(first?.content)).toContain(png.toString('base64'));
    expect(second?.content).toBe('And now?');
  });
});

describe('the store of a conversation with attachments', () => {
  it('has their bytes once, whatever the number of turns', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-attached-'));
    const path = join(folder, 'store.db');
    const bytesInStore = (): number =>
      readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    const { api, model } = await serveModel('listen', 'openai:scripted', `file:${path}`);
    const photo = Buffer.concat([png, randomBytes(3_000_000)]);
    const id = await upload(api, 'big.png', photo);
    await runJob(api, { text: 'Look', attachment_ids: [id] });
    const before = bytesInStore();
    for (const text of ['Again', 'And again', 'Once more']) await runJob(api, text);
    expect(bytesInStore() - before).toBeLessThan(1_000_000);
    const [first] = model.chatBodies.at(-1)?.messages ?? [];
    expect(JSON.stringify(first?.content)).toContain(photo.toString('base64'));
    await cleanUp();
    rmSync(folder, { recursive: true });
  });

  it('names what was removed since, or has other bytes', async () => {
    const { api, model } = await serveModel('listen');
    const id = await upload(api, 'a.png', png);
    await runJob(api, { text: 'Look', attachment_ids: [id] });
    await api.runtime.attachments.delete(id, { principal: 'local' });
    await runJob(api, 'And now?');
    const [first] = model.chatBodies.at(-1)?.messages ?? [];
    expect(first?.content).toBe(
      `Look\n\n<attachment uid="${id}" name="a.png" type="image/png" error="attachment_not_found"/>`,
    );
  });
});

describe.each(hosts)('media in the text of a message (%s)', (host) => {
  const segment = `[CQ:image,file=base64://${png.toString('base64')},name=dot.png]`;

  it('are attachments of it', async () => {
    const { api, model } = await serveModel(host);
    const made = await api.json('/api/v1/chat/conversations', 201, { method: 'POST', json: {} });
    const conversation_id: string = made.conversation.id;
    const turn = { message: `Look ${segment}`, conversation_id };
    const answer = await api.json('/api/v1/chat', 200, { method: 'POST', json: turn });
    expect(answer.reply).not.toBe('');
    const content = JSON.stringify(contentIn(model));
    expect(content).not.toContain('CQ:');
    expect(content).toContain(png.toString('base64'));
    const query = `conversation_id=${conversation_id}`;
    const [item] = (await api.json(`/api/v1/chat/history?${query}`, 200)).items;
    const [attachment] = item.attachments;
    expect(attachment).toMatchObject({
      ...{ kind: 'image', media_type: 'image/png', display_name: 'dot.png' },
    });
    expect(item.content).toBe(`Look <attachment uid="${attachment.uid}"/>`);
    const bytes = await (await api.send(attachment.download_url as string)).arrayBuffer();
    expect(Buffer.from(bytes).equals(png)).toBe(true);
    const list = await api.json('/api/v1/chat/conversations', 200);
    const [title] = list.conversations.map((one: Json) => one.title);
    expect(title).toBe('Look');
  });

  it('are known where the message is answered again', async () => {
    const api = await serve(host, { agent: () => Promise.resolve('') });
    const turn = { message: `Look ${segment}` };
    for (const more of [{}, { reuse_previous_user_message: true }]) {
      await ended(api, (await startJob(api, { ...turn, ...more })).job_id);
    }
    const { items } = await api.json('/api/v1/chat/history', 200);
    expect(items).toMatchObject([{ attachments: [{ display_name: 'dot.png' }] }]);
  });

  const textOf = (uid: string): string => `Then <attachment uid="${uid}"/>`;

  it('are attachments of the new text of a message that is answered again', async () => {
    const { api, model } = await serveModel(host);
    const made = await api.json('/api/v1/chat/conversations', 201, { method: 'POST', json: {} });
    const conversation_id: string = made.conversation.id;
    const json = { message: 'Look', conversation_id };
    await api.json('/api/v1/chat', 200, { method: 'POST', json });
    const history = `/api/v1/chat/history?conversation_id=${conversation_id}`;
    const [question] = (await api.json(history, 200)).items;
    const path = `/api/v1/chat/conversations/${conversation_id}/messages/${question.message_id}`;
    const again = (text: string, status: number) =>
      api.json(`${path}/regenerate`, status, { method: 'POST', json: { text } });
    expect(await again('Then [CQ:image,file=base64://%%%]', 400)).toMatchObject({
      code: 'invalid_body',
    });
    await ended(api, (await again(`Then ${segment}`, 202)).job_id as string);
    expect(JSON.stringify(contentIn(model))).toContain(png.toString('base64'));
    const [item] = (await api.json(history, 200)).items;
    expect(item.attachments).toMatchObject([{ display_name: 'dot.png' }]);
    const [attachment] = item.attachments;
    expect(item.content).toBe(textOf(attachment.uid as string));
    const bytes = await (await api.send(attachment.download_url as string)).arrayBuffer();
    expect(Buffer.from(bytes).equals(png)).toBe(true);
  });

  it('are attachments of a message that is edited', async () => {
    const api = await serve(host, { agent: () => Promise.resolve('Seen') });
    const made = await api.json('/api/v1/chat/conversations', 201, { method: 'POST', json: {} });
    const conversation_id: string = made.conversation.id;
    const json = { message: 'Look', conversation_id };
    await api.json('/api/v1/chat', 200, { method: 'POST', json });
    const history = `/api/v1/chat/history?conversation_id=${conversation_id}`;
    for (const { message_id } of (await api.json(history, 200)).items as Json[]) {
      const path = `/api/v1/chat/conversations/${conversation_id}/messages/${message_id}`;
      const edit = (text: string, status: number) =>
        api.json(path, status, { method: 'PATCH', json: { text } });
      expect(await edit('Then [CQ:image,file=base64://%%%]', 400)).toMatchObject({
        code: 'invalid_body',
      });
      const { message } = await edit(`Then ${segment}`, 200);
      expect(message.attachments).toMatchObject([{ display_name: 'dot.png' }]);
      const { uid } = message.attachments[0];
      expect(message.message).toBe(textOf(uid as string));
      const bytes = await api.send(`/api/v1/chat/attachments/${uid}`);
      expect(Buffer.from(await bytes.arrayBuffer()).equals(png)).toBe(true);
    }
  });

  it('are rejected where they are broken, and leave nothing', async () => {
    const { api } = await serveModel(host);
    const post = (message: unknown, more: object = {}) =>
      api.json('/api/v1/chat/jobs', 400, { method: 'POST', json: { message, ...more } });
    for (const message of [
      '[CQ:image,file=base64://%%%]',
      { text: 'Look [CQ:image,file=data:image/png;base64,A]' },
    ]) {
      expect(await post(message)).toEqual({
        error: 'The medium 1 of `message` ([CQ:...]) is not base64.',
        code: 'invalid_body',
      });
    }
    const many = Array.from({ length: 17 }, (_, at) => `[CQ:file,file=data:text/plain,${at}]`);
    expect(await post(many.join(''))).toMatchObject({ code: 'invalid_body' });
    const again = { on_busy: 'steer', reuse_previous_user_message: true };
    expect(await post('Look', again)).toMatchObject({
      error: expect.stringContaining('a message of their own'),
    });
    expect((await api.json('/api/v1/chat/history', 200)).total).toBe(0);
  });
});

describe('what is no content for a model', () => {
  it.each([
    ['fake.png', '<svg onload="alert(1)"/>'],
    ['program.bin', Buffer.from([0, 1, 2, 3])],
    ['broken.txt', Buffer.from([0xff, 0xfe, 0x00])],
    ['long.txt', 'x'.repeat(200_000)],
    ['large.png', Buffer.concat([png, Buffer.alloc(6_000_000)])],
  ])('is named only: %s', async (name, bytes) => {
    const { api, model } = await serveModel('listen');
    const id = await upload(api, name, bytes);
    expect(await runJob(api, { text: 'Look', attachment_ids: [id] })).toMatchObject({
      status: 'done',
    });
    expect(contentIn(model)).toMatch(
      new RegExp(`^Look\\n\\n<attachment uid="${id}" name="${name}" type="[^"]*"/>$`),
    );
  });

  it('is named only beyond the limit of a turn, where the latest come first', async () => {
    const { api, model } = await serveModel('listen');
    const big = Buffer.concat([png, Buffer.alloc(4_500_000)]);
    for (const name of ['old.png', 'new.png']) {
      const id = await upload(api, name, big);
      await runJob(api, { text: name, attachment_ids: [id] });
    }
    const users = model.chatBodies.at(-1)?.messages.filter(({ role }) => role === 'user') ?? [];
    expect(users.map(({ content }) => typeof content)).toEqual(['string', 'object']);
    expect(textIn(users[0]?.content)).toContain('name="old.png"');
  });

  it('leaves the text of a function as it is', async () => {
    const seen: unknown[] = [];
    const api = await serve('listen', {
      agent: ({ text, messages }) => {
        seen.push(text, messages.at(-1)?.content);
      },
    });
    const id = await upload(api, 'a.png', png);
    await runJob(api, { text: 'Look', attachment_ids: [id] });
    expect(seen).toEqual(['Look', 'Look']);
  });

  it('takes references in both spellings', async () => {
    const { api, model } = await serveModel('listen');
    const references = [
      { message_id: 'msg_1', quote: 'first' },
      { source_message_id: 'msg_2', selected_text: 'second' },
    ];
    await runJob(api, { text: 'And?', references });
    expect(contentIn(model)).toBe(
      '> 引用 message:msg_1\n> first\n\n> 引用 message:msg_2\n> second\n\nAnd?',
    );
  });
});

// A store whose blobs cannot be written any more: another connection has it reject them.
interface SQLite {
  DatabaseSync: new (path: string) => { exec(sql: string): void; close(): void };
}
const sqlite = process.getBuiltinModule?.('node:sqlite') as SQLite | undefined;

(sqlite ? it : it.skip)('reports media of an answer that cannot be stored', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-lost-'));
  const path = join(folder, 'store.db');
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  const segment = `[CQ:image,file=base64://${png.toString('base64')}]`;
  const agent = () => Promise.resolve(`Look ${segment}`);
  const api = await serve('listen', { agent, storage: `file:${path}` });
  const other = new (sqlite as SQLite).DatabaseSync(path);
  other.exec(
    "CREATE TRIGGER no_room BEFORE INSERT ON blobs BEGIN SELECT RAISE(FAIL, 'no room'); END",
  );
  other.close();
  const { job_id: id } = await runJob(api, 'go');
  const texts = (): string[] => warned.mock.calls.map(([text]) => String(text));
  while (!texts().some((text) => text.includes('is not stored'))) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(texts().find((text) => text.includes('is not stored'))).toContain(`the run run_${id}`);
  warned.mockRestore();
  await cleanUp();
  rmSync(folder, { recursive: true });
});
