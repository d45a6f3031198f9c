// OpenAPI documents (3.0 and 3.1) as sources of tools: one tool an operation.
import { MillraceError } from '../errors';
import type { HttpToolOptions, HttpToolResult } from './http-tools';
import { failed, send } from './http-tools';
import type { OpenApiBody, OpenApiOperation, OpenApiParameter } from './openapi-document';
import { documentOf, operationsOf } from './openapi-document';
import type { Json } from './openapi-schema';
import { wireName } from './plugins';
import type { HostTool, ToolEffect } from './tools';

export interface OpenApiOptions extends HttpToolOptions {
  /** The document as an object, or its JSON text. */
  document: object | string;
  /** Names the tools; the document's title when absent. */
  identifier?: string;
  /** Replaces the servers that the document names. */
  baseUrl?: string;
  /** Which operations become tools; all when absent. */
  filter?: (operation: { operationId: string; method: string; path: string }) => boolean;
  /** Whether a person is asked; writing operations ask when absent. */
  approve?: boolean;
}

const reading = new Set(['get', 'head']);
const mostTools = 128;

/** Makes a tool of each operation. Throws `invalid_option` for a document that cannot be used. */
export function openApiTools(options: OpenApiOptions): HostTool[] {
  const document = documentOf(options?.document);
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
  const { title } = (document['info'] ?? {}) as { title?: unknown };
  const label = typeof title === 'string' && title !== '' ? title : 'api';
  // A title of plain words stays readable.
  const identifier =
    options.identifier ?? (/^[ -~]+$/.test(label) ? label.replace(/[^\w-]+/g, '_') : label);
  const names = new Set<string>();
  return found.map((operation) => {
    const { id, method, path } = operation;
    const own = wireName(identifier, id.replace(/^([a-z]+_)\//, '$1'));
    const name = names.has(own) ? wireName(identifier, `${method} ${path}`) : own;
    names.add(name);
    const base = options.baseUrl ?? operation.server;
    if (base === undefined || !/^https?:\/\/[^{}]*$/.test(base)) {
      throw new MillraceError(
        'invalid_option',
        'The document names no absolute server: give baseUrl.',
      );
    }
    return toolOf(operation, { name, identifier, base }, options);
  });
}

interface Place {
  name: string;
  identifier: string;
  base: string;
}

function toolOf(operation: OpenApiOperation, place: Place, options: OpenApiOptions): HostTool {
  const isReading = reading.has(operation.method);
  const effect: ToolEffect = isReading
    ? 'read'
    : operation.method === 'put'
      ? 'idempotent'
      : 'once';
  return {
    name: place.name,
    description: operation.description,
    input: operation.input,
    effect,
    approve: options.approve ?? !isReading,
    run: (input: never, { signal }: { signal?: AbortSignal } = {}) =>
      callOperation(operation, place, input ?? {}, options, signal),
  };
}

async function callOperation(
  operation: OpenApiOperation,
  { identifier, base }: Place,
  input: Json,
  options: OpenApiOptions,
  signal: AbortSignal | undefined,
): Promise<HttpToolResult> {
  const headers: Record<string, string> = { Accept: 'application/json, text/*;q=0.8' };
  const query = new URLSearchParams();
  let { path } = operation;
  for (const parameter of operation.parameters) {
    const { name, in: place, argument } = parameter;
    const value = input[argument];
    if (value === undefined || value === null) continue;
    const text = (Array.isArray(value) ? value.map(textOf) : [textOf(value)]).join();
    if (place === 'path') {
      // A dot segment would leave the operation's path.
      if (/^\.{1,2}$/.test(text) || text === '') {
        return failed('invalid_argument', `'${text}' cannot stand in the path as ${name}.`);
      }
      path = path.replaceAll(`{${name}}`, encodeURIComponent(text));
    } else if (place === 'query') {
      appendPairs(query, name, value, parameter);
    } else if (place === 'header' && /^[\x20-\x7e]*$/.test(text)) {
      headers[name] = text;
    }
  }
  const body = operation.body && (await written(operation.body, input['body']));
  if (body) headers['Content-Type'] = body.type;
  const search = query.size > 0 ? `?${query.toString()}` : '';
  return send(
    {
      identifier,
      apiName: operation.id,
      method: operation.method.toUpperCase(),
      url: `${base.replace(/\/+$/, '')}${path}${search}`,
      headers,
      body: body?.text,
      signal,
    },
    options,
  );
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

// A value as pairs of a query or a form: lists by repetition or with commas, deep objects in brackets.
function appendPairs(
  pairs: URLSearchParams | FormData,
  name: string,
  value: unknown,
  { style, explode }: Partial<Pick<OpenApiParameter, 'style' | 'explode'>>,
): void {
  if (style === 'deepObject' && typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      if (one !== undefined) appendPairs(pairs, `${name}[${key}]`, one, { style });
    }
  } else if (Array.isArray(value) && explode !== false) {
    for (const one of value) pairs.append(name, textOf(one));
  } else {
    pairs.append(name, Array.isArray(value) ? value.map(textOf).join() : textOf(value));
  }
}

// The body in the type that the operation takes.
async function written(
  { type, encoding }: OpenApiBody,
  value: unknown,
): Promise<{ type: string; text: string } | undefined> {
  if (value === undefined) return undefined;
  if (type.startsWith('text/')) return { type, text: textOf(value) };
  const isForm = type.startsWith('multipart/');
  if (!isForm && !type.includes('x-www-form-urlencoded')) {
    return { type: type.includes('*') ? 'application/json' : type, text: JSON.stringify(value) };
  }
  const pairs = isForm ? new FormData() : new URLSearchParams();
  for (const [name, one] of Object.entries(Object(value) as Json)) {
    if (one === undefined || one === null) continue;
    const { style, explode } = encoding[name] ?? {};
    appendPairs(pairs, name, one, {
      style: typeof style === 'string' ? style : undefined,
      explode: typeof explode === 'boolean' ? explode : undefined,
    });
  }
  if (pairs instanceof URLSearchParams) return { type, text: pairs.toString() };
  const encoded = new Response(pairs);
  return { type: encoded.headers.get('content-type') ?? type, text: await encoded.text() };
}
