// A provider that misbehaves as it is told: many modes, over three APIs, streamed and not.
//
// A request names its mode in `model` and a label of its own in the first part of the path, so that
// "fails twice, then answers" can be counted for each call.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

import type { Api, WireRecord } from './model-wires';
import {
  bytesOf,
  errorRecord,
  headOf,
  recordsOf,
  text,
  usage,
  deltas,
  wholeOf,
} from './model-wires';

/**
 * What must become of a call: `complete` after one request, `retried` to success after `fails`
 * failures, `fatal` after one request, `partial` when a part of the answer came and an error,
 * `exhausted` after all retries.
 */
export type Outcome = 'complete' | 'retried' | 'fatal' | 'partial' | 'exhausted';

export interface Context {
  api: Api;
  streamed: boolean;
  /** From 0. */
  attempt: number;
  request: IncomingMessage;
  response: ServerResponse;
  /** Where a redirect to another origin leads. */
  elsewhere: string;
}

export interface Mode {
  outcome: Outcome;
  /** How often it fails before it answers. */
  fails?: number;
  /** The code of the error. */
  code?: string;
  /** Only with streams, or only without. */
  only?: 'stream' | 'json';
  apis?: readonly Api[];
  answer(context: Context): void | Promise<void>;
}

const sse = { 'content-type': 'text/event-stream' };
const json = { 'content-type': 'application/json' };
const good = { deltas, usage };

function answerWell({ api, streamed, response }: Context): void {
  if (streamed) response.writeHead(200, sse).end(bytesOf(recordsOf(api, good)));
  else response.writeHead(200, json).end(JSON.stringify(wholeOf(api, good)));
}

/** Streams these bytes, whatever was asked for. */
function raw(make: (api: Api) => string | Buffer, headers: Record<string, string> = sse) {
  return ({ api, response }: Context): void => {
    response.writeHead(200, headers).end(make(api));
  };
}

function records(change: (records: WireRecord[], api: Api) => WireRecord[]) {
  return raw((api) => bytesOf(change(recordsOf(api, good), api)));
}

function refusal(status: number, body: unknown, headers: Record<string, string> = {}) {
  return ({ response }: Context): void => {
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    response.writeHead(status, { ...json, ...headers }).end(sent);
  };
}

/** Fails some times, then answers well. */
function failing(times: number, fail: Mode['answer']): Pick<Mode, 'outcome' | 'fails' | 'answer'> {
  return {
    outcome: 'retried',
    fails: times,
    answer: (context) => (context.attempt < times ? fail(context) : answerWell(context)),
  };
}

function ok(answer: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return { outcome: 'complete', only: 'stream', answer, ...more };
}

function fatal(code: string, answer: Mode['answer'], more: Partial<Mode> = {}): Mode {
  return { outcome: 'fatal', code, answer, ...more };
}

function partial(code: string, answer: Mode['answer']): Mode {
  return { outcome: 'partial', code, only: 'stream', answer };
}

async function inPieces(response: ServerResponse, bytes: Buffer, size: number): Promise<void> {
  response.writeHead(200, sse);
  for (let at = 0; at < bytes.length; at += size) {
    response.write(bytes.subarray(at, at + size));
    await new Promise((resolve) => setImmediate(resolve));
  }
  response.end();
}

const said = (code: string, message: string): object => ({ error: { message, type: code, code } });
const beginning = (api: Api): string => bytesOf(headOf(api, good));

