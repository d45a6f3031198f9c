// Modes of the faulty provider: statuses, waits, and errors inside answers.
import type { Mode, Modes } from './fault-kit';
import { beginning, failing, fatal, json, partial, raw, refusal, received, sse } from './fault-kit';
import type { Api } from './model-wires';
import { bytesOf, errorRecord } from './model-wires';

const stops: [status: number, code: string, body?: unknown][] = [
  [300, 'provider_bad_request'],
  [304, 'provider_bad_request'],
  [400, 'provider_bad_request', received('invalid_request_error', 'no')],
  [401, 'authentication_failed', received('invalid_api_key', 'no')],
  [402, 'insufficient_quota', received('', 'pay')],
  [403, 'permission_denied', received('permission_error', 'no')],
  [404, 'model_not_found', received('model_not_found', 'no')],
  [405, 'model_not_found'],
  [406, 'provider_bad_request'],
  [410, 'model_not_found'],
  [411, 'provider_bad_request'],
  [412, 'provider_bad_request'],
  [413, 'provider_bad_request', '<html>too large</html>'],
  [414, 'provider_bad_request'],
  [415, 'provider_bad_request'],
  [417, 'provider_bad_request'],
  [418, 'provider_bad_request', 'I am a teapot'],
  [421, 'provider_bad_request'],
  [422, 'provider_bad_request', { detail: [{ msg: 'field' }] }],
  [426, 'provider_bad_request'],
  [428, 'provider_bad_request'],
  [431, 'provider_bad_request'],
  [451, 'content_filtered', '{}'],
  [501, 'capability_not_supported'],
];
const passes = [
  408, 409, 424, 425, 429, 500, 502, 503, 504, 507, 508, 520, 522, 524, 529, 530, 598,
];

const statuses: Modes = {
  ...Object.fromEntries(
    stops.map(([status, code, body]) => [
      `status-${status}`,
      // The Fetch standard sends the request again by itself after a 421.
      fatal(code, refusal(status, body ?? ''), status === 421 ? { notOverFetch: true } : {}),
    ]),
  ),
  ...Object.fromEntries(
    passes.map((status) => [`status-${status}`, failing(1, refusal(status, ''))]),
  ),
  'status-500-twice': failing(2, refusal(500, '')),
  'status-503-page': failing(1, refusal(503, '<html>busy</html>', { 'content-type': 'text/html' })),
  'status-500-long-page': failing(1, refusal(500, `<html>${'<p>oops</p>'.repeat(20_000)}</html>`)),
  region: fatal(
    'location_not_supported',
    refusal(403, received('unsupported_country_region_territory', 'Country not supported')),
  ),
  quota: fatal('insufficient_quota', refusal(429, received('insufficient_quota', 'No quota.'))),
  deactivated: fatal(
    'account_deactivated',
    refusal(401, received('account_deactivated', 'Closed.')),
  ),
  'context-overflow': fatal(
    'context_window_exceeded',
    refusal(400, received('context_length_exceeded', 'maximum context length is 10 tokens')),
  ),
  safety: fatal('content_filtered', refusal(400, received('content_policy_violation', 'flagged'))),
  'key-in-the-error': fatal('authentication_failed', ({ request, response }) => {
    const { authorization, 'x-api-key': key } = request.headers;
    const echo = `Incorrect API key provided: ${authorization ?? String(key)}`;
    response
      .writeHead(401, { ...json, 'x-request-id': String(authorization ?? key) })
      .end(JSON.stringify(received('invalid_api_key', echo)));
  }),
  'error-as-text': fatal('provider_bad_request', refusal(400, { error: 'just words' })),
  'error-as-list': fatal(
    'provider_bad_request',
    refusal(400, [{ error: { code: 400, message: 'in a list', status: 'INVALID_ARGUMENT' } }]),
  ),
  'error-as-number': fatal('provider_bad_request', refusal(400, '42')),
  'error-as-null': fatal('provider_bad_request', refusal(400, { error: null })),
  'error-nested-deep': fatal(
    'provider_bad_request',
    refusal(400, `${'{"error":'.repeat(5_000)}1${'}'.repeat(5_000)}`),
  ),
  'error-bad-utf8': fatal('provider_bad_request', ({ response }) => {
    response.writeHead(400, json).end(Buffer.from('{"error":{"message":"\xff\xfe"}}', 'latin1'));
  }),
  'error-huge': failing(1, ({ response }) => {
    response.writeHead(500, json);
    response.on('error', () => undefined);
    response.end(`{"error":{"message":"${'x'.repeat(4 << 20)}"}}`);
  }),
  'error-endless': failing(1, ({ response }) => {
    response.writeHead(500, json);
    response.on('error', () => undefined);
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(1 << 16)));
    };
    response.on('drain', more);
    more();
  }),
  'error-cut': failing(1, ({ request }) => {
    request.socket.write('HTTP/1.1 500 X\r\ncontent-length: 99\r\n\r\n{"error":', () =>
      request.socket.destroySoon(),
    );
  }),
  'always-500': { outcome: 'exhausted', code: 'provider_error', answer: refusal(500, '{}') },
  'always-429': {
    outcome: 'exhausted',
    code: 'rate_limited',
    answer: refusal(429, '{}', { 'retry-after-ms': '10' }),
  },
};

/** A wait that the provider asks for; the client adds a tenth at most, its timers a little. */
function reported(
  headers: Record<string, string | string[]>,
  waits?: Mode['waits'],
  body: unknown = '',
): Mode {
  return failing(1, refusal(429, body, headers), waits ? { waits } : {});
}

