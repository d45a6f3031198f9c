// Proves that the harness sees a loss: members that hold a marker are taken out before the engine reads them, and
// exactly those must be lost.

/** Drops `count` random members that are lost on no way; gives what was dropped and what was wrong. */
export async function selfTest(ways, again, play, seed, count = 6) {
  const eligible = eligibleRows(ways);
  const drops = new Set(pick(eligible, count, seed));
  if (drops.size === 0) return { dropped: [], wrong: ['there is no member that could be dropped'] };
  const second = again(drops);
  await play(second, []);
  const before = new Map(ways.ends.list().map(({ way, row, end }) => [`${way}\t${row}`, end]));
  const lost = new Set();
  for (const { way, row, end } of second.ends.list()) {
    if (end !== 'lost' || before.get(`${way}\t${row}`) === 'lost') continue;
    lost.add(row);
  }
  const missed = [...drops].filter((row) => !lost.has(row)).map((row) => `not named: ${row}`);
  const further = [...lost]
    .filter((row) => !drops.has(row))
    .map((row) => `named though it was sent: ${row}`);
  const wrong = [...missed, ...further];
  if (wrong.length > 0) wrong.push(`dropped: ${[...drops].join(', ')}`);
  return { dropped: [...drops].sort(), wrong };
}

// Members that say what something is, link it to others, or decide whether it goes back. A wire adds its own as
// `structural`: the text without which a part is none, or that others are about.
const linking =
  /\.(type|role|\w*[nN]ame|schema|format|snapshot|\w*id|\w+Id|\w*signature|thoughtSignature|encrypted_\w+)$/;
// What may always be absent: items of lists, parameters, headers.
const loose = /\[\]$|^parameter\.[^.[:]+$|^header\./;

// Members on whose absence nothing else depends: those that the type lets be absent, and texts.
function eligibleRows(ways) {
  const { structural = [], carriers } = ways.wire;
  const texts = carriers
    .filter(([, places]) => places.source.includes('CONTENT'))
    .map(([rows]) => rows);
  const isFree = (row) =>
    ways.optional.has(row) || [loose, ...texts].some((pattern) => pattern.test(row));
  const worst = new Map();
  for (const { row, end, way } of ways.ends.list()) {
    if (way.startsWith('order') || way === 'into others') continue;
    worst.set(row, worst.get(row) || end === 'lost' || end === 'named');
  }
  return [...worst]
    .filter(([row, isLost]) => !isLost && isFree(row))
    .map(([row]) => row)
    .filter((row) => ![linking, ...structural].some((pattern) => pattern.test(row)))
    .sort();
}

function pick(rows, count, seed) {
  const left = [...rows];
  const picked = [];
  let state = seed >>> 0;
  while (picked.length < count && left.length > 0) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    picked.push(...left.splice((state >>> 8) % left.length, 1));
  }
  return picked;
}
