// What an OpenAPI document says of its operations: where they are, what they take, how that is sent.
import {
  type Json,
  ToolSchemas,
  freeName,
  isFound,
  listOf,
  objectOf,
  plainKey,
  resolved,
} from './openapi-schema';

/** How a value becomes text. */
export interface Style {
  style?: string;
  explode?: boolean;
}

export interface Parameter extends Style {
  /** Its member of the tool's input. */
  key: string;
  name: string;
  in: 'path' | 'query' | 'header';
  /** Sent as JSON text. */
  isJson: boolean;
}

export type BodyKind = 'json' | 'form' | 'multipart' | 'text';

export interface Body {
  type: string;
  kind: BodyKind;
  /** Of the members of a form. */
  styles: Record<string, Style>;
  /** The members of a form that are files. */
  files: ReadonlySet<string>;
}

export interface Operation {
  id: string;
  /** Empty for a path whose operations are not in the document. */
  method: string;
  path: string;
  /** The address that the path is below, when the document says one. */
  server: string | undefined;
  description: string;
  parameters: Parameter[];
  body: Body | undefined;
  /** JSON Schema. */
  input: object;
  /** References of what it takes that lead to nothing in the document. */
  lost: string[];
}

const methods = ['get', 'put', 'post', 'delete', 'head', 'patch'];
// Headers that OpenAPI takes from elsewhere.
const ownHeaders = new Set(['accept', 'authorization', 'content-type']);

export function operationsOf(document: Json): Operation[] {
  const found: { path: string; method: string; item: Json; operation: Json }[] = [];
  const lost: Operation[] = [];
  for (const [path, given] of Object.entries(objectOf(document.paths))) {
    const item = resolved(document, given);
    const { $ref: reference } = objectOf(given);
    if (typeof reference === 'string' && !isFound(document, given))
      lost.push(lostPath(path, reference));
    for (const method of methods) {
      if (item[method] === undefined || item[method] === null) continue;
      found.push({ path, method, item, operation: objectOf(item[method]) });
    }
  }
  const uses = new Map<unknown, number>();
  for (const { operation } of found) {
    uses.set(operation.operationId, (uses.get(operation.operationId) ?? 0) + 1);
  }
  const operations = found.map(({ path, method, item, operation }): Operation => {
    const { operationId } = operation;
    const isOwn = typeof operationId === 'string' && uses.get(operationId) === 1;
    const description = [operation.summary, operation.description].filter(Boolean).join('. ');
    return {
      id: isOwn ? operationId : `${method}_${path}`,
      method,
      path,
      server: serverOf([operation, item, document]),
      description: description || `${method.toUpperCase()} ${path}`,
      ...inputOf(document, item, operation),
    };
  });
  return [...operations, ...lost];
}

// Which operations a path has is not known where its item is lost: it stands for them.
function lostPath(path: string, reference: string): Operation {
  const none = { parameters: [], body: undefined, input: {}, server: undefined, description: '' };
  return { ...none, id: path, method: '', path, lost: [reference] };
}

// The nearest that names one counts; its variables have their defaults.
function serverOf(places: Json[]): string | undefined {
  const servers = places.map((place) => listOf(place.servers)).find((list) => list.length > 0);
  const { url, variables } = objectOf(servers?.[0]);
  if (typeof url !== 'string') return undefined;
  return url.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const { default: value } = objectOf(objectOf(variables)[name]);
    return typeof value === 'string' || typeof value === 'number' ? String(value) : whole;
  });
}

function inputOf(
  document: Json,
  item: Json,
  operation: Json,
): Pick<Operation, 'parameters' | 'body' | 'input' | 'lost'> {
  const schemas = new ToolSchemas(document);
  const properties: [string, Json][] = [];
  const required: string[] = [];
  const request = resolved(document, operation.requestBody);
  const described = bodyOf(document, schemas, request);
  const taken = new Set(described && ['body']);
  const parameters: Parameter[] = [];
  for (const { parameter, declared: received } of parametersOf(document, item, operation)) {
    const key = freeName(plainKey(parameter.name), taken, `_${parameter.in}`);
    parameters.push({ ...parameter, key });
    const schema = schemas.read(received.schema ?? objectOf(contentOf(received)[0]?.[1]).schema);
    if (typeof received.description === 'string') schema.description = received.description;
    properties.push([key, schema]);
    if (received.required === true || parameter.in === 'path') required.push(key);
  }
  if (described) {
    properties.push(['body', described.schema]);
    if (request.required === true) required.push('body');
  }
  const $defs = schemas.definitions();
  const input = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
    ...(Object.keys($defs).length > 0 && { $defs }),
  };
  return { parameters, body: described?.body, input, lost: lostIn(document, item, operation) };
}

