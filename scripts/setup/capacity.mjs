// How much this machine can do at once: compile jobs and test programs, from its cores, its memory and the
// limits of the control groups that this process is in (a container's, for instance). MILLRACE_JOBS overrides it.
import { readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { dirname, join } from 'node:path';

import { SetupError } from './report.mjs';

const MiB = 2 ** 20;
// What one of each may take at its peak: a file that includes Boost under -O3; an engine test program with
// its servers and large answers, or a worker of Jest with all that it has loaded.
const bytesEach = { compile: 1000 * MiB, test: 600 * MiB };
// Test files wait for processes, servers and timers for a third of their time.
const beyondCores = { compile: 0, test: 1 };
// For the system, Node and npm themselves.
const reserve = 512 * MiB;

/** Compile jobs or test workers at once. `machine` is { cores, memory }, as machineAt() reads it. */
export function widthFor(kind, machine = machineAt('/'), override = process.env.MILLRACE_JOBS) {
  if (override) {
    if (!/^[1-9]\d{0,3}$/.test(override)) {
      throw new SetupError(`MILLRACE_JOBS is '${override}'; it must be a whole number above 0.`);
    }
    return Number(override);
  }
  const fitting = Math.floor((machine.memory - reserve) / bytesEach[kind]);
  return Math.max(1, Math.min(Math.floor(machine.cores) + beyondCores[kind], fitting));
}

/**
 * What this process may use: { cores, memory in bytes }. The control groups' files are read below `root`.
 * A fraction of a core counts as one.
 */
export function machineAt(root, cores = availableParallelism(), memory = totalmem()) {
  const limits = groupFolders(root).map(limitsOf);
  return {
    cores: Math.max(1, Math.min(cores, ...limits.map((limit) => limit.cores))),
    memory: Math.min(memory, ...limits.map((limit) => limit.memory)),
  };
}

// The folders of the groups that this process is in, and of the groups around them: each has limits of its
// own. In a container the path may be the host's, of which only the end of the way up is there.
function groupFolders(root) {
  const lines = textOf(join(root, 'proc/self/cgroup')).split('\n').filter(Boolean);
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === undefined) return [];
    const mounts =
      controllers === ''
        ? ['sys/fs/cgroup', 'sys/fs/cgroup/unified']
        : [controllers, ...controllers.split(',')].map((name) => `sys/fs/cgroup/${name}`);
    return mounts.flatMap((mount) => wayUp(path).map((group) => join(root, mount, group)));
  });
}

function wayUp(path) {
  const clean = join('/', path);
  return clean === '/' ? ['/'] : [clean, ...wayUp(dirname(clean))];
}

// Version 2 of control groups writes cpu.max and memory.max, version 1 the others; "max" and -1 are no limit.
function limitsOf(folder) {
  const number = (name) => Number(textOf(join(folder, name)).trim() || NaN);
  const [quota, period] = textOf(join(folder, 'cpu.max')).split(/\s+/).map(Number);
  const shares = [quota / period, number('cpu.cfs_quota_us') / number('cpu.cfs_period_us')];
  const sizes = [number('memory.max'), number('memory.high'), number('memory.limit_in_bytes')];
  return { cores: leastAboveZero(shares), memory: leastAboveZero(sizes) };
}

function leastAboveZero(values) {
  return Math.min(Infinity, ...values.filter((value) => value > 0));
}

function textOf(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
