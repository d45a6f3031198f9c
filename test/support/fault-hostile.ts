// Modes of the faulty provider: hostile bytes without end, and redirects.
import { gzipSync } from 'node:zlib';

import type { Context, Mode, Modes } from './fault-kit';
import {
  answerWell,
  beginning,
  delta,
  endless,
  endlessParts,
  fatal,
  goodBytes,
  goodJson,
  json,
  ok,
  okWhole,
  partial,
  raw,
  socketBytes,
  sse,
} from './fault-kit';
import type { Api } from './model-wires';

const streamed = { only: 'stream' } as const;
const whole = { only: 'json' } as const;

const bomb = gzipSync(Buffer.alloc(32 << 20, 0x20));
const none = (): string => '';
// Every record of it is good.
const goodBomb = (api: Api): Buffer =>
  gzipSync(beginning(api) + delta[api].repeat(Math.ceil((8 << 20) / delta[api].length)));

const hostile: Modes = {
  'endless-text': partial(
    'response_too_large',
    endless(beginning, (api) => delta[api].repeat(500)),
  ),
  'endless-parts': partial('too_many_parts', endless(beginning, endlessParts())),
  'gzip-bomb-of-records': partial(
    'response_too_large',
    raw(goodBomb, { ...sse, 'content-encoding': 'gzip' }),
    { notOverFetch: true },
  ),
  'endless-comments': partial(
    'response_too_large',
    endless(beginning, () => `: ${'x'.repeat(1 << 16)}\n\n`),
  ),
  'endless-line': partial(
    'line_too_long',
    endless(
      (api) => `${beginning(api)}data: {"x":"`,
      () => 'y'.repeat(1 << 16),
    ),
  ),
  'endless-event': partial(
    'event_too_large',
    endless(beginning, () => `data: ${'y'.repeat(9_000)}\n`.repeat(8)),
  ),
  'endless-small-data-lines': partial(
    'response_too_large',
    endless(beginning, () => 'data: y\n'.repeat(8_000)),
  ),
  'endless-unknown-records': partial(
    'response_too_large',
    endless(beginning, () => 'event: x\ndata: {"type":"x.y"}\n\n'.repeat(2_000)),
  ),
  'endless-blank-lines': partial(
    'response_too_large',
    endless(beginning, () => '\n'.repeat(1 << 16)),
  ),
  'endless-whole': fatal(
    'event_too_large',
    endless(
      () => '{"x":"',
      () => 'y'.repeat(1 << 16),
      json,
    ),
    whole,
  ),
  'endless-blanks-whole': fatal(
    'response_too_large',
    endless(none, () => '\n'.repeat(1 << 16), json),
    whole,
  ),
  'gzip-bomb': fatal(
    'line_too_long',
    raw(() => bomb, { ...sse, 'content-encoding': 'gzip' }),
    { ...streamed, notOverFetch: true },
  ),
  'gzip-bomb-whole': fatal(
    'line_too_long',
    raw(() => bomb, { ...json, 'content-encoding': 'gzip' }),
    { ...whole, notOverFetch: true },
  ),
  'huge-line': fatal(
    'line_too_long',
    raw(() => `data: {"x":"${'y'.repeat(3 << 20)}"}\n\n`),
    streamed,
  ),
  'huge-head': fatal(
    'headers_too_large',
    ({ response }) => {
      for (let at = 0; at < 20; ++at) response.setHeader(`x-filler-${at}`, 'h'.repeat(7 << 10));
      response.writeHead(200, sse).end();
    },
    { notOverFetch: true },
  ),
  'huge-header-line': fatal(
    'headers_too_large',
    socketBytes(() => `HTTP/1.1 200 OK\r\nx: ${'h'.repeat(400_000)}\r\n\r\n`),
    { notOverFetch: true },
  ),
  'many-headers': fatal(
    'headers_too_large',
    socketBytes(() => `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}\r\n`),
    { notOverFetch: true },
  ),
  'endless-head': fatal(
    'headers_too_large',
    ({ request: { socket } }) => {
      socket.on('error', () => undefined);
      const more = (): void => {
        while (!socket.destroyed && socket.write('x: y\r\n'.repeat(1_000)));
      };
      socket.write('HTTP/1.1 200 OK\r\n');
      socket.on('drain', more);
      more();
    },
    { notOverFetch: true },
  ),
  'endless-informational': fatal(
    'headers_too_large',
    ({ request: { socket } }) => {
      socket.on('error', () => undefined);
      const more = (): void => {
        while (!socket.destroyed && socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)));
      };
      socket.on('drain', more);
      more();
    },
    { notOverFetch: true },
  ),
  'deep-record': ok(
    raw((api) => `data: ${'['.repeat(90_000)}${']'.repeat(90_000)}\n\n${goodBytes(api)}`),
  ),
  'deep-unclosed': ok(raw((api) => `data: ${'{"a":'.repeat(90_000)}\n\n${goodBytes(api)}`)),
  'huge-numbers': ok(
    raw((api) => `data: {"type":"x","n":1e999,"m":${'9'.repeat(5_000)}}\n\n${goodBytes(api)}`),
  ),
  'bad-utf8-in-a-record': ok(
    raw((api) =>
      Buffer.concat([
        Buffer.from('data: {"type":"x","a":"'),
        Buffer.of(0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80),
        Buffer.from(`"}\n\n${goodBytes(api)}`),
      ]),
    ),
  ),
  'nul-bytes-between': ok(raw((api) => `\0\0\n\n${goodBytes(api)}`)),
  'deep-whole': okWhole(
    raw((api) => goodJson(api).replace(/\}$/, `,"zz":${'['.repeat(100)}${']'.repeat(100)}}`), json),
  ),
  'too-deep-whole': fatal(
    'not_a_stream',
    raw(
      (api) => goodJson(api).replace(/\}$/, `,"zz":${'['.repeat(9_000)}${']'.repeat(9_000)}}`),
      json,
    ),
    whole,
  ),
};

