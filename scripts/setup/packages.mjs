// npm packages: `npm ci` when node_modules does not stem from the present lock file.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

import { run } from './report.mjs';

export async function preparePackages(root) {
  const stamp = join(root, 'node_modules/.millrace-lock');
  const wanted = createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return;
  const [command, ...first] = npm();
  await run(
    'installing npm packages',
    command,
    [...first, 'ci', '--ignore-scripts', '--no-audit', '--no-fund'],
    {
      cwd: root,
      hint: 'Is the npm registry reachable?',
    },
  );
  writeFileSync(stamp, wanted);
}

// The npm that started us, else the one in PATH.
export function npm() {
  const script = process.env.npm_execpath ?? '';
  return basename(script) === 'npm-cli.js' ? [process.execPath, script] : ['npm'];
}