const soon = (ms: number): string => new Date(Date.now() + ms).toUTCString();
// Without a wait of the provider's it is up to half a second, chosen by chance.
const own: Mode['waits'] = [0, 500];

const waits: Modes = {
  'retry-after-0': failing(2, refusal(429, '', { 'retry-after': '0' })),
  'retry-after-1': reported({ 'retry-after': '1' }, [1000, 1200]),
  'retry-after-decimal': reported({ 'retry-after': '0.2' }, [200, 240]),
  'retry-after-blanks': reported({ 'retry-after': '  1  ' }, [1000, 1200]),
  'retry-after-ms': failing(2, refusal(503, '', { 'retry-after-ms': '25' }), { waits: [25, 30] }),
  'retry-after-ms-wins': reported({ 'retry-after': '30', 'retry-after-ms': '40' }, [40, 48]),
  'retry-after-past': reported({ 'retry-after': soon(-60_000) }),
  'retry-after-date': failing(1, ({ response }) => {
    response.writeHead(429, { 'retry-after': soon(1_000) }).end();
  }),
  'retry-after-words': reported({ 'retry-after': 'soon' }, own),
  'retry-after-negative': reported({ 'retry-after': '-5' }, own),
  'retry-after-nan': reported({ 'retry-after': 'NaN' }, own),
  'retry-after-empty': reported({ 'retry-after': '' }, own),
  'retry-after-twice': reported({ 'retry-after': ['0', '0'] }),
  'rate-limit-reset': reported(
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '30ms' },
    [30, 36],
  ),
  'rate-limit-reset-tokens': reported(
    { 'x-ratelimit-remaining-tokens': '0', 'x-ratelimit-reset-tokens': '0.05s' },
    [50, 60],
  ),
  'wait-in-message': reported(
    {},
    [20, 24],
    received('rate_limit_exceeded', 'Please try again in 20ms.'),
  ),
  'wait-in-details': reported({}, [50, 60], {
    error: {
      status: 'RESOURCE_EXHAUSTED',
      message: 'slow down',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.05s' }],
    },
  }),
};

const errorStream =
  (code: string, message: string): Mode['answer'] =>
  (context) =>
    raw((api) => bytesOf([errorRecord(api, code, message)]))(context);
const data = (value: unknown): string => bytesOf([{ data: JSON.stringify(value) }]);
const streamed = { only: 'stream' } as const;
const chat = { apis: ['chat'] as readonly Api[] };

const inBand: Modes = {
  'error-record-rate': failing(1, errorStream('rate_limit_error', 'Rate limit reached'), streamed),
  'error-record-overloaded': failing(1, errorStream('overloaded_error', 'Overloaded'), streamed),
  'error-record-server': failing(1, errorStream('server_error', 'Internal'), streamed),
  'error-record-api': failing(1, errorStream('api_error', 'Internal server error'), streamed),
  'error-record-timeout': failing(1, errorStream('timeout_error', 'Took too long'), streamed),
  'error-record-fatal': fatal(
    'provider_bad_request',
    errorStream('invalid_request_error', 'Unknown field'),
    streamed,
  ),
  'error-record-key': fatal(
    'authentication_failed',
    errorStream('invalid_api_key', 'No'),
    streamed,
  ),
  'error-record-quota': fatal(
    'insufficient_quota',
    errorStream('insufficient_quota', 'No credit'),
    streamed,
  ),
  'error-record-context': fatal(
    'context_window_exceeded',
    errorStream('invalid_request_error', 'prompt is too long: 9 tokens'),
    streamed,
  ),
  'error-record-number': failing(
    1,
    raw(() => data({ error: { code: 503, message: 'Try again' } })),
    { ...streamed, ...chat },
  ),
  'error-record-text': failing(
    1,
    raw(() => data({ error: 'the model crashed' })),
    { ...streamed, ...chat },
  ),
  'error-record-event': failing(
    1,
    raw(
      () => `event: error\n${data({ error: { message: 'Overloaded', code: 'overloaded_error' } })}`,
    ),
    { ...streamed, ...chat },
  ),
  'error-record-object': failing(
    1,
    raw(() => data({ object: 'error', message: 'rate limit reached', type: 'x', code: 429 })),
    { ...streamed, ...chat },
  ),
  'error-record-in-json-type': failing(
    1,
    raw(() => JSON.stringify(received('rate_limit_exceeded', 'Rate limit reached')), sse),
    streamed,
  ),
  'error-json-rate': failing(
    1,
    raw(() => JSON.stringify(received('rate_limit_exceeded', 'Rate limit reached')), json),
  ),
  'error-json-key': fatal(
    'authentication_failed',
    raw(() => JSON.stringify(received('invalid_api_key', 'Incorrect API key')), json),
  ),
  'error-json-server': failing(
    1,
    raw(() => JSON.stringify(received('server_error', 'Oops')), json),
  ),
  'error-after-text': partial(
    'provider_overloaded',
    raw((api) => beginning(api) + bytesOf([errorRecord(api, 'overloaded_error', 'Overloaded')])),
  ),
  'error-after-text-fatal': partial(
    'content_filtered',
    raw((api) => beginning(api) + bytesOf([errorRecord(api, 'content_filter', 'Flagged')])),
  ),
  'error-after-text-rate': partial(
    'rate_limited',
    raw((api) => beginning(api) + bytesOf([errorRecord(api, 'rate_limit_error', 'Slow down')])),
  ),
};

export const statusModes: Modes = { ...statuses, ...waits, ...inBand };