const redirect =
  (status: number, to: (context: Context) => string, headers = {}): Mode['answer'] =>
  (context) => {
    context.response.writeHead(status, { location: to(context), ...headers }).end('moved');
  };

/** Redirects once, then answers. */
function moved(status: number, to: (context: Context) => string): Mode {
  return {
    outcome: 'complete',
    requests: 2,
    notOverFetch: true,
    answer: (context) =>
      context.attempt === 0 ? redirect(status, to)(context) : answerWell(context),
  };
}

const here = ({ request }: Context): string => request.url ?? '/';
const away = ({ elsewhere }: Context): string => elsewhere;
const stranger = { notOverFetch: true } as const;

const redirects: Modes = {
  'redirect-307': moved(307, here),
  'redirect-308': moved(308, here),
  'redirect-307-relative': moved(307, ({ request }) => (request.url ?? '').split('/').at(-1) ?? ''),
  'redirect-307-absolute': moved(307, (c) => `http://${c.request.headers.host}${here(c)}`),
  // A POST becomes a GET, which no provider answers.
  'redirect-301': fatal(
    'model_not_found',
    redirect(301, ({ label }) => `${label}/nowhere`),
    stranger,
  ),
  'redirect-302': fatal(
    'model_not_found',
    redirect(302, ({ label }) => `${label}/nowhere`),
    stranger,
  ),
  'redirect-303': fatal(
    'model_not_found',
    redirect(303, ({ label }) => `${label}/nowhere`),
    stranger,
  ),
  'redirect-loop': fatal('too_many_redirects', redirect(307, here), { ...stranger, requests: 21 }),
  // Another origin gets neither the key nor the conversation.
  'redirect-elsewhere': fatal('provider_bad_request', redirect(307, away), stranger),
  'redirect-elsewhere-308': fatal('provider_bad_request', redirect(308, away), stranger),
  'redirect-elsewhere-301': fatal('provider_bad_request', redirect(301, away), stranger),
  'redirect-elsewhere-302': fatal('provider_bad_request', redirect(302, away), stranger),
  'redirect-elsewhere-303': fatal('provider_bad_request', redirect(303, away), stranger),
  'redirect-elsewhere-with-name': fatal(
    'provider_bad_request',
    redirect(307, ({ elsewhere }) => elsewhere.replace('//', '//user:pass@')),
    stranger,
  ),
  'redirect-to-another-name': fatal(
    'provider_bad_request',
    redirect(307, ({ elsewhere }) => elsewhere.replace('127.0.0.1', 'localhost')),
    stranger,
  ),
  'redirect-without-place': fatal(
    'provider_bad_request',
    ({ response }) => void response.writeHead(307).end(),
    stranger,
  ),
  'redirect-to-file': fatal(
    'protocol_error',
    redirect(307, () => 'file:///etc/passwd'),
    stranger,
  ),
  'redirect-to-script': fatal(
    'protocol_error',
    redirect(302, () => 'javascript:alert(1)'),
    stranger,
  ),
  'redirect-to-nonsense': fatal(
    'protocol_error',
    redirect(307, () => 'http://[::bad'),
    stranger,
  ),
  'redirect-many-times': {
    outcome: 'complete',
    requests: 6,
    notOverFetch: true,
    answer: (context) => (context.attempt < 5 ? redirect(307, here)(context) : answerWell(context)),
  },
  'redirect-with-endless-body': {
    outcome: 'complete',
    requests: 2,
    notOverFetch: true,
    answer: (context) => {
      if (context.attempt > 0) return answerWell(context);
      context.response.setHeader('location', here(context));
      context.response.statusCode = 307;
      context.response.on('error', () => undefined);
      const more = (): void => {
        while (!context.response.destroyed && context.response.write('x'.repeat(1 << 16)));
      };
      context.response.on('drain', more);
      more();
    },
  },
};

export const hostileModes: Modes = { ...hostile, ...redirects };
