// Tables as text for people.
export function text(value, digits) {
  if (value === undefined || value === null) return '-';
  return typeof value === 'number' ? value.toFixed(digits ?? 0) : String(value);
}

export function printHead(machine, versions, busy, write) {
  const peers = Object.entries(versions.peers).map(([name, version]) => `${name} ${version}`);
  const commit = versions.commit ? ` (${versions.commit})` : '';
  write(`millrace ${versions.millrace}${commit}, Node ${versions.node}, V8 ${versions.v8}`);
  write(
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, ${machine.system}, load ${machine.loadAtStart}`,
  );
  write(`beside: ${peers.join(', ')}`);
  if (busy)
    write('The machine was busy when this began: read the ratios, not the absolute figures.');
}

export function printTable(table, write) {
  write(`\n${table.title}\n`);
  if (table.rows.length > 0) printRows(table, write);
  for (const note of table.notes) write(`\n  ${note}`);
  if (table.goals.length > 0) write('');
  for (const goal of table.goals) {
    write(
      `  ${goal.met ? 'met   ' : 'missed'}  ${goal.text}: ${text(goal.value, digitsFor(goal))}`,
    );
  }
}

function printRows({ columns, rows }, write) {
  const cells = rows.map((row) => columns.map(({ key, digits }) => text(row[key], digits)));
  const heads = columns.map((column) => column.title);
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...cells.map((line) => line[at].length)),
  );
  const numeric = columns.map(({ key }) => rows.some((row) => typeof row[key] === 'number'));
  const line = (parts) =>
    parts
      .map((part, at) => (numeric[at] ? part.padStart(widths[at]) : part.padEnd(widths[at])))
      .join('  ')
      .trimEnd();
  write(`  ${line(heads)}`);
  write(`  ${widths.map((width) => '-'.repeat(width)).join('  ')}`);
  for (const parts of cells) write(`  ${line(parts)}`);
}

// Enough digits to compare the figure with its limit.
export function digitsFor({ limit, value }) {
  if (limit >= 100 || Number.isInteger(value)) return 0;
  if (limit >= 5) return 1;
  return limit > 0 ? 2 : 4;
}
