// The document of the routes: valid, complete, and good enough for types of a client.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import SwaggerParser from '@apidevtools/swagger-parser';
import ts from 'typescript';

import { cleanUp, hosts, type Json, serve } from './kit';

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
          const isEmpty = status === '204';
          expect(`${place} ${content === undefined}`).toBe(`${place} ${isEmpty}`);
        }
      }
    }
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

it('gives types of a client', async () => {
  const file = join(mkdtempSync(join(tmpdir(), 'millrace-openapi-')), 'api.json');
  writeFileSync(file, JSON.stringify(await documentOf('fetch')));
  const source = execFileSync(process.execPath, [generator, file], { encoding: 'utf8' });
  rmSync(dirname(file), { recursive: true });
  const use = `
    import type { components, paths } from './api';
    type Events = paths['/api/v1/chat/jobs/{job_id}/events']['get'];
    export const query: Events['parameters']['query'] = { after: '3.1', deltas: '1' };
    type Log = Events['responses'][200]['content']['application/json'];
    export const seqOf = (log: Log): number => log.events[0]?.seq ?? log.last_seq;
    export const statusOf = ({ status }: components['schemas']['Job']): 'done' | string => status;
    // @ts-expect-error: no job has this status
    export const wrong: components['schemas']['Job']['status'] = 'waiting';`;
  const files: Record<string, string> = { '/api.d.ts': source, '/use.ts': use };
  const options = { strict: true, noEmit: true, types: [], target: ts.ScriptTarget.ES2022 };
  const compiler = ts.createCompilerHost(options);
  const read = compiler.getSourceFile.bind(compiler);
  compiler.fileExists = (name) => name in files || ts.sys.fileExists(name);
  compiler.readFile = (name) => files[name] ?? ts.sys.readFile(name);
  compiler.getSourceFile = (name, language) =>
    name in files ? ts.createSourceFile(name, files[name] ?? '', language) : read(name, language);
  const found = ts.getPreEmitDiagnostics(ts.createProgram(['/use.ts'], options, compiler));
  expect(
    found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  ).toEqual([]);
});
