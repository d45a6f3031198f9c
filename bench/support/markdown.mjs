// The tables of a run as the section "Figures" of docs/performance.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { digitsFor, text } from './print.mjs';
import { root } from './paths.mjs';

const document = join(root, 'docs/performance.md');
const opening = '## Figures\n';
const wide = 118;

// `report` is what --json prints.
export function markdown({ machine, versions, tables, quick, busy }) {
  return [...headOf(machine, versions, quick, busy), ...tables.flatMap(tableOf)].join('\n\n');
}

// Replaces the section in docs/performance.md, or in it only the tables of the run where that has not all of them.
export function writeFigures(report) {
  const before = readFileSync(document, 'utf8');
  const from = before.indexOf(opening) + opening.length;
  const to = before.indexOf('\n## ', from);
  const section = report.isWhole
    ? `\n${markdown(report)}\n`
    : report.tables.reduce((text, table) => withTable(text, table, report), before.slice(from, to));
  writeFileSync(document, `${before.slice(0, from)}${section}${before.slice(to)}`);
}

// The section with this table in its place, below what it was measured with.
function withTable(section, table, { machine, versions, quick, busy, tables }) {
  const [title, ...rest] = tableOf(table);
  const head = headOf(machine, versions, quick, busy, tables);
  const text = [title, ...head, ...rest].join('\n\n');
  const from = section.indexOf(`${title}\n`);
  if (from < 0) return `${section.trimEnd()}\n\n${text}\n`;
  const next = section.indexOf('\n### ', from);
  return `${section.slice(0, from)}${text}\n${next < 0 ? '' : section.slice(next)}`;
}

function headOf(machine, versions, quick, busy, only) {
  const commit = versions.commit ? ` at ${versions.commit}` : '';
  const peers = Object.entries(versions.peers).map(([name, version]) => `${name} ${version}`);
  const options = [
    ...(only ? ['--only', only.map(({ name }) => name).join(',')] : []),
    ...(quick ? ['--quick'] : []),
  ];
  const command = ['npm run bench', ...(options.length > 0 ? ['--', ...options] : [])].join(' ');
  const load = busy ? '**other work ran beside it: read the ratios**' : 'otherwise idle';
  return [
    wrapped(
      `millrace ${versions.millrace}${commit}, Node ${versions.node}; ${machine.cpu}, ${machine.cores} cores, ` +
        `${machine.memoryGb} GB, ${machine.system}; \`${command}\` on ${machine.date}, load ${machine.loadAtStart} when it ` +
        `began, ${load}.`,
    ),
    wrapped(`Beside ${peers.join(', ')}.`),
  ];
}

function tableOf({ title, columns, rows, goals, failures }) {
  const line = (cells) => `| ${cells.join(' | ')} |`;
  const isNumber = ({ key }) => rows.some((row) => typeof row[key] === 'number');
  const grid = [
    line(columns.map((column) => column.title)),
    line(columns.map((column) => (isNumber(column) ? '---:' : '---'))),
    ...rows.map((row) => line(columns.map(({ key, digits }) => text(row[key], digits)))),
  ].join('\n');
  const sentences = (met) =>
    goals
      .filter((goal) => goal.met === met)
      .map((goal) => `${goal.text} (${text(goal.value, digitsFor(goal))})`)
      .join('; ');
  const parts = [`### ${title}`, grid];
  if (sentences(true)) parts.push(wrapped(`Met: ${sentences(true)}.`));
  if (sentences(false)) parts.push(wrapped(`Missed: ${sentences(false)}.`));
  if (failures.length > 0) parts.push(wrapped(`Failed: ${failures.join('; ')}.`));
  return parts;
}

function wrapped(sentence) {
  const lines = [''];
  for (const word of sentence.split(' ')) {
    const line = lines.at(-1);
    if (line && line.length + word.length >= wide) lines.push(word);
    else lines[lines.length - 1] = line ? `${line} ${word}` : word;
  }
  return lines.join('\n');
}
