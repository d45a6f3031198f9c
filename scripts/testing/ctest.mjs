// Runs the engine tests of one build folder through ctest and counts them.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

// `args` are ctest's own, such as -L core. Passing tests are not listed one by one.
export function runCtest(root, preset, args = []) {
  const report = join(root, 'build/reports', `ctest-${preset}.xml`);
  rmSync(report, { force: true });
  const done = spawnSync(
    'ctest',
    [
      '--test-dir',
      join(root, 'build', preset),
      '--output-on-failure',
      '--no-tests=error',
      '--output-junit',
      report,
      '-j',
      String(availableParallelism()),
      ...args,
    ],
    { encoding: 'utf8', maxBuffer: 1 << 30 },
  );
  const lines = `${done.stdout}${done.stderr}`.split('\n');
  const noise = /^\s*(Start\s+\d+:|\d+\/\d+ Test\s+#\d+:.*\bPassed\b)/;
  console.error(
    lines
      .filter((line) => !noise.test(line))
      .join('\n')
      .trim(),
  );
  return count(report, done.status);
}

function count(report, status) {
  let xml;
  try {
    xml = readFileSync(report, 'utf8');
  } catch {
    return { passed: 0, failed: 1 };
  }
  const number = (name) => Number(new RegExp(`\\b${name}="(\\d+)"`).exec(xml)?.[1] ?? 0);
  const failed = number('failures');
  const skipped = number('skipped') + number('disabled');
  return { passed: number('tests') - failed - skipped, failed: failed || (status === 0 ? 0 : 1) };
}

// As a program: node scripts/testing/ctest.mjs PRESET [ctest arguments]
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const { passed, failed } = runCtest(root, process.argv[2], process.argv.slice(3));
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
