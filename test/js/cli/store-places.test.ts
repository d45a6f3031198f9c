// Stores on disks that are full or cannot be written. Both are made in a mount namespace of their own.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { createAgent, createRuntime } from 'millrace';

import { startModel } from '../../support/scripted-model';

const cli = join(__dirname, '../../../dist/cjs/cli/main.js');
const fixture = join(__dirname, '../fixtures/full-disk-child.cjs');

const folder = mkdtempSync(join(tmpdir(), 'millrace-places-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program where `mount` has changed what `$1` is. */
function within(mount: string, at: string, args: string[]) {
  const script = `${mount}; shift; exec "$@"`;
  const options = ['--map-root-user', '--mount', 'sh', '-ec', script, 'sh', at];
  const { status, stdout, stderr } = spawnSync('unshare', [...options, ...args], {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  return { status, stdout, stderr };
}

const readOnly = 'mount --bind "$1" "$1"; mount -o remount,bind,ro "$1"';
const small = 'mount -t tmpfs -o size=20m tmpfs "$1"';

mkdirSync(join(folder, 'probe'));
const lacking = [readOnly, small].filter(
  (mount) => within(mount, join(folder, 'probe'), ['true']).status !== 0,
);
if (lacking.length > 0) {
  console.warn(
    `Skipped: this system lets nobody mount in a namespace of its own (unshare, mount).`,
  );
}
const mounting = lacking.length > 0 ? it.skip : it;

mounting(
  'goes on with a job whose disk was full, and lost and doubled nothing',
  () => {
    const [disk, elsewhere] = ['disk', 'elsewhere'].map((name) => join(folder, name));
    mkdirSync(disk as string);
    mkdirSync(elsewhere as string);
    const check = ['storage', 'check', '--storage', `file:${disk as string}/store.db`];
    const script = `${process.execPath} ${fixture} "$1" "$2" && exec ${process.execPath} ${cli} ${check.join(' ')} --json`;
    const args = ['sh', '-ec', script, 'sh', disk as string, elsewhere as string];
    const { status, stdout, stderr } = within(small, disk as string, args);
    expect([status, stderr]).toEqual([0, '']);
    const [happened, problems] = stdout.trim().split('\n') as [string, string];
    const { before, after, steps, again, ms } = JSON.parse(happened) as {
      before: object;
      after: object;
      steps: number;
      again: number;
      ms: number;
    };
    expect(before).toEqual({
      state: 'running',
      another: 'store_full',
      listed: [[true, 'running']],
    });
    expect(after).toEqual({ state: 'completed', result: 'whole' });
    // Only what was not stored is done again.
    expect(steps).toBe(24);
    expect(again).toBeLessThanOrEqual(2);
    expect(ms).toBeLessThan(30_000);
    expect(JSON.parse(problems)).toEqual({ problems: [] });
  },
  120_000,
);

describe('a store in a folder that cannot be written', () => {
  const at = join(folder, 'closed');
  const storage = `file:${join(at, 'store.db')}` as const;
  let id: string;
  beforeAll(async () => {
    const model = await startModel(() => ({ text: 'hello there' }));
    const runtime = createRuntime({ storage });
    const provider = { apiKey: 'k', baseURL: model.url };
    const agent = createAgent({ model: 'openai:m', provider, runtime, name: 'chat' });
    const run = agent.run('Hi');
    await run.text();
    ({ id } = run);
    await runtime.close();
    await model.close();
  });

  const millrace = (...args: string[]) =>
    within(readOnly, at, [process.execPath, cli, ...args, '--storage', storage]);

  mounting('is looked at, exported, replayed and checked', () => {
    const files = readdirSync(at);
    const shown = millrace('runs', 'show', id, '--json');
    expect(JSON.parse(shown.stdout)).toMatchObject({ id, state: 'completed' });
    expect(JSON.parse(millrace('runs', 'ls', '--json').stdout)).toMatchObject({ runs: [{ id }] });
    expect(millrace('runs', 'tail', id).stdout).toContain('hello');
    expect(millrace('runs', 'replay', id).stdout).toContain('RUN_FINISHED');
    const page = join(folder, 'run.html');
    expect(millrace('runs', 'export', id, '--output', page)).toMatchObject({ status: 0 });
    expect(JSON.parse(millrace('storage', 'check', '--json').stdout)).toEqual({ problems: [] });
    const lines = join(folder, 'lines');
    expect(millrace('storage', 'export', lines)).toMatchObject({ status: 0 });
    const copy = join(folder, 'copy.db');
    expect(millrace('storage', 'backup', copy)).toMatchObject({ status: 0 });
    expect(readdirSync(at)).toEqual(files);
  });

  mounting('cannot be changed, with a reason', () => {
    for (const args of [
      ['storage', 'vacuum'],
      ['runs', 'stop', id],
    ]) {
      const { status, stdout } = millrace(...args, '--json');
      expect(status).not.toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        error: { code: 'store_failed', message: expect.stringContaining('cannot be written') },
      });
    }
    const served = millrace('serve', '--port', '0');
    expect(served.status).not.toBe(0);
    expect(served.stderr).toContain('cannot be written');
  });
});
