// Modes of the faulty provider: broken transfers, hostile bytes, redirects.
import { gzipSync } from 'node:zlib';

import type { Context, Mode, Modes } from './fault-kit';
import {
  beginning,
  failing,
  fatal,
  goodBytes,
  goodJson,
  json,
  ok,
  partial,
  raw,
  socketBytes,
  sse,
} from './fault-kit';

const streamed = { only: 'stream' } as const;
const whole = { only: 'json' } as const;
const eventStream = 'content-type: text/event-stream\r\n';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const chunkedHead = `HTTP/1.1 200 OK\r\n${eventStream}transfer-encoding: chunked\r\n\r\n`;

/** Begins the answer, then does something to the connection. */
function begun(then: (context: Context) => void): Mode['answer'] {
  return (context) => {
    context.response.writeHead(200, sse);
    context.response.write(beginning(context.api));
    setTimeout(() => then(context), 20);
  };
}

const cuts: Modes = {
  'reset-at-once': failing(1, ({ request }) => void request.socket.destroy()),
  'reset-hard': failing(1, ({ request }) => void request.socket.resetAndDestroy()),
  'cut-in-status-line': failing(
    1,
    socketBytes(() => 'HTTP/1.1 20'),
  ),
  'cut-in-head': failing(
    1,
    socketBytes(() => `HTTP/1.1 200 OK\r\n${eventStream}x: y`),
  ),
  'cut-after-head': failing(1, ({ response }) => {
    response.writeHead(200, sse);
    response.flushHeaders();
    setTimeout(() => response.destroy(), 10);
  }),
  'reset-after-head': failing(1, ({ request, response }) => {
    response.writeHead(200, sse).flushHeaders();
    setTimeout(() => request.socket.resetAndDestroy(), 10);
  }),
  'empty-body': failing(
    1,
    raw(() => ''),
  ),
  'blank-body': failing(
    1,
    raw(() => '\n\n\n'),
    streamed,
  ),
  'no-content': failing(1, ({ response }) => void response.writeHead(204).end(), streamed),
  'only-comments': failing(
    1,
    raw(() => ': hi\n\n: ho\n\n'),
    streamed,
  ),
  'only-the-sentinel': failing(
    1,
    raw(() => 'data: [DONE]\n\n'),
    { ...streamed, apis: ['chat'] },
  ),
  'cut-in-text': partial(
    'connection_lost',
    begun(({ response }) => response.destroy()),
  ),
  'reset-in-text': partial(
    'connection_lost',
    begun(({ request }) => request.socket.resetAndDestroy()),
  ),
  'end-in-text': partial('stream_truncated', raw(beginning)),
  'end-in-record': partial(
    'stream_truncated',
    raw((api) => `${beginning(api)}data: {"id":"chatcm`),
  ),
  'end-in-character': partial(
    'stream_truncated',
    raw((api) =>
      Buffer.concat([Buffer.from(`${beginning(api)}data: {"x":"`), Buffer.of(0xf0, 0x9f)]),
    ),
  ),
  'cut-in-chunk': partial(
    'connection_lost',
    socketBytes((api) => `${chunkedHead}${chunk(beginning(api))}ff\r\ndata: {`),
  ),
  'cut-in-chunk-size': partial(
    'connection_lost',
    socketBytes((api) => `${chunkedHead}${chunk(beginning(api))}f`),
  ),
  'bad-chunk-size': partial(
    'protocol_error',
    socketBytes((api) => `${chunkedHead}${chunk(beginning(api))}zz\r\nab`),
    { notOverFetch: true },
  ),
  'length-too-long': partial(
    'connection_lost',
    socketBytes(
      (api) => `HTTP/1.1 200 OK\r\n${eventStream}content-length: 99999\r\n\r\n${beginning(api)}`,
    ),
  ),
  'length-too-short': partial(
    'stream_truncated',
    socketBytes(
      (api) =>
        `HTTP/1.1 200 OK\r\n${eventStream}content-length: ${Buffer.byteLength(beginning(api))}\r\n\r\n` +
        goodBytes(api),
    ),
    { notOverFetch: true },
  ),
  'whole-cut': failing(
    1,
    raw((api) => goodJson(api).slice(0, -20), json),
    whole,
  ),
  'whole-cut-by-length': failing(
    1,
    socketBytes(
      (api) => `HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n${goodJson(api).slice(0, 50)}`,
    ),
    whole,
  ),
  'whole-reset': failing(
    1,
    ({ api, request, response }) => {
      response.writeHead(200, json).write(goodJson(api).slice(0, 50));
      setTimeout(() => request.socket.resetAndDestroy(), 20);
    },
    whole,
  ),
  // The answer came whole, the connection did not.
  'reset-behind-the-end': ok(({ api, request, response }) => {
    response.writeHead(200, sse).write(goodBytes(api));
    setTimeout(() => request.socket.resetAndDestroy(), 20);
  }),
  'never-closed': ok(
    ({ api, response }) => void response.writeHead(200, sse).write(goodBytes(api)),
  ),
};

