// Makes the vendor's JSON from a member model: every variant of every union once, a marker in each leaf, and each
// value of what cannot hold one.
//
// A row is a member's place in the type, such as `item:web_search_call.action:search.queries[]`: members by their
// names, `[]` for the items of a list, `:label` for the variant of a union. A leaf is one row of one instance:
//   { row, path, marker }            the marker stands in the value
//   { row, path, values, optional }  only these values may stand there
import { variantsOf } from './model.mjs';

// How often a type may stand inside itself.
const depthLimit = 3;
const markerPattern = /zq[0-9a-z]{4}x/g;

/** Gives markers: texts and numbers that stand nowhere else; no sum or difference of numbers is another one. */
export class Markers {
  #count = 0;

  next() {
    this.#count += 1;
    const digits = this.#count.toString(36).padStart(4, '0');
    return { text: `zq${digits}x`, number: 7_000_000 + ((this.#count * 7919) % 999_983) };
  }
}

/** The markers of texts inside of a text. */
export function markersIn(text) {
  return text.match(markerPattern) ?? [];
}

/**
 * All instances of a node. `rules` has
 *   values: [pattern of rows, (marker, row) => value | undefined][], the first that matches decides
 *   leaves: [pattern of rows], what is one leaf and not looked into
 *   without: [pattern of rows], what is left out
 *   prefer: [pattern of rows, value][], the value of a leaf where another is not sent
 *   bounded: [pattern of rows, values][], leaves that can only have these values
 *   split: { type name: (node) => variants }, for types whose members exclude each other
 */
export function instancesOf(node, root, rules, markers) {
  const done = [];
  const open = [{ choices: new Map(), only: undefined }];
  const seen = new Set();
  while (open.length > 0) {
    const { choices, only } = open.shift();
    const maker = new Maker(rules, markers, choices);
    const value = maker.make(node, root, [], []);
    done.push({ value, leaves: maker.leaves, only });
    for (const [site, chosen] of maker.sites) {
      for (let at = 1; at < chosen.count; at += 1) {
        const key = `${site}:${at}`;
        if (seen.has(key)) continue;
        seen.add(key);
        const further = new Map([...choices, [site, at]]);
        open.push({ choices: further, only: key });
      }
    }
  }
  return done;
}

class Maker {
  constructor(rules, markers, choices) {
    this.rules = rules;
    this.markers = markers;
    this.choices = choices;
    this.leaves = [];
    this.sites = new Map();
  }

  make(node, row, path, above) {
    const { values = [], leaves = [], bounded = [] } = this.rules;
    const limits = bounded.find(([pattern]) => pattern.test(row));
    if (limits) return this.valued(row, path, limits[1], node);
    const given = values.find(([pattern]) => pattern.test(row));
    if (given) {
      const marker = this.markers.next();
      const value = given[1](marker, row);
      if (value !== undefined) {
        if (holds(value, marker)) this.leaves.push({ row, path, marker });
        return value;
      }
    }
    if (leaves.some((pattern) => pattern.test(row))) return this.marked({ kind: 'any' }, row, path);
    const split = node.kind === 'object' && this.rules.split?.[node.name];
    if (split && !above.includes(node)) {
      node.split ??= { kind: 'union', name: node.name, variants: split(node) };
      return this.union(node.split, row, path, [...above, node]);
    }
    return this.made(node, row, path, above);
  }

  made(node, row, path, above) {
    if (node.kind === 'object') return this.object(node, row, path, [...above, node]);
    if (node.kind === 'union') return this.union(node, row, path, above);
    if (node.kind === 'array') return this.list(node, row, path, above);
    if (node.kind === 'map') return this.map(node, row, path, above);
    if (node.kind === 'const') return node.value;
    if (node.kind === 'enum') return this.valued(row, path, this.preferred(node.values, row));
    return this.marked(node, row, path);
  }

  object(node, row, path, above) {
    const value = {};
    const { without = [], rename = (name) => name } = this.rules;
    for (const { name, optional, node: inner } of node.members) {
      const wire = rename(name, node.name);
      const at = `${row}.${wire}`;
      if (without.some((pattern) => pattern.test(at))) continue;
      if (this.tooDeep(inner, above)) continue;
      const made = this.make(inner, at, [...path, wire], above);
      if (made !== undefined) value[wire] = made;
      const leaf = this.leaves.at(-1);
      if (leaf?.row === at) leaf.optional = optional;
    }
    return value;
  }

  tooDeep(node, above) {
    if (node.kind === 'union')
      return variantsOf(node).every(({ node: one }) => this.tooDeep(one, above));
    return node.kind === 'object' && above.filter((one) => one === node).length >= depthLimit;
  }

  union(node, row, path, above) {
    const variants = variantsOf(node).filter(({ label, node: one }) => {
      const { without = [] } = this.rules;
      return (
        !this.tooDeep(one, above) && !without.some((pattern) => pattern.test(`${row}:${label}`))
      );
    });
    if (variants.length === 0) return undefined;
    this.sites.set(row, { count: variants.length });
    const { label, node: chosen } =
      variants[Math.min(this.choices.get(row) ?? 0, variants.length - 1)];
    return this.make(chosen, `${row}:${label}`, path, above);
  }

  list(node, row, path, above) {
    if (this.tooDeep(node.item, above)) return [];
    const item = this.make(node.item, `${row}[]`, [...path, 0], above);
    return item === undefined ? [] : [item];
  }

  map(node, row, path, above) {
    if (this.tooDeep(node.item, above)) return {};
    return { key: this.make(node.item, `${row}.*`, [...path, 'key'], above) };
  }

  // The value that a plain instance has comes first.
  preferred(values, row) {
    const first = this.rules.prefer?.find(([pattern]) => pattern.test(row))?.[1];
    return values.includes(first) ? [first, ...values.filter((value) => value !== first)] : values;
  }

  valued(row, path, values) {
    this.leaves.push({ row, path, values });
    return values[0];
  }

  marked(node, row, path) {
    const marker = this.markers.next();
    this.leaves.push({ row, path, marker });
    if (node.kind === 'number') return marker.number;
    if (node.kind === 'bytes') return Buffer.from(marker.text.repeat(3)).toString('base64');
    if (node.kind === 'date') return new Date(marker.number * 100_000).toISOString();
    if (node.kind === 'any') return { [`k${marker.text}`]: marker.text };
    return marker.text;
  }
}

function holds(value, { text, number }) {
  const json = JSON.stringify(value) ?? '';
  return json.includes(text) || json.includes(`${number}`);
}

/** The value at a path, or undefined. */
export function valueAt(value, path) {
  return path.reduce((inner, name) => inner?.[name], value);
}

/** The values to send for a leaf, and its absence; null says no more than that. */
export function valuesOf({ values, optional }) {
  return optional ? [...values.filter((value) => value !== null), undefined] : values;
}

/** A value with another marker in place of its own. */
export function otherValue(value, marker, other) {
  const base64 = ({ text }) => Buffer.from(text.repeat(3)).toString('base64');
  const date = ({ number }) => new Date(number * 100_000).toISOString();
  const forms = [({ text }) => text, ({ number }) => `${number}`, base64, date];
  const text = forms.reduce(
    (json, form) => json.replaceAll(form(marker), form(other)),
    JSON.stringify(value),
  );
  return JSON.parse(text);
}

/** A copy with another value at a path; undefined takes the member out. */
export function withValue(value, path, replacement) {
  if (path.length === 0) return replacement;
  const copy = structuredClone(value);
  const owner = valueAt(copy, path.slice(0, -1));
  const name = path.at(-1);
  if (replacement === undefined && Array.isArray(owner)) owner.splice(name, 1);
  else if (replacement === undefined) delete owner[name];
  else owner[name] = replacement;
  return copy;
}
