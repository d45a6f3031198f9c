// What came as A B C goes back as A B C, also when a real AG-UI client stored it in between.
import { HttpAgent as Agent1 } from '@ag-ui/client';
import { HttpAgent as Agent0 } from 'ag-ui-client-0.0';
import type { AGUIEvent } from 'millrace';
import { createModelRuntime, foldEvents, toAGUIResponse } from 'millrace';

import { sse } from '../support/responses';
import type { Loopback } from '../support/server';
import { bodyOf, loopback } from '../support/server';

type Json = Record<string, unknown>;
interface Wire {
  provider: string;
  model: string;
  call: Json;
  /** The stream of an answer, and one that ends the conversation. */
  answer: string;
  plain: string;
  /** The parts of the answer in the next request. */
  parts(request: Json): unknown[];
}

// --- Anthropic: text, compaction, text, a call, a thought, a call

const block = (index: number, content: Json, ...deltas: Json[]): Json[] => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
];
const claude = (blocks: Json[][], stop: string): string =>
  sse(
    { type: 'message_start', message: { id: 'msg_1', role: 'assistant', content: [], usage: {} } },
    ...blocks.flat(),
    { type: 'message_delta', delta: { stop_reason: stop }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  );
const text = (index: number, words: string): Json[] =>
  block(index, { type: 'text', text: '' }, { type: 'text_delta', text: words });
const toolUse = (index: number, id: string): Json[] =>
  block(
    index,
    { type: 'tool_use', id, name: 'look', input: {} },
    { type: 'input_json_delta', partial_json: `{"at":"${id}"}` },
  );

const anthropic: Wire = {
  provider: 'anthropic',
  model: 'claude-opus-4-8',
  call: {},
  answer: claude(
    [
      text(0, 'Before.'),
      block(1, { type: 'compaction', content: 'Short.' }),
      text(2, 'Behind.'),
      toolUse(3, 'toolu_1'),
      block(
        4,
        { type: 'thinking', thinking: '' },
        { type: 'thinking_delta', thinking: 'Hm.' },
        { type: 'signature_delta', signature: 'c2lnbmVk' },
      ),
      toolUse(5, 'toolu_2'),
    ],
    'tool_use',
  ),
  plain: claude([text(0, 'Done.')], 'end_turn'),
  parts: ({ messages }) =>
    ((messages as Json[])[1]?.['content'] as Json[]).map(
      ({ type, text: words, content, id, thinking }) => [type, words ?? content ?? id ?? thinking],
    ),
};

// --- OpenAI Responses: an item of its own, reasoning, a message, a call, reasoning, a call

const response = (output: Json[]): string =>
  sse(
    { type: 'response.created', response: { id: 'resp_1' } },
    ...output.flatMap((item, index) => [
      { type: 'response.output_item.added', output_index: index, item },
      { type: 'response.output_item.done', output_index: index, item },
    ]),
    {
      type: 'response.completed',
      response: { id: 'resp_1', object: 'response', status: 'completed', output },
    },
  );
const message = (id: string, words: string): Json => ({
  type: 'message',
  id,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: words, annotations: [] }],
});
const reasoning = (id: string, words: string): Json => ({
  type: 'reasoning',
  id,
  summary: [{ type: 'summary_text', text: words }],
  encrypted_content: `gAAAA${id}`,
});
const call = (id: string): Json => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'look',
  arguments: '{"at":1}',
  status: 'completed',
});

const responses: Wire = {
  provider: 'openai',
  model: 'gpt-5.2',
  call: { apiMode: 'responses' },
  answer: response([
    { type: 'compaction', id: 'cmp_1', encrypted_content: 'short' },
    reasoning('rs_1', 'First.'),
    message('msg_1', 'Look.'),
    call('call_1'),
    reasoning('rs_2', 'Then.'),
    call('call_2'),
  ]),
  plain: response([message('msg_2', 'Done.')]),
  parts: ({ input }) =>
    (input as Json[])
      .slice(1)
      .filter(({ type, role }) => type !== 'function_call_output' && role !== 'user')
      .map(({ type, call_id: id, encrypted_content: value, content }) => [
        type,
        id ?? value ?? wordsOf(content),
      ]),
};

const wordsOf = (content: unknown): unknown =>
  Array.isArray(content) ? content.map(({ text: words }) => words).join('') : content;

