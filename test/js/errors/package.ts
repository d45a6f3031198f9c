// A package without an addon, or with one that cannot be loaded: each in a process of its own.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { keep } from './kit';
import type { Failure, Rows } from './row';

function loadedFrom(name: string, content?: string): Failure {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-errors-'));
  keep({ close: () => rmSync(folder, { recursive: true }) });
  const binary = join(folder, name);
  if (content !== undefined) writeFileSync(binary, content);
  const script = `
    try { require('millrace').version(); }
    catch ({ code, message, fix }) { console.log(JSON.stringify({ code, message, fix })); }`;
  const text = execFileSync(process.execPath, ['-e', script], {
    cwd: join(__dirname, '../../..'),
    env: { ...process.env, MILLRACE_BINARY: binary },
    encoding: 'utf8',
  });
  return JSON.parse(text) as Failure;
}

export const packageRows: Rows = {
  addon_not_found: { provoke: () => loadedFrom('missing.node'), says: 'missing.node' },
  addon_load_failed: {
    provoke: () => loadedFrom('broken.node', 'no library'),
    says: 'broken.node',
  },
};
