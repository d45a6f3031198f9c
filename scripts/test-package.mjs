// Proves the packed package: npm pack, install into an empty folder with scripts disabled, then run
// test/package/*.mjs there under each Node line, as ESM and CommonJS see it.
//   node scripts/test-package.mjs [--node 20,22,24,26] [--tarball <file>]
// With a tarball that one is tried, and nothing is packed.
import './help.mjs';

import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { npm } from './setup/packages.mjs';
import { nodeOf } from './testing/nodes.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { values: options } = parseArgs({
  options: { node: { type: 'string', default: '20,22,24,26' }, tarball: { type: 'string' } },
});
const lines = options.node.split(',');
const [npmCommand, ...npmFirst] = npm();
const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];

function must(command, args, options = {}) {
  const done = spawnSync(command, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    ...options,
  });
  if (done.status !== 0) {
    throw new Error(
      `${command} ${args.join(' ')} ended with ${done.status ?? done.signal}\n${done.stdout}`,
    );
  }
  return done.stdout;
}

function pack(folder) {
  const text = must(npmCommand, [...npmFirst, 'pack', '--json', '--pack-destination', folder], {
    cwd: root,
  });
  const [packed] = JSON.parse(text.slice(text.indexOf('[\n')));
  console.log(
    `packed ${packed.filename}: ${packed.files.length} files, ${(packed.unpackedSize / 1e6).toFixed(1)} MB`,
  );
  return join(folder, packed.filename);
}

function install(tarball, folder) {
  mkdirSync(folder);
  must(npmCommand, [...npmFirst, 'install', tarball, ...quiet], { cwd: folder });
  const manifest = JSON.parse(
    readFileSync(join(folder, 'node_modules/millrace/package.json'), 'utf8'),
  );
  const installed = readdirSync(join(folder, 'node_modules')).filter(
    (name) => !name.startsWith('.'),
  );
  if (installed.join() !== 'millrace')
    throw new Error(`other packages were installed: ${installed.join(', ')}`);
  for (const script of ['preinstall', 'install', 'postinstall', 'prepare']) {
    if (manifest.scripts?.[script]) throw new Error(`package.json must have no ${script} script`);
  }
  cpSync(join(root, 'test/package'), join(folder, 'test'), { recursive: true });
}

// The declarations themselves are checked, too (no skipLibCheck).
function checkTypes(folder) {
  const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')];
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--noEmit'];
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  const check = (wanted, ...resolution) => {
    const files = readdirSync(join(folder, 'test')).filter((name) => wanted.test(name));
    const paths = files.map((name) => join(folder, 'test', name));
    must(process.execPath, [compiler, ...strict, ...resolution, ...types, ...paths]);
  };
  check(/\.[cm]?ts$/, '--module', 'node16');
  check(/\.ts$/, '--module', 'commonjs', '--moduleResolution', 'node10');
}

let passed = 0;
let failed = 0;
function check(title, work) {
  try {
    work();
    passed++;
    console.log(`ok   ${title}`);
  } catch (error) {
    failed++;
    console.error(`FAIL ${title}\n${error.message}`);
  }
}

const temporary = mkdtempSync(join(tmpdir(), 'millrace-package-'));
try {
  const tarball = options.tarball ?? pack(temporary);
  const folder = join(temporary, 'app');
  install(tarball, folder);
  check('publint finds nothing', () =>
    must(process.execPath, [
      join(root, 'node_modules/publint/src/cli.js'),
      'run',
      tarball,
      '--strict',
    ]),
  );
  check('types are complete and strict for import, require and the older resolution', () =>
    checkTypes(folder),
  );
  const tests = readdirSync(join(folder, 'test')).filter((name) => /\.test\.[cm]js$/.test(name));
  for (const line of lines) {
    const node = nodeOf(root, line);
    const version = must(node, ['--version']).trim();
    for (const test of tests) {
      check(`Node ${version}: ${test}`, () =>
        must(node, [join(folder, 'test', test)], { cwd: folder, timeout: 120_000 }),
      );
    }
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
