// Tools of OpenAPI documents: their schemas, names and addresses, and the requests that their calls become.
import type { IncomingMessage } from 'node:http';

import { createAgentToolsEngine, type HostTool, openApiTools } from 'millrace';

import { bodyOf, type Loopback, loopback } from '../support/server';

type Json = Record<string, unknown>;

let web: Loopback;
let host: string;
let answer: { status: number; body: string };
let requested: { url: string; body: string; headers: IncomingMessage['headers'] }[] = [];
beforeAll(async () => {
  web = await loopback((request, response) => {
    void bodyOf(request).then((body) => {
      requested.push({ url: request.url ?? '', body, headers: request.headers });
      response.writeHead(answer.status).end(answer.body);
    });
  });
  host = web.url.slice('http://'.length);
});
beforeEach(() => {
  requested = [];
  answer = { status: 200, body: 'ok' };
});
afterAll(() => web.close());

const documentOf = (paths: object, more: object = {}) => ({
  openapi: '3.0.3',
  info: { title: 'Pets' },
  servers: [{ url: web.url }],
  paths,
  ...more,
});
const withBody = (content: object, more: object = {}) => ({
  '/x': { post: { operationId: 'x', requestBody: { required: true, content, ...more } } },
});
const withParameters = (...parameters: object[]) => ({
  '/x/{id}': { get: { operationId: 'x', parameters } },
});
const path = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

const toolsOf = (document: object) => openApiTools({ document, guard: { allow: [host] } });
const toolOf = (paths: object, more: object = {}) =>
  toolsOf(documentOf(paths, more))[0] as HostTool;
const inputOf = (tool: HostTool) => tool.input as { properties: Json; required: string[] } & Json;
const call = async (tool: HostTool, input: object) =>
  (await tool.run(input as never, {} as never)) as { success: boolean; content: string };

