// Compiles every file for its errors and warnings alone, with a compiler of choice; makes no objects.
//   node scripts/compile-check.mjs [--cxx g++-13] [--libcxx] [--portable] [--unsigned-char] [--join]
//                                  [--std-names] [--jobs 2] [path that begins with lib/ native/ ...]...
//   --libcxx         with libc++ instead of libstdc++ (clang)
//   --portable       without what only Linux has, as on every other system
//   --unsigned-char  where char has no sign, as on arm64
//   --join           the files of a room as one, as the sanitizers' builds compile them
//   --std-names      with all of the standard library included first: an unqualified call that a function
//                    of std could win as well is then ambiguous
import './help.mjs';

import { mkdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { capture } from './lint/capture.mjs';
import { widthFor } from './setup/capacity.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const flag = { type: 'boolean', default: false };
const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    cxx: { type: 'string', default: process.env.CXX || 'c++' },
    jobs: { type: 'string', default: String(widthFor('compile')) },
    libcxx: flag,
    portable: flag,
    'unsigned-char': flag,
    join: flag,
    'std-names': flag,
  },
});
const flags = [
  ...(options.libcxx ? ['-stdlib=libc++'] : []),
  ...(options['unsigned-char'] ? ['-funsigned-char'] : []),
  ...(options['std-names'] ? ['-include', 'bits/stdc++.h'] : []),
];
const conditions = Object.entries(options).filter(([, value]) => value === true);
const name = [options.cxx.replace(/.*\//, ''), ...conditions.map(([key]) => key)].join('-');
const folder = join(root, 'build/compile-check', name);

// The C compiler of the same family and version: SQLite is C, and a machine may have no other.
const cOf = (cxx) =>
  cxx.replace(/(clang|g|c)\+\+(?=[^/]*$)/, (_, one) => ({ g: 'gcc', c: 'cc' })[one] ?? one);

async function configure() {
  mkdirSync(folder, { recursive: true });
  const on = ['MILLRACE_TESTS', 'MILLRACE_BENCH'];
  if (options.join) on.push('MILLRACE_JOIN');
  if (options.portable) on.push('MILLRACE_PORTABLE');
  const { code, text } = await capture(root, 'cmake', [
    ...['-S', root, '-B', folder, '-G', 'Ninja', `-DCMAKE_CXX_COMPILER=${options.cxx}`],
    `-DCMAKE_C_COMPILER=${cOf(options.cxx)}`,
    '-DMILLRACE_CCACHE=OFF',
    ...on.map((option) => `-D${option}=ON`),
    `-DCMAKE_CXX_FLAGS=${flags.join(' ')}`,
  ]);
  if (code !== 0) throw new Error(`cmake ended with code ${code}:\n${text}`);
}

// The command of a file without its output.
function syntaxOnly({ command }) {
  const plain = command.replace(/ -o (?:"[^"]*"|\S+) -c /, ' ');
  return ['sh', ['-c', `${plain} -fsyntax-only`]];
}

// Joined files stand in the build's folder, as unity_lib_base_0_cxx.cxx.
const isIn = (file, path) =>
  relative(root, file).startsWith(path) ||
  basename(file).startsWith(`unity_${path.replaceAll('/', '_')}`);

async function main() {
  await configure();
  const all = JSON.parse(readFileSync(join(folder, 'compile_commands.json'), 'utf8'));
  const entries = all.filter(
    ({ file }) => paths.length === 0 || paths.some((path) => isIn(file, path)),
  );
  const queue = [...entries];
  let failed = 0;
  const worker = async () => {
    for (let entry = queue.shift(); entry; entry = queue.shift()) {
      const { code, text } = await capture(entry.directory, ...syntaxOnly(entry));
      if (code === 0 && text === '') continue;
      failed += 1;
      console.log(`${relative(root, entry.file)}:\n${text}`);
    }
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, worker));
  console.log(`${name}: ${entries.length} units`);
  console.log(`${entries.length - failed} passed, ${failed} failed`);
  return failed === 0 && entries.length > 0;
}

process.exitCode = (await main()) ? 0 : 1;
