// The lists beside this folder: what is lost today, which may only shrink, and what is excepted for a reason.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = join(dirname(dirname(fileURLToPath(import.meta.url))), 'lists');

function linesOf(name) {
  const file = join(folder, name);
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split('\t'));
}

/** Patterns of rows that are excepted: `{ ways, row, reason, link }`; `*` stands for any text. */
export function exceptionsOf(wire) {
  return linesOf(`${wire}.excepted.tsv`).map(([rows = '', ways = '', reason = '', link = '']) => {
    if (!link.startsWith('https://')) throw new Error(`${wire}.excepted.tsv: ${rows} has no link.`);
    return { row: patternOf(rows), way: patternOf(ways), rows, reason, link, used: false };
  });
}

/** Patterns of rows that the SDK's own client does not show: `{ row, reason }`. */
export function unseenOf(wire) {
  return linesOf(`${wire}.sdk.tsv`).map(([rows = '', reason = '']) => {
    return { row: patternOf(rows), rows, reason, used: false };
  });
}

function patternOf(text) {
  const escaped = text.split('*').map((part) => part.replace(/[.[\]()?+^$|{}\\/]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`);
}

const head =
  '# Lost today: the member, the ways on which it is lost, and what becomes of it there. May only shrink.\n';

/** The lines of what is lost: one a member. */
export function lostLines(rows) {
  const members = new Map();
  for (const { way, row, end, place } of rows) {
    if (end !== 'lost') continue;
    const known = members.get(row) ?? { ways: [], places: [] };
    known.ways.push(way);
    if (place && !known.places.includes(place)) known.places.push(place);
    members.set(row, known);
  }
  return [...members]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([row, { ways, places }]) =>
      [row, ways.sort().join(', '), places.sort().join('; ')].join('\t'),
    );
}

/** Whether a wire has a list of what is lost. */
export function hasLost(wire) {
  return existsSync(join(folder, `${wire}.lost.tsv`));
}

/** Compares what is lost with the list: pairs of member and way that are new and that are gone. */
export function compareLost(wire, rows) {
  const listed = new Set(pairsOf(linesOf(`${wire}.lost.tsv`)));
  const lost = rows.filter(({ end }) => end === 'lost').map(({ row, way }) => `${row}\t${way}`);
  const found = new Set(lost);
  return {
    added: [...found].filter((pair) => !listed.has(pair)),
    gone: [...listed].filter((pair) => !found.has(pair)),
    isListed: (row, way) => listed.has(`${row}\t${way}`),
  };
}

function pairsOf(rows) {
  return rows.flatMap(([row, ways = '']) => ways.split(', ').map((way) => `${row}\t${way}`));
}

export function writeLost(wire, lines) {
  writeFileSync(
    join(folder, `${wire}.lost.tsv`),
    `${head}${lines.map((line) => `${line}\n`).join('')}`,
  );
}
