// What strangers read of failures: no path of this machine, and no host that its configuration has. The host program reads
// both in `detail`.
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createModelRuntime } from 'millrace';

import { cleanUp, hosts, serve, type Api, type Json } from './kit';

const folders: string[] = [];
afterEach(async () => {
  await cleanUp();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

// A port that nothing listens on, and a name that nothing has.
const places = { 'an address': '127.0.0.1:9', 'a name': 'llm-gateway.invalid' };

async function over(api: Api, id: string): Promise<Json> {
  for (;;) {
    const job = await api.json(`/api/v1/chat/jobs/${id}`, 200);
    if (['done', 'error', 'cancelled'].includes(job.status)) return job;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe.each(hosts)('failures by %s', (host) => {
  it.each(Object.entries(places))('hide %s of the provider', async (_name, place) => {
    const provider = { baseURL: `http://${place}/v1`, apiKey: 'key', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:m', provider } });
    const begun = await api.json('/api/v1/chat/jobs', 202, {
      method: 'POST',
      json: { message: 'hello' },
    });
    const job = await over(api, begun.job_id);
    expect(job.error).toMatch(/\S/);
    const log = await api.json(`/api/v1/chat/jobs/${begun.job_id}/events`, 200);
    const input = { messages: [{ id: 'm', role: 'user', content: 'hello' }] };
    const run = await api.send('/agent', { method: 'POST', json: input });
    const events = await run.text();
    expect(events).toContain('RUN_ERROR');
    for (const shown of [JSON.stringify(job), JSON.stringify(log), events]) {
      expect(shown).not.toContain(place.split(':')[0]);
    }
  });

  it('hide the path of the store', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-places-'));
    folders.push(folder);
    const api = await serve(host, { storage: `file:${join(folder, 'runs.db')}` });
    await api.json('/api/v1/chat/conversations', 200);
    renameSync(join(folder, 'runs.db'), join(folder, 'moved.db'));
    const message = { method: 'POST', json: { message: 'hello' } };
    for (const path of ['/api/v1/chat', '/api/v1/chat/jobs', '/api/v1/chat/conversations']) {
      const answer = await api.send(path, message);
      const text = await answer.text();
      expect(answer.status).toBeGreaterThanOrEqual(500);
      expect(text).toContain('moved');
      expect(text).not.toContain(folder);
    }
    const failure = await api.runtime
      .start('agent', { messages: [{ role: 'user', content: 'hello' }] })
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'store_moved' });
    expect((failure as { detail: string }).detail).toContain(folder);
  });
});

it('give the host program the address', async () => {
  const model = createModelRuntime('openai', {
    ...{ baseURL: 'http://127.0.0.1:9/v1', apiKey: 'key', maxRetries: 0 },
  });
  const failure: Json = await model
    .chat({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
    .catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: 'connect_failed', endpoint: expect.any(String) as string });
  expect(failure.message).not.toContain('127.0.0.1');
  expect(failure.detail).toContain('http://127.0.0.1:9');
});
