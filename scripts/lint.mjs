// Every check that needs no run: eslint, TypeScript (strict), the layering rules, names that std has too,
// words that have another term, generated files, and clang-tidy on the C++ files that differ from the main
// branch (with --all, or when nothing differs, on the deciding core and the tools, each room as one file)
// and their includes (with --all, of every file; with --fix, mended).
//   node scripts/lint.mjs [--all] [--fix]
//                         [eslint | types | layers | names | terms | generated | tidy | includes]...
import './help.mjs';

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { capture } from './lint/capture.mjs';
import { checkIncludes } from './lint/includes.mjs';
import { stdNames } from './lint/std-names.mjs';
import { checkTerms } from './lint/terms.mjs';
import { widthFor } from './setup/capacity.mjs';
import { output } from './setup/report.mjs';
import { sources } from './sources.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const database = join(root, 'build/lint');

function node(...args) {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status === 0;
}

// A build of its own that is never built: each file has its command, which a joined build does not list.
async function configure() {
  const options = ['-DMILLRACE_TESTS=ON', '-DMILLRACE_JOIN=OFF'];
  const args = ['-S', root, '-B', database, '-G', 'Ninja', ...options];
  const { code, text } = await capture(root, 'cmake', args);
  if (code !== 0)
    console.error(`clang-tidy needs a configured build, and cmake ends with:\n${text}`);
  return code === 0;
}

// The files that changed since the common ancestor with origin/main.
function changedFiles() {
  const git = (...args) => (output('git', ['-C', root, ...args]) ?? '').trim();
  const base = process.env.MILLRACE_LINT_BASE || git('merge-base', 'HEAD', 'origin/main') || 'HEAD';
  return new Set(git('diff', '--name-only', base).split('\n'));
}

function changedSources(known) {
  const names = [...changedFiles()].map((name) => name.replace(/\.hpp$/, '.cpp'));
  return new Set(names.filter((name) => known.has(name)));
}

// Most of what a file costs is its headers, so the files of a room are read as one. Two checks look at
// nothing but the file that is compiled (misc-unused-using-decls and misc-unused-alias-decls); changed
// files are therefore read alone.
function joinedRooms(known) {
  const core = /^lib\/(base|event|message|framing|adapter|format|encoder|schema|agent|tool)\//;
  const rooms = new Map();
  for (const name of known) {
    if (core.test(name)) rooms.set(dirname(name), [...(rooms.get(dirname(name)) ?? []), name]);
  }
  const folder = join(root, 'build/tidy');
  mkdirSync(folder, { recursive: true });
  const commands = JSON.parse(readFileSync(join(database, 'compile_commands.json'), 'utf8'));
  const joined = [...rooms].map(([room, names]) => {
    const file = join(folder, `${room.replaceAll('/', '-')}.cpp`);
    const lines = names.map(
      (name) => `#include "${join(root, name)}"  // NOLINT(bugprone-suspicious-include)\n`,
    );
    writeFileSync(file, lines.join(''));
    const like = commands.find((entry) => names.some((name) => entry.file === join(root, name)));
    return { directory: like.directory, file, command: like.command.replaceAll(like.file, file) };
  });
  writeFileSync(join(folder, 'compile_commands.json'), JSON.stringify(joined));
  return joined.map(({ file }) => ({ file, database: folder }));
}

function tidyTargets(all) {
  const known = new Set(sources(root, ['.cpp']).filter((name) => /^(lib|native)\//.test(name)));
  const changed = all ? new Set() : changedSources(known);
  if (changed.size === 0) return joinedRooms(known);
  return [...changed].map((file) => ({ file, database }));
}

// The compile commands are g++'s; clang need not know all of its warnings. What they warn of in several
// files read as one, the compiler says of each.
const tidyArguments = (target) => [
  ...['--quiet', '--extra-arg=-Wno-unknown-warning-option', '-p', target.database],
  ...(target.database === database ? [] : ['--extra-arg=-Wno-shadow']),
  target.file,
];

async function tidy(all) {
  const command = ['clang-tidy-14', 'clang-tidy'].find((name) => output(name, ['--version']));
  if (!command) {
    console.error('clang-tidy is missing: node scripts/setup.mjs ci installs it.');
    return false;
  }
  if (!(await configure())) return false;
  const targets = tidyTargets(all);
  const queue = [...targets];
  let clean = true;
  const worker = async () => {
    for (let target = queue.shift(); target; target = queue.shift()) {
      const { code, text } = await capture(root, command, tidyArguments(target));
      if (code === 0) continue;
      clean = false;
      console.error(text);
    }
  };
  await Promise.all(Array.from({ length: widthFor('compile') }, worker));
  console.log(`clang-tidy: ${targets.length} units, ${clean ? 'clean' : 'with findings'}`);
  return clean;
}

// The include cleaner came with version 17; every file is read alone, which takes its time.
async function includes(all, fix) {
  const command = ['clang-tidy-19', 'clang-tidy'].find(
    (name) => Number(/version (\d+)/.exec(output(name, ['--version']) ?? '')?.[1]) >= 17,
  );
  if (!command) {
    console.error('includes: clang-tidy 19 is missing: node scripts/setup.mjs ci installs it.');
    return false;
  }
  if (!(await configure())) return false;
  const known = sources(root, ['.cpp', '.hpp']).filter((name) => /^(lib|native)\//.test(name));
  const changed = changedFiles();
  const files = all ? known : known.filter((name) => changed.has(name));
  return checkIncludes(root, { command, database, files, fix });
}

async function names() {
  const files = sources(root, ['.cpp', '.hpp']).filter((name) =>
    /^(lib|native|test\/native)\//.test(name),
  );
  const found = await stdNames(root, files);
  if (found.length > 0) console.error(found.join('\n'));
  return found.length === 0;
}

const checks = {
  eslint: () => node('node_modules/eslint/bin/eslint.js', '.'),
  types: () =>
    ['.', 'console'].every((project) => node('node_modules/typescript/bin/tsc', '-p', project)),
  generated: () =>
    ['errors', 'providers', 'exports'].every((name) =>
      node(`scripts/generate-${name}.mjs`, '--check'),
    ),
  layers: () => node('scripts/check-layers.mjs'),
  names,
  terms: () => checkTerms(root),
  tidy: () => tidy(process.argv.includes('--all')),
  includes: () => includes(process.argv.includes('--all'), process.argv.includes('--fix')),
};
const requested = process.argv.slice(2).filter((name) => name in checks);
const failed = [];
for (const name of requested.length > 0 ? requested : Object.keys(checks)) {
  if (!(await checks[name]())) failed.push(name);
}
if (failed.length > 0) console.error(`lint: failed: ${failed.join(', ')}`);
process.exitCode = failed.length > 0 ? 1 : 0;