const wireModes: Record<string, Mode> = {
  plain: { outcome: 'complete', answer: answerWell },
  crlf: ok(raw((api) => bytesOf(recordsOf(api, good), '\r\n'))),
  'cr-only': ok(raw((api) => bytesOf(recordsOf(api, good), '\r'))),
  'byte-by-byte': ok(({ api, response }) =>
    inPieces(response, Buffer.from(bytesOf(recordsOf(api, good))), 7),
  ),
  'byte-order-mark': ok(raw((api) => `\ufeff${bytesOf(recordsOf(api, good))}`)),
  comments: ok(
    raw((api) => `: hi\n\n${bytesOf(recordsOf(api, good)).replaceAll('\n\n', '\n\n: ping\n\n')}`),
  ),
  'no-space': ok(raw((api) => bytesOf(recordsOf(api, good)).replaceAll('data: ', 'data:'))),
  'no-names': ok(records((all) => all.map(({ data }) => ({ data })))),
  'no-sentinel': ok(records((all) => all.filter(({ data }) => data !== '[DONE]'))),
  'unknown-records': ok(
    records((all) => [
      all[0] as WireRecord,
      { event: 'x.unknown', data: '{"type":"x.unknown","a":1}' },
      ...all.slice(1),
    ]),
  ),
  'broken-record': ok(
    records((all) => [all[0] as WireRecord, { data: '{"broken":' }, ...all.slice(1)]),
  ),
  'plain-text-type': ok(
    raw((api) => bytesOf(recordsOf(api, good)), { 'content-type': 'text/plain' }),
  ),
  gzip: ok(
    raw((api) => gzipSync(bytesOf(recordsOf(api, good))), { ...sse, 'content-encoding': 'gzip' }),
  ),
  'json-though-streamed': ok(({ api, response }) => {
    response.writeHead(200, json).end(JSON.stringify(wholeOf(api, good)));
  }),
  'no-usage': ok(raw((api) => bytesOf(recordsOf(api, { deltas })))),
  // Servers that count nothing say so with zeros.
  'zero-usage': {
    outcome: 'complete',
    answer: ({ api, streamed, response }) => {
      const answer = { deltas, usage: { input: 0, output: 0 } };
      if (streamed) response.writeHead(200, sse).end(bytesOf(recordsOf(api, answer)));
      else response.writeHead(200, json).end(JSON.stringify(wholeOf(api, answer)));
    },
  },
  'early-hints': ok((context) => {
    context.response.writeEarlyHints({ link: '</x>; rel=preload' });
    answerWell(context);
  }),
};

const refusals: Record<string, Mode> = {
  'status-400': fatal('provider_bad_request', refusal(400, said('invalid_request_error', 'no'))),
  'status-401': fatal('authentication_failed', refusal(401, said('invalid_api_key', 'no'))),
  'status-402': fatal('insufficient_quota', refusal(402, said('', 'pay'))),
  'status-403': fatal('permission_denied', refusal(403, said('permission_error', 'no'))),
  'status-404': fatal('model_not_found', refusal(404, said('model_not_found', 'no'))),
  'status-405': fatal('model_not_found', refusal(405, '')),
  'status-413': fatal('provider_bad_request', refusal(413, '<html>too large</html>')),
  'status-422': fatal('provider_bad_request', refusal(422, { detail: [{ msg: 'field' }] })),
  'status-451': fatal('content_filtered', refusal(451, '{}')),
  region: fatal(
    'location_not_supported',
    refusal(403, said('unsupported_country_region_territory', 'Country not supported')),
  ),
  quota: fatal('insufficient_quota', refusal(429, said('insufficient_quota', 'No quota.'))),
  'context-overflow': fatal(
    'context_window_exceeded',
    refusal(400, said('context_length_exceeded', 'maximum context length is 10 tokens')),
  ),
  safety: fatal('content_filtered', refusal(400, said('content_policy_violation', 'flagged'))),
  'status-408': failing(1, refusal(408, '')),
  'status-409': failing(1, refusal(409, '')),
  'status-429': failing(1, refusal(429, said('rate_limit_exceeded', 'slow down'))),
  'status-500': failing(1, refusal(500, said('server_error', 'oops'))),
  'status-500-twice': failing(2, refusal(500, '')),
  'status-502': failing(1, refusal(502, '<html>bad gateway</html>')),
  'status-503': failing(1, refusal(503, '')),
  'status-504': failing(1, refusal(504, '')),
  'status-529': failing(1, refusal(529, said('overloaded_error', 'Overloaded'))),
  'retry-after-0': failing(2, refusal(429, '', { 'retry-after': '0' })),
  'retry-after-1': failing(1, refusal(429, '', { 'retry-after': '1' })),
  'retry-after-ms': failing(2, refusal(503, '', { 'retry-after-ms': '25' })),
  'retry-after-past': failing(
    1,
    refusal(429, '', { 'retry-after': new Date(Date.now() - 60_000).toUTCString() }),
  ),
  'retry-after-words': failing(1, refusal(429, '', { 'retry-after': 'soon' })),
  'rate-limit-reset': failing(
    1,
    refusal(429, '', {
      'x-ratelimit-remaining-requests': '0',
      'x-ratelimit-reset-requests': '30ms',
    }),
  ),
  'wait-in-message': failing(
    1,
    refusal(429, said('rate_limit_exceeded', 'Please try again in 20ms.')),
  ),
  'error-huge': failing(1, ({ response }) => {
    response.writeHead(500, json);
    response.on('error', () => undefined);
    response.end(`{"error":{"message":"${'x'.repeat(4 << 20)}"}}`);
  }),
  'error-endless': failing(1, ({ response }) => {
    response.writeHead(500, json);
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(1 << 16)));
    };
    response.on('drain', more);
    more();
  }),
  'always-500': { outcome: 'exhausted', code: 'provider_error', answer: refusal(500, '{}') },
  'always-429': {
    outcome: 'exhausted',
    code: 'rate_limited',
    answer: refusal(429, '{}', { 'retry-after-ms': '10' }),
  },
};

