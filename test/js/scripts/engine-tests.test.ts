// The runner of the engine's test programs counts what they did, and tells what they did not come to.
// The programs here print and report what GoogleTest does.
import { spawnSync } from 'node:child_process';
import { chmodSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { startableFolder } from '../support/script';

const script = pathToFileURL(join(__dirname, '../../../scripts/testing/gtest.mjs')).href;

const imitation = `#!${process.execPath}
const { writeFileSync, writeSync } = require('node:fs');
const report = process.argv.find((word) => word.startsWith('--gtest_output=json:')).slice(20);
const cases = [];
const say = (text) => writeSync(1, text + '\\n');
const start = (name) => say('[ RUN      ] Suite.' + name);
const test = (name, outcome, words) => {
  start(name);
  if (words) say(words);
  const mark = { passed: '      OK', failed: ' FAILED ', skipped: ' SKIPPED' }[outcome];
  say('[ ' + mark + ' ] Suite.' + name + (outcome === 'failed' ? ', where GetParam() = 1' : '') + ' (0 ms)');
  const result = outcome === 'skipped' ? 'SKIPPED' : 'COMPLETED';
  const failures = outcome === 'failed' ? { failures: [{ failure: words }] } : {};
  cases.push({ name, status: 'RUN', result, ...failures });
};
const end = () => {
  const testsuites = cases.length > 0 ? [{ name: 'Suite', testsuite: cases }] : [];
  writeFileSync(report, JSON.stringify({ testsuites }));
};
if (process.env.GTEST_SHARD_INDEX !== '0') process.exit(end());
say('[==========] Running 4 tests from 1 test suite.');
`;

interface Problem {
  name: string;
  text: string;
}

// A busy machine takes seconds to start a program.
jest.setTimeout(90_000);
let folder: string;
beforeAll(() => (folder = startableFolder()));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// What the runner counts of a program with this body, and what it says.
function run(body: string, silence = 60_000) {
  const program = join(folder, 'some_tests');
  writeFileSync(program, imitation + body);
  chmodSync(program, 0o755);
  return runProgram(program, silence);
}

function runProgram(program: string, silence = 60_000, under?: string) {
  const options = { reports: join(folder, 'reports'), cores: 1, silence, under };
  const source = `
    import { runPrograms } from ${JSON.stringify(script)};
    console.log(JSON.stringify(await runPrograms(${JSON.stringify([program])}, ${JSON.stringify(options)})));`;
  const done = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
  });
  const { problems, ...sum } = JSON.parse(done.stdout) as { problems: Problem[] };
  return { sum, problems, said: done.stderr };
}

describe('the runner of the engine tests', () => {
  it('counts what passed, and is silent about it', () => {
    const { sum, said: received } = run(
      `test('A', 'passed', 'chatter'); test('B', 'passed'); end();`,
    );
    expect(sum).toEqual({ passed: 2, failed: 0 });
    expect(received).toBe('');
  });

  it('counts no skipped test and says why it was', () => {
    const { sum, said: received } = run(
      `test('A', 'passed'); test('B', 'skipped', 'no zones'); end();`,
    );
    expect(sum).toEqual({ passed: 1, failed: 0 });
    expect(received).toContain('no zones');
  });

  it('shows what a failed test printed, and nothing of the others', () => {
    const { sum, said: received } = run(`
      test('A', 'passed', 'chatter'); test('B', 'failed', '1 is not 2'); test('C', 'passed', 'chatter');
      end(); process.exitCode = 1;`);
    expect(sum).toEqual({ passed: 2, failed: 1 });
    expect(received).toMatch(/Suite\.B\n1 is not 2\n/);
    expect(received).not.toContain('chatter');
  });

  it('names what failed', () => {
    const { problems } = run(`
      test('A', 'passed'); test('B', 'failed', '1 is not 2'); start('C'); process.exit(1);`);
    expect(problems.map(({ name }) => name)).toEqual(['Suite.B', 'some_tests-0']);
    expect(problems[0]?.text).toContain('1 is not 2');
  });

  it('counts a crash and tells in which test it was', () => {
    const { sum, said: received } = run(`
      test('A', 'passed', 'chatter'); test('B', 'failed', '1 is not 2'); start('C');
      say('heap-use-after-free'); process.kill(process.pid, 'SIGSEGV');
      setInterval(() => {}, 1000);`);
    expect(sum).toEqual({ passed: 1, failed: 2 });
    expect(received).toContain('1 is not 2');
    expect(received).toContain('heap-use-after-free');
    expect(received).toContain(
      'some_tests-0 was ended by SIGSEGV, in Suite.C; 1 tests of it were not run',
    );
    expect(received).not.toContain('chatter');
  });

  it('ends a program that hangs', () => {
    const { sum, said: received } = run(
      `test('A', 'passed'); start('B'); say('waits'); setInterval(() => {}, 1000);`,
      5_000,
    );
    expect(sum).toEqual({ passed: 1, failed: 1 });
    expect(received).toContain('some_tests-0 hangs: said nothing for 5 s, in Suite.B');
  });

  it('counts what is found when the tests are over', () => {
    const { sum, said: received } = run(`
      test('A', 'passed'); end(); say('detected memory leaks'); process.exitCode = 23;`);
    expect(sum).toEqual({ passed: 1, failed: 1 });
    expect(received).toContain('detected memory leaks');
    expect(received).toContain('some_tests-0 ended with code 23');
  });

  it('runs by an emulator what this machine cannot run itself', () => {
    const program = join(folder, 'foreign_tests');
    writeFileSync(program, `${imitation}test('A', 'passed'); end();`, { mode: 0o644 });
    expect(runProgram(program).sum).toEqual({ passed: 0, failed: 2 });
    expect(runProgram(program, 60_000, process.execPath).sum).toEqual({ passed: 1, failed: 0 });
  });

  it('counts a program that is not there', () => {
    const { sum, said: received } = runProgram(join(folder, 'no_tests'));
    expect(sum).toEqual({ passed: 0, failed: 2 });
    expect(received).toContain('no_tests-0 could not be started');
  });
});
