// Ends processes and environments with live streams, again and again: the scenes of
// test/js/fixtures/teardown.cjs in numbers that the fast tests do not have time for.
//   node scripts/test-stress.mjs            the full numbers (a bounded sample where CI is set)
//   node scripts/test-stress.mjs --sample   the bounded sample
//   node scripts/test-stress.mjs --node <path>   under another Node binary
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const fixture = join(root, 'test/js/fixtures/teardown.cjs');
const sample = process.argv.includes('--sample') || Boolean(process.env['CI']);
const asked = process.argv.indexOf('--node');
const node = asked > 0 ? process.argv[asked + 1] : process.execPath;

// What one more engine may leave behind in memory. The allocator's own noise is larger over few cycles.
const slopeLimitBytes = 4096;
const scenes = [
  { name: 'exit', code: 7, times: sample ? 8 : 100 },
  { name: 'idle', code: 0, times: sample ? 8 : 100 },
  { name: 'left', code: 0, times: sample ? 4 : 50 },
  { name: 'throws', code: 1, times: sample ? 8 : 100 },
  { name: 'workers', code: 0, times: 1, env: { WORKERS: sample ? '12' : '60' } },
  {
    name: 'cycles',
    code: 0,
    times: 1,
    env: { CYCLES: sample ? '40' : '1000' },
    check: checkCycles,
  },
];

function checkCycles(output) {
  const { slope, threads, descriptors } = JSON.parse(output);
  console.log(
    `  cycles: ${Math.round(slope)} bytes an engine, ${threads} threads, ${descriptors} descriptors`,
  );
  return sample || slope <= slopeLimitBytes
    ? undefined
    : `memory grows by ${Math.round(slope)} bytes an engine`;
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
    const child = spawn(node, ['--expose-gc', fixture, scene.name, url], {
      env: { ...process.env, ...scene.env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 600_000,
    });
    const said = { out: '', err: '' };
    child.stdout.on('data', (text) => (said.out += text));
    child.stderr.on('data', (text) => (said.err += text));
    child.on('close', (code, signal) => resolve({ code, signal, ...said }));
  });
}

async function run(scene, url) {
  const { code, signal, out, err } = await play(scene, url);
  if (code !== scene.code || signal)
    return `ended with ${signal ?? code}, not ${scene.code}\n${err}`;
  return scene.check?.(out);
}

const server = await startServer();
const url = `http://127.0.0.1:${server.address().port}/`;
let passed = 0;
let failed = 0;
for (const scene of scenes) {
  for (let time = 0; time < scene.times; time++) {
    const problem = await run(scene, url);
    if (problem === undefined) {
      passed += 1;
    } else {
      failed += 1;
      console.error(`FAIL ${scene.name}, time ${time + 1}: ${problem}`);
    }
  }
  console.log(`${scene.name}: ${scene.times} times`);
}
server.closeAllConnections();
server.close();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
