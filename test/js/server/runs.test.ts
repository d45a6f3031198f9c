// `millrace serve --storage`: runs outlive their readers and their process.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import type { BaseEvent } from '@ag-ui/client';
import { HttpAgent } from '@ag-ui/client';
import { from } from 'rxjs';

import type { Frame } from '../../support/recorded-server';
import { framesOf, readUntil, RecordedServer } from '../../support/recorded-server';
import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const servers: RecordedServer[] = [];
const models: ScriptedModel[] = [];

async function serve(
  script: Turn[] | ((body: ScriptedModel['asked'][number], index: number) => Turn),
  args: string[] | ((server: RecordedServer) => string[]) = [],
): Promise<{ server: RecordedServer; model: ScriptedModel }> {
  const model = await startModel(script);
  models.push(model);
  const given: string[] = ['--model', 'openai:scripted'];
  const server = new RecordedServer(given, {
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: 'a.test-key',
  });
  given.push(...(typeof args === 'function' ? args(server) : args));
  servers.push(server);
  await server.start();
  return { server, model };
}

afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
  for (const model of models.splice(0)) await model.close();
});

const user = (content: string, id = 'u1') => ({ id, role: 'user' as const, content });
const input = (runId: string, content: string) => ({
  threadId: 'thread',
  runId,
  messages: [user(content)],
});
const lastId = (text: string): number =>
  framesOf(text).findLast(({ id }) => id !== undefined)?.id ?? 0;
const textOf = (frames: readonly Frame[]): string => {
  let text = '';
  for (const { event } of frames) {
    if (event.type === 'CUSTOM' && event['name'] === 'millrace.reset') text = '';
    if (event.type === 'TEXT_MESSAGE_CONTENT') text += String(event['delta']);
  }
  return text;
};
const ended = (text: string): boolean => /RUN_FINISHED|RUN_ERROR/u.test(text);

/** An MCP server with the tool `pay`, which writes down that it ran, and ends when there is a file that says so. */
function payServer(
  server: RecordedServer,
  approval = 'never',
): { args: string[]; witness: string; go: string } {
  const witness = join(server.folder, 'witness');
  const go = join(server.folder, 'go');
  const program = `
    const fs = require('node:fs');
    const { createInterface } = require('node:readline');
    const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line);
      if (method === 'initialize') {
        send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} },
          serverInfo: { name: 'pay', version: '1' } });
      } else if (method === 'tools/list') {
        send(id, { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] });
      } else if (method === 'tools/call') {
        fs.appendFileSync(${JSON.stringify(witness)}, 'paid\\n');
        const wait = () => fs.existsSync(${JSON.stringify(go)})
          ? send(id, { content: [{ type: 'text', text: 'paid' }] }) : setTimeout(wait, 5);
        wait();
      } else if (id !== undefined) send(id, {});
    });`;
  const script = join(server.folder, 'pay.cjs');
  writeFileSync(script, program);
  const file = join(server.folder, 'mcp.json');
  writeFileSync(
    file,
    JSON.stringify({ mcpServers: { shop: { command: process.execPath, args: [script] } } }),
  );
  return { args: ['--mcp', file, '--approval', approval], witness, go };
}

