// Writes types/errors.d.ts and docs/errors.md from lib/base/errors.def, the one table of error codes.
//   node scripts/generate-errors.mjs            writes the files
//   node scripts/generate-errors.mjs --check    fails when one differs
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
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
const types = `// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.

/** Every error code and the HTTP status that our own server gives it. Codes never change. */
export interface ErrorStatuses {
${members.join('')}}

export type ErrorCode = keyof ErrorStatuses;
`;

// As prettier lays a table out.
function markdownTable(lines) {
  const widths = lines[0].map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  const row = (line) => `| ${line.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [row(lines[0]), rule, ...lines.slice(1).map(row)].join('\n');
}

const page = `# Error codes

Every failure has one of these codes: \`MillraceError.code\`, the \`code\` of a \`RUN_ERROR\` event, or \`error.code\` in
an HTTP answer. Codes never change. What a provider says in a stream keeps the provider's own code.

<!-- Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit. -->

${markdownTable([
  ['code', 'HTTP', 'the same request', 'meaning'],
  ...rows.map(({ code, status, retry, sentence }) => [
    `\`${code}\``,
    status,
    retries[retry],
    sentence,
  ]),
])}
`;

const files = { 'types/errors.d.ts': types, 'docs/errors.md': page };
for (const [name, text] of Object.entries(files)) {
  const target = join(root, name);
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text);
  } else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
    console.error(`${name} is out of date: run node scripts/generate-errors.mjs and commit it.`);
    process.exitCode = 1;
  }
}
