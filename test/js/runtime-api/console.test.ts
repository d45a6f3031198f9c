// The page at `/` on both hosts, and what it needs beyond the original routes: exact calls, tokens and cost.
import { createHash } from 'node:crypto';

import { tool } from 'millrace';

import { type ScriptedModel, startModel } from '../../support/scripted-model';
import { cleanUp, ended, hosts, type Json, key, runJob, serve, startJob, withKey } from './kit';

const models: ScriptedModel[] = [];
afterEach(async () => {
  await cleanUp();
  await Promise.all(models.splice(0).map((one) => one.close()));
});

describe.each(hosts)('the page (%s)', (host) => {
  it('needs no key, and lets nothing in that is not its own', async () => {
    const api = await serve(host, { api: { keys: [{ key }] } });
    const page = await api.send('/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    expect(page.headers.get('x-content-type-options')).toBe('nosniff');
    const policy = page.headers.get('content-security-policy');
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const text = await page.text();
    expect(text).not.toMatch(/<script>|<style|\son\w+=|https?:/);
    const files = [...text.matchAll(/(?:src|href)="\.(\/console\/[^"]+)"/g)].map(
      ([, path]) => path,
    );
    expect(files.length).toBeGreaterThanOrEqual(3);
    for (const path of files) {
      const file = await api.send(path as string);
      expect(file.status).toBe(200);
      expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(file.headers.get('content-type')).toMatch(/^(text\/(javascript|css)|image\/svg\+xml)/);
    }
    expect((await api.send('/api/v1/chat/history')).status).toBe(401);
  });

  it('is sent once: a known one is not sent again', async () => {
    const api = await serve(host);
    const page = await api.send('/');
    const text = await page.text();
    const etag = page.headers.get('etag') ?? '';
    expect(etag).toBe(`"${createHash('sha256').update(text).digest('hex')}"`);
    const again = await api.send('/', { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
    const head = await api.send('/', { method: 'HEAD' });
    expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, etag, '']);
    expect((await api.send('/', { method: 'POST' })).status).toBe(405);
  });

  it.each(['/console/', '/console/index.html', '/console/..%2findex.html'])(
    'has nothing at %s',
    async (path) => {
      const api = await serve(host, { api: { keys: [{ key }] } });
      expect((await api.send(path)).status).toBe(404);
    },
  );

  it('is absent where it is switched off', async () => {
    const api = await serve(host, { api: { page: false } });
    expect((await api.send('/')).status).toBe(404);
  });
});

describe.each(hosts)('what the page shows of a run (%s)', (host) => {
  it('is the exact call that it waits for', async () => {
    const args = { what: 'x'.repeat(2000), token: 'a-token-of-the-test' };
    const model = await startModel((_body, index) =>
      index === 0 ? { calls: [{ id: 'c1', name: 'find', args }] } : { text: 'done' },
    );
    models.push(model);
    const find = tool({ name: 'find', input: { type: 'object' }, approval: true, run: () => 'ok' });
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const keys = [{ key }, { key: 'reader', scopes: ['read', 'chat'] }];
    const agent = { model: 'openai:scripted', provider, tools: [find] };
    const api = await serve(host, { agent, api: { keys } });
    const { job_id: id } = await startJob(api, { message: 'find it' }, withKey);
    const path = `/api/v1/chat/jobs/${id}`;
    let job: Json;
    do job = await api.json(path, 200, { headers: withKey });
    while (job.waiting_input === null);
    // The log is for everybody who may read: cut, and without secrets.
    expect(JSON.stringify(job)).not.toContain('a-token-of-the-test');
    const { actions } = await api.json(`${path}/actions`, 200, { headers: withKey });
    expect(actions).toMatchObject([
      { action_id: job.waiting_input.action_id, kind: 'approval', name: 'find', arguments: args },
    ]);
    const reader = { 'X-Millrace-API-Key': 'reader' };
    expect((await api.send(`${path}/actions`, { headers: reader })).status).toBe(403);
    const other = { approved: true, arguments: { what: 'other' }, hash: actions[0].hash };
    const decide = (json: unknown) =>
      api.send(`${path}/actions/${actions[0].action_id}`, {
        method: 'POST',
        json,
        headers: withKey,
      });
    expect((await decide(other)).status).toBe(409);
    expect((await decide({ ...other, arguments: args })).status).toBe(200);
    do job = await api.json(path, 200, { headers: withKey });
    while (job.status === 'running');
    expect(job.reply).toBe('done');
    expect(await api.json(`${path}/actions`, 200, { headers: withKey })).toEqual({ actions: [] });
  });

  it('is what a function asks for', async () => {
    const api = await serve(host, {
      agent: (_turn, ctx) => ctx.action<string>('colour', { prompt: 'Which?' }),
    });
    const { job_id: id } = await startJob(api, { message: 'ask' });
    const path = `/api/v1/chat/jobs/${id}/actions`;
    let actions: Json;
    do ({ actions } = await api.json(path, 200));
    while (actions.length === 0);
    expect(actions).toMatchObject([{ name: 'colour', message: 'Which?', of_function: true }]);
    const json = { status: 'resolved', payload: 'green' };
    const answer = { method: 'POST', json };
    expect((await api.send(`${path}/${actions[0].action_id}`, answer)).status).toBe(200);
    expect((await ended(api, id)).reply).toBe('green');
  });

  it('is what it cost', async () => {
    const model = await startModel(() => ({ text: 'hello' }));
    models.push(model);
    const provider = { baseURL: model.url, apiKey: 'k', maxRetries: 0 };
    const api = await serve(host, { agent: { model: 'openai:gpt-4o-mini', provider } });
    const { usage, cost } = await runJob(api, 'hi');
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens);
    expect(usage.total_tokens).toBeGreaterThan(0);
    expect(cost.total).toBeGreaterThan(0);
  });

  it('is nothing where no model was called', async () => {
    const api = await serve(host);
    expect(await runJob(api, 'hi')).toMatchObject({ usage: null, cost: null });
  });
});
