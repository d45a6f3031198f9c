// What an OpenAPI document (3.0 and 3.1) says of its operations: where they are, and what they take.
import { MillraceError } from '../errors';
import { expanded, type Json, resolved } from './openapi-schema';

/** Where one argument of an operation goes. */
export interface OpenApiParameter {
  name: string;
  in: string;
  /** Its name among the arguments. */
  argument: string;
  style: string | undefined;
  explode: boolean | undefined;
}

export interface OpenApiOperation {
  id: string;
  method: string;
  path: string;
  /** The operation's address without its path; undefined when no server is named. */
  server: string | undefined;
  description: string;
  parameters: OpenApiParameter[];
  body: OpenApiBody | undefined;
  input: object;
}

export interface OpenApiBody {
  type: string;
  /** How members of a form are written, by their names. */
  encoding: Record<string, { style?: unknown; explode?: unknown } | undefined>;
}

const methods = ['get', 'put', 'post', 'delete', 'head', 'patch'];

/** The document of `openApiTools`, given as an object or as JSON text. */
export function documentOf(given: unknown): Json {
  const wrong = (what: string): never => {
    throw new MillraceError('invalid_option', what);
  };
  let document = given;
  if (typeof given === 'string') {
    try {
      document = JSON.parse(given);
    } catch {
      return wrong('The document is a text that is no JSON: give it as an object.');
    }
  }
  if (typeof document !== 'object' || document === null) {
    return wrong('openApiTools() needs `document`: an OpenAPI document as an object.');
  }
  const { openapi } = document as Json;
  if (/^3\.[01]/.test(String(openapi))) return document as Json;
  return wrong('openApiTools() reads OpenAPI 3.0 and 3.1.');
}

/** All operations that can be called; one whose body must be of a type that is not known cannot. */
export function operationsOf(document: Json): OpenApiOperation[] {
  const found: OpenApiOperation[] = [];
  for (const [path, item] of Object.entries((document['paths'] ?? {}) as Json)) {
    const common = resolved(document, item);
    for (const method of methods) {
      const operation = common[method] as Json | undefined;
      if (typeof operation !== 'object' || operation === null) continue;
      const read = inputOf(document, common, operation);
      if (!read) continue;
      const { operationId, summary, description } = operation;
      const told = [summary, description].filter(Boolean).join('. ');
      found.push({
        id:
          typeof operationId === 'string' && operationId !== '' ? operationId : `${method}_${path}`,
        method,
        path,
        server:
          serverOf(operation['servers']) ??
          serverOf(common['servers']) ??
          serverOf(document['servers']),
        description: told || `${method.toUpperCase()} ${path}`,
        ...read,
      });
    }
  }
  return found;
}

// The first of a list, its variables filled with their defaults.
function serverOf(servers: unknown): string | undefined {
  const [first] = listOf(servers) as ({ url?: unknown; variables?: unknown } | null)[];
  if (typeof first?.url !== 'string') return undefined;
  const variables = (first.variables ?? {}) as Record<string, { default?: unknown } | undefined>;
  return first.url.replace(/\{([^}]*)\}/g, (all, name: string) => {
    const value = Object.hasOwn(variables, name) ? variables[name]?.default : undefined;
    return typeof value === 'string' ? value : all;
  });
}

function inputOf(
  document: Json,
  item: Json,
  operation: Json,
): Pick<OpenApiOperation, 'parameters' | 'body' | 'input'> | undefined {
  const named = new Map<string, Json>();
  for (const one of [...listOf(item['parameters']), ...listOf(operation['parameters'])]) {
    const parameter = resolved(document, one);
    const { in: place, name } = parameter;
    if (typeof name !== 'string' || typeof place !== 'string' || place === 'cookie') continue;
    named.set(`${place} ${name}`, parameter);
  }
  const properties: Json = {};
  const required: string[] = [];
  const requestBody = resolved(document, operation['requestBody']);
  const chosen = bodyOf(requestBody);
  if (requestBody['required'] === true && !chosen) return undefined;
  if (chosen) properties['body'] = expanded(document, chosen.schema);
  const parameters = [...named.values()].map((parameter): OpenApiParameter => {
    const { name, in: place, style, explode } = parameter as Json & { name: string; in: string };
    // Parameters of two places may share a name.
    const argument = Object.hasOwn(properties, name) ? `${name}_${place}` : name;
    const schema = expanded(document, schemaOf(parameter)) as Json;
    const { description } = parameter;
    properties[argument] = { ...schema, ...(description ? { description } : {}) };
    if (parameter['required'] === true || place === 'path') required.push(argument);
    return {
      name,
      in: place,
      argument,
      style: typeof style === 'string' ? style : undefined,
      explode: typeof explode === 'boolean' ? explode : undefined,
    };
  });
  if (requestBody['required'] === true) required.push('body');
  const input = { type: 'object', properties, required, additionalProperties: false };
  const body = chosen && { type: chosen.type, encoding: chosen.encoding };
  return { parameters, body, input };
}

// A parameter says what it holds by a schema, or by a type of content.
function schemaOf(parameter: Json): unknown {
  const [content] = Object.values((parameter['content'] ?? {}) as Json) as (Json | null)[];
  return parameter['schema'] ?? content?.['schema'] ?? {};
}

// The types that a body can be written in, the best first.
const bodyTypes = [
  /\bjson\b/,
  /^application\/x-www-form-urlencoded\b/,
  /^multipart\/form-data\b/,
  /^\*\/\*|^application\/\*/,
  /^text\//,
];

function bodyOf(requestBody: Json): (OpenApiBody & { schema: unknown }) | undefined {
  const content = Object.entries((requestBody['content'] ?? {}) as Json);
  for (const known of bodyTypes) {
    const [type, media] = content.find(([one]) => known.test(one)) ?? [];
    if (type === undefined) continue;
    const { schema = {}, encoding = {} } = (media ?? {}) as Json;
    const told = type.startsWith('text/') ? { type: 'string', ...(schema as Json) } : schema;
    return { type, schema: told, encoding: encoding as OpenApiBody['encoding'] };
  }
  return undefined;
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
