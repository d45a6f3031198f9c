// Runs the GoogleTest programs of one build folder whole, in shards beside each other, and counts their
// tests. Under a sanitizer a program takes longer to start than most tests take, so the tests of a shard
// share a process; a crash or a hang therefore costs the rest of its shard, and is told as such.
//   node scripts/testing/gtest.mjs PRESET [core_tests | io_tests]... [--gtest_filter=PATTERN] [--under=COMMAND]
//   --under  runs them by an emulator: qemu-aarch64
// What the programs print stays in build/reports/<preset>/; what failed is told again at the end.
import '../help.mjs';

import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { widthFor } from '../setup/capacity.mjs';
import { rejectFewDescriptors } from './descriptors.mjs';
import { reportProblems } from './problems.mjs';

// A program that says nothing for so long hangs: each test says that it starts.
const longestSilence = 180_000;
// An emulator needs tens of times as long for a test.
const longestEmulatedSilence = 1_800_000;
// More than run at once: they end nearer to each other, and less is lost with one.
const shardsPerCore = 2;

// Runs one shard of a program to its end: { text, cases, status }. There are no cases when it died.
async function runShard({ program, shard, shards, filter, reports, silence, under }) {
  const name = `${program.split('/').at(-1)}-${shard}`;
  const [log, report] = [join(reports, `${name}.log`), join(reports, `${name}.json`)];
  rmSync(report, { force: true });
  const args = [`--gtest_output=json:${report}`, '--gtest_color=no'];
  if (filter) args.push(`--gtest_filter=${filter}`);
  const env = {
    ...process.env,
    GTEST_TOTAL_SHARDS: String(shards),
    GTEST_SHARD_INDEX: String(shard),
  };
  // Both streams into one file: a sanitizer's words stay with the test that they are about.
  const file = openSync(log, 'w');
  const [command, ...words] = [...(under ? [under] : []), program, ...args];
  const options = { cwd: dirname(program), env, stdio: ['ignore', file, file] };
  const child = spawn(command, words, options);
  closeSync(file);
  const status = await ended(child, log, silence);
  return { name, text: readFileSync(log, 'utf8'), cases: casesOf(report), status };
}

// How a child ended: its exit code, or a sentence when it has none.
async function ended(child, log, silence) {
  let [size, since, hangs] = [0, Date.now(), false];
  const watch = setInterval(
    () => {
      const now = statSync(log).size;
      if (now !== size) [size, since] = [now, Date.now()];
      if (Date.now() - since < silence) return;
      hangs = true;
      child.kill('SIGKILL');
    },
    Math.min(1000, silence / 4),
  );
  const status = await new Promise((resolve) => {
    child.on('error', (error) => resolve(`could not be started: ${error.message}`));
    child.on('exit', (code, signal) => resolve(code ?? `was ended by ${signal}`));
  });
  clearInterval(watch);
  return hangs ? `hangs: said nothing for ${silence / 1000} s` : status;
}

// [{ name, outcome }] of GoogleTest's report; undefined when it was not written.
function casesOf(report) {
  let suites;
  try {
    suites = JSON.parse(readFileSync(report, 'utf8')).testsuites;
  } catch {
    return undefined;
  }
  const outcome = (one) =>
    one.failures
      ? 'failed'
      : one.status === 'RUN' && one.result !== 'SKIPPED'
        ? 'passed'
        : 'skipped';
  return suites.flatMap((suite) =>
    suite.testsuite.map((one) => ({ name: `${suite.name}.${one.name}`, outcome: outcome(one) })),
  );
}

// What a test printed, from the line that starts it to the line that tells its end.
function outputOf(text, name) {
  const start = text.indexOf(`[ RUN      ] ${name}\n`);
  if (start < 0) return '';
  const end = /^\[ +(OK|FAILED|SKIPPED) +\] /m.exec(text.slice(start));
  const stop = end ? text.indexOf('\n', start + end.index) : -1;
  return text.slice(start, stop < 0 ? undefined : stop);
}

