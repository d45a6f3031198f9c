// Node and npm of other lines, from npm's packages, kept under build/cache.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { npm } from '../setup/packages.mjs';

// The npm that each line of Node comes with.
const npmLines = { 20: 10, 22: 10, 24: 11, 26: 11 };

/** The Node binary of a line: the one that runs where it is of that line, else the newest. */
export function nodeOf(root, line) {
  return process.versions.node.split('.')[0] === String(line)
    ? process.execPath
    : nodeOfLine(root, line);
}

/** The newest Node binary of a line. */
export function nodeOfLine(root, line) {
  const name = `node-${process.platform}-${process.arch}`;
  return join(installed(root, `node-${line}`, name, line), 'bin/node');
}

/** The folder of the npm that comes with a line of Node. */
export function npmOfLine(root, line) {
  return installed(root, `npm-${npmLines[line]}`, 'npm', npmLines[line]);
}

function installed(root, cache, name, version) {
  const folder = join(root, 'build/cache', cache);
  const found = join(folder, 'node_modules', name);
  if (existsSync(join(found, 'package.json'))) return found;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const [command, ...first] = npm();
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'];
  const done = spawnSync(command, [...first, 'install', `${name}@${version}`, ...quiet], {
    cwd: folder,
    // What npm prints is no part of our own output.
    stdio: ['ignore', 2, 2],
  });
  if (done.status !== 0) {
    throw new Error(`${name} ${version} could not be installed. Is the npm registry reachable?`);
  }
  return found;
}