const inBand: Record<string, Mode> = {
  'error-record-rate': {
    ...failing(
      1,
      raw((api) => bytesOf([errorRecord(api, 'rate_limit_error', 'Rate limit reached')])),
    ),
    only: 'stream',
  },
  'error-record-overloaded': {
    ...failing(
      1,
      raw((api) => bytesOf([errorRecord(api, 'overloaded_error', 'Overloaded')])),
    ),
    only: 'stream',
  },
  'error-record-server': {
    ...failing(
      1,
      raw((api) => bytesOf([errorRecord(api, 'server_error', 'Internal')])),
    ),
    only: 'stream',
  },
  'error-record-fatal': fatal(
    'provider_bad_request',
    raw((api) => bytesOf([errorRecord(api, 'invalid_request_error', 'Unknown field')])),
    { only: 'stream' },
  ),
  'error-json-rate': failing(
    1,
    raw(() => JSON.stringify(said('rate_limit_exceeded', 'Rate limit reached')), json),
  ),
  'error-json-key': fatal(
    'authentication_failed',
    raw(() => JSON.stringify(said('invalid_api_key', 'Incorrect API key')), json),
  ),
  'error-after-text': partial(
    'provider_overloaded',
    raw((api) => beginning(api) + bytesOf([errorRecord(api, 'overloaded_error', 'Overloaded')])),
  ),
};

const broken: Record<string, Mode> = {
  'reset-at-once': failing(1, ({ request }) => void request.socket.destroy()),
  'cut-after-head': failing(1, ({ response }) => {
    response.writeHead(200, sse);
    response.flushHeaders();
    setTimeout(() => response.destroy(), 10);
  }),
  'empty-body': failing(
    1,
    raw(() => ''),
  ),
  'only-comments': fatal(
    'not_a_stream',
    raw(() => ': hi\n\n: ho\n\n'),
    { only: 'stream' },
  ),
  'cut-in-text': partial('connection_lost', ({ api, response }) => {
    response.writeHead(200, sse);
    response.write(beginning(api));
    setTimeout(() => response.destroy(), 20);
  }),
  'end-in-text': partial('stream_truncated', raw(beginning)),
  'end-in-record': partial(
    'stream_truncated',
    raw((api) => `${beginning(api)}data: {"id":"chatcm`),
  ),
  'page-instead': fatal(
    'not_a_stream',
    raw(() => '<!doctype html><title>Welcome</title>', { 'content-type': 'text/html' }),
  ),
  'slow-head': { ...failing(1, () => undefined) },
  'silence-after-head': failing(1, ({ response }) => {
    response.writeHead(200, sse).flushHeaders();
  }),
  'silence-in-text': partial('idle_timeout', ({ api, response }) => {
    response.writeHead(200, sse);
    response.write(beginning(api));
  }),
  'endless-text': partial('response_too_large', ({ api, response }) => {
    response.writeHead(200, sse);
    response.write(beginning(api));
    const filler = `: ${'x'.repeat(1 << 16)}\n\n`;
    const more = (): void => {
      while (!response.destroyed && response.write(filler));
    };
    response.on('drain', more);
    more();
  }),
  'gzip-bomb': fatal(
    'line_too_long',
    raw(() => bomb, { ...sse, 'content-encoding': 'gzip' }),
    { only: 'stream' },
  ),
  'huge-line': fatal(
    'line_too_long',
    raw(() => `data: {"x":"${'y'.repeat(3 << 20)}"}\n\n`),
    { only: 'stream' },
  ),
  'huge-head': fatal('headers_too_large', ({ response }) => {
    for (let at = 0; at < 20; ++at) response.setHeader(`x-filler-${at}`, 'h'.repeat(7 << 10));
    response.writeHead(200, sse).end();
  }),
  'unknown-coding': fatal(
    'unsupported_encoding',
    raw(() => 'zzz', { ...sse, 'content-encoding': 'br' }),
  ),
  'bad-coding': fatal(
    'decompression_failed',
    raw(() => 'not gzip at all', { ...sse, 'content-encoding': 'gzip' }),
  ),
  'redirect-loop': fatal('too_many_redirects', ({ request, response }) => {
    response.writeHead(307, { location: request.url ?? '/' }).end();
  }),
  'redirect-elsewhere': fatal('authentication_failed', ({ response, elsewhere }) => {
    response.writeHead(307, { location: elsewhere }).end();
  }),
};

