// Words that the table of terms in HACKING.md replaces, counted in names, CLI texts, error sentences and docs.
// terms.json holds what is left in each file. A count may fall, never rise; a file that moved has the count
// of its old path.
//   node scripts/lint/terms.mjs [--list [file]...] [--write]
import '../help.mjs';

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import ts from 'typescript';

import { sources } from '../sources.mjs';

// Parts of a name: told_calls, isAskedFor, ToldResult.
const nameWords = new Set(
  [
    ['told', 'tell', 'tells', 'telling', 'said', 'say', 'says', 'unsaid', 'asked', 'unasked'],
    ['thought', 'thoughts', 'unthinking', 'nobody', 'whoever', 'whom', 'kept', 'stands'],
    ['calm', 'hurry', 'hurries', 'hasten', 'seldom', 'door', 'stray', 'strays', 'patience'],
    ['joint', 'picture', 'pictures', 'sound', 'sounds', 'wishes', 'books', 'leg', 'legs'],
    ['refuse', 'refused', 'refuses', 'deaf', 'news'],
  ].flat(),
);

const textWords = new RegExp(
  [
    ...['told', 'tells?', 'telling', 'said', 'says?', 'unasked', 'nobody', 'whoever', 'thoughts?'],
    ...['picture', 'pictures', 'patience', 'refuse[sd]?', 'stands?', 'a person', 'is asked'],
    ...['are asked', 'goes? along', 'goes? back', 'in its words', 'without a word', 'in silence'],
  ]
    .map((word) => `\\b${word}\\b`)
    .join('|'),
  'gi',
);

// Names that come from elsewhere.
// Tell: of RapidJSON's streams.
const foreign = new Set(['Tell', 'thoughtSignature', 'thought_signature', 'thoughtsTokenCount']);

const spaced = (name) =>
  name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2');

/** The words of `text`, a name, that have another term. */
export function wordsOfName(name) {
  if (foreign.has(name)) return [];
  const words = spaced(name)
    .toLowerCase()
    .split(/[\s_$#]+/);
  return words.filter((word) => nameWords.has(word));
}

/** The words of a text that have another term. */
export const wordsOfText = (text) => [...text.matchAll(textWords)].map(([word]) => word);

// Comments, texts, included files and the titles of tests.
const noNames =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|R"([^(\s]*)\([\s\S]*?\)\1"|#include[^\n]*|"(?:\\.|[^"\\\n])*"|(?<=\bTEST(?:_[FP])?\(\s*\w+,\s*)\w+/g;

const namesOfCpp = (text) => text.replace(noNames, ' ').match(/[A-Za-z_]\w*/g) ?? [];

function walk(node, visit) {
  visit(node);
  node.forEachChild((child) => walk(child, visit));
}

function wordsOfScript(file, text) {
  const found = [];
  const isCli = file.startsWith('js/cli/');
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  walk(source, (node) => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      found.push(...wordsOfName(node.text));
    } else if (isCli && (ts.isStringLiteralLike(node) || ts.isTemplateLiteralToken(node))) {
      found.push(...wordsOfText(node.text));
    }
  });
  return found;
}

// Prose alone: what is quoted from code is counted where it is written.
const prose = (text) => text.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');

const kinds = [
  [
    /^(lib|native|bench|fuzz|test)\/.*\.[ch]pp$/,
    (file, text) => namesOfCpp(text).flatMap(wordsOfName),
  ],
  [/^(js|types|scripts|bench|test)\/.*\.(ts|mjs|cjs)$/, wordsOfScript],
  [/^lib\/base\/errors\.def$/, (file, text) => wordsOfText(text)],
  [/^(docs\/.*|README)\.md$/, (file, text) => wordsOfText(prose(text))],
];

// Recorded texts and pages that are generated from code.
const skipped = /^(test\/golden\/|docs\/(exports|errors)\.md$|scripts\/lint\/terms\.mjs$)/;

/** The words of one file that have another term. */
export function wordsOf(file, text) {
  if (skipped.test(file)) return [];
  const kind = kinds.find(([pattern]) => pattern.test(file));
  return kind ? kind[1](file, text) : [];
}

export function countsOf(root) {
  const counts = {};
  for (const file of sources(root, ['.cpp', '.hpp', '.def', '.ts', '.mjs', '.cjs', '.md']).sort()) {
    const { length } = wordsOf(file, readFileSync(join(root, file), 'utf8'));
    if (length > 0) counts[file] = length;
  }
  return counts;
}

/** Sentences about the files that have more such words than they may have. */
export function risen(counts, allowed) {
  const found = [];
  let moved = 0;
  for (const [file, most] of Object.entries(allowed)) if (!(file in counts)) moved += most;
  for (const [file, count] of Object.entries(counts)) {
    const most = allowed[file] ?? Math.min(count, moved);
    if (!(file in allowed)) moved -= most;
    if (count > most) found.push(`${file}: ${count} words that have another term, ${most} before`);
  }
  return found;
}

const listPath = (root) => join(root, 'scripts/lint/terms.json');

export function checkTerms(root) {
  const found = risen(countsOf(root), JSON.parse(readFileSync(listPath(root), 'utf8')));
  if (found.length === 0) return true;
  console.error(found.join('\n'));
  console.error(
    'terms: see the table in HACKING.md; node scripts/lint/terms.mjs --list FILE names the words.',
  );
  return false;
}

function main() {
  const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
  const args = process.argv.slice(2);
  if (args.includes('--write')) {
    writeFileSync(listPath(root), `${JSON.stringify(countsOf(root), null, 2)}\n`);
  } else if (args.includes('--list')) {
    const files = args.filter((name) => !name.startsWith('--'));
    for (const file of files.length > 0 ? files : Object.keys(countsOf(root))) {
      const words = wordsOf(file, readFileSync(join(root, file), 'utf8'));
      console.log(`${file}: ${words.join(' ')}`);
    }
  } else {
    process.exitCode = checkTerms(root) ? 0 : 1;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
