// Validators of the Standard Schema interface, and the JSON Schema that a model is told for one.
import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { StandardSchema } from '../types/objects';
import { MillraceError } from './errors';
import { messageOf } from './thrown';

/** What makes a JSON Schema of a validator that has none to give by itself. */
interface Converter {
  vendor: string;
  /** A member that tells the vendor's versions apart. */
  member: string;
  module: string;
  name: string;
  options: object;
}

// References must not lead to the root: it may be put into another schema.
const converters: readonly Converter[] = [
  {
    vendor: 'zod',
    member: '_zod',
    module: 'zod/v4/core',
    name: 'toJSONSchema',
    options: { io: 'input' },
  },
  {
    vendor: 'zod',
    member: '_def',
    module: 'zod-to-json-schema',
    name: 'zodToJsonSchema',
    options: { $refStrategy: 'none', pipeStrategy: 'input' },
  },
  {
    vendor: 'valibot',
    member: 'kind',
    module: '@valibot/to-json-schema',
    name: 'toJsonSchema',
    options: { typeMode: 'input', errorMode: 'ignore' },
  },
];

/** Whether a value is a validator. */
export function isStandard(schema: unknown): schema is StandardSchema<never> {
  const holder = typeof schema === 'function' || (typeof schema === 'object' && schema !== null);
  if (!holder) return false;
  const own = (schema as Partial<StandardSchema>)['~standard'];
  return typeof own === 'object' && typeof own.validate === 'function';
}

/**
 * The JSON Schema of what a validator takes: from itself, or from its vendor's converter where that is
 * installed. Undefined, and a warning, when there is none: the validator judges all the same.
 * Throws `invalid_schema` for a validator that no JSON can satisfy or describe. `fix` says what helps.
 */
export function jsonSchemaOf(schema: StandardSchema<never>, fix: string): object | undefined {
  const { vendor } = schema['~standard'];
  let converted: unknown;
  try {
    converted = ownSchema(schema) ?? convertedSchema(schema);
  } catch (cause) {
    throw new MillraceError(
      'invalid_schema',
      `The schema of '${vendor}' has no JSON Schema: ${reasonOf(cause)} Change that part of it, or ${fix}.`,
      { cause },
    );
  }
  if (typeof converted === 'object' && converted !== null) return converted;
  warn(schema, fix);
  return undefined;
}

// Validators differ in how they give it.
function ownSchema(schema: StandardSchema<never>): unknown {
  const own = schema as {
    toJSONSchema?: (options: object) => unknown;
    toJsonSchema?: () => unknown;
  };
  return (
    schema['~standard'].jsonSchema?.input?.({ target: 'draft-2020-12' }) ??
    own.toJSONSchema?.({ io: 'input' }) ??
    own.toJsonSchema?.()
  );
}

function converterOf(schema: StandardSchema<never>): Converter | undefined {
  const { vendor } = schema['~standard'];
  return converters.find((one) => one.vendor === vendor && one.member in schema);
}

function convertedSchema(schema: StandardSchema<never>): unknown {
  const converter = converterOf(schema);
  if (!converter) return undefined;
  const exported = installed(converter.module)?.[converter.name];
  if (typeof exported !== 'function') return undefined;
  return (exported as (schema: object, options: object) => unknown)(schema, converter.options);
}

// The user's project comes first: a package manager may hide its packages from this one.
function installed(name: string): Record<string, unknown> | undefined {
  for (const from of [join(process.cwd(), 'package.json'), __filename]) {
    const load = createRequire(from);
    try {
      return load(name) as Record<string, unknown>;
    } catch (error) {
      if ((error as { code?: unknown } | null)?.code === 'MODULE_NOT_FOUND') continue;
      if ((error as { code?: unknown } | null)?.code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') continue;
      throw error;
    }
  }
  return undefined;
}

const warned = new Set<string>();

function warn(schema: StandardSchema<never>, fix: string): void {
  const { vendor } = schema['~standard'];
  if (warned.has(vendor)) return;
  warned.add(vendor);
  const converter = converterOf(schema)?.module;
  const install = converter === undefined ? '' : `install ${converter}, or `;
  process.emitWarning(
    `The model is not told the schema of a '${vendor}' validator, which only judges its answers. To tell ` +
      `it, ${install}${fix}.`,
    { code: 'MILLRACE_UNTOLD_SCHEMA' },
  );
}

function reasonOf(cause: unknown): string {
  const text = messageOf(cause);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
