// Holds every wire against the types of the vendors' own SDKs: what is carried, passed on, named or lost.
//   node scripts/test-wires.mjs [--only NAMES] [--write] [--seed N]
//   node scripts/test-wires.mjs --update      raises the pinned SDKs first and prints what is new
// The SDKs are those of test/wires/package.json, fetched here alone and run by Node 24. Ends with "N passed, N failed".
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { npm, preparePackages } from './setup/packages.mjs';
import { nodeOf } from './testing/nodes.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const wires = join(root, 'test/wires');
const pages = join(root, 'docs/wires');
const reports = join(root, 'build/reports/wires');
const nodeLine = '24';
const recordingsFolder = process.env.MILLRACE_RECORDINGS ?? join(root, '../shared/recordings');
const haveRecordings = existsSync(recordingsFolder);

// The order of the pages.
const order = [
  ...['openai-responses', 'anthropic', 'openai-chat', 'gemini', 'bedrock', 'cohere', 'mistral'],
  ...['ollama', 'interactions', 'langgraph', 'encoders', 'recordings'],
];

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
    seed: { type: 'string', default: `${Math.floor(Math.random() * 1e9)}` },
  },
});

function updatePins() {
  const before = JSON.parse(readFileSync(join(wires, 'package.json'), 'utf8')).dependencies;
  const [command, ...first] = npm();
  const names = Object.entries(before).map(([name, version]) =>
    version.startsWith('npm:') ? `${name}@${version}` : `${name}@latest`,
  );
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--save-exact'];
  const args = [...first, 'install', ...names, ...quiet, '--omit-lockfile-registry-resolved=true'];
  const done = spawnSync(command, args, { cwd: wires, stdio: 'inherit' });
  if (done.status !== 0)
    throw new Error('The SDKs could not be updated. Is the npm registry reachable?');
}

function play(node, name) {
  return new Promise((resolve) => {
    const file = join(reports, `${name}.json`);
    rmSync(file, { force: true });
    const args = [join(wires, 'frame/run-wire.mjs'), name, file, '--seed', values.seed];
    const child = spawn(node, args, { cwd: wires, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (output += data));
    child.on('close', (code) => {
      if (code === 0 && existsSync(file)) return resolve(JSON.parse(readFileSync(file, 'utf8')));
      return resolve({
        name,
        title: name,
        rows: [],
        problems: [`it ended with ${code}\n${output.slice(-4000)}`],
      });
    });
  });
}

function versionOf(sdk) {
  return JSON.parse(readFileSync(join(wires, 'package.json'), 'utf8')).dependencies[sdk];
}

async function judge(result) {
  const { compareLost, lostLines, writeLost } = await import('../test/wires/frame/lists.mjs');
  if (result.rows.length === 0) return result.problems;
  const lines = lostLines(result.rows);
  if (values.write) writeLost(result.name, lines);
  const { added, gone } = compareLost(result.name, lines);
  const wrong = result.test?.wrong ?? [];
  return [
    ...result.problems,
    ...added.map((pair) => `lost, and not in the list: ${pair.replace('\t', ' on ')}`),
    ...gone.map(
      (pair) =>
        `no longer lost: take it out of ${result.name}.lost.tsv: ${pair.replace('\t', ' on ')}`,
    ),
    ...wrong.map((text) => `self-test (seed ${values.seed}): ${text}`),
  ];
}

// The pages of the wires that were sent, and those of the others as they are.
async function checkPages(results) {
  const { overview, pageOf } = await import('../test/wires/frame/pages.mjs');
  // The recordings are not everybody's, so they have no page.
  const wired = results.filter(({ name }) => name !== 'recordings');
  const made = wired.map((result) => [`${result.name}.md`, pageOf(result)]);
  if (!values.only) made.push(['README.md', overview(wired)]);
  mkdirSync(pages, { recursive: true });
  const stale = made.filter(([name, text]) => {
    const file = join(pages, name);
    const same = existsSync(file) && readFileSync(file, 'utf8') === text;
    if (!same && values.write) writeFileSync(file, text);
    return !same && !values.write;
  });
  return stale.map(
    ([name]) => `docs/wires/${name} is not what was found: npm run test:wires -- --write`,
  );
}

// Members that the pages do not have.
async function printNew(results) {
  const { membersOfPage } = await import('../test/wires/frame/pages.mjs');
  for (const { name, rows } of results) {
    const file = join(pages, `${name}.md`);
    const known = membersOfPage(existsSync(file) ? readFileSync(file, 'utf8') : '');
    const found = new Set(rows.filter(({ way }) => !way.startsWith('order')).map(({ row }) => row));
    for (const row of found) if (!known.has(row)) console.log(`new: ${name}: ${row}`);
    for (const row of known) if (!found.has(row)) console.log(`gone: ${name}: ${row}`);
  }
}

async function main() {
  const started = performance.now();
  if (values.update) updatePins();
  await preparePackages(wires);
  mkdirSync(reports, { recursive: true });
  const node = nodeOf(root, nodeLine);
  const files = readdirSync(join(wires, 'vendors')).map((name) => name.replace(/\.mjs$/, ''));
  const there = new Set([...files, 'encoders', ...(haveRecordings ? ['recordings'] : [])]);
  if (!haveRecordings) console.log(`no recorded answers: ${recordingsFolder} is not there`);
  const wanted = values.only?.split(',') ?? order.filter((name) => there.has(name));
  const open = [...wanted];
  const results = [];
  const workers = Array.from({ length: 2 }, async () => {
    for (let next = open.shift(); next; next = open.shift()) {
      const result = await play(node, next);
      results.push({ ...result, version: versionOf(result.sdk) });
    }
  });
  await Promise.all(workers);
  results.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  let failed = 0;
  for (const result of results) {
    const problems = await judge(result);
    failed += problems.length > 0 ? 1 : 0;
    const count = (end) => result.rows.filter((row) => row.end === end).length;
    console.log(
      `${problems.length === 0 ? 'ok  ' : 'FAIL'} ${result.title}: ${result.rows.length} members and ways, ` +
        `${count('lost')} lost, ${result.test?.dropped?.length ?? 0} dropped and named, ${result.seconds} s (${result.cpu} s of processor)`,
    );
    for (const problem of problems.slice(0, 60)) console.log(`failed: ${result.name}: ${problem}`);
    if (problems.length > 60) console.log(`... and ${problems.length - 60} more`);
  }
  if (values.update) await printNew(results);
  const stale = await checkPages(results.filter(({ rows }) => rows.length > 0));
  for (const problem of stale) console.log(`failed: ${problem}`);
  failed += stale.length;
  console.log(`wires: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  console.log(
    `${results.length - failed < 0 ? 0 : results.length - failed} passed, ${failed} failed`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
}

await main();
