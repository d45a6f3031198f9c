// A runtime whose routes are served by the engine or answered for a host's own server, and a client that compares each
// JSON answer with the OpenAPI document.
import Ajv, { type ValidateFunction } from 'ajv';
import {
  createAgent,
  createRuntime,
  type AgentFunction,
  type Runtime,
  type RuntimeOptions,
} from 'millrace';

/* eslint-disable @typescript-eslint/no-explicit-any */

/** JSON of an answer. */
export type Json = any;

/** How a runtime's routes are reached: a test that runs for each shows that both hosts have one table. */
export const hosts = ['listen', 'fetch'] as const;
export type HostName = (typeof hosts)[number];

export interface Call {
  method?: string;
  headers?: Record<string, string>;
  /** JSON, or a body as it is. */
  json?: unknown;
  body?: string | Uint8Array | FormData;
  signal?: AbortSignal;
}

export interface Api {
  readonly runtime: Runtime;
  /** Of the engine's server; what requests of the other host name. */
  readonly url: string;
  send(path: string, call?: Call): Promise<Response>;
  /** The JSON of an answer that has this status and fits the document. */
  json(path: string, status: number, call?: Call): Promise<Json>;
}

export interface ApiSetUp extends Partial<Omit<RuntimeOptions, 'api'>> {
  api?: NonNullable<RuntimeOptions['api']>;
  /** Answers chats; echoes where it is absent. */
  agent?: AgentFunction | Parameters<typeof createAgent>[0];
  /** Of the engine's server. */
  listen?: Parameters<Runtime['listen']>[0];
  /** What else the runtime has. */
  prepare?: (runtime: Runtime) => void;
}

/** The key of the tests that have one. */
export const key = 'the-key-of-the-tests';
export const withKey = { 'X-Millrace-API-Key': key };

const closers: (() => Promise<void>)[] = [];

