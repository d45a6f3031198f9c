// How many compile jobs and test workers run at once: from cores, memory and the files of control groups.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { callScript, repository } from '../support/script';

const GiB = 2 ** 30;
const folder = mkdtempSync(join(tmpdir(), 'millrace-capacity-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let roots = 0;
/** A root that holds these files. */
function rootWith(files: Record<string, string>): string {
  const root = join(folder, String(roots++));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const machines = (...calls: [root: string, cores: number, memory: number][]) =>
  callScript('setup/capacity.mjs', 'machineAt', ...calls);

describe('what the machine can carry at once', () => {
  it.each<[title: string, cores: number, memory: number, compile: number, test: number]>([
    ['64 cores with 4 GiB', 64, 4 * GiB, 3, 5],
    ['one core with 2 GiB', 1, 2 * GiB, 1, 2],
    ['one core with half a GiB', 1, GiB / 2, 1, 1],
    ['2 cores with 24 GiB', 2, 24 * GiB, 2, 3],
    ['16 cores with 64 GiB', 16, 64 * GiB, 16, 17],
    ['one and a half cores', 1.5, 64 * GiB, 1, 2],
  ])('%s', (_, cores, memory, compile, test) => {
    const calls = ['compile', 'test'].map((kind) => [kind, { cores, memory }, '']);
    expect(callScript('setup/capacity.mjs', 'widthFor', ...calls)).toEqual([compile, test]);
  });

  it('takes MILLRACE_JOBS instead, and refuses what is no number of jobs', () => {
    const call = (jobs: string) =>
      callScript('setup/capacity.mjs', 'widthFor', ['compile', { cores: 1, memory: GiB }, jobs]);
    expect(call('7')).toEqual([7]);
    for (const jobs of ['0', 'many', '-1', '2.5'])
      expect(() => call(jobs)).toThrow(/MILLRACE_JOBS is '.*'; it must be a whole number above 0/);
  });
});

describe('the limits of control groups', () => {
  it('are read in version 2, of the group and of those around it', () => {
    const container = rootWith({
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/cpu.max': '150000 100000\n',
      'sys/fs/cgroup/memory.max': `${2 * GiB}\n`,
    });
    const nested = rootWith({
      'proc/self/cgroup': '0::/user.slice/build.scope\n',
      'sys/fs/cgroup/user.slice/cpu.max': '400000 100000\n',
      'sys/fs/cgroup/user.slice/memory.max': 'max\n',
      'sys/fs/cgroup/user.slice/build.scope/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/user.slice/build.scope/memory.max': `${3 * GiB}\n`,
    });
    const throttled = rootWith({
      'proc/self/cgroup': '0::/a\n',
      'sys/fs/cgroup/a/memory.max': 'max\n',
      'sys/fs/cgroup/a/memory.high': `${GiB}\n`,
    });
    expect(
      machines([container, 64, 8 * GiB], [nested, 64, 8 * GiB], [throttled, 4, 8 * GiB]),
    ).toEqual([
      { cores: 1.5, memory: 2 * GiB },
      { cores: 4, memory: 3 * GiB },
      { cores: 4, memory: GiB },
    ]);
  });

  it('are read in version 1, where a container shows its group as the top', () => {
    const own = rootWith({
      'proc/self/cgroup':
        '12:cpu,cpuacct:/job\n4:memory:/job/step\n1:name=systemd:/init.scope\n0::/\n',
      'sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us': '200000\n',
      'sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us': '100000\n',
      'sys/fs/cgroup/memory/job/memory.limit_in_bytes': `${4 * GiB}\n`,
      'sys/fs/cgroup/memory/job/step/memory.limit_in_bytes': '9223372036854771712\n',
    });
    const container = rootWith({
      'proc/self/cgroup': '4:memory:/docker/0123456789abcdef\n3:cpu:/docker/0123456789abcdef\n',
      'sys/fs/cgroup/memory/memory.limit_in_bytes': `${GiB}\n`,
      'sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
      'sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
    });
    expect(machines([own, 8, 16 * GiB], [container, 8, 16 * GiB])).toEqual([
      { cores: 2, memory: 4 * GiB },
      { cores: 8, memory: GiB },
    ]);
  });

  it('are none where there are no groups or no limits', () => {
    const unlimited = rootWith({
      'proc/self/cgroup': '0::/\n',
      'sys/fs/cgroup/cpu.max': 'max 100000\n',
      'sys/fs/cgroup/memory.max': 'max\n',
    });
    expect(machines([rootWith({}), 3, GiB], [unlimited, 3, GiB])).toEqual([
      { cores: 3, memory: GiB },
      { cores: 3, memory: GiB },
    ]);
  });

  it('hold for a process that is in a real one', () => {
    const group = realGroup();
    if (!group) return console.warn('skipped: this user may not make a control group');
    try {
      const url = pathToFileURL(join(repository, 'scripts/setup/capacity.mjs')).href;
      const program = `
        require('node:fs').writeFileSync(${JSON.stringify(join(group, 'cgroup.procs'))}, String(process.pid));
        import(${JSON.stringify(url)}).then(({ machineAt }) => console.log(machineAt('/').memory));`;
      const reported = execFileSync(process.execPath, ['-e', program], { encoding: 'utf8' });
      expect(Number(reported)).toBe(GiB);
    } finally {
      rmdirSync(group);
    }
  });
});

/** The folder of a new group, below this process's own, that allows 1 GiB; nothing where none can be made. */
function realGroup(): string | undefined {
  const lines = readFileSync('/proc/self/cgroup', 'utf8').split('\n');
  const places = [
    { line: /^\d+:memory:(.*)$/, mount: '/sys/fs/cgroup/memory', file: 'memory.limit_in_bytes' },
    { line: /^0::(.*)$/, mount: '/sys/fs/cgroup', file: 'memory.max' },
  ];
  for (const { line, mount, file } of places) {
    const path = lines.map((text) => line.exec(text)?.[1]).find((found) => found !== undefined);
    if (path === undefined) continue;
    const group = join(mount, path, `millrace-test-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    try {
      writeFileSync(join(group, file), String(GiB));
      return group;
    } catch {
      rmdirSync(group);
    }
  }
  return undefined;
}
