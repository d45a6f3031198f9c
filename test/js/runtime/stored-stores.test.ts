// Stores that earlier layouts of the tables left are opened, and their runs read and gone on with. Both files of
// test/golden/store were written with version 5; `without_retention` of sqlite_backend_test.cpp made version 2 of a copy.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

import { createAgent, createRuntime, tool } from 'millrace';

import { startModel } from '../../support/scripted-model';

const golden = join(__dirname, '../../golden/store');
const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const expected = JSON.parse(readFileSync(join(golden, 'expected.json'), 'utf8')) as {
  ids: { done: string; waits: string; report: string };
  states: Record<string, string>;
  replays: { done: string };
  messages: Record<string, object[]>;
  artifacts: object[];
};

const open: { close(): unknown }[] = [];
const folder = mkdtempSync(join(tmpdir(), 'millrace-stored-'));
afterAll(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
  rmSync(folder, { recursive: true, force: true });
});

it.each([2, 5])('a store of version %i has its runs, and goes on with them', async (version) => {
  const at = join(folder, `${version}.db`);
  writeFileSync(at, gunzipSync(readFileSync(join(golden, `version-${version}.db.gz`))));
  const storage = `file:${at}` as const;
  // Its runs ended long ago.
  const retention = { compactMs: false, recordsMs: false, blobsMs: false } as const;
  const runtime = createRuntime({ storage, retention });
  open.push(runtime);
  const { ids } = expected;
  for (const [name, id] of Object.entries(ids)) {
    expect(await runtime.get(id)).toMatchObject({ id, state: expected.states[name] });
  }
  expect(await runtime.replay(ids.done)).toBe(expected.replays.done);
  expect(await runtime.get(ids.report)).toMatchObject({ result: 'report of May, checked' });
  const { thread, artifact } = runtime.storage({ principal: 'ada' });
  for (const [name, messages] of Object.entries(expected.messages)) {
    expect(await thread.getMessages(name)).toEqual(messages);
  }
  expect((await artifact.list({})).artifacts).toMatchObject(expected.artifacts);

  const model = await startModel([{ text: 'It is sent.' }]);
  open.push(model);
  const sent: unknown[] = [];
  createAgent({
    ...{ model: 'openai:m', provider: { apiKey: 'k', baseURL: model.url }, runtime, name: 'clerk' },
    tools: [
      tool({ name: 'add', input: { type: 'object' }, effect: 'read', run: () => 0 }),
      tool({
        name: 'mail',
        input: { type: 'object' },
        approval: true,
        run: (input) => sent.push(input),
      }),
    ],
  });
  // Its ten years may be over where this runs: that is a rejection.
  const [approval] = await runtime.approvals.list();
  if (Date.now() < Date.parse('2036-11-26')) {
    expect(approval).toMatchObject({ runId: ids.waits, toolCallId: 'c2' });
    await runtime.approvals.decide(approval?.id as string, { approved: true });
  }
  expect(await runtime.attach(ids.waits).text()).toBe('It is sent.');
  expect(sent).toEqual(approval ? [{ to: 'Ada' }] : []);
  await runtime.close();
  const check = execFileSync(process.execPath, [
    ...[cli, 'storage', 'check', '--storage', storage, '--json'],
  ]);
  expect(JSON.parse(String(check))).toEqual({ problems: [] });
});
