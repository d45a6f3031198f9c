// What is tried, as data: { name, title, suite, node, run }. `run(machine, machines)` gives a few words about what passed
// and throws an Error with what did not.
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

import { rows as armRows } from './arm64.mjs';
import { rows as clockRows } from './clock.mjs';
import { conditions, prelude } from './conditions.mjs';
import { rows as portableRows } from './portable.mjs';
import { cloneFolder, makeMachine, nodeLines } from './roots.mjs';

const systems = [
  { name: 'debian12', title: 'Debian 12', suite: 'bookworm', boost: 'libboost1.81-dev' },
  { name: 'debian13', title: 'Debian 13', suite: 'trixie', boost: 'libboost-dev' },
  { name: 'testing', title: 'Debian testing', suite: 'testing', boost: 'libboost-dev' },
];

// Each g++ and clang of a suite that reads the files; its `npm test` is built with its default one.
const compilers = {
  bookworm: ['g++-12', 'clang++-14', 'clang++-15', 'clang++-16', 'clang++-19'],
  trixie: ['g++-12', 'g++-13', 'g++-14', 'clang++-17', 'clang++-18', 'clang++-19'],
  testing: ['g++-15', 'g++-16', 'clang++-21', 'clang++-22'],
};

// What the engine, its tests and the addon are compiled with, beside Boost.
const libraries =
  'cmake ninja-build libcurl4-openssl-dev rapidjson-dev zlib1g-dev libssl-dev libgtest-dev';

const hour = 3600;

// What newcomer.mjs says at its end: what passed, or an error with what did not.
async function newcomer(machine, word, options) {
  const command = `node /opt/millrace/newcomer.mjs ${word}`;
  const { code, output } = await machine.enter(command, { limit: hour, ...options });
  const line = /^result: (.*)$/m.exec(output)?.[1];
  if (!line) {
    const how = code === undefined ? 'took too long' : `ended with code ${code}`;
    throw new Error(`'${command}' ${how}: ${output.trim().split('\n').at(-1)}`);
  }
  const { ok, detail } = JSON.parse(line);
  if (!ok) throw new Error(detail);
  return detail;
}

// One after the other, also when the first fails: all that is wrong is told at once.
async function all(steps) {
  const [details, errors] = [[], []];
  for (const step of steps) {
    await step().then(
      (detail) => details.push(detail),
      (error) => errors.push(error.message),
    );
  }
  if (errors.length > 0) throw new Error(errors.join('; '));
  return details.join(', ');
}

function bothCommands(node, uptime) {
  return async (machine) => {
    const start = () => newcomer(machine, 'start', { node, uptime });
    // Compiling takes longer than a clock stays young: the tests get a boot of their own.
    const prepare = () => machine.enter('node scripts/setup.mjs test', { node, limit: hour });
    const test = async () => {
      if (uptime !== undefined) await prepare();
      return newcomer(machine, 'test', { node, uptime });
    };
    return all([start, test]);
  };
}

const commandRows = systems.flatMap(({ name, title, suite }) =>
  nodeLines.map((node) => ({
    name: `${name}-node${node}`,
    title: `${title}, Node ${node}`,
    suite,
    node,
    run: bothCommands(node),
  })),
);

const booted = {
  name: 'debian13-booted',
  title: 'Debian 13, Node 24, booted 5 s ago',
  suite: 'trixie',
  node: 24,
  run: bothCommands(24, 5),
};

