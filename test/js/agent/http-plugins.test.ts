// HTTP plugins, OpenAPI tools and the image tool, on a loopback gateway.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import {
  createAgentToolsEngine,
  imageTool,
  invokeDefaultTypePlugin,
  openApiTools,
  pluginTools,
  tool,
  type HostTool,
  type HttpToolResult,
  type PluginManifest,
} from 'millrace';

import { loopback } from '../support/server';

interface Requested {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

// What a tool is called in an agent of createAgent.
const agentName = ({ name }: HostTool) => name.replace(/_{4,}/g, '__');

const run = async (tool: HostTool | undefined, input: object, signal?: AbortSignal) =>
  (await tool?.run(input as never, { signal } as never)) as HttpToolResult;

describe('HTTP tools', () => {
  let server: Server;
  let host: string;
  let requested: Requested[];
  let answer: { status: number; body: string; headers?: Record<string, string> };

  beforeAll(async () => {
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (piece: Buffer) => (body += piece.toString()));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        requested.push({ method, url, headers, body });
        if (url.includes('slow')) return;
        response.writeHead(answer.status, answer.headers).end(answer.body);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    requested = [];
    answer = { status: 200, body: '{"ok":true}' };
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const manifestOf = (more: Partial<PluginManifest> = {}): PluginManifest => ({
    identifier: 'weather',
    api: [
      {
        name: 'now',
        description: 'Tells the weather.',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
        url: `http://${host}/api/now`,
      },
      { name: 'lost' },
    ],
    settings: {
      type: 'object',
      properties: { key: { type: 'string', minLength: 3 } },
      required: ['key'],
    },
    ...more,
  });
  const settings = { key: 'secret \u00e9\u4f60' };
  const call = { identifier: 'weather', apiName: 'now', arguments: '{"city":"Ulm"}' };

  describe('plugins', () => {
    it('call the API by its own address', async () => {
      const result = await invokeDefaultTypePlugin(call, {
        manifest: manifestOf(),
        settings,
        guard: { allow: [host] },
        auth: ({ identifier, apiName }) => ({ Authorization: `Bearer ${identifier}.${apiName}` }),
      });
      expect(result).toEqual({ content: '{"ok":true}', success: true });
      expect(requested[0]).toMatchObject({
        method: 'POST',
        url: '/api/now',
        body: '{"city":"Ulm"}',
      });
      expect(requested[0]?.headers.authorization).toBe('Bearer weather.now');
      expect(JSON.parse(String(requested[0]?.headers['x-lobe-plugin-settings']))).toEqual(settings);
    });

    it('call the gateway where there is one', async () => {
      const manifest = manifestOf({ gateway: `http://${host}/gateway` });
      await invokeDefaultTypePlugin(call, { manifest, settings, guard: { allow: [host] } });
      expect(requested[0]?.url).toBe('/gateway');
      expect(JSON.parse(requested[0]?.body ?? '')).toEqual({
        apiName: 'now',
        arguments: '{"city":"Ulm"}',
        identifier: 'weather',
        manifest: JSON.parse(JSON.stringify(manifest)) as object,
        type: 'default',
      });
    });

    it('send nothing that is not valid', async () => {
      const manifest = manifestOf();
      const guard = { allow: [host] };
      for (const [one, more, type] of [
        [{ ...call, apiName: 'none' }, { settings }, 'PluginApiNotFound'],
        [{ ...call, apiName: 'lost', arguments: '' }, { settings }, 'PluginApiNotFound'],
        [{ ...call, arguments: '{' }, { settings }, 'PluginApiParamsError'],
        [{ ...call, arguments: '{}' }, { settings }, 'PluginApiParamsError'],
        [call, { settings: { key: 'x' } }, 'PluginSettingsInvalid'],
        [call, {}, 'PluginSettingsInvalid'],
      ] as const) {
        const result = await invokeDefaultTypePlugin(one, { manifest, guard, ...more });
        expect(result).toMatchObject({ success: false, error: { type } });
      }
      expect(requested).toEqual([]);
    });

    it('stay on the public internet', async () => {
      const result = await invokeDefaultTypePlugin(call, { manifest: manifestOf(), settings });
      expect(result).toMatchObject({ success: false, error: { type: 'address_blocked' } });
      answer = { status: 307, body: '', headers: { location: 'http://169.254.169.254/' } };
      const away = await invokeDefaultTypePlugin(call, {
        manifest: manifestOf(),
        settings,
        guard: { allow: [host] },
      });
      expect(away).toMatchObject({ success: false, error: { type: 'address_blocked' } });
      expect(requested).toHaveLength(1);
    });

    it('take a proxy that is trusted, and no other', async () => {
      const proxied: string[] = [];
      const proxy = await loopback((request, response) => {
        proxied.push(request.url ?? '');
        response.end('over the proxy');
      });
      try {
        const manifest = { ...manifestOf(), gateway: 'http://plugins.example.com/run' };
        const options = { manifest, settings, proxy: proxy.url };
        const rejected = await invokeDefaultTypePlugin(call, options);
        expect(rejected).toMatchObject({ success: false, error: { type: 'address_blocked' } });
        expect(rejected.content).toContain('trustsProxy');
        const guard = { trustsProxy: true };
        const through = await invokeDefaultTypePlugin(call, { ...options, guard });
        expect(through).toEqual({ content: 'over the proxy', success: true });
        const inside = { ...manifest, gateway: 'http://10.0.0.1/run' };
        const blocked = await invokeDefaultTypePlugin(call, {
          ...options,
          manifest: inside,
          guard,
        });
        expect(blocked).toMatchObject({ success: false, error: { type: 'address_blocked' } });
        expect(proxied).toEqual(['http://plugins.example.com/run']);
      } finally {
        await proxy.close();
      }
    });

    it('tell failures as results', async () => {
      const options = { manifest: manifestOf(), settings, guard: { allow: [host] } };
      answer = {
        status: 590,
        body: '{"errorType":"PluginServerError","body":{"message":"down"}}',
      };
      expect(await invokeDefaultTypePlugin(call, options)).toEqual({
        content: 'The plugin failed: down',
        success: false,
        error: {
          type: 'PluginServerError',
          message: 'The plugin failed: down',
          body: { message: 'down' },
        },
      });
      answer = {
        status: 500,
        body: '{"errorType":"X","body":{"message":"no</tool>\\u001b[31m"}}',
      };
      expect((await invokeDefaultTypePlugin(call, options)).content).toBe(
        'The plugin failed: no< /tool>',
      );
      answer = { status: 500, body: '<h1>no</h1></tool>' };
      const broken = await invokeDefaultTypePlugin(call, options);
      expect(broken).toMatchObject({ success: false, error: { type: 'http_status' } });
      expect(broken.content).toContain('< /tool>');
      answer = { status: 200, body: 'x'.repeat(100) };
      const long = await invokeDefaultTypePlugin(call, { ...options, maxResult: 10 });
      expect(long.content).toBe(`${'x'.repeat(10)}\n[cut here: 90 more bytes]`);
      const thrown = await invokeDefaultTypePlugin(call, {
        ...options,
        auth: () => {
          throw new Error('no token');
        },
      });
      expect(thrown).toMatchObject({ success: false, content: 'no token' });
    });

    it('are not read further than a result can hold', async () => {
      answer = { status: 200, body: `${'x'.repeat(5 << 20)}\u20ac` };
      const options = { manifest: manifestOf(), settings, guard: { allow: [host] } };
      const long = await invokeDefaultTypePlugin(call, { ...options, maxResult: 10 });
      expect(long).toEqual({
        content: `${'x'.repeat(10)}\n[cut here: the answer is longer]`,
        success: true,
      });
      answer = { status: 500, body: 'y'.repeat(5 << 20) };
      const failed = await invokeDefaultTypePlugin(call, { ...options, maxResult: 50 });
      expect(failed.content).toMatch(/^The server answered with status 500\.\ny+\n\[cut here/);
      expect(failed).toMatchObject({ success: false, error: { type: 'http_status' } });
    });

    it('end with the signal', async () => {
      const manifest = manifestOf({ gateway: `http://${host}/slow` });
      const abort = new AbortController();
      const waiting = invokeDefaultTypePlugin(
        call,
        { manifest, settings, guard: { allow: [host] } },
        { signal: abort.signal },
      );
      setTimeout(() => abort.abort(new Error('enough')), 30);
      await expect(waiting).rejects.toThrow('enough');
    });

    it('are tools with names that providers take', async () => {
      const manifest = manifestOf({ identifier: 'a plugin/with odd characters'.repeat(3) });
      const tools = pluginTools({ manifest, settings, guard: { allow: [host] } });
      expect(tools).toHaveLength(2);
      for (const { name } of tools) expect(name).toMatch(/^[\w-]{1,64}$/);
      expect(new Set(tools.map(({ name }) => name)).size).toBe(2);
      expect(tools[0]?.name).toMatch(/^a_plugin_with_odd_\w+____now_[0-9a-f]{12}$/);
      expect(await run(tools[0], { city: 'Ulm' })).toMatchObject({ success: true });
      expect(pluginTools({ manifest: manifestOf(), settings })[0]?.name).toBe('weather____now');
    });

    it.each<[object, string[]]>([
      [{ allow: ['now'] }, ['weather____now']],
      [{ deny: ['weather____n*'] }, ['weather____lost']],
      [{ expose: ['weather__lost', 'now'] }, ['weather____now', 'weather____lost']],
      [{ allow: ['now'], expose: ['lost'] }, ['weather____now']],
      [{ allow: [], expose: ['lost'] }, ['weather____lost']],
      [{ allow: ['*'], deny: ['*'] }, []],
    ])('are chosen by %j', (policy, names) => {
      const tools = pluginTools({ manifest: manifestOf(), ...policy });
      expect(tools.map(({ name }) => name)).toEqual(names);
    });

    it('are chosen by lists of texts, which are spelt right', () => {
      const given = (more: object) => () => pluginTools({ manifest: manifestOf(), ...more });
      expect(given({ allow: 'now' })).toThrow(expect.objectContaining({ code: 'invalid_option' }));
      expect(given({ Deny: ['now'] })).toThrow(/mean 'deny'/);
    });

    it.each([
      ['\u5929\u6c14', ['\u67e5\u8be2', '\u9884\u62a5', 'now']],
      ['weather', ['\u67e5\u8be2', 'a.b', 'a_b', 'a b']],
    ])('have names of their own in %s', (identifier, apis) => {
      const manifestFor = (name: string) =>
        manifestOf({ identifier: name, api: apis.map((one) => ({ name: one })) });
      const tools = [
        ...pluginTools({ manifest: manifestFor(identifier) }),
        ...pluginTools({ manifest: manifestFor('\u5730\u56fe') }),
      ];
      for (const { name } of tools) expect(name).toMatch(/^[A-Za-z][\w-]{0,63}$/);
      expect(createAgentToolsEngine({ tools }).definitions).toHaveLength(2 * apis.length);
      expect(new Set(tools.map(agentName)).size).toBe(2 * apis.length);
      const again = pluginTools({ manifest: manifestFor(identifier) });
      expect(again.map(({ name }) => name)).toEqual(
        tools.slice(0, apis.length).map(({ name }) => name),
      );
    });

    it.each<[string, unknown]>([
      ['no manifest', undefined],
      ['no functions', { identifier: 'x' }],
      ['a function without a name', { identifier: 'x', api: [null] }],
    ])('are refused with %s', async (_what, manifest) => {
      const options = { manifest: manifest as PluginManifest };
      expect(() => pluginTools(options)).toThrow(
        expect.objectContaining({ code: 'invalid_option' }),
      );
      expect(await invokeDefaultTypePlugin(call, options)).toMatchObject({
        success: false,
        error: { type: 'PluginManifestInvalid' },
      });
    });
  });

  describe('OpenAPI documents', () => {
    const documentOf = (more: object = {}) => ({
      openapi: '3.0.3',
      info: { title: 'Pets' },
      servers: [{ url: `http://${host}/v1/` }],
      paths: {
        '/pets/{id}': {
          parameters: [{ $ref: '#/components/parameters/Id' }],
          get: {
            operationId: 'getPet',
            summary: 'Reads a pet',
            parameters: [
              { name: 'tags', in: 'query', schema: { type: 'array', items: { type: 'string' } } },
              { name: 'X-Trace', in: 'header', schema: { type: 'string' } },
            ],
          },
          put: {
            operationId: 'putPet',
            requestBody: {
              required: true,
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
            },
          },
        },
        '/pets': { post: { requestBody: { content: { 'text/csv': {} } } } },
      },
      components: {
        parameters: { Id: { name: 'id', in: 'path', required: true, schema: { type: 'string' } } },
        schemas: {
          Pet: {
            type: 'object',
            properties: {
              name: { type: 'string', nullable: true, example: 'Rex' },
              parent: { $ref: '#/components/schemas/Pet' },
            },
          },
        },
      },
      ...more,
    });

    it('become tools', () => {
      const tools = openApiTools({ document: documentOf() });
      expect(tools.map(({ name, effect, approval }) => [name, effect, approval])).toEqual([
        ['Pets____getPet', 'read', false],
        ['Pets____putPet', 'idempotent', true],
        ['Pets____post_pets', 'once', true],
      ]);
      expect(tools[1]?.input).toEqual({
        type: 'object',
        properties: {
          id: { type: 'string' },
          body: { $ref: '#/$defs/Pet' },
        },
        required: ['id', 'body'],
        additionalProperties: false,
        $defs: {
          Pet: {
            type: 'object',
            properties: { name: { type: ['string', 'null'] }, parent: { $ref: '#/$defs/Pet' } },
          },
        },
      });
    });

    it('are called as they say', async () => {
      const [get, put] = openApiTools({
        document: documentOf(),
        guard: { allow: [host] },
        auth: () => ({ 'X-Key': 'k' }),
      });
      await run(get, { id: 'a/b?c', tags: ['x', 'y z'], 'X-Trace': 't' });
      expect(requested[0]).toMatchObject({
        method: 'GET',
        url: '/v1/pets/a%2Fb%3Fc?tags=x&tags=y+z',
      });
      expect(requested[0]?.headers).toMatchObject({ 'x-trace': 't', 'x-key': 'k' });
      await run(put, { id: '1', body: { name: null } });
      expect(requested[1]).toMatchObject({
        method: 'PUT',
        url: '/v1/pets/1',
        body: '{"name":null}',
      });
      expect(await run(get, { id: '..' })).toMatchObject({ success: false });
      expect(requested).toHaveLength(2);
    });

    it('are refused when they cannot be used', () => {
      for (const document of [
        {},
        documentOf({ openapi: '2.0' }),
        documentOf({ servers: [{ url: '/v1' }] }),
        documentOf({ servers: [{ url: 'https://{region}.example.com' }] }),
        null,
        undefined,
        'no JSON',
      ]) {
        expect(() => openApiTools({ document: document as never })).toThrow(
          expect.objectContaining({ code: 'invalid_option' }),
        );
      }
      expect(() => openApiTools(documentOf() as never)).toThrow('`document`');
      expect(() => openApiTools(undefined as never)).toThrow('`document`');
      expect(openApiTools({ document: JSON.stringify(documentOf()) })).toHaveLength(3);
    });
  });

  describe('the image tool', () => {
    it('keeps images out of the history', async () => {
      const stored: Uint8Array[] = [];
      const store = ({ bytes, id }: { bytes: Uint8Array; id: string }) => {
        stored.push(bytes);
        return `https://files.example.com/${id}`;
      };
      const requested: unknown[] = [];
      const imageUrls = ['data:image/webp;base64,AAEC', 'https://cdn.example.com/1.png'];
      const runtime = {
        createImage: async (payload: unknown) => {
          requested.push(payload);
          return { imageUrl: imageUrls.shift() ?? '', width: 2 };
        },
      };
      const tool = imageTool({ runtime, model: 'm', params: { size: '1024x1024' }, store });
      const first = await run(tool, { prompt: 'a cat' });
      expect(requested[0]).toEqual({ model: 'm', params: { size: '1024x1024', prompt: 'a cat' } });
      expect([...(stored[0] ?? [])]).toEqual([0, 1, 2]);
      expect(JSON.stringify(first)).not.toContain('base64');
      expect(first).toMatchObject({
        success: true,
        attachments: [{ type: 'image', mimeType: 'image/webp', width: 2 }],
      });
      const second = await run(tool, { prompt: 'a dog' });
      expect(second.content).toContain('https://cdn.example.com/1.png');
      expect(stored).toHaveLength(1);
      await expect(run(tool, { prompt: 'nothing' })).rejects.toThrow('no image');
      const empty = imageTool({
        runtime: { createImage: async () => undefined as never },
        model: 'm',
        store,
      });
      await expect(run(empty, { prompt: 'nothing' })).rejects.toThrow('no image');
    });

    it.each([null, undefined, 'no paint'])('gives an error where %p was thrown', async (thrown) => {
      const runtime = {
        createImage: async (): Promise<never> => {
          throw thrown;
        },
      };
      const tool = imageTool({ runtime, model: 'm', store: () => '' });
      await expect(run(tool, { prompt: 'a cat' })).rejects.toMatchObject({
        code: 'tool_failed',
        message: `The image could not be generated: ${String(thrown)}`,
      });
    });

    it('has no option that is misspelt', () => {
      const given = { runtime: { createImage: async () => ({ imageUrl: '' }) }, model: 'm' };
      const more = { store: () => '', aproval: true };
      expect(() => imageTool({ ...given, ...more })).toThrow(/mean 'approval'/);
      expect(() => tool({ name: 'a', aproval: true, run: () => '' } as never)).toThrow(/aproval/);
    });

    it.each([
      ['AAECAwQFBgcICQ==', /must be an http or data URL/],
      ['file:///etc/passwd', /must be an http or data URL/],
      ['javascript:alert(1)', /must be an http or data URL/],
    ])('takes %s for no image', async (imageUrl, expected) => {
      const runtime = { createImage: async () => ({ imageUrl }) };
      const tool = imageTool({ runtime, model: 'm', store: () => 'https://x.example/1' });
      await expect(run(tool, { prompt: 'a cat' })).rejects.toThrow(expected);
    });

    it('keeps an image of text, and says when a store keeps nothing', async () => {
      const imageUrl = 'data:image/svg+xml;charset=utf-8,%3Csvg%2F%3E';
      const runtime = { createImage: async () => ({ imageUrl }) };
      let retained = '';
      const made = (store: unknown): HostTool =>
        imageTool({ runtime, model: 'm', store: store as never });
      const store = ({ bytes }: { bytes: Uint8Array }): URL => {
        retained = Buffer.from(bytes).toString();
        return new URL('https://x.example/1');
      };
      expect(await run(made(store), { prompt: 'a cat' })).toMatchObject({
        attachments: [{ mimeType: 'image/svg+xml', url: 'https://x.example/1' }],
      });
      expect(retained).toBe('<svg/>');
      for (const bad of [
        () => undefined,
        () => imageUrl,
        () => Promise.reject(new Error('full')),
      ]) {
        await expect(run(made(bad), { prompt: 'a cat' })).rejects.toThrow(/could not keep it/);
      }
    });

    it.each(['runtime', 'model', 'store'])(
      'needs its %s before an image is paid for',
      (missing) => {
        const runtime = { createImage: async () => ({ imageUrl: '' }) };
        const options = { runtime, model: 'm', store: () => '', [missing]: undefined };
        expect(() => imageTool(options as never)).toThrow(
          expect.objectContaining({
            code: 'invalid_option',
            message: expect.stringContaining(missing) as string,
          }),
        );
      },
    );
  });

  it.each(['Bearer z', ['Bearer z'], { Authorization: 7 }])(
    'are not called when `auth` gives %j, which is no headers',
    async (given) => {
      const manifest: PluginManifest = {
        identifier: 'p',
        api: [{ name: 'a' }],
        gateway: `http://${host}/`,
      };
      const options = { guard: { allow: [host] }, auth: () => given as never };
      const paths = { '/x': { get: { operationId: 'x' } } };
      const document = { openapi: '3.0.3', servers: [{ url: `http://${host}` }], paths };
      for (const [one] of [
        pluginTools({ manifest, ...options }),
        openApiTools({ document, ...options }),
      ]) {
        expect(await one?.run({})).toMatchObject({
          success: false,
          error: { type: 'invalid_option', message: expect.stringContaining('`auth`') as string },
        });
      }
      expect(requested).toEqual([]);
    },
  );
});
