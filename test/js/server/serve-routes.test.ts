// What the routes of the Runtime API have in `millrace serve`, where the engine alone stands behind them.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, type } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { bareEnvironment } from '../../support/environment';
import { type ScriptedModel, startModel, type Turn } from '../../support/scripted-model';
import { bodyOf, loopback } from '../support/server';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Json = any;

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const fixture = join(__dirname, '../fixtures/mcp-server.cjs');
const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Served {
  model: ScriptedModel;
  url: string;
  call: (path: string, body?: object) => Promise<{ status: number; body: Json }>;
}

type Script = Turn[] | ((body: ScriptedModel['asked'][number], index: number) => Turn);

async function serve(
  script: Script,
  env: Record<string, string> = {},
  args: string[] = [],
): Promise<Served> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-served-'));
  closers.push(() => rmSync(dir, { recursive: true, force: true }));
  const model = await startModel(script);
  closers.push(() => model.close());
  const storage = ['--storage', `file:${join(dir, 'store.db')}`];
  const given = ['--port', '0', '--json', '--model', 'openai:scripted', ...storage, ...args];
  const child: ChildProcess = spawn(process.execPath, [cli, 'serve', ...given], {
    cwd: dir,
    env: {
      ...{ ...bareEnvironment, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: model.url },
      ...env,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(async () => {
    child.kill();
    if (child.exitCode === null) await once(child, 'exit');
  });
  if (!child.stdout) throw new Error('there is no output');
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const call: Served['call'] = async (path, body) => {
    const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${url}/api/${path}`, sent);
    return { status: answer.status, body: await answer.json() };
  };
  return { model, url, call };
}

/** What `look` gives once `is` holds. */
async function eventually(look: () => Promise<Json>, is: (found: Json) => boolean): Promise<Json> {
  for (const end = Date.now() + 10_000; Date.now() < end;) {
    const found: Json = await look();
    if (is(found)) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`it never happened: ${JSON.stringify(await look())}`);
}

describe('tools', () => {
  const on = { MILLRACE_API_TOOL_INVOKE_ENABLED: 'on' };
  const args = ['--tools', 'calculator,time,ask_user'];
  const sum = { tool_name: 'calculator', args: { expression: '6 * 7' } };

  it('are refused until the configuration says otherwise', async () => {
    const { call } = await serve([], {}, args);
    const refusal = { status: 403, body: { error: 'Tool invoke API is disabled' } };
    expect(await call('v1/tools')).toEqual(refusal);
    expect(await call('v1/tools/invoke', sum)).toEqual(refusal);
  });

  it('of the agent are listed, counted and called', async () => {
    const { call, model } = await serve([], on, args);
    const { body: listed } = await call('v1/tools');
    expect(listed).toMatchObject({ count: 2, tools: [{ type: 'function' }, {}] });
    const names = listed.tools.map((tool: Json) => tool.function.name);
    expect(names).toEqual(['calculator', 'time']);
    const { body: probe } = await call('v1/probes/internal');
    expect(probe.skills.tools).toMatchObject({ count: 2, items: [{ name: 'calculator' }, {}] });
    const { body: answer } = await call('v1/tools/invoke', sum);
    expect(answer).toMatchObject({ ok: true, tool_name: 'calculator' });
    expect(answer.result).toContain('42');
    const wrong = await call('v1/tools/invoke', { tool_name: 'calculator', args: { x: 1 } });
    expect(wrong).toMatchObject({ status: 200, body: { ok: false } });
    expect(wrong.body.error).toContain('expression');
    const asking = await call('v1/tools/invoke', { tool_name: 'ask_user', args: {} });
    expect(asking.status).toBe(404);
    expect(model.chatBodies).toEqual([]);
  });

  it('go on without their request, and report to a callback', async () => {
    const seen: Json[] = [];
    const heads: Record<string, string>[] = [];
    const sink = await loopback((request, response) => {
      void bodyOf(request).then((text) => {
        seen.push(JSON.parse(text));
        heads.push({ ...(request.headers as Record<string, string>), text });
        response.writeHead(200).end();
      });
    });
    closers.push(() => sink.close());
    const allow = { MILLRACE_API_TOOL_INVOKE_CALLBACK_ALLOWLIST: 'localhost' };
    const keys = ['a'.repeat(32), 'b'.repeat(32)];
    const secrets = keys.map((key) => `whsec_${Buffer.from(key).toString('base64')}`);
    const signed = { MILLRACE_API_WEBHOOK_SECRETS: secrets.join(',') };
    const { call } = await serve([], { ...on, ...allow, ...signed }, args);
    const begun = await call('v1/tools/invoke', { ...sum, async: true });
    expect(begun).toMatchObject({ status: 202, body: { ok: true, status: 'accepted' } });
    const look = async (): Promise<Json> =>
      (await call(`v1/tools/invocations/${begun.body.request_id}`)).body;
    const ended = await eventually(look, ({ ok }) => ok !== null);
    expect(ended).toMatchObject({ status: 'done', ok: true, error: null });
    expect(ended.result).toContain('42');
    const url = sink.url.replace('127.0.0.1', 'localhost');
    await call('v1/tools/invoke', { ...sum, args: {}, callback: { enabled: true, url } });
    await eventually(
      () => Promise.resolve(seen),
      ({ length }) => length > 0,
    );
    expect(seen).toMatchObject([{ tool_name: 'calculator', ok: false, result: null }]);
    const [head = {}] = heads;
    const content = `${head['webhook-id']}.${head['webhook-timestamp']}.${head['text']}`;
    const signatures = keys.map(
      (key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`,
    );
    expect(head['webhook-signature']).toBe(signatures.join(' '));
  });

  const mcpFile = (): string => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-mcp-'));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'mcp.json');
    const local = { command: process.execPath, args: [fixture] };
    writeFileSync(file, JSON.stringify({ mcpServers: { local } }));
    return file;
  };

  // No approval is asked for on these routes, which tools of MCP servers need unless they are trusted.
  it('of MCP servers are there only where all are', async () => {
    const { call } = await serve([], on, [...args, '--mcp', mcpFile(), '--strict']);
    const { body } = await call('v1/tools');
    const names = body.tools.map((one: Json) => one.function.name);
    expect(names).toEqual(['calculator', 'time']);
    const echo = { tool_name: 'local__echo', args: { text: 'hi' } };
    expect((await call('v1/tools/invoke', echo)).status).toBe(404);
  });

  it('of MCP servers are given up when they take too long', async () => {
    const file = mcpFile();
    const settings = {
      ...on,
      MILLRACE_API_TOOL_INVOKE_EXPOSE: 'all',
      MILLRACE_API_TOOL_INVOKE_TIMEOUT: '1',
      MILLRACE_API_TOOL_INVOKE_DENYLIST: 'calculator',
    };
    const { call } = await serve([], settings, [...args, '--mcp', file, '--strict']);
    expect((await call('v1/tools/invoke', sum)).status).toBe(404);
    const hang = { tool_name: 'local__hang', args: {} };
    const late = { ok: false, error: 'Execution timed out after 1s' };
    expect((await call('v1/tools/invoke', hang)).body).toMatchObject(late);
    const begin = async (): Promise<string> =>
      `v1/tools/invocations/${(await call('v1/tools/invoke', { ...hang, async: true })).body.request_id}`;
    const [slow, stopped] = [await begin(), await begin()];
    expect((await call(`${stopped}/cancel`, {})).body).toMatchObject({ status: 'cancelled' });
    const look = async (): Promise<Json> => (await call(slow)).body;
    expect(await eventually(look, ({ ok }) => ok !== null)).toMatchObject(late);
  });
});