// Reads every file, with g++ one by one: what a file does not include itself shows, and each has a standard library of
// its own. clang uses those of g++, and reads the files as the release build joins them.
function compilerRow({ name, title, suite, boost }, compiler, { libcxx = false } = {}) {
  return {
    name: `${name}-${libcxx ? 'libc++' : compiler}`,
    title: `${title}, ${compiler}${libcxx ? ' with libc++: the engine and the addon' : ''}`,
    suite,
    compiler,
    run: async (machine) => {
      const library = libcxx ? compiler.replace('clang++', 'libc++') + '-dev' : '';
      const packages = [compiler.replace('clang++', 'clang'), library, boost, libraries].join(' ');
      await machine.must(
        `apt-get update && apt-get install -y --no-install-recommends ${packages} && ` +
          '([ -d node_modules ] || npm ci --ignore-scripts --no-audit --no-fund)',
      );
      const how = compiler.startsWith('clang') ? '--join' : '';
      // macOS has libc++ and the portable twins; Linux's own files compile with libc++ as well.
      const checks = libcxx ? ['--libcxx --portable lib/ native/', '--libcxx lib/os/linux/'] : [''];
      const details = [];
      for (const check of checks) {
        const command = `node scripts/compile-check.mjs --cxx ${compiler} ${how} ${check}`;
        const { code, output } = await machine.enter(command, { limit: hour });
        const files = [...output.matchAll(/^(\S+):$/gm)].map((match) => match[1]);
        if (code !== 0) throw new Error(`does not compile: ${files.join(', ') || output.trim()}`);
        details.push(output.trim().split('\n').at(-2));
      }
      return details.join(', ');
    },
  };
}

const compilerRows = [
  ...systems.flatMap((system) => compilers[system.suite].map((name) => compilerRow(system, name))),
  compilerRow(systems[1], 'clang++-19', { libcxx: true }),
];

const packageRows = systems.slice(1).map(({ name, title, suite }) => ({
  name: `package-on-${name}`,
  title: `${title}, the package made on Debian 12`,
  suite,
  // Machines that it needs, beside its own.
  others: ['bookworm'],
  node: 24,
  run: async (machine, machines) => {
    const maker = await machines.of('bookworm');
    await maker.must('node scripts/setup.mjs start && rm -f *.tgz && npm pack', { limit: hour });
    const clone = (one) => join(one.root, 'root/millrace');
    const file = readdirSync(clone(maker)).find((one) => one.endsWith('.tgz'));
    copyFileSync(join(clone(maker), file), join(machine.root, 'root', file));
    await machine.must('node scripts/setup.mjs start', { limit: hour });
    const command = `node scripts/test-package.mjs --tarball /root/${file} --node ${nodeLines}`;
    const output = await machine.must(command, { limit: hour });
    return `test:package: ${output.trim().split('\n').at(-1)}`;
  },
}));

// Rows whose `run` is text for bash: it passes by ending with 0, in a machine whose clone ($CLONE) was set up for the
// tests. A `fresh` one has a machine of its own, in which nothing was set up.
function inBash(row, prelude = '') {
  const { name, suite = 'trixie', packages = [], fresh = false } = row;
  const env = { CLONE: cloneFolder };
  const runIn = async (machine) => {
    if (!fresh) await machine.must('node scripts/setup.mjs test', { env, limit: hour });
    if (packages.length > 0) await machine.must(`apt-get install -y ${packages.join(' ')}`);
    machine.write('opt/millrace/row.sh', `${prelude}\n${row.run}\n`);
    return machine.must('bash /opt/millrace/row.sh', { env, limit: hour });
  };
  const run = async (shared) => {
    const machine = fresh ? await makeMachine(suite, { name: `${suite}-${name}` }) : shared;
    Object.assign(machine, { log: shared.log, progress: shared.progress });
    const output = await runIn(machine).finally(() => fresh && machine.remove());
    const sums = [...output.matchAll(/^(\d+) passed, 0 failed$/gm)].map((sum) => `${sum[1]} tests`);
    return sums.join(', ') || 'as it should be';
  };
  return { ...row, suite, node: 24, run };
}

const shellRows = [
  ...[...clockRows, ...portableRows, ...armRows].map((row) => inBash(row)),
  ...conditions.map(({ name, title, ...row }) =>
    inBash({ name: `situation-${name}`, title: `Debian 13, ${title}`, ...row }, prelude),
  ),
];

const everything = [booted, ...commandRows, ...shellRows, ...compilerRows, ...packageRows];

/** Every row, those of a suite beside each other: a suite's machine is made once. */
export function allRows() {
  return systems.flatMap(({ suite }) => everything.filter((row) => row.suite === suite));
}
