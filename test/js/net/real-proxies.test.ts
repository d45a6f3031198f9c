// Proxies and servers of the operating system's packages on the way: tunnels, passwords, private
// authorities, client certificates, HTTP/2, buffering.
import { rmSync } from 'node:fs';

import type { ModelRuntimeOptions } from 'millrace';
import { createModelRuntime } from 'millrace';

import type { Server } from '../../../dist/cjs/server';
import { startServer } from '../../../dist/cjs/server';
import type { Certificates, Daemon } from '../../support/daemons';
import {
  describeWith,
  freePort,
  freePorts,
  makeCertificates,
  startDaemon,
  workFolder,
} from '../../support/daemons';
import { bytesOf, deltas, recordsOf, text, usage } from '../../support/model-wires';
import type { Provider } from '../../support/provider';
import { startProvider, stream } from '../../support/provider';

jest.setTimeout(60_000);

const key = 'sk-the-secret-of-the-proxies';
const answer = bytesOf(recordsOf('chat', { deltas, usage }));
const payload = { model: 'm', messages: [{ role: 'user' as const, content: 'Hi' }] };
const tick = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

// Programs write their logs when they find the time.
async function logged(daemon: Daemon, name: string, words: RegExp): Promise<void> {
  for (let at = 0; at < 100 && !words.test(daemon.log(name)); ++at) await tick(20);
  expect(daemon.log(name)).toMatch(words);
}

let provider: Provider;
beforeAll(async () => {
  provider = await startProvider(stream([answer]));
});
afterAll(() => provider.close());
beforeEach(() => {
  provider.calls.length = 0;
  provider.answer = stream([answer]);
});

const request = (options: ModelRuntimeOptions) =>
  createModelRuntime('openai', { apiKey: key, maxRetries: 0, circuit: false, ...options }).stream(
    payload,
  );

/** nginx with TLS, HTTP/2, a place for clients with certificates, and two ways to the provider. */
async function startNginx(
  certificates: Certificates,
): Promise<Daemon & { port: number; plain: number }> {
  const [port = 0, plain = 0] = await freePorts(2);
  const folder = workFolder();
  const settings = `
    daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
    events { worker_connections 512; }
    http {
      access_log ${folder}/access.log;
      client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
      uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
      log_format seen '$server_protocol $ssl_client_verify $request_uri';
      proxy_http_version 1.1;
      server {
        listen 127.0.0.1:${port} ssl http2;
        ssl_certificate ${certificates.folder}/server.pem;
        ssl_certificate_key ${certificates.folder}/server.key;
        ssl_client_certificate ${certificates.folder}/ca.pem;
        ssl_verify_client optional;
        access_log ${folder}/seen.log seen;
        location /v1/ { proxy_pass ${provider.url}/v1/; }
        location /guarded/ {
          if ($ssl_client_verify != SUCCESS) { return 403; }
          proxy_pass ${provider.url}/;
        }
      }
      server {
        listen 127.0.0.1:${plain};
        location /v1/ { proxy_pass ${provider.url}/v1/; proxy_buffering on; }
      }
    }`;
  const daemon = await startDaemon('nginx', folder, settings, (file) => ['-c', file], port);
  return { ...daemon, port, plain };
}