/** Ends what a test started. */
export async function cleanUp(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

export async function serve(host: HostName, setUp: ApiSetUp = {}): Promise<Api> {
  const { agent, prepare, listen, api = {}, storage = 'memory', ...options } = setUp;
  // Requests that a host passes on always need a key.
  const needsKey = host === 'fetch' && api.keys === undefined;
  const keyed = needsKey ? { ...api, keys: [{ key }] } : api;
  const runtime = createRuntime({ storage, api: keyed, ...options });
  if (typeof agent === 'object') createAgent({ ...agent, runtime, name: 'agent' });
  else runtime.agent('agent', agent ?? (({ text }) => Promise.resolve(`echo: ${text}`)));
  prepare?.(runtime);
  closers.push(() => runtime.close({ drainMs: 100 }));
  const answer = needsKey ? withTheKey(runtime.fetch) : runtime.fetch;
  if (host === 'fetch') return apiOf(runtime, 'http://localhost:80', answer);
  const server = await runtime.listen({ port: 0, ...listen });
  closers.push(() => server.close({ drainMs: 100 }));
  return apiOf(runtime, `http://127.0.0.1:${server.port}`, fetch);
}

function withTheKey(answer: Runtime['fetch']): Runtime['fetch'] {
  return (request) => {
    request.headers.set('X-Millrace-API-Key', key);
    return answer(request);
  };
}

function apiOf(
  runtime: Runtime,
  url: string,
  answer: (request: Request) => Promise<Response>,
): Api {
  let document: Promise<Json> | undefined;
  const send: Api['send'] = (path, call = {}) => answer(requestOf(url + path, call));
  const json: Api['json'] = async (path, status, call = {}) => {
    const response = await send(path, call);
    const text = await response.text();
    if (response.status !== status) {
      throw new Error(`${call.method ?? 'GET'} ${path.slice(0, 80)}: ${response.status} ${text}`);
    }
    document ??= send('/openapi.json').then((answered) => answered.json());
    const value: Json = JSON.parse(text);
    checkAnswer(await document, call.method ?? 'GET', path, status, value);
    return value;
  };
  return { runtime, url, send, json };
}

function requestOf(url: string, { json, body, headers = {}, method, signal }: Call): Request {
  const sent = json === undefined ? body : JSON.stringify(json);
  const type = json === undefined ? {} : { 'content-type': 'application/json' };
  return new Request(url, {
    method: method ?? 'GET',
    headers: { ...type, ...headers },
    ...(sent !== undefined && { body: sent, duplex: 'half' }),
    ...(signal && { signal }),
  });
}

// OpenAPI 3.0 has `nullable` beside $ref, too; JSON Schema has unions with null.
function jsonSchema(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(jsonSchema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, ...rest } = schema;
  const read = Object.fromEntries(
    Object.entries(rest).map(([name, value]) => [
      name,
      name === '$ref' ? `doc${String(value)}` : jsonSchema(value),
    ]),
  );
  return nullable === true ? { anyOf: [{ type: 'null' }, read] } : read;
}

const validators = new Map<string, ValidateFunction>();

function validatorOf(document: Json, schema: Json): ValidateFunction {
  const name = JSON.stringify(schema);
  const known = validators.get(name);
  if (known) return known;
  const ajv = new Ajv({ strict: false, allErrors: true });
  ajv.addSchema({ $id: 'doc', components: jsonSchema(document.components) });
  const made = ajv.compile(jsonSchema(schema));
  validators.set(name, made);
  return made;
}

/** The operation of the document that answers this path. */
export function operationOf(document: Json, method: string, path: string): Json {
  const given = path.split('?')[0]?.split('/') ?? [];
  const paths: string[] = Object.keys(document.paths);
  const fits = (template: string): boolean => {
    const parts = template.split('/');
    return (
      parts.length === given.length &&
      parts.every((part, at) => part.startsWith('{') || part === given[at])
    );
  };
  const found = paths.find((template) => template === given.join('/')) ?? paths.find(fits);
  return found === undefined ? undefined : document.paths[found][method.toLowerCase()];
}

function checkAnswer(
  document: Json,
  method: string,
  path: string,
  status: number,
  value: Json,
): void {
  const operation = operationOf(document, method, path);
  if (!operation) throw new Error(`the document has no ${method} ${path}`);
  const response = operation.responses[String(status)] ?? operation.responses['default'];
  const schema = response?.content?.['application/json']?.schema;
  if (!schema) throw new Error(`the document does not describe ${method} ${path}: ${status}`);
  const validate = validatorOf(document, schema);
  if (validate(value)) return;
  const faults = (validate.errors ?? []).map((one) => `${one.instancePath} ${one.message}`);
  throw new Error(`${method} ${path}: ${faults.join('; ')}\n${JSON.stringify(value, null, 1)}`);
}

/** A frame of a stream. */
export interface Frame {
  id: string;
  event: string;
  data: Json;
}

/** Frames that are complete; comments are left out. */
export function framesIn(text: string): Frame[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((block) => new Map(block.split('\n').map((line) => fieldOf(line))))
    .filter((fields) => fields.has('data'))
    .map((fields) => ({
      id: fields.get('id') ?? '',
      event: fields.get('event') ?? '',
      data: JSON.parse(fields.get('data') ?? 'null'),
    }));
}

function fieldOf(line: string): [string, string] {
  const colon = line.indexOf(': ');
  return [line.slice(0, colon), line.slice(colon + 2)];
}

/** Promises that a test settles, which agents wait for. */
export class Gate {
  #open: () => void = () => undefined;
  readonly opened = new Promise<void>((resolve) => (this.#open = resolve));

  open(): void {
    this.#open();
  }

  /** Rejects where the run is stopped. */
  wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      void this.opened.then(resolve);
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }
}

/** The job when it has ended. */
export async function ended(api: Api, id: string, headers = {}): Promise<Json> {
  for (;;) {
    const job: Json = await api.json(`/api/v1/chat/jobs/${id}`, 200, { headers });
    if (!['queued', 'running'].includes(job.status)) return job;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export async function startJob(api: Api, json: unknown, headers = {}): Promise<Json> {
  return api.json('/api/v1/chat/jobs', 202, { method: 'POST', json, headers });
}

/** The job of a message, ended. */
export async function runJob(api: Api, message: unknown, more: object = {}): Promise<Json> {
  return ended(api, (await startJob(api, { message, ...more })).job_id);
}
