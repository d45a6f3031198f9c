// What `millrace serve` answers to requests that it cannot take.
import { connect } from 'node:net';

import { startServer } from '../../../dist/cjs/server';
import { rawPort } from './kit';
import type { Failure, Rows } from './row';

const serverOf = (more: object = {}) =>
  startServer({ model: 'demo:demo', host: '127.0.0.1', port: 0, ...more });

let shared: ReturnType<typeof startServer> | undefined;
const portOf = (): number => {
  shared ??= serverOf();
  return shared.port;
};

/** Stops the server of the rows. */
export async function stopServer(): Promise<void> {
  await shared?.stop();
  shared = undefined;
}

/** The error that the server answers to these bytes. */
function answerTo(bytes: string): Promise<Failure> {
  const port = portOf();
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += String(chunk);
      const json = /\r\n\r\n(\{.*\})$/s.exec(text)?.[1];
      if (json === undefined) return;
      socket.destroy();
      resolve((JSON.parse(json) as { error: Failure }).error);
    });
  });
}

const request = (line: string, headers: string[] = [], body = '') => {
  const host = headers.some((one) => /^host:/i.test(one)) ? [] : ['Host: localhost'];
  return [line, ...host, ...headers, '', body].join('\r\n');
};
const post = (headers: string[], body = '') => request('POST /agent HTTP/1.1', headers, body);
const deep = '['.repeat(2000);
const answers = (bytes: string, says: string | RegExp) => ({
  provoke: () => answerTo(bytes),
  says,
});

export const serverRows: Rows = {
  invalid_request_line: answers(request('GE[T /health HTTP/1.1'), "'GE[T'"),
  invalid_header: answers(request('GET /health HTTP/1.1', ['no colon here']), "'no colon here'"),
  invalid_host: answers(request('GET /health HTTP/1.1', ['Host: a b c']), "'a b c'"),
  invalid_body_length: answers(post(['Content-Length: +7']), "'+7'"),
  invalid_chunk: answers(post(['Transfer-Encoding: chunked'], 'zz\r\n'), 'hexadecimal'),
  json_too_deep: answers(post([`Content-Length: ${deep.length}`], deep), /\d{3,} levels/),
  invalid_body: answers(post(['Content-Length: 2'], '[]'), 'a list'),
  unauthorized: {
    native: ['api/api_zone_test.cpp', 'ApiZone.AnswersOtherPathsWithTheCodeOfTheError'],
  },
  host_not_allowed: answers(
    request('GET /health HTTP/1.1', ['Host: evil.example']),
    'evil.example',
  ),
  origin_not_allowed: answers(
    request('GET /health HTTP/1.1', ['Origin: http://evil.example']),
    'http://evil.example',
  ),
  route_not_found: answers(request('GET /nowhere HTTP/1.1'), '/nowhere'),
  method_not_allowed: answers(request('DELETE /agent HTTP/1.1'), 'DELETE'),
  request_timeout: { native: ['http/limits_test.cpp', 'HttpLimits.RefusesAHeadThatTakesTooLong'] },
  body_too_large: answers(post(['Content-Length: 99999999999']), /\d{5,} bytes/),
  target_too_long: answers(request(`GET /${'x'.repeat(20_000)} HTTP/1.1`), /\d{4,} bytes/),
  unsupported_media_type: answers(
    post(['Content-Encoding: br', 'Content-Length: 2'], '{}'),
    "'br'",
  ),
  expectation_failed: answers(post(['Expect: a-miracle', 'Content-Length: 2']), "'a-miracle'"),
  request_headers_too_large: answers(
    request('GET /health HTTP/1.1', [`X-Long: ${'x'.repeat(200_000)}`]),
    /\d{4,} bytes/,
  ),
  http_version_not_supported: answers(request('GET /health HTTP/3.7'), "'HTTP/3.7'"),
  too_many_connections: {
    native: ['http/limits_test.cpp', 'HttpLimits.RefusesConnectionsAboveTheLimit'],
  },
  address_in_use: {
    provoke: async () => {
      const port = await rawPort(() => undefined);
      return serverOf({ port });
    },
    says: /127\.0\.0\.1:\d+/,
  },
  listen_failed: { provoke: () => serverOf({ host: '203.0.113.7' }), says: '203.0.113.7' },
};
