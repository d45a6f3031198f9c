// The document of the routes: valid, complete, and good enough for types of a client.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import SwaggerParser from '@apidevtools/swagger-parser';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { tool } from 'millrace';
import createClient from 'openapi-fetch';
import ts from 'typescript';

import { type Api, cleanUp, hosts, type Json, operationOf, runJob, serve } from './kit';

const generator = join(__dirname, '../../../node_modules/openapi-typescript/bin/cli.js');

afterEach(cleanUp);

const documentOf = async (host: (typeof hosts)[number]): Promise<Json> =>
  (await (await serve(host)).send('/openapi.json')).json();

describe.each(hosts)('the document (%s)', (host) => {
  it('is valid OpenAPI', async () => {
    const document = await documentOf(host);
    await SwaggerParser.validate(structuredClone(document));
    expect(document).toMatchObject({
      openapi: '3.0.3',
      info: { title: 'Undefined Runtime API', version: expect.any(String) },
    });
  });

  it('names the server as its reader reaches it', async () => {
    const api = await serve(host);
    const serverFor = async (headers: Record<string, string>): Promise<string> => {
      const { servers } = (await (await api.send('/openapi.json', { headers })).json()) as Json;
      return new URL(servers[0].url as string).protocol;
    };
    expect(await serverFor({})).toBe('http:');
    // The page that reads the document is another server's.
    expect(await serverFor({ origin: 'https://app.example' })).toBe('http:');
    expect(await serverFor({ 'x-forwarded-proto': 'https' })).toBe('https:');
  });

  it("has no error by Redocly's recommended rules", async () => {
    const source = JSON.stringify(await documentOf(host));
    const config = await createConfig({ extends: ['recommended'] });
    const found = await lintFromString({ source, config });
    const errors = found.filter(({ severity }) => severity === 'error');
    expect(errors.map(({ message, location }) => [message, location[0]?.pointer])).toEqual([]);
  });

  it('lists each tag of an operation once, with what it is about', async () => {
    const { paths, tags } = await documentOf(host);
    const operations = Object.values<Json>(paths).flatMap((path) => Object.values<Json>(path));
    const used = new Set(operations.flatMap((operation) => operation.tags));
    expect(tags.map((tag: Json) => tag.name)).toEqual([...used].sort());
    expect(tags.filter((tag: Json) => !/\S\.$/.test(tag.description))).toEqual([]);
    const tagOf = (path: string): string => paths[path].get.tags.join();
    expect(tagOf('/api/storage/get')).toBe('storage');
    expect(tagOf('/api/agent/stream')).toBe('agent');
    expect(tagOf('/trpc/lambda/{procedures}')).toBe('trpc');
    expect(tagOf('/health')).toBe('system');
  });

  it('describes operations, parameters and answers', async () => {
    const { paths } = await documentOf(host);
    const list = paths['/api/storage/artifacts'].get;
    expect(list.description).toBe(
      'Artifacts without their content. It needs a key with the scope `read`.',
    );
    expect(list.parameters[0]).toMatchObject({ name: 'name', description: 'A part of the title.' });
    const operations = Object.values<Json>(paths).flatMap((path) => Object.values<Json>(path));
    const described = operations.flatMap(({ parameters = [], responses, ...operation }) => [
      operation,
      ...parameters,
      ...Object.values<Json>(responses),
    ]);
    expect(described.filter(({ description }) => !/\S\.$/.test(description))).toEqual([]);
  });

  it('says what is absent, and what it would answer', async () => {
    const { responses } = (await documentOf(host)).paths['/api/v1/schedules'].get;
    expect(Object.keys(responses).sort()).toEqual(['200', '401', '503', 'default']);
    expect(responses['503'].description).toBe('This server does not have the service.');
    const api = await serve(host);
    const answer = { error: 'Scheduler unavailable' };
    for (const name of ['schedules', 'schedules/one', 'automations', 'automations/catalog']) {
      expect(await api.json(`/api/v1/${name}`, 503)).toEqual(answer);
    }
    const checked = { method: 'POST', json: {} };
    expect(await api.json('/api/v1/automations/validate', 503, checked)).toEqual(answer);
  });

  it('says which operations take the key as a bearer token', async () => {
    const { paths } = await documentOf(host);
    const either = [{ ApiKeyAuth: [] }, { BearerAuth: [] }];
    expect(paths['/metrics'].get.security).toEqual(either);
    expect(paths['/api/agent/run'].post.security).toEqual(either);
    expect(paths['/api/v1/chat'].post.security).toBeUndefined();
    expect(paths['/health'].get.security).toEqual([]);
  });

  it('describes each operation by its own name, with all it takes and answers', async () => {
    const document = await documentOf(host);
    const names = new Set<string>();
    for (const [path, operations] of Object.entries<Json>(document.paths)) {
      for (const [method, operation] of Object.entries<Json>(operations)) {
        const place = `${method} ${path}`;
        expect(`${place} ${operation.summary}`).toMatch(/\S\.$/);
        expect(`${place} ${names.has(operation.operationId)}`).toBe(`${place} false`);
        names.add(operation.operationId);
        const named = (operation.parameters ?? []).map((one: Json) => one.name);
        expect(named).toEqual(
          expect.arrayContaining([...path.matchAll(/\{(.*?)\}/g)].map((match) => match[1])),
        );
        const answers: [string, Json][] = Object.entries(operation.responses);
        for (const [status, { content }] of answers) {
          const isEmpty = ['204', '304', '416'].includes(status);
          expect(`${place} ${content === undefined}`).toBe(`${place} ${isEmpty}`);
        }
      }
    }
  });

  it('names each kind of body that its routes send', async () => {
    const api = await serve(host);
    const { paths } = await documentOf(host);
    const described = async (path: string, call: Parameters<Api['send']>[1] = {}) => {
      const response = await api.send(path, call);
      await response.arrayBuffer();
      const { responses } = operationOf({ paths }, call.method ?? 'GET', path);
      const { status } = response;
      const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
      const content = (responses[status] ?? {}).content ?? {};
      return [status, type, type in content || '*/*' in content];
    };
    const post = (json: unknown) => ({ method: 'POST', json });
    const stream = { headers: { accept: 'text/event-stream' } };
    const events = [200, 'text/event-stream', true];
    const chat = '/api/v1/chat';
    expect(await described(chat, post({ message: 'hello', stream: true }))).toEqual(events);
    const { job_id: job } = await runJob(api, 'more');
    expect(await described(`${chat}/jobs/${job}/events`, stream)).toEqual(events);
    const input = {
      threadId: 't',
      runId: 'r',
      messages: [{ id: 'm', role: 'user', content: 'x' }],
    };
    expect(await described('/agent', post(input))).toEqual(events);
    expect(await described('/agent/runs/r', stream)).toEqual(events);
    const { id } = (await api.json(`${chat}/conversations`, 200)).conversations[0];
    for (const [format, type] of Object.entries({
      jsonl: 'application/x-ndjson',
      markdown: 'text/markdown',
    })) {
      const exported = await described(`${chat}/conversations/${id}/export?format=${format}`);
      expect(exported).toEqual([200, type, true]);
    }
    const form = new FormData();
    form.append('file', new Blob(['milk, eggs']), 'list.txt');
    const file = await api.send(`${chat}/attachments`, { method: 'POST', body: form });
    const { attachment } = (await file.json()) as Json;
    const path: string = attachment.download_url;
    const part = (range: string) => described(path, { headers: { range } });
    expect(await described(path)).toEqual([200, 'text/plain', true]);
    expect(await part('bytes=0-3')).toEqual([206, 'text/plain', true]);
    expect((await part('bytes=99-'))[0]).toBe(416);
    const statuses = Object.keys(operationOf({ paths }, 'GET', path).responses);
    expect(statuses).toEqual(expect.arrayContaining(['200', '206', '304', '416', 'default']));
    expect(Object.keys(paths['/api/v1/session'].post.responses)).toContain('default');
  });

  it('has the events that say what a reader does not get', async () => {
    const { components } = await documentOf(host);
    const { schemas } = components;
    expect(schemas.JobEvents.properties.events.items.anyOf).toEqual(
      ['MessageResetEvent', 'GapEvent', 'JobEvent'].map((name) => ({
        $ref: `#/components/schemas/${name}`,
      })),
    );
    const membersOf = (name: string): unknown[] => {
      const { event, payload } = schemas[name].properties;
      return [event.enum, payload.required];
    };
    const common = ['job_id', 'conversation_id'];
    expect(membersOf('MessageResetEvent')).toEqual([['message_reset'], [...common, 'index']]);
    expect(membersOf('GapEvent')).toEqual([['gap'], [...common, 'after', 'first_seq']]);
  });

  it('has schemas that are all used', async () => {
    const document = await documentOf(host);
    const used = new Set(
      [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
        (match) => match[1],
      ),
    );
    expect(Object.keys(document.components.schemas).sort()).toEqual([...used].sort());
  });
});

