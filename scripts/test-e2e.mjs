// Proves the package in the place it is made for: a Next.js application with the packed tarball as its
// backend and a chat page that a browser works with; then the page of `millrace serve` itself, and that of an exported run.
//   node scripts/test-e2e.mjs [--keep]     --keep leaves the application where it was built
// Next.js and the driver come from npm and are kept under build/cache; the browser is the machine's
// Chromium (or CHROMIUM names one). Pictures of the pages are left in build/reports. Ends with
// "N passed, N failed".
import './help.mjs';

import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { npm } from './setup/packages.mjs';
import { browserPath, launchOptions } from './testing/browser.mjs';
import { playConsole } from './testing/console-pages.mjs';
import { startServers } from './testing/console-servers.mjs';
import { playPages } from './testing/pages.mjs';
import { playExports } from './testing/player-pages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const source = join(root, 'test/e2e/app');
const cache = join(root, 'build/cache/e2e');
const reports = join(root, 'build/reports');
const [npmCommand, ...npmFirst] = npm();
const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];

function must(command, args, options = {}) {
  const done = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  if (done.status !== 0) {
    throw new Error(
      `${command} ${args.join(' ')} ended with ${done.status ?? done.signal}\n${done.stdout}${done.stderr}`,
    );
  }
  return done.stdout;
}

// The packages of the application, installed once for each list of them.
function packages() {
  const wanted = readFileSync(join(source, 'package.json'), 'utf8');
  const stamp = join(cache, '.installed');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  rmSync(cache, { recursive: true, force: true });
  mkdirSync(cache, { recursive: true });
  writeFileSync(join(cache, 'package.json'), wanted);
  must(npmCommand, [...npmFirst, 'install', ...quiet], { cwd: cache });
  writeFileSync(stamp, wanted);
}

// A copy of the application with the packed tarball among its packages.
function application(temporary) {
  const packed = must(
    npmCommand,
    [...npmFirst, 'pack', '--json', '--pack-destination', temporary],
    { cwd: root },
  );
  const [{ filename }] = JSON.parse(packed.slice(packed.indexOf('[\n')));
  const app = join(temporary, 'app');
  cpSync(source, app, { recursive: true });
  must('cp', ['-al', join(cache, 'node_modules'), join(app, 'node_modules')]);
  const unpacked = join(app, 'node_modules/millrace');
  mkdirSync(unpacked);
  must('tar', ['-xzf', join(temporary, filename), '-C', unpacked, '--strip-components=1']);
  return app;
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

const children = [];
// Starts a program and waits for what it says when it is ready.
async function start(args, cwd, ready) {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let received = '';
  await new Promise((resolve, reject) => {
    const hear = (data) => {
      received += data;
      if (ready.test(received)) resolve();
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('exit', (code) =>
      reject(new Error(`${args.join(' ')} ended with ${code}\n${received}`)),
    );
  });
  return received;
}

async function main(temporary) {
  packages();
  const app = application(temporary);
  const next = join(app, 'node_modules/next/dist/bin/next');
  must(process.execPath, [next, 'build'], {
    cwd: app,
    env: { ...process.env, NEXT_TELEMETRY_DISABLED: '1' },
  });
  const port = await freePort();
  await start([next, 'start', '-H', '127.0.0.1', '-p', String(port)], app, /Ready/);
  const millrace = join(app, 'node_modules/millrace/dist/cjs/cli/main.js');
  const pages = `http://127.0.0.1:${port}`;
  const serve = async (...more) => {
    const received = await start([millrace, 'serve', '--port', '0', '--json', ...more], app, /\n/);
    return JSON.parse(received).url;
  };
  const { chromium } = await import(join(app, 'node_modules/playwright-core/index.mjs'));
  const counts = await playPages({
    chromium,
    pages,
    reports,
    open: await serve('--allow-origin', pages),
    closed: await serve(),
  });
  const own = await playOwnPage(chromium, app, millrace, temporary);
  return { passed: counts.passed + own.passed, failed: counts.failed + own.failed };
}

// The page that the package brings along.
async function playOwnPage(chromium, app, millrace, temporary) {
  const started = await chromium.launch(launchOptions());
  const servers = (name) => {
    const folder = join(temporary, `stores-${name}`);
    mkdirSync(folder);
    return startServers(millrace, folder);
  };
  const axe = readFileSync(join(app, 'node_modules/axe-core/axe.min.js'), 'utf8');
  try {
    const page = await playConsole({ browser: started, reports, axe, servers });
    const exported = await playExports({ browser: started, reports, app, folder: temporary });
    return { passed: page.passed + exported.passed, failed: page.failed + exported.failed };
  } finally {
    await started.close();
  }
}

browserPath();
mkdirSync(reports, { recursive: true });
const temporary = mkdtempSync(join(tmpdir(), 'millrace-e2e-'));
try {
  const { passed, failed } = await main(temporary);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
} finally {
  for (const child of children) child.kill('SIGKILL');
  if (process.argv.includes('--keep')) console.log(`kept ${temporary}`);
  else rmSync(temporary, { recursive: true, force: true });
}