describe('schemas of OpenAPI documents', () => {
  const json = (schema: object) => withBody({ 'application/json': { schema } });
  const schemas = (all: object) => ({ components: { schemas: all } });

  it('grow with the document and no faster', () => {
    const count = 40;
    const names = Array.from({ length: count }, (_one, at) => `S${at}`);
    const properties = Object.fromEntries(
      names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]),
    );
    const all = Object.fromEntries(names.map((name) => [name, { type: 'object', properties }]));
    const { input } = toolOf(json({ $ref: '#/components/schemas/S0' }), schemas(all));
    expect(JSON.stringify(input).length).toBeLessThan(2 * JSON.stringify(all).length);
    expect(Object.keys((input as Json).$defs as Json)).toHaveLength(count);
  });

  it('stay below a limit, the nearest first', () => {
    const description = 'x'.repeat(20_000);
    const all = Object.fromEntries(
      Array.from({ length: 10 }, (_one, at) => [
        `S${at}`,
        { description, properties: { next: { $ref: `#/components/schemas/S${at + 1}` } } },
      ]),
    );
    const text = JSON.stringify(
      toolOf(json({ $ref: '#/components/schemas/S0' }), schemas(all)).input,
    );
    expect(text.length).toBeGreaterThan(60_000);
    expect(text.length).toBeLessThan(90_000);
    expect(text).not.toContain('components');
  });

  it('are written in place where they are small', () => {
    const id = { $ref: '#/components/schemas/Id' };
    const tool = toolOf(
      json({
        properties: {
          a: id,
          b: id,
          c: { ...id, description: 'own' },
          d: { $ref: '#/components/schemas/Word', minLength: 1 },
        },
      }),
      schemas({ Id: { type: 'string', description: 'An id.' }, Word: { type: 'string' } }),
    );
    const text = { type: 'string', description: 'An id.' };
    expect(inputOf(tool).properties.body).toEqual({
      properties: {
        a: text,
        b: text,
        c: { type: 'string', description: 'own' },
        d: { $ref: '#/$defs/Word', minLength: 1 },
      },
    });
  });

  it('are checked by their references', async () => {
    const tool = toolOf(
      json({ $ref: '#/components/schemas/Alias' }),
      schemas({
        Alias: { $ref: '#/components/schemas/Node' },
        Node: {
          type: 'object',
          properties: {
            kind: { $ref: '#/components/schemas/Kind' },
            next: { $ref: '#/components/schemas/Node' },
          },
          required: ['kind'],
        },
        Kind: { type: 'string', enum: ['leaf', 'branch'] },
      }),
    );
    expect(inputOf(tool).properties.body).toEqual({ $ref: '#/$defs/Node' });
    const { tools } = createAgentToolsEngine({ tools: [tool] });
    const run = (body: unknown) =>
      tools['Pets____x']?.({ body } as never, {} as never) as Promise<{ content: string }>;
    expect(await run({ kind: 'branch', next: { kind: 'leaf' } })).toMatchObject({ content: 'ok' });
    await expect(run({ kind: 'branch', next: { kind: 'stone' } })).rejects.toThrow(/kind/);
    expect(requested).toHaveLength(1);
  });

  it('keep members whose names are words of OpenAPI', () => {
    const properties = {
      example: { type: 'string', example: 'gone' },
      xml: { type: 'object', xml: { name: 'gone' } },
      nullable: { type: 'string', nullable: true },
      discriminator: {},
      $ref: { type: 'string' },
      'x-y': { type: 'string', 'x-gone': 1 },
    };
    const schema = { type: 'object', properties, required: Object.keys(properties) };
    expect(inputOf(toolOf(json(schema))).properties.body).toEqual({
      ...schema,
      properties: {
        example: { type: 'string' },
        xml: { type: 'object' },
        nullable: { type: ['string', 'null'] },
        discriminator: {},
        $ref: { type: 'string' },
        'x-y': { type: 'string' },
      },
    });
  });

  it.each<[string, object, object]>([
    ['data', { enum: [{ example: 1, $ref: '#/x' }] }, { enum: [{ example: 1, $ref: '#/x' }] }],
    [
      'a word',
      { type: 'string', enum: ['a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [
      'a reference',
      { allOf: [{ type: 'object' }], nullable: true },
      { anyOf: [{ allOf: [{ type: 'object' }] }, { type: 'null' }] },
    ],
    ['bounds', { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    ['bounds that count', { maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
    ['what is not in the document', { $ref: 'other.yaml#/X' }, {}],
    ['what leads to nothing', { $ref: '#/components/%/none' }, {}],
    ['alternatives', { anyOf: [{ xml: {} }, true] }, { anyOf: [{}, true] }],
  ])('are read as they are meant: %s', (_what, schema, expected) => {
    expect(inputOf(toolOf(json(schema))).properties.body).toEqual(expected);
  });

  it('are checked when a tool is called by itself', async () => {
    const [tool] = toolsOf(
      documentOf(withBody({ 'application/json': { schema: { type: 'object' } } })),
    );
    for (const input of [undefined, {}, { body: 7 }]) {
      expect(await tool?.run(input as never)).toMatchObject({
        success: false,
        error: {
          type: 'invalid_argument',
          message: expect.stringContaining('Pets____x') as string,
        },
      });
    }
    expect(requested).toEqual([]);
    expect(await tool?.run({ body: {} })).toMatchObject({ success: true });
  });

  it('may be nested without end', () => {
    let schema: object = {};
    for (let depth = 0; depth < 50_000; depth += 1) schema = { items: schema };
    expect(() => toolOf(json(schema))).not.toThrow();
  });
});

describe('names in OpenAPI documents', () => {
  it.each<[string, object, string[]]>([
    [
      'paths',
      { '/a/b': { get: {} }, '/a_b': { get: {} } },
      ['Pets____get_a_b_', 'Pets____get_a_b'],
    ],
    [
      'ids',
      { '/1': { get: { operationId: 'x.y' } }, '/2': { get: { operationId: 'x_y' } } },
      ['Pets____x_y_', 'Pets____x_y'],
    ],
    [
      'equal ids',
      { '/1': { get: { operationId: 'x' } }, '/2': { get: { operationId: 'x' } } },
      ['Pets____get_1', 'Pets____get_2'],
    ],
  ])('stay apart: %s', (_what, paths, beginnings) => {
    const tools = toolsOf(documentOf(paths));
    expect(createAgentToolsEngine({ tools }).definitions).toHaveLength(beginnings.length);
    tools.forEach(({ name }, at) =>
      expect(name.replace(/(?<=_)[0-9a-f]{12}$/, '')).toBe(beginnings[at]),
    );
  });

  it('give each parameter a member of its own that providers take', async () => {
    const tool = toolOf({
      '/x/{id}': {
        post: {
          operationId: 'x',
          parameters: [
            path,
            { name: 'id', in: 'query', schema: { type: 'integer' } },
            { name: 'body', in: 'query', schema: {} },
            { name: 'page[size]', in: 'query', schema: {} },
          ],
          requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        },
      },
    });
    expect(Object.entries(inputOf(tool).properties)).toEqual([
      ['id', { type: 'string' }],
      ['id_query', { type: 'integer' }],
      ['body_query', {}],
      ['page_size_', {}],
      ['body', { type: 'object' }],
    ]);
    await call(tool, { id: 'a', id_query: 2, body_query: 'b', page_size_: 5, body: { c: 1 } });
    expect(requested[0]).toMatchObject({
      url: '/x/a?id=2&body=b&page%5Bsize%5D=5',
      body: '{"c":1}',
    });
  });
});

describe('references of OpenAPI documents that lead nowhere', () => {
  const loop = { $ref: '#/components/parameters/loop' };
  const more = {
    components: { parameters: { loop, limit: { name: 'limit', in: 'query' } }, schemas: { S: {} } },
  };

  it.each([
    '#/components/parameters/none',
    '#/components/schemas/S',
    'http://127.0.0.1/parameters.json#/limit',
    'parameters.yaml#/limit',
    loop.$ref,
  ])('are named where a parameter stands behind them: %s', (reference) => {
    const paths = { ...withParameters(path, { $ref: reference }), '/y': { get: {} } };
    expect(() => toolsOf(documentOf(paths, more))).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: expect.stringContaining(`x takes '${reference}', which is not in the document`),
      }),
    );
    const document = documentOf(paths, more);
    expect(openApiTools({ document, deny: ['x'] })).toHaveLength(1);
  });

  it.each(['#/paths/none', 'paths.yaml#/x', '#/components/parameters/loop'])(
    'are named where a path stands behind them: %s',
    (reference) => {
      const document = documentOf({ '/x': { $ref: reference }, '/y': { get: {} } }, more);
      expect(() => toolsOf(document)).toThrow(
        expect.objectContaining({
          code: 'invalid_option',
          message: expect.stringContaining(
            `The path /x is '${reference}', which is not in the document`,
          ) as string,
        }) as Error,
      );
      expect(openApiTools({ document, deny: ['/x'] })).toHaveLength(1);
      expect(openApiTools({ document, filter: ({ path }) => path !== '/x' })).toHaveLength(1);
    },
  );

  it('are none where what they lead to is empty', () => {
    const components = { ...more.components, pathItems: { empty: {} } };
    const paths = { '/x': { $ref: '#/components/pathItems/empty' }, '/y': { get: {} } };
    expect(toolsOf(documentOf(paths, { components }))).toHaveLength(1);
  });

  it('are named where a body stands behind them', () => {
    const reference = '#/components/requestBodies/none';
    const paths = { '/x': { post: { operationId: 'x', requestBody: { $ref: reference } } } };
    expect(() => toolOf(paths, more)).toThrow(reference);
  });

  it('are not those that lead to what the document has', () => {
    const paths = withParameters(path, { $ref: '#/components/parameters/limit' });
    expect(Object.keys(inputOf(toolOf(paths, more)).properties)).toEqual(['id', 'limit']);
  });
});

describe('servers of OpenAPI documents', () => {
  const servers = (url: string, variables?: object) => ({ servers: [{ url, variables }] });

  it('have the defaults of their variables, and the nearest counts', async () => {
    const [first, second, third] = toolsOf(
      documentOf(
        {
          '/1': { get: { operationId: 'one' } },
          '/2': { get: { operationId: 'two' }, ...servers(`${web.url}/item`) },
          '/3': { get: { operationId: 'three', ...servers(`${web.url}/own/`) } },
        },
        servers('{scheme}://{where}/v{n}', {
          scheme: { default: 'http' },
          where: { default: host },
          n: { default: 2 },
        }),
      ),
    ) as [HostTool, HostTool, HostTool];
    for (const one of [first, second, third]) await call(one, {});
    expect(requested.map(({ url }) => url)).toEqual(['/v2/1', '/item/2', '/own/3']);
  });

  it('are needed by chosen operations only', () => {
    const document = documentOf(
      { '/1': { get: {} }, '/2': { get: servers('https://a.example') } },
      { servers: [] },
    );
    expect(() => openApiTools({ document })).toThrow(/get_\/1: give baseUrl/);
    expect(openApiTools({ document, filter: ({ path: at }) => at === '/2' })).toHaveLength(1);
    expect(openApiTools({ document, deny: ['get_/1'] })).toHaveLength(1);
    expect(openApiTools({ document, allow: ['get_/3'] })).toEqual([]);
  });
});

describe('calls of OpenAPI operations', () => {
  const query = (more: object) => ({ name: 'q', in: 'query', schema: {}, ...more });

  it.each<[string, object, unknown, string]>([
    ['a list', {}, ['a', 'b c'], 'q=a&q=b+c'],
    ['a list in one', { explode: false }, ['a', 'b'], 'q=a%2Cb'],
    ['a list with bars', { style: 'pipeDelimited' }, ['a', 'b'], 'q=a%7Cb'],
    ['an object', {}, { a: 1, b: 'x' }, 'a=1&b=x'],
    ['a deep object', { style: 'deepObject' }, { a: { b: [1] } }, 'q%5Ba%5D%5Bb%5D%5B%5D=1'],
    ['JSON', { schema: undefined, content: { 'application/json': {} } }, ['a'], 'q=%5B%22a%22%5D'],
    ['nothing', {}, null, ''],
  ])('write a query: %s', async (_what, more, value, expected) => {
    const result = await call(toolOf(withParameters(path, query(more))), { id: '1', q: value });
    expect(result.success).toBe(true);
    expect(requested[0]?.url).toBe(`/x/1${expected && `?${expected}`}`);
  });

  it.each<[string, object, object, string]>([
    [
      'application/x-www-form-urlencoded',
      { encoding: { deep: { style: 'deepObject' } } },
      { amount: 5, to: 'a b', list: ['x', 'y'], object: { k: 1 }, deep: { k: [{ l: 2 }] } },
      'amount=5&to=a+b&list=x&list=y&object=%7B%22k%22%3A1%7D&deep%5Bk%5D%5B0%5D%5Bl%5D=2',
    ],
    ['application/vnd.pets+json', {}, { a: [1] }, '{"a":[1]}'],
    ['*/*', {}, { a: 1 }, '{"a":1}'],
    ['text/csv', {}, 'a;b' as never, 'a;b'],
    ['application/octet-stream', {}, 'a text' as never, 'a text'],
  ])('send a body of %s', async (type, more, body, expected) => {
    const tool = toolOf(withBody({ [type]: { schema: { type: 'object' }, ...more } }));
    expect(inputOf(tool).required).toEqual(['body']);
    expect(await call(tool, { body })).toEqual({ success: true, content: 'ok' });
    expect(requested[0]?.body).toBe(expected);
    expect(requested[0]?.headers['content-type']).toBe(type === '*/*' ? 'application/json' : type);
  });

  it('send a form of parts, with files', async () => {
    const properties = {
      note: { type: 'string' },
      file: { type: 'string', format: 'binary' },
      tags: { type: 'array', items: { type: 'string' } },
    };
    const tool = toolOf(withBody({ 'multipart/form-data': { schema: { properties } } }));
    await call(tool, { body: { note: 'h\u00e9', file: 'content', tags: ['a', 'b'] } });
    const { headers, body } = requested[0] ?? { headers: {}, body: '' };
    const form = await new Response(body, {
      headers: { 'content-type': String(headers['content-type']) },
    }).formData();
    expect(form.get('note')).toBe('h\u00e9');
    expect(form.getAll('tags')).toEqual(['a', 'b']);
    expect(await (form.get('file') as File).text()).toBe('content');
  });

  it('prefer JSON to forms', async () => {
    const tool = toolOf(
      withBody({ 'multipart/form-data': {}, 'application/json': { schema: { type: 'array' } } }),
    );
    await call(tool, { body: [1] });
    expect(requested[0]?.body).toBe('[1]');
  });

  it.each<[string, object, object]>([
    ['a missing part of the path', withParameters(path), {}],
    [
      'a header of two lines',
      withParameters(path, { name: 'h', in: 'header' }),
      { id: '1', h: '\n' },
    ],
    ['a form that is none', withBody({ 'multipart/form-data': {} }), { body: 'text' }],
  ])('refuse %s', async (_what, paths, input) => {
    expect(await call(toolOf(paths), input)).toMatchObject({
      success: false,
      error: { type: 'invalid_argument' },
    });
    expect(requested).toEqual([]);
  });

  it.each<[string, Record<string, string> | Headers | Map<string, string>]>([
    ['an object', { 'x-key': 'operator' }],
    ['Headers', new Headers({ 'x-key': 'operator' })],
    ['a Map', new Map([['x-key', 'operator']])],
  ])('take the headers of `auth` as %s', async (_what, headers) => {
    const [own] = openApiTools({
      document: documentOf(withParameters(path, { name: 'X-KEY', in: 'header', schema: {} })),
      guard: { allow: [host] },
      auth: () => headers,
    });
    await call(own as HostTool, { id: '1', 'X-KEY': 'model' });
    expect(requested[0]?.headers['x-key']).toBe('operator');
  });

  it.each<[string, (key: string) => string]>([
    ['as it is', (key) => key],
    ['in an address', (key) => encodeURIComponent(key)],
    ['in base64', (key) => Buffer.from(key).toString('base64')],
    ['in JSON', (key) => JSON.stringify({ authorization: `Bearer ${key}` })],
  ])('have no key that the server repeats %s', async (_what, form) => {
    const key = 'operator/key+0123456789"=';
    for (const status of [200, 500]) {
      answer = { status, body: `You sent ${form(key)} in tenant-of-all.` };
      const [own] = openApiTools({
        document: documentOf(withParameters(path)),
        guard: { allow: [host] },
        auth: () => ({ Authorization: `Bearer ${key}`, 'X-Tenant': 'tenant-of-all' }),
      });
      const result = JSON.stringify(await call(own as HostTool, { id: '1' }));
      expect(result).not.toContain(JSON.stringify(form(key)).slice(1, -1));
      expect(result).toContain('[redacted]');
      expect(result).toContain('tenant-of-all');
    }
  });

  it('leave headers to whom they belong', () => {
    const header = (name: string) => ({ name, in: 'header', schema: { type: 'string' } });
    const tool = toolOf(withParameters(path, header('authorization'), header('X-Own')));
    expect(Object.keys(inputOf(tool).properties)).toEqual(['id', 'X-Own']);
  });
});

describe('calls of OpenAPI tools that are not sent', () => {
  const get = { '/x': { get: { operationId: 'x' } } };

  it.each([
    ['a port that nothing listens on', 'http://127.0.0.1:9', ['127.0.0.1:9'], 'connect_failed'],
    [
      'a name that nothing has',
      'http://billing.invalid',
      ['billing.invalid'],
      'name_resolution_failed',
    ],
    ['an address that is not allowed', 'http://10.20.30.40:80', [], 'address_blocked'],
    ['a name that is not allowed', 'http://ledger.corp.internal', [], 'address_blocked'],
  ])('name no host of the program: %s', async (_what, url, allow, type) => {
    const [tool] = openApiTools({ document: documentOf(get), baseUrl: url, guard: { allow } });
    const { content, error } = (await (tool as HostTool).run({} as never, {} as never)) as {
      content: string;
      error: { type: string; message: string; detail: string };
    };
    const name = new URL(url).hostname;
    expect(error.type).toBe(type);
    for (const shown of [content, error.message]) expect(shown).not.toContain(name.split('.')[0]);
    expect(content).toContain('***');
    expect(error.detail).toContain(name);
  });
});
