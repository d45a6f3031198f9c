// Does in a machine what the README tells a newcomer to do, in the clone that it is started in:
//   node newcomer.mjs start   npm start, its curl as soon as /health answers, SIGTERM
//   node newcomer.mjs test    npm test
// The last line is 'result: ' and { ok, detail } as JSON. Node built-ins alone: nothing is installed yet.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';

const printed = 'http://127.0.0.1:8788';
const stopMs = 10_000;

/** README's command that asks the server. */
export function curlOf(readme) {
  const block = /<!-- example: server -->\s*\n```bash\n([\s\S]*?)```/.exec(readme)?.[1];
  if (!block?.includes(printed)) throw new Error('README.md has no curl that asks the server');
  return block;
}

/** What `npm test` said: { ok, detail }. */
export function testOutcome(code, output) {
  const sums = [...output.matchAll(/^(\d+) passed, (\d+) failed$/gm)];
  const sum = sums.at(-1);
  if (!sum) return { ok: false, detail: `npm test ended with code ${code} before its tests` };
  const names = [...output.matchAll(/^failed: (.+)$/gm)].map((match) => match[1]);
  const ok = code === 0 && sum[2] === '0';
  const what = names.length > 0 ? `: ${names.join('; ')}` : `, ended with code ${code}`;
  const detail = ok ? `${sum[1]} tests pass` : `npm test: ${sum[0]}${what}`;
  return { ok, detail };
}

function start(command, args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const state = { child, output: '', code: undefined };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      state.output += chunk;
      process.stdout.write(chunk);
    });
  }
  state.ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve((state.code = code ?? signal)));
  });
  return state;
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().on('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

// The server's address, once /health answers there.
async function ready(server) {
  while (server.code === undefined) {
    const address = /http:\/\/127\.0\.0\.1:\d+/.exec(server.output)?.[0];
    const answer = address && (await fetch(`${address}/health`).catch(() => undefined));
    if (answer?.ok) return address;
    await sleep(100);
  }
  throw new Error(`npm start ended with code ${server.code}`);
}

async function startAndRequest() {
  // The network is this machine's: another server may have the port, and then a flag names a free one.
  const flags = (await isFree(Number(printed.split(':')[2]))) ? [] : ['--', '--port', '0'];
  const server = start('npm', ['start', ...flags]);
  const address = await ready(server);
  const curl = curlOf(readFileSync('README.md', 'utf8')).replaceAll(printed, address);
  const requested = start('bash', ['-euc', curl]);
  const code = await requested.ended;
  if (code !== 0 || !requested.output.includes('RUN_FINISHED'))
    throw new Error(`README's curl ended with code ${code} and: ${requested.output.slice(-300)}`);
  server.child.kill('SIGTERM');
  const late = sleep(stopMs, 'late', { ref: false });
  const end = await Promise.race([server.ended, late]);
  if (end !== 0) throw new Error(`npm start after SIGTERM: ${end}`);
  return { ok: true, detail: 'npm start answers and stops' };
}

async function test() {
  const run = start('npm', ['test']);
  const code = await run.ended;
  return testOutcome(code, run.output);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const work = { start: startAndRequest, test }[process.argv[2]];
  const result = await work().catch((error) => ({ ok: false, detail: error.message }));
  process.stdout.write(`\nresult: ${JSON.stringify(result)}\n`, () =>
    process.exit(result.ok ? 0 : 1),
  );
}
