// Providers behind proxies, and the keys of `serve` and `chat` for every provider of the table.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { createModelRuntime, proxyFromEnvironment } from 'millrace';

import { chooseModel } from '../../../dist/cjs/cli/model-choice';
import { sse } from '../support/responses';

const answer = `${sse(
  { id: 'c', model: 'm', choices: [{ index: 0, delta: { content: 'Hello' } }] },
  { id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
)}data: [DONE]\n\n`;

// Answers every request by itself, and refuses tunnels.
async function startProxy() {
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(
      `${request.method} ${request.url} ${request.headers['proxy-authorization'] ?? '-'}`,
    );
    request.resume();
    const models = request.url?.endsWith('/models');
    response.setHeader('Content-Type', models ? 'application/json' : 'text/event-stream');
    response.end(models ? '{"data":[{"id":"m"}]}' : answer);
  });
  server.on('connect', (request, socket) => {
    requested.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { asked: requested, port, close: () => server.close() };
}

let proxy: Awaited<ReturnType<typeof startProxy>>;
beforeEach(async () => {
  proxy = await startProxy();
});
afterEach(() => proxy.close());

const request = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };

describe('a proxy', () => {
  it('is asked for the names of http: addresses, with user and password', async () => {
    const runtime = createModelRuntime('openai', {
      apiKey: 'sk-test',
      baseURL: 'http://nowhere.invalid/v1',
      proxy: `http://me:secret@127.0.0.1:${proxy.port}`,
    });
    expect(await runtime.stream(request).text()).toBe('Hello');
    expect(await runtime.models()).toMatchObject([{ id: 'm' }]);
    const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`;
    expect(proxy.asked).toEqual([
      `POST http://nowhere.invalid/v1/chat/completions ${basic}`,
      `GET http://nowhere.invalid/v1/models ${basic}`,
    ]);
  });

  it('that refuses a tunnel gives an error without its password', async () => {
    const runtime = createModelRuntime('openai', {
      apiKey: 'sk-test',
      baseURL: 'https://nowhere.invalid/v1',
      proxy: { https: `http://me:secret@127.0.0.1:${proxy.port}` },
      maxRetries: 0,
    });
    const error = await runtime
      .stream(request)
      .text()
      .catch((thrown: unknown) => thrown as Error & { code: string });
    expect(error).toMatchObject({ code: 'proxy_failed' });
    expect(JSON.stringify(error) + String(error)).not.toContain('secret');
    expect(proxy.asked).toEqual(['CONNECT nowhere.invalid:443']);
  });

  it('that wants a password is told as one, also for http: addresses', async () => {
    const rejecting = createServer((_, response) => {
      response.writeHead(407, { 'proxy-authenticate': 'Basic realm="x"' }).end('<html></html>');
    });
    await new Promise<void>((resolve) => rejecting.listen(0, '127.0.0.1', resolve));
    const { port } = rejecting.address() as AddressInfo;
    const runtime = createModelRuntime('openai', {
      apiKey: 'sk-test',
      baseURL: 'http://nowhere.invalid/v1',
      proxy: `http://me:secret@127.0.0.1:${port}`,
      maxRetries: 0,
    });
    const rejected = {
      code: 'proxy_failed',
      message: expect.stringMatching(/407.*`proxy`/) as string,
    };
    await expect(runtime.stream(request).text()).rejects.toMatchObject(rejected);
    await expect(runtime.models()).rejects.toMatchObject(rejected);
    rejecting.close();
  });

  it('that is no address is refused without showing it', () => {
    const settings = { apiKey: 'sk-test', proxy: 'ftp://me:secret@host' };
    expect(() => createModelRuntime('openai', settings)).toThrow(
      expect.objectContaining({
        code: 'invalid_url',
        message: expect.not.stringContaining('secret') as string,
      }) as Error,
    );
  });

  it('comes from the environment, and never stands before this machine', () => {
    expect(proxyFromEnvironment({})).toBeUndefined();
    expect(proxyFromEnvironment({ HTTP_PROXY: 'http://cgi' })).toBeUndefined();
    expect(proxyFromEnvironment({ HTTPS_PROXY: 'http://p:1', NO_PROXY: 'example.com' })).toEqual({
      http: undefined,
      https: 'http://p:1',
      noProxy: 'localhost,127.0.0.1,::1,example.com',
    });
    expect(proxyFromEnvironment({ all_proxy: 'http://p:1', no_proxy: '*' })).toEqual({
      http: 'http://p:1',
      https: 'http://p:1',
      noProxy: '*',
    });
  });
});

describe('the model of serve and chat', () => {
  it('gets the key of any provider of the table', () => {
    expect(chooseModel('groq:llama', undefined, { GROQ_API_KEY: 'gsk' })).toEqual({
      model: 'groq:llama',
      baseURL: '',
      apiKey: 'gsk',
    });
    expect(chooseModel('demo:demo', undefined, {})).toMatchObject({ model: 'demo:demo' });
  });
});
