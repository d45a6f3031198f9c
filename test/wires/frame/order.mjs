// Order is data: all pairs A B and triples A B A of a wire's kinds of content, and streams cut anywhere at their start.
import { each } from './each.mjs';
import { instancesOf } from './instances.mjs';
import { variantsOf } from './model.mjs';
import { fingerprint, joinPieces } from './places.mjs';

/** Sends every pair and triple; what changes its place is lost. */
export async function orders(ways) {
  const { kinds, wire = ways.wire } = { ...ways.wire, wire: ways.wire };
  if (!kinds) return { sent: 0, unseen: 0 };
  const tally = { sent: 0, unseen: 0 };
  const makers = kindsOf(ways, kinds);
  const pairs = makers.flatMap((a) => makers.filter((b) => b !== a).map((b) => [a, b]));
  const rows = pairs.flatMap(([a, b]) => [
    [a, b],
    [a, b, a],
  ]);
  await each(rows, (kindsOfRow) => {
    const row = kindsOfRow.map(([name]) => name).join(' ');
    return sendOrder(
      ways,
      wire,
      kinds,
      row,
      kindsOfRow.map(([, make]) => make()),
      tally,
    );
  });
  return tally;
}

// A function for each kind of content that makes one of it, with markers of its own.
function kindsOf(ways, kinds) {
  const node = ways.wire.nodes[kinds.type];
  const rules = ways.rulesOf(kinds);
  const variants = kinds.variants ? kinds.variants(ways.wire.nodes) : variantsOf(node);
  return variants
    .filter(({ label }) => !kinds.without?.includes(label))
    .map(({ label, node: one }) => [
      label,
      () =>
        instancesOf(one, `${kinds.root}:${label}`, { ...rules, split: undefined }, ways.markers)[0],
    ]);
}

async function sendOrder(ways, wire, kinds, row, parts, tally) {
  const whole = kinds.place(parts.map(({ value }) => value));
  const answers = { stream: wire.bytes(wire.records(whole)) };
  if (wire.answer) answers.answer = wire.answer(whole);
  for (const [way, answer] of Object.entries(answers)) {
    if (!(await ways.offer(way, answer, [], `order ${row}`))) continue;
    const payload = way === 'answer' ? { stream: false } : {};
    const outcome = await ways.engine.read(answer, payload);
    tally.sent += 1;
    judgeOrder(ways, `order of ${way}`, row, parts, joinPieces(outcome.events), tally);
    if (kinds.back === false) continue;
    const { request } = await ways.engine.next(outcome);
    judgeOrder(ways, `order of next of ${way}`, row, parts, wire.turn(request ?? {}), tally);
  }
  if (kinds.history) {
    const { request } = ways.engine.history(
      wire.format,
      kinds.history(parts.map(({ value }) => value)),
    );
    judgeOrder(
      ways,
      'order of history',
      row,
      parts,
      [wire.history].flat()[0].turn(request ?? []),
      tally,
    );
  }
}

// The parts stand in the order of their first markers; a part that is not there is lost elsewhere. One event that
// holds the list of all of them gives the order of a message whose text is one.
function judgeOrder(ways, way, row, parts, shown, tally) {
  const firstsIn = (value) => {
    const text = JSON.stringify(value);
    return parts.map(({ leaves }) => firstOf(leaves, text)).filter((at) => at >= 0);
  };
  const firsts = firstsIn(shown);
  if (firsts.length < 2) {
    tally.unseen += 1;
    return;
  }
  const isInOrder = (places) => places.every((at, index) => index === 0 || at >= places[index - 1]);
  const holdsAll = (value) => {
    const places = firstsIn(value);
    return places.length === firsts.length && isInOrder(places);
  };
  const kept = isInOrder(firsts) || shown.some(holdsAll);
  ways.ends.add(way, row, kept ? 'carried' : 'lost', kept ? '' : 'another order');
}

function firstOf(leaves, text) {
  const found = leaves
    .filter(({ marker, row }) => marker && !/\bid$/.test(row))
    .flatMap(({ marker }) => [text.indexOf(marker.text), text.indexOf(`${marker.number}`)])
    .filter((at) => at >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

/** Cuts a stream at every byte of its first frames: what comes out must not change. */
export async function cuts(ways, most = 3) {
  const { wire } = ways;
  const [subject] = wire.subjects;
  const [{ value }] = ways.instances(subject);
  const records = wire.records(subject.place(value));
  const { type, bytes } = wire.bytes(records);
  const first = wire.bytes(records.slice(0, most)).bytes.length;
  const whole = fingerprint(await ways.engine.cut(type, [bytes]));
  const wrong = [];
  const places = Array.from({ length: Math.min(first, 4000) - 1 }, (_, at) => at + 1);
  await each(places, async (at) => {
    const outcome = await ways.engine.cut(type, [bytes.subarray(0, at), bytes.subarray(at)]);
    if (fingerprint(outcome) !== whole) wrong.push(at);
  });
  if (wrong.length > 0)
    ways.refusals.push(`a stream cut at the bytes ${wrong.slice(0, 5)} reads otherwise`);
  return places.length;
}
