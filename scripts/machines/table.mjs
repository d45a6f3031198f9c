// What rows to run, and what is told of them. Pure: rows are { name, title, ... }, results are
// { [name]: { tree, ok, detail, versions, seconds, date } }.

const begin = '<!-- machines: written by npm run test:machines -- --write -->';
const end = '<!-- machines: end -->';

/** The rows whose names begin with one of these words; all without any. A word without a row is an error. */
export function selectRows(rows, words) {
  for (const word of words) {
    if (!rows.some((row) => row.name.startsWith(word)))
      throw new Error(`there is no row '${word}'; --list prints them`);
  }
  return words.length === 0
    ? rows
    : rows.filter((row) => words.some((word) => row.name.startsWith(word)));
}

/** The rows that did not pass yet with the present tree. */
export function openRows(rows, results, tree) {
  return rows.filter(({ name }) => !(results[name]?.ok && results[name].tree === tree));
}

/** The results that a page with such a table has: what another machine tried is kept when the table is written again. */
export function resultsOfPage(page) {
  const results = {};
  for (const line of page.split('\n')) {
    const cells = line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
    const [, name, , versions, outcome, date] = cells;
    const [, status, detail] = /^(passes|\*\*fails\*\*): (.*)$/.exec(outcome ?? '') ?? [];
    if (status) results[name] = { ok: status === 'passes', detail, versions, date };
  }
  return results;
}

/** The table of docs/compatibility.md. A row that was never run claims nothing. */
export function tableOf(rows, results) {
  const lines = rows.map((row) => {
    const result = results[row.name];
    if (!result) return [row.name, row.title, '', 'not run', ''];
    const outcome = `${result.ok ? 'passes' : '**fails**'}: ${result.detail}`;
    return [row.name, row.title, result.versions ?? '', outcome, result.date];
  });
  const cells = [
    ['row', 'machine', 'versions', 'outcome', 'tried'],
    Array(5).fill('---'),
    ...lines,
  ];
  return cells.map((line) => `| ${line.map(cell).join(' | ')} |`).join('\n');
}

function cell(text) {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').slice(0, 240);
}

/** The page with this table between its two markers. */
export function withTable(page, table) {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page lacks the markers '${begin}' and '${end}'`);
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`;
}