describeWith(['nginx', 'openssl'], 'nginx', () => {
  let certificates: Certificates;
  let nginx: Awaited<ReturnType<typeof startNginx>>;
  const url = (path = '/v1') => `https://127.0.0.1:${nginx.port}${path}`;

  beforeAll(async () => {
    certificates = makeCertificates();
    nginx = await startNginx(certificates);
  });
  afterAll(async () => {
    await nginx.stop();
    rmSync(certificates.folder, { recursive: true });
  });

  it('speaks HTTP/2 where it is asked for, and only there', async () => {
    expect(await request({ baseURL: url('/v1/one'), ca: certificates.ca }).text()).toBe(text);
    // A connection that stands already would be taken as it is, so that this is the first by this name.
    const named = url('/v1/two').replace('127.0.0.1', 'localhost');
    const run = request({ baseURL: named, ca: certificates.ca, http2: true });
    expect(await run.text()).toBe(text);
    expect((await run.usage).totalOutputTokens).toBe(usage.output);
    await logged(nginx, 'seen.log', /HTTP\/1\.1 \S+ \/v1\/one/);
    await logged(nginx, 'seen.log', /HTTP\/2\.0 \S+ \/v1\/two/);
  });

  it('is trusted only with the authority of its certificate', async () => {
    expect(await request({ baseURL: url(), ca: certificates.ca }).text()).toBe(text);
    await expect(request({ baseURL: url() }).text()).rejects.toMatchObject({ code: 'tls_failed' });
    const named = url().replace('127.0.0.1', 'localhost');
    expect(await request({ baseURL: named, ca: certificates.ca }).text()).toBe(text);
  });

  it('is not trusted under another name', async () => {
    const other = url().replace('127.0.0.1', '127.0.0.2');
    await expect(request({ baseURL: other, ca: certificates.ca }).text()).rejects.toMatchObject({
      code: expect.stringMatching(/tls_failed|connect_failed/) as string,
    });
  });

  it('lets in who shows a certificate', async () => {
    const guarded = { baseURL: url('/guarded/v1'), ca: certificates.ca };
    await expect(request(guarded).text()).rejects.toMatchObject({ code: 'permission_denied' });
    const shown = { cert: certificates.clientCert, key: certificates.clientKey };
    expect(await request({ ...guarded, ...shown }).text()).toBe(text);
    expect(provider.calls).toHaveLength(1);
    await logged(nginx, 'seen.log', /SUCCESS \/guarded\/v1\/chat\/completions/);
  });

  it('runs many answers over HTTP/2 at a time', async () => {
    const runtime = createModelRuntime('openai', {
      apiKey: key,
      baseURL: url(),
      ca: certificates.ca,
      http2: true,
      maxRetries: 0,
    });
    const all = await Promise.all(Array.from({ length: 40 }, () => runtime.stream(payload).text()));
    expect(new Set(all)).toEqual(new Set([text]));
    expect(provider.calls).toHaveLength(40);
  });

  it('tells a broken stream of HTTP/2 from a whole one', async () => {
    provider.answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write(answer.slice(0, answer.indexOf('world')));
      setTimeout(() => response.destroy(), 50);
    };
    const run = request({ baseURL: url(), ca: certificates.ca, http2: true });
    await expect(run.text()).rejects.toMatchObject({
      code: expect.stringMatching(/connection_lost|stream_truncated/) as string,
    });
    expect((await run.report).usage.source).toBe('estimated');
  });

  it('may hold back an answer, which comes whole all the same', async () => {
    const run = request({ baseURL: `http://127.0.0.1:${nginx.plain}/v1` });
    expect(await run.text()).toBe(text);
    expect((await run.usage).source).toBe('reported');
  });

  it('in front of a provider passes each piece on when that says X-Accel-Buffering: no', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const at = answer.indexOf('data:', answer.indexOf('brave'));
    provider.answer = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' });
      response.write(answer.slice(0, at));
      await released;
      response.end(answer.slice(at));
    };
    const seen: string[] = [];
    for await (const event of request({ baseURL: `http://127.0.0.1:${nginx.plain}/v1` })) {
      if (event.type !== 'TEXT_MESSAGE_CONTENT') continue;
      seen.push(event.delta);
      release(); // only what was seen before the provider had sent all lets it go on
    }
    expect(seen.join('')).toBe(text);
  });
});

