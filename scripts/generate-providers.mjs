// Writes docs/providers.md and types/providers.d.ts from lib/model/provider/providers.def and quirks.def, the tables of the
// vendors.
//   node scripts/generate-providers.mjs            writes the files
//   node scripts/generate-providers.mjs --check    fails when one differs
import './help.mjs';

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (name) => readFileSync(join(root, name), 'utf8');

// The arguments of each row: strings, words and lists in parentheses.
function rowsOf(name, macro) {
  const rows = [];
  const text = read(name).replace(/^\s*\/\/.*$/gm, '');
  const argument = /\s*(?:"((?:[^"\\]|\\.)*)"|\(([^()]*)\)|(\w+))\s*([,)])/y;
  for (const { index } of text.matchAll(new RegExp(`^${macro}\\(`, 'gm'))) {
    argument.lastIndex = index + macro.length + 1;
    const row = [];
    for (let match = argument.exec(text); match; match = argument.exec(text)) {
      row.push(match[1] ?? match[2] ?? match[3]);
      if (match[4] === ')') break;
    }
    rows.push(row);
  }
  if (rows.length === 0) throw new Error(`no rows found in ${name}`);
  return rows;
}

const list = (text) =>
  text
    .split(',')
    .map((word) => word.trim())
    .filter(Boolean);
const code = (words) => words.map((word) => `\`${word}\``).join(', ');

const columns =
  'id name baseURL path dialect auth keys models headers quirks documentation verified';
const providers = rowsOf('lib/model/provider/providers.def', 'MILLRACE_PROVIDER').map((row) =>
  Object.fromEntries(columns.split(' ').map((column, at) => [column, row[at]])),
);
const aliases = rowsOf('lib/model/provider/providers.def', 'MILLRACE_PROVIDER_ALIAS');
const quirks = rowsOf('lib/model/provider/quirks.def', 'MILLRACE_QUIRK');
const quirkSources = new Map(rowsOf('lib/model/provider/providers.def', 'MILLRACE_QUIRK_SOURCE'));
const unverified = new Map(
  rowsOf('lib/model/provider/providers.def', 'MILLRACE_PROVIDER_UNVERIFIED'),
);

// As prettier lays a table out.
function markdownTable(lines) {
  const widths = lines[0].map((_, at) => Math.max(...lines.map((line) => line[at].length)));
  const row = (line) => `| ${line.map((cell, at) => cell.padEnd(widths[at])).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [row(lines[0]), rule, ...lines.slice(1).map(row)].join('\n');
}

// Each column is a title and a cell of a provider; others may be added here.
const table = [
  ['id', ({ id }) => `\`${id}\``],
  ['vendor', ({ name, documentation }) => (documentation ? `[${name}](${documentation})` : name)],
  ['base URL', ({ baseURL }) => (baseURL ? `\`${baseURL}\`` : 'give `baseURL`')],
  ['dialect', ({ dialect }) => (dialect === 'none' ? 'no chat' : `\`${dialect}\``)],
  ['key', ({ auth }) => `\`${auth}\``],
  ['environment', ({ keys }) => code(list(keys))],
  ['verified', ({ verified }) => (verified === 'true' ? 'yes' : 'no')],
  ['quirks', (provider) => code(list(provider.quirks))],
];

// What each vendor can do through Millrace. Chats stand in the golden file of test/js/model/provider-wires.test.ts, which
// sends each provider's requests over HTTP and reads its answers; a cell is true only when that passed.
// Capabilities besides chats come from the golden file that a test holds to the engine's table; each of its entries
// has a test over HTTP in test/js/model/capabilities.test.ts, and its address in test/golden/model/capability-urls.txt.
const wires = JSON.parse(read('test/golden/model/provider-wires.json'));
const capabilities = JSON.parse(read('test/golden/model/capabilities.json'));
const does =
  (name) =>
  ({ id }) =>
    wires[id]?.[name] === true;
const can =
  (name) =>
  ({ id }) =>
    (capabilities[id] ?? []).includes(name);
const matrix = [
  ['chat', does('chat')],
  ['tools', does('tools')],
  ['vision', does('vision')],
  ['reasoning', does('reasoning')],
  ['generateObject', does('generateObject')],
  ['models', can('models')],
  ['embeddings', can('embeddings')],
  ['images', can('image')],
  ['speech', can('speech')],
];
const matrixLines = [
  ['id', ...matrix.map(([title]) => title)],
  ...providers.map((provider) => [
    `\`${provider.id}\``,
    ...matrix.map(([, has]) => (has(provider) ? 'yes' : 'no')),
  ]),
];

