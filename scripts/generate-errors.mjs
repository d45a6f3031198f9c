// Writes types/errors.d.ts, js/error-types.ts, js/error-statuses.ts and docs/errors.md from lib/base/errors.def,
// the one table of error codes, and lib/base/error_classes.def.
//   node scripts/generate-errors.mjs            writes the files
//   node scripts/generate-errors.mjs --check    fails when one differs
import './help.mjs';

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const table = readFileSync(join(root, 'lib/base/errors.def'), 'utf8');
const rows = [
  ...table.matchAll(
    /^MILLRACE_ERROR\((\w+), (\d+), (\w+), (\w+),\s+"((?:[^"\\]|\\.)*)",\s+"((?:[^"\\]|\\.)*)"\)/gm,
  ),
].map(([, code, status, retry, type, sentence, fix]) => ({
  code,
  status,
  retry,
  type,
  sentence,
  fix,
}));
const classes = [...table.matchAll(/^MILLRACE_ERROR_TYPE\((\w+), (\d+), (\d+), (\w+)\)/gm)].map(
  ([, type, id, status, retry]) => ({ type, id, status, retry }),
);
const further = readFileSync(join(root, 'lib/base/error_classes.def'), 'utf8');
const privateDetails = [...further.matchAll(/^MILLRACE_PRIVATE_DETAIL\((\w+)\)/gm)].map(
  ([, type]) => type,
);
const older = [...further.matchAll(/^MILLRACE_OLDER_CLASS\((\w+), (\w+)\)/gm)].map(
  ([, name, type]) => ({ ...classes.find((row) => row.type === type), type: name }),
);
if (rows.length === 0 || classes.length === 0) throw new Error('no rows in lib/base/errors.def');

const retries = { no: 'fails again', yes: 'may be sent again', later: 'may be sent again later' };
const members = rows.map(
  ({ code, status, retry, sentence, fix }) =>
    `  /** ${sentence} ${fix} HTTP ${status}; ${retries[retry]}. */\n  ${code}: ${status};\n`,
);
const types = `// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.

/** Every error code and the HTTP status that our own server gives it. Codes never change. */
export interface ErrorStatuses {
${members.join('')}}

export type ErrorCode = keyof ErrorStatuses;

/** LobeHub's classes of errors and the HTTP status that its chat route gives them. */
export interface ErrorTypeStatuses {
${classes.map(({ type, status }) => `  ${type}: ${status};\n`).join('')}}

export type ErrorType = keyof ErrorTypeStatuses;
`;

// As prettier lays out a member that is a text.
function member(name, text) {
  const literal = text.includes("'") ? `"${text}"` : `'${text}'`;
  const line = `  ${name}: ${literal},\n`;
  return line.length > 101 ? `  ${name}:\n    ${literal},\n` : line;
}

const lookup = `// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.
import type { ErrorCode, ErrorType } from '../types/errors';

/** The class of each code. */
export const errorTypes: Readonly<Record<ErrorCode, ErrorType>> = {
${rows.map(({ code, type }) => `  ${code}: '${type}',\n`).join('')}};

/** What to do about each code: \`MillraceError.fix\`. */
export const errorFixes: Readonly<Record<ErrorCode, string>> = {
${rows.map(({ code, fix }) => member(code, fix)).join('')}};

/** The number and the HTTP status of each class, also by its older name; 0 is no number. */
export const errorTypeRows: Readonly<
  Record<ErrorType | ${older.map(({ type }) => `'${type}'`).join(' | ')}, { id: number; status: number }>
> = {
${[...classes, ...older].map(({ type, id, status }) => `  ${type}: { id: ${id}, status: ${status} },\n`).join('')}};

/** Classes whose details hold addresses and paths of this machine, which clients must not see. */
export const privateDetails: ReadonlySet<ErrorType> = new Set<ErrorType>([
${privateDetails.map((type) => `  '${type}',\n`).join('')}]);
`;

const statuses = `// Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit.
import type { ErrorStatuses } from '../types/errors';

/** The HTTP status that our own server gives each code. */
export const errorStatuses: Readonly<ErrorStatuses> = {
${rows.map(({ code, status }) => `  ${code}: ${status},\n`).join('')}};
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
an HTTP answer. Codes never change.

\`message\` says what was wrong, with the value or the name of the thing. \`fix\` says what to do, in one sentence for all
errors of a code: \`MillraceError.fix\`, or \`error.fix\` in an HTTP answer of an agent or of \`millrace serve\`. The
command line and its logs print it below the message.

The provider's own code is in \`metadata.millrace.providerCode\` of a model's or an agent's \`RUN_ERROR\`; an adapter alone
(\`parse\`, \`toAGUIResponse\`) gives it as the code. \`MillraceError.errorType\` is the coarser class that LobeHub's clients
use; the second table lists the classes with their numbers and the status of LobeHub's chat route.

<!-- Written by scripts/generate-errors.mjs from lib/base/errors.def. Do not edit. -->

${markdownTable([
  ['code', 'HTTP', 'the same request', 'class', 'meaning', 'fix'],
  ...rows.map(({ code, status, retry, type, sentence, fix }) => [
    `\`${code}\``,
    status,
    retries[retry],
    `\`${type}\``,
    sentence,
    fix,
  ]),
])}

## Classes

${markdownTable([
  ['class', 'number', 'HTTP', 'may be sent again'],
  ...classes.map(({ type, id, status, retry }) => [
    `\`${type}\``,
    id === '0' ? '-' : id,
    status,
    retry,
  ]),
])}
`;

const files = {
  'types/errors.d.ts': types,
  'js/error-types.ts': lookup,
  'js/error-statuses.ts': statuses,
  'docs/errors.md': page,
};
for (const [name, text] of Object.entries(files)) {
  const target = join(root, name);
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text);
  } else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
    console.error(`${name} is out of date: run node scripts/generate-errors.mjs and commit it.`);
    process.exitCode = 1;
  }
}
