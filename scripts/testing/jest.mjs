// Runs Jest on test/js and counts its tests. Files with a line "// Runs alone: ..." measure memory or time: they
// run behind the others, one by one, so that nothing else of the tests is in what they measure.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

import { widthFor } from '../setup/capacity.mjs';

/** The test files under `folder` that run alone, as paths from there. */
export function aloneIn(folder) {
  return readdirSync(folder, { recursive: true }).filter(
    (name) =>
      name.endsWith('.test.ts') &&
      /^\/\/ Runs alone: /m.test(readFileSync(join(folder, name), 'utf8')),
  );
}

/** What Jest is to leave out, as patterns of paths: in the first run the files that run alone, then the others. */
export function leftOut(alone) {
  const names = alone.map((name) => name.replaceAll('.', '\\.')).join('|');
  return { together: `/(?:${names})$`, alone: `(?<!/(?:${names}))$` };
}

// Failed tests of Jest's report, and files that have none because they could not be run.
function problemsOf(root, { testResults }) {
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

function runOnce(root, report, args) {
  rmSync(report, { force: true });
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  const all = [jest, '--json', '--outputFile', report, '--passWithNoTests', ...args];
  // Jest keeps a NODE_ENV that is there: with "production", packages of the tests behave otherwise.
  const env = { ...process.env, NODE_ENV: 'test' };
  const done = spawnSync(process.execPath, all, { cwd: root, env, stdio: ['inherit', 2, 2] });
  // Where no file was asked for, there is no report.
  const empty = { numRuntimeErrorTestSuites: 0, numFailedTests: 0, numPassedTests: 0 };
  const result = existsSync(report)
    ? JSON.parse(readFileSync(report, 'utf8'))
    : { ...empty, testResults: [] };
  const failed = result.numFailedTests + result.numRuntimeErrorTestSuites;
  const problems = problemsOf(root, result);
  const isClean = done.status === 0 || failed > 0;
  if (!isClean) problems.push({ name: 'jest', text: `ended with ${done.status ?? done.signal}` });
  return { passed: result.numPassedTests, failed: isClean ? failed : 1, problems };
}

/** The counts of each of the two runs; `args` are for Jest. */
export function runJest(root, reports, args) {
  const { together, alone } = leftOut(aloneIn(join(root, 'test/js')));
  // An option ends the list of patterns, so that no argument becomes one.
  const runs = [
    ['jest.json', together, ['--maxWorkers', String(widthFor('test'))]],
    ['jest-alone.json', alone, ['--runInBand']],
  ];
  const sums = runs.map(([report, pattern, options]) =>
    runOnce(root, join(reports, report), [
      ...['--testPathIgnorePatterns', pattern],
      ...options,
      ...args,
    ]),
  );
  if (sums.some(({ passed, failed }) => passed + failed > 0)) return sums;
  return [{ passed: 0, failed: 1, problems: [{ name: 'jest', text: 'found no test to run' }] }];
}
