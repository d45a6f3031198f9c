// The steps of set-up, in order.
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { unsupported } from './distributions.mjs';
import { buildEngine } from './engine.mjs';
import { preparePackages } from './packages.mjs';
import { SetupError } from './report.mjs';
import { prepareSqlite } from './sqlite.mjs';
import { prepareSystem } from './system.mjs';

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export async function main(profile) {
  try {
    await setUp(profile);
  } catch (error) {
    const text = error instanceof SetupError ? error.message : error.stack;
    const closed = notWritable(root);
    process.stderr.write(`\nmillrace: set-up stopped. ${text}\n${closed ? `${closed}\n` : ''}`);
    process.exitCode = 1;
  }
}

async function setUp(profile) {
  if (!['start', 'test', 'ci'].includes(profile)) {
    throw new SetupError(`Unknown profile '${profile}': use start, test or ci.`);
  }
  const obstacle = unsupported();
  if (obstacle) throw new SetupError(obstacle);
  await prepareSystem(profile);
  await preparePackages(root);
  await prepareSqlite(root);
  await buildEngine(root, profile === 'test' ? { tests: true } : { targets: ['millrace_addon'] });
  const { buildJavaScript } = await import('../build-js.mjs');
  await buildJavaScript(root);
  const { buildConsole } = await import('../build-console.mjs');
  await buildConsole(root);
}

const written = ['build', 'build/release', 'build/release/.ninja_log', 'dist', 'node_modules'];

// Asked once something failed: an earlier run under sudo leaves files that this user cannot write. Where all is
// up to date, nothing is written and it does not matter.
export function notWritable(folder, isOpen = writable) {
  const places = [folder, ...written.map((name) => join(folder, name))];
  const closed = places.filter(existsSync).find((place) => !isOpen(place));
  return (
    closed &&
    `${closed} cannot be written by this user. If an earlier run under sudo made it, this gives it back; ` +
      `then try again without sudo:\n  sudo chown -R "$(id -u):$(id -g)" '${folder}'`
  );
}

function writable(place) {
  try {
    accessSync(place, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
