// Formats what git knows: C++ with clang-format, the rest with prettier.
//   node scripts/format.mjs [--check] [--changed]
// --check only reports; --changed takes what differs from the last commit, and new files.
import './help.mjs';

import { execFileSync, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { output } from './setup/report.mjs';
import { sources } from './sources.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const check = process.argv.includes('--check');
const changed = process.argv.includes('--changed') ? changedFiles() : undefined;

function changedFiles() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).split('\n');
  return new Set([
    ...git('diff', '--name-only', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]);
}

function filesOf(endings) {
  return sources(root, endings).filter((file) => !changed || changed.has(file));
}

function formatCpp() {
  // The version of Debian 12 and CI first: versions differ in small things.
  const command = ['clang-format-14', 'clang-format'].find((name) => output(name, ['--version']));
  if (!command) {
    console.error('clang-format is missing: node scripts/setup.mjs ci installs it.');
    return 1;
  }
  const mode = check ? ['--dry-run', '--Werror'] : ['-i'];
  const files = filesOf(['.cpp', '.hpp']);
  if (files.length === 0) return 0;
  return spawnSync(command, [...mode, ...files], { cwd: root, stdio: 'inherit' }).status;
}

function formatRest() {
  const prettier = join(root, 'node_modules/prettier/bin/prettier.cjs');
  const files = filesOf(['.ts', '.tsx', '.mjs', '.cjs', '.json', '.yml', '.css']);
  if (files.length === 0) return 0;
  const mode = check ? ['--check'] : ['--write'];
  const args = [prettier, ...mode, '--log-level', 'warn', ...files];
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status;
}

const failed = [formatCpp(), formatRest()].filter((status) => status !== 0).length;
process.exitCode = failed > 0 ? 1 : 0;
