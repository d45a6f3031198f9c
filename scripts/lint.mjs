// Every check that needs no run: eslint, TypeScript (strict), the layering rules, generated files, and
// clang-tidy on the C++ files that differ from the main branch (on all of the deciding core with --all, or
// when nothing differs).
//   node scripts/lint.mjs [--all] [eslint | types | layers | generated | tidy]...
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { output } from './setup/report.mjs';
import { sources } from './sources.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const database = join(root, 'build/release');

function node(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

// The C++ sources to look at: those changed since the common ancestor with origin/main, else the core.
function tidyTargets(all) {
  const git = (...args) => (output('git', ['-C', root, ...args]) ?? '').trim();
  const base = process.env.MILLRACE_LINT_BASE || git('merge-base', 'HEAD', 'origin/main') || 'HEAD';
  const changed = all ? [] : git('diff', '--name-only', base).split('\n');
  const known = new Set(sources(root, ['.cpp']).filter((name) => /^(lib|native)\//.test(name)));
  const named = changed
    .map((name) => name.replace(/\.hpp$/, '.cpp'))
    .filter((name) => known.has(name));
  if (named.length > 0) return [...new Set(named)];
  const core = /^lib\/(base|event|message|framing|adapter|format|encoder)\//;
  return [...known].filter((name) => core.test(name));
}

// The compile commands are g++'s; clang need not know all of its warnings.
const tidyArguments = (file) => [
  ...['--quiet', '--extra-arg=-Wno-unknown-warning-option', '-p', database],
  file,
];

async function tidy(all) {
  const command = ['clang-tidy-14', 'clang-tidy'].find((name) => output(name, ['--version']));
  if (!command || !existsSync(join(database, 'compile_commands.json'))) {
    console.error(
      'clang-tidy needs itself and a configured build: node scripts/setup.mjs ci gives both.',
    );
    return false;
  }
  const targets = tidyTargets(all);
  const queue = [...targets];
  let clean = true;
  const worker = async () => {
    for (let file = queue.shift(); file; file = queue.shift()) {
      const { code, text } = await capture(command, tidyArguments(file));
      if (code === 0) continue;
      clean = false;
      console.error(text);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, worker));
  console.log(`clang-tidy: ${targets.length} files, ${clean ? 'clean' : 'with findings'}`);
  return clean;
}

async function capture(command, args) {
  const child = spawn(command, args, { cwd: root });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  }
  const code = await new Promise((resolve) => child.on('close', resolve));
  return { code, text };
}

const checks = {
  eslint: () => node('node_modules/eslint/bin/eslint.js', '.'),
  types: () => node('node_modules/typescript/bin/tsc', '-p', '.'),
  generated: () =>
    ['errors', 'providers'].every((name) => node(`scripts/generate-${name}.mjs`, '--check')),
  layers: () => node('scripts/check-layers.mjs'),
  tidy: () => tidy(process.argv.includes('--all')),
};
const asked = process.argv.slice(2).filter((name) => name in checks);
const failed = [];
for (const name of asked.length > 0 ? asked : Object.keys(checks)) {
  if (!(await checks[name]())) failed.push(name);
}
if (failed.length > 0) console.error(`lint: failed: ${failed.join(', ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
