// Holds every wire against the types of the vendors' own SDKs: what is carried, passed on, named or lost.
//   node scripts/test-wires.mjs --help
// The SDKs are those of test/wires/package.json, fetched here alone and run by Node 24. Ends with "N passed, N failed".
import './help.mjs';

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
  ...['ollama', 'interactions', 'langgraph', 'ag-ui', 'ag-ui-0.0', 'encoders', 'recordings'],
];

const help = `node scripts/test-wires.mjs [options]

Holds every wire against the types of the vendors' own SDKs. See docs/internals/wires.md.

  --only NAMES   only these wires, with commas between them: ${order.join(', ')}
  --write        takes out of the lists what is no longer lost, and writes docs/wires
  --add          puts into the lists what is lost
  --update       raises the pinned SDKs first, and prints the members that are new or gone
  --seed N       another seed for the self-test (1)
  --help         prints this text

MILLRACE_RECORDINGS names the folder of recorded answers. Ends with "N passed, N failed".`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
    add: { type: 'boolean', default: false },
    update: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
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

// What is wrong with a wire. The lists lose lines with `--write`, and get further ones with `--add` alone.
async function judge({ name, rows, problems, test }) {
  const { compareLost, hasLost, lostLines, writeLost } =
    await import('../test/wires/frame/lists.mjs');
  if (rows.length === 0) return problems;
  if (values.add || !hasLost(name)) writeLost(name, lostLines(rows));
  const { added, gone, isListed } = compareLost(name, rows);
  const stays = ({ row, way, end }) => end === 'lost' && isListed(row, way);
  if (values.write) writeLost(name, lostLines(rows.filter(stays)));
  const reported = (pair) => pair.replace('\t', ' on ');
  return [
    ...problems,
    ...added.map((pair) => `lost, and not in ${name}.lost.tsv: ${reported(pair)}`),
    ...(values.write
      ? []
      : gone.map((pair) => `no longer lost, take it out of ${name}.lost.tsv: ${reported(pair)}`)),
    ...test.wrong.map((text) => `self-test (seed ${values.seed}): ${text}`),
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

function wanted() {
  const files = readdirSync(join(wires, 'vendors')).map((name) => name.replace(/\.mjs$/, ''));
  const there = new Set([...files, 'encoders', ...(haveRecordings ? ['recordings'] : [])]);
  if (!haveRecordings) console.log(`no recorded answers: ${recordingsFolder} is not there`);
  return values.only?.split(',') ?? order.filter((name) => there.has(name));
}

async function playAll(names) {
  const node = nodeOf(root, nodeLine);
  const open = [...names];
  const results = [];
  const workers = Array.from({ length: 2 }, async () => {
    for (let next = open.shift(); next; next = open.shift()) {
      const result = await play(node, next);
      results.push({ ...result, version: versionOf(result.sdk) });
    }
  });
  await Promise.all(workers);
  return results.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
}

function print({ title, rows, test, seconds, cpu }, problems) {
  const lost = rows.filter(({ end }) => end === 'lost').length;
  const dropped = test?.dropped.length ?? 0;
  const figures = `${rows.length} members and ways, ${lost} lost, ${dropped} dropped and named`;
  console.log(
    `${problems.length === 0 ? 'ok  ' : 'FAIL'} ${title}: ${figures}, ${seconds} s (${cpu} s of processor)`,
  );
}

function printProblems(problems, most = 60) {
  for (const problem of problems.slice(0, most)) console.log(`failed: ${problem}`);
  if (problems.length > most) console.log(`... and ${problems.length - most} more`);
}

async function main() {
  const started = performance.now();
  if (values.update) updatePins();
  await preparePackages(wires);
  mkdirSync(reports, { recursive: true });
  const results = await playAll(wanted());
  let passed = 0;
  let failed = 0;
  for (const result of results) {
    const problems = await judge(result);
    if (problems.length > 0) failed += 1;
    else passed += 1;
    print(result, problems);
    printProblems(problems.map((problem) => `${result.name}: ${problem}`));
  }
  if (values.update) await printNew(results);
  const stale = await checkPages(results.filter(({ rows }) => rows.length > 0));
  printProblems(stale);
  failed += stale.length;
  console.log(`wires: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1;
}

if (values.help) console.log(help);
else await main();
