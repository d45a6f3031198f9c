// Writes docs/exports.md from the package's exports and what their comments say.
//   node scripts/generate-exports.mjs            writes the file
//   node scripts/generate-exports.mjs --check    fails when it differs, or an export has no comment
import './help.mjs';

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const page = 'docs/exports.md';

// Where a declaration stands, what that is called, and the page that tells most of it; the first row counts.
const areas = [
  ['js/agent/frost/', 'Engine', 'agent.md'],
  ['js/tool/', 'Tools', 'tools.md'],
  [/^js\/agent\/(invoke|preset|context|compression)/, 'Tools', 'tools.md'],
  ['js/agent/', 'Agents', 'agent.md'],
  ['types/agent', 'Agents', 'agent.md'],
  ['js/mcp/', 'MCP', 'mcp.md'],
  ['types/mcp', 'MCP', 'mcp.md'],
  ['js/model/', 'Models', 'model-runtime.md'],
  [
    /^types\/(model|objects|json-schema|usage|capabilities|providers|chat-stream)/,
    'Models',
    'model-runtime.md',
  ],
  ['', 'Streams, messages and threads', 'adapters.md'],
];

function areaOf(file) {
  return areas.find(([place]) =>
    typeof place === 'string' ? file.startsWith(place) : place.test(file),
  );
}

function program() {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  return ts.createProgram([join(root, 'js/index.ts')], options);
}

// `name(a, b)` of a function; names of what is taken apart tell nothing.
function shown(checker, symbol) {
  const { name, valueDeclaration } = symbol;
  if (!(symbol.flags & ts.SymbolFlags.Function) || !valueDeclaration) return name;
  const type = checker.getTypeOfSymbolAtLocation(symbol, valueDeclaration);
  const [signature] = type.getCallSignatures();
  const names = (signature?.parameters ?? []).map((one) => one.name);
  return `${name}(${names.map((one) => (one.startsWith('__') ? 'options' : one)).join(', ')})`;
}

function exportsOf() {
  const made = program();
  const checker = made.getTypeChecker();
  const index = checker.getSymbolAtLocation(made.getSourceFile(join(root, 'js/index.ts')));
  return checker.getExportsOfModule(index).map((given) => {
    const symbol = given.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(given) : given;
    const file = relative(root, symbol.declarations[0].getSourceFile().fileName);
    const received = ts.displayPartsToString(symbol.getDocumentationComment(checker));
    return {
      name: given.name,
      shown: shown(checker, symbol),
      area: areaOf(file),
      isValue: Boolean(symbol.flags & ts.SymbolFlags.Value),
      said: received
        .split(/\n\s*\n|\n- /)[0]
        .replace(/\s+/g, ' ')
        .replaceAll('|', '\\|')
        .trim()
        // A list that stood behind it.
        .replace(/:$/, '.'),
    };
  });
}

// As prettier lays a table out.
function markdownTable(lines) {
  const widths = lines[0].map((_, at) => Math.max(...lines.map((line) => [...line[at]].length)));
  const row = (line) =>
    `| ${line.map((cell, at) => cell + ' '.repeat(widths[at] - [...cell].length)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [row(lines[0]), rule, ...lines.slice(1).map(row)].join('\n');
}

function sectionOf(title, all) {
  const rows = all
    .filter(({ area }) => area[1] === title)
    .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
  const values = rows.filter(({ isValue }) => isValue);
  const types = rows.filter(({ isValue }) => !isValue);
  const reported = types.filter(({ said: received }) => received !== '');
  const plain = types
    .filter(({ said: received }) => received === '')
    .map(({ name }) => `\`${name}\``);
  const tableOf = (head, list) =>
    markdownTable([head, ...list.map((one) => [`\`${one.shown}\``, one.said])]);
  return [
    `## ${title}`,
    `More: [${rows[0].area[2]}](${rows[0].area[2]}).`,
    tableOf(['export', 'what'], values),
    ...(reported.length > 0 ? [tableOf(['type', 'what'], reported)] : []),
    ...(plain.length > 0 ? [`Types that their names tell: ${plain.join(', ')}.`] : []),
  ].join('\n\n');
}

const all = exportsOf();
const silent = all
  .filter(({ isValue, said: received }) => isValue && received === '')
  .map(({ name }) => name);
if (silent.length > 0) {
  console.error(`generate-exports: these exports have no comment: ${silent.join(', ')}`);
  process.exit(1);
}

const titles = ['Agents', 'Engine', 'Tools', 'MCP', 'Models', 'Streams, messages and threads'];
const text = `# Exports

Everything that \`millrace\` exports, for editors and people who know a name. Generated from the comments in the source by
\`node scripts/generate-exports.mjs\`.

The same names are in parts of the package, each with its types for ESM and CommonJS: \`millrace/channels\` (adapters, message
formats, \`fetchLLM\`, storages), \`millrace/model\`, \`millrace/usage\`, \`millrace/agent\`, \`millrace/tools\`, \`millrace/mcp\`,
\`millrace/lobe\` (for LobeHub) and \`millrace/frost\` (for FrostAgent). The root exports all of them.
\`millrace/testing\` is a part of its own: \`crashAfter\`, for [tests of crashes](durable-runs.md#tests-of-crashes).

${titles.map((title) => sectionOf(title, all)).join('\n\n')}
`;

const before = existsSync(join(root, page)) ? readFileSync(join(root, page), 'utf8') : '';
if (before !== text && process.argv.includes('--check')) {
  console.error(`generate-exports: ${page} is out of date: node scripts/generate-exports.mjs`);
  process.exit(1);
}
if (before !== text) writeFileSync(join(root, page), text);
