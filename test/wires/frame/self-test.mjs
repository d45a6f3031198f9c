// Proves that the harness sees a loss: what holds a marker is taken out before the engine reads it, parts change places,
// bytes of frames go; exactly that must be named.
import { damagedCuts } from './cuts.mjs';
import { Random } from './random.mjs';
import { swappedOrders } from './swaps.mjs';

// How many members of each class are taken out, and how many orders and streams are damaged.
const most = { members: 4, links: 2, 'into others': 2, orders: 3, cuts: 3 };

/**
 * Damages what `ways` sent before; `again(drops)` gives new ways for a second run. Gives what was dropped and what was
 * wrong.
 */
export async function selfTest(ways, again, play, seed, count = most) {
  const random = new Random(seed);
  const drops = dropsOf(ways, random, count);
  if (drops.size === 0) return { dropped: [], wrong: ['there is no member that could be dropped'] };
  const second = again(drops);
  await play(second);
  const swaps = await swappedOrders(ways, again(new Map()), random, count.orders);
  const cuts = await damagedCuts(ways, random, count.cuts);
  const wrong = [...wrongOf(ways, second, drops), ...swaps.wrong, ...cuts.wrong];
  if (wrong.length > 0) wrong.push(`dropped: ${[...drops.keys()].join(', ')}`);
  return { dropped: [...drops.keys(), ...swaps.damaged, ...cuts.damaged].sort(), wrong };
}

// Members that say what something is, link it to others, or decide whether it is sent again. A wire adds its own as
// `structural`: the text without which a part is none, or that others are about. Such a one gets another value instead.
const linking =
  /\.(type|role|\w*[nN]ame|schema|format|snapshot|\w*id|\w+Id|\w*signature|thoughtSignature|encrypted_\w+)$/;
// What may always be absent: items of lists, parameters, headers.
const loose = /\[\]$|^parameter\.[^.[:]+$|^header\./;

// A map from rows to what becomes of them: `gone`, or `other` for another value.
function dropsOf(ways, random, count) {
  const found = foundOf(ways);
  const rows = [...new Set(found.map(({ row }) => row))].sort();
  const how = new Map(rows.map((row) => [row, isFree(ways, row) ? 'gone' : 'other']));
  const usable = rows.filter((row) => how.get(row) === 'gone' || ways.marked.has(row));
  const into = new Set(found.filter(({ way }) => way === 'into others').map(({ row }) => row));
  const classes = {
    members: usable,
    links: usable.filter((row) => linking.test(row)),
    'into others': usable.filter((row) => into.has(row)),
  };
  const picked = Object.entries(classes).flatMap(([name, all]) => random.some(all, count[name]));
  return new Map(picked.map((row) => [row, how.get(row)]));
}

// Members on whose absence nothing else depends: those that the type lets be absent, and texts.
function isFree(ways, row) {
  const { structural = [], carriers } = ways.wire;
  if ([linking, ...structural].some((pattern) => pattern.test(row))) return false;
  const texts = carriers
    .filter(([, places]) => places.source.includes('CONTENT'))
    .map(([rows]) => rows);
  return ways.optional.has(row) || [loose, ...texts].some((pattern) => pattern.test(row));
}

// The members that came out, and on which ways.
function foundOf({ ends }) {
  return ends
    .list()
    .filter(({ way, end }) => !way.startsWith('order') && ['carried', 'passed on'].includes(end));
}

// What the second run does not name though it was dropped, and what it names though it was sent.
function wrongOf(ways, second, drops) {
  const after = new Map(second.ends.list().map(({ way, row, end }) => [`${way}\t${row}`, end]));
  return foundOf(ways).flatMap(({ way, row, end }) => {
    const now = after.get(`${way}\t${row}`);
    if (now === undefined) return drops.has(row) ? [`not sent again: ${row} on ${way}`] : [];
    // A note on other members of the same part may stand for one that went to another vendor.
    const isNamed = now === 'lost' || (way === 'into others' && now === 'named');
    if (drops.has(row)) return isNamed ? [] : [`not named: ${row} on ${way}: ${now}`];
    return isNamed && now !== end ? [`named though it was sent: ${row} on ${way}`] : [];
  });
}
