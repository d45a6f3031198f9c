// Tries Millrace as a newcomer on other machines: both commands of the README on Debian 12, 13 and testing with every
// Node, every compiler of theirs, people's situations.
// Roots are made by debootstrap; this needs root rights. Rows are in machines/rows.mjs, what they did is kept in
// build/machines/results.json, what they printed in build/machines/<row>.log.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { endAll, makeMachine, whyNoRoot } from './machines/roots.mjs';
import { allRows } from './machines/rows.mjs';
import { openRows, resultsOfPage, selectRows, tableOf, withTable } from './machines/table.mjs';

const help = `npm run test:machines -- [options]

Tries a clean clone of HEAD on other systems, in roots made by debootstrap (this takes root rights). Rows that
passed with the present tree are not run again.

  --only <row>  only the rows whose names begin like this; may be repeated
  --again       run rows that passed, too
  --keep        leave the roots, and use those that an earlier --keep left: nothing is built twice. What
                comes of used roots is shown and not recorded, since they are no newcomer's machines
  --list        run nothing, print what is known
  --json        print results as JSON instead of the table
  --write       write the table into docs/compatibility.md
  --help        print this
`;

const rows = allRows();
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, 'build/machines');
const resultsFile = join(folder, 'results.json');
const page = join(root, 'docs/compatibility.md');

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
}

function readResults() {
  return existsSync(resultsFile) ? JSON.parse(readFileSync(resultsFile, 'utf8')) : {};
}

// Machines by suite: made when a row first asks, removed when no row is left that could.
class Machines {
  #made = new Map();

  constructor(keep) {
    this.keep = keep;
  }

  async of(suite) {
    if (!this.#made.has(suite))
      this.#made.set(suite, await makeMachine(suite, { keep: this.keep }));
    return this.#made.get(suite);
  }

  removeAllBut(suites) {
    if (this.keep) return;
    for (const [suite, machine] of this.#made) {
      if (suites.includes(suite)) continue;
      machine.remove();
      this.#made.delete(suite);
    }
  }
}

function say(text) {
  process.stderr.write(`${text}\n`);
}

// What a reader wants to see of a row while it runs; the rest is in its log.
function report(line) {
  if (/^millrace: |^\d+ passed, \d+ failed$/.test(line)) say(`   ${line}`);
}

// What `npm test` told of the tests that failed, as it stands in a row's log.
function reportFailures(log) {
  const text = existsSync(log) ? readFileSync(log, 'utf8') : '';
  for (const [block] of text.matchAll(/^failed: .*(\n {2}.*)*/gm)) say(block);
}

async function runRow(row, machines) {
  const started = Date.now();
  const result = { ok: false, detail: '', date: new Date().toISOString().slice(0, 10) };
  const log = join(folder, `${row.name}.log`);
  rmSync(log, { force: true });
  try {
    const machine = await machines.of(row.suite);
    Object.assign(machine, { log, progress: report });
    try {
      result.detail = await row.run(machine, machines);
      result.ok = true;
    } finally {
      result.versions = await machine.versions(row);
      result.isUsed = machine.isUsed;
    }
  } catch (error) {
    result.detail = error.message;
    reportFailures(log);
  }
  result.seconds = Math.round((Date.now() - started) / 1000);
  return result;
}

// Runs rows in their order and keeps what came of each: { passed, failed }.
async function runRows(open, tree, { keep }) {
  const [results, machines, count] = [readResults(), new Machines(keep), { passed: 0, failed: 0 }];
  for (const [index, row] of open.entries()) {
    say(`== ${row.name}: ${row.title} (${index + 1} of ${open.length})`);
    const { isUsed, ...result } = await runRow(row, machines);
    count[result.ok ? 'passed' : 'failed']++;
    say(`${result.ok ? 'ok  ' : 'FAIL'} ${row.name}: ${result.detail} (${result.seconds} s)`);
    if (!isUsed) {
      results[row.name] = { tree, ...result };
      writeFileSync(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
    }
    const rest = open.slice(index + 1);
    machines.removeAllBut(rest.flatMap(({ suite, others = [] }) => [suite, ...others]));
  }
  return count;
}

// Runs what is asked for and did not pass yet: { passed, failed }, undefined where no root can be made.
async function run(selected, options) {
  const why = whyNoRoot();
  if (why) return console.log(`skip machines: no root can be made here (${why})`);
  if (git('status', '--porcelain')) say('What is not committed is not tried.');
  const tree = git('rev-parse', 'HEAD^{tree}');
  const open = options.again ? selected : openRows(selected, readResults(), tree);
  const { passed, failed } = await runRows(open, tree, options);
  process.exitCode = failed > 0 ? 1 : 0;
  return { passed: passed + selected.length - open.length, failed };
}

// Rows that were tried elsewhere keep what the page says of them.
function writeTable(results) {
  const text = readFileSync(page, 'utf8');
  writeFileSync(page, withTable(text, tableOf(rows, { ...resultsOfPage(text), ...results })));
}

async function main() {
  const flag = { type: 'boolean', default: false };
  const options = { only: { type: 'string', multiple: true, default: [] } };
  for (const name of ['again', 'keep', 'list', 'json', 'write', 'help']) options[name] = flag;
  const { values } = parseArgs({ options });
  if (values.help) return process.stdout.write(help);
  mkdirSync(folder, { recursive: true });
  const selected = selectRows(rows, values.only);
  const count = values.list ? undefined : await run(selected, values);
  if (!values.list && !count) return;
  const results = readResults();
  console.log(values.json ? JSON.stringify(results, null, 2) : tableOf(selected, results));
  if (values.write) writeTable(results);
  if (count) console.log(`${count.passed} passed, ${count.failed} failed`);
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    endAll();
    process.exit(1);
  });
}
main().catch((error) => {
  console.error(`millrace: ${error.message}`);
  process.exitCode = 2;
});
