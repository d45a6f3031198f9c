// millrace runs export, replay and fork, as processes, on stores that `millrace serve` wrote.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bareEnvironment } from '../../support/environment';
import { RecordedServer } from '../../support/recorded-server';
import { type ScriptedModel, startModel } from '../../support/scripted-model';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const folder = mkdtempSync(join(tmpdir(), 'millrace-time-'));

interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

async function millrace(...args: string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { ...bareEnvironment },
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const outcome: Outcome = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (outcome.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (outcome.err += chunk.toString()));
  [outcome.code] = (await once(child, 'close')) as [number | null];
  return outcome;
}

async function jsonOf<T>(...args: string[]): Promise<T> {
  const { code, out, err } = await millrace(...args, '--json');
  if (code !== 0) throw new Error(`${args.join(' ')}: ${out}${err}`);
  return JSON.parse(out) as T;
}

interface Line {
  seq: number;
  fact?: { type: string };
}

let server: RecordedServer;
let model: ScriptedModel;
let store: string[];
let id: string;
let answer: string;

beforeAll(async () => {
  model = await startModel((body) => {
    const last = body.messages.at(-1);
    return last?.role === 'tool'
      ? { text: `It is ${String(last.content)}.` }
      : { calls: [{ id: 'c1', name: 'calculator', args: { expression: '6 * 7' } }] };
  });
  const env = { OPENAI_BASE_URL: `${model.url}/v1`, OPENAI_API_KEY: 'a.test-key' };
  server = new RecordedServer(['--model', 'openai:scripted', '--tools', 'calculator'], env);
  store = ['--storage', `file:${server.store}`];
  await server.start();
  const messages = [{ id: 'u1', role: 'user', content: 'Go.' }];
  const response = await server.post({ threadId: 'one', runId: 'r1', messages });
  id = response.headers.get('millrace-run-id') ?? '';
  answer = await response.text();
});
afterAll(async () => {
  await server.close();
  await model.close();
  rmSync(folder, { recursive: true, force: true });
});

async function seqOf(type: string): Promise<number> {
  const { out } = await millrace('runs', 'export', id, ...store, '--format=jsonl', '--output=-');
  const lines = out.trimEnd().split('\n');
  const found = lines
    .map((line) => JSON.parse(line) as Line)
    .find(({ fact }) => fact?.type === type);
  return found?.seq ?? 0;
}

const stateOf = async (run: string): Promise<string> =>
  (await jsonOf<{ state: string }>('runs', 'show', run, ...store)).state;

const results = (): unknown[] => model.chatBodies.map(({ messages }) => messages.at(-1)?.content);

describe('millrace runs', () => {
  it('exports a run to one new file for its user alone', async () => {
    const exported = await jsonOf<{ path: string; bytes: number; records: number }>(
      ...['runs', 'export', id, ...store],
    );
    const path = join(folder, `${id}.html`);
    expect(exported).toMatchObject({ path: `${id}.html`, bytes: statSync(path).size });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).toMatch(/^<!doctype html>[^]*<\/html>\n$/);
    const tail = await millrace('runs', 'tail', id, ...store, '--json');
    const lines = await millrace('runs', 'export', id, ...store, '--format=jsonl', '--output=-');
    expect(lines.out).toBe(tail.out);
    expect(exported.records).toBe(lines.out.trimEnd().split('\n').length);
    // What is there stays.
    const again = await millrace('runs', 'export', id, ...store, '--json');
    expect(again.code).toBe(1);
    expect(JSON.parse(again.out)).toMatchObject({ error: { code: 'invalid_option' } });
    expect(statSync(path).size).toBe(exported.bytes);
  });

  it('replays a run with its bytes, from the file alone', async () => {
    const requests = model.chatBodies.length;
    const { code, out } = await millrace('runs', 'replay', id, ...store);
    expect([code, out]).toEqual([0, answer]);
    const written = join(folder, 'answer.txt');
    const to = ['--output', written];
    expect(await jsonOf('runs', 'replay', id, ...store, ...to)).toEqual({
      ...{ path: written, bytes: Buffer.byteLength(answer) },
    });
    expect(readFileSync(written, 'utf8')).toBe(answer);
    const lobe = await millrace('runs', 'replay', id, ...store, '--as', 'lobe');
    expect(lobe.out).toContain('agent_runtime_end');
    expect(model.chatBodies).toHaveLength(requests);
  });

  const hasNamespaces = spawnSync('unshare', ['--map-root-user', '--net', 'true']).status === 0;
  (hasNamespaces ? it : it.skip)('replays a run where there is no network', () => {
    const args = ['--map-root-user', '--net', process.execPath, cli, 'runs', 'replay', id];
    const { status, stdout } = spawnSync('unshare', [...args, ...store], { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, answer]);
  });

  it.each(['with', 'without'])('forks a run, %s an owner', async (owner) => {
    const at = String(await seqOf('ToolResult'));
    if (owner === 'without') await server.end();
    const edit = ['--edit-result', 'c1=41 or so', '--thread', `fork ${owner}`];
    const forked = await jsonOf<{ id: string; state: string; threadId: string }>(
      ...['runs', 'fork', id, ...store, '--at', at, ...edit],
    );
    expect(forked.threadId).toBe(`fork ${owner}`);
    if (owner === 'without') {
      expect(forked.state).toBe('queued');
      const check = await jsonOf('storage', 'check', ...store);
      expect(check).toEqual({ problems: [] });
      await server.start();
    }
    while ((await stateOf(forked.id)) !== 'completed');
    expect(results().filter((result) => result === '41 or so')).toHaveLength(
      owner === 'with' ? 1 : 2,
    );
    expect((await millrace('runs', 'replay', forked.id, ...store)).out).toContain('41 or so');
    expect(await jsonOf('storage', 'check', ...store)).toEqual({ problems: [] });
  });

  it.each([
    [['export'], 2, 'Name the run'],
    [['export', 'run_1', '--format', 'pdf'], 2, '--format must be'],
    [['export', 'run_1'], 1, 'There is no run'],
    [['replay', 'run_1', '--as', 'soap'], 2, '--as must be'],
    [['replay', 'run_1'], 1, 'There is no run'],
    [['fork', 'run_1'], 2, '--at is missing'],
    [['fork', 'run_1', '--at', '0'], 2, '--at must be'],
    [['fork', 'run_1', '--at', '1', '--edit-result', 'c1'], 2, '<call>=<text>'],
    [['fork', 'run_1', '--at', '1'], 1, 'There is no run'],
  ])('says what is wrong with %j', async (args, code, text) => {
    const outcome = await millrace('runs', ...args, ...store);
    expect([outcome.code, outcome.err]).toEqual([code, expect.stringContaining(text)]);
  });
});