// A request without them would be another one. Schemas that lead nowhere take any value instead.
function lostIn(document: Json, item: Json, operation: Json): string[] {
  const isNamed = (one: unknown): boolean => typeof resolved(document, one).name === 'string';
  const body = operation.requestBody;
  const given = [...listOf(item.parameters), ...listOf(operation.parameters)];
  const lost = given.filter((one) => !isNamed(one));
  if (!isFound(document, body)) lost.push(body);
  return lost.map((one) => objectOf(one).$ref).filter((reference) => typeof reference === 'string');
}

// Those of the operation replace those of its path.
function parametersOf(
  document: Json,
  item: Json,
  operation: Json,
): { parameter: Omit<Parameter, 'key'>; declared: Json }[] {
  const found = new Map<string, { parameter: Omit<Parameter, 'key'>; declared: Json }>();
  for (const one of [...listOf(item.parameters), ...listOf(operation.parameters)]) {
    const received = resolved(document, one);
    const { name, in: place } = received;
    if (typeof name !== 'string') continue;
    if (place !== 'path' && place !== 'query' && place !== 'header') continue;
    if (place === 'header' && ownHeaders.has(name.toLowerCase())) continue;
    const isJson =
      received.schema === undefined && jsonType.test(contentOf(received)[0]?.[0] ?? '');
    found.set(`${place} ${name}`, {
      parameter: { name, in: place, isJson, ...styleOf(received) },
      declared: received,
    });
  }
  return [...found.values()];
}

const contentOf = ({ content }: Json): [string, unknown][] => Object.entries(objectOf(content));

function styleOf({ style, explode }: Json): Style {
  return {
    ...(typeof style === 'string' && { style }),
    ...(typeof explode === 'boolean' && { explode }),
  };
}

const jsonType = /\bjson\b/i;

// The types that a body can be sent as, the best first. Of any other type it is sent as it is.
const kinds: [RegExp, BodyKind][] = [
  [jsonType, 'json'],
  [/^application\/x-www-form-urlencoded\b/i, 'form'],
  [/^multipart\//i, 'multipart'],
  [/^(application\/)?\*(\/\*)?$/, 'json'],
  [/^/, 'text'],
];

// What is sent for a range of types.
function concreteType(type: string, kind: BodyKind): string {
  if (!type.includes('*')) return type;
  if (kind === 'json') return 'application/json';
  return type.startsWith('text/') ? 'text/plain' : 'application/octet-stream';
}

function bodyOf(
  document: Json,
  schemas: ToolSchemas,
  request: Json,
): { body: Body; schema: Json } | undefined {
  const content = contentOf(request);
  for (const [pattern, kind] of kinds) {
    const [type, media] = content.find(([one]) => pattern.test(one)) ?? [];
    if (type === undefined) continue;
    const { schema, encoding } = objectOf(media);
    const styles = Object.entries(objectOf(encoding)).map(([name, one]) => [
      name,
      styleOf(objectOf(one)),
    ]);
    const body: Body = {
      type: concreteType(type, kind),
      kind,
      styles: Object.fromEntries(styles) as Record<string, Style>,
      files: filesOf(document, schema),
    };
    const described: Json = kind === 'text' ? { type: 'string' } : schemas.read(schema);
    if (typeof request.description === 'string') described.description ??= request.description;
    if (kind === 'text') described.description ??= `Sent as ${body.type}.`;
    return { body, schema: described };
  }
  return undefined;
}

function filesOf(document: Json, schema: unknown): ReadonlySet<string> {
  const { properties } = resolved(document, schema);
  const isFile = (given: unknown): boolean => {
    const { format, contentMediaType, items } = resolved(document, given);
    return format === 'binary' || contentMediaType !== undefined || (!!items && isFile(items));
  };
  return new Set(
    Object.entries(objectOf(properties))
      .filter(([, one]) => isFile(one))
      .map(([name]) => name),
  );
}
