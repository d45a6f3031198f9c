// OpenAPI documents (3.0 and 3.1) as sources of tools: one tool an operation.
import { MillraceError } from '../errors';
import type { HttpToolOptions, HttpToolResult } from './http-tools';
import { failed, send } from './http-tools';
import { wireName } from './plugins';
import type { HostTool, ToolEffect } from './tools';

type Json = Record<string, unknown>;

export interface OpenApiOptions extends HttpToolOptions {
  /** The document as an object. */
  document: object;
  /** Names the tools; the document's title when absent. */
  identifier?: string;
  /** Replaces the document's first server. */
  baseUrl?: string;
  /** Which operations become tools; all when absent. */
  filter?: (operation: { operationId: string; method: string; path: string }) => boolean;
  /** Whether a person is asked; writing operations ask when absent. */
  approve?: boolean;
}

interface Operation {
  id: string;
  method: string;
  path: string;
  description: string;
  parameters: { name: string; in: string; required: boolean }[];
  bodyType: string | undefined;
  input: object;
}

const methods = ['get', 'put', 'post', 'delete', 'head', 'patch'];
const reading = new Set(['get', 'head']);
const mostTools = 128;

/** Makes a tool of each operation. Throws `invalid_option` for a document that cannot be used. */
export function openApiTools(options: OpenApiOptions): HostTool[] {
  const document = options.document as Json;
  if (!/^3\.[01]/.test(String(document.openapi))) {
    throw new MillraceError('invalid_option', 'openApiTools() reads OpenAPI 3.0 and 3.1.');
  }
  const [server] = (document.servers ?? []) as { url?: string }[];
  const base = options.baseUrl ?? server?.url;
  if (base === undefined || !/^https?:\/\//.test(base)) {
    throw new MillraceError(
      'invalid_option',
      'The document names no absolute server: give baseUrl.',
    );
  }
  const { title = 'api' } = (document.info ?? {}) as { title?: string };
  const identifier = options.identifier ?? title;
  const filter = options.filter ?? (() => true);
  const found = operationsOf(document).filter(({ id, method, path }) =>
    filter({ operationId: id, method, path }),
  );
  if (found.length > mostTools) {
    throw new MillraceError(
      'invalid_option',
      `The document has ${found.length} operations: choose at most ${mostTools} with filter.`,
    );
  }
  return found.map((operation) => toolOf(operation, identifier, base, options));
}

function toolOf(
  operation: Operation,
  identifier: string,
  base: string,
  options: OpenApiOptions,
): HostTool {
  const isReading = reading.has(operation.method);
  const effect: ToolEffect = isReading
    ? 'read'
    : operation.method === 'put'
      ? 'idempotent'
      : 'once';
  return {
    name: wireName(identifier, operation.id),
    description: operation.description,
    input: operation.input,
    effect,
    approve: options.approve ?? !isReading,
    run: (input: never, { signal }: { signal?: AbortSignal } = {}) =>
      callOperation(operation, identifier, base, input ?? {}, options, signal),
  };
}

