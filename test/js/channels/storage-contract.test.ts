// What every ChatStorage of this package holds to: inMemoryStorage, and the storage of a runtime.
import type { InMemoryStorage, Runtime, RuntimeStorage, UserMessage } from 'millrace';
import { createRuntime, inMemoryStorage } from 'millrace';

import { cleanUp, makeStore } from '../support/durable-child';

type Storage = InMemoryStorage | RuntimeStorage;

const runtimes: Runtime[] = [];
afterEach(async () => {
  await Promise.all(runtimes.splice(0).map((one) => one.close()));
  await cleanUp();
});

function storageOf(storage: 'memory' | `file:${string}`): RuntimeStorage {
  const runtime = createRuntime({ storage });
  runtimes.push(runtime);
  return runtime.storage();
}

const kinds: [string, string, () => Storage][] = [
  ['inMemoryStorage', 'invalid_argument', () => inMemoryStorage()],
  ['a runtime in memory', 'artifact_not_found', () => storageOf('memory')],
  ['a runtime with a file', 'artifact_not_found', () => storageOf(`file:${makeStore().store}`)],
];

const message: UserMessage = { id: 'u', role: 'user', content: 'hello' };

describe.each(kinds)('the storage of %s', (_kind, missing, make) => {
  it('keeps what nobody else can change', async () => {
    const { thread, artifact } = make();
    const first = { ...message, content: 'hello' };
    const made = await thread.createThread(first);
    first.content = made.title = 'changed';
    const [known] = await thread.getMessages(made.id);
    expect(known).toEqual({ ...message, content: 'hello' });
    Object.assign(known as object, { content: 'changed' });
    expect(await thread.getMessages(made.id)).toEqual([{ ...message, content: 'hello' }]);
    expect((await thread.listThreads()).threads[0]?.title).toBe('hello');
    const content = { rows: [{ value: 1 }] };
    const { id } = await artifact.create({ title: 'a', type: 'doc', threadId: made.id, content });
    content.rows[0] = { value: 2 };
    const read = (await artifact.get(id)) as { content: typeof content };
    expect(read.content).toEqual({ rows: [{ value: 1 }] });
    read.content.rows.length = 0;
    await artifact.update({ id, content });
    content.rows.length = 0;
    expect((await artifact.get(id)).content).toEqual({ rows: [{ value: 2 }] });
  });

  it('names the place of a value that holds itself', async () => {
    const { thread, artifact } = make();
    const content: Record<string, unknown> = { list: [] };
    (content.list as unknown[]).push({ again: content });
    const wrong = {
      code: 'state_not_serializable',
      message: expect.stringMatching(/^value\.content\.list(\.0|\[0\])\.again is a reference/),
    };
    const { id: threadId } = await thread.createThread(message);
    await expect(
      artifact.create({ title: 't', type: 'x', threadId, content }),
    ).rejects.toMatchObject(wrong);
    await expect(
      thread.createThread({ id: 'm', role: 'user', content } as never),
    ).rejects.toMatchObject(wrong);
    // The same value twice is none that holds itself.
    const shared = { n: 1 };
    const retained = await artifact.create({
      title: 't',
      type: 'x',
      threadId,
      content: [shared, shared],
    });
    expect(retained.content).toEqual([{ n: 1 }, { n: 1 }]);
  });

  it('keeps threads, newest first, with the first message', async () => {
    const { thread } = make();
    const first = await thread.createThread({ ...message, content: 'x'.repeat(50) });
    const second = await thread.createThread({ ...message, content: [] });
    expect(first.title).toBe('x'.repeat(40));
    expect(second.title).toBe('New thread');
    const whole = `${'x'.repeat(39)}\u{1f600}`;
    const third = await thread.createThread({ id: '3', role: 'user', content: `${whole} y` });
    expect(third.title).toBe(whole);
    await thread.deleteThread(third.id);
    expect(Math.abs(new Date(first.createdAt).getTime() - Date.now())).toBeLessThan(60_000);
    expect((await thread.listThreads()).threads.map(({ id }) => id)).toEqual([second.id, first.id]);
    expect(await thread.getMessages(second.id)).toEqual([{ ...message, content: [] }]);
    expect(await thread.updateThread({ ...first, title: 'renamed' })).toMatchObject({
      title: 'renamed',
    });
    expect((await thread.listThreads()).threads[1]?.title).toBe('renamed');
    await thread.setMessages(first.id, [message, { ...message, id: 'v' }]);
    await thread.updateMessage(first.id, { ...message, content: 'edited' });
    expect((await thread.getMessages(first.id)).map(({ content }) => content)).toEqual([
      'edited',
      'hello',
    ]);
    await thread.setMessages(first.id, []);
    expect(await thread.getMessages(first.id)).toEqual([]);
    await thread.deleteThread(second.id);
    expect((await thread.listThreads()).threads).toHaveLength(1);
    expect(await thread.getMessages('unknown')).toEqual([]);
    await thread.deleteThread('unknown');
  });

  it('lists artifacts by name, type, limit and cursor', async () => {
    const { thread, artifact } = make();
    const { id: threadId } = await thread.createThread(message);
    await artifact.create({ title: 'Sales Report', type: 'report', threadId, content: 1 });
    await artifact.create({ title: 'Ünits', type: 'table', threadId, content: 2 });
    const made = await artifact.create({
      title: 'Year report',
      type: 'report',
      threadId,
      content: { a: 1 },
    });
    const titles = async (params?: unknown) =>
      (await artifact.list(params as never)).artifacts.map(({ title }) => title);
    expect(await titles()).toEqual(['Sales Report', 'Ünits', 'Year report']);
    expect(await titles(null)).toEqual(['Sales Report', 'Ünits', 'Year report']);
    expect(await titles({ cursor: '' })).toHaveLength(3);
    expect(await titles({ name: 'REPORT' })).toEqual(['Sales Report', 'Year report']);
    expect(await titles({ name: 'üN' })).toEqual(['Ünits']);
    expect(await titles({ type: ['table'] })).toEqual(['Ünits']);
    expect(await titles({ type: 'table' })).toEqual(['Ünits']);
    expect(await titles({ type: [] })).toEqual([]);
    const page = await artifact.list({ limit: 2 });
    expect(page.artifacts).toHaveLength(2);
    expect(page.artifacts[0]).not.toHaveProperty('content');
    expect(page.nextCursor).toBeDefined();
    const rest = await artifact.list({ limit: 2, cursor: page.nextCursor as string });
    expect(rest.artifacts.map(({ id }) => id)).toEqual([made.id]);
    expect(rest.nextCursor).toBeUndefined();
    await expect(artifact.list({ limit: 0 })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('updates an artifact and gives its summary', async () => {
    const { thread, artifact } = make();
    const { id: threadId } = await thread.createThread(message);
    const { id } = await artifact.create({ title: 'a', type: 'b', threadId, content: 1 });
    const summary = await artifact.update({ id, content: 2 });
    expect(summary).toMatchObject({ id, title: 'a', type: 'b', threadId });
    expect(summary).not.toHaveProperty('content');
    expect((await artifact.get(id)).content).toBe(2);
    await expect(artifact.get('unknown')).rejects.toMatchObject({ code: missing });
    await expect(artifact.update({ id: 'unknown', content: 1 })).rejects.toMatchObject({
      code: missing,
    });
  });
});
