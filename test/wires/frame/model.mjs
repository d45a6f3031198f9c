// Reads an SDK's declarations into a member model: what may stand where in the vendor's JSON.
// A node is one of
//   { kind: 'object', name, members: [{ name, optional, node }] }   { kind: 'map', item }
//   { kind: 'union', name, variants: [{ label, node }] }
//   { kind: 'array', item }   { kind: 'enum', values }   { kind: 'const', value }
//   { kind: 'string' | 'number' | 'bytes' | 'date' | 'any' }
// Nodes of named types are shared, so a model of a recursive type is a graph.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const ts = require('typescript');
const folder = dirname(dirname(fileURLToPath(import.meta.url)));
const flag = ts.TypeFlags;

const byteTypes = new Set(['Uint8Array', 'Buffer', 'ArrayBuffer', 'Blob', 'ReadableStream']);
// What tells the variants of a union apart, in this order; then the only member that must be there.
const tags = ['type', 'event', 'event_type', 'role', 'object', 'kind', 'method'];

const options = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  strict: true,
  skipLibCheck: true,
  noEmit: true,
  types: [],
};

/**
 * The nodes of the types that a piece of TypeScript exports, by their names. `leaves` names types that stand as
 * one leaf of a kind, whatever they hold: { name: kind }.
 */
export function readModel(source, leaves = {}) {
  const file = join(folder, '__model.ts');
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(file, source, options.target, true)
      : getSourceFile(name, ...rest);
  host.fileExists = (name) => name === file || fileExists(name);
  host.readFile = (name) => (name === file ? source : readFile(name));
  const program = ts.createProgram([file], options, host);
  const parsed = program.getSourceFile(file);
  const reader = new Reader(program.getTypeChecker(), parsed, leaves);
  const { checker } = reader;
  const types = {};
  for (const symbol of checker.getExportsOfModule(checker.getSymbolAtLocation(parsed))) {
    const node = reader.node(checker.getDeclaredTypeOfSymbol(symbol));
    if (node.kind === 'any') throw new Error(`The SDK has no type for ${symbol.name} any more.`);
    types[symbol.name] = node;
  }
  return types;
}

class Reader {
  constructor(checker, at, leaves) {
    this.checker = checker;
    this.at = at;
    this.leaves = leaves;
    this.known = new Map();
  }

  node(type) {
    const name = nameOf(type);
    const leaf = this.leaves[name];
    if (leaf !== undefined) return { kind: leaf, name };
    const known = this.known.get(type);
    if (known) return known;
    const made = {};
    this.known.set(type, made);
    Object.assign(made, this.read(type, name));
    return made;
  }

  read(type, name) {
    if (type.isUnion()) return this.union(type.types, name);
    if (type.flags & (flag.Any | flag.Unknown | flag.NonPrimitive)) return { kind: 'any' };
    if (type.flags & flag.Boolean) return { kind: 'enum', values: [true, false] };
    if (type.isStringLiteral() || type.isNumberLiteral())
      return { kind: 'const', value: type.value };
    if (type.flags & flag.BooleanLiteral) return { kind: 'const', value: literalOf(this, type) };
    if (type.flags & (flag.StringLike | flag.TemplateLiteral)) return { kind: 'string' };
    if (type.flags & (flag.NumberLike | flag.BigIntLike)) return { kind: 'number' };
    if (type.flags & flag.Null) return { kind: 'const', value: null };
    // `string & {}`: any string.
    if (type.isIntersection() && type.types.some((one) => one.flags & flag.String)) {
      return { kind: 'string' };
    }
    if (byteTypes.has(name)) return { kind: 'bytes' };
    if (name === 'Date') return { kind: 'date' };
    const [item] = this.items(type);
    if (item) return { kind: 'array', item: this.node(item) };
    return this.object(type, name);
  }

  items(type) {
    if (this.checker.isTupleType(type)) return this.checker.getTypeArguments(type);
    if (this.checker.isArrayType(type)) return this.checker.getTypeArguments(type);
    return [];
  }

  object(type, name) {
    const members = [];
    for (const symbol of this.checker.getPropertiesOfType(type)) {
      const member = this.member(symbol);
      if (member) members.push(member);
    }
    if (members.length > 0) return { kind: 'object', name, members };
    const index = this.checker.getIndexInfosOfType(type)[0];
    const isOpen = index && !(index.type.flags & (flag.Any | flag.Unknown));
    return isOpen ? { kind: 'map', item: this.node(index.type) } : { kind: 'any', name };
  }

