// OpenAPI documents (3.0 and 3.1) as sources of tools: one tool an operation.
import { MillraceError } from '../errors';
import { kindOf, shownText } from '../shown';
import { checkSpelling } from '../known-names';
import { engineAnswer } from './engine-answer';
import type { HttpToolOptions, HttpToolResult } from './http-tools';
import { failed, httpToolOptions, send } from './http-tools';
import { type Operation, operationsOf } from './openapi-document';
import { operationRequest } from './openapi-request';
import { type Json, objectOf } from './openapi-schema';
import { wireNames } from './plugins';
import { allowedOf, namesOfTool, policyOptions, type ToolPolicy } from './tool-policy';
import type { RunnableTool, ToolEffect } from './types';

type OpenApiTool = RunnableTool<Record<string, unknown>, Promise<HttpToolResult>>;

export interface OpenApiOptions extends HttpToolOptions, ToolPolicy {
  /** The document as an object, or its JSON text. */
  document: object | string;
  /** Names the tools; the document's title when absent. */
  identifier?: string;
  /** Replaces the document's servers. */
  baseUrl?: string;
  /** Which operations become tools; all when absent. */
  filter?: (operation: { operationId: string; method: string; path: string }) => boolean;
  /** Whether a person is asked; writing operations ask when absent. */
  approval?: boolean;
}

const reading = new Set(['get', 'head']);
const mostTools = 128;

function invalid(message: string): never {
  throw new MillraceError('invalid_option', message);
}

function documentOf(given: unknown): Json {
  let document = given;
  if (typeof given === 'string') {
    try {
      document = JSON.parse(given);
    } catch {
      invalid('The document is a string but not JSON: give it as an object.');
    }
  }
  if (typeof document !== 'object' || document === null) {
    invalid(
      `openApiTools() needs \`document\`: an OpenAPI document as an object, not ${kindOf(document)}.`,
    );
  }
  const { openapi } = document as Json;
  if (!/^3\.[01]/.test(String(openapi)))
    invalid(`openApiTools() reads OpenAPI 3.0 and 3.1, not ${shownText(String(openapi))}.`);
  return document as Json;
}

const openApiOptions: readonly string[] = [
  ...httpToolOptions,
  ...policyOptions,
  ...([
    'document',
    'identifier',
    'baseUrl',
    'filter',
    'approval',
  ] satisfies (keyof OpenApiOptions)[]),
];

/** Makes a tool of each operation. Throws `invalid_option` for a document that cannot be used. */
export function openApiTools(options: OpenApiOptions): OpenApiTool[] {
  const document = documentOf((options as OpenApiOptions | undefined)?.document);
  checkSpelling('openApiTools()', options, openApiOptions);
  const { title } = objectOf(document.info);
  const identifier = options.identifier ?? (typeof title === 'string' ? title : 'api');
  const filter = options.filter ?? (() => true);
  const found = operationsOf(document).filter(({ id, method, path }) =>
    filter({ operationId: id, method, path }),
  );
  const names = wireNames(
    identifier,
    // An id that was made of the path reads better so.
    found.map(({ id }) => id.replace(/^([a-z]+_)\//, '$1')),
  );
  const named = found.map((operation, index) => ({ operation, name: names[index] ?? '' }));
  const shown = allowedOf(named, options, ({ operation, name }) => namesOfTool(operation.id, name));
  if (shown.length > mostTools) {
    invalid(
      `The document has ${shown.length} operations: choose at most ${mostTools} with allow, deny or filter.`,
    );
  }
  for (const { operation } of shown) checkReferences(operation);
  return shown.map(({ operation, name }) =>
    toolOf(operation, name, identifier, baseOf(operation, options), options),
  );
}

function checkReferences({ id, method, lost }: Operation): void {
  if (lost.length === 0) return;
  const what = method === '' ? `The path ${id} is` : `${id} takes`;
  invalid(
    `${what} ${lost.map((reference) => `'${reference}'`).join(' and ')}, which is not in the document: ` +
      'bundle its files into one, correct the reference, or leave the operation out with deny or filter.',
  );
}

function baseOf({ server, id }: Operation, { baseUrl }: OpenApiOptions): string {
  const base = baseUrl ?? server;
  if (base !== undefined && /^https?:\/\/[^{}]*$/.test(base)) return base;
  const what = base?.includes('{')
    ? 'a server whose variables have no default'
    : 'no absolute server';
  return invalid(`The document has ${what} for ${id}: give baseUrl.`);
}

function wrongArguments(schema: object, value: unknown): string {
  try {
    return engineAnswer<string>('checkSchema', { schema, value: value ?? {} });
  } catch {
    // A schema that cannot be read is the API's to check.
    return '';
  }
}

function toolOf(
  operation: Operation,
  name: string,
  identifier: string,
  base: string,
  options: OpenApiOptions,
): OpenApiTool {
  const isReading = reading.has(operation.method);
  const effect: ToolEffect = isReading
    ? 'read'
    : operation.method === 'put'
      ? 'idempotent'
      : 'once';
  return {
    name,
    description: operation.description,
    input: operation.input,
    effect,
    approval: options.approval ?? !isReading,
    async run(input, { signal } = {}) {
      const wrong = wrongArguments(operation.input, input);
      if (wrong !== '') {
        return failed('invalid_argument', `The arguments of ${name} are not valid: ${wrong}`);
      }
      const call = { identifier, apiName: operation.id, signal };
      try {
        const request = await operationRequest(operation, base, input ?? {});
        return await send({ ...call, ...request }, options);
      } catch (error) {
        if (!MillraceError.is(error, 'invalid_argument')) throw error;
        return failed(error.code, error.message);
      }
    },
  };
}
