// The pages of docs/wires/: what becomes of each member of each wire.
const ends = ['carried', 'passed on', 'named', 'excepted', 'lost'];
const written = '<!-- Written by npm run test:wires -- --write. Do not edit. -->';

function isOrder(way) {
  return way.startsWith('order');
}

function countsOf(rows) {
  return Object.fromEntries(ends.map((end) => [end, rows.filter((row) => row.end === end).length]));
}

function table(head, lines) {
  const rule = head.map((_, at) => (at === 0 ? '---' : '---:'));
  return [head, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The page of all wires. */
export function overview(results) {
  const lines = results.map(({ name, title, sdk, version, rows }) => {
    const members = rows.filter(({ way }) => !isOrder(way));
    const counts = countsOf(members);
    const orders = rows.filter(({ way, end }) => isOrder(way) && end === 'lost').length;
    const figures = [members.length, ...ends.map((end) => counts[end]), orders];
    return [`[${title}](${name}.md)`, `\`${sdk}\` ${version}`, waysOf(members), ...figures];
  });
  return `# What becomes of each member

${written}

\`npm run test:wires\` reads the types of each vendor's own SDK, sends every member of them through the engine, and finds out
where it comes out. [How that is done](../internals/wires.md). A member that is sent on several ways counts on each.

- **carried**: it is in a member of an event, of the report or of a request that is documented for it
- **passed on**: the member itself is kept under its own name, raw
- **named**: a note or a warning names it
- **excepted**: it is of no use, for the reason that the page of the wire gives
- **lost**: nothing of it is left, or it stands where nobody looks for it

Ways: **answers** are read, and their parts go **back** with the next request; a **history** of the vendor's own messages goes to
the vendor and **into others**; **parameters** of requests and **headers** of answers. A wire without \`back\` is only read: the
engine sends no requests of it.

${table(['wire', 'SDK', 'ways', 'members and ways', ...ends, 'orders lost'], lines)}
`;
}

const wayNames = [
  ['answers', /^(stream|answer)$/],
  ['back', /^next of /],
  ['history', /^history$/],
  ['into others', /^into others$/],
  ['parameters', /^parameter$/],
  ['headers', /^header$/],
];

function waysOf(rows) {
  const names = wayNames.filter(([, pattern]) => rows.some(({ way }) => pattern.test(way)));
  return names.map(([name]) => name).join(', ');
}

/** The page of a wire. */
export function pageOf({ title, sdk, version, rows, order, cut, further, counts }) {
  const ways = [...new Set(rows.map(({ way }) => way))].sort();
  const perWay = ways.map((way) => {
    const own = rows.filter((row) => row.way === way);
    const byEnd = countsOf(own);
    return [way, own.length, ...ends.map((end) => byEnd[end])];
  });
  return `# ${title}

${written}

Types of \`${sdk}\` ${version}. ${counts.instances} instances, ${order.sent ?? 0} answers of two and three parts,
${cut} cuts of a stream.${unseenOf(order)}${furtherOf(further)}

${table(['way', 'members', ...ends], perWay)}

${[...groupsOf(rows).map(sectionOf), ...ordersOf(rows)].join('\n\n')}
`;
}

function unseenOf({ unseen = [] }) {
  return unseen.length === 0
    ? ''
    : ` ${unseen.length} times fewer than two of the parts came out, so that no order could be compared.`;
}

// The orders that are not kept, a line each.
function ordersOf(rows) {
  const lost = new Map();
  for (const { way, row, end, place } of rows) {
    if (!isOrder(way) || end !== 'lost') continue;
    lost.set(row, [...(lost.get(row) ?? []), `${way}: **lost** (\`${place}\`)`]);
  }
  const lines = [...lost].map(([row, ends]) => `| \`${row}\` | ${ends.join('<br>')} |`);
  const head = ['## Orders', '', '| parts | what becomes of them |', '| --- | --- |'];
  return lines.length === 0 ? [] : [[...head, ...lines].join('\n')];
}

function furtherOf(sent = 0) {
  return sent === 0
    ? ''
    : `\n${sent} members of parts that no types have went back at their places.`;
}

function groupsOf(rows) {
  const groups = new Map();
  for (const row of rows) {
    if (isOrder(row.way)) continue;
    const head = /^[^.[]*/.exec(row.row)[0];
    const group = groups.get(head) ?? new Map();
    groups.set(head, group);
    const member = group.get(row.row) ?? [];
    group.set(row.row, member);
    member.push(row);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

function sectionOf([head, members]) {
  const lines = [...members].map(([name, rows]) => {
    const short = name.slice(head.length).replace(/^\./, '') || name;
    return `| \`${short}\` | ${endsOf(rows)} |`;
  });
  return [`## ${head}`, '', '| member | what becomes of it |', '| --- | --- |', ...lines].join(
    '\n',
  );
}

// Ways that end alike are told together.
function endsOf(rows) {
  const alike = new Map();
  for (const { way, end, place } of rows) {
    const where = place ? ` (${end === 'excepted' ? place : `\`${place}\``})` : '';
    const text = `${end === 'lost' ? '**lost**' : end}${where.replace(/\|/g, '\\|')}`;
    alike.set(text, [...(alike.get(text) ?? []), way]);
  }
  return [...alike].map(([text, ways]) => `${ways.join(', ')}: ${text}`).join('<br>');
}

/** The members that a page has, as rows. */
export function membersOfPage(text) {
  const members = new Set();
  let head = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('## ')) head = line.slice(3);
    const [, short] = /^\| `([^`]+)` \|/.exec(line) ?? [];
    if (short !== undefined) members.add(rowOf(head, short));
  }
  return members;
}

function rowOf(head, short) {
  if (short === head || short.startsWith('[')) return short === head ? head : head + short;
  return `${head}.${short}`;
}
