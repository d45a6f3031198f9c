// Ends processes and environments with live streams, again and again: the scenes of
// test/js/fixtures/teardown.cjs in numbers that the fast tests do not have time for. Plays random model
// calls whose tokens are booked twice (books) and random runs of agents (histories), and lets
// an MCP server die (restarts), changes a program between restarts (deploys), wakes many runs (sleepers), ends a
// process at each commit of a run that gets messages (sends), ends processes at work on recorded runs with kill -9
// (kills, background, queue), compares recovery with a model of its table (recovery), lets the disk, the power and the
// memory of a store fail (flips, power, faults), and tries many turns and answers (turns, approvals), too.
//   node scripts/test-stress.mjs            the full numbers (a bounded sample where CI is set)
//   node scripts/test-stress.mjs --sample   the bounded sample
//   node scripts/test-stress.mjs --node <path>   under another Node binary
//   node scripts/test-stress.mjs --only cycles   only the scenes whose name begins like that
import './help.mjs';

import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildEngine } from './setup/engine.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const fixture = join(root, 'test/js/fixtures/teardown.cjs');
const jest = join(root, 'node_modules/jest/bin/jest.js');
const sample = process.argv.includes('--sample') || Boolean(process.env['CI']);
const onlyAt = process.argv.indexOf('--only');
const only = onlyAt > 0 ? process.argv[onlyAt + 1] : '';
const requested = process.argv.indexOf('--node');
const probe = join(root, 'build/release/heap_probe.node');
const node = requested > 0 ? process.argv[requested + 1] : process.execPath;

// What one more environment may leave behind, beyond what Node itself does: a worker in which its fetch or
// Response was used leaves 31 KB under Node 20 and 15 KB under Node 22, with or without Millrace.
const limitBytes = 1024;
const residentLimitBytes = 8192;
const cycles = (kind, check) => ({
  name: `cycles ${kind}`,
  scene: 'cycles',
  code: 0,
  times: 1,
  env: { CYCLES: sample ? '40' : '1000', KIND: kind, PROBE: probe },
  check,
});
const scenes = [
  { name: 'exit', code: 7, times: sample ? 8 : 100 },
  { name: 'idle', code: 0, times: sample ? 8 : 100 },
  { name: 'left', code: 0, times: sample ? 4 : 50 },
  { name: 'throws', code: 1, times: sample ? 8 : 100 },
  { name: 'workers', code: 0, times: 1, env: { WORKERS: sample ? '12' : '60' } },
  {
    name: 'servers',
    code: 0,
    times: 1,
    env: { SERVERS: sample ? '80' : '1000' },
    check: (output) =>
      output === '{"descriptors":0,"children":[]}' ? undefined : `left behind: ${output}`,
  },
  cycles('bare', remember),
  cycles('engine', (output, scene) => compare(output, scene, 'bare')),
  cycles('fetch', remember),
  cycles('stream', (output, scene) => compare(output, scene, 'fetch')),
];

const measured = {};

function remember(output, { env }) {
  const left = JSON.parse(output);
  measured[env.KIND] = left;
  console.log(
    `  an environment leaves ${Math.round(left.inUse)} bytes of heap in use, ` +
      `${Math.round(left.resident)} resident; ${left.threads} threads, ${left.descriptors} descriptors`,
  );
}

// Resident memory also tells of what malloc does not know; how many half-free pages stay is chance.
function compare(output, scene, base) {
  remember(output, scene);
  const [ours, node] = [measured[scene.env.KIND], measured[base]];
  const inUse = ours.inUse - node.inUse;
  const resident = ours.resident - node.resident;
  console.log(`  beyond ${base}: ${Math.round(inUse)} in use, ${Math.round(resident)} resident`);
  if (ours.threads > node.threads) return `${ours.threads} threads, not ${node.threads}`;
  // Libraries may keep a few descriptors for good; a leak is one an environment.
  if (ours.descriptors > node.descriptors + 4) return `${ours.descriptors} descriptors are open`;
  if (sample) return undefined;
  if (inUse > limitBytes) return `an environment leaves ${Math.round(inUse)} bytes in use`;
  if (resident > residentLimitBytes)
    return `resident memory grows by ${Math.round(resident)} bytes an environment`;
  return undefined;
}

