// The kinds of content whose order is compared. A kind is one part, or a call with its result: two parts that are linked.
import { instancesOf, valueAt } from './instances.mjs';
import { variantsOf } from './model.mjs';

// What links parts to each other is no content of them.
const linking = /(^|[._])id$|Id$/;

/** The sets of kinds of a wire. */
export function setsOf({ kinds = [] }) {
  return [kinds].flat();
}

/**
 * The kinds of a set: `{ name, make }`, where `make()` gives the parts of one of them, `{ name, value, leaves }`, with
 * markers of their own. A result is no kind without its call.
 */
export function kindsOf(ways, set) {
  const rules = { ...ways.rulesOf(set), split: undefined };
  const variants = set.variants
    ? set.variants(ways.wire.nodes)
    : variantsOf(ways.wire.nodes[set.type]);
  const nodes = new Map(
    variants
      .filter(({ label }) => !set.without?.includes(label))
      .map(({ label, node }) => [label, node]),
  );
  const one = (label) => partOf(ways, set, rules, label, nodes.get(label));
  return [...nodes.keys()].map((label) => {
    const call = set.callOf?.(label);
    if (call === undefined) return { name: label, make: () => [one(label)] };
    const make = () => linked(set, one(call), one(label));
    return { name: `${call}+${label}`, make };
  });
}

// The first instance whose content has a marker.
function partOf(ways, set, rules, label, node) {
  const made = instancesOf(node, `${set.root}:${label}`, rules, ways.markers);
  const instances = made.map((instance) => ({ ...instance, own: contentOf(instance.leaves) }));
  const { value, leaves, own } =
    instances.find((instance) => instance.own.length > 0) ?? instances[0];
  return { name: label, value, leaves: own.length > 0 ? own : leaves };
}

function contentOf(leaves) {
  return leaves.filter(({ marker, row }) => marker && !linking.test(row));
}

// A call and the result with its id; members that the link changed show the part no longer.
function linked(set, call, result) {
  return set.link(call.value, result.value).map((value, at) => {
    const part = [call, result][at];
    const leaves = part.leaves.filter(({ path }) => {
      return JSON.stringify(valueAt(value, path)) === JSON.stringify(valueAt(part.value, path));
    });
    return { name: part.name, value, leaves };
  });
}
