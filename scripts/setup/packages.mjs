// npm packages: `npm ci` when node_modules does not stem from the present lock file.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { toolEnvironment } from './environment.mjs';
import { run } from './report.mjs';

// The build needs the development packages, whatever NODE_ENV or npm's `omit` say of production, and works with
// every Node that set-up lets through, whatever a package of the tests asks for under `engine-strict`.
const options = [
  ...['--ignore-scripts', '--no-audit', '--no-fund', '--no-engine-strict'],
  ...['--include=dev', '--include=optional', '--include=peer'],
];

export async function preparePackages(root) {
  const stamp = join(root, 'node_modules/.millrace-lock');
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const [command, ...first] = npm();
  const { npm_config_cache: cache } = toolEnvironment(process.env, root).env;
  await run('installing npm packages', command, [...first, 'ci', ...options], {
    cwd: root,
    env: cache ? { ...process.env, npm_config_cache: cache } : process.env,
    hint: 'Is the npm registry reachable?',
  });
  writeFileSync(stamp, wanted);
}

// The npm that started us, else the one in PATH. Under this Node: the one that npm's first line finds may be older.
export function npm() {
  const script = process.env.npm_execpath ?? '';
  return basename(script) === 'npm-cli.js' ? [process.execPath, script] : ['npm'];
}
