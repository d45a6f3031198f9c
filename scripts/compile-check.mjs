// Compiles every file for its errors and warnings alone, with a compiler of choice; makes no objects.
//   node scripts/compile-check.mjs [--cxx g++-13] [--libcxx] [--unsigned-char] [--join] [--std-names]
//                                  [--jobs 2] [path that begins with lib/ native/ ...]...
//   --libcxx         with libc++ instead of libstdc++ (clang)
//   --unsigned-char  where char has no sign, as on arm64
//   --join           the files of a room as one, as the sanitizers' builds compile them
//   --std-names      with all of the standard library included first: an unqualified call that a function
//                    of std could win as well is then ambiguous
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const flag = { type: 'boolean', default: false };
const { values: options, positionals: paths } = parseArgs({
  allowPositionals: true,
  options: {
    cxx: { type: 'string', default: process.env.CXX || 'c++' },
    jobs: { type: 'string', default: String(availableParallelism()) },
    libcxx: flag,
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

function run(command, args, cwd) {
  const env = { CMAKE_GENERATOR: 'Ninja', ...process.env };
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  }
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, text }));
  });
}

async function configure() {
  mkdirSync(folder, { recursive: true });
  const on = ['MILLRACE_TESTS', 'MILLRACE_BENCH', ...(options.join ? ['MILLRACE_JOIN'] : [])];
  const { code, text } = await run('cmake', [
    ...['-S', root, '-B', folder, `-DCMAKE_CXX_COMPILER=${options.cxx}`],
    ...on.map((option) => `-D${option}=ON`),
    `-DCMAKE_CXX_FLAGS=${flags.join(' ')}`,
  ]);
  if (code !== 0) throw new Error(`cmake ended with code ${code}:\n${text}`);
}

// The command of a file without its launcher (ccache) and its output.
function syntaxOnly({ command }) {
  const plain = command.replace(/^\S*ccache /, '').replace(/ -o (?:"[^"]*"|\S+) -c /, ' ');
  return ['sh', ['-c', `${plain} -fsyntax-only`]];
}

async function main() {
  await configure();
  const entries = JSON.parse(readFileSync(join(folder, 'compile_commands.json'), 'utf8')).filter(
    ({ file }) => {
      const path = relative(options.join ? folder : root, file);
      return paths.length === 0 || paths.some((one) => path.startsWith(one));
    },
  );
  const queue = [...entries];
  let failed = 0;
  const worker = async () => {
    for (let entry = queue.shift(); entry; entry = queue.shift()) {
      const { code, text } = await run(...syntaxOnly(entry), entry.directory);
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
