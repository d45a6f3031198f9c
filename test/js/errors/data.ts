// Data and streams that cannot be read.
import {
  anthropicAdapter,
  bedrockConverseAdapter,
  createAgent,
  createModelRuntime,
  openAIAdapter,
  type StreamLimits,
} from 'millrace';

import { answer } from '../../support/chat-answers';
import { stream } from '../../support/provider';
import { responseOf, sse } from '../support/responses';
import { agentOf, answered } from './kit';
import { endOf, type Failure, type Rows } from './row';

const parsed = (body: string | Uint8Array, limits: StreamLimits = {}) =>
  endOf(openAIAdapter({ limits }).parse(responseOf([body])));

const text = (content: string) => sse({ choices: [{ index: 0, delta: { content } }] });

/** What an agent's handler answers to a body. */
async function handled(body: string): Promise<Failure> {
  const { agent } = await agentOf([]);
  const request = new Request('http://localhost/agent', { method: 'POST', body });
  const { error } = (await (await agent.handler(request)).json()) as { error: Failure };
  return error;
}

const sent = (encoding: string, bytes: string) => () =>
  answered(
    (response) =>
      void response
        .writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding })
        .end(bytes),
  );

const manyCalls = Array.from({ length: 2000 }, (_, index) =>
  sse({
    choices: [
      { index: 0, delta: { tool_calls: [{ index, id: `c${index}`, function: { name: 'f' } }] } },
    ],
  }),
).join('');

// A pattern that needs more steps with each letter.
const slow = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };

export const dataRows: Rows = {
  invalid_json: {
    provoke: () => handled('{"threadId": nonsense'),
    says: /JSON.*nonsense|position/,
  },
  invalid_schema: {
    provoke: () =>
      createAgent({
        model: 'openai:m',
        tools: [{ name: 'look', input: { type: 'object', pattern: 5 }, run: () => '' }] as never,
      }),
    says: /pattern/,
  },
  schema_too_complex: {
    provoke: async () => {
      const args = { a: `${'a'.repeat(60)}b` };
      const { agent } = await agentOf([{ calls: [{ id: 'c0', name: 'look', args }] }], {
        tools: [{ name: 'look', input: slow, run: () => '' }] as never,
      });
      for await (const event of agent.run('Look.')) {
        const { type, content = '' } = event as { type: string; content?: string };
        if (type === 'TOOL_CALL_RESULT') return { code: 'schema_too_complex', message: content };
      }
      return undefined;
    },
    says: /pattern/i,
  },
  line_too_long: {
    provoke: () => parsed(`data: ${'x'.repeat(99)}`, { lineBytes: 10 }),
    says: '10',
  },
  event_too_large: {
    provoke: () =>
      parsed(`data: ${'x'.repeat(40)}\ndata: ${'x'.repeat(40)}\n\n`, { eventBytes: 50 }),
    says: '50',
  },
  response_too_large: {
    provoke: () => answered(stream([answer('long '.repeat(99))]), { limits: { decodedBytes: 20 } }),
    says: '20 bytes',
  },
  headers_too_large: {
    provoke: () =>
      answered((response) => void response.writeHead(200, { 'x-long': 'x'.repeat(900) }).end(), {
        limits: { headerBytes: 300 },
      }),
    says: '300',
  },
  tool_arguments_too_large: {
    native: ['event/part_tracker_test.cpp', 'PartTracker.LimitsTheArgumentsOfACall'],
  },
  too_many_parts: { provoke: () => parsed(manyCalls), says: /\d{2,}/ },
  decompression_failed: { provoke: sent('gzip', 'these bytes are plain'), says: 'gzip' },
  unsupported_encoding: { provoke: sent('br', 'these bytes are plain'), says: "'br'" },
  stream_truncated: {
    provoke: () => answered(stream([text('Half')])),
    says: /complete|openai/,
  },
  stream_corrupt: {
    provoke: () => {
      const bytes = new Uint8Array(32).fill(7);
      return endOf(bedrockConverseAdapter().parse(responseOf([bytes])));
    },
    says: /damaged: .+/,
  },
  stream_empty: { provoke: () => answered(stream([])), says: /without an event|openai/ },
  not_a_stream: {
    provoke: () => endOf(anthropicAdapter().parse(responseOf(['<html></html>']))),
    says: 'anthropic',
  },
  record_skipped: {
    native: ['adapter/decoder_test.cpp', 'Decoder.TellsOfFewRecordsThatAreNoJson'],
  },
  invalid_object: {
    provoke: async () => {
      const { model } = await agentOf([{ text: '{"age":"old"}' }]);
      const runtime = createModelRuntime('openai', { apiKey: 'k', baseURL: model.url });
      const schema = { type: 'object', properties: { age: { type: 'integer' } } };
      const messages = [{ role: 'user' as const, content: 'How old?' }];
      return runtime.generateObject({ model: 'm', messages, schema }, { repairs: 0 });
    },
    says: '/age',
  },
};
