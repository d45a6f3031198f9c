// Writes types/errors.d.ts from lib/base/errors.def, the one table of error codes.
//   node scripts/generate-errors.mjs            writes the file
//   node scripts/generate-errors.mjs --check    fails when it differs
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const target = join(root, 'types/errors.d.ts');
const table = readFileSync(join(root, 'lib/base/errors.def'), 'utf8');
const rows = [
  ...table.matchAll(/^MILLRACE_ERROR\((\w+), (\d+), (\w+),\s+"((?:[^"\\]|\\.)*)"\)/gm),
].map(([, code, status, retry, sentence]) => ({ code, status, retry, sentence }));
if (rows.length === 0) throw new Error('no rows found in lib/base/errors.def');

const retries = { no: 'fails again', yes: 'may be sent again', later: 'may be sent again later' };
const members = rows.map(
  ({ code, status, retry, sentence }) =>
    `  /** ${sentence} HTTP ${status}; ${retries[retry]}. */\n  ${code}: ${status};\n`,
);
const text = `// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.

/** Every error code and the HTTP status that our own server gives it. Codes never change. */
export interface ErrorStatuses {
${members.join('')}}

export type ErrorCode = keyof ErrorStatuses;
`;

if (!process.argv.includes('--check')) {
  writeFileSync(target, text);
} else if (readFileSync(target, 'utf8') !== text) {
  console.error(
    'types/errors.d.ts is out of date: run node scripts/generate-errors.mjs and commit it.',
  );
  process.exitCode = 1;
}