  member(symbol) {
    const type = this.checker.getTypeOfSymbolAtLocation(symbol, this.at);
    const optional = (symbol.flags & ts.SymbolFlags.Optional) !== 0;
    // Methods and getters exist in an SDK alone.
    if (symbol.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Accessor)) return undefined;
    if (/^(__@|[#$])/.test(symbol.name)) return undefined;
    const bare = this.checker.getNonNullableType(type);
    if (bare.flags & flag.Never) return undefined;
    if (type.flags & (flag.Undefined | flag.Never | flag.ESSymbolLike)) return undefined;
    if (bare.getCallSignatures().length > 0) return undefined;
    return { name: symbol.name, optional, node: this.node(type) };
  }

  union(types, name) {
    const values = [];
    const others = [];
    let text = false;
    for (const type of types) {
      // AWS's name for what an SDK is too old to know.
      if (type.flags & (flag.Undefined | flag.Void) || nameOf(type) === '$UnknownMember') continue;
      const node = this.node(type);
      if (node.kind === 'const') values.push(node.value);
      else if (node.kind === 'enum') values.push(...node.values);
      else if (node.kind === 'string') text = true;
      else if (!others.includes(node)) others.push(node);
    }
    // A list of known words beside any word, and null beside anything, need no variant of their own.
    const words = text ? [] : values.filter((value) => value !== null);
    const variants = [...others];
    if (text) variants.push({ kind: 'string' });
    if (words.length > 0) {
      const enumeration = { kind: 'enum', values: [...new Set(words)] };
      if (variants.length === 0) return nullable(enumeration, values);
      variants.push(enumeration);
    }
    if (variants.length === 0) return { kind: 'const', value: null };
    if (variants.length === 1) return { ...variants[0], name: variants[0].name ?? name };
    return { kind: 'union', name, lazy: variants };
  }
}

function nullable(enumeration, values) {
  const all = values.includes(null) ? [...enumeration.values, null] : enumeration.values;
  return all.length === 1 ? { kind: 'const', value: all[0] } : { ...enumeration, values: all };
}

function literalOf(reader, type) {
  return reader.checker.typeToString(type) === 'true';
}

function nameOf(type) {
  const symbol = type.aliasSymbol ?? type.symbol;
  const name = symbol?.name ?? '';
  return name.startsWith('__') ? '' : name;
}

/** The variants of a union with labels that tell them apart; members are read by then. */
export function variantsOf(node) {
  node.variants ??= label(node.lazy);
  return node.variants;
}

function label(nodes) {
  const flat = nodes.flatMap((node) =>
    node.kind === 'union' ? variantsOf(node).map(({ node: inner }) => inner) : [node],
  );
  const used = new Map();
  return [...new Set(flat)].map((node) => {
    const first = labelOf(node);
    const count = (used.get(first) ?? 0) + 1;
    used.set(first, count);
    return { label: count === 1 ? first : `${first}/${node.name || count}`, node };
  });
}

// The one word that a node can be, if it is one.
function onlyWord(node) {
  const values = node.kind === 'const' ? [node.value] : (node.values ?? []);
  const words = values.filter((value) => typeof value === 'string');
  return words.length === 1 ? words[0] : undefined;
}

function labelOf(node) {
  if (node.kind === 'array') return 'list';
  if (node.kind !== 'object') return node.kind;
  for (const tag of tags) {
    const member = node.members.find(({ name }) => name === tag);
    const value = member && onlyWord(member.node);
    if (value !== undefined) return value;
  }
  const needed = node.members.filter(({ optional }) => !optional);
  if (needed.length === 1 && node.members.length === 1) return needed[0].name;
  return node.name || 'object';
}

/** Whether a type has a member at a row that was made from another type; labels may be missing on either side. */
export function hasRow(node, row, { rename = (name) => name } = {}) {
  const steps = row.match(/:[^.[:]+(?:\.[^.[:]+)*?(?=[.[]|$)|\.[^.[:]+|\[\]/g) ?? [];
  return reaches([node], steps, rename);
}

function reaches(nodes, steps, rename) {
  const [step, ...rest] = steps;
  if (step === undefined) return nodes.length > 0;
  const flat = nodes.flatMap((node) =>
    node.kind === 'union'
      ? variantsOf(node).map(({ label: name, node: inner }) => ({ name, inner }))
      : [{ inner: node }],
  );
  if (flat.some(({ inner }) => inner.kind === 'any')) return true;
  if (step.startsWith(':')) {
    const wanted = step.slice(1).split('/')[0];
    const named = flat.filter(({ name }) => name?.split('/')[0] === wanted || name === undefined);
    const label = named.length > 0 ? named : [];
    return reaches(
      label.map(({ inner }) => inner),
      rest,
      rename,
    );
  }
  const inner = flat.map((one) => one.inner);
  if (step === '[]')
    return reaches(
      inner.flatMap(({ item }) => item ?? []),
      rest,
      rename,
    );
  const name = step.slice(1);
  if (name === '*')
    return reaches(
      inner.flatMap(({ item }) => item ?? []),
      rest,
      rename,
    );
  const next = inner.flatMap(({ members = [], name: type }) =>
    members.filter((member) => rename(member.name, type) === name).map((member) => member.node),
  );
  return next.length > 0 && reaches(next, rest, rename);
}

/** An object type as a union of some of its members: { label: [member names] }. */
export function splitBy(groups) {
  return (node) =>
    Object.entries(groups).map(([name, names]) => {
      const members = node.members.filter((member) => names.includes(member.name));
      return { label: name, node: { kind: 'object', name, members } };
    });
}

/** Whether a type has a value at a path of JSON. `label` names the variant of a union. */
export function hasPath(node, label, path, { rename = (name) => name } = {}) {
  const steps = path.map((name) => (typeof name === 'number' ? '[]' : `.${name}`));
  const first = node.kind === 'union' && variantsOf(node).find((one) => one.label === label)?.node;
  return reaches([first || node], steps, rename);
}

/** An object type as a union: each variant has one of these members, and all others. */
export function oneOf(...names) {
  return (node) =>
    names.map((name) => {
      const members = node.members.filter(
        (member) => member.name === name || !names.includes(member.name),
      );
      return { label: name, node: { kind: 'object', name, members } };
    });
}
