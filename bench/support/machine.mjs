// What was measured on, and with which versions.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';

import { bench, root } from './paths.mjs';

const read = (file) => JSON.parse(readFileSync(file, 'utf8'));

export function describeMachine() {
  const cores = cpus();
  return {
    cpu: cores[0]?.model ?? 'unknown',
    cores: cores.length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    date: new Date().toISOString().slice(0, 10),
    loadAtStart: Number(loadavg()[0].toFixed(2)),
  };
}

// Figures taken while other programs run are too low; ratios suffer less.
export function isBusy(machine) {
  return machine.loadAtStart > machine.cores * 0.3;
}

export function describeVersions() {
  const { version } = read(join(root, 'package.json'));
  const peers = Object.keys(read(join(bench, 'package.json')).dependencies);
  return {
    millrace: version,
    commit: commit(),
    node: process.versions.node,
    v8: process.versions.v8,
    peers: Object.fromEntries(
      peers.map((name) => [name, read(join(bench, 'node_modules', name, 'package.json')).version]),
    ),
  };
}

function commit() {
  try {
    const args = ['-C', root, 'rev-parse', '--short', 'HEAD'];
    return execFileSync('git', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}
