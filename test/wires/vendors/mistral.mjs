// Mistral chat: the message of an answer with its chunks, the completion around it, the messages of a request.
import { Mistral } from '@mistralai/mistralai';

import { splitBy, variantsOf } from '../frame/model.mjs';
import { halves } from '../frame/pieces.mjs';
import { serverSentEvents } from '../frame/server.mjs';

const types = `
import type * as M from '@mistralai/mistralai/models/components';
export type Message = M.AssistantMessage;
export type Chunk = M.ContentChunk;
export type Input = M.ChatCompletionRequest['messages'][number];
export type Choice = M.ChatCompletionChoice;
export type Whole = M.ChatCompletionResponse;
export type Parameters = M.ChatCompletionRequest;
`;

const said = { role: 'assistant', content: 'Said.' };

function whole(choices, more = {}) {
  return {
    id: 'm1',
    object: 'chat.completion',
    created: 1_700_000_000,
    // One that reasons: others take no reasoning back.
    model: 'magistral-medium-latest',
    choices: choices.map((choice, index) => ({ index, ...choice })),
    usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
    ...more,
  };
}

function choiceOf(message) {
  return { message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' };
}

function recordsOf({ choices, usage, ...head }) {
  const plain = { ...head, object: 'chat.completion.chunk' };
  return choices.flatMap(({ index, message, finish_reason }, at) => {
    const deltas = deltasOf(message).map((delta) => ({ index, delta, finish_reason: null }));
    const end = { index, delta: { content: '' }, finish_reason };
    const last = { ...plain, choices: [end], ...(at === choices.length - 1 ? { usage } : {}) };
    return [...deltas.map((choice) => ({ ...plain, choices: [choice] })), last];
  });
}

function deltasOf({ role, content, tool_calls: calls = [] }) {
  const deltas = [{ role, content: '' }];
  if (typeof content === 'string')
    deltas.push(...halves(content).map((text) => ({ content: text })));
  else for (const chunk of content ?? []) deltas.push({ content: [chunk] });
  calls.forEach((call, index) => deltas.push({ tool_calls: [{ ...call, index }] }));
  return deltas;
}

const sse = 'text/event-stream';
const asked = { model: 'mistral-large-latest', messages: [{ role: 'user', content: 'Ask' }] };
const bytes = (records) => ({
  type: sse,
  bytes: serverSentEvents(records, { end: 'data: [DONE]\n\n' }),
});

function client(url) {
  return new Mistral({ apiKey: 'test-key', serverURL: url, retryConfig: { strategy: 'none' } });
}

const question = { role: 'user', content: 'Ask' };

function historyOf(message) {
  if (message.role !== 'tool') return message.role === 'user' ? [message] : [question, message];
  const { tool_call_id: id } = message;
  const call = { id, type: 'function', function: { name: 'look', arguments: '{}' } };
  return [question, { role: 'assistant', content: '', tool_calls: [call] }, message];
}

const toolSettings = ['tool_choice', 'parallel_tool_calls'];

function toolsOf(choice) {
  const name = choice?.function?.name ?? 'look';
  return [{ type: 'function', function: { name, parameters: { type: 'object' } } }];
}

const message = splitBy({ content: ['role', 'content'], calls: ['role', 'toolCalls'] });

const snake = (name) =>
  (name === 'schemaDefinition' ? 'schema' : name)
    .replace(/URL/g, 'Url')
    .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const ends = ['stop', 'length', 'model_length', 'error', 'tool_calls'];

export default {
  name: 'mistral',
  title: 'Mistral chat',
  sdk: '@mistralai/mistralai',
  provider: 'mistral',
  model: 'mistral-large-latest',
  call: {},
  format: 'openai',
  reads: 'mistralAdapter',
  types,
  input: 'Message',
  rules: {
    rename: snake,
    // The classes of open enumerations exist in the SDK alone.
    without: [/:UNKNOWN$/, /\.type:length$/],
    bounded: [
      [/finish_reason$/, ends],
      [/tool_calls\[\]\.type$/, ['function']],
    ],
    values: [
      // Nine letters and digits.
      [/(tool_calls\[\]\.id|tool_call_id)$/, ({ text }) => `${text}aa`],
      [/\.arguments(:\w+)?$/, ({ text }) => JSON.stringify({ q: text })],
      [
        /\.(image_url|document_url|url)(:string)?$/,
        ({ text }, row) => (row.includes(':object') ? undefined : `https://example.com/${text}`),
      ],
    ],
  },
  subjects: [
    {
      root: 'message',
      type: 'Message',
      place: (value) => whole([choiceOf({ role: 'assistant', ...value })]),
      back: true,
      rules: { without: [/^message\.(prefix|role|tool_calls\[\]\.index)$/] },
    },
    {
      root: 'choice',
      type: 'Choice',
      place: (value) => whole([{ ...value, message: said }]),
      rules: { without: [/^choice\.(message|messages|index)$/] },
    },
    {
      root: 'completion',
      type: 'Whole',
      place: (value) => whole([choiceOf(said)], value),
      rules: { without: [/^completion\.(choices|object)$/] },
    },
  ],
  kinds: [
    {
      type: 'Chunk',
      root: 'chunk',
      without: ['UNKNOWN', 'UNKNOWN/2'],
      place: (content) => whole([choiceOf({ role: 'assistant', content })]),
      history: (content) => [question, { role: 'assistant', content }],
      called: true,
    },
    {
      root: 'input',
      variants: ({ Message, Input }) => [
        ...message(Message),
        ...variantsOf(Input).filter(({ label }) => label !== 'assistant'),
      ],
      history: (messages) => messages,
      called: true,
      callOf: (label) => ({ tool: 'calls' })[label],
      link: (call, result) => [call, { ...result, tool_call_id: call.tool_calls[0].id }],
      between: false,
    },
  ],
  records: recordsOf,
  bytes,
  answer: (value) => ({ type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }),
  plain: bytes(recordsOf(whole([choiceOf(said)]))),
  async readStream(url) {
    const events = [];
    for await (const event of await client(url).chat.stream(asked)) events.push(event);
    return events;
  },
  readAnswer: (url) => client(url).chat.complete(asked),
  // The model of the answers.
  next: { members: { model: 'magistral-medium-latest' } },
  turn: ({ messages = [] }) => messages.filter(({ role }) => role === 'assistant'),
  // Its messages have the shape of OpenAI's chat with chunks of its own, so they go through its own requests.
  history: {
    root: 'input',
    type: 'Input',
    wrap: historyOf,
    turn: ({ messages = [] }) => messages,
    called: true,
  },
  parameters: {
    type: 'Parameters',
    without: ['model', 'messages', 'stream'],
    rename: snake,
    rules: {
      // Open enumerations of the SDK: what the API documents.
      bounded: [
        [/reasoning_effort$/, ['high', 'none']],
        [/response_format\.type$/, ['json_schema']],
        [/tool_choice:string$/, ['auto', 'none', 'required']],
        [/tool_choice:ToolChoice\.type$/, ['function']],
      ],
    },
    companions: (name, value) => (toolSettings.includes(name) ? { tools: toolsOf(value) } : {}),
    // A list of one.
    pathOf: (path, value) => (path[0] === 'stop' && typeof value === 'string' ? ['stop', 0] : path),
  },
  headers: [
    'mistral-correlation-id',
    'x-ratelimit-limit-req-minute',
    'x-ratelimit-remaining-req-minute',
  ].concat(['x-ratelimit-limit-tokens-minute', 'x-ratelimit-remaining-tokens-minute']),
  defaults: [
    [/tool_calls\[\]\.type$/, 'function'],
    [/\.prefix$/, false],
  ],
  structural: [/\.(id|name|tool_call_id|type)$/],
  carriers: [
    [/message\.content(:string|:list\[\]:text\.text)?$/, /^TEXT_MESSAGE_CONTENT\.delta$/],
    [/:thinking\.thinking\[\]:text\.text$/, /^REASONING_MESSAGE_CONTENT\.delta$/],
    [/tool_calls\[\]\.id$/, /^TOOL_CALL_START\.toolCallId$/],
    [/tool_calls\[\]\.function\.name$/, /^TOOL_CALL_START\.toolCallName$/],
    [/\.arguments/, /^TOOL_CALL_ARGS\.delta/],
    [/:reference\./, /^millrace\.citation\.value\.citation/],
    [/^completion\.id$/, /^TEXT_MESSAGE_START\.messageId$/],
    [
      /^completion\.usage\./,
      /^(RUN_FINISHED\.usage|millrace\.usage\.value|report\.(usage|attempts\[\]\.usage))/,
    ],
  ],
};
