// Schemas of OpenAPI documents as JSON Schema without references, which every provider takes.
export type Json = Record<string, unknown>;

/** A reference within the document; others are not followed. */
export function target(document: Json, reference: string): unknown {
  if (!reference.startsWith('#/')) return {};
  let at: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Json)[key] : {};
  }
  return at;
}

/** An object of the document, by its reference or as it stands there; empty for anything else. */
export function resolved(document: Json, value: unknown, depth = 0): Json {
  if (typeof value !== 'object' || value === null) return {};
  const { $ref: reference } = value as { $ref?: unknown };
  if (typeof reference !== 'string' || depth > 20) return value as Json;
  return resolved(document, target(document, reference), depth + 1);
}

// Values of one schema: some 64 KiB. Schemas that all mention each other would fill the memory.
const mostValues = 4000;
const deepest = 12;

/**
 * A schema without references. What holds itself, and what lies deeper than there is room for, ends in
 * "anything".
 */
export function expanded(document: Json, schema: unknown): unknown {
  for (let depth = deepest; depth > 0; depth--) {
    const made = new Expansion(document, depth, mostValues).schema(schema, []);
    if (made.isWhole) return made.value;
  }
  return new Expansion(document, 1, Infinity).schema(schema, []).value;
}

// What the members of a schema hold: schemas by name, or values that are none.
const maps = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);
const data = new Set(['enum', 'const', 'default', 'examples', 'required']);
const untold = new Set(['example', 'xml', 'discriminator', 'externalDocs', 'nullable', '$ref']);

class Expansion {
  #left: number;

  constructor(
    readonly document: Json,
    readonly depth: number,
    room: number,
  ) {
    this.#left = room;
  }

  schema(value: unknown, open: readonly string[]): { value: unknown; isWhole: boolean } {
    const made = this.#schema(value, open);
    return { value: made, isWhole: this.#left >= 0 };
  }

  #schema(value: unknown, open: readonly string[]): unknown {
    if (--this.#left < 0) return {};
    if (Array.isArray(value)) return value.map((one) => this.#schema(one, open));
    if (typeof value !== 'object' || value === null) return value;
    const { $ref: reference } = value as Json;
    const own = this.#members(value as Json, open);
    if (typeof reference !== 'string') return own;
    if (open.includes(reference) || open.length >= this.depth) return own;
    const meant = this.#schema(target(this.document, reference), [...open, reference]);
    return typeof meant === 'object' ? { ...meant, ...own } : meant;
  }

  #members(schema: Json, open: readonly string[]): Json {
    const made: Json = {};
    for (const [key, member] of Object.entries(schema)) {
      if (untold.has(key)) continue;
      if (data.has(key)) made[key] = member;
      else if (maps.has(key) && typeof member === 'object') made[key] = this.#map(member, open);
      else made[key] = this.#schema(member, open);
    }
    return schema['nullable'] === true ? nullable(made) : bounded(made);
  }

  #map(named: object | null, open: readonly string[]): Json {
    const entries = Object.entries(named ?? {});
    return Object.fromEntries(entries.map(([name, one]) => [name, this.#schema(one, open)]));
  }
}

// OpenAPI 3.0 says so what JSON Schema says by a type.
function nullable(schema: Json): Json {
  const { type, enum: values } = bounded(schema);
  if (typeof type === 'string') {
    const list = Array.isArray(values) ? { enum: [...(values as unknown[]), null] } : {};
    return { ...schema, type: [type, 'null'], ...list };
  }
  return Object.keys(schema).length > 0 ? { anyOf: [schema, { type: 'null' }] } : schema;
}

// The bounds of OpenAPI 3.0 say by a flag whether they are within.
function bounded(schema: Json): Json {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema[flag] !== 'boolean') continue;
    const isOut = schema[flag] && schema[bound] !== undefined;
    if (isOut) schema[flag] = schema[bound];
    else delete schema[flag];
    if (isOut) delete schema[bound];
  }
  return schema;
}
