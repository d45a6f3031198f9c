// A call over HTTP/2 that is stopped: the provider hears of it at once, whatever else its connection carries.
import { readFileSync, rmSync } from 'node:fs';
import type { Http2SecureServer, ServerHttp2Stream } from 'node:http2';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { createModelRuntime } from 'millrace';

import type { Certificates } from '../../support/daemons';
import { describeWith, makeCertificates } from '../../support/daemons';
import { sse } from '../support/responses';
import { until } from '../support/server';

describeWith(['openssl'], 'a stop over HTTP/2', () => {
  let certificates: Certificates;
  let server: Http2SecureServer;
  const open = new Map<string, ServerHttp2Stream>();
  const closed: string[] = [];

  beforeAll(async () => {
    certificates = makeCertificates();
    server = createSecureServer({
      key: readFileSync(join(certificates.folder, 'server.key')),
      cert: readFileSync(join(certificates.folder, 'server.pem')),
    });
    server.on('sessionError', () => undefined);
    server.on('stream', (stream, headers) => {
      const name = String(headers['x-name']);
      open.set(name, stream);
      stream.on('error', () => undefined).on('close', () => closed.push(name));
      if (name.startsWith('silent')) return;
      stream.respond({ ':status': 200, 'content-type': 'text/event-stream' });
      stream.write(sse({ choices: [{ index: 0, delta: { content: 'a' } }] }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => {
    for (const stream of open.values()) stream.session?.destroy();
    server.close();
    rmSync(certificates.folder, { recursive: true });
  });

  const request = (name: string) =>
    createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: `https://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
      ca: certificates.ca,
      http2: true,
      circuit: false,
    }).stream(
      { model: 'm', messages: [{ role: 'user', content: 'Hi' }] },
      { requestHeaders: { 'x-name': name } },
    );

  it.each(['begun', 'silent'])('reaches the provider of an answer that is %s', async (name) => {
    const run = request(name);
    await until(() => open.has(name), 'the provider has the call');
    run.stop();
    await until(() => closed.includes(name), 'the provider hears of the stop');
  });

  it('reaches it where others go on with the connection', async () => {
    const other = request('silent other');
    await until(() => open.has('silent other'), 'the provider has the first call');
    const run = request('left');
    await until(() => open.has('left'), 'the provider has the other call');
    expect(open.get('left')?.session === open.get('silent other')?.session).toBe(true);
    for await (const event of run) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
    await until(() => closed.includes('left'), 'the provider hears of the first');
    expect(closed).not.toContain('silent other');
    other.stop();
    await until(() => closed.includes('silent other'), 'the provider hears of the other');
  });
});