const bomb = gzipSync(Buffer.alloc(32 << 20, 0x20));

const call = { id: 'call_1', name: 'get_weather', pieces: ['{"city"', ':"Pa', 'ris"}'] };

function callMode(calls: (typeof call)[], change?: (bytes: string) => string): Mode {
  return {
    outcome: 'complete',
    answer: ({ api, streamed, response }) => {
      const answer = { deltas: [], calls, usage };
      if (!streamed)
        return void response.writeHead(200, json).end(JSON.stringify(wholeOf(api, answer)));
      const bytes = bytesOf(recordsOf(api, answer));
      response.writeHead(200, sse).end(change ? change(bytes) : bytes);
    },
  };
}

/** Their answers are calls of tools instead of the text. */
export const callModes: Record<string, Mode> = {
  'call-in-pieces': callMode([call]),
  'call-whole': callMode([{ ...call, pieces: [call.pieces.join('')] }]),
  'two-calls': callMode([call, { ...call, id: 'call_2' }]),
  'equal-ids': { ...callMode([call, call]), only: 'stream' },
  'no-index': {
    ...callMode([call], (bytes) =>
      bytes.replaceAll('"tool_calls":[{"index":0,', '"tool_calls":[{'),
    ),
    only: 'stream',
    apis: ['chat'],
  },
  'empty-id': { ...callMode([{ ...call, id: '' }]), apis: ['chat'] },
};

export const modes: Record<string, Mode> = { ...wireModes, ...refusals, ...inBand, ...broken };

const paths: Record<string, Api> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'responses',
  '/v1/messages': 'messages',
};

export interface FaultyProvider {
  readonly url: string;
  /** Requests of a label. */
  requests(label: string): number;
  /** Everything that arrived at the origin that redirects lead to. */
  readonly strays: string[];
  close(): Promise<void>;
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

export async function startFaultyProvider(): Promise<FaultyProvider> {
  const strays: string[] = [];
  const stranger = createServer((request, response) => {
    const { method, url, headers } = request;
    strays.push(JSON.stringify({ method, url, headers }));
    response.writeHead(401, json).end(JSON.stringify(said('', 'Who are you?')));
  });
  const elsewhere = await listen(stranger);
  const counts = new Map<string, number>();
  const server = createServer({ maxHeaderSize: 1 << 18 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [, label = '', ...rest] = (request.url ?? '').split('/');
      const attempt = counts.get(label) ?? 0;
      counts.set(label, attempt + 1);
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as {
        model: string;
        stream?: boolean;
      };
      const api = paths[`/${rest.join('/')}`];
      const mode = modes[body.model] ?? callModes[body.model];
      if (!api || !mode) return void response.writeHead(404).end();
      response.on('error', () => undefined);
      const streamed = body.stream === true;
      void mode.answer({ api, streamed, attempt, request, response, elsewhere });
    });
  });
  const url = await listen(server);
  const close = (one: Server): Promise<void> =>
    new Promise((resolve) => {
      one.close(() => resolve());
      one.closeAllConnections();
    });
  return {
    url,
    strays,
    requests: (label) => counts.get(label) ?? 0,
    close: async () => {
      await Promise.all([close(server), close(stranger)]);
    },
  };
}

export { text as answerText };
