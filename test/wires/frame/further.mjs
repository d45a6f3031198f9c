// Members that no types have: each object of a part gets one, and it must go back at its place. A wire with
// `further` passes them on; its `without` are patterns of the places that do not.
import { each } from './each.mjs';
import { instancesOf, valueAt } from './instances.mjs';

const name = 'zz_further';

/** Sends every kind of part with further members; gives how many there were, and those that are lost. */
export async function furtherMembers(ways) {
  const { wire } = ways;
  const tally = { sent: 0, lost: new Set() };
  if (!wire.further) return { sent: 0, lost: [] };
  for (const subject of wire.subjects.filter(({ back }) => back)) {
    const node = wire.nodes[subject.type];
    const instances = instancesOf(node, subject.root, ways.rulesOf(subject), ways.markers);
    await each(instances, (instance) => sendFurther(ways, subject, instance, tally));
  }
  return { sent: tally.sent, lost: [...tally.lost].sort() };
}

async function sendFurther(ways, subject, { value }, tally) {
  const places = [];
  const given = withFurther(value, [], places, ways.markers);
  const label = `${subject.root}:${value.type ?? ''}`;
  const outcomes = await ways.read(subject, given);
  for (const [way, outcome] of Object.entries(outcomes)) {
    const { request } = await ways.engine.next(outcome);
    const sent = ways.wire.turn(request ?? {});
    for (const { path, wanted } of places) {
      const place = `${way} ${rowOf(label, path)}`;
      if (ways.wire.further.without?.some((pattern) => pattern.test(place))) continue;
      tally.sent += 1;
      const isBack = sent.some((one) => isSame(valueAt(one, [...path, name]), wanted));
      if (!isBack) tally.lost.add(place);
    }
  }
}

const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function rowOf(label, path) {
  return path.reduce((row, key) => row + (typeof key === 'number' ? '[]' : `.${key}`), label);
}

// A copy in which each object has a further member: a number, a text, a flag or an object, by turns.
function withFurther(value, path, places, markers) {
  if (Array.isArray(value)) {
    return value.map((item, at) => withFurther(item, [...path, at], places, markers));
  }
  if (typeof value !== 'object' || value === null) return value;
  const { text, number } = markers.next();
  const wanted = [number, text, { a: [text, null] }][places.length % 3];
  places.push({ path, wanted });
  const inner = Object.entries(value).map(([key, member]) => [
    key,
    withFurther(member, [...path, key], places, markers),
  ]);
  return { ...Object.fromEntries(inner), [name]: wanted };
}