async function callOperation(
  operation: Operation,
  identifier: string,
  base: string,
  input: Json,
  options: OpenApiOptions,
  signal: AbortSignal | undefined,
): Promise<HttpToolResult> {
  const headers: Record<string, string> = { Accept: 'application/json, text/*;q=0.8' };
  const query = new URLSearchParams();
  let { path } = operation;
  for (const { name, in: place } of operation.parameters) {
    const value = input[name];
    if (value === undefined || value === null) continue;
    const values = Array.isArray(value) ? value.map(textOf) : [textOf(value)];
    const text = values.join();
    if (place === 'path') {
      // A dot segment would leave the operation's path.
      if (/^\.{1,2}$/.test(text) || text === '') {
        return failed('invalid_argument', `'${text}' cannot stand in the path as ${name}.`);
      }
      path = path.replaceAll(`{${name}}`, encodeURIComponent(text));
    } else if (place === 'query') {
      for (const one of values) query.append(name, one);
    } else if (place === 'header' && /^[\x20-\x7e]*$/.test(text)) {
      headers[name] = text;
    }
  }
  const body =
    operation.bodyType && input.body !== undefined ? JSON.stringify(input.body) : undefined;
  if (body !== undefined) headers['Content-Type'] = operation.bodyType ?? 'application/json';
  const search = query.size > 0 ? `?${query.toString()}` : '';
  return send(
    {
      identifier,
      apiName: operation.id,
      method: operation.method.toUpperCase(),
      url: `${base.replace(/\/+$/, '')}${path}${search}`,
      headers,
      body,
      signal,
    },
    options,
  );
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

function operationsOf(document: Json): Operation[] {
  const found: Operation[] = [];
  for (const [path, item] of Object.entries((document.paths ?? {}) as Record<string, Json>)) {
    const common = resolved(document, item);
    for (const method of methods) {
      const operation = common[method] as Json | undefined;
      if (!operation) continue;
      const { operationId } = operation;
      const id = typeof operationId === 'string' ? operationId : `${method}_${path}`;
      const description = [operation.summary, operation.description].filter(Boolean).join('. ');
      found.push({
        id,
        method,
        path,
        description: description || `${method.toUpperCase()} ${path}`,
        ...inputOf(document, common, operation),
      });
    }
  }
  return found;
}

function inputOf(
  document: Json,
  item: Json,
  operation: Json,
): Pick<Operation, 'parameters' | 'bodyType' | 'input'> {
  const named = new Map<string, Json>();
  for (const one of [...listOf(item.parameters), ...listOf(operation.parameters)]) {
    const parameter = resolved(document, one);
    named.set(`${String(parameter.in)} ${String(parameter.name)}`, parameter);
  }
  const properties: Json = {};
  const required: string[] = [];
  const parameters: Operation['parameters'] = [];
  for (const parameter of named.values()) {
    const name = String(parameter.name);
    const place = String(parameter.in);
    if (place === 'cookie') continue;
    const isRequired = parameter.required === true || place === 'path';
    parameters.push({ name, in: place, required: isRequired });
    const schema = expanded(document, parameter.schema ?? {}) as Json;
    const told = parameter.description ? { description: parameter.description } : {};
    properties[name] = { ...schema, ...told };
    if (isRequired) required.push(name);
  }
  const content = Object.entries(
    (resolved(document, operation.requestBody ?? {}).content ?? {}) as Json,
  );
  const [bodyType, body] = content.find(([type]) => /\bjson\b/.test(type)) ?? [];
  if (bodyType !== undefined) {
    properties.body = expanded(document, (body as Json).schema ?? {});
    if (resolved(document, operation.requestBody).required === true) required.push('body');
  }
  const input = { type: 'object', properties, required, additionalProperties: false };
  return { parameters, bodyType, input };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

// A reference within the document; others are not followed.
function target(document: Json, reference: string): unknown {
  if (!reference.startsWith('#/')) return {};
  let at: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    at = typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? (at as Json)[key] : {};
  }
  return at;
}

function resolved(document: Json, value: unknown, depth = 0): Json {
  const { $ref: reference } = (value ?? {}) as { $ref?: unknown };
  if (typeof reference !== 'string' || depth > 20) return (value ?? {}) as Json;
  return resolved(document, target(document, reference), depth + 1);
}

// A schema without references. One that holds itself ends in "anything".
function expanded(document: Json, value: unknown, open: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((one) => expanded(document, one, open));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref: reference, nullable, ...rest } = value as Json;
  if (typeof reference === 'string') {
    const most = 12;
    if (open.includes(reference) || open.length > most) return {};
    return expanded(document, target(document, reference), [...open, reference]);
  }
  const schema: Json = {};
  for (const [key, member] of Object.entries(rest)) {
    if (key !== 'example' && key !== 'xml' && key !== 'discriminator') {
      schema[key] = expanded(document, member, open);
    }
  }
  // OpenAPI 3.0 says so what JSON Schema says by a type.
  if (nullable === true && typeof schema.type === 'string') schema.type = [schema.type, 'null'];
  return schema;
}
