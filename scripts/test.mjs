// Runs what `npm test` promises on the release build: engine tests, then Jest.
//   node scripts/test.mjs [all | native | js] [arguments for Jest]
// Reports go to build/reports; the end tells what failed, and the last line is the sum of both.
import './help.mjs';

import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { rejectFewDescriptors } from './testing/descriptors.mjs';
import { runEngineTests } from './testing/gtest.mjs';
import { runJest } from './testing/jest.mjs';
import { reportProblems } from './testing/problems.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const reports = join(root, 'build/reports');
const [kind, ...rest] = ['all', 'native', 'js'].includes(process.argv[2])
  ? process.argv.slice(2)
  : ['all', ...process.argv.slice(2)];

rejectFewDescriptors();
mkdirSync(reports, { recursive: true });
const sums = [];
if (kind !== 'js') sums.push(await runEngineTests(root, 'release'));
if (kind !== 'native') sums.push(...runJest(root, reports, rest));
const passed = sums.reduce((sum, one) => sum + one.passed, 0);
const failed = sums.reduce((sum, one) => sum + one.failed, 0);
reportProblems(sums.flatMap((one) => one.problems));
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
