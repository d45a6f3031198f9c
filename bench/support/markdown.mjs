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

// Replaces the section in docs/performance.md.
export function writeFigures(report) {
  const before = readFileSync(document, 'utf8');
  const from = before.indexOf(opening) + opening.length;
  const to = before.indexOf('\n## ', from);
  writeFileSync(document, `${before.slice(0, from)}\n${markdown(report)}\n${before.slice(to)}`);
}

function headOf(machine, versions, quick, busy) {
  const commit = versions.commit ? ` at ${versions.commit}` : '';
  const peers = Object.entries(versions.peers).map(([name, version]) => `${name} ${version}`);
  const command = `npm run bench${quick ? ' -- --quick' : ''}`;
  const load = busy ? '**other work ran beside it: read the ratios**' : 'otherwise idle';
  return [
    wrapped(
      `millrace ${versions.millrace}${commit}, Node ${versions.node}; ${machine.cpu}, ${machine.cores} cores, ` +
        `${machine.memoryGb} GB, ${machine.system}; \`${command}\`, load ${machine.loadAtStart} when it began, ${load}.`,
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