const verified = providers.filter((provider) => provider.verified === 'true').length;
const reasons = providers
  .filter((provider) => provider.verified !== 'true')
  .map(({ id }) => {
    const reason = unverified.get(id);
    if (reason === undefined) throw new Error(`${id} is not verified, and no row says why`);
    return `- \`${id}\`: ${reason}`;
  });
const quirkLines = quirks.map(([name, sentence]) => {
  const source = quirkSources.get(name);
  const users = providers.filter((provider) => list(provider.quirks).includes(name));
  const page = source === undefined ? 'no' : `[yes](${source})`;
  return [`\`${name}\``, sentence, code(users.map(({ id }) => id)), page];
});
const page = `# Providers

A model is named \`provider:model\`, for example \`openai:gpt-4o-mini\`. ${providers.length} providers are known; another
one that speaks a known dialect needs only its base URL and a few options. "Verified" says that base URL, dialect and
kind of key stand in the page or the client library of the vendor that the row links; the others are known from
elsewhere and may have changed. ${verified} rows are verified.

What becomes of each member of the vendors' own types, by wire: [the pages of the wires](wires/README.md).

Tools that OpenAI and Anthropic define and the host runs (shell, computer, editor, memory): [tools](tools.md#tools-that-vendors-define).

<!-- Written by scripts/generate-providers.mjs from lib/model/provider/providers.def and quirks.def. Do not edit. -->

${markdownTable([table.map(([title]) => title), ...providers.map((row) => table.map(([, cell]) => cell(row)))])}

Parts of an address in braces are settings: \`region\`, \`project\`, \`location\`, \`accountId\`, \`apiVersion\`; what follows
a colon is used when there is none. Other names are taken as well: ${aliases
  .map(([name, id]) => `\`${name}\` (\`${id}\`)`)
  .join(', ')}.

Not verified:

${reasons.join('\n')}

## Capabilities

What can be asked of each provider through Millrace. A cell is \`yes\` only where a test of this provider sends the
request over HTTP to a stand-in at the provider's own path, compares method, path, headers and body with what is written
down, and reads an answer in the provider's wire:

- \`chat\`: a text, streamed and in one piece, and a failure in the provider's own words.
- \`tools\`, \`vision\`: a prompt with a tool and an image, answered with a call. Where \`vision\` is \`no\` an image is
  refused (\`capability_not_supported\`); where \`tools\` is \`no\` they are left out, and \`report.notes\` says so.
- \`reasoning\`: the provider's switches for it, and thoughts as its chat endpoint spells them. Others take
  \`reasoning_effort\` as it is.
- \`generateObject\`: the request for an object, and the object.
- \`models\` to \`speech\`: the request and the answer of each.

None of it was asked of the vendors' own servers. Whether a model has the capability is another matter: \`models()\`
tells, where the provider does.

${markdownTable(matrixLines)}

## Quirks

What a server wants otherwise than its dialect says. Each can be switched for one runtime: \`quirks: { no_user: true }\`.
Each changes the request, or the reading of the answer, in a test. "Verified" links a page of a vendor or of a
client library that says so; the others are known from elsewhere.

${markdownTable([['quirk', 'meaning', 'providers', 'verified'], ...quirkLines])}
`;

// A name as a member of an interface.
const member = (name) => (/^\w+$/.test(name) && !/^\d/.test(name) ? name : `'${name}'`);
const about = ({ name, keys, baseURL }) =>
  [
    `${name}.`,
    ...(keys ? [`Key: ${list(keys).join(' or ')}.`] : []),
    ...(baseURL ? [] : ['Needs `baseURL`.']),
  ].join(' ');
const types = `// Written by scripts/generate-providers.mjs from lib/model/provider/providers.def. Do not edit.

/** Every provider of the table, and what its API speaks; docs/providers.md tells more. */
export interface ProviderDialects {
${providers.map((row) => `  /** ${about(row)} */\n  ${member(row.id)}: '${row.dialect}';\n`).join('')}}

/** What else providers are called. */
export interface ProviderAliases {
${aliases.map(([name, id]) => `  ${member(name)}: '${id}';\n`).join('')}}

export type ProviderId = keyof ProviderDialects;

/** A provider by its id or another name of it, in any case. */
export type ProviderName = ProviderId | keyof ProviderAliases | (string & {});
`;

const files = { 'docs/providers.md': page, 'types/providers.d.ts': types };
for (const [name, text] of Object.entries(files)) {
  const target = join(root, name);
  if (!process.argv.includes('--check')) {
    writeFileSync(target, text);
  } else if (!existsSync(target) || readFileSync(target, 'utf8') !== text) {
    console.error(`${name} is out of date: run node scripts/generate-providers.mjs and commit it.`);
    process.exitCode = 1;
  }
}