function startServer() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const chunk = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word ' } }] })}\n\n`;
    const timer = setInterval(() => response.write(chunk), 3);
    response.on('close', () => clearInterval(timer));
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

function play(scene, url) {
  return new Promise((resolve) => {
    const child = spawn(node, ['--expose-gc', fixture, scene.scene ?? scene.name, url], {
      env: { ...process.env, ...scene.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 1_800_000,
    });
    const received = { out: '', err: '' };
    child.stdout.on('data', (text) => (received.out += text));
    child.stderr.on('data', (text) => (received.err += text));
    child.on('close', (code, signal) => resolve({ code, signal, ...received }));
  });
}

async function run(scene, url) {
  const { code, signal, out, err } = await play(scene, url);
  if (code !== scene.code || signal)
    return `ended with ${signal ?? code}, not ${scene.code}\n${err}`;
  return scene.check?.(out, scene);
}

const wanted = (name) => name.startsWith(only);

// Tests of Jest that take from their environment how much they do.
const jestScenes = [
  // Random model calls against a provider with books of its own.
  {
    name: 'books',
    test: 'test/js/model/usage-random-runs.test.ts',
    env: { MILLRACE_BOOKS_RUNS: sample ? '200' : '2000' },
  },
  // Random runs of agents, whose histories four APIs must accept.
  {
    name: 'histories',
    test: 'test/js/agent/random-histories.test.ts',
    env: { MILLRACE_CASES: sample ? '300' : '10000' },
  },
  // A program of an MCP server that dies and is started again.
  {
    name: 'restarts',
    test: 'test/js/mcp/faults.test.ts',
    only: 'dies again and again',
    env: { MILLRACE_MCP_RESTARTS: sample ? '100' : '1000' },
  },
  // A program that is another one after each restart.
  {
    name: 'deploys',
    test: 'test/js/runtime/deploy-fuzz.test.ts',
    env: sample
      ? { MILLRACE_DEPLOYS: '100', MILLRACE_DEPLOY_SECONDS: '120' }
      : { MILLRACE_DEPLOYS: '1000', MILLRACE_DEPLOY_SECONDS: '3600' },
  },
  // Runs that sleep in a process and wake in another one.
  {
    name: 'sleepers',
    test: 'test/js/runtime/sleepers.test.ts',
    env: { MILLRACE_SLEEPERS: sample ? '1000' : '20000' },
  },
  // Runs that get messages while they work, whose process is ended at each of its commits.
  {
    name: 'sends',
    test: 'test/js/runtime/sent-kills.test.ts',
    env: { MILLRACE_SENT_KILLS: sample ? '12' : 'all' },
  },
  // Processes that are killed while their answers are made in the background.
  {
    name: 'background',
    test: 'test/js/runtime/background-kills.test.ts',
    env: { MILLRACE_BACKGROUND_KILLS: sample ? '50' : '500' },
  },
  // Many runs under a limit, whose processes are killed.
  {
    name: 'queue',
    test: 'test/js/runtime/queue.test.ts',
    only: 'hold when the process is killed',
    env: { MILLRACE_QUEUE_RUNS: sample ? '1000' : '10000' },
  },
];

// Engine programs, which print what they found.
const programScenes = [
  // Processes that are ended with kill -9 while they work on recorded runs.
  { name: 'kills', program: 'run_kills', args: ['--kills', sample ? '300' : '3000'] },
  // Random steps of runs, and what a model of the recovery table says of them.
  {
    name: 'recovery in memory',
    program: 'run_recovery',
    args: ['--steps', sample ? '100000' : '1000000'],
  },
  {
    name: 'recovery in a file',
    program: 'run_recovery',
    args: ['--storage', 'sqlite', '--steps', sample ? '10000' : '100000'],
  },
  // A store in whose file one bit after the other is another one.
  { name: 'flips', program: 'run_kills', args: ['--flips', sample ? '500' : '5000'] },
  // Power that fails at every write, sync, truncation and lock; with each durability so many times.
  {
    name: 'power',
    program: 'io_tests',
    args: ['--gtest_filter=*PowerCuts*'],
    env: { MILLRACE_POWER_CUTS: sample ? '500' : '5000' },
  },
  // Calls of the file system, and allocations of SQLite, that fail.
  {
    name: 'faults',
    program: 'io_tests',
    args: ['--gtest_filter=*SqliteFaults.*'],
    env: { MILLRACE_STORE_FAULTS: sample ? '100' : '2000' },
  },
  // Runs that wait for their turn, in memory.
  {
    name: 'turns',
    program: 'io_tests',
    args: ['--gtest_filter=Memory/*NeverBeginsOneTooMany*'],
    env: { MILLRACE_QUEUE_RUNS: '10000' },
  },
  // Answers to approvals that must not count.
  {
    name: 'approvals',
    program: 'io_tests',
    args: ['--gtest_filter=ApprovalAttempts.*'],
    env: { MILLRACE_APPROVAL_ATTEMPTS: '10000' },
  },
];

const programs = programScenes.filter(({ name }) => wanted(name)).map(({ program }) => program);
await buildEngine(root, { tests: true, targets: [...new Set(['heap_probe', ...programs])] });
const server = await startServer();
const url = `http://127.0.0.1:${server.address().port}/`;
let passed = 0;
let failed = 0;
const since = (started) => `${((performance.now() - started) / 1000).toFixed(1)} s`;
for (const scene of scenes.filter(({ name }) => wanted(name))) {
  const started = performance.now();
  for (let time = 0; time < scene.times; time++) {
    const problem = await run(scene, url);
    if (problem === undefined) {
      passed += 1;
    } else {
      failed += 1;
      console.error(`FAIL ${scene.name}, time ${time + 1}: ${problem}`);
    }
  }
  console.log(`${scene.name}: ${scene.times} times, ${since(started)}`);
}
server.closeAllConnections();
server.close();

function count(name, status, started) {
  if (status === 0) passed += 1;
  else failed += 1;
  console.log(`${name}: once, ${since(started)}`);
}

// The status and the standard output of a program; what it says on standard error goes there.
function ended(command, args, env, stdout) {
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', stdout, 2],
  });
  const parts = [];
  child.stdout?.on('data', (part) => parts.push(part));
  return new Promise((resolve) => {
    child.on('error', (error) => {
      console.error(`FAIL ${command}: ${error.message}`);
      resolve({ status: null, stdout: '' });
    });
    child.on('close', (status) =>
      resolve({ status, stdout: Buffer.concat(parts).toString('utf8') }),
    );
  });
}

async function playTests() {
  for (const { name, test, only: pattern, env } of jestScenes.filter(({ name }) => wanted(name))) {
    const started = performance.now();
    const args = pattern === undefined ? [jest, test] : [jest, test, '-t', pattern];
    const done = await ended(node, args, env, 2);
    count(name, done.status, started);
  }
}

async function playPrograms() {
  for (const { name, program, args, env } of programScenes.filter(({ name }) => wanted(name))) {
    const started = performance.now();
    const done = await ended(join(root, 'build/release/test/native', program), args, env, 'pipe');
    // Of tests that passed, what they printed themselves.
    const isTest = /^(?:\[|Running main|Note:|\d+ passed, |$)/u;
    const lines = done.stdout.split('\n').filter((line) => done.status !== 0 || !isTest.test(line));
    if (lines.length > 0) console.log(lines.join('\n'));
    count(name, done.status, started);
  }
}

// Tests wait for the disk and for processes most of the time, and the programs work: beside each other they take little
// more than one of them alone.
await Promise.all([playTests(), playPrograms()]);
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