/** The same behind an approval; it ends at once. */
function payAtOnce(server: RecordedServer): string[] {
  const { args, go } = payServer(server, 'always');
  writeFileSync(go, '');
  return args;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a recorded run', () => {
  it('goes on when its reader leaves, and is read again from there', async () => {
    const { server, model } = await serve([{ text: 'Hello out there', hang: true }]);
    const response = await server.post(input('r1', 'Go.'));
    const run = response.headers.get('millrace-run-id') ?? '';
    expect(run).toMatch(/^run_[0-9a-f]{32}$/u);
    const first = await readUntil(response, (text) => text.includes('there'));
    expect((await server.info(run)).state).toBe('running');
    const rest = server.get(`/r1?after=${lastId(first)}`);
    await until(async () => (await server.info('r1')).state === 'running');
    const stopped = await fetch(`${server.url}/runs/r1`, { method: 'DELETE' });
    expect(stopped.status).toBe(202);
    const frames = framesOf(await (await rest).text());
    expect(frames.at(-1)?.event).toMatchObject({ type: 'RUN_ERROR', code: 'cancelled' });
    expect((await server.info(run)).state).toBe('cancelled');
    // The stop reaches the provider.
    await model.calls[0]?.closed;
    // Every reader gets the same bytes.
    const whole = await (await server.get(`/${run}`)).text();
    expect(whole.startsWith(first.slice(0, first.lastIndexOf('\n\n') + 2))).toBe(true);
  });

  it('is asked for again behind a reset after kill -9 in an answer', async () => {
    const { server, model } = await serve([
      { text: 'Hello', hang: true },
      { text: 'Hello again.' },
    ]);
    const first = await readUntil(await server.post(input('r1', 'Go.')), (text) =>
      text.includes('Hello'),
    );
    await server.restart();
    const rest = await (await server.get(`/r1?after=${lastId(first)}`)).text();
    const frames = [...framesOf(first), ...framesOf(rest)];
    expect(textOf(frames)).toBe('Hello again.');
    expect(frames.filter(({ event }) => event['name'] === 'millrace.reset')).toHaveLength(1);
    expect(frames.at(-1)?.event.type).toBe('RUN_FINISHED');
    const ids = frames.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => Number(a) - Number(b)));
    expect(model.asked).toHaveLength(2);
    expect(await server.info('r1')).toMatchObject({ state: 'completed', recoveries: 1 });
  });

  it('leaves no void half of an answer in the messages of a client', async () => {
    const { server } = await serve(
      [{ text: 'Hello', hang: true }, { text: 'Hello again.' }],
      [...['--system', 'Be brief and secret.']],
    );
    const first = await readUntil(await server.post(input('r1', 'Go.')), (text) =>
      text.includes('Hello'),
    );
    const half = framesOf(first).find(({ event }) => event.type === 'TEXT_MESSAGE_START');
    await server.restart();
    const rest = framesOf(await (await server.get(`/r1?after=${lastId(first)}`)).text());
    const reset = rest.findIndex(({ event }) => event['name'] === 'millrace.reset');
    expect(rest[reset]?.event['value']).toMatchObject({ messageIds: [half?.event['messageId']] });
    expect(rest[reset + 1]?.event).toMatchObject({
      type: 'MESSAGES_SNAPSHOT',
      messages: [{ id: 'u1', role: 'user', content: 'Go.' }],
    });
    // AG-UI's own client, which knows nothing of a reset.
    const reader = new HttpAgent({ url: 'http://127.0.0.1:9', threadId: 'thread' });
    reader.messages = [user('Go.')];
    reader.run = () => from([...framesOf(first), ...rest].map(({ event }) => event as BaseEvent));
    await reader.runAgent({ runId: 'r1' });
    expect(reader.messages.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'Go.'],
      ['assistant', 'Hello again.'],
    ]);
  });

  it('is parked where it cannot be read, which stderr has once', async () => {
    const planted = 'planted'.repeat(20);
    const { server } = await serve([{ text: planted, hang: true }]);
    const response = await server.post(input('r1', 'Go.'));
    const run = response.headers.get('millrace-run-id') ?? '';
    await readUntil(response, (text) => text.includes('plantedplanted'));
    await server.end();
    // Brings what was written into the file itself.
    const store = `file:${server.store}`;
    spawnSync(process.execPath, [cli, 'storage', 'vacuum', '--storage', store]);
    const bytes = readFileSync(server.store);
    const at = bytes.lastIndexOf('plantedplanted');
    bytes.write('x', at);
    writeFileSync(server.store, bytes);
    server.isQuiet = true;
    await server.start();
    await until(() => server.reported.includes(run));
    expect(server.reported).toMatch(/^The run run_\w+ is parked: .*store_damaged/mu);
    expect(server.reported.split('is parked')).toHaveLength(2);
    expect(await server.info(run)).toMatchObject({
      state: 'parked',
      waitsFor: { reason: 'store_damaged' },
    });
  });

  it('is reported where commits are lost, also where none was at work', async () => {
    const { server } = await serve([{ text: 'Hello.' }]);
    await (await server.post(input('r1', 'Go.'))).text();
    await server.end();
    const log = `${server.store}-wal`;
    const bytes = readFileSync(log);
    // In a page of its fourth frame.
    const at = 32 + 3 * (24 + 4096) + 2000;
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    writeFileSync(log, bytes);
    server.isQuiet = true;
    await server.start();
    await until(() => server.reported.includes('Commits are missing'));
    expect(server.reported).toMatch(/^Commits are missing: .*has lost commits: frame \d+/mu);
  });

  it('runs no tool twice after kill -9 in the middle of it', async () => {
    let pay = { witness: '', go: '' };
    const { server } = await serve(
      (body) =>
        body.messages.some(({ role }) => role === 'tool')
          ? { text: `The tool gave: ${String(body.messages.at(-1)?.content)}` }
          : { calls: [{ id: 'c1', name: 'shop__pay' }] },
      (one) => {
        const made = payServer(one);
        pay = made;
        return made.args;
      },
    );
    const response = await server.post(input('r1', 'Pay.'));
    const run = response.headers.get('millrace-run-id') ?? '';
    await until(() => existsSync(pay.witness));
    await server.end();
    writeFileSync(pay.go, '');
    await server.start();
    const text = textOf(framesOf(await (await server.get(`/${run}`)).text()));
    expect(text).toMatch(/^The tool gave: .*unknown/u);
    expect(readFileSync(pay.witness, 'utf8')).toBe('paid\n');
  });

  it('waits for its approval over kill -9, and takes one answer', async () => {
    const { server } = await serve(
      (body) =>
        body.messages.some(({ role }) => role === 'tool')
          ? { text: 'It is done.' }
          : { calls: [{ id: 'c1', name: 'shop__pay', args: { sum: 1 } }] },
      payAtOnce,
    );
    const asked = framesOf(await (await server.post(input('r1', 'Do it.'))).text());
    expect(asked.at(-1)?.event).toMatchObject({ outcome: { type: 'interrupt' } });
    await server.restart();
    const { id, approvals } = (await server.info('r1')) as unknown as {
      id: string;
      approvals: { id: string; interrupt: { metadata: { arguments: object } } }[];
    };
    expect(approvals[0]?.interrupt.metadata.arguments).toEqual({ sum: 1 });
    const decide = (body: object) =>
      fetch(`${server.url}/runs/${id}/approvals/${approvals[0]?.id ?? ''}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
    expect((await decide({ approved: true })).status).toBe(200);
    expect((await decide({ approved: true })).status).toBe(409);
    const rest = await (await server.get(`/${id}?after=${asked.at(-1)?.id}`)).text();
    expect(textOf(framesOf(rest))).toBe('It is done.');
    expect((await server.info(id)).state).toBe('completed');
  });

  it('is answered by the next request of an AG-UI client', async () => {
    const { server } = await serve(
      (body) =>
        body.messages.some(({ role }) => role === 'tool')
          ? { text: 'It is done.' }
          : { calls: [{ id: 'c1', name: 'shop__pay', args: { sum: 1 } }] },
      payAtOnce,
    );
    const agent = new HttpAgent({ url: server.url, threadId: 'thread' });
    agent.addMessage(user('Do it.'));
    const first = await agent.runAgent();
    expect(first.newMessages.length).toBeGreaterThan(0);
    await server.restart();
    agent.url = server.url;
    const interrupts = agent.pendingInterrupts;
    expect(interrupts).toHaveLength(1);
    await agent.runAgent({
      resume: [
        { interruptId: interrupts[0]?.id ?? '', status: 'resolved', payload: { approved: true } },
      ],
    });
    expect(agent.messages.at(-1)).toMatchObject({ role: 'assistant', content: 'It is done.' });
    const runs = (await (await server.get('')).json()) as { runs: { state: string }[] };
    expect(runs.runs.map(({ state }) => state)).toEqual(['completed']);
  });

  it('goes on after SIGTERM and another start', async () => {
    const { server } = await serve([{ text: 'Hello', hang: true }, { text: 'Hello again.' }]);
    const response = await server.post(input('r1', 'Go.'));
    await readUntil(response, (text) => text.includes('Hello'));
    expect(await server.end('SIGTERM')).toBe(0);
    await server.start();
    const text = await (await server.get('/r1')).text();
    expect(textOf(framesOf(text))).toBe('Hello again.');
  });

  it('gives a repeated request the run that is there, and refuses another one', async () => {
    const { server, model } = await serve([{ text: 'Hello.' }]);
    const first = await (await server.post(input('r1', 'Go.'))).text();
    expect(await (await server.post(input('r1', 'Go.'))).text()).toBe(first);
    const other = await server.post(input('r1', 'Something else.'));
    expect(other.status).toBe(409);
    expect(await other.json()).toMatchObject({ error: { code: 'run_conflict' } });
    expect(model.asked).toHaveLength(1);
  });

  it('leaves its thread to one run at a time', async () => {
    const { server } = await serve([{ text: 'Hello', hang: true }]);
    await readUntil(await server.post(input('r1', 'Go.')), (text) => text.includes('Hello'));
    const second = await server.post(input('r2', 'Go on.'));
    expect(second.status).toBe(409);
    expect(await second.json()).toMatchObject({ error: { code: 'run_conflict' } });
  });
});

describe('the routes of recorded runs', () => {
  it('answer wrong cursors and unknown runs with their codes', async () => {
    const { server } = await serve([{ text: 'Hello.' }]);
    const whole = await (await server.post(input('r1', 'Go.'))).text();
    const last = lastId(whole);
    const failure = async (response: Response) => [
      response.status,
      ((await response.json()) as { error: { code: string } }).error.code,
    ];
    expect(await failure(await server.get('/r1?after=no'))).toEqual([400, 'invalid_argument']);
    expect(await failure(await server.get('/r1?after=-1'))).toEqual([400, 'invalid_argument']);
    expect(await failure(await server.get('/r1?after=1000'))).toEqual([409, 'cursor_ahead']);
    expect(await failure(await server.get('/nobody'))).toEqual([404, 'run_not_found']);
    expect(await failure(await server.get('?state=lost'))).toEqual([400, 'invalid_argument']);
    expect(await failure(await server.get('?limit=0'))).toEqual([400, 'invalid_argument']);
    const own = await server.post(input(`run_${'1'.repeat(32)}`, 'Go.'));
    expect(await failure(own)).toEqual([400, 'invalid_body']);
    // The header of a reader that comes again counts more than its address.
    const again = await server.get('/r1?after=0', { 'last-event-id': String(last) });
    expect(again.status).toBe(204);
    expect((await server.get(`/r1?after=${last}`)).status).toBe(204);
    const tail = await (await server.get(`/r1?after=${last - 1}`)).text();
    expect(whole.endsWith(tail)).toBe(true);
  });

  it('are refused where no runs are recorded', async () => {
    const { server } = await serve([]);
    await server.end();
    const spawned = spawnSync(process.execPath, [cli, 'serve', '--on-disconnect', 'stop'], {
      encoding: 'utf8',
    });
    expect(spawned.status).toBe(2);
    expect(spawned.stderr).toContain('--storage file:PATH');
  });

  it('need a key beyond this machine, which is made', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-key-'));
    const store = join(folder, 'store.db');
    const args = [cli, 'serve', '--host', '0.0.0.0', '--port', '0', '--json'];
    const child = spawn(process.execPath, [...args, '--storage', `file:${store}`], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
      const { port } = JSON.parse(line) as { port: number };
      const key = readFileSync(`${store}.key`, 'utf8').trim();
      expect(statSync(`${store}.key`).mode & 0o777).toBe(0o600);
      const url = `http://127.0.0.1:${port}`;
      const statusOf = async (path: string, headers: Record<string, string> = {}) =>
        (await fetch(url + path, { headers })).status;
      expect(await statusOf('/agent/runs')).toBe(401);
      expect(await statusOf('/agent/capabilities')).toBe(401);
      expect(await statusOf('/agent/runs', { authorization: 'Bearer other' })).toBe(401);
      expect(await statusOf('/agent/runs', { authorization: `Bearer ${key}` })).toBe(200);
      expect(await statusOf('/api/v1/chat/history', { 'x-millrace-api-key': key })).toBe(200);
      const chat = await fetch(`${url}/webapi/chat/openai`, { method: 'POST', body: '{}' });
      expect(chat.status).toBe(401);
      expect(await chat.json()).toMatchObject({
        errorType: 'Unauthorized',
        body: { provider: 'openai', error: { code: 'unauthorized' } },
      });
      expect(await statusOf('/health')).toBe(200);
    } finally {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('leave the store to the process that has it', async () => {
    const { server } = await serve([]);
    const spawned = spawnSync(
      process.execPath,
      [cli, 'serve', '--port', '0', '--wait', '0', '--storage', `file:${server.store}`],
      { encoding: 'utf8' },
    );
    expect(spawned.status).toBe(1);
    expect(spawned.stderr).toContain('open in the process');
  });

  it('stop a run whose reader leaves where that is wanted', async () => {
    const { server, model } = await serve(
      [{ text: 'Hello', hang: true }],
      ['--on-disconnect', 'stop'],
    );
    await readUntil(await server.post(input('r1', 'Go.')), (text) => text.includes('Hello'));
    await model.calls[0]?.closed;
    await until(async () => (await server.info('r1')).state === 'cancelled');
  });

  it('give the user as long for an answer as is wanted', async () => {
    const { server } = await serve(
      [{ calls: [{ id: 'c1', name: 'shop__pay', args: {} }] }, { text: 'Not paid.' }],
      (one) => [...payAtOnce(one), '--approval-timeout', '1'],
    );
    await readUntil(await server.post(input('r1', 'Pay.')), ended);
    const { approvals } = (await server.info('r1')) as unknown as {
      approvals: { expiresAt: number }[];
    };
    expect(Math.abs((approvals[0]?.expiresAt ?? 0) - Date.now())).toBeLessThan(30_000);
    await until(async () => (await server.info('r1')).state === 'completed');
  });

  it('do with a run whose reader leaves what its request wants', async () => {
    const { server } = await serve(
      () => ({ text: 'Hello', hang: true }),
      ['--on-disconnect', 'stop'],
    );
    const leave = async (runId: string, query: string): Promise<void> => {
      const body = JSON.stringify({ ...input(runId, 'Go.'), threadId: runId });
      const response = await fetch(`${server.url}${query}`, { method: 'POST', body });
      await readUntil(response, (text) => text.includes('Hello'));
    };
    await leave('r1', '?onDisconnect=continue');
    await leave('r2', '');
    await until(async () => (await server.info('r2')).state === 'cancelled');
    expect(await server.info('r1')).toMatchObject({ state: 'running' });
    const body = JSON.stringify(input('r3', 'Go.'));
    const wrong = await fetch(`${server.url}?onDisconnect=end`, { method: 'POST', body });
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toMatchObject({ error: { code: 'invalid_argument' } });
  });

  it('open again what is open for a reader that remembers nothing', async () => {
    const { server } = await serve([{ text: 'Hello out there', hang: true }]);
    const first = await readUntil(await server.post(input('r1', 'Go.')), (text) =>
      text.includes('there'),
    );
    const response = await server.get(`/r1?after=${lastId(first)}&fresh=1`);
    const fresh = readUntil(response, ended);
    await fetch(`${server.url}/runs/r1`, { method: 'DELETE' });
    const types = framesOf(await fresh).map(({ id, event }) => [id === undefined, event.type]);
    expect(types.slice(0, 3)).toEqual([
      [true, 'RUN_STARTED'],
      [true, 'STEP_STARTED'],
      [true, 'TEXT_MESSAGE_START'],
    ]);
    expect(types.at(-1)).toEqual([false, 'RUN_ERROR']);
  });
});
