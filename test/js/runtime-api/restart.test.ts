// A server that is killed in the middle of a job: what its clients have read stays true.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { type Child, cleanUp, makeStore, startChild } from '../support/durable-child';
import type { Json } from './kit';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(models.splice(0).map((one) => one.close()));
});

interface Server {
  child: Child;
  get(path: string): Promise<Json>;
  post(path: string, json: unknown): Promise<Json>;
}

async function startServer(options: object): Promise<Server> {
  const child = startChild(options, 'api-child');
  const { port } = await child.until((line) => 'port' in line);
  const url = `http://127.0.0.1:${port}/api/v1/chat`;
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } };
  return {
    child,
    get: async (path) => (await fetch(url + path)).json(),
    post: async (path, json) =>
      (await fetch(url + path, { ...post, body: JSON.stringify(json) })).json(),
  };
}

// Without the stages that are shown while they last, whose number is that of another event.
const stored = ({ events }: Json): Json[] =>
  events.filter(({ seq }: Json, at: number) => at === 0 || seq > events[at - 1].seq);

async function eventsWith(server: Server, id: string, name: string): Promise<Json[]> {
  for (;;) {
    const log = await server.get(`/jobs/${id}/events?deltas=1`);
    if (log.events.some(({ event }: Json) => event === name)) {
      return stored(await server.get(`/jobs/${id}/events`));
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a server that was killed', () => {
  it('ends the job of a function as interrupted, and keeps its events and numbers', async () => {
    const { store } = makeStore();
    const first = await startServer({ store });
    const { job_id: id } = await first.post('/jobs', { message: 'two' });
    const before = await eventsWith(first, id as string, 'message');
    await first.child.kill();

    const second = await startServer({ store });
    const after = await eventsWith(second, id as string, 'error');
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.map(({ seq }) => seq as number)).toEqual(after.map((_, at) => at + 1));
    expect(after.at(-1)?.payload).toMatchObject({ error: 'interrupted', job_id: id });
    expect(await second.get(`/jobs/${id}`)).toMatchObject({
      ...{ status: 'error', error: 'interrupted', messages: ['one of two'] },
      ...{ history_finalized: true, current_tool_calls: [] },
    });
    const { items } = await second.get('/history');
    expect(items.map(({ content }: Json) => content)).toEqual(['two', 'one of two']);
    expect(items[1].webchat.calls).toMatchObject([{ tool_call_id: 'c1', ok: false }]);
    // The conversation is free again.
    expect(await second.post('/jobs', { message: 'next' })).toHaveProperty('job_id');
    await second.child.kill();

    const third = await startServer({ store });
    expect(stored(await third.get(`/jobs/${id}/events`))).toEqual(after);
  });

  it('goes on with the job of an engine agent', async () => {
    const model = await startModel((_body, index) =>
      index === 0 ? { text: 'let me', hang: true } : { text: 'here it is' },
    );
    models.push(model);
    const { store } = makeStore();
    const options = { store, model: model.url };
    const first = await startServer(options);
    const { job_id: id } = await first.post('/jobs', { message: 'find it' });
    const before = await eventsWith(first, id as string, 'message_delta');
    await first.child.kill();

    const second = await startServer(options);
    const after = await eventsWith(second, id as string, 'done');
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.map(({ seq }) => seq as number)).toEqual(after.map((_, at) => at + 1));
    expect(await second.get(`/jobs/${id}`)).toMatchObject({
      ...{ status: 'done', error: null, messages: ['here it is'] },
    });
    const { items } = await second.get('/history');
    expect(items.map(({ content }: Json) => content)).toEqual(['find it', 'here it is']);
  });
});

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');

/** Changes a byte of what a run has recorded, wherever it is. */
function damage(store: string, planted: string): void {
  // Brings what was written into the file itself.
  spawnSync(process.execPath, [cli, 'storage', 'vacuum', '--storage', `file:${store}`]);
  const bytes = readFileSync(store);
  expect(bytes.indexOf(planted)).toBeGreaterThan(0);
  for (let at = 0; (at = bytes.indexOf(planted, at)) >= 0;) bytes.write('x', at);
  writeFileSync(store, bytes);
}