const isTitling = ({ messages }: ScriptedModel['asked'][number]): boolean =>
  String(messages[0]?.content).startsWith('You write titles');

describe('titles', () => {
  const message = 'How do I bake bread without an oven?';
  const titleOf = async ({ call }: Served): Promise<Json> =>
    (await call('v1/chat/conversations')).body.conversations[0];

  it('are made by the model once there is an answer, once', async () => {
    const served = await serve((body) => ({
      text: isTitling(body) ? '"Bread without an oven"' : 'In a pan.',
    }));
    const { call, model } = served;
    expect((await call('v1/chat', { message })).body.reply).toBe('In a pan.');
    const made = await eventually(
      () => titleOf(served),
      ({ title_status: status }) => status === 'generated',
    );
    expect(made).toMatchObject({ title: 'Bread without an oven', title_source: 'model' });
    const [request, ...others] = model.chatBodies.filter(isTitling) as Json[];
    expect(others).toEqual([]);
    expect(request.max_tokens ?? request.max_completion_tokens).toBe(512);
    expect(request).not.toHaveProperty('tools');
    expect(request.messages[1].content).toContain(message);
    expect(request.messages[1].content).toContain('In a pan.');
    await call('v1/chat', { message: 'Thanks' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(model.chatBodies.filter(isTitling)).toHaveLength(1);
  });

  it('that fail leave the job and the question', async () => {
    const served = await serve((body) => (isTitling(body) ? { text: '' } : { text: 'In a pan.' }));
    expect((await served.call('v1/chat', { message })).body.reply).toBe('In a pan.');
    const left = await eventually(
      () => titleOf(served),
      ({ title_status: status }) => status === 'failed',
    );
    expect(message.startsWith(left.title)).toBe(true);
  });

  it('of the user stay, and the long texts of a conversation are cut', async () => {
    let release = (): void => undefined;
    const waits = new Promise<void>((resolve) => (release = resolve));
    const served = await serve((body) =>
      isTitling(body) ? { text: 'By the model', waits } : { text: 'y'.repeat(50_000) },
    );
    const { call, model, url } = served;
    await call('v1/chat', { message: 'x'.repeat(50_000) });
    const pending = await eventually(
      () => titleOf(served),
      ({ title_status: status }) => status === 'pending',
    );
    await eventually(
      () => Promise.resolve(model.chatBodies),
      (bodies) => bodies.some(isTitling),
    );
    const sent = JSON.stringify(model.chatBodies.find(isTitling));
    expect(sent.length).toBeLessThan(6000);
    await fetch(`${url}/api/v1/chat/conversations/${pending.id}`, {
      ...{ method: 'PATCH', body: JSON.stringify({ title: 'Mine' }) },
    });
    release();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await titleOf(served)).toMatchObject({ title: 'Mine', title_source: 'manual' });
  });

  it('are not made where the configuration says so', async () => {
    const served = await serve([{ text: 'In a pan.' }], { MILLRACE_API_TITLE_ENABLED: 'off' });
    await served.call('v1/chat', { message });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await titleOf(served)).toMatchObject({ title_status: 'temporary' });
    expect(served.model.chatBodies).toHaveLength(1);
  });
});