// Compiled against the types of the document, and run.
const client = `
  import type createClient from 'openapi-fetch';
  import type { components, paths } from './api';
  // Routes that also send streams are called for their JSON.
  type Client = ReturnType<typeof createClient<paths, 'application/json'>>;
  type Job = components['schemas']['Job'];
  type Events = paths['/api/v1/chat/jobs/{job_id}/events']['get'];
  type Log = Events['responses'][200]['content']['application/json'];
  export const query: Events['parameters']['query'] = { after: '3.1', deltas: '1' };
  export const seqOf = (log: Log): number => log.events[0]?.seq ?? log.last_seq;
  // @ts-expect-error: no job has this status
  export const wrong: Job['status'] = 'waiting';
  const given = <T>({ data, response }: { data?: T; response: Response }): T => {
    if (data === undefined) throw new Error('status ' + response.status);
    return data;
  };

  export async function use(client: Client) {
    const made = given(
      await client.POST('/api/v1/chat/conversations', { body: { title: 'of a client' } }),
    );
    const conversation_id: string = made.conversation.id;
    const body = { message: 'hello', conversation_id };
    let job: Job = given(await client.POST('/api/v1/chat/jobs', { body }));
    const path = { job_id: job.job_id };
    while (job.status === 'queued' || job.status === 'running') {
      job = given(await client.GET('/api/v1/chat/jobs/{job_id}', { params: { path } }));
    }
    const listed = given(await client.GET('/api/v1/chat/conversations'));
    const history = given(
      await client.GET('/api/v1/chat/history', { params: { query: { conversation_id, limit: 5 } } }),
    );
    const tools = given(await client.GET('/api/v1/tools'));
    const log = given(
      await client.GET('/api/v1/chat/jobs/{job_id}/events', { params: { path, query: { after: '0' } } }),
    );
    const rejected = await client.GET('/api/v1/chat/jobs/{job_id}', {
      params: { path: { job_id: 'none' } },
    });
    const text: string | undefined = rejected.error?.error;
    return {
      status: job.status,
      titles: listed.conversations.map(({ title }) => title),
      contents: history.items.map(({ content }) => content),
      tools: tools.count,
      seq: typeof seqOf(log),
      rejected: [rejected.response.status, typeof text],
    };
  }`;