describeWith(['nginx'], 'nginx in front of serve', () => {
  let server: Server;
  let nginx: Daemon;
  let port: number;

  beforeAll(async () => {
    server = startServer({ model: 'openai:m', baseURL: `${provider.url}/v1`, apiKey: key });
    port = await freePort();
    const folder = workFolder();
    const settings = `
      daemon off; pid ${folder}/pid; error_log ${folder}/error.log; worker_processes 1;
      events { worker_connections 512; }
      http {
        access_log off;
        client_body_temp_path ${folder}/b; proxy_temp_path ${folder}/p; fastcgi_temp_path ${folder}/f;
        uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
        server {
          listen 127.0.0.1:${port};
          location / {
            proxy_pass http://127.0.0.1:${server.port}; proxy_http_version 1.1;
            proxy_set_header Host 127.0.0.1:${server.port}; proxy_buffering on;
          }
        }
      }`;
    nginx = await startDaemon('nginx', folder, settings, (file) => ['-c', file], port);
  });
  afterAll(async () => {
    await nginx.stop();
    await server.stop();
  });

  const routes = [
    ['/agent', { threadId: 't', runId: 'r', messages: [{ id: 'u', role: 'user', content: 'Hi' }] }],
    ['/webapi/chat/openai', payload],
  ] as const;

  it.each(routes)('%s passes each piece on at once', async (path, body) => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const at = answer.indexOf('data:', answer.indexOf('brave'));
    provider.answer = async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(answer.slice(0, at));
      await released;
      response.end(answer.slice(at));
    };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status === 404 || response.status === 400) release();
    expect(response.status).toBe(200);
    let got = '';
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      got += Buffer.from(piece).toString('utf8');
      if (got.includes('brave')) release();
    }
    expect(got).toContain(' new');
  });
});

/** tinyproxy, with or without a password. */
async function startTinyproxy(password?: string): Promise<Daemon & { port: number }> {
  const port = await freePort();
  const folder = workFolder();
  const settings = [
    `Port ${port}`,
    'Listen 127.0.0.1',
    'Timeout 60',
    `LogFile "${folder}/log"`,
    'LogLevel Connect',
    'MaxClients 50',
    ...(password === undefined ? [] : [`BasicAuth me ${password}`]),
  ].join('\n');
  const daemon = await startDaemon(
    'tinyproxy',
    folder,
    `${settings}\n`,
    (f) => ['-d', '-c', f],
    port,
  );
  return { ...daemon, port };
}

/** Squid, which asks for no password. */
async function startSquid(): Promise<Daemon & { port: number }> {
  const port = await freePort();
  const folder = workFolder();
  const settings = [
    `http_port 127.0.0.1:${port}`,
    `pid_filename ${folder}/pid`,
    `cache_log ${folder}/cache.log`,
    `access_log stdio:${folder}/log`,
    `coredump_dir ${folder}`,
    'cache deny all',
    'cache_mem 8 MB',
    'acl all_ports port 1-65535',
    'http_access allow all_ports',
    'visible_hostname proxy.test',
    'shutdown_lifetime 0 seconds',
    'max_filedescriptors 1024',
  ].join('\n');
  const daemon = await startDaemon('squid', folder, `${settings}\n`, (f) => ['-N', '-f', f], port);
  return { ...daemon, port };
}

const proxies = { tinyproxy: startTinyproxy, squid: startSquid };

