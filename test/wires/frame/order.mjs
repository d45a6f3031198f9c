// Order is data: all pairs A B and triples A B A of a wire's kinds of content, and each kind between a call and its
// result.
import { each } from './each.mjs';
import { foldParts } from './fold-parts.mjs';
import { notesOf } from './judge.mjs';
import { kindsOf, setsOf } from './kinds.mjs';
import { joinPieces } from './places.mjs';

/** Sends every pair and triple; what changes its place, or comes out in some orders but not in another, is lost. */
export async function orders(ways) {
  const tally = { sent: 0, unseen: [] };
  for (const set of setsOf(ways.wire)) {
    const found = [];
    await each(rowsOf(set, kindsOf(ways, set)), async (row) => {
      found.push(...(await sendOrder(ways, set, row)));
    });
    const shown = found.flatMap(({ parts }) => parts.filter(({ at }) => at >= 0));
    for (const { key } of shown) ways.shown.add(key);
    tally.sent += found.length;
    tally.unseen.push(...judgeOrders(ways.ends, found, ways.shown));
  }
  return tally;
}

/** Judges what was found; gives what shows fewer than two parts. `known` are those that come out at all. */
export function judgeOrders(ends, found, known) {
  const unseen = [];
  for (const { way, row, parts, isInPlace, isNamed } of found) {
    const gone = parts.find(({ at, key }) => at < 0 && known.has(key));
    const seen = parts.filter(({ at }) => at >= 0);
    if (gone) ends.add(way, row, 'lost', `gone: ${gone.name}`);
    else if (seen.length < 2) unseen.push({ way, row });
    else if (isInPlace) ends.add(way, row, 'carried', '');
    else ends.add(way, row, isNamed ? 'named' : 'lost', 'another order');
  }
  return unseen;
}

/** The orders of a set's kinds: `{ row, isBetween, make }`, the latter a function that gives the parts of each kind. */
export function rowsOf(set, kinds) {
  const pairs = kinds.flatMap((a) => kinds.filter((b) => b !== a).map((b) => [a, b]));
  return pairs.flatMap(([a, b]) => {
    const between = a.name.includes('+') && set.between !== false ? [betweenOf(a, b)] : [];
    return [inLine([a, b]), inLine([a, b, a]), ...between];
  });
}

function inLine(kinds) {
  return {
    row: kinds.map(({ name }) => name).join(' '),
    isBetween: false,
    make: () => kinds.map(({ make }) => make()),
  };
}

function betweenOf(a, b) {
  const [call, result] = a.name.split('+');
  const make = () => {
    const [first, last] = a.make();
    return [[first], b.make(), [last]];
  };
  return { row: `${call} ${b.name} ${result}`, isBetween: true, make };
}

/**
 * Sends one order; `swap` changes it before the engine reads it. Gives for each way where the parts begin, and whether
 * they are in order.
 */
export async function sendOrder(ways, set, { row, make }, swap = (groups) => groups) {
  const groups = make();
  const parts = groups.flat();
  const shown = await shownOf(ways, set, row, swap(groups));
  return shown.map(([way, list, added, report]) => {
    const places = placesIn([...parts, ...added], list);
    const all = [...parts, ...added].map((part, index) => {
      return { ...part, at: places[index], key: `${way}\t${part.name}` };
    });
    const isNamed = namesOrder(ways.wire, report);
    return { way, row, parts: all, isInPlace: isInPlace(all, list), isNamed };
  });
}

// Whether a note says that the answer had another order: for a wire whose messages cannot show it.
function namesOrder({ joinedNote }, report) {
  if (joinedNote === undefined || report === undefined) return false;
  return notesOf({ report }).some((note) => joinedNote.test(note));
}

// What each way shows of the parts: `[way, list, results that were added for calls, report of the request]`.
async function shownOf(ways, set, row, groups) {
  const values = groups.flat().map(({ value }) => value);
  const shown = set.place ? await answered(ways, set, row, set.place(values)) : [];
  if (set.history) {
    const { request, report } = await ways.requestOf(set, set.history(values));
    shown.push(['order of history', conversationOf(ways.wire, request), [], report]);
  }
  return shown;
}

async function answered(ways, set, row, whole) {
  const { wire, engine } = ways;
  const shown = [];
  const answers = { stream: wire.bytes(wire.records(whole)) };
  if (wire.answer && !set.streamOnly) answers.answer = wire.answer(whole);
  for (const [way, answer] of Object.entries(answers)) {
    if (!(await ways.offer(way, answer, [], `order ${row}`))) continue;
    const outcome = await engine.read(answer, way === 'answer' ? { stream: false } : {});
    shown.push([`order of ${way}`, joinPieces(outcome.events), []]);
    if (set.back === false) continue;
    const { request, report, folded, results } = await engine.next(outcome);
    shown.push([`order of fold of ${way}`, foldParts(folded), []]);
    const sent = conversationOf(wire, request);
    shown.push([`order of next of ${way}`, sent, results.map(partOfResult), report]);
  }
  return shown;
}

// The messages of a request; members of one that have an order of their own as parts.
function conversationOf({ partsOf = (message) => message }, request = {}) {
  const list = request.input ?? request.messages ?? request.contents ?? request;
  return Array.isArray(list) ? list.flatMap(partsOf) : [];
}

// The results of the calls of an answer follow all of it.
function partOfResult({ toolCallId }) {
  const text = `Done ${toolCallId}`;
  return { name: 'result', leaves: [{ marker: { text, number: text } }] };
}

// Parts stand in the order of their first markers. Where events or states hold all of them, these decide: they have the
// list of a message whose text is one.
function isInPlace(parts, shown) {
  const seen = parts.filter(({ at }) => at >= 0);
  const lists = shown
    .map((one) => placesIn(seen, one))
    .filter((places) => places.every((at) => at >= 0));
  return lists.length > 0 ? lists.some(isInOrder) : isInOrder(seen.map(({ at }) => at));
}

function isInOrder(places) {
  return places.every((at, index) => index === 0 || at >= places[index - 1]);
}

// Where the parts begin, in characters of JSON; -1 for those that are not there.
function placesIn(parts, shown) {
  const text = JSON.stringify(shown);
  return parts.map(({ leaves }) => {
    const found = leaves
      .filter(({ marker }) => marker)
      .flatMap(({ marker }) => [text.indexOf(marker.text), text.indexOf(`${marker.number}`)])
      .filter((at) => at >= 0);
    return found.length === 0 ? -1 : Math.min(...found);
  });
}
