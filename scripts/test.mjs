// Runs what `npm test` promises on the release build: engine tests, then Jest.
//   node scripts/test.mjs [all | native | js] [arguments for Jest]
// Reports go to build/reports; the end tells what failed, and the last line is the sum of both.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { runEngineTests } from './testing/gtest.mjs';
import { tellProblems } from './testing/problems.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const reports = join(root, 'build/reports');
const [kind, ...rest] = ['all', 'native', 'js'].includes(process.argv[2])
  ? process.argv.slice(2)
  : ['all', ...process.argv.slice(2)];

// Failed tests of Jest's report, and files that have none because they could not be run.
function problemsOf({ testResults }) {
  return testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(root, name);
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0 && message) return [{ name: file, text: message }];
    return failed.map(({ fullName, failureMessages }) => ({
      name: `${file}: ${fullName}`,
      text: failureMessages.join('\n'),
    }));
  });
}

function runJest() {
  const report = join(reports, 'jest.json');
  rmSync(report, { force: true });
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  const args = [
    jest,
    '--json',
    '--outputFile',
    report,
    '--maxWorkers',
    String(availableParallelism()),
    ...rest,
  ];
  const done = spawnSync(process.execPath, args, { cwd: root, stdio: ['inherit', 2, 2] });
  const result = JSON.parse(readFileSync(report, 'utf8'));
  const crashed = result.numRuntimeErrorTestSuites;
  const failed = result.numFailedTests + crashed;
  const problems = problemsOf(result);
  const isClean = done.status === 0 || failed > 0;
  if (!isClean) problems.push({ name: 'jest', text: `ended with ${done.status ?? done.signal}` });
  return { passed: result.numPassedTests, failed: isClean ? failed : 1, problems };
}

mkdirSync(reports, { recursive: true });
const sums = [];
if (kind !== 'js') sums.push(await runEngineTests(root, 'release'));
if (kind !== 'native') sums.push(runJest());
const passed = sums.reduce((sum, one) => sum + one.passed, 0);
const failed = sums.reduce((sum, one) => sum + one.failed, 0);
tellProblems(sums.flatMap((one) => one.problems));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
