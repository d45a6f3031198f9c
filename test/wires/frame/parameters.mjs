// Members of a request, each alone, and headers of an answer.
import { each } from './each.mjs';
import { markersIn, valueAt, withValue } from './instances.mjs';
import { judgePath, notesOf } from './judge.mjs';
import { boundedNumbers } from './numbers.mjs';
import { placesOf } from './places.mjs';

const question = { role: 'user', content: 'Ask' };

/** Sends each member of the vendor's request type in a payload: it belongs at the same place of the body. */
export async function parameters(ways) {
  const { parameters: given } = ways.wire;
  if (!given) return;
  const node = ways.wire.nodes[given.type];
  const judged = new Set();
  for (const { name, node: inner } of node.members) {
    const wire = given.rename?.(name) ?? name;
    if (given.without?.includes(name)) continue;
    const own = ways.rulesOf(given);
    const rules = { ...own, bounded: [...(own.bounded ?? []), ...boundedNumbers] };
    const made = ways.make(inner, `parameter.${wire}`, rules);
    await each(
      made.filter(({ leaves }) => ways.concerns(leaves)),
      (instance) => sendParameter(ways, given, wire, instance, judged),
    );
  }
}

async function sendParameter(ways, given, name, instance, judged) {
  const { place = (value) => value } = given;
  const send = async (value, leaves, marked) => {
    const members = value === undefined ? {} : { [name]: value };
    const more = given.companions?.(name, value) ?? {};
    const dropped =
      ways.drops.size > 0
        ? ways.dropped({ value: members, leaves: deeper(leaves, name) })
        : members;
    const { request, report, events } = await ways.engine.call([ways.wire.plain], {
      messages: [question],
      ...given.base,
      ...more,
      ...dropped,
    });
    const wanted = place(members);
    for (const leaf of marked) {
      const path = [name, ...leaf.path];
      const at = given.pathOf?.(path, value) ?? path;
      judgePath(
        ways.ends,
        'parameter',
        { ...leaf, path: at },
        at === path || given.place ? wanted : moved(members, path, at),
        [request ?? {}],
        told(report, events),
        leaf.marker,
      );
    }
  };
  await send(
    instance.value,
    instance.leaves,
    instance.leaves.filter(({ marker }) => marker),
  );
  for (const leaf of instance.leaves) {
    if (!ways.valued(leaf, judged)) continue;
    for (const one of leaf.values.filter((value) => value !== null)) {
      await send(withValue(instance.value, leaf.path, one), instance.leaves, [leaf]);
    }
  }
}

// The value with a member at the place where the body has it.
function moved(value, from, to) {
  const member = valueAt(value, from);
  const root = [];
  to.reduceRight(
    (inner, name) => (root[0] = typeof name === 'number' ? [inner] : { [name]: inner }),
    member,
  );
  return root[0];
}

function deeper(leaves, name) {
  return leaves.map((leaf) => ({ ...leaf, path: [name, ...leaf.path] }));
}

function told(report, events) {
  return { ...report, notes: notesOf({ report, events }) };
}

/** Sends an answer with each documented header: the report has it. */
export async function headers(ways) {
  const { wire } = ways;
  const asked = (wire.headers ?? []).filter((name) => ways.concerns([{ row: `header.${name}` }]));
  if (asked.length === 0) return;
  const marked = new Map(asked.map((name) => [name, ways.markers.next()]));
  const given = Object.fromEntries([...marked].map(([name, { text }]) => [name, text]));
  const kept = Object.fromEntries(
    Object.entries(given).filter(([name]) => !ways.drops.has(`header.${name}`)),
  );
  const outcome = await ways.engine.read({ ...wire.plain, headers: kept });
  const places = placesOf(outcome, markersIn);
  for (const [name, { text }] of marked) {
    const [place] = places.get(text) ?? [];
    ways.ends.add('header', `header.${name}`, place ? 'carried' : 'lost', place);
  }
}
