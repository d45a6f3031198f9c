// Responses that OpenAI makes in the background, over a loopback server that breaks off streams.
import type { IncomingMessage, ServerResponse } from 'node:http';

import { createModelRuntime } from 'millrace';

import { all, sse } from '../support/responses';
import type { Loopback } from '../support/server';
import { bodyOf, loopback, until } from '../support/server';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

interface Asked {
  method: string;
  url: string;
  body: string;
}

const payload = {
  model: 'gpt-5.2',
  apiMode: 'responses' as const,
  background: true,
  messages: [{ role: 'user' as const, content: 'Hello' }],
};

function response(status: string, more: object = {}) {
  return { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt-5.2', status, ...more };
}

const output = [
  {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Hello there', annotations: [] }],
  },
];

function json(answer: ServerResponse, value: unknown): void {
  answer.setHeader('content-type', 'application/json');
  answer.end(JSON.stringify(value));
}

function begin(answer: ServerResponse, ...records: unknown[]): void {
  answer.setHeader('content-type', 'text/event-stream');
  answer.write(sse(...records));
}

const created = [
  { type: 'response.created', sequence_number: 0, response: response('queued') },
  { type: 'response.in_progress', sequence_number: 1, response: response('in_progress') },
  {
    type: 'response.output_item.added',
    sequence_number: 2,
    output_index: 0,
    item: { id: 'msg_1', type: 'message', role: 'assistant', content: [] },
  },
  {
    type: 'response.output_text.delta',
    sequence_number: 3,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: 'Hello ',
  },
];
const rest = [
  {
    type: 'response.output_text.delta',
    sequence_number: 4,
    item_id: 'msg_1',
    output_index: 0,
    content_index: 0,
    delta: 'there',
  },
  {
    type: 'response.completed',
    sequence_number: 5,
    response: response('completed', {
      output,
      usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
    }),
  },
];

describe('a response in the background', () => {
  let provider: Loopback;
  let handlers: Handler[] = [];
  let requests: Asked[] = [];

  beforeAll(async () => {
    provider = await loopback((request, answer) => {
      void bodyOf(request).then((body) => {
        requests.push({ method: request.method ?? '', url: request.url ?? '', body });
        const handler = handlers.shift();
        if (handler) handler(request, answer, body);
        else answer.writeHead(500).end('{}');
      });
    });
  });
  afterAll(() => provider.close());
  beforeEach(() => {
    requests = [];
  });

  const runtime = (settings: object = {}) =>
    createModelRuntime('openai', {
      apiKey: 'k',
      baseURL: `${provider.url}/v1`,
      circuit: false,
      ...settings,
    });
  const paths = () => requests.map(({ method, url }) => `${method} ${url}`);

  it('is waited for where it is not streamed, and its states are events', async () => {
    handlers = [
      (_, answer) => json(answer, response('queued')),
      (_, answer) => json(answer, response('in_progress')),
      (_, answer) => answer.writeHead(503).end('{}'),
      (_, answer) => json(answer, response('completed', { output })),
    ];
    const run = runtime().stream({ ...payload, stream: false });
    const events = await all(run);
    const states = events.flatMap((event) =>
      event.type === 'CUSTOM' && event.name === 'millrace.response' ? [event.value] : [],
    );
    expect(states.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'resp_1 queued',
      'resp_1 in_progress',
      'resp_1 completed',
    ]);
    expect(await run.text()).toBe('Hello there');
    expect(paths()).toEqual([
      'POST /v1/responses',
      'GET /v1/responses/resp_1',
      'GET /v1/responses/resp_1',
      'GET /v1/responses/resp_1',
    ]);
    expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ background: true, store: true });
    const report = await run.report;
    expect(report.attempts).toHaveLength(1);
    expect(report.response).toMatchObject({ id: 'resp_1', status: 'completed', created: 1 });
  });

  it('goes on behind the last record where its stream breaks', async () => {
    handlers = [
      (_, answer) => {
        begin(answer, ...created);
        setTimeout(() => answer.destroy(), 20);
      },
      (_, answer) => {
        begin(answer, ...rest);
        answer.end();
      },
    ];
    const run = runtime().stream(payload);
    expect(await run.text()).toBe('Hello there');
    expect(paths()).toEqual([
      'POST /v1/responses',
      'GET /v1/responses/resp_1?stream=true&starting_after=3',
    ]);
    expect((await run.report).usage).toMatchObject({ totalTokens: 5, source: 'reported' });
  });

  it('is cancelled by an abort', async () => {
    handlers = [
      (_, answer) => json(answer, response('queued')),
      () => undefined,
      (_, answer) => json(answer, response('cancelled')),
    ];
    const run = runtime().stream({ ...payload, stream: false });
    await until(() => requests.length === 2, 'the state is fetched');
    run.stop();
    await until(() => requests.length === 3, 'the provider hears of the abort');
    expect(paths()[2]).toBe('POST /v1/responses/resp_1/cancel');
    await expect(run.text()).rejects.toMatchObject({ code: 'cancelled' });
  });

  it('is not requested again when its state cannot be fetched', async () => {
    handlers = [
      (_, answer) => json(answer, response('queued')),
      (_, answer) => answer.writeHead(500).end('{}'),
      (_, answer) => answer.writeHead(500).end('{}'),
    ];
    const run = runtime({ maxRetries: 1 }).stream({ ...payload, stream: false });
    await expect(run.text()).rejects.toMatchObject({ code: 'provider_error' });
    expect(paths().filter((path) => path.startsWith('POST'))).toHaveLength(1);
    expect((await run.report).response?.id).toBe('resp_1');
  });

  it('has to be stored', async () => {
    handlers = [];
    const run = runtime().stream({ ...payload, store: false });
    await expect(run.text()).rejects.toMatchObject({ code: 'invalid_body' });
    expect(requests).toEqual([]);
  });
});
