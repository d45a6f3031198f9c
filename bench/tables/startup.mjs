// What a program pays before it has done anything: loading time, memory and packages.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { atMost } from '../support/goals.mjs';
import { millracePath } from '../support/packages.mjs';
import { bench, root } from '../support/paths.mjs';

const require = createRequire(join(bench, 'package.json'));
const imported = (name) =>
  `await import(${JSON.stringify(pathToFileURL(require.resolve(name)).href)})`;
const own = `require(${JSON.stringify(millracePath)})`;

const programs = [
  { label: 'bare node', load: '', packages: [] },
  { label: "require('millrace')", load: own, packages: 'millrace' },
  { label: 'millrace, its addon opened', load: `${own}.version()`, packages: 'millrace' },
  {
    label: 'ai, @ai-sdk/openai-compatible',
    load: `${imported('ai')}; ${imported('@ai-sdk/openai-compatible')}`,
    packages: ['ai', '@ai-sdk/openai-compatible'],
  },
  { label: 'openai', load: imported('openai'), packages: ['openai'] },
  {
    label: '@openuidev/react-headless',
    load: imported('@openuidev/react-headless'),
    packages: ['@openuidev/react-headless'],
  },
  { label: '@ag-ui/client', load: imported('@ag-ui/client'), packages: ['@ag-ui/client'] },
];

export const name = 'startup';
export const title = 'Loading in a fresh process, median';
export const columns = [
  { key: 'label', title: 'program' },
  { key: 'milliseconds', title: 'load ms', digits: 1 },
  { key: 'megabytes', title: 'RSS MB', digits: 1 },
  { key: 'overBare', title: 'over bare node MB', digits: 1 },
  { key: 'packages', title: 'packages behind it' },
];
export const notes = [
  'Memory right after loading. Packages: runtime dependencies, direct and indirect, without those that the user ' +
    'brings (peers).',
];

export function run({ quick }) {
  const rounds = quick ? 1 : 15;
  const samples = programs.map(() => []);
  // In turns, so that a busy moment of the machine hits all of them.
  for (let round = 0; round < rounds; round++) {
    programs.forEach(({ load }, index) => samples[index].push(loadOnce(load)));
  }
  const rows = programs.map(({ label, packages }, index) => ({
    label,
    milliseconds: median(samples[index].map((one) => one.milliseconds)),
    megabytes: median(samples[index].map((one) => one.bytes)) / 1e6,
    packages:
      packages === 'millrace' ? ownDependencies() : closure(packages).size - packages.length,
  }));
  for (const row of rows) row.overBare = row.megabytes - rows[0].megabytes;
  return {
    rows,
    goals: [
      atMost("require('millrace')", rows[1].milliseconds, 40, 'ms'),
      atMost("require('millrace'), memory over bare node", rows[1].overBare, 15, 'MB'),
      atMost('runtime dependencies', rows[1].packages, 0),
    ],
  };
}

function loadOnce(load) {
  const program = `(async () => {
    const begin = performance.now();
    ${load};
    const milliseconds = performance.now() - begin;
    const status = require('fs').readFileSync('/proc/self/status', 'latin1');
    const bytes = Number(/VmRSS:\\s+(\\d+)/.exec(status)[1]) * 1024;
    process.stdout.write(JSON.stringify({ milliseconds, bytes }), () => process.exit(0));
  })()`;
  return JSON.parse(
    execFileSync(process.execPath, ['-e', program], { encoding: 'utf8', timeout: 30_000 }),
  );
}

function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

function ownDependencies() {
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  return Object.keys({ ...dependencies, ...optionalDependencies }).length;
}

// The packages of the lock file that these need, themselves included.
function closure(names) {
  const { packages } = JSON.parse(readFileSync(join(bench, 'package-lock.json'), 'utf8'));
  const found = new Set();
  // As Node resolves: the nearest node_modules on the way up.
  const resolve = (from, name) => {
    for (
      let folder = from;
      ;
      folder = folder.slice(0, Math.max(0, folder.lastIndexOf('/node_modules/')))
    ) {
      const path = `${folder ? `${folder}/` : ''}node_modules/${name}`;
      if (path in packages) return path;
      if (folder === '') return undefined;
    }
  };
  const visit = (path) => {
    if (!path || found.has(path)) return;
    found.add(path);
    for (const name of Object.keys(packages[path].dependencies ?? {})) visit(resolve(path, name));
  };
  for (const name of names) visit(resolve('', name));
  return found;
}
