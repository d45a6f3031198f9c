// The members that the events of a stream have of their own, beside what a whole answer holds.
import { each } from './each.mjs';
import { valuesOf, withValue } from './instances.mjs';
import { judgeEvents, judgeValues } from './judge.mjs';
import { variantsOf } from './model.mjs';

/** Sends each kind of event with all of its members, in a stream where it belongs. */
export async function eventMembers(ways) {
  const { events } = ways.wire;
  if (!events) return;
  const scenes = scenesOf(ways, events);
  for (const { label, node } of kindsOf(ways.wire.nodes[events.type], events)) {
    if (events.without?.includes(label)) continue;
    const scene = scenes.get(label);
    if (!scene) {
      ways.refusals.push(`no stream was made with the event ${label}`);
      continue;
    }
    const rules = ways.rulesOf(events);
    const made = ways.make(node, `event:${label}`, rules);
    await each(
      made.filter(({ leaves }) => ways.concerns(leaves)),
      (instance) => sendEvent(ways, scene, instance),
    );
  }
}

// For each kind of event the records of a stream and where it stands in them.
function scenesOf(ways, events) {
  const scenes = new Map();
  const wholes = ways.wire.subjects
    .filter(({ events: own = true }) => own)
    .flatMap((subject) => {
      const rules = ways.rulesOf(subject);
      const made = ways.make(ways.wire.nodes[subject.type], subject.root, rules);
      return made.map(({ value }) => subject.place(value));
    });
  for (const whole of [...wholes, ...(events.scenes ?? [])]) {
    const records = ways.wire.records(whole);
    records.forEach((record, at) => {
      const label = events.nameOf(record);
      if (!scenes.has(label)) scenes.set(label, { records, at });
    });
  }
  return scenes;
}

async function sendEvent(ways, { records, at }, instance) {
  const { wire } = ways;
  const { inner = (record) => record, outer = (record, members) => members } = wire.events;
  const base = inner(records[at]);
  const leaves = instance.leaves.filter(({ path }) => path.length > 0 && !(path[0] in base));
  if (leaves.length === 0) return;
  const bytesOf = (value) => {
    const merged = outer(records[at], { ...value, ...base });
    return wire.bytes(records.with(at, merged));
  };
  if (!(await ways.offer('stream', bytesOf(instance.value), leaves, instance.leaves[0].row)))
    return;
  const outcome = await ways.engine.read(bytesOf(ways.dropped(instance)));
  judgeEvents(ways.ends, 'stream', leaves, outcome, wire.carriers);
  for (const leaf of leaves) {
    if (leaf.values === undefined || (ways.drops.size > 0 && !ways.drops.has(leaf.row))) continue;
    const outcomes = new Map();
    for (const one of valuesOf(leaf)) {
      const value = ways.dropped({ ...instance, value: withValue(instance.value, leaf.path, one) });
      outcomes.set(`${one}`, await ways.engine.read(bytesOf(value)));
    }
    if (outcomes.size > 1) judgeValues(ways.ends, 'stream', leaf.row, outcomes);
  }
}

function kindsOf(node, { label }) {
  return node.kind === 'union' ? variantsOf(node) : [{ label, node }];
}