// The diagnostics of the client beside the types of the document, and its JavaScript.
async function compiled(document: Json): Promise<{ faults: string[]; javascript: string }> {
  const file = join(mkdtempSync(join(tmpdir(), 'millrace-openapi-')), 'api.json');
  writeFileSync(file, JSON.stringify(document));
  const source = execFileSync(process.execPath, [generator, file], { encoding: 'utf8' });
  rmSync(dirname(file), { recursive: true });
  const at = (name: string): string => join(__dirname, name);
  const files: Record<string, string> = { [at('api.d.ts')]: source, [at('use.ts')]: client };
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [] },
    ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'] },
    ...{ module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
  };
  const compiler = ts.createCompilerHost(options);
  const read = compiler.getSourceFile.bind(compiler);
  compiler.fileExists = (name) => name in files || ts.sys.fileExists(name);
  compiler.readFile = (name) => files[name] ?? ts.sys.readFile(name);
  compiler.getSourceFile = (name, language) =>
    name in files ? ts.createSourceFile(name, files[name] ?? '', language) : read(name, language);
  const found = ts.getPreEmitDiagnostics(ts.createProgram([at('use.ts')], options, compiler));
  const plain = { module: ts.ModuleKind.CommonJS, target: ts.ScriptTarget.ES2022 };
  return {
    faults: found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
    javascript: ts.transpileModule(client, { compilerOptions: plain }).outputText,
  };
}

// What the client's fetch is: openapi-fetch passes a Request.
const fetchOf = (api: Api) => async (request: Request) =>
  api.send(request.url.replace(/^[a-z]+:\/\/[^/]+/, ''), {
    ...{ method: request.method, headers: Object.fromEntries(request.headers) },
    ...(request.body !== null && { body: await request.text() }),
  });

it('gives a client that is typed by it and reaches the routes of both hosts', async () => {
  const { faults, javascript } = await compiled(await documentOf('fetch'));
  expect(faults).toEqual([]);
  const loaded: { use?: (client: unknown) => Promise<unknown> } = {};
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  new Function('exports', javascript)(loaded);
  for (const host of hosts) {
    const api = await serve(host, {
      api: { tools: { enabled: true } },
      prepare: (runtime) => runtime.tools([tool({ name: 't', run: () => 'x' })]),
    });
    const used = await loaded.use?.(createClient({ baseUrl: api.url, fetch: fetchOf(api) }));
    expect(used).toEqual({
      status: 'done',
      titles: expect.arrayContaining(['of a client']),
      contents: ['hello', 'echo: hello'],
      tools: 1,
      seq: 'number',
      rejected: [404, 'string'],
    });
  }
});