describe.each(Object.keys(proxies) as (keyof typeof proxies)[])('behind', (name) => {
  describeWith([name, 'nginx', 'openssl'], name, () => {
    let certificates: Certificates;
    let nginx: Awaited<ReturnType<typeof startNginx>>;
    let proxy: Daemon & { port: number };
    const proxied = () => `http://127.0.0.1:${proxy.port}`;

    beforeAll(async () => {
      certificates = makeCertificates();
      [nginx, proxy] = await Promise.all([startNginx(certificates), proxies[name]()]);
    });
    afterAll(async () => {
      await Promise.all([nginx.stop(), proxy.stop()]);
      rmSync(certificates.folder, { recursive: true });
    });

    it('https: addresses are reached through a tunnel that shows no key', async () => {
      const baseURL = `https://127.0.0.1:${nginx.port}/v1`;
      const run = request({ baseURL, ca: certificates.ca, proxy: proxied() });
      expect(await run.text()).toBe(text);
      expect(provider.calls[0]?.headers.authorization).toBe(`Bearer ${key}`);
      // Squid notes a tunnel when it is closed.
      if (name === 'tinyproxy') await logged(proxy, 'log', new RegExp(`127.0.0.1:${nginx.port}`));
      expect(proxy.log('log')).not.toContain(key);
      expect(proxy.log('log')).not.toContain('chat/completions');
    });

    it('http: addresses are asked for by name', async () => {
      expect(await request({ baseURL: `${provider.url}/v1`, proxy: proxied() }).text()).toBe(text);
      expect(provider.calls[0]?.headers).toHaveProperty('via');
    });

    it('HTTP/2 goes through the tunnel', async () => {
      const baseURL = `https://localhost:${nginx.port}/v1/tunnel`;
      const run = request({ baseURL, ca: certificates.ca, proxy: proxied(), http2: true });
      expect(await run.text()).toBe(text);
      await logged(nginx, 'seen.log', /HTTP\/2\.0 \S+ \/v1\/tunnel/);
    });

    it('hosts of noProxy are reached directly', async () => {
      const away = { proxy: { http: 'http://127.0.0.1:1', noProxy: '127.0.0.1' } };
      expect(await request({ baseURL: `${provider.url}/v1`, ...away }).text()).toBe(text);
      const through = { proxy: { http: 'http://127.0.0.1:1', noProxy: 'example.com' } };
      await expect(
        request({ baseURL: `${provider.url}/v1`, ...through }).text(),
      ).rejects.toMatchObject({
        code: 'proxy_failed',
      });
    });

    it('a server that cannot be reached is told as such', async () => {
      const port = await freePort();
      const gone = request({ baseURL: `https://127.0.0.1:${port}/v1`, proxy: proxied() });
      await expect(gone.text()).rejects.toMatchObject({ code: 'proxy_failed' });
    });

    it('the environment names it', async () => {
      const before = { ...process.env };
      Object.assign(process.env, { HTTPS_PROXY: proxied(), NO_PROXY: 'example.com' });
      try {
        const named = `https://localhost.localdomain:${nginx.port}/v1`;
        await request({ baseURL: named, ca: certificates.ca })
          .text()
          .catch(() => undefined);
        await logged(proxy, 'log', /localhost\.localdomain/);
        // This machine itself needs no proxy.
        const direct = request({
          baseURL: `https://127.0.0.1:${nginx.port}/v1`,
          ca: certificates.ca,
        });
        expect(await direct.text()).toBe(text);
      } finally {
        process.env = before;
      }
    });
  });
});

describeWith(['tinyproxy'], 'a proxy with a password', () => {
  let proxy: Daemon & { port: number };
  beforeAll(async () => {
    proxy = await startTinyproxy('pa55word');
  });
  afterAll(() => proxy.stop());
  const through = (login: string) =>
    request({ baseURL: `${provider.url}/v1`, proxy: `http://${login}127.0.0.1:${proxy.port}` });

  it('lets in who knows it', async () => {
    expect(await through('me:pa55word@').text()).toBe(text);
  });

  it.each(['', 'me:wrong@'])('refuses "%s" in words that do not repeat it', async (login) => {
    const error = await through(login)
      .text()
      .catch((reason: unknown) => reason as Error & { code: string });
    expect(error).toBeInstanceOf(Error);
    expect(JSON.stringify({ ...(error as Error) }) + String(error)).not.toContain('wrong');
    expect(provider.calls).toHaveLength(0);
  });

  it('refuses a tunnel with a word on the password', async () => {
    const run = request({
      baseURL: 'https://127.0.0.1:1/v1',
      proxy: `http://me:wrong@127.0.0.1:${proxy.port}`,
    });
    await expect(run.text()).rejects.toMatchObject({ code: 'proxy_failed' });
  });
});