const silences: Modes = {
  'slow-head': failing(1, () => undefined),
  'silence-in-head': failing(
    1,
    ({ request }) => void request.socket.write('HTTP/1.1 200 OK\r\nx:'),
    {
      notOverFetch: true,
    },
  ),
  'silence-after-head': failing(1, ({ response }) => {
    response.writeHead(200, sse).flushHeaders();
  }),
  'silence-in-text': partial(
    'idle_timeout',
    begun(() => undefined),
  ),
  'silence-in-record': partial('idle_timeout', ({ api, response }) => {
    response.writeHead(200, sse).write(`${beginning(api)}data: {"ch`);
  }),
  'whole-silence': failing(
    1,
    ({ api, response }) => void response.writeHead(200, json).write(goodJson(api).slice(0, 9)),
    whole,
  ),
};

const nonsense: Modes = {
  'page-instead': fatal(
    'not_a_stream',
    raw(() => '<!doctype html><title>Welcome</title>', { 'content-type': 'text/html' }),
  ),
  'text-instead': fatal(
    'not_a_stream',
    raw(() => 'Hello, I am not JSON.', { 'content-type': 'text/plain' }),
  ),
  'binary-instead': fatal(
    'not_a_stream',
    raw(() => Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 0xff, 0xfe, 10, 10, 0]), {
      'content-type': 'image/png',
    }),
  ),
  'utf16-instead': fatal(
    'not_a_stream',
    raw((api) => Buffer.from(goodJson(api), 'utf16le'), json),
  ),
  'other-json': fatal(
    'not_a_stream',
    raw(() => '{"hello":"world"}', json),
  ),
  'banner-instead': fatal(
    'protocol_error',
    socketBytes(() => 'SSH-2.0-OpenSSH_9.2\r\n'),
    {
      notOverFetch: true,
    },
  ),
  'http2-instead': fatal(
    'protocol_error',
    socketBytes(() => Buffer.from('000012040000000000000300000064', 'hex')),
    { notOverFetch: true },
  ),
  'bad-status-line': fatal(
    'protocol_error',
    socketBytes(() => 'HTTP/1.1 OK 200\r\n\r\n'),
    {
      notOverFetch: true,
    },
  ),
  'bad-length': fatal(
    'protocol_error',
    socketBytes(() => 'HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n'),
    { notOverFetch: true },
  ),
  'switching-protocols': fatal(
    'protocol_error',
    socketBytes(
      () => 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    ),
    { notOverFetch: true },
  ),
  'unknown-coding': fatal(
    'unsupported_encoding',
    raw(() => 'zzz', { ...sse, 'content-encoding': 'br' }),
    { notOverFetch: true },
  ),
  'two-codings': fatal(
    'unsupported_encoding',
    raw((api) => gzipSync(gzipSync(goodBytes(api))), { ...sse, 'content-encoding': 'gzip, gzip' }),
    { notOverFetch: true },
  ),
  'gzip-transfer': fatal(
    'unsupported_encoding',
    socketBytes(() => `HTTP/1.1 200 OK\r\n${eventStream}transfer-encoding: gzip, chunked\r\n\r\n`),
    { notOverFetch: true },
  ),
  'bad-coding': fatal(
    'decompression_failed',
    raw(() => 'not gzip at all', { ...sse, 'content-encoding': 'gzip' }),
    { notOverFetch: true },
  ),
};

const silent = Object.fromEntries(
  Object.entries(silences).map(([name, mode]) => [name, { ...mode, silent: true as const }]),
);

export const transportModes: Modes = { ...cuts, ...silent, ...nonsense };
