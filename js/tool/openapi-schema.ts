// Schemas of an OpenAPI document as the JSON Schema of a tool: references lead into the tool's own `$defs`, and
// what only OpenAPI knows is left out or said in JSON Schema's words.

export type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const objectOf = (value: unknown): Json => (isObject(value) ? value : {});

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function unescaped(step: string): string {
  let text = step;
  try {
    text = decodeURIComponent(step);
  } catch {
    // A stray % stands for itself.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~');
}

const stepsOf = (reference: string): string[] => reference.slice(2).split('/').map(unescaped);

// A reference within the document; others are not followed.
function target(document: Json, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let at: unknown = document;
  for (const key of stepsOf(reference)) {
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, key)
        ? (at as Json)[key]
        : undefined;
  }
  return at;
}

/** What stands behind a reference, or the value itself. */
export function resolved(document: Json, value: unknown, depth = 0): Json {
  const { $ref: reference } = objectOf(value);
  if (typeof reference !== 'string' || depth > 20) return objectOf(value);
  return resolved(document, target(document, reference), depth + 1);
}

/** Whether a value is there, or the reference that it is leads to one, over whatever others. */
export function isFound(document: Json, value: unknown, depth = 0): boolean {
  const { $ref: reference } = objectOf(value);
  if (typeof reference !== 'string') return typeof value === 'object' && value !== null;
  return depth <= 20 && isFound(document, target(document, reference), depth + 1);
}

// Keywords by what they hold; all others hold data, which is copied.
const named = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  '$defs',
  'definitions',
]);
const nested = new Set([
  'items',
  'prefixItems',
  'additionalItems',
  'unevaluatedItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'if',
  'then',
  'else',
]);
const dropped = new Set([
  '$id',
  '$schema',
  'discriminator',
  'example',
  'externalDocs',
  'nullable',
  'xml',
]);

const deepest = 100;
// Of the schemas that a tool's input refers to. What does not fit is any value.
const mostBytes = 64 << 10;
// A word or a pair of them is not worth a name, and not every model server follows references.
const smallBytes = 256;

interface Use {
  /** The object of the tool's schema that holds the reference. */
  holder: Json;
  reference: string;
}

function within(value: unknown, uses: Use[], depth: number): unknown {
  if (Array.isArray(value)) return value.map((one) => within(one, uses, depth));
  if (!isObject(value)) return value;
  return depth > deepest ? {} : converted(value, uses, depth + 1);
}

function member(key: string, value: unknown, uses: Use[], depth: number): unknown {
  if (nested.has(key)) return within(value, uses, depth);
  if (!named.has(key) || !isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, within(one, uses, depth)]),
  );
}

function converted(schema: Json, uses: Use[], depth: number): Json {
  const made: Json = {};
  for (const [key, value] of Object.entries(schema)) {
    if (!dropped.has(key) && !key.startsWith('x-')) made[key] = member(key, value, uses, depth);
  }
  if (typeof made.$ref === 'string') uses.push({ holder: made, reference: made.$ref });
  bounded(made);
  return schema.nullable === true ? nullable(made) : made;
}

// The bounds of OpenAPI 3.0 say by a flag whether they are within.
function bounded(schema: Json): void {
  for (const [flag, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    const { [flag]: received, [bound]: value } = schema;
    if (typeof received !== 'boolean') continue;
    delete schema[flag];
    if (!received || value === undefined) continue;
    delete schema[bound];
    schema[flag] = value;
  }
}

// OpenAPI 3.0 says so what JSON Schema says by a type.
function nullable(schema: Json): Json {
  const { type, enum: values } = schema;
  if (typeof type === 'string') {
    const all =
      Array.isArray(values) && !values.includes(null)
        ? { enum: [...(values as unknown[]), null] }
        : {};
    return { ...schema, type: [type, 'null'], ...all };
  }
  return Object.keys(schema).length > 0 ? { anyOf: [schema, { type: 'null' }] } : schema;
}

/** The schemas of one tool. Their references are right once definitions() was asked. */
export class ToolSchemas {
  readonly #document: Json;
  // Grows while it is walked: what is referred to refers to more.
  readonly #uses: Use[] = [];
  // References to what is short and refers to nothing.
  readonly #small = new Set<string>();

  constructor(document: Json) {
    this.#document = document;
  }

  read(schema: unknown): Json {
    return converted(objectOf(schema), this.#uses, 0);
  }

  /**
   * `$defs` of what is referred to several times or holds itself; the rest, and what is small, takes its
   * reference's place.
   */
  definitions(): Json {
    const known = this.#follow();
    const names = this.#names();
    const uses = new Map(this.#uses.map((use) => [use.holder, use]));
    const place = (use: Use): void => {
      const { holder, reference } = use;
      uses.delete(holder);
      const name = names.get(reference);
      if (name !== undefined) {
        holder.$ref = `#/$defs/${name}`;
        return;
      }
      const schema = known.get(reference) ?? {};
      const behind = uses.get(schema);
      if (behind) place(behind);
      delete holder.$ref;
      const received = { ...holder };
      Object.assign(holder, schema, received);
    };
    for (const use of this.#uses) if (uses.has(use.holder)) place(use);
    return Object.fromEntries(
      [...names].map(([reference, name]) => [name, known.get(reference) ?? {}]),
    );
  }

  // What is referred to, the nearest first.
  #follow(): Map<string, Json> {
    const known = new Map<string, Json>();
    let room = mostBytes;
    for (const { reference } of this.#uses) {
      if (known.has(reference)) continue;
      const inside: Use[] = [];
      const source = target(this.#document, reference);
      const schema = converted(objectOf(source), inside, 0);
      const bytes = JSON.stringify(schema).length;
      if (bytes > room) {
        const { description } = schema;
        known.set(reference, typeof description === 'string' ? { description } : {});
        continue;
      }
      room -= bytes;
      if (bytes <= smallBytes && inside.length === 0) this.#small.add(reference);
      known.set(reference, source === false ? { not: {} } : schema);
      this.#uses.push(...inside);
    }
    return known;
  }

  // A schema that is used as it is needs no name when it is small or used once.
  #names(): Map<string, string> {
    const seen = new Set<string>();
    const names = new Map<string, string>();
    const taken = new Set<string>();
    for (const { holder, reference } of this.#uses) {
      const isPlain = Object.keys(holder).every((key) => key === '$ref' || key === 'description');
      if (isPlain && (this.#small.has(reference) || !seen.has(reference))) {
        seen.add(reference);
        continue;
      }
      if (names.has(reference)) continue;
      const name = freeName(plainKey(stepsOf(reference).at(-1) ?? ''), taken);
      names.set(reference, name);
    }
    return names;
  }
}

/** A text as the name of a member that every provider takes. */
export function plainKey(text: string): string {
  return text.replace(/[^\w.-]/g, '_').slice(0, 56) || '_';
}

/** The name, or what it becomes by the suffix and by a number where it is taken. Takes it. */
export function freeName(name: string, taken: Set<string>, suffix = ''): string {
  let free = taken.has(name) ? `${name}${suffix}` : name;
  for (let n = 2; taken.has(free); n += 1) free = `${name}${suffix}_${n}`;
  taken.add(free);
  return free;
}