describe('objects', () => {
  const messages = [{ role: 'user', content: 'Where is Ada?' }];
  const schema = {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  };

  it('are made by the model, which gets a second chance', async () => {
    const { call, model } = await serve([
      ...[{ text: '{"city":"London"}' }, { text: '{"town":1}' }, { text: '{"city":"Paris"}' }],
      ...[{ text: 'no' }, { text: 'no' }],
    ]);
    const make = (): ReturnType<Served['call']> =>
      call('agent/chat/output-json', { messages, schema: { name: 'place', schema } });
    expect(await make()).toEqual({ status: 200, body: { city: 'London' } });
    expect(model.chatBodies[0]).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { name: 'place' } },
    });
    expect(await make()).toEqual({ status: 200, body: { city: 'Paris' } });
    expect(model.chatBodies[2]?.messages.length).toBeGreaterThan(messages.length);
    expect(await make()).toMatchObject({ status: 502, body: { code: 'invalid_object' } });
  });

  it('are calls where tools are given', async () => {
    const { call } = await serve([{ calls: [{ id: 'c', name: 'find', args: { who: 'Ada' } }] }]);
    const tools = [{ type: 'function', function: { name: 'find', parameters: schema } }];
    expect(await call('agent/chat/output-json', { messages, tools })).toEqual({
      ...{ status: 200, body: [{ name: 'find', arguments: { who: 'Ada' } }] },
    });
    expect((await call('agent/chat/output-json', { messages })).status).toBe(400);
  });
});

it('the probe has the members that its clients know', async () => {
  const { call } = await serve([]);
  const { body: probe } = await call('v1/probes/internal');
  const some = expect.any(Object) as object;
  expect(probe).toMatchObject({
    ...{ timestamp: expect.any(String), version: expect.any(String), platform: type() },
    ...{ python: '', uptime_seconds: expect.any(Number), memory: { count: 0 } },
    scheduler: { available: false, count: 0, running: false },
    cognitive: { enabled: false, queue: {} },
    api: { enabled: true, host: '127.0.0.1', openapi_enabled: true },
    skills: Object.fromEntries(
      ['tools', 'toolsets', 'agents', 'pipelines', 'commands', 'anthropic_skills'].map((name) => [
        ...[name, { count: 0, loaded: 0, items: [] }],
      ]),
    ),
    models: { chat_model: some },
  });
  for (const name of ['onebot', 'queues', 'message_batcher']) expect(probe[name]).toEqual({});
});
