// Configures and builds the C++ side with CMake and ninja. ninja itself decides what is out of date.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

import { inCi, output, run } from './report.mjs';

// Builds `targets` of a preset. With `tests`, the engine tests are part of the release folder; once they
// are, they stay configured, so that start and test do not undo each other's work.
export async function buildEngine(root, { preset = 'release', tests = false, targets = [] } = {}) {
  const folder = join(root, 'build', preset);
  const record = join(folder, 'millrace-configured.json');
  const before = existsSync(record) ? JSON.parse(readFileSync(record, 'utf8')) : {};
  const now = {
    root,
    cxx: process.env.CXX ?? '',
    tests: tests || before.tests === true,
    // A newer compiler's new warning must not stop a newcomer; it stops CI. A folder that CI configured
    // stays as it is: the other flags would compile everything again.
    strict: inCi() || before.strict === true,
    // From nothing this takes a third of the time. Who changes the engine often may set MILLRACE_JOIN=0.
    joined: process.env.MILLRACE_JOIN !== '0',
  };
  if (before.root !== root || before.cxx !== now.cxx)
    rmSync(join(folder, 'CMakeCache.txt'), { force: true });
  if (!existsSync(join(folder, 'build.ninja')) || JSON.stringify(before) !== JSON.stringify(now)) {
    const option = (name, on) => `-D${name}=${on ? 'ON' : 'OFF'}`;
    const options = [
      option('MILLRACE_TESTS', now.tests),
      option('MILLRACE_WERROR', now.strict),
      option('MILLRACE_JOIN', now.joined),
    ];
    await run(`configuring ${preset}`, 'cmake', ['--preset', preset, ...options], { cwd: root });
    mkdirSync(folder, { recursive: true });
    writeFileSync(record, JSON.stringify(now));
  }
  const args = ['-C', folder, '-j', String(availableParallelism()), ...targets];
  // A dry run first: silence when there is nothing to do.
  if (/no work to do/.test(output('ninja', [...args, '-n']) ?? '')) return;
  await run(`compiling ${preset}`, 'ninja', args, { hint: "The compiler's message is above." });
}
