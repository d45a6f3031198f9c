// Modes of the faulty provider: good answers in odd clothes.
import { deflateSync, gzipSync } from 'node:zlib';

import type { Modes } from './fault-kit';
import {
  answerWell,
  answerWith,
  edited,
  good,
  goodBytes,
  goodJson,
  inPieces,
  json,
  ok,
  okWhole,
  raw,
  records,
  socketBytes,
  sse,
} from './fault-kit';
import type { Api, WireRecord } from './model-wires';
import { bytesOf, deltas, recordsOf, usage, wholeOf } from './model-wires';

const chat = { apis: ['chat'] as readonly Api[] };
const responses = { apis: ['responses'] as readonly Api[] };
const messages = { apis: ['messages'] as readonly Api[] };

const first = (all: WireRecord[]): WireRecord => all[0] as WireRecord;
/** The records with others behind each. */
const spread = (all: WireRecord[], other: WireRecord): WireRecord[] =>
  all.flatMap((record, at) => (at === all.length - 1 ? [record] : [record, other]));
const coded = (text: string): string =>
  text.replace(/[^\x20-\x7e\n]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
const oddText = `\u0000 \u2028 \u2029 \ufeff \\ " </script> \u{1f468}\u200d\u{1f469}\u200d\u{1f467} \u202e`;

/** The good chat stream, the content of its pieces replaced. */
const chatPieces = (pieces: unknown[]): string =>
  bytesOf([
    ...pieces.map((content) => ({
      data: JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
    })),
    ...recordsOf('chat', { deltas: [], usage }),
  ]);

const framing: Modes = {
  plain: { outcome: 'complete', answer: answerWell },
  crlf: ok(raw((api) => bytesOf(recordsOf(api, good), '\r\n'))),
  'cr-only': ok(raw((api) => bytesOf(recordsOf(api, good), '\r'))),
  'mixed-newlines': ok(
    raw((api) =>
      recordsOf(api, good)
        .map((record, at) => bytesOf([record], ['\n', '\r\n', '\r'][at % 3]))
        .join(''),
    ),
  ),
  'byte-by-byte': ok(({ api, response }) => inPieces(response, Buffer.from(goodBytes(api)), 1)),
  'seven-bytes': ok(({ api, response }) => inPieces(response, Buffer.from(goodBytes(api)), 7)),
  'byte-order-mark': ok(raw((api) => `\ufeff${goodBytes(api)}`)),
  comments: ok(raw((api) => `: hi\n\n${goodBytes(api).replaceAll('\n\n', '\n\n: ping\n\n')}`)),
  'long-comments': ok(
    raw((api) => goodBytes(api).replaceAll('\n\n', `\n\n: ${'-'.repeat(9_000)}\n\n`)),
  ),
  'no-space': ok(raw((api) => goodBytes(api).replaceAll('data: ', 'data:'))),
  'blank-lines': ok(raw((api) => `\n\n\n${goodBytes(api).replaceAll('\n\n', '\n\n\n\n')}`)),
  'ids-and-retries': ok(
    raw((api) => goodBytes(api).replaceAll('data: ', 'id: 7\nretry: 10\ndata: ')),
  ),
  'unknown-fields': ok(raw((api) => goodBytes(api).replaceAll('data: ', 'x: y\nfoo\ndata: '))),
  'data-in-two-lines': ok(raw((api) => goodBytes(api).replace(/^data: \{/gm, 'data: {\ndata: '))),
  'empty-data': ok(raw((api) => `data\n\ndata:\n\n${goodBytes(api)}`)),
  'no-names': ok(records((all) => all.map(({ data }) => ({ data })))),
  'other-names': ok(
    records((all) => all.map(({ data }) => ({ event: 'message', data }))),
    {
      ...chat,
    },
  ),
  'no-sentinel': ok(records((all) => all.filter(({ data }) => data !== '[DONE]'))),
  'sentinel-everywhere': ok(records((all) => [...all, { data: '[DONE]' }])),
  'sentinel-twice': ok(records((all) => [...all, { data: '[DONE]' }, { data: '[DONE]' }])),
  'garbage-after-the-end': ok(
    records((all) => [
      ...all,
      { data: '{"choices":[{"delta":{"content":"late"}}]}' },
      { data: '!' },
    ]),
  ),
  'unknown-records': ok(
    records((all) => [
      first(all),
      { event: 'x', data: '{"type":"x.unknown","a":1}' },
      ...all.slice(1),
    ]),
  ),
  'unknown-records-everywhere': ok(
    records((all) => spread(all, { event: 'x.y', data: '{"type":"x.y","deep":[{"a":[1]}]}' })),
  ),
  'broken-record': ok(records((all) => [first(all), { data: '{"broken":' }, ...all.slice(1)])),
  'records-of-other-types': ok(
    records((all) => [
      first(all),
      ...['null', '42', '"text"', '[]', '[{"choices":1}]', 'true', '{}'].map((data) => ({ data })),
      ...all.slice(1),
    ]),
  ),
  pings: ok(records((all) => spread(all, { event: 'ping', data: '{"type":"ping"}' }))),
  'escaped-unicode': ok(raw((api) => coded(goodBytes(api)))),
  'extra-members': ok(
    edited((record) => ({ __proto__x: 1, constructor: {}, ...record, zzz: { a: [null, {}] } })),
  ),
  'own-prototype': ok(
    raw((api) => goodBytes(api).replaceAll('data: {', 'data: {"__proto__":{"choices":[]},')),
  ),
  'spaces-in-json': ok(
    raw((api) =>
      goodBytes(api)
        .replaceAll('":', '" \t:  ')
        .replace(/^(event|data)" \t/gm, '$1'),
    ),
  ),
  'null-members': ok(edited((record) => ({ logprobs: null, refusal: null, ...record }))),
  'http-1.0': ok(
    socketBytes(
      (api) => `HTTP/1.0 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${goodBytes(api)}`,
    ),
  ),
  'until-close': ok(
    socketBytes(
      (api) => `HTTP/1.1 200\r\ncontent-type: text/event-stream\r\n\r\n${goodBytes(api)}`,
    ),
  ),
  'content-length': ok(({ api, response }) => {
    const bytes = Buffer.from(goodBytes(api));
    response.writeHead(200, { ...sse, 'content-length': bytes.length }).end(bytes);
  }),
  trailers: ok(({ api, response }) => {
    response.writeHead(200, { ...sse, trailer: 'x-sum' });
    response.write(goodBytes(api));
    response.addTrailers({ 'x-sum': '1', authorization: 'none' });
    response.end();
  }),
  'early-hints': ok(
    (context) => {
      context.response.writeEarlyHints({ link: '</x>; rel=preload' });
      answerWell(context);
    },
    { notOverFetch: true },
  ),
  'many-informational': ok(
    socketBytes(
      (api) =>
        'HTTP/1.1 100 Continue\r\n\r\n'.repeat(9) +
        `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n${goodBytes(api)}`,
    ),
    { notOverFetch: true },
  ),
  slowly: ok(async ({ api, response }) => {
    response.writeHead(200, sse);
    for (const record of recordsOf(api, good)) {
      response.write(bytesOf([record]));
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    response.end();
  }),
};

const types: Modes = {
  'plain-text-type': ok(raw(goodBytes, { 'content-type': 'text/plain' })),
  'no-type': ok(raw(goodBytes, {})),
  'loud-type': ok(raw(goodBytes, { 'content-type': 'TEXT/EVENT-STREAM; CHARSET="UTF-8"' })),
  'binary-type': ok(raw(goodBytes, { 'content-type': 'application/octet-stream' })),
  'json-type-of-a-stream': ok(raw(goodBytes, json)),
  gzip: ok(raw((api) => gzipSync(goodBytes(api)), { ...sse, 'content-encoding': 'gzip' })),
  'x-gzip': ok(raw((api) => gzipSync(goodBytes(api)), { ...sse, 'content-encoding': 'x-gzip' })),
  deflate: ok(raw((api) => deflateSync(goodBytes(api)), { ...sse, 'content-encoding': 'deflate' })),
  'gzip-in-pieces': ok(({ api, response }) => {
    response.writeHead(200, { ...sse, 'content-encoding': 'gzip' });
    for (const record of recordsOf(api, good)) response.write(gzipSync(bytesOf([record])));
    response.end();
  }),
  'json-though-streamed': ok(raw(goodJson, json)),
  'stream-though-whole': okWhole(raw(goodBytes)),
  'whole-gzip': okWhole(
    raw((api) => gzipSync(goodJson(api)), { ...json, 'content-encoding': 'gzip' }),
  ),
  'whole-text-type': okWhole(raw(goodJson, { 'content-type': 'text/plain' })),
  'whole-no-type': okWhole(raw(goodJson, {})),
  'whole-spread-out': okWhole(
    raw((api) => `\r\n\t ${JSON.stringify(wholeOf(api, good), null, 4)}\n\n`, json),
  ),
  'whole-byte-order-mark': okWhole(raw((api) => `\ufeff${goodJson(api)}`, json)),
  'whole-after-blanks': okWhole(async ({ api, response }) => {
    // OpenRouter keeps a connection alive like this.
    response.writeHead(200, json);
    for (let at = 0; at < 5; ++at) {
      response.write('\n         ');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    response.end(goodJson(api));
  }),
  'whole-byte-by-byte': okWhole(async ({ api, response }) => {
    response.writeHead(200, json);
    for (const byte of Buffer.from(goodJson(api))) {
      response.write(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  }),
  'whole-escaped': okWhole(raw((api) => coded(goodJson(api)), json)),
  'whole-extra-members': okWhole(
    raw((api) => JSON.stringify({ a: null, ...wholeOf(api, good), z: [{}] }), json),
  ),
  'whole-two-hundred-one': okWhole(({ api, response }) => {
    response.writeHead(201, json).end(goodJson(api));
  }),
};

const vendors: Modes = {
  'no-usage': {
    ...ok(raw((api) => bytesOf(recordsOf(api, { deltas })))),
    reported: false,
  },
  'no-usage-whole': {
    ...okWhole(raw((api) => JSON.stringify(wholeOf(api, { deltas })), json)),
    reported: false,
  },
  // Servers that count nothing say so with zeros.
  'zero-usage': {
    outcome: 'complete',
    reported: false,
    answer: (context) => answerWith(context, { deltas, usage: { input: 0, output: 0 } }),
  },
  'odd-usage': {
    ...ok(
      raw((api) =>
        goodBytes(api).replace(/"usage":\{[^}]*\{?[^}]*\}?[^}]*\}/g, '"usage":{"a":-1,"b":"x"}'),
      ),
      chat,
    ),
    reported: false,
  },
  'usage-in-every-record': ok(
    edited((record) => ({
      ...record,
      usage: { prompt_tokens: usage.input, completion_tokens: usage.output, total_tokens: 33 },
    })),
    chat,
  ),
  'null-usage': ok(
    edited((record) => ({ usage: null, ...record })),
    chat,
  ),
  'no-choices-first': ok(
    records((all) => [
      { data: '{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}' },
      ...all,
    ]),
    chat,
  ),
  'null-content': ok(
    raw(() => chatPieces([null, '', ...deltas, null])),
    chat,
  ),
  'content-of-other-types': ok(
    raw(() => chatPieces([42, {}, [], true, ...deltas])),
    chat,
  ),
  'content-as-parts': ok(
    raw(() => chatPieces(deltas.map((text) => [{ type: 'text', text }]))),
    chat,
  ),
  'no-index': ok(
    edited((record) => {
      const choices = record['choices'] as object[];
      return { ...record, choices: choices.map((choice) => ({ ...choice, index: undefined })) };
    }),
    chat,
  ),
  'empty-choices': ok(
    edited((record) => {
      const choices = record['choices'] as object[];
      const other = { index: 1, delta: {}, finish_reason: null };
      return choices.length === 0 ? record : { ...record, choices: [other, ...choices] };
    }),
    chat,
  ),
  'finish-twice': ok(
    records((all) =>
      all.flatMap((record) => (record.data.includes('"stop"') ? [record, record] : [record])),
    ),
    chat,
  ),
  'surrogates-apart': ok(
    raw(() => chatPieces(['HIGH', 'LOW']).replace('HIGH', '\\ud83c').replace('LOW', '\\udf0d')),
    { ...chat, text: '\u{1f30d}' },
  ),
  'lone-surrogate': ok(
    raw(() => chatPieces(['aHIGH', 'b']).replace('HIGH', '\\ud83c')),
    { ...chat, text: 'a\ud83cb' },
  ),
  'odd-characters': {
    outcome: 'complete',
    text: oddText,
    answer: (context) => answerWith(context, { deltas: [...oddText], usage }),
  },
  'one-long-delta': {
    outcome: 'complete',
    text: 'long '.repeat(60_000),
    answer: (context) => answerWith(context, { deltas: ['long '.repeat(60_000)], usage }),
  },
  'many-deltas': {
    outcome: 'complete',
    text: 'a'.repeat(5_000),
    answer: (context) => answerWith(context, { deltas: Array<string>(5_000).fill('a'), usage }),
  },
  'no-item-added': ok(
    records((all) => all.filter(({ event }) => event !== 'response.output_item.added')),
    responses,
  ),
  'no-created': ok(
    records((all) => all.filter(({ event }) => event !== 'response.created')),
    responses,
  ),
  'only-done-text': ok(
    records((all) => all.filter(({ event }) => event !== 'response.output_text.delta')),
    responses,
  ),
  'only-completed': ok(
    records((all) => all.filter(({ event }) => event === 'response.completed')),
    responses,
  ),
  'no-block-stop': ok(
    records((all) => all.filter(({ event }) => event !== 'content_block_stop')),
    messages,
  ),
  'no-message-stop': ok(
    records((all) => all.filter(({ event }) => event !== 'message_stop')),
    messages,
  ),
  'text-in-the-start': ok(
    records((all) =>
      all
        .filter(({ event }) => event !== 'content_block_delta')
        .map((record) => ({
          ...record,
          data: record.data.replace('"text":""', `"text":${JSON.stringify(deltas.join(''))}`),
        })),
    ),
    messages,
  ),
  'unknown-block': ok(
    records((all) => [
      first(all),
      {
        event: 'content_block_start',
        data: '{"type":"content_block_start","index":9,"content_block":{"type":"hologram"}}',
      },
      {
        event: 'content_block_delta',
        data: '{"type":"content_block_delta","index":9,"delta":{"type":"hologram_delta","x":1}}',
      },
      { event: 'content_block_stop', data: '{"type":"content_block_stop","index":9}' },
      ...all.slice(1),
    ]),
    messages,
  ),
};

export const wireModes: Modes = { ...framing, ...types, ...vendors };
