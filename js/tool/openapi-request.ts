// One call of an OpenAPI operation as a request: parameters and bodies in the styles that its document names.
import { MillraceError } from '../errors';
import type { HttpToolRequest } from './http-tools';
import type { Body, BodyKind, Operation, Parameter, Style } from './openapi-document';
import { type Json, objectOf } from './openapi-schema';

type Pair = [name: string, text: string];
type Sent = Pick<HttpToolRequest, 'body' | 'headers'>;

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

const isCompound = (value: unknown): value is object => typeof value === 'object' && value !== null;

const delimiters: Record<string, string> = { spaceDelimited: ' ', pipeDelimited: '|' };

// A value below a name in brackets, however deep.
function bracketed(name: string, value: unknown): Pair[] {
  if (isAbsent(value)) return [];
  if (Array.isArray(value)) {
    return value.flatMap((one: unknown, at) =>
      bracketed(`${name}[${isCompound(one) ? at : ''}]`, one),
    );
  }
  if (!isCompound(value)) return [[name, textOf(value)]];
  return Object.entries(value).flatMap(([key, one]) => bracketed(`${name}[${key}]`, one));
}

function pairs(name: string, value: unknown, { style = 'form', explode }: Style): Pair[] {
  if (!isCompound(value)) return isAbsent(value) ? [] : [[name, textOf(value)]];
  if (style === 'deepObject') return bracketed(name, value);
  const isExploded = explode ?? style === 'form';
  const separator = delimiters[style] ?? ',';
  if (Array.isArray(value)) {
    const texts = value.map(textOf);
    return isExploded ? texts.map((text) => [name, text]) : [[name, texts.join(separator)]];
  }
  const members = Object.entries(value).map(([key, one]): Pair => [key, textOf(one)]);
  return isExploded ? members : [[name, members.flat().join(separator)]];
}

function rejectInput(sentence: string): never {
  throw new MillraceError('invalid_argument', sentence);
}

function pathOf({ path, parameters }: Operation, input: Json): string {
  let filled = path;
  for (const { key, name, in: place } of parameters) {
    if (place !== 'path') continue;
    const value = input[key];
    const text = isAbsent(value)
      ? ''
      : Array.isArray(value)
        ? value.map(textOf).join()
        : textOf(value);
    // A dot segment would leave the operation's path.
    if (/^\.{0,2}$/.test(text)) rejectInput(`'${text}' cannot stand in the path as ${key}.`);
    filled = filled.replaceAll(`{${name}}`, encodeURIComponent(text));
  }
  return filled;
}

function headerText({ key }: Parameter, value: unknown): string {
  const text = Array.isArray(value) ? value.map(textOf).join() : textOf(value);
  if (!/^[\x20-\x7e]*$/.test(text))
    rejectInput(`The header ${key} takes printable ASCII characters.`);
  return text;
}

function membersOf(value: unknown): [string, unknown][] {
  if (isCompound(value) && !Array.isArray(value)) return Object.entries(value);
  return rejectInput('The body of a form must be an object.');
}

function formOf(value: unknown, { styles }: Body): URLSearchParams {
  // Objects are JSON texts in a form that does not say otherwise.
  const pairsOf = ([name, one]: [string, unknown]): Pair[] =>
    isCompound(one) && !Array.isArray(one) && !styles[name]?.style
      ? [[name, textOf(one)]]
      : pairs(name, one, styles[name] ?? {});
  return new URLSearchParams(membersOf(value).flatMap(pairsOf));
}

async function multipartOf(value: unknown, { files, type }: Body): Promise<Sent> {
  const form = new FormData();
  for (const [name, given] of membersOf(value)) {
    for (const one of (Array.isArray(given) ? given : [given]) as unknown[]) {
      if (isAbsent(one)) continue;
      if (files.has(name)) form.append(name, new Blob([textOf(one)]), name);
      else form.append(name, textOf(one));
    }
  }
  const encoded = new Response(form);
  const made = encoded.headers.get('content-type') ?? type;
  return {
    headers: { 'Content-Type': made.replace(/^[^;]*/, type.replace(/;.*$/, '')) },
    body: new Uint8Array(await encoded.arrayBuffer()),
  };
}

const writers: Record<BodyKind, (value: unknown, body: Body) => Sent | Promise<Sent>> = {
  json: (value, { type }) => ({ headers: { 'Content-Type': type }, body: JSON.stringify(value) }),
  form: (value, body) => ({
    headers: { 'Content-Type': body.type },
    body: formOf(value, body).toString(),
  }),
  multipart: multipartOf,
  text: (value, { type }) => ({ headers: { 'Content-Type': type }, body: textOf(value) }),
};

/** The request of a call. Throws `invalid_argument` for arguments that cannot be sent. */
export async function operationRequest(
  operation: Operation,
  base: string,
  given: unknown,
): Promise<Pick<HttpToolRequest, 'method' | 'url' | 'headers' | 'body'>> {
  const input = objectOf(given);
  const headers: Record<string, string> = { Accept: 'application/json, text/*;q=0.8' };
  const query: Pair[] = [];
  for (const parameter of operation.parameters) {
    const { key, name, in: place, isJson } = parameter;
    const value = isJson && !isAbsent(input[key]) ? JSON.stringify(input[key]) : input[key];
    if (isAbsent(value)) continue;
    if (place === 'header') headers[name] = headerText(parameter, value);
    if (place === 'query') query.push(...pairs(name, value, parameter));
  }
  const { body } = operation;
  const sent =
    body && input.body !== undefined ? await writers[body.kind](input.body, body) : undefined;
  const search = query.length > 0 ? `?${new URLSearchParams(query).toString()}` : '';
  return {
    method: operation.method.toUpperCase(),
    url: `${base.replace(/\/+$/, '')}${pathOf(operation, input)}${search}`,
    headers: { ...headers, ...sent?.headers },
    body: sent?.body,
  };
}
