// millrace runs and millrace storage, as processes, on stores that `millrace serve` wrote.
// Begins first: it starts many processes.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { bareEnvironment } from '../../support/environment';
import { cleanUp, makeStore, startChild } from '../support/durable-child';
import { framesOf, readUntil, RecordedServer } from '../../support/recorded-server';
import type { ScriptedModel, Turn } from '../../support/scripted-model';
import { startModel } from '../../support/scripted-model';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');

interface Outcome {
  code: number | null;
  out: string;
  err: string;
}

async function millrace(args: string[], env: Record<string, string> = {}): Promise<Outcome> {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { ...bareEnvironment, ...env },
    cwd: tmpdir(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const outcome: Outcome = { code: null, out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (outcome.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (outcome.err += chunk.toString()));
  [outcome.code] = (await once(child, 'close')) as [number | null];
  return outcome;
}

/** The JSON that a command prints. */
async function jsonOf<T>(args: string[]): Promise<T> {
  const { code, out, err } = await millrace([...args, '--json']);
  if (code !== 0) throw new Error(`${args.join(' ')}: ${out}${err}`);
  return JSON.parse(out) as T;
}

interface Run {
  id: string;
  state: string;
  owner?: string;
  approvals?: { id: string }[];
  waits: { reason: string; owner?: string; until?: number }[];
  calls: { name: string; state: string; arguments?: object }[];
  usage?: object;
}

let server: RecordedServer;
let model: ScriptedModel;
let store: string[];

async function serve(
  script: Turn[] | ((body: ScriptedModel['asked'][number]) => Turn),
  tools?: string,
): Promise<void> {
  model = await startModel(script);
  const args = ['--model', 'openai:scripted'];
  server = new RecordedServer(args, {
    OPENAI_BASE_URL: `${model.url}/v1`,
    OPENAI_API_KEY: 'a.test-key',
  });
  if (tools !== undefined) args.push('--tools', tools, '--approval', 'always');
  store = ['--storage', `file:${server.store}`];
  await server.start();
}
afterEach(async () => {
  await server.close();
  await model.close();
});

const input = (runId: string, threadId = 'thread') => ({
  threadId,
  runId,
  messages: [{ id: 'u1', role: 'user' as const, content: 'Go.' }],
});
/** Starts a run and reads it until the text is there. */
async function start(runId: string, text: string, threadId = 'thread'): Promise<string> {
  const response = await server.post(input(runId, threadId));
  await readUntil(response, (got) => got.includes(text));
  return response.headers.get('millrace-run-id') ?? '';
}
const hanging: Turn[] = [{ text: 'Hello', hang: true }];
const finished: Turn[] = [{ text: 'Hello.' }, { text: 'Hello.' }, { text: 'Hello.' }];
const calculating = (body: ScriptedModel['asked'][number]): Turn =>
  body.messages.some(({ role }) => role === 'tool')
    ? { text: `It is ${String(body.messages.at(-1)?.content)}.` }
    : { calls: [{ id: 'c1', name: 'calculator', args: { expression: '6 * 7' } }] };

async function stateOf(run: string, state: string): Promise<Run> {
  for (;;) {
    const report = await jsonOf<Run>(['runs', 'show', run, ...store]);
    if (report.state === state) return report;
  }
}

describe('millrace runs', () => {
  it('lists runs beside the process that works on them', async () => {
    await serve([{ text: 'Hello.' }, ...hanging]);
    const first = await start('r1', 'RUN_FINISHED', 'one');
    const second = await start('r2', 'Hello', 'two');
    const text = await millrace(['runs', 'ls', ...store]);
    const [head, newest = '', oldest = ''] = text.out.split('\n');
    expect(head).toMatch(/^run +state +name +thread +age +waits for$/);
    expect(newest).toMatch(RegExp(`^${second} +running +agent +two +\\d+ s +the process \\d+$`));
    expect(oldest).toMatch(RegExp(`^${first} +completed +agent +one +\\d+ s +-$`));
    const states = async (...args: string[]) =>
      (await jsonOf<{ runs: Run[] }>(['runs', 'ls', ...store, ...args])).runs.map(({ id }) => id);
    expect(await states()).toEqual([second, first]);
    expect(await states('--state', 'completed')).toEqual([first]);
    expect(await states('--thread', 'two')).toEqual([second]);
    expect(await states('--limit', '1')).toEqual([second]);
  });

  it('shows what a run waits for, with its owner while there is one', async () => {
    await serve(hanging);
    const run = await start('r1', 'Hello');
    const report = await jsonOf<Run>(['runs', 'show', run, ...store]);
    expect(report.waits).toEqual([
      expect.objectContaining({
        reason: 'model',
        owner: expect.stringContaining(report.owner ?? '?'),
      }),
    ]);
    await server.end();
    const left = await jsonOf<Run>(['runs', 'show', run, ...store]);
    expect(left.waits).toEqual([expect.objectContaining({ reason: 'claim' })]);
    const { out } = await millrace(['runs', 'show', run, ...store]);
    expect(out).toContain('waits for:\n  a process that opens the store\n');
  });

  it('follows a run to its end', async () => {
    await serve(hanging);
    const run = await start('r1', 'Hello');
    const tail = millrace(['runs', 'tail', run, ...store]);
    const json = millrace(['runs', 'tail', run, ...store, '--json', '--after', '1']);
    await millrace(['runs', 'stop', run, ...store]);
    const { code, out } = await tail;
    expect(code).toBe(0);
    const lines = out.trimEnd().split('\n');
    expect(lines[0]).toMatch(/^ +1 {2}[\d:.]{12} {2}# Accepted {2}\{"agent":"agent"/);
    expect(out).toMatch(/TextDelta {2}\{.*"delta":"Hello"\}/);
    expect(lines.at(-1)).toMatch(/# Terminal {2}\{"status":"cancelled"/);
    const records = (await json).out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { seq: number; fact?: object; event?: object });
    expect(records.map(({ seq }) => seq)).toEqual(records.map((_, at) => at + 2));
    expect(records.every(({ fact, event }) => (fact === undefined) !== (event === undefined))).toBe(
      true,
    );
    expect(records).toHaveLength(lines.length - 1);
  });

  it('stops a run through its owner', async () => {
    await serve(hanging);
    const run = await start('r1', 'Hello');
    const { code, out } = await millrace(['runs', 'stop', run, ...store]);
    expect([code, out]).toEqual([0, expect.stringContaining(run)]);
    await model.calls[0]?.closed;
    await stateOf(run, 'cancelled');
    // A second stop changes nothing.
    expect((await millrace(['runs', 'stop', run, ...store])).out).toBe(`${run} is cancelled\n`);
  });

  it('stops a run that its process left', async () => {
    await serve([...hanging, { text: 'never' }]);
    const run = await start('r1', 'Hello');
    await server.end();
    expect(await jsonOf<Run>(['runs', 'stop', run, ...store])).toMatchObject({
      state: 'cancelled',
    });
    await server.start();
    const frames = framesOf(await (await server.get('/r1')).text());
    expect(frames.at(-1)?.event.type).toMatch(/RUN_(FINISHED|ERROR)/);
    expect(model.asked).toHaveLength(1);
  });

  it.each(['with', 'without'])('approves what would run, %s an owner', async (owner) => {
    await serve(calculating, 'calculator');
    const run = await start('r1', 'RUN_FINISHED');
    const report = await stateOf(run, 'waiting');
    expect(report.waits).toEqual([
      expect.objectContaining({ reason: 'approval', owner: 'local', until: expect.any(Number) }),
    ]);
    const { out } = await millrace(['runs', 'show', run, ...store]);
    expect(out).toContain('runs calculator {"expression":"6 * 7"}');
    if (owner === 'without') await server.end();
    expect((await millrace(['runs', 'approve', run, ...store])).code).toBe(0);
    if (owner === 'without') await server.start();
    const done = await stateOf(run, 'completed');
    expect(done.calls).toEqual([
      expect.objectContaining({
        name: 'calculator',
        state: 'ok',
        arguments: { expression: '6 * 7' },
      }),
    ]);
    const again = await millrace(['runs', 'approve', run, ...store, '--json']);
    expect(again.code).toBe(1);
    expect(JSON.parse(again.out)).toMatchObject({ error: { code: 'approval_answered' } });
  });

  it.each(['with', 'without'])('answers several calls one by one, %s an owner', async (owner) => {
    await serve((body) => {
      const call = (id: string) => ({ id, name: 'calculator', args: { expression: '6 * 7' } });
      return calculating(body).text === undefined
        ? { calls: [call('c1'), call('c2')] }
        : calculating(body);
    }, 'calculator');
    const run = await start('r1', 'RUN_FINISHED');
    if (owner === 'without') await server.end();
    const open = await millrace(['runs', 'approve', run, ...store]);
    expect([open.code, open.err]).toEqual([2, expect.stringContaining('waits for 2 approvals')]);
    const { approvals = [] } = await stateOf(run, 'waiting');
    for (const { id } of approvals) {
      await stateOf(run, 'waiting');
      expect((await millrace(['runs', 'approve', run, id, ...store])).code).toBe(0);
    }
    if (owner === 'without') await server.start();
    expect((await stateOf(run, 'completed')).calls.map(({ state }) => state)).toEqual(['ok', 'ok']);
    const { out } = await millrace(['runs', 'show', run, ...store]);
    expect(out).toMatch(/usage +2 model calls, 2 tool calls, 20 tokens in, 10 tokens out\n/);
    expect(out).toMatch(/cost +unknown: 2 calls without a known price\n/);
  });

  it('denies a call, and runs one with other arguments', async () => {
    await serve(calculating, 'calculator');
    const first = await start('r1', 'RUN_FINISHED', 'one');
    const second = await start('r2', 'RUN_FINISHED', 'two');
    await millrace(['runs', 'approve', first, ...store, '--deny']);
    await stateOf(first, 'completed');
    const edited = ['--args', '{"expression":"2 * 3"}'];
    const [approval] = (await jsonOf<Run>(['runs', 'show', second, ...store])).approvals ?? [];
    await millrace(['runs', 'approve', second, approval?.id ?? '', ...store, ...edited]);
    await stateOf(second, 'completed');
    const results = model.asked.map(({ messages }) => String(messages.at(-1)?.content));
    expect(results.at(-1)).toBe('6');
    expect(results.filter((text) => text === '42')).toEqual([]);
  });

  it.each([
    [['runs'], 2, 'needs a command'],
    [['runs', 'show'], 2, 'Name the run'],
    [['runs', 'show', 'run_1', 'x'], 2, 'one argument too many'],
    [['runs', 'show', 'run_1'], 1, "There is no run 'run_1'"],
    [['runs', 'ls', '--state', 'lost'], 1, '`state` must be'],
    [['runs', 'ls', '--limit', '0'], 2, '--limit must be'],
    [['runs', 'approve', 'run_1', '--args', '[]'], 2, 'a JSON object'],
    [['runs', 'approve', 'run_1', '--args', '{}', '--deny'], 2, 'exclude each other'],
    [['runs', 'ls', '--storage', 'memory'], 2, "must be 'file:' and a path"],
    [['runs', 'ls', '--storage', 'file://host/a.db'], 2, "must be 'file:' and a path"],
    [['runs', 'ls', '--storage', 'file:/nowhere/at/all.db'], 1, 'There is no store'],
  ])('refuses %j', async (args, code, message) => {
    await serve([]);
    await server.end();
    const given = args.includes('--storage') ? args : [...args, ...store];
    const outcome = await millrace(args.length > 1 ? given : args);
    expect([outcome.code, outcome.err]).toEqual([code, expect.stringContaining(message)]);
  });

  it('takes the store of the environment, and says how it is used', async () => {
    await serve([]);
    const env = { MILLRACE_STORAGE: `file:${server.store}` };
    expect(await millrace(['runs', 'ls'], env)).toMatchObject({
      code: 0,
      out: 'There are no such runs.\n',
    });
    for (const words of [['runs'], ['runs', 'ls'], ['storage'], ['storage', 'check']]) {
      expect((await millrace([...words, '--help'])).out).toMatch(/^Usage: millrace (runs|storage)/);
    }
  });
});

describe('the control endpoint', () => {
  const control = () =>
    JSON.parse(readFileSync(`${server.store}.control`, 'utf8')) as { url: string; token: string };

  it('is for its user alone, while the store is open', async () => {
    await serve(hanging);
    const run = await start('r1', 'Hello');
    expect(statSync(`${server.store}.control`).mode & 0o777).toBe(0o600);
    const { url, token } = control();
    const ask = (authorization?: string) =>
      fetch(`${url}/runs/${run}`, { headers: authorization ? { authorization } : {} });
    expect((await ask()).status).toBe(403);
    expect((await ask(`Bearer ${token.slice(1)}x`)).status).toBe(403);
    expect(await (await ask(`Bearer ${token}`)).json()).toMatchObject({ id: run });
    await server.end('SIGTERM');
    expect(existsSync(`${server.store}.control`)).toBe(false);
  });

  it('of a process that was killed counts for nothing', async () => {
    await serve([...hanging, { text: 'never' }]);
    const run = await start('r1', 'Hello');
    await server.end();
    expect(existsSync(`${server.store}.control`)).toBe(true);
    expect((await millrace(['runs', 'stop', run, ...store])).out).toBe(`${run} is cancelled\n`);
  });
});

describe('a program with a runtime', () => {
  it('is reached by its control endpoint, and is gone with it', async () => {
    await serve(hanging);
    await server.end();
    const { store: path, log } = makeStore();
    const child = startChild({ store: path, log, model: model.url, do: 'run' });
    const { id } = (await child.until((line) => line['id'] !== undefined)) as { id: string };
    await child.until((line) => line['event']?.type === 'TEXT_MESSAGE_CONTENT');
    const outcome = await millrace(['runs', 'stop', id, '--storage', `file:${path}`]);
    expect(outcome).toMatchObject({ code: 0, err: '' });
    expect((await child.ended()).at(-1)).toMatchObject({ status: 'cancelled', text: 'Hello' });
    expect(await jsonOf<Run>(['runs', 'show', id, '--storage', `file:${path}`])).toMatchObject({
      state: 'cancelled',
    });
    expect(existsSync(`${path}.control`)).toBe(false);
    await cleanUp();
  });
});

describe('millrace storage', () => {
  let folder: string;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'millrace-storage-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);
  const exported = async (name: string, from: string[]) => {
    expect(await millrace(['storage', 'export', at(name), ...from])).toMatchObject({ code: 0 });
    return readFileSync(at(name), 'utf8');
  };

  it('checks a store, and finds a flipped byte', async () => {
    await serve(finished);
    await start('r1', 'RUN_FINISHED');
    expect(await millrace(['storage', 'check', ...store])).toMatchObject({
      code: 0,
      out: 'No problem was found.\n',
    });
    await server.end('SIGTERM');
    const bytes = readFileSync(server.store);
    // The journal has the text, the state of the run, and the message of the thread that was made of it.
    for (let at = bytes.indexOf('Hello.'); at >= 0; at = bytes.indexOf('Hello.', at)) {
      bytes[at] = 0x4a;
    }
    writeFileSync(server.store, bytes);
    const { code, out } = await millrace(['storage', 'check', ...store]);
    expect(code).toBe(1);
    const [page, checkpoint, ...more] = out.split('\n');
    expect(page).toMatch(/^run_[0-9a-f]{32}: the page that ends at record \d+ is damaged$/);
    expect(checkpoint).toMatch(
      /Checkpoint \d+ of the run run_[0-9a-f]{32} does not have its checksum\.$/,
    );
    expect(more).toEqual(['']);
    const { problems } = JSON.parse(
      (await millrace(['storage', 'check', ...store, '--json'])).out,
    ) as {
      problems: object[];
    };
    expect(problems).toHaveLength(2);
  });

  it('backs up beside the owner, and overwrites nothing', async () => {
    await serve(finished);
    const run = await start('r1', 'RUN_FINISHED');
    const backup = at('backup.db');
    expect(await millrace(['storage', 'backup', backup, ...store])).toMatchObject({ code: 0 });
    expect(statSync(backup).mode & 0o777).toBe(0o600);
    expect((await jsonOf<Run>(['runs', 'show', run, '--storage', `file:${backup}`])).state).toBe(
      'completed',
    );
    const again = await millrace(['storage', 'backup', backup, ...store]);
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('is there already')]);
  });

  it('gives back free pages once no process has the store', async () => {
    await serve(finished);
    await start('r1', 'RUN_FINISHED');
    const busy = await millrace(['storage', 'vacuum', '--wait', '0', ...store]);
    expect([busy.code, busy.err]).toEqual([1, expect.stringContaining('store_in_use')]);
    await server.end();
    const { bytesAfter } = await jsonOf<{ bytesAfter: number }>(['storage', 'vacuum', ...store]);
    expect(bytesAfter).toBe(statSync(server.store).size);
  });

  it('exports a store as lines from which the same one is made', async () => {
    await serve(calculating, 'calculator');
    await start('r1', 'RUN_FINISHED', 'one');
    const run = await start('r2', 'RUN_FINISHED', 'two');
    await millrace(['runs', 'approve', run, ...store]);
    await stateOf(run, 'completed');
    await start('r3', 'RUN_FINISHED', 'three');
    const first = await exported('first.jsonl', store);
    expect(statSync(at('first.jsonl')).mode & 0o777).toBe(0o600);
    const other = ['--storage', `file:${at('other/store.db')}`];
    const imported = await jsonOf<{ rows: number }>([
      'storage',
      'import',
      at('first.jsonl'),
      ...other,
    ]);
    expect(imported.rows).toBe(first.trimEnd().split('\n').length - 2);
    expect(await exported('second.jsonl', other)).toBe(first);
    expect((await millrace(['storage', 'export', ...other])).out).toBe(first);
    expect((await millrace(['storage', 'check', ...other])).code).toBe(0);
    // What waits goes on from the copy.
    const waiting = await jsonOf<{ runs: Run[] }>(['runs', 'ls', '--state', 'waiting', ...other]);
    expect(waiting.runs).toHaveLength(2);
    const [copied] = waiting.runs;
    await millrace(['runs', 'approve', copied?.id ?? '', ...other]);
    expect(await jsonOf<Run>(['runs', 'show', copied?.id ?? '', ...other])).toMatchObject({
      state: 'queued',
    });
    const full = await millrace(['storage', 'import', at('first.jsonl'), ...other]);
    expect([full.code, full.err]).toEqual([1, expect.stringContaining('is not empty')]);
    const there = await millrace(['storage', 'export', at('first.jsonl'), ...store]);
    expect([there.code, there.err]).toEqual([1, expect.stringContaining('cannot be made')]);
  });

  it('takes an export from standard input', async () => {
    await serve(finished);
    await start('r1', 'RUN_FINISHED');
    const lines = await exported('first.jsonl', store);
    const other = ['--storage', `file:${at('other.db')}`];
    const { status } = spawnSync(process.execPath, [cli, 'storage', 'import', '-', ...other], {
      input: lines,
    });
    expect(status).toBe(0);
    expect(await exported('second.jsonl', other)).toBe(lines);
  });

  it('imports nothing of an export that is not whole, and names the line', async () => {
    await serve(finished);
    await start('r1', 'RUN_FINISHED');
    const lines = (await exported('first.jsonl', store)).trimEnd().split('\n');
    const copy = (change: (all: string[]) => string[]) => `${change([...lines]).join('\n')}\n`;
    const last = lines.length;
    const cases: [string, number, string][] = [
      ['', 1, 'ends here'],
      ['not an export\n', 1, 'damaged'],
      [copy((all) => all.slice(0, -1)), last, 'ends here'],
      [copy((all) => all).slice(0, -30), last, 'ends here'],
      [copy((all) => all.toSpliced(2, 1)), 3, 'damaged or missing'],
      [copy((all) => all.with(3, all[3]?.replace('run_', 'run-') ?? '')), 4, 'damaged or missing'],
      [copy((all) => [...all, all[1] ?? '']), last, 'follows the end'],
    ];
    for (const [text, line, why] of cases) {
      writeFileSync(at('broken.jsonl'), text);
      const other = `file:${at('other.db')}`;
      const outcome = await millrace([
        'storage',
        'import',
        at('broken.jsonl'),
        '--storage',
        other,
        '--json',
      ]);
      expect([line, outcome.code]).toEqual([line, 1]);
      const { error } = JSON.parse(outcome.out) as { error: { code: string; message: string } };
      expect(error.code).toBe('invalid_argument');
      expect(error.message).toMatch(RegExp(`^Line ${line} of the export: .*${why}`));
      expect(readdirSync(folder).filter((name) => name.startsWith('other'))).toEqual([]);
    }
  });

  it.each([
    [['storage'], 2, 'needs a command'],
    [['storage', 'backup'], 2, 'needs a path'],
    [['storage', 'import'], 2, 'needs a path'],
    [['storage', 'check', 'x'], 2, 'x'],
    [['storage', 'export', 'a', 'b'], 2, 'one path too many'],
  ])('refuses %j', async (args, code, message) => {
    await serve([]);
    const outcome = await millrace(args.length > 1 ? [...args, ...store] : args);
    expect([outcome.code, outcome.err]).toEqual([code, expect.stringContaining(message)]);
  });

  it('tells a foreign file from a store, and leaves it alone', async () => {
    await serve([]);
    writeFileSync(at('notes.txt'), 'These are notes, and no database at all.');
    for (const command of [
      ['storage', 'check'],
      ['storage', 'vacuum'],
      ['runs', 'ls'],
    ]) {
      const outcome = await millrace([...command, '--storage', `file:${at('notes.txt')}`]);
      expect([outcome.code, outcome.err]).toEqual([
        1,
        expect.stringMatching(/store_(foreign|damaged)/),
      ]);
    }
    expect(readFileSync(at('notes.txt'), 'utf8')).toBe('These are notes, and no database at all.');
  });
});
