// Before `npm pack`: builds the addon and dist/, and puts the stripped addon where the packed package looks
// for it: prebuilds/<platform>-<arch>-<libc>/millrace.node.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { output } from './setup/report.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

// glibc or musl on Linux; other platforms have one C library.
function platformName() {
  const name = `${process.platform}-${process.arch}`;
  if (process.platform !== 'linux') return name;
  const { header } = process.report.getReport();
  return `${name}-${header.glibcVersionRuntime ? 'glibc' : 'musl'}`;
}

// npm reads this script's standard output as its own answer (`npm pack --json`): everything goes to stderr.
const built = spawnSync(process.execPath, [join(root, 'scripts/setup.mjs'), 'start'], {
  stdio: ['inherit', 2, 2],
});
if (built.status !== 0) process.exit(1);
const folder = join(root, 'prebuilds', platformName());
rmSync(join(root, 'prebuilds'), { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const addon = join(folder, 'millrace.node');
cpSync(join(root, 'build/release/millrace.node'), addon);
if (output('strip', ['--strip-unneeded', addon]) === undefined) {
  console.error('millrace: strip failed or is missing; the addon is packed with its symbols.');
}