async function jobWith(server: Server, id: string, status: string): Promise<Json> {
  for (;;) {
    const job = await server.get(`/jobs/${id}`);
    if (job.status === status) return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

describe('a job whose records are damaged', () => {
  const planted = 'planted'.repeat(20);

  async function damagedServer(): Promise<{ server: Server; id: string }> {
    const model = await startModel((_body, index) =>
      index === 0 ? { text: planted, hang: true } : { text: 'here it is' },
    );
    models.push(model);
    const { store } = makeStore();
    const first = await startServer({ store, model: model.url });
    const { job_id: id } = await first.post('/jobs', { message: 'find it' });
    await eventsWith(first, id as string, 'message_delta');
    await first.child.kill();
    damage(store, 'plantedplanted');
    return { server: await startServer({ store, model: model.url }), id: id as string };
  }

  it('is an error with its reason, and ends for the next message', async () => {
    const { server, id } = await damagedServer();
    const shown = await jobWith(server, id, 'error');
    expect(shown.error).toMatch(/^store_damaged: .*`millrace storage check`/u);
    expect(shown.created_at).toBeGreaterThan(1e9);
    const { events } = await server.get(`/jobs/${id}/events`);
    expect(events.at(-1)).toMatchObject({ event: 'error', payload: { error: shown.error } });
    const listed = async (status: string): Promise<string[]> =>
      (await server.get(`/jobs?status=${status}`)).jobs.map(({ job_id: job }: Json) => job);
    expect(await listed('error')).toEqual([id]);
    expect(await listed('queued')).toEqual([]);
    expect((await server.get('/jobs/active')).jobs).toMatchObject([
      { job_id: id, status: 'error' },
    ]);

    const { job_id: next } = await server.post('/jobs', { message: 'next' });
    expect((await jobWith(server, next as string, 'done')).reply).toBe('here it is');
    expect(await server.get(`/jobs/${id}`)).toMatchObject({ status: 'cancelled', error: null });
    expect((await server.get('/jobs/active')).jobs).toEqual([]);
  });

  it('ends for the next message where it waits for an approval, whatever that does when it is busy', async () => {
    const model = await startModel((_body, index) =>
      index === 0 ? { text: planted, calls: [{ id: 'c1', name: 'send' }] } : { text: 'here it is' },
    );
    models.push(model);
    const { store } = makeStore();
    const first = await startServer({ store, model: model.url });
    const { job_id: id } = await first.post('/jobs', { message: 'send it' });
    await eventsWith(first, id as string, 'requires_action');
    expect(await first.post('/jobs', { message: 'too early' })).toMatchObject({
      error: 'Chat job is still running',
    });
    await first.child.kill();
    damage(store, 'plantedplanted');
    const second = await startServer({ store, model: model.url });
    const { job_id: next } = await second.post('/jobs', { message: 'next', on_busy: 'reject' });
    expect((await jobWith(second, next as string, 'done')).reply).toBe('here it is');
    expect(await second.get(`/jobs/${id}`)).toMatchObject({ status: 'cancelled' });
  });

  it('can be stopped', async () => {
    const { server, id } = await damagedServer();
    await jobWith(server, id, 'error');
    expect(await server.post(`/jobs/${id}/cancel`, {})).toMatchObject({ status: 'cancelled' });
    expect((await server.get('/jobs/active')).jobs).toEqual([]);
  });

  it('can be stopped while it waits for its turn', async () => {
    const model = await startModel(() => ({ text: 'let me', hang: true }));
    models.push(model);
    const { store } = makeStore();
    const first = await startServer({ store, model: model.url });
    const { job_id: ahead } = await first.post('/jobs', { message: 'find it' });
    await eventsWith(first, ahead as string, 'message_delta');
    const { job_id: id } = await first.post('/jobs', { message: planted, on_busy: 'queue' });
    await first.child.kill();
    damage(store, 'plantedplanted');
    const second = await startServer({ store, model: model.url });
    expect((await jobWith(second, id as string, 'error')).error).toMatch(/^store_damaged: /u);
    expect(await second.post(`/jobs/${id}/cancel`, {})).toMatchObject({ status: 'cancelled' });
    expect((await second.get('/jobs/active')).jobs).toMatchObject([{ job_id: ahead }]);
  });
});
