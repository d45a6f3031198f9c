// What happens to runs when the store is slow, full or gone, and to requests that come twice.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createAgent, createRuntime, type Runtime } from 'millrace';

import { framesOf, RecordedServer } from '../../support/recorded-server';
import { startModel } from '../../support/scripted-model';
import { startChild } from '../support/durable-child';

const open: { close(): unknown }[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function folderOf(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-trouble-'));
  folders.push(folder);
  return folder;
}

function runtimeIn(folder: string): Runtime {
  const runtime = createRuntime({ storage: `file:${join(folder, 'store.db')}` });
  open.push(runtime);
  return runtime;
}

it('removes what processes left that were killed while they wrote a small file of the store', async () => {
  const folder = folderOf();
  const file = (name: string): string => join(folder, `store.db.control${name}`);
  for (const [name, minutes] of [
    ['.part1', 5],
    ['.part2', 0],
  ] as const) {
    writeFileSync(file(name), 'a token');
    const written = Date.now() / 1000 - minutes * 60;
    utimesSync(file(name), written, written);
  }
  await runtimeIn(folder).list();
  // That of a moment ago may belong to a process at work.
  const names = ['', '.part1', '.part2'];
  expect(names.map((name) => existsSync(file(name)))).toEqual([true, false, true]);
});

it('ends every run behind others that write more than the store takes at once', async () => {
  const model = await startModel(() => ({ text: Array(40).fill('word').join(' ') }));
  open.push(model);
  const runtime = runtimeIn(folderOf());
  const agent = createAgent({
    ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime, name: 'chat' },
  });
  const large = 'x'.repeat(3 << 20);
  const job = runtime.job('large', async (self) => {
    for (let at = 0; at < 4; at += 1) await self.step(`s${at}`, () => large);
  });
  const chats = Array.from({ length: 20 }, (_, at) => agent.run(`hello ${at}`));
  const jobs = Array.from({ length: 8 }, () => job.run(null));
  await Promise.all(jobs);
  const texts = await Promise.all(chats.map((run) => run.text()));
  expect(new Set(texts)).toEqual(new Set([Array(40).fill('word').join(' ')]));
});

it('goes on with a run when its store is back, and reports what it waits for', async () => {
  let release = (): void => undefined;
  const waits = new Promise<void>((resolve) => (release = resolve));
  const model = await startModel((_body, index) =>
    index === 0 ? { text: 'one two', waits } : { text: 'three' },
  );
  open.push(model);
  const folder = folderOf();
  const runtime = runtimeIn(folder);
  const agent = createAgent({
    ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime, name: 'chat' },
  });
  const run = agent.run({ threadId: 't', messages: [{ id: 'u', role: 'user', content: 'x' }] });
  const failed = run.result.catch((error: unknown) => error);
  for await (const event of run) if ((event.type as string) === 'TEXT_MESSAGE_CONTENT') break;
  const { id } = run as unknown as { id: string };
  // Elsewhere, as a folder that is not mounted for a moment.
  const [here, away] = [join(folder, 'store.db'), join(folder, 'away')];
  mkdirSync(away);
  renameSync(here, join(away, 'store.db'));
  release();
  await failed;
  const lost = await runtime.get(id);
  expect(lost).toMatchObject({ state: 'running', waitsFor: { reason: 'store_moved' } });
  renameSync(join(away, 'store.db'), here);
  for (;;) {
    const info = await runtime.get(id);
    if (info?.state === 'completed') break;
    expect(['running', 'parked']).toContain(info?.state);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect(await runtime.attach(id).text()).toBe('three');
  expect((await runtime.get(id))?.recoveries).toBe(0);
});

it('rejects runs, and is not ready, where the file of the store is gone', async () => {
  const model = await startModel(() => ({ text: 'hello' }));
  open.push(model);
  const server = new RecordedServer(['--model', 'openai:m'], {
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: 'a.test-key',
  });
  open.push(server);
  server.isQuiet = true;
  await server.start();
  const body = { threadId: 't', messages: [{ id: 'u', role: 'user', content: 'x' }] };
  expect(
    framesOf(await (await server.post({ ...body, runId: 'r1' })).text()).at(-1)?.event.type,
  ).toBe('RUN_FINISHED');
  renameSync(server.store, `${server.store}.old`);
  const response = await server.post({ ...body, runId: 'r2' });
  expect(response.status).toBe(500);
  expect(await response.json()).toMatchObject({ error: { code: 'store_moved' } });
  expect((await fetch(server.url.replace(/agent$/, 'readyz'))).status).toBe(503);
});

it('gives one run to equal requests that come at once', async () => {
  const model = await startModel(() => ({ text: 'one two three' }));
  open.push(model);
  const runtime = runtimeIn(folderOf());
  const agent = createAgent({
    ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime, name: 'chat' },
    authorize: () => ({ principal: 'ada' }),
  });
  const send = (runId: string): Promise<Response> =>
    agent.handler(
      new Request('http://localhost/agent', {
        method: 'POST',
        body: JSON.stringify({
          threadId: runId,
          runId,
          messages: [{ id: 'u', role: 'user', content: 'x' }],
        }),
      }),
    );
  for (let at = 0; at < 10; at += 1) {
    const answers = await Promise.all(Array.from({ length: 4 }, () => send(`r${at}`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(new Set(texts).size).toBe(1);
  }
  expect(model.chatBodies).toHaveLength(10);
});

it('keeps what only waits over many kills', async () => {
  const store = join(folderOf(), 'store.db');
  for (let kill = 0; kill < 8; kill += 1) {
    const child = startChild({ store }, 'waiting-child');
    const { states } = await child.until((line) => line['states'] !== undefined);
    expect(Object.values(states as object)).not.toContain('dead');
    await child.kill();
  }
  const child = startChild({ store, answers: true }, 'waiting-child');
  const { results, sleep } = await child.until((line) => line['results'] !== undefined);
  expect(results).toEqual(['yes', true, { n: 1 }]);
  expect(sleep).toBe('sleeping');
  await child.ended();
});
