// Makes this checkout ready to run: node scripts/setup.mjs start | test | ci
//   start  compiler and libraries, npm packages, the release addon, dist/
//   test   the same, plus GoogleTest and the engine tests
//   ci     as start, plus GoogleTest, clang, clang-tidy, clang-format and libFuzzer
// Every part looks first and does nothing when it has nothing to do. Downloads come from apt and npm alone.
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

import { buildEngine } from './setup/engine.mjs';
import { preparePackages } from './setup/packages.mjs';
import { SetupError } from './setup/report.mjs';
import { prepareSystem } from './setup/system.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const profile = process.argv[2] ?? 'start';

async function main() {
  if (!['start', 'test', 'ci'].includes(profile)) {
    throw new SetupError(`Unknown profile '${profile}': use start, test or ci.`);
  }
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 9)) {
    throw new SetupError(`Node ${process.versions.node} is too old: install Node 20.9 or newer.`);
  }
  await prepareSystem(profile);
  await preparePackages(root);
  await buildEngine(root, profile === 'test' ? { tests: true } : { targets: ['millrace_addon'] });
  const { buildJavaScript } = await import('./build-js.mjs');
  await buildJavaScript(root);
}

main().catch((error) => {
  const text = error instanceof SetupError ? error.message : error.stack;
  process.stderr.write(`\nmillrace: set-up stopped. ${text}\n`);
  process.exitCode = 1;
});
