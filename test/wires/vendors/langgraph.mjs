// LangGraph's server: messages of the stream mode `messages`, with LangChain's blocks, and messages as a history.
import { Client } from '@langchain/langgraph-sdk';

import { splitBy, variantsOf } from '../frame/model.mjs';
import { halves } from '../frame/pieces.mjs';

const types = `
import type { Message } from '@langchain/langgraph-sdk';
import type { ContentBlock } from '@langchain/core/messages';
export type Assistant = Extract<Message, { type: 'ai' }>;
export type Tool = Extract<Message, { type: 'tool' }>;
export type Input = Message;
export type Block = ContentBlock.Standard;
`;

// Chunks as the server writes them: a message of the model comes in two pieces.
function recordsOf(messages) {
  const metadata = {
    langgraph_step: 1,
    langgraph_node: 'agent',
    langgraph_checkpoint_ns: 'agent:1',
  };
  const chunks = messages
    .flatMap(chunksOf)
    .map((chunk) => ({ event: 'messages', data: [chunk, metadata] }));
  return [
    { event: 'metadata', data: { run_id: 'r1', attempt: 1 } },
    ...chunks,
    { event: 'end', data: null },
  ];
}

function chunksOf(message) {
  if (message.type !== 'ai') return [message];
  const { content, tool_calls: calls = [], ...rest } = message;
  const pieces = typeof content === 'string' ? halves(content) : [content];
  const last = pieces.pop();
  const tool_call_chunks = calls.map(({ name, args, id }, index) => {
    return { name, args: JSON.stringify(args), id, index, type: 'tool_call_chunk' };
  });
  const head = { type: 'AIMessageChunk', id: message.id };
  const end = { ...rest, ...head, content: last, tool_calls: calls, tool_call_chunks };
  return [...pieces.map((piece) => ({ ...head, content: piece })), end];
}

const bytes = (records) => ({
  type: 'text/event-stream',
  bytes: Buffer.from(
    records.map(({ event, data }) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
  ),
});

const question = { type: 'human', id: 'h1', content: 'Ask' };

function historyOf(message) {
  if (message.type === 'human') return [message];
  if (message.type !== 'tool') return [question, message];
  const calls = [{ id: message.tool_call_id, name: 'look', args: {}, type: 'tool_call' }];
  return [question, { type: 'ai', id: 'a1', content: '', tool_calls: calls }, message];
}

const message = splitBy({
  text: ['type', 'id', 'content'],
  calls: ['type', 'id', 'content', 'tool_calls'],
});

export default {
  name: 'langgraph',
  title: 'LangGraph',
  sdk: '@langchain/langgraph-sdk',
  adapter: {
    name: 'langGraphAdapter',
    options: (states) => ({ onState: (state) => states.push(state) }),
  },
  reads: 'langGraphAdapter',
  format: 'langgraph',
  types,
  input: 'Assistant',
  rules: {
    values: [
      [/(?<!invalid_)tool_calls\[\]\.args$/, ({ text }) => ({ q: text })],
      [
        /image_url(:string|:url\.url|:object\.url)$/,
        ({ text }) => `https://example.com/${text}.png`,
      ],
    ],
  },
  subjects: [
    { root: 'ai', type: 'Assistant', place: (value) => [value], back: true },
    { root: 'tool', type: 'Tool', place: (value) => historyOf(value).slice(1), back: true },
    {
      root: 'block',
      type: 'Block',
      place: (value) => [{ type: 'ai', id: 'a1', content: [value] }],
    },
  ],
  kinds: [
    {
      root: 'block',
      // Those of another source are of the same kind.
      variants: ({ Block }) => variantsOf(Block).filter(({ label }) => !/\/\d$/.test(label)),
      place: (content) => [{ type: 'ai', id: 'a1', content }],
      history: (content) => [question, { type: 'ai', id: 'a1', content }],
      callOf: (label) => ({ server_tool_call_result: 'server_tool_call' })[label],
      link: (call, result) => [call, { ...result, toolCallId: call.id }],
    },
    {
      root: 'message',
      variants: ({ Assistant, Tool }) => [...message(Assistant), { label: 'tool', node: Tool }],
      place: (messages) => messages,
      callOf: (label) => ({ tool: 'calls' })[label],
      link: (call, result) => [call, { ...result, tool_call_id: call.tool_calls[0].id }],
    },
    {
      root: 'input',
      variants: ({ Assistant, Input }) => [
        ...message(Assistant),
        ...variantsOf(Input).filter(({ label }) => label !== 'ai'),
      ],
      without: ['remove'],
      history: (messages) => messages,
      callOf: (label) => ({ tool: 'calls' })[label],
      link: (call, result) => [call, { ...result, tool_call_id: call.tool_calls[0].id }],
      between: false,
    },
  ],
  records: recordsOf,
  bytes,
  async readStream(url) {
    const client = new Client({ apiUrl: url, apiKey: null, callerOptions: { maxRetries: 0 } });
    const parts = [];
    const stream = client.runs.stream(null, 'agent', { input: {}, streamMode: 'messages-tuple' });
    for await (const part of stream) parts.push(part);
    return parts;
  },
  next: { format: 'langgraph' },
  further: {},
  turn: (request) => (Array.isArray(request) ? request : []).filter(({ type }) => type !== 'human'),
  history: { root: 'input', type: 'Input', wrap: historyOf, turn: (request) => request },
  defaults: [
    [/^tool\.status$/, 'success'],
    [/\.detail$/, 'auto'],
  ],
  structural: [/\.(id|name|type|tool_call_id)$/],
  carriers: [
    [/^ai\.content(:string|:list\[\]:text\.text)$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/^block:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/^block:reasoning\.reasoning$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/^ai\.id$/, /^TEXT_MESSAGE_START\.messageId$/],
    [/tool_calls\[\]\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/tool_calls\[\]\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/tool_calls\[\]\.args/, /^TOOL_CALL_ARGS\.delta/],
    [/^block:tool_call(_chunk)?\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/^block:tool_call(_chunk)?\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/^block:tool_call(_chunk)?\.args$/, /^TOOL_CALL_ARGS\.delta/],
    [/^tool\.content/, /^TOOL_CALL_RESULT\.content/],
    [/^tool\.id$/, /^TOOL_CALL_RESULT\.messageId$/],
    [/^tool\.tool_call_id$/, /^TOOL_CALL_RESULT\.toolCallId$/],
    [/usage_metadata\./, /^(RUN_FINISHED\.usage|millrace\.usage\.value)/],
  ],
};
