// The source of SQLite, which the addon has inside: the amalgamation as sqlite.org publishes it, out of an npm
// package that carries it. Package and files are pinned by hash; see docs/decisions/sqlite.md.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { toolEnvironment } from './environment.mjs';
import { npm } from './packages.mjs';
import { SetupError, output, run } from './report.mjs';

export const sqlite = {
  version: '3.53.2',
  package: 'better-sqlite3',
  packageVersion: '12.11.1',
  integrity:
    'dq9AtApgg5PGFtBzPFSBl3HZQjHok5gaQCM6zh2Yk0aSmDCs1CbnVI8/HgASQkNKsWFpseIO9beg5xxpYhbIfA==',
  files: {
    'sqlite3.c': '60d2f39a3726cd6b9021da6f4e868608d66fbb6528a9f513dc8ffcc640493422',
    'sqlite3.h': '9e69a1353a4288450b0d5239ede11fc7f1f4c8e5eb07491fc8317eacb5b7de7e',
  },
};

/** Where CMake looks for it. */
export const sqliteFolder = (root) => join(root, 'build/sqlite', sqlite.version);

export async function prepareSqlite(root) {
  const folder = sqliteFolder(root);
  // Files come to this folder only once their hashes were right.
  if (Object.keys(sqlite.files).every((name) => existsSync(join(folder, name)))) return;
  mkdirSync(join(root, 'build'), { recursive: true });
  const work = mkdtempSync(join(root, 'build/sqlite-'));
  try {
    const unpacked = join(await fetchPackage(root, work), 'package/deps/sqlite3');
    for (const [name, wanted] of Object.entries(sqlite.files)) {
      const found = hashOf('sha256', 'hex', join(unpacked, name));
      if (found !== wanted) throw wrong(`${name} has the SHA-256 ${found}`);
    }
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(dirname(folder), { recursive: true });
    renameSync(unpacked, folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

// Fetches and unpacks it below `work`; no script of it runs.
async function fetchPackage(root, work) {
  const [command, ...first] = npm();
  const name = `${sqlite.package}@${sqlite.packageVersion}`;
  const { npm_config_cache: cache } = toolEnvironment(process.env, root).env;
  const args = ['pack', name, '--ignore-scripts', '--prefer-offline', '--pack-destination', work];
  await run(`fetching the source of SQLite ${sqlite.version}`, command, [...first, ...args], {
    cwd: work,
    env: cache ? { ...process.env, npm_config_cache: cache } : process.env,
    hint: 'Is the npm registry reachable?',
  });
  const tarball = join(work, `${sqlite.package}-${sqlite.packageVersion}.tgz`);
  const found = hashOf('sha512', 'base64', tarball);
  if (found !== sqlite.integrity) throw wrong(`${name} has the SHA-512 ${found}`);
  if (output('tar', ['-xzf', tarball, '-C', work]) === undefined) {
    throw new SetupError(`${tarball} cannot be unpacked: tar is missing, or the disk is full.`);
  }
  return work;
}

function hashOf(algorithm, form, file) {
  return createHash(algorithm).update(readFileSync(file)).digest(form);
}

function wrong(what) {
  return new SetupError(
    `${what}, which is not the one in scripts/setup/sqlite.mjs. Remove npm's cache (npm cache clean --force) ` +
      'and try again; if it stays so, the registry serves something else.',
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await prepareSqlite(dirname(dirname(dirname(fileURLToPath(import.meta.url)))));
}