const expected: Record<string, unknown[]> = {
  anthropic: [
    ['text', 'Before.'],
    ['compaction', 'Short.'],
    ['text', 'Behind.'],
    ['tool_use', 'toolu_1'],
    ['thinking', 'Hm.'],
    ['tool_use', 'toolu_2'],
  ],
  openai: [
    ['compaction', 'short'],
    ['reasoning', 'gAAAArs_1'],
    ['message', 'Look.'],
    ['function_call', 'call_1'],
    ['reasoning', 'gAAAArs_2'],
    ['function_call', 'call_2'],
  ],
};

const wires = [anthropic, responses];
let vendor: Loopback;
let server: Loopback;
const requests: Json[] = [];

const runtimeOf = ({ provider }: Wire) =>
  createModelRuntime(provider, { apiKey: 'test-key', baseURL: vendor.url, maxRetries: 0 });
const streamOf = (wire: Wire, messages: unknown) =>
  runtimeOf(wire).stream(
    { model: wire.model, ...wire.call, messages, format: 'canonical' } as never,
    { throttleMs: 0 },
  );

beforeAll(async () => {
  vendor = await loopback((request, answer) => {
    void bodyOf(request).then((body) => {
      requests.push(JSON.parse(body) as Json);
      const wire = request.url?.includes('responses') ? responses : anthropic;
      answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
      answer.end(requests.length === 1 ? wire.answer : wire.plain);
    });
  });
  server = await loopback((request, answer) => {
    void bodyOf(request).then(async (body) => {
      const { threadId, runId, protocolVersion, messages } = JSON.parse(body) as Json;
      const wire = wires.find(({ provider }) => request.url === `/${provider}`) ?? anthropic;
      const events = toAGUIResponse(streamOf(wire, messages), {
        threadId,
        runId,
        protocolVersion,
      } as never);
      answer.writeHead(200, { 'Content-Type': 'text/event-stream' });
      answer.end(Buffer.from(await events.arrayBuffer()));
    });
  });
});
afterAll(async () => {
  await server.close();
  await vendor.close();
});
beforeEach(() => void requests.splice(0));

const results = ['_1', '_2'];

describe.each(wires.map((wire) => [wire.provider, wire] as const))(
  'an answer of %s',
  (name, wire) => {
    const prefix = name === 'openai' ? 'call' : 'toolu';
    const answered = results.map((end) => ({
      id: `result${end}`,
      role: 'tool' as const,
      toolCallId: `${prefix}${end}`,
      content: 'seen',
    }));
    const more = [...answered, { id: 'u2', role: 'user' as const, content: 'Go on.' }];

    it('goes back as it came when its events were folded', async () => {
      const question = { id: 'u1', role: 'user', content: 'Look.' };
      const events: AGUIEvent[] = [];
      for await (const event of streamOf(wire, [question])) events.push(event);
      const folded = foldEvents(events);
      const run = streamOf(wire, [question, ...folded, ...more]);
      for await (const event of run) expect(event).toBeDefined();
      expect(wire.parts(requests[1] ?? {})).toEqual(expected[name]);
      // The results that were added follow the whole answer.
      const { notes } = await run.report;
      expect(notes.filter((note) => !note.includes('was moved behind its call'))).toEqual([]);
    });

    it('goes back as it came when a client of AG-UI 1.0 stored it', async () => {
      const agent = new Agent1({ url: `${server.url}/${name}`, threadId: 't' });
      agent.setMessages([{ id: 'u1', role: 'user', content: 'Look.' }]);
      await agent.runAgent();
      const { messages } = agent;
      // Each message is there once, and as the engine folds it.
      expect(new Set(messages.map(({ id, role }) => `${role} ${id}`)).size).toBe(messages.length);
      agent.setMessages([...messages, ...more]);
      await agent.runAgent();
      expect(wire.parts(requests[1] ?? {})).toEqual(expected[name]);
    });

    it('says once that an older client does not keep the order', async () => {
      const agent = new Agent0({ url: `${server.url}/${name}`, threadId: 't' });
      agent.setMessages([{ id: 'u1', role: 'user', content: 'Look.' }]);
      const warnings: unknown[] = [];
      await agent.runAgent(
        {},
        {
          onCustomEvent: ({ event }) => {
            if (event.name === 'millrace.warning') warnings.push(event.value);
          },
        },
      );
      expect(warnings).toEqual([expect.objectContaining({ code: 'capability_not_supported' })]);
    });
  },
);
