// npm run bench: builds the measuring programs, installs what Millrace is compared with, runs the tables and prints
// them.
// A missed goal is printed; only a failure (a crash, a wrong answer, a lost stream) makes the exit code 1.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { buildEngine } from '../scripts/setup/engine.mjs';
import { preparePackages } from '../scripts/setup/packages.mjs';
import { say } from '../scripts/setup/report.mjs';
import { nodeOf } from '../scripts/testing/nodes.mjs';
import { describeMachine, describeVersions, isBusy } from './support/machine.mjs';
import { writeFigures } from './support/markdown.mjs';
import { bench, root } from './support/paths.mjs';
import { printHead, printTable } from './support/print.mjs';

const tableNames = [
  'engine',
  'parse',
  'replay',
  'answers',
  'chats',
  'streams',
  'startup',
  'formats',
  'mcp',
  'agent',
  'durable',
  'api',
];

// Figures of one Node say nothing of another, and the packages under comparison need a new one.
const nodeLine = '24';

const help = `Usage: npm run bench [-- OPTIONS]

  --quick          a bounded sample of every table, about a minute after the build
  --only NAMES     only these tables, comma separated: ${tableNames.join(', ')}
  --write          puts the tables into docs/performance.md, too; with --only just those
  --json           one JSON document on standard output and nothing else there (npm run --silent bench)
  --help           this text

Everything runs under Node ${nodeLine}, whichever Node starts it.
Progress goes to standard error. A missed goal is no error.`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', default: tableNames.join(',') },
      json: { type: 'boolean', default: false },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const only = values.only.split(',').map((name) => name.trim());
  const unknown = only.filter((name) => !tableNames.includes(name));
  if (unknown.length > 0) {
    throw new Error(`No table '${unknown[0]}': use ${tableNames.join(', ')}.`);
  }
  return { ...values, only };
}

// Gives false where this is the Node to measure with.
function runsElsewhere() {
  const node = nodeOf(root, nodeLine);
  if (node === process.execPath) return false;
  const args = [fileURLToPath(import.meta.url), ...process.argv.slice(2)];
  process.exitCode = spawnSync(node, args, { stdio: 'inherit' }).status ?? 1;
  return true;
}

async function prepare() {
  await preparePackages(bench);
  await buildEngine(root, {
    bench: true,
    targets: [
      'engine_bench',
      'agent_bench',
      'turn_bench',
      'store_bench',
      'mock_provider',
      'stream_load',
      'bare_reader',
      'bare_relay',
    ],
  });
}

async function runTable(name, options) {
  const table = await import(`./tables/${name}.mjs`);
  const started = performance.now();
  say(`measuring: ${table.title}`);
  const seconds = (full, quick) => (options.quick ? quick : full);
  const result = { rows: [], goals: [], failures: [] };
  try {
    Object.assign(result, await table.run({ quick: options.quick, seconds }));
  } catch (error) {
    result.failures = [error.stack];
  }
  const took = Number(((performance.now() - started) / 1000).toFixed(1));
  say(`measuring: ${table.title}: done in ${took} s`);
  const { columns, notes = [], title } = table;
  return { name, title, columns, notes, seconds: took, ...result };
}

async function main() {
  const options = readOptions();
  if (options.help) return process.stdout.write(`${help}\n`);
  if (runsElsewhere()) return undefined;
  await prepare();
  const machine = describeMachine();
  const versions = describeVersions();
  const write = options.json ? () => {} : (line) => process.stdout.write(`${line}\n`);
  printHead(machine, versions, isBusy(machine), write);
  if (options.quick) write('A bounded sample: few rounds and small counts, rough figures.');
  const tables = [];
  for (const name of tableNames.filter((one) => options.only.includes(one))) {
    const table = await runTable(name, options);
    tables.push(table);
    printTable(table, write);
  }
  const failures = tables.flatMap((table) =>
    table.failures.map((text) => `${table.name}: ${text}`),
  );
  for (const text of failures) process.stderr.write(`millrace: failed: ${text}\n`);
  const goals = tables.flatMap((table) => table.goals);
  const met = goals.filter((goal) => goal.met).length;
  const seconds = tables.reduce((sum, table) => sum + table.seconds, 0);
  write(
    `\n${met} of ${goals.length} goals met, ${failures.length} failures, ${seconds.toFixed(0)} s`,
  );
  const busy = isBusy(machine);
  const isWhole = options.only.length === tableNames.length;
  const report = {
    schema: 1,
    isWhole,
    quick: options.quick,
    busy,
    machine,
    versions,
    tables,
    failures,
  };
  if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
  if (options.write) writeFigures(report);
  process.exitCode = failures.length > 0 ? 1 : 0;
}

main().catch((error) => {
  process.stderr.write(`millrace: bench stopped. ${error.message}\n`);
  process.exitCode = 1;
});
