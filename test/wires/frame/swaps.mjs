// The self-test of orders: two parts change places before the engine reads them, and each way that carried the order names
// another one.
import { kindsOf, setsOf } from './kinds.mjs';
import { judgeOrders, rowsOf, sendOrder } from './order.mjs';

/** Sends some orders that were carried with two of their parts exchanged: `{ damaged, wrong }`. */
export async function swappedOrders(ways, second, random, count) {
  const carried = new Set();
  for (const { way, row, end } of ways.ends.list()) {
    if (way.startsWith('order') && end === 'carried') carried.add(`${way}\t${row}`);
  }
  const damaged = [];
  const wrong = [];
  const isLost = anotherIn(ways.ends);
  for (const { set, row } of random.some(candidatesOf(second), count)) {
    const [at, other] = random.some(
      row.make().map((_, index) => index),
      2,
    );
    const found = await sendOrder(second, set, row, (groups) =>
      groups.with(at, groups[other]).with(other, groups[at]),
    );
    judgeOrders(second.ends, found, ways.shown);
    damaged.push(`order ${row.row}`);
    // An order that the engine does not keep looks like another one.
    const names = row.row.split(' ');
    const swapped = names.with(at, names[other]).with(other, names[at]).join(' ');
    const seen = found.filter(({ way }) => !isLost.has(`${way}\t${swapped}`));
    wrong.push(...unnamed(carried, second, seen, row.row));
  }
  return { damaged, wrong };
}

// A call and its result stay in their order: no vendor sends a result first.
function candidatesOf(ways) {
  return setsOf(ways.wire).flatMap((set) =>
    rowsOf(set, kindsOf(ways, set))
      .filter(({ isBetween }) => !isBetween)
      .map((row) => ({ set, row })),
  );
}

// Rows whose order is another one, whether a note says so or nothing.
function anotherIn(ends) {
  const rows = ends.list().filter(({ end }) => end === 'lost' || end === 'named');
  return new Set(rows.map(({ way, row }) => `${way}\t${row}`));
}

function unnamed(carried, second, found, row) {
  const lost = anotherIn(second.ends);
  return found
    .map(({ way }) => `${way}\t${row}`)
    .filter((key) => carried.has(key) && !lost.has(key))
    .map((key) => `parts changed places, not named: ${key.replace('\t', ': ')}`);
}