// { passed, failed, skipped, problems } of a program that ended before its report.
function countOfDead({ name, text, status }) {
  const names = (word) =>
    [...text.matchAll(new RegExp(`^\\[ +${word} +\\] (\\S+?),? .*\\(\\d+ ms\\)$`, 'gm'))].map(
      (m) => m[1],
    );
  const [passed, failed, skipped] = [names('OK'), names('FAILED'), names('SKIPPED')];
  const started = [...text.matchAll(/^\[ RUN {6}\] (.+)$/gm)].map((match) => match[1]);
  const all = Number(/^\[=+\] Running (\d+) tests?/m.exec(text)?.[1] ?? 0);
  const isOver = passed.length + failed.length + skipped.length === started.length;
  const place =
    started.length === 0 ? 'before its tests' : `${isOver ? 'after' : 'in'} ${started.at(-1)}`;
  const ending = typeof status === 'number' ? `ended with code ${status}` : status;
  const rest = all > started.length ? `; ${all - started.length} tests of it were not run` : '';
  const tail = isOver || started.length === 0 ? text.slice(-8000) : outputOf(text, started.at(-1));
  return {
    passed: passed.length,
    failed: failed.length + 1,
    skipped,
    problems: [
      ...failed.map((one) => ({ name: one, text: outputOf(text, one) })),
      { name, text: `${tail}\n${name} ${ending}, ${place}${rest}` },
    ],
  };
}

function countOf(shard) {
  const { name, text, cases, status } = shard;
  if (!cases) return countOfDead(shard);
  const of = (outcome) => cases.filter((one) => one.outcome === outcome).map((one) => one.name);
  const failed = of('failed');
  const problems = failed.map((one) => ({ name: one, text: outputOf(text, one) }));
  // Leaks are found when the tests are over; GoogleTest itself gives 1 for a failed test.
  const isClean = status === (failed.length > 0 ? 1 : 0);
  if (!isClean) {
    problems.push({ name, text: `${text.slice(-8000)}\n${name} ended with code ${status}` });
  }
  const skipped = of('skipped').map((one) => outputOf(text, one) || one);
  return { passed: of('passed').length, failed: problems.length, skipped, problems };
}

/**
 * Runs programs, as many shards at once as the machine can carry: { passed, failed, problems } of all, a
 * problem being { name, text }.
 */
export async function runPrograms(programs, options) {
  const { reports, filter, cores, under } = options;
  const { silence = under ? longestEmulatedSilence : longestSilence } = options;
  mkdirSync(reports, { recursive: true });
  const width = cores ?? widthFor('test');
  const shards = width * shardsPerCore;
  const queue = programs.flatMap((program) =>
    Array.from({ length: shards }, (_, shard) => ({
      program,
      shard,
      shards,
      filter,
      reports,
      silence,
      under,
    })),
  );
  const sum = { passed: 0, failed: 0, problems: [] };
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      const { passed, failed, skipped, problems } = countOf(await runShard(next));
      sum.passed += passed;
      sum.failed += failed;
      sum.problems.push(...problems);
      for (const text of [...skipped, ...problems.map((one) => one.text)]) console.error(text);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
  return sum;
}

/** Runs the engine's test programs of a preset, all when none is named. */
export function runEngineTests(root, preset, { names = [], filter, under } = {}) {
  // The longer one first.
  const wanted = names.length > 0 ? names : ['io_tests', 'core_tests'];
  const programs = wanted.map((name) => join(root, 'build', preset, 'test/native', name));
  return runPrograms(programs, { reports: join(root, 'build/reports', preset), filter, under });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const [preset, ...rest] = process.argv.slice(2);
  const valueOf = (flag) => rest.find((word) => word.startsWith(`${flag}=`))?.split('=')[1];
  const [filter, under] = [valueOf('--gtest_filter'), valueOf('--under')];
  const names = rest.filter((word) => !word.startsWith('--'));
  rejectFewDescriptors();
  const { passed, failed, problems } = await runEngineTests(root, preset, { names, filter, under });
  reportProblems(problems);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}
