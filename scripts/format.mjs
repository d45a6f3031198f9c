// Formats what git knows: C++ with clang-format, the rest with prettier. --check only reports.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { output } from './setup/report.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');

// Tracked and new files that still exist, by suffix.
export function sources(suffixes) {
  const args = [
    '-C',
    root,
    'ls-files',
    '--cached',
    '--others',
    '--exclude-standard',
    '--deduplicate',
  ];
  const deleted = new Set(output('git', ['-C', root, 'ls-files', '--deleted'])?.split('\n'));
  const names = output('git', args)?.split('\n') ?? [];
  return names.filter(
    (name) => !deleted.has(name) && suffixes.some((suffix) => name.endsWith(suffix)),
  );
}

function formatCpp() {
  // The version of Debian 12 and CI first: versions differ in small things.
  const command = ['clang-format-14', 'clang-format'].find((name) => output(name, ['--version']));
  if (!command) {
    console.error('clang-format is missing: node scripts/setup.mjs ci installs it.');
    return 1;
  }
  const mode = check ? ['--dry-run', '--Werror'] : ['-i'];
  const files = sources(['.cpp', '.hpp']);
  return spawnSync(command, [...mode, ...files], { cwd: root, stdio: 'inherit' }).status;
}

function formatRest() {
  const prettier = join(root, 'node_modules/prettier/bin/prettier.cjs');
  const files = sources(['.ts', '.mjs', '.cjs', '.json', '.yml']);
  const mode = check ? ['--check'] : ['--write'];
  const args = [prettier, ...mode, '--log-level', 'warn', ...files];
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status;
}

const failed = [formatCpp(), formatRest()].filter((status) => status !== 0).length;
process.exitCode = failed > 0 ? 1 : 0;
