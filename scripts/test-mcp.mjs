// Proves the MCP client against other people's work: the protocol's own conformance runner with the
// scenarios that each revision requires, without a list of expected failures, and real servers.
//   node scripts/test-mcp.mjs [--only <scenario> | --servers] [--revision 2025-11-25,2026-07-28]
// Runner, servers and the Node that they need come from npm and are kept under build/cache. Ends with
// "N passed, N failed".
import './help.mjs';

import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { npm } from './setup/packages.mjs';
import { playServers } from './testing/mcp-servers.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(root, 'build/cache/mcp');
const option = (name) => {
  const at = process.argv.indexOf(`--${name}`);
  return at > 0 ? process.argv[at + 1] : undefined;
};

// A runner knows the scenarios of its own day: each revision is played by both that know it.
const runners = {
  '0.1.16': ['2025-11-25'],
  '0.2.0-alpha.12': ['2025-11-25', '2026-07-28'],
};
// Scenarios of the newest runner that no revision requires, since they are younger than its list.
const furtherScenarios = ['json-schema-2020-12-preservation'];
const nodeVersion = '24.21.0';
const nodePackage = `node-${process.platform}-${process.arch}`;

// Installs packages into a folder of the cache, once.
function installed(name, packages) {
  const folder = join(cache, name);
  const stamp = join(folder, '.installed');
  const wanted = packages.join('\n');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const [command, ...first] = npm();
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  const done = spawnSync(command, [...first, 'install', ...packages, ...quiet], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (done.status !== 0) throw new Error(`npm install ${packages.join(' ')} failed`);
  writeFileSync(stamp, wanted);
  return folder;
}

// The runner needs Node 22 or newer; the client runs on the Node of the tests.
function runnerNode() {
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath;
  const folder = installed('node', [`${nodePackage}@${nodeVersion}`]);
  return join(folder, 'node_modules', nodePackage, 'bin/node');
}

// The scenarios that a revision requires, as the newest runner has them written down.
function requiredScenarios(revision) {
  const folder = installed('0.2.0-alpha.12', ['@modelcontextprotocol/conformance@0.2.0-alpha.12']);
  const file = join(
    folder,
    'node_modules/@modelcontextprotocol/conformance/requirements',
    `${revision}.yaml`,
  );
  const text = readFileSync(file, 'utf8');
  const list = /^client:\n((?:(?: {2}- .*|\s*#.*|)\n)+)/m.exec(text)?.[1] ?? '';
  return [...list.matchAll(/^ {2}- (\S+)/gm)].map((match) => match[1]);
}

function play(node, version, revision, scenario) {
  const folder = installed(version, [`@modelcontextprotocol/conformance@${version}`]);
  const runner = join(folder, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
  const client = `${process.execPath} ${join(root, 'dist/cjs/cli/main.js')} mcp conformance-client`;
  const args = [runner, 'client', '--command', client, '--scenario', scenario];
  if (version !== '0.1.16') args.push('--spec-version', revision);
  return new Promise((resolve) => {
    const child = spawn(node, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.on('close', (code) => {
      // A scenario that the runner skips proves nothing.
      const played = !output.includes('SKIPPED: scenario');
      resolve({ version, revision, scenario, passed: code === 0 && played, output });
    });
  });
}

const serverPackages = [
  '@modelcontextprotocol/server-everything@2026.8.31',
  '@modelcontextprotocol/server-filesystem@2026.8.31',
  '@modelcontextprotocol/server@2.4.0',
  'zod@4.6.7',
];

async function servers() {
  const folder = installed('servers', serverPackages);
  copyFileSync(join(root, 'test/support/mcp-sdk-server.mjs'), join(folder, 'mcp-sdk-server.mjs'));
  const { createMCPClient } = createRequire(import.meta.url)('../dist/cjs/index.js');
  return playServers(createMCPClient, folder);
}

const node = runnerNode();
const revisions = option('revision')?.split(',') ?? ['2025-11-25', '2026-07-28'];
const only = option('only');
const plays = [];
const serversOnly = process.argv.includes('--servers');
for (const [version, known] of Object.entries(runners)) {
  for (const revision of known.filter((name) => revisions.includes(name))) {
    const further = version === '0.1.16' ? [] : furtherScenarios;
    for (const scenario of [...requiredScenarios(revision), ...further]) {
      if (!serversOnly && (only === undefined || scenario === only))
        plays.push({ version, revision, scenario });
    }
  }
}

let passed = 0;
let failed = 0;
const workers = Array.from({ length: 2 }, async () => {
  for (let next = plays.shift(); next; next = plays.shift()) {
    const result = await play(node, next.version, next.revision, next.scenario);
    if (result.passed) passed += 1;
    else failed += 1;
    const name = `${result.scenario} (${result.revision}, runner ${result.version})`;
    console.log(`${result.passed ? 'ok  ' : 'FAIL'} ${name}`);
    if (!result.passed) console.log(result.output.trim().split('\n').slice(-40).join('\n'));
  }
});
await Promise.all(workers);
if (only === undefined) {
  const counts = await servers();
  passed += counts.passed;
  failed += counts.failed;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
