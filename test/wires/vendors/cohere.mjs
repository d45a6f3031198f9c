// Cohere chat, version 2: the message of an answer, the response around it, the messages of a request.
import { CohereClientV2 } from 'cohere-ai';

import { splitBy, variantsOf } from '../frame/model.mjs';
import { halves } from '../frame/pieces.mjs';
import { serverSentEvents } from '../frame/server.mjs';

const types = `
import type { Cohere } from 'cohere-ai';
export type Message = Cohere.AssistantMessageResponse;
export type Content = Cohere.AssistantMessageResponseContentItem;
export type Assistant = Cohere.AssistantMessage;
export type Input = Cohere.ChatMessageV2;
export type Whole = Cohere.V2ChatResponse;
export type Event = Cohere.V2ChatStreamResponse;
export type Parameters = Cohere.V2ChatRequest;
`;

const said = { role: 'assistant', content: [{ type: 'text', text: 'Said.' }] };

function whole(message, more = {}) {
  return {
    id: 'c1',
    finish_reason: message.tool_calls ? 'TOOL_CALL' : 'COMPLETE',
    message,
    usage: {
      billed_units: { input_tokens: 3, output_tokens: 4 },
      tokens: { input_tokens: 3, output_tokens: 4 },
    },
    ...more,
  };
}

function recordsOf({ id, finish_reason, message, usage, logprobs = [] }) {
  const records = [
    {
      type: 'message-start',
      id,
      delta: { message: { ...message, content: [], tool_plan: '', tool_calls: [], citations: [] } },
    },
  ];
  const say = (type, members, more = {}) =>
    records.push({ type, ...more, delta: { message: members } });
  if (message.tool_plan)
    halves(message.tool_plan).forEach((tool_plan) => say('tool-plan-delta', { tool_plan }));
  (message.content ?? []).forEach((part, index) => {
    const member = part.type;
    say('content-start', { content: { ...part, [member]: '' } }, { index });
    halves(part[member]).forEach((piece, at) =>
      say(
        'content-delta',
        { content: { [member]: piece } },
        { index, ...(at === 0 && logprobs[0] ? { logprobs: logprobs[0] } : {}) },
      ),
    );
    records.push({ type: 'content-end', index });
  });
  (message.citations ?? []).forEach((citations, index) => {
    say('citation-start', { citations }, { index });
    records.push({ type: 'citation-end', index });
  });
  (message.tool_calls ?? []).forEach((call, index) => {
    say(
      'tool-call-start',
      { tool_calls: { ...call, function: { ...call.function, arguments: '' } } },
      { index },
    );
    halves(call.function.arguments).forEach((piece) =>
      say('tool-call-delta', { tool_calls: { function: { arguments: piece } } }, { index }),
    );
    records.push({ type: 'tool-call-end', index });
  });
  return [...records, { type: 'message-end', id, delta: { finish_reason, usage } }];
}

const sse = 'text/event-stream';
const asked = { model: 'command-a-03-2025', messages: [{ role: 'user', content: 'Ask' }] };
const bytes = (records) => ({
  type: sse,
  bytes: serverSentEvents(records, { name: ({ type }) => type }),
});

function client(url) {
  return new CohereClientV2({ token: 'test-key', environment: url, maxRetries: 0 });
}

const question = { role: 'user', content: 'Ask' };

function historyOf(message) {
  if (message.role !== 'tool') return message.role === 'user' ? [message] : [question, message];
  const { tool_call_id: id } = message;
  const call = { id, type: 'function', function: { name: 'look', arguments: '{}' } };
  return [question, { role: 'assistant', tool_calls: [call] }, message];
}

const message = splitBy({
  content: ['role', 'content', 'citations'],
  calls: ['role', 'toolPlan', 'toolCalls'],
});

const snake = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export default {
  name: 'cohere',
  title: 'Cohere chat, version 2',
  sdk: 'cohere-ai',
  provider: 'cohere',
  model: 'command-a-reasoning-08-2025',
  call: {},
  asks: { logprobs: true },
  format: 'cohere',
  reads: 'cohereAdapter',
  types,
  input: 'Assistant',
  rules: {
    rename: snake,
    values: [
      [/\.arguments$/, ({ text }) => JSON.stringify({ q: text })],
      [/image_url\.url$/, ({ text }) => `https://example.com/${text}.png`],
    ],
    prefer: [[/finish_reason$/, 'COMPLETE']],
  },
  subjects: [
    { root: 'message', type: 'Message', place: (value) => whole(value), back: true },
    {
      root: 'response',
      type: 'Whole',
      place: (value) => whole(said, value),
      rules: { without: [/^response\.message$/] },
    },
  ],
  kinds: [
    {
      type: 'Content',
      root: 'content',
      place: (content) => whole({ role: 'assistant', content }),
      history: (content) => [question, { role: 'assistant', content }],
    },
    {
      root: 'input',
      variants: ({ Input }) =>
        variantsOf(Input).flatMap((one) => (one.label === 'assistant' ? message(one.node) : [one])),
      history: (messages) => messages,
      callOf: (label) => ({ tool: 'calls' })[label],
      link: (call, result) => [call, { ...result, tool_call_id: call.tool_calls[0].id }],
      between: false,
    },
  ],
  events: { type: 'Event', nameOf: ({ type }) => type, without: ['debug'] },
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: bytes(recordsOf(whole(said))),
  async readStream(url) {
    const events = [];
    for await (const event of await client(url).chatStream(asked)) events.push(event);
    return events;
  },
  readAnswer: (url) => client(url).chat(asked),
  turn: ({ messages = [] }) => messages.filter(({ role }) => role === 'assistant'),
  history: {
    root: 'input',
    type: 'Input',
    wrap: historyOf,
    turn: (request) => request.messages ?? request,
  },
  parameters: {
    type: 'Parameters',
    without: ['model', 'messages', 'stream'],
    rename: snake,
    companions: (name) =>
      name === 'tool_choice' || name === 'strict_tools'
        ? { tools: [{ type: 'function', function: { name: 'look' } }] }
        : {},
  },
  headers: [
    'x-debug-trace-id',
    'x-endpoint-monthly-call-limit',
    'x-trial-endpoint-call-limit',
    'x-trial-endpoint-call-remaining',
  ],
  structural: [/\.(id|name|tool_call_id)$/, /citations\[\]\.text$/],
  carriers: [
    [/content\[\]:text\.text$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/content\[\]:thinking\.thinking$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/message\.tool_plan$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/tool_calls\[\]\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/tool_calls\[\]\.function\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/\.arguments$/, /^TOOL_CALL_ARGS\.delta/],
    [/citations\[\]/, /^millrace\.citation\.value\.citation/],
    [/^response\.id$/, /^TEXT_MESSAGE_START\.messageId$/],
    [
      /^response\.usage\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
